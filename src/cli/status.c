/* SPDX-License-Identifier: Apache-2.0 */
/* status.c - adverb status: the broker, its clients, the devices, the counters that moved */
#include "cli/status.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static void status_usage(FILE *out)
{
	fputs("usage: adverb status [OPTIONS]\n\n"
	      "Show whether a broker runs in this network namespace, the programs it serves, the devices\n"
	      "they have, and the sums of their counters that are not zero.\n\n"
	      "  -j, --json     as JSON\n"
	      "  -p, --pretty   JSON with line breaks\n"
	      "  -d, --details  also each program's own counters\n"
	      "  -h, --help     this text\n",
	      out);
}

struct counter {
	char name[LEDGER_COUNTER_NAME];
	uint64_t value;
};

struct counters {
	struct counter list[LEDGER_COUNTERS];
	unsigned count;
};

static void count_one(struct counters *counters, const char *name, uint64_t value)
{
	struct counter *counter = counters->list;

	for (unsigned i = 0; i < counters->count; i++, counter++) {
		if (!strcmp(counter->name, name)) {
			counter->value += value;
			return;
		}
	}
	if (counters->count == LEDGER_COUNTERS)
		return;
	counters->count++;
	snprintf(counter->name, sizeof(counter->name), "%s", name);
	counter->value = value;
}

/* Those that moved, in the order of the ledger. */
static void count_client(struct counters *counters, const struct resource_client *client)
{
	char name[LEDGER_COUNTER_NAME];
	uint64_t value;

	for (unsigned i = 0; client->has_ledger && i < LEDGER_COUNTERS; i++) {
		if (ledger_reader_counter(&client->reader, i, name, &value) && value)
			count_one(counters, name, value);
	}
}

static unsigned count_objects(const struct resource_set *set, unsigned client,
			      enum restrack_type type)
{
	unsigned count = 0;

	for (size_t i = 0; i < set->object_count; i++) {
		if (set->objects[i].client == client && set->objects[i].record.type == type)
			count++;
	}
	return count;
}

static void text_counters(FILE *out, const struct counters *counters, const char *indent)
{
	for (unsigned i = 0; i < counters->count; i++)
		fprintf(out, "%s%s %" PRIu64 "\n", indent, counters->list[i].name,
			counters->list[i].value);
}

static void text_client(FILE *out, const struct resource_set *set, unsigned index, bool details)
{
	const struct resource_client *client = &set->source->clients[index];

	fprintf(out, "  pid %u comm %s slot %u", client->pid, client->comm, client->slot);
	if (!client->has_ledger) {
		fputs(" (its ledger cannot be read)\n", out);
		return;
	}
	fprintf(out, " qp %u mr %u cq %u\n", count_objects(set, index, RESTRACK_QP),
		count_objects(set, index, RESTRACK_MR), count_objects(set, index, RESTRACK_CQ));
	if (details) {
		struct counters own = { .count = 0 };

		count_client(&own, client);
		text_counters(out, &own, "    ");
	}
}

static bool text_status(FILE *out, const struct resource_set *set, const struct counters *sums,
			bool details)
{
	const struct resource_source *source = set->source;

	fprintf(out, "broker pid %u slots %u of %u in use\n", source->broker_pid,
		source->slots_used, source->slots);
	fprintf(out, "clients %u\n", source->count);
	for (unsigned i = 0; i < source->count; i++)
		text_client(out, set, i, details);
	fprintf(out, "devices %u\n", set->device_count);
	for (unsigned i = 0; i < set->device_count; i++) {
		const struct resource_device *device = &set->devices[i];

		fprintf(out, "  %s netdev %s state %s qp %u\n", device->name, device->ifname,
			device->up ? "ACTIVE" : "DOWN", device->counts[RESTRACK_QP]);
	}
	if (sums->count)
		fputs("counters\n", out);
	text_counters(out, sums, "  ");
	return !ferror(out);
}

static void json_number(cJSON *object, const char *key, uint64_t value)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%" PRIu64, value);
	cJSON_AddRawToObject(object, key, digits);
}

static void json_counters(cJSON *object, const struct counters *counters)
{
	cJSON *list = cJSON_AddObjectToObject(object, "counters");

	for (unsigned i = 0; list && i < counters->count; i++)
		json_number(list, counters->list[i].name, counters->list[i].value);
}

static void json_clients(cJSON *object, const struct resource_set *set, bool details)
{
	cJSON *list = cJSON_AddArrayToObject(object, "clients");

	for (unsigned i = 0; list && i < set->source->count; i++) {
		const struct resource_client *client = &set->source->clients[i];
		cJSON *one = cJSON_CreateObject();

		if (!one)
			return;
		cJSON_AddItemToArray(list, one);
		json_number(one, "pid", client->pid);
		cJSON_AddStringToObject(one, "comm", client->comm);
		json_number(one, "slot", client->slot);
		if (!client->has_ledger)
			continue;
		json_number(one, "qp", count_objects(set, i, RESTRACK_QP));
		json_number(one, "mr", count_objects(set, i, RESTRACK_MR));
		json_number(one, "cq", count_objects(set, i, RESTRACK_CQ));
		if (details) {
			struct counters own = { .count = 0 };

			count_client(&own, client);
			json_counters(one, &own);
		}
	}
}

static void json_devices(cJSON *object, const struct resource_set *set)
{
	cJSON *list = cJSON_AddArrayToObject(object, "devices");

	for (unsigned i = 0; list && i < set->device_count; i++) {
		const struct resource_device *device = &set->devices[i];
		cJSON *one = cJSON_CreateObject();

		if (!one)
			return;
		cJSON_AddItemToArray(list, one);
		json_number(one, "ifindex", i);
		cJSON_AddStringToObject(one, "ifname", device->name);
		cJSON_AddStringToObject(one, "netdev", device->ifname);
		json_number(one, "netdev_index", device->ifindex);
		cJSON_AddStringToObject(one, "state", device->up ? "ACTIVE" : "DOWN");
		json_number(one, "qp", device->counts[RESTRACK_QP]);
	}
}

bool status_print(FILE *out, const struct resource_set *set, const struct resource_options *options)
{
	const struct resource_source *source = set->source;
	struct counters sums = { .count = 0 };
	cJSON *object, *broker;

	for (unsigned i = 0; i < source->count; i++)
		count_client(&sums, &source->clients[i]);
	if (!options->json)
		return text_status(out, set, &sums, options->details);

	object = cJSON_CreateObject();
	broker = cJSON_AddObjectToObject(object, "broker");
	if (broker) {
		json_number(broker, "pid", source->broker_pid);
		json_number(broker, "slots_used", source->slots_used);
		json_number(broker, "slots", source->slots);
	}
	json_clients(object, set, options->details);
	json_devices(object, set);
	json_counters(object, &sums);
	return printer_json(out, object, options->pretty);
}

bool status_print_nothing(FILE *out, const struct resource_options *options)
{
	cJSON *object;

	if (!options->json) {
		fputs("no broker is running: no program uses adverb in this network namespace\n",
		      out);
		return !ferror(out);
	}
	object = cJSON_CreateObject();
	cJSON_AddNullToObject(object, "broker");
	cJSON_AddArrayToObject(object, "clients");
	cJSON_AddArrayToObject(object, "devices");
	cJSON_AddObjectToObject(object, "counters");
	return printer_json(out, object, options->pretty);
}

int status_main(int argc, char **argv)
{
	struct resource_source source = { 0 };
	struct resource_options options;
	struct resource_set set = { 0 };
	bool printed;
	int ret;

	argc = resource_take_options(argc - 1, argv + 1, &options);
	if (argc > 0)
		complain("status takes no argument: %s", argv[1]);
	if (argc) {
		status_usage(stderr);
		return EXIT_USAGE;
	}
	if (options.help) {
		status_usage(stdout);
		return EXIT_DONE;
	}
	ret = resource_source_open(&source);
	if (ret == -ENOENT) {
		printed = status_print_nothing(stdout, &options);
	} else if (ret) {
		complain("cannot ask the broker: %s", strerror(-ret));
		return EXIT_FAILED;
	} else {
		ret = resource_collect(&set, &source);
		printed = !ret && status_print(stdout, &set, &options);
		resource_release(&set);
		resource_source_close(&source);
	}
	if (!printed || fflush(stdout)) {
		complain("cannot write: %s", strerror(ret ? -ret : errno));
		return EXIT_FAILED;
	}
	return EXIT_DONE;
}
