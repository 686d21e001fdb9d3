/* SPDX-License-Identifier: Apache-2.0 */
/* ledger.h - the book of one process' objects: shared memory that others read while it is written
 */
#ifndef RESTRACK_LEDGER_H
#define RESTRACK_LEDGER_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/report.h"

/*
 * One writer (the owner, under its lock), any number of readers in other processes, who never wait
 * for it and never stop it. Everything is fixed in place:
 *
 *	0	struct ledger_header
 *	4096	struct ledger_port [16]
 *	8192	counters: uint64_t [64]
 *	8704	their names: char [64][32]
 *	16384	struct ledger_record [capacity]
 *
 * The file is sparse: records are used lowest first. Each record and port has a sequence number,
 * odd while its identity is written. Attributes and counters are single stores, outside it.
 */
#define LEDGER_MAGIC		0x726567646c766461ull /* "advldger" */
#define LEDGER_VERSION		1u
#define LEDGER_PORTS		16u
#define LEDGER_COUNTERS		64u
#define LEDGER_COUNTER_NAME	32u
#define LEDGER_ATTRIBUTES	20u
#define LEDGER_SIZE		(64u << 20)
#define LEDGER_PORTS_AT		4096u
#define LEDGER_COUNTERS_AT	8192u
#define LEDGER_COUNTER_NAMES_AT 8704u
#define LEDGER_RECORDS_AT	16384u
#define LEDGER_CAPACITY		((LEDGER_SIZE - LEDGER_RECORDS_AT) / 256u)

struct ledger_header {
	uint64_t magic;
	uint32_t version;
	uint32_t record_size;
	uint32_t capacity;
	uint32_t records_used; /* highest record ever used + 1 */
	uint32_t pid;
	uint32_t slot;
	uint64_t start_time; /* of the process, clock ticks after boot: with pid its identity */
	uint64_t generation; /* changes with every object that comes or goes */
	uint64_t created_ns; /* CLOCK_MONOTONIC */
	uint32_t counters;   /* how many have names */
	uint32_t reserved;
	char comm[16];
};

struct ledger_port {
	uint32_t sequence;
	uint32_t used; /* 0 or 1 */
	char name[64]; /* adverb_lo */
	char ifname[16];
	uint64_t guid; /* big-endian bytes in memory */
	uint32_t ifindex;
	uint32_t up;
	uint64_t reserved[3];
};

enum ledger_state {
	LEDGER_FREE,
	LEDGER_RESERVED, /* an id is taken, the object is not there yet */
	LEDGER_LIVE,
	LEDGER_DELETING,
};

#define LEDGER_LIBRARY 1u /* flags: `name` is a part of the library, not a task */

struct ledger_record {
	uint32_t sequence;
	uint32_t state; /* enum ledger_state */
	uint32_t type;	/* enum restrack_type */
	uint32_t id;
	uint32_t context; /* id of the RESTRACK_CTX, 0: none */
	uint32_t port;	  /* index of struct ledger_port */
	uint32_t pid;
	uint32_t flags;
	char name[32];
	uint64_t created_ns; /* CLOCK_MONOTONIC */
	uint64_t object;     /* counts objects of this process: never the same twice */
	uint64_t reserved[2];
	uint64_t attributes[LEDGER_ATTRIBUTES]; /* attributes.h */
};

static_assert(sizeof(struct ledger_record) == 256, "format");
static_assert(sizeof(struct ledger_port) == 128, "format");
static_assert(sizeof(struct ledger_header) <= LEDGER_PORTS_AT, "format");

/* Writing. */

struct ledger_identity {
	uint32_t pid;
	uint32_t slot;
	uint64_t start_time;
	uint64_t now_ns;
	const char *comm; /* cut to 15 bytes */
};

/** ledger_size() - bytes the file must have, and be sealed against shrinking. */
size_t ledger_size(void);
/** ledger_format() - make zeroed, page-aligned @memory a ledger. -EINVAL: @size < ledger_size(). */
int ledger_format(void *memory, size_t size, const struct ledger_identity *identity) MUST_USE;
/** ledger_set_slot() - when it changes (a new broker). */
void ledger_set_slot(void *memory, uint32_t slot);
/** ledger_set_port() - @index as rvt_port.index; names are cut; indices out of range are ignored.
 */
void ledger_set_port(void *memory, uint32_t index, const char *name, const char *ifname,
		     uint32_t ifindex, uint64_t guid, bool up);
/** ledger_counters() - the 64 counters, to be incremented by plain 8-byte stores. */
uint64_t *ledger_counters(void *memory);
/** ledger_name_counter() - only counters with names are shown. Names 0, 1, 2 ... in order. */
void ledger_name_counter(void *memory, unsigned index, const char *name);

/* Reading: the bytes may be anything and may change at any time; nothing below trusts one. */

struct ledger_reader {
	const void *memory;
	size_t size;
	struct ledger_header header; /* a copy, checked; comm is terminated */
};

/**
 * ledger_reader_open() - @memory must stay mapped and must not shrink (check the seal).
 * -EINVAL: not a ledger of this version.
 */
int ledger_reader_open(struct ledger_reader *reader, const void *memory, size_t size) MUST_USE;
/**
 * ledger_reader_next() - copy the next record in use (live or deleting) from *@cursor on (start
 * with 0). A record that changes all the time is skipped. The copy has a valid state and type and a
 * terminated, printable name. Return: false at the end.
 */
bool ledger_reader_next(const struct ledger_reader *reader, uint32_t *cursor,
			struct ledger_record *record);
/** ledger_reader_port() - copy of a port, names terminated and printable; false: not in use. */
bool ledger_reader_port(const struct ledger_reader *reader, uint32_t index,
			struct ledger_port *port);
/** ledger_reader_counter() - value and name (32 bytes) of a counter; false: it has no name. */
bool ledger_reader_counter(const struct ledger_reader *reader, unsigned index, char *name,
			   uint64_t *value);

#endif
