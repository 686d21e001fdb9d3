/* SPDX-License-Identifier: Apache-2.0 */
/* ledger.c - the owner's side of the ledger */
#include <errno.h>
#include <string.h>

#include "restrack/private.h"

void copy_name(char *to, size_t size, const char *from)
{
	size_t n = 0;

	memset(to, 0, size);
	for (; from && from[n] && n + 1 < size; n++)
		to[n] = from[n];
}

static struct ledger_header *header_of(void *memory)
{
	return (struct ledger_header *)memory;
}

size_t ledger_size(void)
{
	return LEDGER_SIZE;
}

int ledger_format(void *memory, size_t size, const struct ledger_identity *identity)
{
	struct ledger_header *header = header_of(memory);

	if (size < LEDGER_SIZE)
		return -EINVAL;
	header->version = LEDGER_VERSION;
	header->record_size = sizeof(struct ledger_record);
	header->capacity = LEDGER_CAPACITY;
	header->pid = identity->pid;
	header->slot = identity->slot;
	header->start_time = identity->start_time;
	header->created_ns = identity->now_ns;
	copy_name(header->comm, sizeof(header->comm), identity->comm);
	/* Last: a reader takes the rest for real once it sees this. */
	__atomic_store_n(&header->magic, LEDGER_MAGIC, __ATOMIC_RELEASE);
	return 0;
}

void ledger_set_slot(void *memory, uint32_t slot)
{
	__atomic_store_n(&header_of(memory)->slot, slot, __ATOMIC_RELAXED);
}

uint64_t *ledger_counters(void *memory)
{
	return (uint64_t *)(void *)((uint8_t *)memory + LEDGER_COUNTERS_AT);
}

void ledger_name_counter(void *memory, unsigned index, const char *name)
{
	char *names = (char *)memory + LEDGER_COUNTER_NAMES_AT;

	if (index >= LEDGER_COUNTERS)
		return;
	copy_name(names + (size_t)index * LEDGER_COUNTER_NAME, LEDGER_COUNTER_NAME, name);
	if (header_of(memory)->counters <= index)
		__atomic_store_n(&header_of(memory)->counters, index + 1, __ATOMIC_RELEASE);
}

/* The identity of a record or port changes between an odd and the next even sequence number. */
static void write_begin(uint32_t *sequence)
{
	__atomic_store_n(sequence, *sequence | 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static void write_end(uint32_t *sequence)
{
	__atomic_store_n(sequence, *sequence + 1, __ATOMIC_RELEASE);
}

static void store_words(void *to, const void *from, size_t size)
{
	uint64_t *t = to, word;

	for (size_t i = 0; i < size / sizeof(word); i++) {
		memcpy(&word, (const uint8_t *)from + i * sizeof(word), sizeof(word));
		__atomic_store_n(&t[i], word, __ATOMIC_RELAXED);
	}
}

void ledger_set_port(void *memory, uint32_t index, const char *name, const char *ifname,
		     uint32_t ifindex, uint64_t guid, bool up)
{
	struct ledger_port *port, next = { .used = 1, .ifindex = ifindex, .guid = guid, .up = up };

	if (index >= LEDGER_PORTS)
		return;
	port = (struct ledger_port *)(void *)((uint8_t *)memory + LEDGER_PORTS_AT) + index;
	copy_name(next.name, sizeof(next.name), name);
	copy_name(next.ifname, sizeof(next.ifname), ifname);
	write_begin(&port->sequence);
	__atomic_store_n(&port->used, 1, __ATOMIC_RELAXED);
	store_words(port->name, next.name, sizeof(next) - offsetof(struct ledger_port, name));
	write_end(&port->sequence);
}

static void changed(void *ledger)
{
	struct ledger_header *header = header_of(ledger);

	__atomic_store_n(&header->generation, header->generation + 1, __ATOMIC_RELEASE);
}

void ledger_write(void *ledger, struct ledger_record *to, const struct ledger_record *from)
{
	write_begin(&to->sequence);
	__atomic_store_n(&to->state, from->state, __ATOMIC_RELAXED);
	store_words(&to->type, &from->type, sizeof(*to) - offsetof(struct ledger_record, type));
	write_end(&to->sequence);
	changed(ledger);
}

void ledger_write_state(void *ledger, struct ledger_record *to, enum ledger_state state,
			uint64_t created_ns)
{
	write_begin(&to->sequence);
	__atomic_store_n(&to->state, state, __ATOMIC_RELAXED);
	__atomic_store_n(&to->created_ns, created_ns, __ATOMIC_RELAXED);
	write_end(&to->sequence);
	changed(ledger);
}

void ledger_grow(void *ledger, uint32_t used)
{
	__atomic_store_n(&header_of(ledger)->records_used, used, __ATOMIC_RELEASE);
}
