/* SPDX-License-Identifier: Apache-2.0 */
/* model.c - the promises, one function for each event */
#include "model.h"

#include <string.h>

bool model_takes_receive(enum rvt_opcode opcode)
{
	return opcode == RVT_WR_SEND || opcode == RVT_WR_SEND_WITH_IMM ||
	       opcode == RVT_WR_RDMA_WRITE_WITH_IMM;
}

bool model_room(const struct model_side *side, const struct model_side *peer,
		enum rvt_opcode opcode)
{
	if (side->posted - side->ended >= MODEL_DEPTH)
		return false;
	return !model_takes_receive(opcode) || peer->sent - peer->heard < MODEL_MESSAGES;
}

uint32_t model_post(struct model_side *side, struct model_side *peer,
		    const struct model_request *request)
{
	struct model_request *kept = &side->requests[side->posted % MODEL_DEPTH];

	*kept = *request;
	if (model_takes_receive(request->opcode)) {
		kept->message = peer->sent;
		peer->messages[peer->sent++ % MODEL_MESSAGES] = *kept;
	}
	if (request->opcode == RVT_WR_ATOMIC_FETCH_AND_ADD)
		side->added_most++;
	return side->posted++;
}

void model_excuse(struct model_side *side, enum rvt_wc_status status)
{
	side->excuses |= 1u << status;
}

static const char *ended_well(struct model_side *side, struct model_side *peer, uint32_t sequence,
			      const char *(*verify)(void *context, uint32_t sequence,
						    const struct model_request *request),
			      void *context)
{
	const struct model_request *request = &side->requests[sequence % MODEL_DEPTH];

	if (model_takes_receive(request->opcode) && (int32_t)(request->message - peer->heard) >= 0)
		return "a message completed before it arrived";
	if (request->opcode == RVT_WR_ATOMIC_FETCH_AND_ADD)
		side->added++;
	return verify(context, sequence, request);
}

const char *model_end(struct model_side *side, struct model_side *peer, uint32_t sequence,
		      enum rvt_wc_status status,
		      const char *(*verify)(void *context, uint32_t sequence,
					    const struct model_request *request),
		      void *context)
{
	const char *wrong;

	if (sequence - side->ended >= side->posted - side->ended)
		return "a completion of a request that is not outstanding";
	for (; side->ended != sequence; side->ended++) {
		if (side->failed)
			return "a request has no completion after an error";
		if (side->requests[side->ended % MODEL_DEPTH].signaled)
			return "a signaled request has no completion";
		wrong = ended_well(side, peer, side->ended, verify, context);
		if (wrong)
			return wrong;
	}
	side->ended++;
	if (status == RVT_WC_SUCCESS) {
		if (side->failed)
			return "a success after an error";
		if (!side->requests[sequence % MODEL_DEPTH].signaled)
			return "a success that was not asked for";
		return ended_well(side, peer, sequence, verify, context);
	}
	if (side->failed && status != RVT_WC_WR_FLUSH_ERR)
		return "a second error";
	if (!side->failed && !(side->excuses & 1u << status))
		return "an error without a reason";
	side->failed = true;
	return NULL;
}

const char *model_added(struct model_side *side, uint64_t value)
{
	if (value < side->last_seen)
		return "an addition found what an earlier one had changed";
	side->last_seen = value + 1;
	return NULL;
}

void model_receive(struct model_side *side, uint32_t buffer)
{
	side->receives[side->receives_posted++ % MODEL_RECEIVES] = buffer;
}

const char *model_hear(struct model_side *side, uint32_t buffer, enum rvt_wc_status status,
		       const struct model_request **message)
{
	*message = NULL;
	if (side->receives_ended == side->receives_posted)
		return "a receive that was not posted";
	if (side->receives[side->receives_ended++ % MODEL_RECEIVES] != buffer)
		return "receives end out of order";
	if (status != RVT_WC_SUCCESS)
		return side->receive_excuses & 1u << status ? NULL
							    : "a receive failed without a reason";
	if (side->heard == side->sent)
		return "a message that nobody sent";
	*message = &side->messages[side->heard++ % MODEL_MESSAGES];
	return NULL;
}

static void restart(struct model_side *side)
{
	uint64_t added = side->added, most = side->added_most, seen = side->last_seen;

	memset(side, 0, sizeof(*side));
	side->added = added;
	side->added_most = most;
	side->last_seen = seen;
}

void model_restart(struct model_side *a, struct model_side *b)
{
	restart(a);
	restart(b);
}
