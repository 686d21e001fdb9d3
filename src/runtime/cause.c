/* SPDX-License-Identifier: Apache-2.0 */
/* cause.c - what rvt tells: events go to the front, causes become sentences */
#include <stdio.h>
#include <string.h>

#include "runtime/private.h"

static _Thread_local struct {
	enum rvt_verdict verdict;
	uint64_t values[2];
	char text[320];
} last;

/* The verdict's sentence with its two values; numbers that look like addresses and keys in hex. */
static void format_cause(char *to, size_t size, const char *sentence, const uint64_t values[2])
{
	size_t used = 0;

	while (*sentence && used + 24 < size) {
		if (sentence[0] == '%' && (sentence[1] == '1' || sentence[1] == '2')) {
			uint64_t v = values[sentence[1] - '1'];
			int n = snprintf(to + used, size - used, v > 0xffff ? "0x%llx" : "%llu",
					 (unsigned long long)v);

			used += n > 0 ? (size_t)n : 0;
			sentence += 2;
		} else {
			to[used++] = *sentence++;
		}
	}
	to[used] = 0;
}

static void on_cause(void *context, enum rvt_verdict verdict, struct restrack_entry *object,
		     uint64_t value1, uint64_t value2)
{
	const struct rvt_verdict_row *row = rvt_verdict_row(verdict);
	enum lane_log_level level =
		row->error || row->status != RVT_WC_SUCCESS ? LANE_LOG_WARN : LANE_LOG_DEBUG;

	(void)context;
	last.verdict = verdict;
	last.values[0] = value1;
	last.values[1] = value2;
	if (verdict == RVT_FLUSHED)
		level = LANE_LOG_DEBUG;
	if (!lane_logs(level))
		return;
	format_cause(last.text, sizeof(last.text), row->sentence, last.values);
	if (object)
		lane_log(level, "%s %u: %s", restrack_type_name(object->type), object->id,
			 last.text);
	else
		lane_log(level, "%s", last.text);
}

const char *lane_last_cause(void)
{
	if (last.verdict == RVT_OK)
		return "";
	format_cause(last.text, sizeof(last.text), rvt_verdict_row(last.verdict)->sentence,
		     last.values);
	return last.text;
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
