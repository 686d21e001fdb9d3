/* SPDX-License-Identifier: Apache-2.0 */
/*
 * env.c - the environment in which a program finds our library
 *
 * LD_PRELOAD alone loses programs that dlopen("libibverbs.so"); LD_LIBRARY_PATH alone loses
 * programs with a DT_RPATH, and everything that looks for files instead of calling the library.
 * Together they lose only what the loader gives nobody: absolute paths, privileged programs and
 * static ones.
 */

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

#define LIBRARY	   "libibverbs.so.1"
#define ASAN_ORDER "verify_asan_link_order"

const char *environment_get(char *const *environment, const char *name)
{
	size_t length = strlen(name);

	for (; *environment; environment++) {
		if (!strncmp(*environment, name, length) && (*environment)[length] == '=')
			return *environment + length + 1;
	}
	return NULL;
}

void environment_free(char **environment)
{
	if (!environment)
		return;
	for (char **entry = environment; *entry; entry++)
		free(*entry);
	free(environment);
}

/* The array has room for one more. */
static bool environment_set(char **environment, const char *name, const char *value)
{
	size_t length = strlen(name);
	char **place = environment;
	char *entry;

	if (asprintf(&entry, "%s=%s", name, value) < 0)
		return false;
	while (*place && (strncmp(*place, name, length) != 0 || (*place)[length] != '='))
		place++;
	if (*place)
		free(*place);
	else
		place[1] = NULL;
	*place = entry;
	return true;
}

static bool list_contains(const char *list, const char *separators, const char *item)
{
	size_t length = strlen(item);

	while (*list) {
		size_t n = strcspn(list, separators);

		if (n == length && !strncmp(list, item, n))
			return true;
		list += n;
		list += strspn(list, separators);
	}
	return false;
}

static bool prepend(char **environment, const char *name, const char *separators, const char *item)
{
	const char *old = environment_get(environment, name);
	char *value;
	bool done;

	if (!old || !*old)
		return environment_set(environment, name, item);
	if (list_contains(old, separators, item))
		return true;
	if (asprintf(&value, "%s:%s", item, old) < 0)
		return false;
	done = environment_set(environment, name, value);
	free(value);
	return done;
}

/* The runtime wants to be the first library, and would refuse to start behind a preloaded one. */
static bool allow_preload_before_sanitizer(char **environment)
{
	const char *old = environment_get(environment, "ASAN_OPTIONS");
	char *value;
	bool done;

	if (!old || !*old)
		return environment_set(environment, "ASAN_OPTIONS", ASAN_ORDER "=0");
	if (strstr(old, ASAN_ORDER))
		return true;
	if (asprintf(&value, "%s:" ASAN_ORDER "=0", old) < 0)
		return false;
	done = environment_set(environment, "ASAN_OPTIONS", value);
	free(value);
	return done;
}

char **environment_compose(char *const *old, const struct launch *launch)
{
	enum {
		ADDED = 5
	};
	char library[PATH_MAX];
	char **made;
	size_t count = 0;

	if (snprintf(library, sizeof(library), "%s/" LIBRARY, launch->library_directory) >=
	    (int)sizeof(library))
		return NULL;
	while (old[count])
		count++;
	made = calloc(count + ADDED + 1, sizeof(*made));
	if (!made)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		made[i] = strdup(old[i]);
		if (!made[i])
			goto failed;
	}

	if (!prepend(made, "LD_PRELOAD", ": ", library) ||
	    !prepend(made, "LD_LIBRARY_PATH", ":;", launch->library_directory))
		goto failed;
	if (launch->devices && !environment_set(made, "ADVERB_DEVICES", launch->devices))
		goto failed;
	if (launch->log && !environment_set(made, "ADVERB_LOG", launch->log))
		goto failed;
	if (launch->sanitizer && !allow_preload_before_sanitizer(made))
		goto failed;
	return made;

failed:
	environment_free(made);
	return NULL;
}

int library_directory(char *path, size_t size)
{
	static const char *const places[] = { "lib", "../lib/adverb" };
	char program[PATH_MAX], candidate[PATH_MAX + 64], real[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
	char *slash;

	if (length < 0)
		return -errno;
	program[length] = '\0';
	slash = strrchr(program, '/');
	if (!slash)
		return -ENOENT;
	*slash = '\0';

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(candidate, sizeof(candidate), "%s/%s/" LIBRARY, program, places[i]);
		if (access(candidate, R_OK) != 0)
			continue;
		snprintf(candidate, sizeof(candidate), "%s/%s", program, places[i]);
		if (!realpath(candidate, real))
			return -errno;
		/* The loader splits its lists there, and knows no escape. */
		if (strpbrk(real, ": ;"))
			return -EINVAL;
		if (strlen(real) >= size)
			return -ENAMETOOLONG;
		strcpy(path, real);
		return 0;
	}
	return -ENOENT;
}

static void print_export(const char *name, const char *value)
{
	printf("export %s='", name);
	for (; *value; value++) {
		if (*value == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*value);
	}
	puts("'");
}

static void env_usage(FILE *out)
{
	fputs("usage: adverb env [-d DEVICES] [--log WHAT]\n\n"
	      "Print the environment of \"adverb run\" as commands for a shell: eval \"$(adverb env)\"\n\n"
	      "  -d, --devices DEVICES  the devices to show, as in ADVERB_DEVICES\n"
	      "      --log WHAT         what the library reports on stderr, as in ADVERB_LOG\n"
	      "  -h, --help             this text\n",
	      out);
}

int env_main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "devices", required_argument, NULL, 'd' },
		{ "log", required_argument, NULL, 'l' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	static const char *const names[] = { "LD_PRELOAD", "LD_LIBRARY_PATH", "ADVERB_DEVICES",
					     "ADVERB_LOG" };
	char directory[PATH_MAX];
	struct launch launch = { .library_directory = directory };
	char **environment;
	int option, error;

	while ((option = getopt_long(argc, argv, "d:h", options, NULL)) != -1) {
		switch (option) {
		case 'd':
			launch.devices = optarg;
			break;
		case 'l':
			launch.log = optarg;
			break;
		case 'h':
			env_usage(stdout);
			return EXIT_DONE;
		default:
			env_usage(stderr);
			return EXIT_USAGE;
		}
	}
	if (optind < argc) {
		complain("env takes no arguments: to run a program, use \"adverb run\"");
		return EXIT_USAGE;
	}

	error = library_directory(directory, sizeof(directory));
	if (error) {
		complain("cannot use " LIBRARY " beside this program: %s", strerror(-error));
		return EXIT_FAILED;
	}
	environment = environment_compose(environ, &launch);
	if (!environment) {
		complain("out of memory");
		return EXIT_FAILED;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *before = environment_get(environ, names[i]);
		const char *after = environment_get(environment, names[i]);

		if (after && (!before || strcmp(before, after) != 0 || i < 2))
			print_export(names[i], after);
	}
	environment_free(environment);
	return EXIT_DONE;
}
