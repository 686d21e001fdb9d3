/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requester.c - RC and UC: work requests to packets
 *
 * The place is (index, psn). Bytes, opcode and headers of a packet follow from its PSN alone, so
 * sending again is the same code as sending. A READ is asked for in pieces of a bounded size, each
 * a READ of its own on the wire: all that is in flight then respects the window, also what comes
 * back. The pieces lie at fixed PSNs of the work request, so a piece that is asked for again in
 * part is a suffix of what was asked first, as IBTA wants it.
 */
#include "roce/qp.h"
#include "rvt/mw.h"
#include "wire/opcode.h"
#include "wire/psn.h"
#include "wire/syndrome.h"

#define WINDOW_PACKETS	 256 /* RC: PSNs not acknowledged */
#define PROBE_PACKETS	 4   /* ... after a timeout */
#define ACK_PERIOD	 16  /* packets without a request for an ACK */
#define READ_BYTES	 65536u
#define TIMEOUT_FLOOR_NS 8000000u
#define READ_MAX_PIECES	 64u /* packets of one READ request */

static void set_place(struct roce_qp *qp, uint32_t psn)
{
	struct roce_requester *r = &qp->requester;
	struct rvt_qp *rvt = &qp->rvt;

	*r = (struct roce_requester){
		.index = rvt->s_last,
		.psn = psn,
		.max_psn = psn,
		.una = psn,
		.retries_left = rvt->attr.retry_cnt,
		.rnr_retries_left = rvt->attr.rnr_retry,
	};
}

void roce_requester_reset(struct roce_qp *qp)
{
	set_place(qp, 0);
}

void roce_requester_start(struct roce_qp *qp)
{
	set_place(qp, qp->rvt.attr.sq_psn & PSN_MASK);
}

void roce_requester_resume(struct roce_qp *qp)
{
	set_place(qp, qp->rvt.s_next_psn & PSN_MASK);
}

void roce_requester_seek(struct roce_qp *qp, uint32_t psn)
{
	struct roce_requester *r = &qp->requester;

	r->index = qp->rvt.s_last;
	r->psn = psn;
	while (r->index != qp->rvt.s_head) {
		const struct rvt_swqe *wqe = rvt_swqe(&qp->rvt, r->index);

		/* Nothing behind a local operation was sent before it is done. */
		if (rvt_local_operation(wqe->opcode) || psn_compare(psn, wqe->last_psn) <= 0)
			break;
		r->index++;
	}
}

void roce_requester_drained(struct roce_qp *qp)
{
	struct rvt_qp *rvt = &qp->rvt;

	if (rvt->state != RVT_QPS_SQD || !rvt->draining)
		return;
	if (rvt->s_last != rvt->s_head && rvt->type != RVT_QPT_UD &&
	    psn_compare(rvt_swqe(rvt, rvt->s_last)->psn, qp->requester.max_psn) < 0)
		return;
	rvt_sq_drained(rvt);
}

void roce_requester_fail(struct roce_qp *qp, enum rvt_verdict verdict, uint64_t value1,
			 uint64_t value2)
{
	roce_tell(qp->engine, verdict, &qp->rvt.res, value1, value2);
	if (qp->rvt.s_last != qp->rvt.s_head)
		rvt_send_complete(&qp->rvt, verdict);
	if (rvt_reliable(qp->rvt.type)) {
		rvt_error_qp(&qp->rvt, verdict);
		return;
	}
	list_unlink(&qp->ready_node);
	rvt_sqe_qp(&qp->rvt);
}

bool roce_expects_response(const struct rvt_swqe *wqe)
{
	return wqe->opcode == RVT_WR_RDMA_READ || wqe->opcode == RVT_WR_ATOMIC_CMP_AND_SWP ||
	       wqe->opcode == RVT_WR_ATOMIC_FETCH_AND_ADD || wqe->opcode == RVT_WR_ATOMIC_WRITE ||
	       wqe->opcode == RVT_WR_FLUSH;
}

uint32_t roce_read_end(const struct roce_qp *qp, const struct rvt_swqe *wqe, uint32_t psn)
{
	uint32_t pieces = READ_BYTES >> qp->mtu_shift;
	uint32_t at = psn_distance(wqe->psn, psn), last = psn_distance(wqe->psn, wqe->last_psn);
	uint32_t end;

	if (wqe->opcode != RVT_WR_RDMA_READ)
		return psn;
	if (pieces > READ_MAX_PIECES)
		pieces = READ_MAX_PIECES;
	end = at - at % pieces + pieces - 1;
	return psn_add(wqe->psn, end < last ? end : last);
}

uint32_t roce_wqe_cost(const struct roce_qp *qp, const struct rvt_swqe *wqe, uint32_t from,
		       uint32_t to)
{
	uint32_t packets = psn_distance(from, to);
	uint64_t begin = (uint64_t)psn_distance(wqe->psn, from) << qp->mtu_shift;
	uint64_t end = begin + ((uint64_t)packets << qp->mtu_shift);

	if (begin > wqe->length)
		begin = wqe->length;
	if (end > wqe->length)
		end = wqe->length;
	return (uint32_t)(end - begin) + packets * ROCE_PACKET_OVERHEAD;
}

uint64_t roce_timeout_ns(const struct roce_qp *qp)
{
	uint64_t timeout = ack_timeout_ns(qp->rvt.attr.timeout & 31);

	if (!timeout)
		return 0;
	/*
	 * IBTA allows anything up to four times the value, and NICs have a floor too. This one is
	 * high because a peer may be a program that shares a core with others: it answers when
	 * it is scheduled, and asking again earlier only adds to its work.
	 */
	return timeout < TIMEOUT_FLOOR_NS ? TIMEOUT_FLOOR_NS : timeout;
}

void roce_requester_arm(struct roce_qp *qp)
{
	uint64_t timeout = roce_timeout_ns(qp);
	uint64_t now = qp->rvt.device->now_ns;

	qp->requester.progress_ns = now;
	if (timeout && !deadline_armed(&qp->rvt.retry_timer))
		deadline_arm(&qp->rvt.device->deadlines, &qp->rvt.retry_timer, now + timeout);
}

/* The opcode of a SEND or WRITE packet, RC numbering. */
static uint8_t packet_opcode(const struct rvt_swqe *wqe, bool first, bool last)
{
	switch (wqe->opcode) {
	case RVT_WR_SEND:
	case RVT_WR_SEND_WITH_IMM:
	case RVT_WR_SEND_WITH_INV:
		if (!last)
			return first ? OPCODE_RC_SEND_FIRST : OPCODE_RC_SEND_MIDDLE;
		if (wqe->opcode == RVT_WR_SEND)
			return first ? OPCODE_RC_SEND_ONLY : OPCODE_RC_SEND_LAST;
		if (wqe->opcode == RVT_WR_SEND_WITH_IMM)
			return first ? OPCODE_RC_SEND_ONLY_IMM : OPCODE_RC_SEND_LAST_IMM;
		return first ? OPCODE_RC_SEND_ONLY_INV : OPCODE_RC_SEND_LAST_INV;
	default:
		if (!last)
			return first ? OPCODE_RC_WRITE_FIRST : OPCODE_RC_WRITE_MIDDLE;
		if (wqe->opcode == RVT_WR_RDMA_WRITE)
			return first ? OPCODE_RC_WRITE_ONLY : OPCODE_RC_WRITE_LAST;
		return first ? OPCODE_RC_WRITE_ONLY_IMM : OPCODE_RC_WRITE_LAST_IMM;
	}
}

/* What is to be sent next. */
struct step {
	struct rvt_swqe *wqe;
	uint32_t psns; /* that it takes */
	uint32_t offset, length;
	uint32_t cost;
	bool first, last; /* of the work request */
	bool response;	  /* a READ or atomic */
};

static void plan(const struct roce_qp *qp, struct step *step)
{
	const struct roce_requester *r = &qp->requester;
	struct rvt_swqe *wqe = rvt_swqe(&qp->rvt, r->index);
	uint32_t left, room;

	step->wqe = wqe;
	step->response = roce_expects_response(wqe);
	step->psns = 1;
	if (step->response)
		step->psns = psn_distance(r->psn, roce_read_end(qp, wqe, r->psn)) + 1;
	step->offset = psn_distance(wqe->psn, r->psn) << qp->mtu_shift;
	left = wqe->length - step->offset;
	room = step->psns << qp->mtu_shift;
	step->length = left < room ? left : room;
	step->first = r->psn == wqe->psn;
	step->last = psn_add(r->psn, step->psns - 1) == wqe->last_psn;
	step->cost = roce_wqe_cost(qp, wqe, r->psn, psn_add(r->psn, step->psns));
}

static uint32_t window(const struct roce_qp *qp)
{
	return qp->requester.probing ? PROBE_PACKETS : WINDOW_PACKETS;
}

static bool window_open(struct roce_qp *qp, const struct step *step)
{
	const struct roce_requester *r = &qp->requester;
	uint32_t outstanding = psn_distance(r->una, r->psn);

	if (outstanding && outstanding + step->psns > window(qp))
		return false;
	return roce_peer_room(qp, step->cost);
}

/* Is this the last packet for now? Then it must ask for an ACK, or none would come. */
static bool window_closes(const struct roce_qp *qp, const struct step *step)
{
	const struct roce_requester *r = &qp->requester;
	uint32_t next = qp->rvt.mtu + ROCE_PACKET_OVERHEAD;

	return r->probing || psn_distance(r->una, r->psn) + 2 > window(qp) ||
	       qp->peer->in_flight_bytes + step->cost + next > qp->peer->window_bytes;
}

static void message_headers(const struct roce_qp *qp, const struct step *step,
			    struct packet *headers)
{
	const struct rvt_swqe *wqe = step->wqe;
	bool solicitable = wqe->opcode != RVT_WR_RDMA_WRITE;

	headers->opcode = packet_opcode(wqe, step->first, step->last);
	headers->solicited = step->last && solicitable && (wqe->flags & RVT_SEND_SOLICITED);
	headers->immediate = wqe->imm_data;
	headers->ieth = wqe->invalidate_rkey;
	headers->reth.va = wqe->rdma.remote_addr;
	headers->reth.rkey = wqe->rdma.rkey;
	headers->reth.length = wqe->length;
	if (qp->rvt.type == RVT_QPT_UC)
		return;
	headers->ack_req = step->last || qp->requester.since_ack_req + 1 >= ACK_PERIOD ||
			   window_closes(qp, step);
}

static void response_headers(const struct step *step, struct packet *headers)
{
	const struct rvt_swqe *wqe = step->wqe;

	headers->ack_req = true;
	if (wqe->opcode == RVT_WR_RDMA_READ) {
		headers->opcode = OPCODE_RC_READ_REQUEST;
		headers->reth.va = wqe->rdma.remote_addr + step->offset;
		headers->reth.rkey = wqe->rdma.rkey;
		headers->reth.length = step->length;
		return;
	}
	if (wqe->opcode == RVT_WR_ATOMIC_WRITE || wqe->opcode == RVT_WR_FLUSH) {
		bool flush = wqe->opcode == RVT_WR_FLUSH;

		headers->opcode = flush ? OPCODE_RC_FLUSH : OPCODE_RC_ATOMIC_WRITE;
		headers->reth.va = wqe->rdma.remote_addr;
		headers->reth.rkey = wqe->rdma.rkey;
		headers->reth.length = flush ? wqe->rdma.flush.length : wqe->length;
		headers->feth.placement = wqe->rdma.flush.placement;
		headers->feth.selectivity = wqe->rdma.flush.selectivity;
		return;
	}
	headers->atomic.va = wqe->atomic.remote_addr;
	headers->atomic.rkey = wqe->atomic.rkey;
	if (wqe->opcode == RVT_WR_ATOMIC_CMP_AND_SWP) {
		headers->opcode = OPCODE_RC_CMP_SWAP;
		headers->atomic.swap_add = wqe->atomic.swap;
		headers->atomic.compare = wqe->atomic.compare_add;
	} else {
		headers->opcode = OPCODE_RC_FETCH_ADD;
		headers->atomic.swap_add = wqe->atomic.compare_add;
		headers->atomic.compare = 0;
	}
}

/* Send one packet. RVT_OK and *full when the link had no room. */
static enum rvt_verdict transmit(struct roce_qp *qp, const struct step *step, bool *full)
{
	struct packet headers = {
		.pkey = 0xffff,
		.dest_qpn = qp->rvt.attr.dest_qp_num,
		.psn = qp->requester.psn,
	};
	bool carries = !step->response || step->wqe->opcode == RVT_WR_ATOMIC_WRITE;
	uint32_t length = carries ? step->length : 0;
	struct roce_outgoing out;

	if (step->response)
		response_headers(step, &headers);
	else
		message_headers(qp, step, &headers);
	headers.opcode |= qp->transport;
	headers.srqn = step->wqe->srqn;
	*full = roce_packet_start(qp->engine, &qp->flow, &headers, length, &out) != 0;
	if (*full)
		return RVT_OK;
	if (length) {
		enum rvt_verdict verdict =
			rvt_swqe_copy(&qp->rvt, step->wqe, step->offset, out.payload, length);

		if (verdict != RVT_OK) {
			roce_packet_cancel(&out);
			return verdict;
		}
	}
	roce_packet_finish(&out);
	qp->requester.since_ack_req = headers.ack_req ? 0 : qp->requester.since_ack_req + 1;
	return RVT_OK;
}

/* Account for the packet that was sent and go on. */
static void advance(struct roce_qp *qp, const struct step *step)
{
	struct roce_requester *r = &qp->requester;

	r->psn = psn_add(r->psn, step->psns);
	if (psn_compare(r->psn, r->max_psn) > 0)
		r->max_psn = r->psn;
	if (step->last)
		r->index++;
	if (qp->rvt.type == RVT_QPT_UC) {
		r->una = r->psn;
		if (step->last)
			rvt_send_complete(&qp->rvt, RVT_OK);
		return;
	}
	roce_peer_sent(qp, step->cost);
	if (step->response)
		r->rd_atomic++;
	if (!deadline_armed(&qp->rvt.retry_timer))
		roce_requester_arm(qp);
}

/* Why a work request cannot be started, if so. */
static enum rvt_verdict startable(const struct roce_qp *qp, const struct rvt_swqe *wqe)
{
	if (wqe->verdict != RVT_OK)
		return wqe->verdict;
	switch (wqe->opcode) {
	case RVT_WR_SEND:
	case RVT_WR_SEND_WITH_IMM:
	case RVT_WR_RDMA_WRITE:
	case RVT_WR_RDMA_WRITE_WITH_IMM:
	case RVT_WR_BIND_MW:
	case RVT_WR_LOCAL_INV:
		return RVT_OK;
	case RVT_WR_SEND_WITH_INV:
		return rvt_reliable(qp->rvt.type) ? RVT_OK : RVT_CANNOT_SEND;
	case RVT_WR_RDMA_READ:
	case RVT_WR_ATOMIC_CMP_AND_SWP:
	case RVT_WR_ATOMIC_FETCH_AND_ADD:
	case RVT_WR_ATOMIC_WRITE:
	case RVT_WR_FLUSH:
		if (!rvt_reliable(qp->rvt.type))
			return RVT_CANNOT_SEND;
		return qp->rvt.attr.max_rd_atomic ? RVT_OK : RVT_NO_RD_ATOMIC;
	default:
		return RVT_CANNOT_SEND;
	}
}

static void fail_wqe(struct roce_qp *qp, const struct rvt_swqe *wqe, enum rvt_verdict verdict)
{
	bool posted = verdict == wqe->verdict;

	roce_requester_fail(qp, verdict, posted ? wqe->cause1 : wqe->opcode,
			    posted ? wqe->cause2 : 0);
}

/*
 * A local operation ends at once, so its turn is when all before it is done; what is behind it
 * waits. That is more order than is asked for, and keeps what cannot be sent again out of
 * everything that goes back.
 */
static bool local_operation(struct roce_qp *qp, struct rvt_swqe *wqe)
{
	enum rvt_verdict verdict;

	if (qp->requester.index != qp->rvt.s_last)
		return false;
	verdict = rvt_execute_local(&qp->rvt, wqe);
	if (verdict != RVT_OK) {
		roce_requester_fail(qp, verdict, wqe->cause1, wqe->cause2);
		return false;
	}
	qp->requester.index++;
	rvt_send_complete(&qp->rvt, RVT_OK);
	return true;
}

/* Return: false when nothing can be sent until something happens. */
static bool send_one(struct roce_qp *qp)
{
	struct roce_requester *r = &qp->requester;
	struct rvt_swqe *wqe = rvt_swqe(&qp->rvt, r->index);
	enum rvt_verdict verdict = RVT_OK;
	struct step step;
	bool full = false;

	/* In SQD what was started is finished and nothing new begins. */
	if (qp->rvt.state == RVT_QPS_SQD && psn_compare(wqe->psn, r->max_psn) >= 0)
		return false;
	verdict = startable(qp, wqe);
	if (verdict == RVT_OK && rvt_local_operation(wqe->opcode))
		return local_operation(qp, wqe);
	if (verdict == RVT_OK) {
		plan(qp, &step);
		if (rvt_reliable(qp->rvt.type)) {
			if (step.first && (wqe->flags & RVT_SEND_FENCE) && r->rd_atomic)
				return false;
			if (step.response && r->rd_atomic >= qp->rvt.attr.max_rd_atomic)
				return false;
			if (!window_open(qp, &step))
				return false;
		}
		verdict = transmit(qp, &step, &full);
	}
	if (verdict != RVT_OK) {
		/* Errors come in their turn: after everything before is acknowledged. */
		if (r->index != qp->rvt.s_last)
			return false;
		fail_wqe(qp, wqe, verdict);
		return false;
	}
	r->waiting_link = full;
	if (full)
		return false;
	advance(qp, &step);
	return true;
}

unsigned roce_requester_run(struct roce_qp *qp, unsigned budget)
{
	struct roce_requester *r = &qp->requester;
	unsigned sent = 0;

	if (r->waiting_peer) {
		list_unlink(&qp->wait_node);
		r->waiting_peer = false;
	}
	while (qp->rvt.state == RVT_QPS_RTS || qp->rvt.state == RVT_QPS_SQD) {
		if (r->waiting_rnr || r->index == qp->rvt.s_head)
			break;
		if (sent == budget) {
			roce_qp_ready(qp);
			break;
		}
		if (!send_one(qp))
			break;
		sent++;
	}
	if (qp->rvt.type == RVT_QPT_UC)
		roce_requester_drained(qp);
	else
		roce_peer_pass_on(qp);
	return sent;
}
