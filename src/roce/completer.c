/* SPDX-License-Identifier: Apache-2.0 */
/*
 * completer.c - RC: what comes back, and what does not
 *
 * Responses arrive in the order of the requests. una is the oldest PSN that is not accounted for:
 * of a READ, the next response. A response for a later PSN means that the answer at una was lost
 * (the "implied NAK"), so going back is always going back to una.
 */
#include "roce/qp.h"
#include "wire/opcode.h"
#include "wire/psn.h"
#include "wire/syndrome.h"

/* The same NAK again within this time is about the same loss. */
#define SAME_LOSS_NS 1000000u

static bool alive(const struct roce_qp *qp)
{
	return qp->rvt.state == RVT_QPS_RTS || qp->rvt.state == RVT_QPS_SQD;
}

static struct rvt_swqe *oldest(const struct roce_qp *qp)
{
	if (qp->rvt.s_last == qp->rvt.s_head)
		return NULL;
	return rvt_swqe(&qp->rvt, qp->rvt.s_last);
}

static void stale(struct roce_qp *qp, uint32_t psn)
{
	roce_drop(qp->engine, RVT_COUNT_drop_stale, RVT_DROP_STALE_RESPONSE, qp, psn, 0);
}

/* PSNs from una up to but without @to, all of one work request, are accounted for. */
static void account(struct roce_qp *qp, const struct rvt_swqe *wqe, uint32_t to)
{
	struct roce_requester *r = &qp->requester;
	uint32_t last = wqe->last_psn;
	uint32_t charged = psn_compare(to, r->psn) < 0 ? to : r->psn;

	/* What is counted as in flight lies between una and psn. */
	if (psn_compare(r->una, charged) < 0) {
		uint32_t end = roce_read_end(qp, wqe, psn_add(to, PSN_MASK));

		roce_peer_acked(qp, roce_wqe_cost(qp, wqe, r->una, charged));
		if (roce_expects_response(wqe) && psn_add(end, 1) == to && r->rd_atomic)
			r->rd_atomic--;
	}
	r->una = to;
	if (psn_compare(to, last) > 0)
		rvt_send_complete(&qp->rvt, RVT_OK);
	/* It was answered before it was sent again: no need to. */
	if (alive(qp) && psn_compare(r->una, r->psn) > 0)
		roce_requester_seek(qp, r->una);
}

/*
 * Everything before @end is acknowledged. Return: false when the answer of a READ or atomic before
 * it is missing, or the QP went to error; una tells how far it came.
 */
static bool acknowledge(struct roce_qp *qp, uint32_t end)
{
	struct roce_requester *r = &qp->requester;

	while (psn_compare(r->una, end) < 0) {
		struct rvt_swqe *wqe = oldest(qp);
		uint32_t to = end;

		if (!wqe || roce_expects_response(wqe))
			return false;
		if (psn_compare(to, wqe->last_psn) > 0)
			to = psn_add(wqe->last_psn, 1);
		account(qp, wqe, to);
		if (!alive(qp))
			return false;
	}
	return true;
}

/* una moved: patience begins anew. */
static void progress(struct roce_qp *qp)
{
	struct roce_requester *r = &qp->requester;

	if (!alive(qp))
		return;
	r->retries_left = qp->rvt.attr.retry_cnt;
	r->rnr_retries_left = qp->rvt.attr.rnr_retry;
	r->rewound = false;
	r->implied_nak = false;
	r->probing = false;
	if (r->una == r->max_psn || r->waiting_rnr)
		deadline_disarm(&qp->rvt.device->deadlines, &qp->rvt.retry_timer);
	else
		roce_requester_arm(qp);
	if (r->index != qp->rvt.s_head)
		roce_qp_ready(qp);
	if (qp->rvt.state == RVT_QPS_SQD)
		roce_requester_drained(qp);
}

/* Send again from una. */
static void rewind_to_una(struct roce_qp *qp)
{
	struct roce_requester *r = &qp->requester;

	roce_requester_seek(qp, r->una);
	r->rd_atomic = 0;
	r->since_ack_req = 0;
	r->rewind_ns = qp->rvt.device->now_ns;
	rvt_count(qp->rvt.device, RVT_COUNT_completer_retry_err);
	roce_qp_ready(qp);
}

/* A loss was reported or found. Return: false when the retries are used up: the QP failed. */
static bool retry(struct roce_qp *qp, uint32_t psn)
{
	struct roce_requester *r = &qp->requester;

	if (!r->retries_left) {
		rvt_count(qp->rvt.device, RVT_COUNT_retry_exceeded_err);
		roce_requester_fail(qp, RVT_SEQUENCE_NAK, qp->rvt.attr.retry_cnt, psn);
		return false;
	}
	r->retries_left--;
	/* Lost twice in a row: what is sent all at once may be why. */
	if (r->rewound)
		r->probing = true;
	r->rewound = true;
	roce_peer_lost(qp);
	rewind_to_una(qp);
	roce_requester_arm(qp);
	return true;
}

/* The answer at una was lost: everything else is ignored until it comes. */
static void implied_nak(struct roce_qp *qp)
{
	if (!alive(qp) || qp->requester.implied_nak)
		return;
	if (retry(qp, qp->requester.una))
		qp->requester.implied_nak = true;
}

static void receive_rnr(struct roce_qp *qp, const struct packet *packet)
{
	struct roce_requester *r = &qp->requester;
	struct rvt_device *device = qp->rvt.device;

	rvt_count(device, RVT_COUNT_rcvd_rnr_err);
	if (r->waiting_rnr)
		return;
	/* It does answer, and not being answered is what retry_cnt is about (ibv_modify_qp(3)). */
	r->retries_left = qp->rvt.attr.retry_cnt;
	if (qp->rvt.attr.rnr_retry != 7) {
		if (!r->rnr_retries_left) {
			rvt_count(device, RVT_COUNT_retry_rnr_exceeded_err);
			roce_requester_fail(qp, RVT_RNR_RETRIES, qp->rvt.attr.rnr_retry,
					    packet->psn);
			return;
		}
		r->rnr_retries_left--;
	}
	roce_peer_forget(qp);
	rewind_to_una(qp);
	r->waiting_rnr = true;
	r->probing = true;
	deadline_disarm(&device->deadlines, &qp->rvt.retry_timer);
	deadline_arm(&device->deadlines, &qp->rvt.rnr_timer,
		     device->now_ns + rnr_timer_ns(packet->aeth.syndrome & 0x1f));
}

static void receive_sequence_nak(struct roce_qp *qp, const struct packet *packet)
{
	struct roce_requester *r = &qp->requester;

	rvt_count(qp->rvt.device, RVT_COUNT_rcvd_seq_err);
	if (r->waiting_rnr)
		return;
	/* Already gone back for it. Later the same means that it was lost once more. */
	if (r->rewound && qp->rvt.device->now_ns - r->rewind_ns < SAME_LOSS_NS) {
		stale(qp, packet->psn);
		return;
	}
	(void)retry(qp, packet->psn);
}

static enum rvt_verdict fatal_verdict(uint8_t syndrome)
{
	switch (syndrome) {
	case SYNDROME_NAK_INVALID_REQUEST:
		return RVT_PEER_INVALID_REQUEST;
	case SYNDROME_NAK_REMOTE_ACCESS:
		return RVT_PEER_ACCESS;
	case SYNDROME_NAK_REMOTE_OPERATIONAL:
		return RVT_PEER_OPERATION;
	default:
		return RVT_OK;
	}
}

static void receive_fatal_nak(struct roce_qp *qp, const struct packet *packet,
			      enum rvt_verdict verdict)
{
	const struct rvt_swqe *wqe = oldest(qp);
	uint64_t rkey = 0;

	if (wqe && wqe->opcode >= RVT_WR_ATOMIC_CMP_AND_SWP &&
	    wqe->opcode <= RVT_WR_ATOMIC_FETCH_AND_ADD)
		rkey = wqe->atomic.rkey;
	else if (wqe)
		rkey = wqe->rdma.rkey;
	roce_requester_fail(qp, verdict, packet->psn, rkey);
}

/* ACKNOWLEDGE: ACK, NAK or RNR NAK. */
static void receive_acknowledge(struct roce_qp *qp, const struct packet *packet)
{
	uint8_t syndrome = packet->aeth.syndrome;
	bool ack = syndrome_is_ack(syndrome), rnr = syndrome_is_rnr(syndrome);
	enum rvt_verdict fatal = fatal_verdict(syndrome);
	uint32_t una = qp->requester.una;
	bool complete;

	/* Reserved codes are as if the packet had been lost. */
	if (!ack && !rnr && fatal == RVT_OK && syndrome != SYNDROME_NAK_SEQUENCE) {
		stale(qp, packet->psn);
		return;
	}
	/* An ACK does not answer a READ. */
	if (qp->requester.implied_nak && ack) {
		stale(qp, packet->psn);
		return;
	}
	complete = acknowledge(qp, ack ? psn_add(packet->psn, 1) : packet->psn);
	if (!alive(qp))
		return;
	if (qp->requester.una != una)
		progress(qp);
	if (!alive(qp))
		return;
	if (fatal != RVT_OK)
		receive_fatal_nak(qp, packet, fatal);
	else if (!complete)
		implied_nak(qp);
	else if (rnr)
		receive_rnr(qp, packet);
	else if (!ack)
		receive_sequence_nak(qp, packet);
}

/* Is @packet a legal READ response at this place? Fails the QP if not. */
static bool read_response_fits(struct roce_qp *qp, const struct rvt_swqe *wqe,
			       const struct packet *packet, uint32_t length)
{
	uint32_t end = roce_read_end(qp, wqe, packet->psn);
	bool begins = packet->psn == wqe->psn ||
		      psn_add(packet->psn, PSN_MASK) ==
			      roce_read_end(qp, wqe, psn_add(packet->psn, PSN_MASK));
	bool last = packet->opcode == OPCODE_RC_READ_RESPONSE_LAST ||
		    packet->opcode == OPCODE_RC_READ_RESPONSE_ONLY;
	bool first = packet->opcode == OPCODE_RC_READ_RESPONSE_FIRST ||
		     packet->opcode == OPCODE_RC_READ_RESPONSE_ONLY;

	if (packet->opcode == OPCODE_RC_ATOMIC_ACK || (begins && !first)) {
		roce_requester_fail(qp, RVT_BAD_RESPONSE, packet->opcode, packet->psn);
		return false;
	}
	if (last != (packet->psn == end) || packet->payload_length != length) {
		roce_requester_fail(qp, RVT_RESPONSE_LENGTH, packet->payload_length, length);
		return false;
	}
	return true;
}

static void receive_data(struct roce_qp *qp, struct rvt_swqe *wqe, const struct packet *packet)
{
	const void *data = packet->payload;
	uint32_t offset = 0, length = 0;
	enum rvt_verdict verdict = RVT_OK;

	if (wqe->opcode == RVT_WR_RDMA_READ) {
		offset = psn_distance(wqe->psn, packet->psn) << qp->mtu_shift;
		length = wqe->length - offset;
		if (length > qp->rvt.mtu)
			length = qp->rvt.mtu;
		if (!read_response_fits(qp, wqe, packet, length))
			return;
	} else if (wqe->opcode == RVT_WR_ATOMIC_WRITE || wqe->opcode == RVT_WR_FLUSH) {
		if (packet->opcode != OPCODE_RC_READ_RESPONSE_ONLY || packet->payload_length) {
			roce_requester_fail(qp, RVT_BAD_RESPONSE, packet->opcode, packet->psn);
			return;
		}
	} else {
		if (packet->opcode != OPCODE_RC_ATOMIC_ACK) {
			roce_requester_fail(qp, RVT_BAD_RESPONSE, packet->opcode, packet->psn);
			return;
		}
		data = &packet->atomic_ack;
		length = sizeof(packet->atomic_ack);
	}
	if (length)
		verdict = rvt_copy_to_sge(qp->rvt.device, &wqe->list, offset, data, length);
	if (verdict != RVT_OK) {
		roce_requester_fail(qp, verdict, offset, length);
		return;
	}
	account(qp, wqe, psn_add(packet->psn, 1));
	progress(qp);
}

/* READ response or atomic acknowledgement. It acknowledges what was before it. */
static void receive_response(struct roce_qp *qp, const struct packet *packet)
{
	struct roce_requester *r = &qp->requester;
	uint32_t una = r->una;
	struct rvt_swqe *wqe;

	/* Refusals come as ACKNOWLEDGE only. */
	if (packet->opcode != OPCODE_RC_READ_RESPONSE_MIDDLE &&
	    !syndrome_is_ack(packet->aeth.syndrome)) {
		stale(qp, packet->psn);
		return;
	}
	if (!acknowledge(qp, packet->psn)) {
		if (r->una != una)
			progress(qp);
		implied_nak(qp);
		return;
	}
	wqe = oldest(qp);
	if (!wqe || !roce_expects_response(wqe)) {
		roce_requester_fail(qp, RVT_BAD_RESPONSE, packet->opcode, packet->psn);
		return;
	}
	receive_data(qp, wqe, packet);
}

void roce_completer_receive(struct roce_qp *qp, const struct packet *packet)
{
	struct roce_requester *r = &qp->requester;

	/* Nothing outstanding has this PSN: late, repeated or invented. */
	if (!alive(qp) || psn_compare(packet->psn, r->una) < 0 ||
	    psn_compare(packet->psn, r->max_psn) >= 0) {
		stale(qp, packet->psn);
		return;
	}
	if (r->implied_nak && packet->psn != r->una) {
		stale(qp, packet->psn);
		return;
	}
	if (packet->opcode == OPCODE_RC_ACKNOWLEDGE)
		receive_acknowledge(qp, packet);
	else
		receive_response(qp, packet);
}

void roce_completer_timeout(struct roce_qp *qp)
{
	struct roce_requester *r = &qp->requester;
	struct rvt_device *device = qp->rvt.device;
	const struct roce_transmit_ops *transmit = qp->engine->transmit;
	uint64_t timeout = roce_timeout_ns(qp);
	uint64_t due = r->progress_ns + timeout;
	bool behind;

	if (!alive(qp) || !timeout || r->waiting_rnr || r->una == r->max_psn)
		return;
	/* The timer is left alone on progress: that is cheaper than setting it each time. */
	if (device->now_ns < due) {
		deadline_arm(&device->deadlines, &qp->rvt.retry_timer, due);
		return;
	}
	/* Nothing was sent again yet, for want of room: that is no fault of the peer. */
	if (r->psn == r->una) {
		roce_requester_arm(qp);
		roce_qp_ready(qp);
		return;
	}
	rvt_count(device, RVT_COUNT_timeouts);
	behind = transmit->unread && transmit->unread(qp->engine->link, &qp->flow);
	if (!r->retries_left && !behind) {
		rvt_count(device, RVT_COUNT_retry_exceeded_err);
		roce_requester_fail(qp, RVT_TIMEOUT, qp->rvt.attr.retry_cnt, qp->rvt.attr.timeout);
		return;
	}
	if (!behind)
		r->retries_left--;
	r->implied_nak = false;
	r->rewound = false;
	r->probing = true;
	roce_peer_lost(qp);
	rewind_to_una(qp);
	roce_requester_arm(qp);
}

void roce_completer_rnr_timeout(struct roce_qp *qp)
{
	qp->requester.waiting_rnr = false;
	if (alive(qp))
		roce_qp_ready(qp);
}
