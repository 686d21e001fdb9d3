/* SPDX-License-Identifier: Apache-2.0 */
/* restrack.c - tables, references and the two-step deletion */
#include <errno.h>
#include <string.h>

#include "restrack/private.h"

#define DEFAULT_IDS (1u << 20)

const char *restrack_type_name(enum restrack_type type)
{
	static const char *const names[] = {
		[RESTRACK_PD] = "pd",
		[RESTRACK_CQ] = "cq",
		[RESTRACK_QP] = "qp",
		[RESTRACK_CM_ID] = "cm_id",
		[RESTRACK_MR] = "mr",
		[RESTRACK_CTX] = "ctx",
		[RESTRACK_COUNTER] = "counter",
		[RESTRACK_SRQ] = "srq",
		[RESTRACK_DMAH] = "dmah",
		[RESTRACK_AH] = "ah",
		[RESTRACK_MW] = "mw",
		[RESTRACK_XRCD] = "xrcd",
		[RESTRACK_CHANNEL] = "comp_channel",
	};

	return (unsigned)type < RESTRACK_TYPES ? names[type] : "?";
}

int restrack_init(struct restrack_root *root, const struct allocator *allocator, void *ledger)
{
	int ret;

	memset(root, 0, sizeof(*root));
	root->allocator = allocator;
	root->ledger = ledger;
	if (ledger) {
		const struct ledger_header *header = ledger;

		root->pid = header->pid;
		memcpy(root->comm, header->comm, sizeof(root->comm));
		root->comm[sizeof(root->comm) - 1] = 0;
	}
	for (int i = 0; i < RESTRACK_TYPES; i++) {
		ret = table_init(&root->tables[i], allocator, 1, DEFAULT_IDS, 0);
		if (ret) {
			while (i--)
				table_deinit(&root->tables[i]);
			return ret;
		}
	}
	return 0;
}

void restrack_set_clock(struct restrack_root *root, const uint64_t *now_ns)
{
	root->now_ns = now_ns;
}

int restrack_set_range(struct restrack_root *root, enum restrack_type type, uint32_t first,
		       uint32_t count, uint32_t start)
{
	struct table next;
	int ret;

	ASSERT((unsigned)type < RESTRACK_TYPES && count && !root->tables[type].used);
	ret = table_init(&next, root->allocator, first, count, start % count);
	if (ret)
		return ret;
	table_deinit(&root->tables[type]);
	root->tables[type] = next;
	return 0;
}

/* Records: which are free is a list of indices + 1, lowest used first. */

static uint32_t *record_link(struct restrack_root *root, uint32_t index)
{
	return &root->record_next[index / RESTRACK_RECORD_CHUNK][index % RESTRACK_RECORD_CHUNK];
}

static int take_record(struct restrack_root *root, struct ledger_record **ret)
{
	uint32_t index, chunk;

	*ret = NULL;
	if (!root->ledger)
		return 0;
	if (root->free_record) {
		index = root->free_record - 1;
		root->free_record = *record_link(root, index);
	} else {
		index = root->records_used;
		if (index >= LEDGER_CAPACITY)
			return -ENOMEM;
		chunk = index / RESTRACK_RECORD_CHUNK;
		if (!root->record_next[chunk]) {
			root->record_next[chunk] = allocator_get(
				root->allocator, RESTRACK_RECORD_CHUNK * sizeof(uint32_t));
			if (!root->record_next[chunk])
				return -ENOMEM;
		}
		root->records_used = index + 1;
		ledger_grow(root->ledger, root->records_used);
	}
	*ret = ledger_at(root->ledger, index);
	return 0;
}

static void free_record(struct restrack_root *root, struct restrack_entry *entry)
{
	static const struct ledger_record empty;
	uint32_t index;

	if (!entry->record)
		return;
	ledger_write(root->ledger, entry->record, &empty);
	index = (uint32_t)(entry->record - ledger_at(root->ledger, 0));
	*record_link(root, index) = root->free_record;
	root->free_record = index + 1;
	entry->record = NULL;
	entry->attributes = NULL;
}

unsigned restrack_clean(struct restrack_root *root)
{
	static const struct ledger_record empty;
	unsigned leaks = 0;

	if (!root->allocator)
		return 0;
	for (int i = 0; i < RESTRACK_TYPES; i++) {
		leaks += root->counts[i];
		table_deinit(&root->tables[i]);
	}
	/* The objects may be gone already, so their records are found without them. */
	for (uint32_t i = 0; i < root->records_used; i++) {
		struct ledger_record *record = ledger_at(root->ledger, i);

		if (record->state != LEDGER_FREE)
			ledger_write(root->ledger, record, &empty);
	}
	for (int i = 0; i < RESTRACK_RECORD_CHUNKS; i++)
		allocator_put(root->allocator, root->record_next[i]);
	memset(root, 0, sizeof(*root));
	return leaks;
}

void restrack_new(struct restrack_entry *entry, enum restrack_type type)
{
	ASSERT((unsigned)type < RESTRACK_TYPES);
	memset(entry, 0, sizeof(*entry));
	entry->type = type;
}

void restrack_set_name(struct restrack_entry *entry, const char *name)
{
	ASSERT(entry->state == RESTRACK_NEW);
	entry->pid = 0;
	copy_name(entry->name, sizeof(entry->name), name);
}

void restrack_parent_name(struct restrack_entry *entry, const struct restrack_entry *parent)
{
	ASSERT(entry->state == RESTRACK_NEW);
	entry->pid = parent->pid;
	memcpy(entry->name, parent->name, sizeof(entry->name));
	entry->port = parent->port;
	entry->context = parent->type == RESTRACK_CTX ? parent : parent->context;
}

void restrack_attach_task(struct restrack_entry *entry, uint32_t pid, const char *comm)
{
	ASSERT(entry->state == RESTRACK_NEW);
	entry->pid = pid;
	copy_name(entry->name, sizeof(entry->name), comm);
}

void restrack_set_port(struct restrack_entry *entry, uint32_t port)
{
	ASSERT(entry->state == RESTRACK_NEW);
	entry->port = port;
}

static void write_record(struct restrack_root *root, struct restrack_entry *entry)
{
	struct ledger_record record = {
		.state = LEDGER_RESERVED,
		.type = entry->type,
		.id = entry->id,
		.context = entry->context ? entry->context->id : 0,
		.port = entry->port,
		.pid = entry->pid,
		.flags = entry->pid ? 0 : LEDGER_LIBRARY,
		.object = ++root->objects,
	};

	memcpy(record.name, entry->name, sizeof(entry->name));
	ledger_write(root->ledger, entry->record, &record);
}

static int reserve(struct restrack_root *root, struct restrack_entry *entry, const uint32_t *wanted)
{
	struct table *table = &root->tables[entry->type];
	struct ledger_record *record;
	int ret;

	ASSERT(entry->state == RESTRACK_NEW);
	if (wanted) {
		entry->id = *wanted;
		ret = table_take_id(table, entry->id);
	} else {
		ret = table_take(table, &entry->id);
	}
	if (ret) {
		entry->id = 0;
		return ret;
	}
	ret = take_record(root, &record);
	if (ret) {
		table_release(table, entry->id);
		entry->id = 0;
		return ret;
	}
	if (!entry->pid && !entry->name[0]) {
		entry->pid = root->pid;
		memcpy(entry->name, root->comm, sizeof(entry->name));
	}
	entry->root = root;
	entry->state = RESTRACK_RESERVED;
	entry->record = record;
	if (record) {
		write_record(root, entry);
		entry->attributes = record->attributes;
	}
	return 0;
}

int restrack_reserve(struct restrack_root *root, struct restrack_entry *entry)
{
	return reserve(root, entry, NULL);
}

int restrack_take_id(struct restrack_root *root, struct restrack_entry *entry, uint32_t id)
{
	return reserve(root, entry, &id);
}

static void set_state(struct restrack_entry *entry, enum ledger_state state, uint64_t created_ns)
{
	if (entry->record)
		ledger_write_state(entry->root->ledger, entry->record, state, created_ns);
}

int restrack_add(struct restrack_root *root, struct restrack_entry *entry)
{
	int ret;

	if (entry->state == RESTRACK_NEW) {
		ret = reserve(root, entry, NULL);
		if (ret)
			return ret;
	}
	ASSERT(entry->state == RESTRACK_RESERVED && entry->root == root);
	entry->state = RESTRACK_TRACKED;
	entry->references = 1;
	root->counts[entry->type]++;
	table_set(&root->tables[entry->type], entry->id, entry);
	set_state(entry, LEDGER_LIVE, root->now_ns ? *root->now_ns : 0);
	return 0;
}

void restrack_move(struct restrack_entry *entry, const struct restrack_entry *context)
{
	struct ledger_record record;

	ASSERT(context->type == RESTRACK_CTX && entry->root == context->root);
	entry->context = context;
	if (!entry->record)
		return;
	record = *entry->record;
	record.context = context->id;
	ledger_write(entry->root->ledger, entry->record, &record);
}

int restrack_get(struct restrack_entry *entry)
{
	if (entry->state != RESTRACK_TRACKED)
		return -ENOENT;
	entry->references++;
	return 0;
}

bool restrack_put(struct restrack_entry *entry)
{
	ASSERT(entry->references > (entry->state == RESTRACK_TRACKED ? 1u : 0u));
	entry->references--;
	return !entry->references;
}

struct restrack_entry *restrack_get_byid(struct restrack_root *root, enum restrack_type type,
					 uint32_t id)
{
	struct restrack_entry *entry;

	if ((unsigned)type >= RESTRACK_TYPES)
		return NULL;
	entry = table_find(&root->tables[type], id);
	if (!entry || restrack_get(entry))
		return NULL;
	return entry;
}

int restrack_begin_del(struct restrack_entry *entry)
{
	if (entry->state != RESTRACK_TRACKED)
		return -ENOENT;
	table_set(&entry->root->tables[entry->type], entry->id, NULL);
	entry->state = RESTRACK_DELETING;
	entry->references--;
	set_state(entry, LEDGER_DELETING, entry->record ? entry->record->created_ns : 0);
	return 0;
}

/* The entry is as after restrack_new(), but for its owner. */
static void forget(struct restrack_entry *entry)
{
	struct restrack_root *root = entry->root;

	free_record(root, entry);
	table_release(&root->tables[entry->type], entry->id);
	entry->root = NULL;
	entry->state = RESTRACK_NEW;
	entry->references = 0;
	entry->id = 0;
}

int restrack_commit_del(struct restrack_entry *entry)
{
	if (entry->state != RESTRACK_DELETING)
		return -EINVAL;
	if (entry->references)
		return -EBUSY;
	entry->root->counts[entry->type]--;
	forget(entry);
	return 0;
}

void restrack_abort_del(struct restrack_entry *entry)
{
	ASSERT(entry->state == RESTRACK_DELETING);
	entry->state = RESTRACK_TRACKED;
	entry->references++;
	table_set(&entry->root->tables[entry->type], entry->id, entry);
	set_state(entry, LEDGER_LIVE, entry->record ? entry->record->created_ns : 0);
}

int restrack_del(struct restrack_entry *entry)
{
	switch (entry->state) {
	case RESTRACK_NEW:
		return 0;
	case RESTRACK_RESERVED:
		forget(entry);
		return 0;
	case RESTRACK_TRACKED: {
		int ret = restrack_begin_del(entry);

		if (ret)
			return ret;
		break;
	}
	case RESTRACK_DELETING:
		break;
	}
	return restrack_commit_del(entry);
}

bool restrack_sync(const struct restrack_entry *entry)
{
	return entry->references > (entry->state == RESTRACK_TRACKED ? 1u : 0u);
}

uint32_t restrack_count(struct restrack_root *root, enum restrack_type type,
			const struct restrack_entry *context)
{
	struct restrack_entry *entry;
	uint32_t id = 0, count = 0;

	if ((unsigned)type >= RESTRACK_TYPES)
		return 0;
	while ((entry = restrack_next(root, type, &id))) {
		if (!context || entry->context == context || entry == context)
			count++;
		if (id++ == UINT32_MAX)
			break;
	}
	return count;
}

struct restrack_entry *restrack_next(struct restrack_root *root, enum restrack_type type,
				     uint32_t *id)
{
	if ((unsigned)type >= RESTRACK_TYPES)
		return NULL;
	return table_next(&root->tables[type], id);
}
