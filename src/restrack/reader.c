/* SPDX-License-Identifier: Apache-2.0 */
/* reader.c - reading a ledger that somebody else owns, whatever is in it */
#include <errno.h>
#include <string.h>

#include "restrack/private.h"

/* A writer is done after a few stores. One that never is was stopped in the middle, or lies. */
#define READ_TRIES 64

static void load_words(void *to, const void *from, size_t size)
{
	const uint64_t *f = from;
	uint64_t word;

	for (size_t i = 0; i < size / sizeof(word); i++) {
		word = __atomic_load_n(&f[i], __ATOMIC_RELAXED);
		memcpy((uint8_t *)to + i * sizeof(word), &word, sizeof(word));
	}
}

/* Names go to terminals: what is not a printable ASCII character becomes '?'. */
static void clean_name(char *name, size_t size)
{
	bool end = false;

	name[size - 1] = 0;
	for (size_t i = 0; i < size; i++) {
		if (!name[i])
			end = true;
		if (end)
			name[i] = 0;
		else if (name[i] < 0x20 || name[i] > 0x7e)
			name[i] = '?';
	}
}

/* The first member of both kinds of structure is the sequence number. */
static bool read_consistent(void *to, const void *from, size_t size)
{
	const uint32_t *sequence = from;
	uint32_t before, after;

	for (int i = 0; i < READ_TRIES; i++) {
		before = __atomic_load_n(sequence, __ATOMIC_ACQUIRE);
		if (before & 1)
			continue;
		load_words(to, from, size);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		after = __atomic_load_n(sequence, __ATOMIC_RELAXED);
		if (before == after)
			return true;
	}
	return false;
}

int ledger_reader_open(struct ledger_reader *reader, const void *memory, size_t size)
{
	struct ledger_header *header = &reader->header;

	memset(reader, 0, sizeof(*reader));
	if (!memory || (uintptr_t)memory % sizeof(uint64_t) || size < LEDGER_SIZE)
		return -EINVAL;
	if (__atomic_load_n((const uint64_t *)memory, __ATOMIC_ACQUIRE) != LEDGER_MAGIC)
		return -EINVAL;
	load_words(header, memory, sizeof(*header));
	if (header->version != LEDGER_VERSION ||
	    header->record_size != sizeof(struct ledger_record) ||
	    header->capacity != LEDGER_CAPACITY)
		return -EINVAL;
	if (header->records_used > LEDGER_CAPACITY)
		header->records_used = LEDGER_CAPACITY;
	if (header->counters > LEDGER_COUNTERS)
		header->counters = LEDGER_COUNTERS;
	clean_name(header->comm, sizeof(header->comm));
	reader->memory = memory;
	reader->size = size;
	return 0;
}

static uint32_t records_used(const struct ledger_reader *reader)
{
	const struct ledger_header *header = reader->memory;
	uint32_t used = __atomic_load_n(&header->records_used, __ATOMIC_ACQUIRE);

	return used < LEDGER_CAPACITY ? used : LEDGER_CAPACITY;
}

bool ledger_reader_next(const struct ledger_reader *reader, uint32_t *cursor,
			struct ledger_record *record)
{
	const uint8_t *records = (const uint8_t *)reader->memory + LEDGER_RECORDS_AT;
	uint32_t used = records_used(reader);

	while (*cursor < used) {
		const uint8_t *from = records + (size_t)*cursor * sizeof(*record);

		++*cursor;
		if (!read_consistent(record, from, sizeof(*record)))
			continue;
		if (record->state != LEDGER_LIVE && record->state != LEDGER_DELETING)
			continue;
		if (record->type >= RESTRACK_TYPES)
			continue;
		clean_name(record->name, sizeof(record->name));
		return true;
	}
	return false;
}

bool ledger_reader_port(const struct ledger_reader *reader, uint32_t index,
			struct ledger_port *port)
{
	const uint8_t *ports = (const uint8_t *)reader->memory + LEDGER_PORTS_AT;

	if (index >= LEDGER_PORTS)
		return false;
	if (!read_consistent(port, ports + (size_t)index * sizeof(*port), sizeof(*port)))
		return false;
	clean_name(port->name, sizeof(port->name));
	clean_name(port->ifname, sizeof(port->ifname));
	return port->used == 1 && port->name[0];
}

bool ledger_reader_counter(const struct ledger_reader *reader, unsigned index, char *name,
			   uint64_t *value)
{
	const uint8_t *base = reader->memory;

	if (index >= reader->header.counters)
		return false;
	load_words(name, base + LEDGER_COUNTER_NAMES_AT + (size_t)index * LEDGER_COUNTER_NAME,
		   LEDGER_COUNTER_NAME);
	clean_name(name, LEDGER_COUNTER_NAME);
	load_words(value, base + LEDGER_COUNTERS_AT + (size_t)index * sizeof(*value),
		   sizeof(*value));
	return name[0];
}
