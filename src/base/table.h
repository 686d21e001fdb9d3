/* SPDX-License-Identifier: Apache-2.0 */
/* table.h - id -> object; ids are given out cyclically so that a freed one comes back late */
#ifndef BASE_TABLE_H
#define BASE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/allocator.h"
#include "base/report.h"

/* Ids first .. first + count - 1 in chunks that are allocated when first used. */
struct table {
	const struct allocator *allocator;
	void ***chunks;
	uint64_t **taken; /* one bit per id, chunk by chunk: an id may be taken and still map to
			     NULL */
	uint32_t first, count;
	uint32_t next; /* where the next search starts, relative to first */
	uint32_t used;
};

/** table_init() - an empty table. @start (relative) is where the first id comes from: pass a random
 * number. -ENOMEM */
int table_init(struct table *t, const struct allocator *a, uint32_t first, uint32_t count,
	       uint32_t start) MUST_USE;
/** table_deinit() - free the table's own memory; the objects are the caller's. */
void table_deinit(struct table *t);
/**
 * table_take() - reserve the next free id; look-ups find NULL until table_set().
 * Return: 0, -ENOSPC when every id is taken, -ENOMEM.
 */
int table_take(struct table *t, uint32_t *ret_id) MUST_USE;
/** table_take_id() - reserve this very id. -EBUSY when taken, -ERANGE outside, -ENOMEM. */
int table_take_id(struct table *t, uint32_t id) MUST_USE;
/** table_set() - what look-ups of a taken id find; NULL hides it and keeps it taken. */
void table_set(struct table *t, uint32_t id, void *object);
/** table_release() - the id may be given out again. */
void table_release(struct table *t, uint32_t id);
/** table_find() - total: any id, taken or not, in range or not. */
void *table_find(const struct table *t, uint32_t id);
/** table_next() - the first non-NULL object with an id >= *id; *id is set to its id. NULL at the
 * end. */
void *table_next(const struct table *t, uint32_t *id);

#endif
