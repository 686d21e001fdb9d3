/* SPDX-License-Identifier: Apache-2.0 */
/* private.h - how restrack writes its records (private to restrack/) */
#ifndef RESTRACK_PRIVATE_H
#define RESTRACK_PRIVATE_H

#include "restrack/ledger.h"
#include "restrack/restrack.h"

#define LEDGER_RECORD_WORDS (sizeof(struct ledger_record) / sizeof(uint64_t))

/** ledger_at() - the record at @index < LEDGER_CAPACITY. */
static inline struct ledger_record *ledger_at(void *ledger, uint32_t index)
{
	return (struct ledger_record *)(void *)((uint8_t *)ledger + LEDGER_RECORDS_AT) + index;
}

/** ledger_write() - all of a record but its sequence, as one change for readers. */
void ledger_write(void *ledger, struct ledger_record *to, const struct ledger_record *from);
/** ledger_write_state() - the same for the state and the creation time. */
void ledger_write_state(void *ledger, struct ledger_record *to, enum ledger_state state,
			uint64_t created_ns);
/** ledger_grow() - records up to @used are to be read. */
void ledger_grow(void *ledger, uint32_t used);

/** copy_name() - cut @from (NULL: empty) to @size - 1 bytes, zero the rest. */
void copy_name(char *to, size_t size, const char *from);

#endif
