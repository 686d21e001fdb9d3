/* SPDX-License-Identifier: Apache-2.0 */
/* resource.h - the objects of all processes, put together for `adverb resource` and `adverb status`
 */
#ifndef CLI_RESOURCE_H
#define CLI_RESOURCE_H

#include "cli/print.h"
#include "cli/resource_source.h"
#include "restrack/restrack.h"

struct resource_device {
	char name[64];
	char ifname[16];
	uint32_t ifindex;
	uint64_t guid;
	bool up;
	uint32_t counts[RESTRACK_TYPES];
};

struct resource_object {
	struct ledger_record record;
	uint32_t device; /* index into resource_set.devices */
	uint32_t client;
};

/* A moment's copy of everything. Devices are sorted by interface index, objects by device and id.
 */
struct resource_set {
	const struct resource_source *source;
	struct resource_device *devices;
	unsigned device_count;
	struct resource_object *objects;
	size_t object_count, object_room;
};

/** resource_collect() - -ENOMEM; an object whose device is not known is left out. */
int resource_collect(struct resource_set *set, const struct resource_source *source);
void resource_release(struct resource_set *set);

/** resource_types() - what `resource show` can list, ends with NULL; the rdma tool's names. */
extern const char *const resource_type_list[];
/** resource_type() - of a name; -1: not one of them. */
int resource_type(const char *name);
/** resource_valid_filter() - may objects of @type be selected by @key? *@numbers: by a number list.
 */
bool resource_valid_filter(enum restrack_type type, const char *key, bool *numbers);
/** resource_line() - one object as the rdma tool prints it. */
void resource_line(const struct resource_set *set, const struct resource_object *object,
		   struct line *line);
/** resource_summary_line() - the numbers of one device. */
void resource_summary_line(const struct resource_set *set, unsigned device, struct line *line);

/* The options that resource and status share. */
struct resource_options {
	bool json, pretty, details, help;
};
/**
 * resource_take_options() - take -j -p -d -h (also combined, also long) out of @argv.
 * Return: how many words are left, or -1 after a complaint.
 */
int resource_take_options(int argc, char **argv, struct resource_options *options);
/** resource_print() - what @argv asks for, from `show` on, without options. Returns the exit code.
 */
int resource_print(FILE *out, const struct resource_source *source, int argc, char **argv,
		   const struct resource_options *options);

#endif
