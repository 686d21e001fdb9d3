/* SPDX-License-Identifier: Apache-2.0 */
/* resource_line.c - each type of object as the rdma tool prints it */
#include <stdlib.h>
#include <string.h>

#include "cli/resource.h"

/* The values of IBV_QPT_*, IBV_QPS_*. */
enum {
	QPT_RC = 2,
	QPT_UC = 3,
	QPT_XRC_INI = 9,
	QPT_XRC_TGT = 10,
};

static const char *qp_type_name(const struct ledger_record *record)
{
	static const char *const names[] = {
		[2] = "RC",	 [3] = "UC",	   [4] = "UD",	     [8] = "RAW_PACKET",
		[9] = "XRC_INI", [10] = "XRC_TGT", [0xff] = "DRIVER"
	};
	uint64_t type = record->attributes[RESTRACK_QP_TYPE];

	/* The special queue pairs have no type of their own in verbs. */
	if ((record->flags & LEDGER_LIBRARY) && record->id < 2)
		return record->id ? "GSI" : "SMI";
	return type < sizeof(names) / sizeof(names[0]) && names[type] ? names[type] : "UNKNOWN";
}

static const char *qp_state_name(uint64_t state)
{
	static const char *const names[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : "UNKNOWN";
}

static void add_detail(struct line *line, const char *key, uint64_t value)
{
	line_number(line, key, value);
	line_detail(line);
}

static void add_owner(struct line *line, const struct ledger_record *record)
{
	if (record->flags & LEDGER_LIBRARY) {
		line_owner(line, "comm", record->name);
		return;
	}
	line_number(line, "pid", record->pid);
	line_string(line, "comm", record->name);
}

static void add_context(struct line *line, const struct ledger_record *record)
{
	if (!(record->flags & LEDGER_LIBRARY))
		line_number(line, "ctxn", record->context);
}

static void add_pd(struct line *line, const struct ledger_record *record, uint64_t pdn)
{
	if (!(record->flags & LEDGER_LIBRARY))
		line_number(line, "pdn", pdn);
}

static void qp_line(struct line *line, const struct ledger_record *record)
{
	const uint64_t *a = record->attributes;
	uint64_t type = a[RESTRACK_QP_TYPE];
	bool connected = type == QPT_RC || type == QPT_UC;

	line_number(line, "lqpn", record->id);
	if (connected)
		line_number(line, "rqpn", a[RESTRACK_QP_RQPN]);
	line_string(line, "type", qp_type_name(record));
	line_string(line, "state", qp_state_name(a[RESTRACK_QP_STATE]));
	if (connected)
		line_number(line, "rq-psn", a[RESTRACK_QP_RQ_PSN]);
	line_number(line, "sq-psn", a[RESTRACK_QP_SQ_PSN]);
	if (connected || type == QPT_XRC_INI || type == QPT_XRC_TGT)
		line_string(line, "path-mig-state", "MIGRATED");
	if (type != QPT_XRC_TGT)
		add_pd(line, record, a[RESTRACK_QP_PDN]);
	add_owner(line, record);
	if (type != QPT_XRC_TGT)
		add_detail(line, "send-cqn", a[RESTRACK_QP_SEND_CQN]);
	if (type != QPT_XRC_TGT && type != QPT_XRC_INI)
		add_detail(line, "recv-cqn", a[RESTRACK_QP_RECV_CQN]);
	if (a[RESTRACK_QP_SRQN])
		add_detail(line, "srqn", a[RESTRACK_QP_SRQN]);
	add_detail(line, "path-mtu", a[RESTRACK_QP_PATH_MTU]);
	add_detail(line, "max-send-wr", a[RESTRACK_QP_MAX_SEND_WR]);
	add_detail(line, "max-recv-wr", a[RESTRACK_QP_MAX_RECV_WR]);
	add_detail(line, "sends", a[RESTRACK_QP_SENDS]);
	add_detail(line, "recvs", a[RESTRACK_QP_RECVS]);
	add_detail(line, "retries", a[RESTRACK_QP_RETRIES]);
	add_detail(line, "rnr", a[RESTRACK_QP_RNR]);
	if (a[RESTRACK_QP_CAUSE])
		add_detail(line, "cause", a[RESTRACK_QP_CAUSE]);
}

static void mr_line(struct line *line, const struct ledger_record *record)
{
	const uint64_t *a = record->attributes;

	line_number(line, "mrn", record->id);
	line_hex(line, "rkey", a[RESTRACK_MR_RKEY]);
	line_hex(line, "lkey", a[RESTRACK_MR_LKEY]);
	line_number(line, "mrlen", a[RESTRACK_MR_LENGTH]);
	add_pd(line, record, a[RESTRACK_MR_PDN]);
	add_owner(line, record);
	line_hex(line, "iova", a[RESTRACK_MR_IOVA]);
	line_detail(line);
	line_hex(line, "access", a[RESTRACK_MR_ACCESS]);
	line_detail(line);
	add_detail(line, "references", a[RESTRACK_MR_REFERENCES]);
	add_detail(line, "generation", a[RESTRACK_MR_GENERATION]);
}

static void cq_line(struct line *line, const struct ledger_record *record)
{
	const uint64_t *a = record->attributes;

	line_number(line, "cqn", record->id);
	line_number(line, "cqe", a[RESTRACK_CQ_CQE]);
	line_number(line, "users", a[RESTRACK_CQ_USERS]);
	line_switch(line, "adaptive-moderation", false);
	add_context(line, record);
	add_owner(line, record);
	add_detail(line, "completions", a[RESTRACK_CQ_COMPLETIONS]);
	add_detail(line, "events", a[RESTRACK_CQ_EVENTS]);
	add_detail(line, "overrun", a[RESTRACK_CQ_DEAD]);
}

static void pd_line(struct line *line, const struct ledger_record *record)
{
	line_number(line, "pdn", record->id);
	line_hex(line, "local_dma_lkey", 0);
	line_number(line, "users", record->attributes[RESTRACK_PD_USERS]);
	add_context(line, record);
	add_owner(line, record);
}

static int compare_numbers(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return left < right ? -1 : left > right;
}

/* "5-7,9"; numbers that do not fit are left out. */
static void list_numbers(uint32_t *numbers, size_t count, char *text, size_t size)
{
	size_t used = 0;

	text[0] = 0;
	qsort(numbers, count, sizeof(*numbers), compare_numbers);
	for (size_t i = 0; i < count;) {
		size_t last = i;
		int n;

		while (last + 1 < count && numbers[last + 1] == numbers[last] + 1)
			last++;
		n = last > i ? snprintf(text + used, size - used, "%s%u-%u", used ? "," : "",
					numbers[i], numbers[last])
			     : snprintf(text + used, size - used, "%s%u", used ? "," : "",
					numbers[i]);
		if (n < 0 || (size_t)n >= size - used) {
			text[used] = 0;
			return;
		}
		used += (size_t)n;
		i = last + 1;
	}
}

/* The queue pairs that take their receives from this queue. */
static void add_srq_users(const struct resource_set *set, const struct resource_object *srq,
			  struct line *line)
{
	uint32_t *numbers = calloc(set->object_count, sizeof(*numbers));
	char text[160];
	size_t count = 0;

	for (size_t i = 0; numbers && i < set->object_count; i++) {
		const struct resource_object *object = &set->objects[i];

		if (object->record.type == RESTRACK_QP && object->client == srq->client &&
		    object->record.attributes[RESTRACK_QP_SRQN] == srq->record.id)
			numbers[count++] = object->record.id;
	}
	if (count) {
		list_numbers(numbers, count, text, sizeof(text));
		line_list(line, "lqpn", text);
	}
	free(numbers);
}

static void srq_line(const struct resource_set *set, const struct resource_object *object,
		     struct line *line)
{
	static const char *const types[] = { "BASIC", "XRC", "TM" };
	const struct ledger_record *record = &object->record;
	const uint64_t *a = record->attributes;

	line_number(line, "srqn", record->id);
	line_string(line, "type",
		    a[RESTRACK_SRQ_TYPE] < 3 ? types[a[RESTRACK_SRQ_TYPE]] : "UNKNOWN");
	add_srq_users(set, object, line);
	add_pd(line, record, a[RESTRACK_SRQ_PDN]);
	if (a[RESTRACK_SRQ_CQN])
		line_number(line, "cqn", a[RESTRACK_SRQ_CQN]);
	add_owner(line, record);
	add_detail(line, "max-wr", a[RESTRACK_SRQ_MAX_WR]);
	add_detail(line, "max-sge", a[RESTRACK_SRQ_MAX_SGE]);
	add_detail(line, "limit", a[RESTRACK_SRQ_LIMIT]);
	add_detail(line, "users", a[RESTRACK_SRQ_USERS]);
}

void resource_line(const struct resource_set *set, const struct resource_object *object,
		   struct line *line)
{
	const struct resource_device *device = &set->devices[object->device];
	const struct ledger_record *record = &object->record;
	bool by_port = record->type == RESTRACK_QP || record->type == RESTRACK_CM_ID;
	struct field *field;

	line->count = 0;
	snprintf(line->head, sizeof(line->head), by_port ? "link %s/1" : "dev %s", device->name);
	field = line_number(line, "ifindex", object->device);
	field->hidden = true;
	field = line_string(line, "ifname", device->name);
	field->hidden = true;
	if (by_port) {
		field = line_number(line, "port", 1);
		field->hidden = true;
	}
	switch ((enum restrack_type)record->type) {
	case RESTRACK_QP:
		qp_line(line, record);
		break;
	case RESTRACK_MR:
		mr_line(line, record);
		break;
	case RESTRACK_CQ:
		cq_line(line, record);
		break;
	case RESTRACK_PD:
		pd_line(line, record);
		break;
	case RESTRACK_SRQ:
		srq_line(set, object, line);
		break;
	case RESTRACK_CTX:
		line_number(line, "ctxn", record->id);
		add_owner(line, record);
		add_detail(line, "async-events", record->attributes[RESTRACK_CTX_ASYNC_EVENTS]);
		break;
	case RESTRACK_CM_ID:
		line_number(line, "cm-idn", record->id);
		add_owner(line, record);
		break;
	default:
		line_number(line, "id", record->id);
		add_owner(line, record);
		break;
	}
}

void resource_summary_line(const struct resource_set *set, unsigned device, struct line *line)
{
	static const enum restrack_type types[] = { RESTRACK_PD,    RESTRACK_CQ, RESTRACK_QP,
						    RESTRACK_CM_ID, RESTRACK_MR, RESTRACK_CTX,
						    RESTRACK_SRQ };
	const struct resource_device *d = &set->devices[device];
	struct field *field;

	line->count = 0;
	snprintf(line->head, sizeof(line->head), "%u: %s:", device, d->name);
	field = line_number(line, "ifindex", device);
	field->hidden = true;
	field = line_string(line, "ifname", d->name);
	field->hidden = true;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		line_number(line, restrack_type_name(types[i]), d->counts[types[i]]);
}

const char *const resource_type_list[] = { "qp", "cm_id", "cq", "mr", "pd", "ctx", "srq", NULL };

int resource_type(const char *name)
{
	for (int i = 0; resource_type_list[i]; i++) {
		if (strcmp(resource_type_list[i], name))
			continue;
		for (int type = 0; type < RESTRACK_TYPES; type++) {
			if (!strcmp(restrack_type_name((enum restrack_type)type), name))
				return type;
		}
	}
	return -1;
}

bool resource_valid_filter(enum restrack_type type, const char *key, bool *numbers)
{
	/* After the bar: compared as words, or (rkey, lkey) as one hexadecimal number. */
	static const char *const keys[RESTRACK_TYPES] = {
		[RESTRACK_QP] =
			" lqpn rqpn pid sq-psn rq-psn pdn | type state path-mig-state comm ",
		[RESTRACK_MR] = " mrlen pid mrn pdn | rkey lkey comm ",
		[RESTRACK_CQ] = " cqe users pid cqn ctxn | comm ",
		[RESTRACK_PD] = " users pid ctxn pdn | comm ",
		[RESTRACK_CTX] = " pid ctxn | comm ",
		[RESTRACK_SRQ] = " pid srqn pdn cqn lqpn | type comm ",
		[RESTRACK_CM_ID] =
			" pid cm-idn lqpn src-port dst-port | qp-type state ps src-addr dst-addr ",
	};
	char word[32];
	const char *at;

	if (!keys[type] || strchr(key, ' ') || strchr(key, '|') || !*key)
		return false;
	snprintf(word, sizeof(word), " %s ", key);
	at = strstr(keys[type], word);
	if (!at)
		return false;
	*numbers = at < strchr(keys[type], '|');
	return true;
}
