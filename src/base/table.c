/* SPDX-License-Identifier: Apache-2.0 */
/* table.c - ids in chunks of 1024, each with a bitmap of what is taken */
#include "base/table.h"

#include <errno.h>

#define CHUNK_IDS   1024u
#define CHUNK_WORDS (CHUNK_IDS / 64)

static uint32_t chunk_count(const struct table *t)
{
	return (t->count + CHUNK_IDS - 1) / CHUNK_IDS;
}

int table_init(struct table *t, const struct allocator *a, uint32_t first, uint32_t count,
	       uint32_t start)
{
	*t = (struct table){ .allocator = a, .first = first, .count = count };
	if (!count)
		return 0;
	t->next = start % count;
	t->chunks = allocator_get(a, chunk_count(t) * sizeof(*t->chunks));
	t->taken = allocator_get(a, chunk_count(t) * sizeof(*t->taken));
	if (t->chunks && t->taken)
		return 0;
	table_deinit(t);
	return -ENOMEM;
}

void table_deinit(struct table *t)
{
	for (uint32_t i = 0; t->chunks && t->taken && i < chunk_count(t); i++) {
		allocator_put(t->allocator, t->chunks[i]);
		allocator_put(t->allocator, t->taken[i]);
	}
	if (t->allocator) {
		allocator_put(t->allocator, t->chunks);
		allocator_put(t->allocator, t->taken);
	}
	*t = (struct table){ .allocator = t->allocator };
}

static int have_chunk(struct table *t, uint32_t chunk)
{
	if (t->chunks[chunk])
		return 0;
	t->taken[chunk] = allocator_get(t->allocator, CHUNK_WORDS * sizeof(uint64_t));
	t->chunks[chunk] = allocator_get(t->allocator, CHUNK_IDS * sizeof(void *));
	if (t->chunks[chunk] && t->taken[chunk])
		return 0;
	allocator_put(t->allocator, t->taken[chunk]);
	allocator_put(t->allocator, t->chunks[chunk]);
	t->taken[chunk] = NULL;
	t->chunks[chunk] = NULL;
	return -ENOMEM;
}

/* Is the id (relative) taken? Chunks that are not there yet hold free ids only. */
static bool is_taken(const struct table *t, uint32_t index)
{
	const uint64_t *words = t->taken[index / CHUNK_IDS];

	return words && words[index % CHUNK_IDS / 64] >> (index % 64) & 1;
}

static int take(struct table *t, uint32_t index)
{
	int err = have_chunk(t, index / CHUNK_IDS);

	if (err)
		return err;
	t->taken[index / CHUNK_IDS][index % CHUNK_IDS / 64] |= (uint64_t)1 << (index % 64);
	t->used++;
	return 0;
}

/* The first free id in from .. to - 1, or to. Full words are passed over at once. */
static uint32_t find_free(const struct table *t, uint32_t from, uint32_t to)
{
	uint32_t i = from;

	while (i < to) {
		const uint64_t *words = t->taken[i / CHUNK_IDS];
		uint64_t free_bits;

		if (!words)
			return i;
		free_bits = ~words[i % CHUNK_IDS / 64] >> (i % 64);
		if (free_bits) {
			i += (uint32_t)__builtin_ctzll(free_bits);
			return i < to ? i : to;
		}
		i = (i | 63) + 1;
	}
	return to;
}

int table_take(struct table *t, uint32_t *ret_id)
{
	uint32_t index;
	int err;

	if (t->used >= t->count)
		return -ENOSPC;
	index = find_free(t, t->next, t->count);
	if (index == t->count)
		index = find_free(t, 0, t->next);
	err = take(t, index);
	if (err)
		return err;
	t->next = (index + 1) % t->count;
	*ret_id = t->first + index;
	return 0;
}

int table_take_id(struct table *t, uint32_t id)
{
	if (id - t->first >= t->count)
		return -ERANGE;
	if (is_taken(t, id - t->first))
		return -EBUSY;
	return take(t, id - t->first);
}

void table_set(struct table *t, uint32_t id, void *object)
{
	uint32_t index = id - t->first;

	ASSERT(index < t->count && is_taken(t, index));
	t->chunks[index / CHUNK_IDS][index % CHUNK_IDS] = object;
}

void table_release(struct table *t, uint32_t id)
{
	uint32_t index = id - t->first;

	ASSERT(index < t->count && is_taken(t, index));
	t->chunks[index / CHUNK_IDS][index % CHUNK_IDS] = NULL;
	t->taken[index / CHUNK_IDS][index % CHUNK_IDS / 64] &= ~((uint64_t)1 << (index % 64));
	t->used--;
}

void *table_find(const struct table *t, uint32_t id)
{
	uint32_t index = id - t->first;

	if (index >= t->count || !t->chunks[index / CHUNK_IDS])
		return NULL;
	return t->chunks[index / CHUNK_IDS][index % CHUNK_IDS];
}

void *table_next(const struct table *t, uint32_t *id)
{
	uint32_t index = *id <= t->first ? 0 : *id - t->first;

	while (index < t->count) {
		void **chunk = t->chunks[index / CHUNK_IDS];

		if (!chunk) {
			index = (index / CHUNK_IDS + 1) * CHUNK_IDS;
			continue;
		}
		if (chunk[index % CHUNK_IDS]) {
			*id = t->first + index;
			return chunk[index % CHUNK_IDS];
		}
		index++;
	}
	return NULL;
}
