/* SPDX-License-Identifier: Apache-2.0 */
/* restrack.h - the life of every verbs object: its id, its owner, its references, its entry in the
 * ledger */
#ifndef RESTRACK_RESTRACK_H
#define RESTRACK_RESTRACK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/allocator.h"
#include "base/report.h"
#include "base/table.h"
#include "restrack/attributes.h"

/* The kernel's order and names; what it does not track comes after its own. Part of the ledger's
 * format. */
enum restrack_type {
	RESTRACK_PD,
	RESTRACK_CQ,
	RESTRACK_QP,
	RESTRACK_CM_ID,
	RESTRACK_MR,
	RESTRACK_CTX,
	RESTRACK_COUNTER,
	RESTRACK_SRQ,
	RESTRACK_DMAH,
	RESTRACK_AH,
	RESTRACK_MW,
	RESTRACK_XRCD,
	RESTRACK_CHANNEL,
	RESTRACK_TYPES,
};

/*
 * new -> reserved (has an id and a ledger record) -> tracked -> deleting -> new; deleting ->
 * tracked by abort_del.
 */
enum restrack_state {
	RESTRACK_NEW,
	RESTRACK_RESERVED,
	RESTRACK_TRACKED,
	RESTRACK_DELETING,
};

#define RESTRACK_NAME 16

struct restrack_root;
struct ledger_record;

/* The first member, `res`, of every object that is tracked. Read only outside restrack. */
struct restrack_entry {
	struct restrack_root *root; /* from reservation to commit_del */
	enum restrack_type type;
	enum restrack_state state;
	uint32_t id;
	uint32_t references; /* 1 is the owner's, from add to begin_del; the others are readers' */
	uint32_t port;	     /* rvt_port.index of its device */
	uint32_t pid;	     /* 0 for the library's own objects */
	char name[RESTRACK_NAME]; /* comm of the task, or the name of the part of the library */
	const struct restrack_entry *context; /* the RESTRACK_CTX it belongs to, or NULL */
	struct ledger_record *record;	      /* NULL without a ledger */
	uint64_t *attributes;		      /* of the record, or NULL */
};

#define RESTRACK_RECORD_CHUNK  4096
#define RESTRACK_RECORD_CHUNKS 64

/* All objects of one process (one lane). The caller's lock covers everything in here. */
struct restrack_root {
	const struct allocator *allocator;
	struct table tables[RESTRACK_TYPES];
	uint32_t counts[RESTRACK_TYPES]; /* tracked or deleting */
	uint32_t pid;
	char comm[RESTRACK_NAME];
	const uint64_t *now_ns;
	void *ledger;
	/* Which records are free is kept here and not in the ledger, which others might damage. */
	uint32_t *record_next[RESTRACK_RECORD_CHUNKS];
	uint32_t free_record;  /* head, index + 1; 0: none */
	uint32_t records_used; /* highest ever used + 1 */
	uint64_t objects;      /* made so far */
};

/** restrack_type_name() - "qp", as the rdma tool calls it; "?" for a type that is none. */
const char *restrack_type_name(enum restrack_type type);

/**
 * restrack_init() - empty tables; ids of every type 1 to 2^20 until restrack_set_range().
 * @ledger: memory prepared by ledger_format() that outlives @root, or NULL: objects are tracked in
 * this process alone. The owner (pid, comm) is taken from its header. -ENOMEM
 */
int restrack_init(struct restrack_root *root, const struct allocator *allocator,
		  void *ledger) MUST_USE;
/** restrack_set_clock() - where creation times come from: *@now_ns is read at every add. */
void restrack_set_clock(struct restrack_root *root, const uint64_t *now_ns);
/**
 * restrack_clean() - free the tables. What is still tracked is a leak; its records are freed, so
 * that no reader sees objects that nobody owns. Twice is harmless. Return: how many leaks.
 */
unsigned restrack_clean(struct restrack_root *root);
/**
 * restrack_set_range() - ids of @type are @first .. @first + @count - 1, given out cyclically
 * beginning @start (modulo @count; pass a random number) after @first. Only while none is taken
 * (asserted). -ENOMEM
 */
int restrack_set_range(struct restrack_root *root, enum restrack_type type, uint32_t first,
		       uint32_t count, uint32_t start) MUST_USE;

/** restrack_new() - prepare an entry: the first thing done to an object, cannot fail. */
void restrack_new(struct restrack_entry *entry, enum restrack_type type);
/**
 * restrack_set_name() - the owner is the part of the library called @name; NULL: the process.
 * Before reservation, as the next three. An entry for which none was called belongs to the process.
 */
void restrack_set_name(struct restrack_entry *entry, const char *name);
/**
 * restrack_parent_name() - owner, device and context are those of @parent; if @parent is a
 * RESTRACK_CTX itself, that is the context.
 */
void restrack_parent_name(struct restrack_entry *entry, const struct restrack_entry *parent);
/** restrack_attach_task() - made on behalf of another task. */
void restrack_attach_task(struct restrack_entry *entry, uint32_t pid, const char *comm);
/** restrack_set_port() - which device (rvt_port.index); for contexts, the others inherit it. */
void restrack_set_port(struct restrack_entry *entry, uint32_t port);

/**
 * restrack_reserve() - take the next free id and a ledger record; entry->id and restrack_set() are
 * good from here on, look-ups do not find it yet. Optional: restrack_add() does it where needed.
 * If creation fails afterwards, restrack_del() gives both back.
 * Return: 0, -ENOSPC (all ids taken), -ENOMEM (also: the ledger is full; nothing exists untracked).
 */
int restrack_reserve(struct restrack_root *root, struct restrack_entry *entry) MUST_USE;
/** restrack_take_id() - restrack_reserve() of this very id. Also -EBUSY (taken), -ERANGE. */
int restrack_take_id(struct restrack_root *root, struct restrack_entry *entry,
		     uint32_t id) MUST_USE;
/**
 * restrack_add() - visible from here on, to look-ups and in the ledger; one reference, the owner's.
 * The last step of a successful create. After a restrack_reserve() it cannot fail; without it, its
 * errors, and the entry is as before.
 */
int restrack_add(struct restrack_root *root, struct restrack_entry *entry) MUST_USE;

/** restrack_move() - it belongs to another context from here on, for its own ends before it. */
void restrack_move(struct restrack_entry *entry, const struct restrack_entry *context);

/** restrack_get() - one more reference: 0, or -ENOENT if not tracked (any more). */
int restrack_get(struct restrack_entry *entry) MUST_USE;
/** restrack_put() - Return: true when it was the last one of an entry that is being deleted: now
 * commit_del works. */
bool restrack_put(struct restrack_entry *entry);
/** restrack_get_byid() - the tracked entry, referenced, or NULL: none, or being deleted. */
struct restrack_entry *restrack_get_byid(struct restrack_root *root, enum restrack_type type,
					 uint32_t id) MUST_USE;

/*
 * Deletion in two steps, so that nobody finds what is half gone and a failed destroy loses nothing.
 * The id stays taken until commit_del, so no other object can have it before.
 *
 * There is one lock for each root, so nothing waits in here. References are held only by readers
 * that give up the lock while they look. After begin_del no new ones come; restrack_sync() says
 * whether old ones are left. If so, the destroyer either unlocks and tries again (control path), or
 * leaves the rest to the last restrack_put(), whose caller commits and frees (regions in use).
 */
/** restrack_begin_del() - hidden, the owner's reference dropped. 0; -ENOENT if not tracked. */
int restrack_begin_del(struct restrack_entry *entry);
/** restrack_commit_del() - id and record are free, the entry is new. -EBUSY with references left,
 * -EINVAL without begin_del; then nothing changed. */
int restrack_commit_del(struct restrack_entry *entry);
/** restrack_abort_del() - tracked again, as if begin_del had not been called. Cannot fail; only
 * after begin_del (asserted). */
void restrack_abort_del(struct restrack_entry *entry);
/**
 * restrack_del() - the whole deletion, for entries that were tracked, only reserved, or only new
 * (nothing happens). -EBUSY: readers are left; it stays in state deleting, and commit_del is to
 * come.
 */
int restrack_del(struct restrack_entry *entry);
/**
 * restrack_sync() - are there references other than the owner's? Ask after changing a field that
 * readers follow: if true, unlock, let them finish, ask again, and free the old value only then.
 */
bool restrack_sync(const struct restrack_entry *entry);

/** restrack_count() - tracked entries of @type; with @context only those that belong to it. */
uint32_t restrack_count(struct restrack_root *root, enum restrack_type type,
			const struct restrack_entry *context);
/**
 * restrack_next() - the first tracked entry with an id >= *@id; *@id becomes its id (the caller
 * adds 1 to go on). NULL at the end. Not referenced.
 */
struct restrack_entry *restrack_next(struct restrack_root *root, enum restrack_type type,
				     uint32_t *id);

/** restrack_set() - one store, for the data path too; nothing before reservation or without a
 * ledger. */
static inline void restrack_set(struct restrack_entry *entry, unsigned attribute, uint64_t value)
{
	if (entry->attributes)
		__atomic_store_n(&entry->attributes[attribute], value, __ATOMIC_RELAXED);
}

/** restrack_adjust() - add @delta, which may be negative. */
static inline void restrack_adjust(struct restrack_entry *entry, unsigned attribute, int64_t delta)
{
	if (entry->attributes)
		__atomic_store_n(&entry->attributes[attribute],
				 entry->attributes[attribute] + (uint64_t)delta, __ATOMIC_RELAXED);
}

#endif
