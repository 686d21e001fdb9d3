/* SPDX-License-Identifier: Apache-2.0 */
/* resource_set.c - copy what all ledgers say */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/resource.h"

static int find_device(const struct resource_set *set, const char *name)
{
	for (unsigned i = 0; i < set->device_count; i++) {
		if (!strcmp(set->devices[i].name, name))
			return (int)i;
	}
	return -1;
}

static int compare_devices(const void *a, const void *b)
{
	const struct resource_device *left = a, *right = b;

	if (left->ifindex != right->ifindex)
		return left->ifindex < right->ifindex ? -1 : 1;
	return strcmp(left->name, right->name);
}

static int collect_devices(struct resource_set *set)
{
	struct ledger_port port;

	for (unsigned c = 0; c < set->source->count; c++) {
		const struct resource_client *client = &set->source->clients[c];

		for (uint32_t p = 0; client->has_ledger && p < LEDGER_PORTS; p++) {
			struct resource_device *more;

			if (!ledger_reader_port(&client->reader, p, &port) ||
			    find_device(set, port.name) >= 0)
				continue;
			more = reallocarray(set->devices, set->device_count + 1, sizeof(*more));
			if (!more)
				return -ENOMEM;
			set->devices = more;
			more += set->device_count++;
			memset(more, 0, sizeof(*more));
			memcpy(more->name, port.name, sizeof(more->name));
			memcpy(more->ifname, port.ifname, sizeof(more->ifname));
			more->ifindex = port.ifindex;
			more->guid = port.guid;
			more->up = port.up != 0;
		}
	}
	if (set->device_count)
		qsort(set->devices, set->device_count, sizeof(*set->devices), compare_devices);
	return 0;
}

static int collect_client(struct resource_set *set, unsigned index)
{
	const struct resource_client *client = &set->source->clients[index];
	int devices[LEDGER_PORTS];
	struct resource_object *object;
	struct ledger_record record;
	struct ledger_port port;
	uint32_t cursor = 0;

	for (uint32_t p = 0; p < LEDGER_PORTS; p++)
		devices[p] = ledger_reader_port(&client->reader, p, &port)
				     ? find_device(set, port.name)
				     : -1;
	while (ledger_reader_next(&client->reader, &cursor, &record)) {
		/* What is being destroyed is hidden, as in the kernel. */
		if (record.state != LEDGER_LIVE || record.port >= LEDGER_PORTS ||
		    devices[record.port] < 0)
			continue;
		if (set->object_count == set->object_room) {
			size_t room = set->object_room ? set->object_room * 2 : 64;

			object = reallocarray(set->objects, room, sizeof(*object));
			if (!object)
				return -ENOMEM;
			set->objects = object;
			set->object_room = room;
		}
		object = &set->objects[set->object_count++];
		object->record = record;
		object->device = (uint32_t)devices[record.port];
		object->client = index;
		/* The broker knows how the process is called from here, also in a container. */
		if (record.pid == client->reader.header.pid && client->pid)
			object->record.pid = client->pid;
		set->devices[object->device].counts[record.type]++;
	}
	return 0;
}

static int compare_objects(const void *a, const void *b)
{
	const struct resource_object *left = a, *right = b;

	if (left->device != right->device)
		return left->device < right->device ? -1 : 1;
	if (left->record.id != right->record.id)
		return left->record.id < right->record.id ? -1 : 1;
	if (left->client != right->client)
		return left->client < right->client ? -1 : 1;
	return 0;
}

int resource_collect(struct resource_set *set, const struct resource_source *source)
{
	int ret;

	memset(set, 0, sizeof(*set));
	set->source = source;
	ret = collect_devices(set);
	for (unsigned i = 0; !ret && i < source->count; i++) {
		if (source->clients[i].has_ledger)
			ret = collect_client(set, i);
	}
	if (ret) {
		resource_release(set);
		return ret;
	}
	if (set->object_count)
		qsort(set->objects, set->object_count, sizeof(*set->objects), compare_objects);
	return 0;
}

void resource_release(struct resource_set *set)
{
	free(set->devices);
	free(set->objects);
	memset(set, 0, sizeof(*set));
}
