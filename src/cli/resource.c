/* SPDX-License-Identifier: Apache-2.0 */
/* resource.c - adverb resource: the objects of all programs, as `rdma resource` shows them */
#include "cli/resource.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

#define MAX_FILTERS 16

static void resource_usage(FILE *out)
{
	fputs("usage: adverb resource [show [DEVICE]] [OPTIONS]\n"
	      "       adverb resource show {qp | cm_id} [link DEVICE[/PORT]] [KEY VALUE...] [OPTIONS]\n"
	      "       adverb resource show {cq | mr | pd | ctx | srq} [dev DEVICE] [KEY VALUE...] [OPTIONS]\n\n"
	      "Show the RDMA objects of all programs that use adverb in this network namespace, in the\n"
	      "form of \"rdma resource\". KEY VALUE selects: numbers as lists of ranges (lqpn 17,20-25),\n"
	      "words as lists (state RTS,RTR).\n\n"
	      "  -j, --json     as JSON\n"
	      "  -p, --pretty   JSON with line breaks\n"
	      "  -d, --details  also what the rdma tool does not have\n"
	      "  -h, --help     this text\n",
	      out);
}

static bool take_letters(const char *letters, struct resource_options *options)
{
	for (; *letters; letters++) {
		switch (*letters) {
		case 'j':
			options->json = true;
			break;
		case 'p':
			options->pretty = true;
			break;
		case 'd':
			options->details = true;
			break;
		case 'h':
			options->help = true;
			break;
		default:
			return false;
		}
	}
	return true;
}

int resource_take_options(int argc, char **argv, struct resource_options *options)
{
	static const struct {
		const char *word, *letters;
	} words[] = {
		{ "--json", "j" },
		{ "--pretty", "p" },
		{ "--details", "d" },
		{ "--help", "h" },
	};
	int left = 0;

	memset(options, 0, sizeof(*options));
	for (int i = 0; i < argc; i++) {
		const char *letters = argv[i][0] == '-' && argv[i][1] != '-' ? argv[i] + 1 : NULL;

		if (argv[i][0] != '-') {
			argv[left++] = argv[i];
			continue;
		}
		for (size_t w = 0; w < sizeof(words) / sizeof(words[0]); w++) {
			if (!strcmp(words[w].word, argv[i]))
				letters = words[w].letters;
		}
		if (!letters || !*letters || !take_letters(letters, options)) {
			complain("unknown option: %s", argv[i]);
			return -1;
		}
	}
	return left;
}

/* What to show: everything that the command line says besides the options. */
struct request {
	int type;	 /* -1: the summary */
	char device[64]; /* empty: all */
	struct filter filters[MAX_FILTERS];
	unsigned count;
};

/* "adverb_lo", "adverb_lo/1", "adverb_lo/-" (objects without a port: there are none). */
static int parse_device(struct request *request, const char *word, bool link)
{
	size_t n = link ? strcspn(word, "/") : strlen(word);

	if (!n || n >= sizeof(request->device)) {
		complain("no such device: %s", word);
		return EXIT_USAGE;
	}
	memcpy(request->device, word, n);
	request->device[n] = 0;
	if (word[n] && strcmp(word + n, "/1")) {
		complain("no such port: %s (devices have port 1)", word);
		return EXIT_USAGE;
	}
	return 0;
}

static int parse_filter(struct request *request, const char *key, const char *value)
{
	enum restrack_type type = (enum restrack_type)request->type;
	bool by_port = type == RESTRACK_QP || type == RESTRACK_CM_ID, numbers;

	if (!value) {
		complain("resource show: %s what?", key);
		return EXIT_USAGE;
	}
	if (!strcmp(key, by_port ? "link" : "dev"))
		return parse_device(request, value, by_port);
	if (!resource_valid_filter(type, key, &numbers)) {
		complain("resource show %s: cannot select by %s", restrack_type_name(type), key);
		return EXIT_USAGE;
	}
	if (numbers && !filter_valid_numbers(value)) {
		complain("resource show: not a list of numbers: %s", value);
		return EXIT_USAGE;
	}
	if (request->count == MAX_FILTERS) {
		complain("resource show: too many conditions");
		return EXIT_USAGE;
	}
	request->filters[request->count++] = (struct filter){ key, value };
	return 0;
}

static int parse(struct request *request, int argc, char **argv)
{
	int ret = 0;

	memset(request, 0, sizeof(*request));
	request->type = -1;
	if (argc && (!strcmp(argv[0], "show") || !strcmp(argv[0], "list"))) {
		argc--;
		argv++;
	}
	if (!argc)
		return 0;
	request->type = resource_type(argv[0]);
	if (request->type < 0) {
		if (argc > 1) {
			complain("resource show: no such kind of object: %s", argv[0]);
			return EXIT_USAGE;
		}
		return parse_device(request, argv[0], false);
	}
	for (int i = 1; !ret && i < argc; i += 2)
		ret = parse_filter(request, argv[i], i + 1 < argc ? argv[i + 1] : NULL);
	return ret;
}

static bool selected(const struct request *request, const struct line *line)
{
	for (unsigned i = 0; i < request->count; i++) {
		if (!filter_match(&request->filters[i], line))
			return false;
	}
	return true;
}

static bool device_selected(const struct request *request, const struct resource_device *device)
{
	return !request->device[0] || !strcmp(request->device, device->name);
}

static bool show(const struct request *request, const struct resource_set *set,
		 struct printer *printer)
{
	struct line line;

	if (!printer_begin(printer))
		return false;
	for (unsigned i = 0; request->type < 0 && i < set->device_count; i++) {
		if (!device_selected(request, &set->devices[i]))
			continue;
		resource_summary_line(set, i, &line);
		if (!printer_line(printer, &line))
			return false;
	}
	for (size_t i = 0; request->type >= 0 && i < set->object_count; i++) {
		const struct resource_object *object = &set->objects[i];

		if ((int)object->record.type != request->type ||
		    !device_selected(request, &set->devices[object->device]))
			continue;
		resource_line(set, object, &line);
		if (selected(request, &line) && !printer_line(printer, &line))
			return false;
	}
	return printer_end(printer);
}

int resource_print(FILE *out, const struct resource_source *source, int argc, char **argv,
		   const struct resource_options *options)
{
	struct printer printer = { .out = out,
				   .json = options->json,
				   .pretty = options->pretty,
				   .details = options->details };
	struct resource_set set;
	struct request request;
	bool printed;
	int ret;

	ret = parse(&request, argc, argv);
	if (ret)
		return ret;
	ret = resource_collect(&set, source);
	if (ret) {
		complain("%s", strerror(-ret));
		return EXIT_FAILED;
	}
	printed = show(&request, &set, &printer) && !fflush(out);
	resource_release(&set);
	if (!printed) {
		complain("cannot write: %s", strerror(errno));
		return EXIT_FAILED;
	}
	return EXIT_DONE;
}

int resource_main(int argc, char **argv)
{
	struct resource_source source = { 0 };
	struct resource_options options;
	int ret;

	argc = resource_take_options(argc - 1, argv + 1, &options);
	argv++;
	if (argc < 0) {
		resource_usage(stderr);
		return EXIT_USAGE;
	}
	if (options.help || (argc && !strcmp(argv[0], "help"))) {
		resource_usage(stdout);
		return EXIT_DONE;
	}
	ret = resource_source_open(&source);
	if (ret && ret != -ENOENT) {
		complain("cannot ask the broker: %s", strerror(-ret));
		return EXIT_FAILED;
	}
	/* No broker: nobody has objects, which is no error. */
	ret = resource_print(stdout, &source, argc, argv, &options);
	resource_source_close(&source);
	return ret;
}
