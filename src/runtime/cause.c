/* SPDX-License-Identifier: Apache-2.0 */
/* cause.c - what rvt tells: events go to the front, causes become sentences */
#include <stdio.h>
#include <string.h>

#include "runtime/private.h"

static const char *state_name(uint64_t state)
{
	static const char *const names[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : "no such state";
}

static const char *attribute_name(uint64_t bit)
{
	static const char *const names[] = {
		"IBV_QP_STATE",
		"IBV_QP_CUR_STATE",
		"IBV_QP_EN_SQD_ASYNC_NOTIFY",
		"IBV_QP_ACCESS_FLAGS",
		"IBV_QP_PKEY_INDEX",
		"IBV_QP_PORT",
		"IBV_QP_QKEY",
		"IBV_QP_AV",
		"IBV_QP_PATH_MTU",
		"IBV_QP_TIMEOUT",
		"IBV_QP_RETRY_CNT",
		"IBV_QP_RNR_RETRY",
		"IBV_QP_RQ_PSN",
		"IBV_QP_MAX_QP_RD_ATOMIC",
		"IBV_QP_ALT_PATH",
		"IBV_QP_MIN_RNR_TIMER",
		"IBV_QP_SQ_PSN",
		"IBV_QP_MAX_DEST_RD_ATOMIC",
		"IBV_QP_PATH_MIG_STATE",
		"IBV_QP_CAP",
		"IBV_QP_DEST_QPN",
	};
	unsigned index = bit ? (unsigned)__builtin_ctzll(bit) : 63;

	if (index < sizeof(names) / sizeof(names[0]))
		return names[index];
	return bit == RVT_QP_RATE_LIMIT ? "IBV_QP_RATE_LIMIT" : "an unknown attribute";
}

/* One value of the cause: by name, or as a number; addresses, keys and masks in hex. */
static int format_value(char *to, size_t size, char kind, uint64_t value)
{
	if (kind == 'S')
		return snprintf(to, size, "%s", state_name(value));
	if (kind == 'A')
		return snprintf(to, size, "%s", attribute_name(value));
	return snprintf(to, size, value > 0xffff ? "0x%llx" : "%llu", (unsigned long long)value);
}

/* The verdict's sentence with its two values. */
static void format_cause(char *to, size_t size, const char *sentence, const uint64_t values[2])
{
	size_t used = 0;

	while (*sentence && used + 40 < size) {
		char kind = 0;
		int n;

		if (*sentence != '%') {
			to[used++] = *sentence++;
			continue;
		}
		sentence++;
		if (*sentence == 'S' || *sentence == 'A')
			kind = *sentence++;
		n = format_value(to + used, size - used, kind, values[*sentence == '2']);
		used += n > 0 ? (size_t)n : 0;
		sentence++;
	}
	to[used] = 0;
}

static void on_cause(void *context, enum rvt_verdict verdict, struct restrack_entry *object,
		     uint64_t value1, uint64_t value2)
{
	const struct rvt_verdict_row *row = rvt_verdict_row(verdict);
	enum lane_log_level level =
		row->error || row->status != RVT_WC_SUCCESS ? LANE_LOG_WARN : LANE_LOG_DEBUG;

	char text[320];

	(void)context;
	if (verdict == RVT_FLUSHED)
		level = LANE_LOG_DEBUG;
	if (!lane_logs(level))
		return;
	format_cause(text, sizeof(text), row->sentence, (const uint64_t[]){ value1, value2 });
	if (object)
		lane_log(level, "%s %u: %s", restrack_type_name(object->type), object->id, text);
	else
		lane_log(level, "%s", text);
}

static void on_completion(void *context, struct rvt_cq *cq)
{
	(void)context;
	lane_current->events.completion(cq);
}

static void on_async_event(void *context, enum rvt_event event, struct rvt_qp *qp,
			   struct rvt_cq *cq, struct rvt_srq *srq)
{
	(void)context;
	lane_current->events.asynchronous(qp   ? qp->context
					  : cq ? cq->context
					       : srq->context,
					  event, qp, cq, srq);
}

const struct rvt_observer lane_observer = {
	.cq_event = on_completion,
	.async_event = on_async_event,
	.cause = on_cause,
};
