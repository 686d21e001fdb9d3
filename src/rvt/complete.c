/* SPDX-License-Identifier: Apache-2.0 */
/* complete.c - how work requests end: completions, flush in order, error states and their events */
#include "rvt/private.h"

static void raise_event(struct rvt_qp *qp, enum rvt_event event)
{
	qp->device->observer->async_event(qp->device->observer->context, event, qp, NULL, NULL);
}

static enum rvt_wc_opcode wc_opcode(enum rvt_opcode opcode)
{
	switch (opcode) {
	case RVT_WR_RDMA_WRITE:
	case RVT_WR_RDMA_WRITE_WITH_IMM:
		return RVT_WC_RDMA_WRITE;
	case RVT_WR_RDMA_READ:
		return RVT_WC_RDMA_READ;
	case RVT_WR_ATOMIC_CMP_AND_SWP:
		return RVT_WC_COMP_SWAP;
	case RVT_WR_ATOMIC_FETCH_AND_ADD:
		return RVT_WC_FETCH_ADD;
	case RVT_WR_ATOMIC_WRITE:
		return RVT_WC_ATOMIC_WRITE;
	case RVT_WR_FLUSH:
		return RVT_WC_FLUSH;
	case RVT_WR_BIND_MW:
		return RVT_WC_BIND_MW;
	case RVT_WR_LOCAL_INV:
		return RVT_WC_LOCAL_INV;
	default:
		return RVT_WC_SEND;
	}
}

/* A full CQ takes no completion, so the program could not tell what became of its work: the QP is
 * dead. */
static void enter(struct rvt_qp *qp, struct rvt_cq *cq, const struct rvt_wc *wc)
{
	if (rvt_cq_enter(cq, wc))
		return;
	if (qp->state != RVT_QPS_ERR && qp->state != RVT_QPS_RESET)
		rvt_error_qp(qp, RVT_CQ_OVERRUN);
}

void rvt_send_complete(struct rvt_qp *qp, enum rvt_verdict verdict)
{
	struct rvt_swqe *wqe = rvt_swqe(qp, qp->s_last);
	struct rvt_wc wc = {
		.wr_id = wqe->wr_id,
		.status = rvt_verdict_row(verdict)->status,
		.opcode = wc_opcode(wqe->opcode),
		.vendor_err = verdict,
		.byte_len = wqe->length,
		.qp_num = qp->number,
	};
	bool tell = verdict != RVT_OK || wqe->flags & RVT_SEND_SIGNALED;

	ASSERT(qp->s_last != qp->s_head);
	rvt_release_swqe(qp, wqe);
	qp->s_last++;
	if (verdict == RVT_OK) {
		rvt_count(qp->device, RVT_COUNT_rdma_sends);
		restrack_adjust(&qp->res, RESTRACK_QP_SENDS, 1);
	} else if (verdict != RVT_FLUSHED) {
		restrack_set(&qp->res, RESTRACK_QP_CAUSE, verdict);
	}
	if (tell)
		enter(qp, qp->send_cq, &wc);
}

void rvt_flush_sends(struct rvt_qp *qp)
{
	while (qp->s_last != qp->s_head)
		rvt_send_complete(qp, RVT_FLUSHED);
}

static void flush_receive(struct rvt_qp *qp, uint64_t wr_id)
{
	struct rvt_wc wc = {
		.wr_id = wr_id,
		.status = RVT_WC_WR_FLUSH_ERR,
		.opcode = RVT_WC_RECV,
		.vendor_err = RVT_FLUSHED,
		.qp_num = qp->number,
	};

	enter(qp, qp->recv_cq, &wc);
}

void rvt_flush_receives(struct rvt_qp *qp)
{
	const struct rvt_rwqe *wqe;

	while ((wqe = rvt_rq_peek(&qp->rq))) {
		uint64_t wr_id = wqe->wr_id;

		rvt_rq_pop(&qp->rq);
		flush_receive(qp, wr_id);
	}
}

/* Receives. */

enum rvt_verdict rvt_get_rwqe(struct rvt_qp *qp)
{
	struct rvt_active_receive *r = &qp->receive;
	struct rvt_rq *rq = qp->srq ? &qp->srq->rq : &qp->rq;
	/* What lies in a shared queue was posted by whoever made that. */
	struct rvt_pd *pd = qp->srq ? qp->srq->pd : qp->pd;
	const struct rvt_rwqe *wqe;
	enum rvt_verdict verdict;
	uint32_t bad = 0;

	/* One that a broken message gave back serves first. */
	if (r->taken)
		return RVT_OK;
	wqe = rvt_rq_peek(rq);
	if (!wqe)
		return RVT_NO_RECEIVE;
	r->taken = true;
	r->wr_id = wqe->wr_id;
	r->cq = qp->recv_cq;
	r->srq = qp->srq;
	verdict = rvt_sge_list_set(&r->list, pd, wqe->sges, wqe->num_sge, true, &bad);
	if (verdict != RVT_OK)
		rvt_refuse(qp->device, verdict, &qp->res,
			   verdict == RVT_LKEY_RANGE ? wqe->sges[bad].addr : wqe->sges[bad].lkey,
			   verdict == RVT_LKEY_RANGE ? wqe->sges[bad].length : pd->res.id);
	rvt_rq_pop(rq);
	if (qp->srq)
		rvt_srq_taken(qp->srq);
	if (verdict != RVT_OK)
		rvt_recv_fail(qp, verdict);
	return verdict;
}

static void end_receive(struct rvt_qp *qp)
{
	rvt_sge_list_put(&qp->receive.list);
	qp->receive.taken = false;
}

void rvt_recv_complete(struct rvt_qp *qp, struct rvt_wc *wc)
{
	ASSERT(qp->receive.taken);
	wc->wr_id = qp->receive.wr_id;
	wc->qp_num = qp->number;
	end_receive(qp);
	rvt_count(qp->device, RVT_COUNT_rdma_recvs);
	restrack_adjust(&qp->res, RESTRACK_QP_RECVS, 1);
	enter(qp, qp->receive.cq, wc);
}

void rvt_recv_fail(struct rvt_qp *qp, enum rvt_verdict verdict)
{
	struct rvt_wc wc = {
		.wr_id = qp->receive.wr_id,
		.status = rvt_verdict_row(verdict)->status,
		.opcode = RVT_WC_RECV,
		.vendor_err = verdict,
		.qp_num = qp->number,
	};

	if (!qp->receive.taken)
		return;
	end_receive(qp);
	if (verdict != RVT_FLUSHED)
		restrack_set(&qp->res, RESTRACK_QP_CAUSE, verdict);
	enter(qp, qp->receive.cq, &wc);
}

/* Error states. */

void rvt_error_qp(struct rvt_qp *qp, enum rvt_verdict verdict)
{
	enum rvt_event event = rvt_verdict_row(verdict)->event;

	if (qp->state == RVT_QPS_RESET || qp->state == RVT_QPS_ERR)
		return;
	/* The state first: what follows may come back here. */
	qp->state = RVT_QPS_ERR;
	qp->draining = false;
	restrack_set(&qp->res, RESTRACK_QP_STATE, qp->state);
	if (verdict != RVT_FLUSHED)
		restrack_set(&qp->res, RESTRACK_QP_CAUSE, verdict);
	deadline_disarm(&qp->device->deadlines, &qp->retry_timer);
	deadline_disarm(&qp->device->deadlines, &qp->rnr_timer);
	qp->device->transport->qp_error(qp);
	rvt_recv_fail(qp, RVT_FLUSHED);
	rvt_flush_sends(qp);
	rvt_flush_receives(qp);
	/* The CQ's own event tells of an overrun. */
	if (event != RVT_EVENT_NONE && event != RVT_EVENT_CQ_ERR && !qp->error_event_raised) {
		qp->error_event_raised = true;
		raise_event(qp, event);
	}
	if ((qp->srq || qp->xrcd) && !qp->last_wqe_raised) {
		qp->last_wqe_raised = true;
		raise_event(qp, RVT_EVENT_QP_LAST_WQE_REACHED);
	}
}

void rvt_sqe_qp(struct rvt_qp *qp)
{
	if (qp->state != RVT_QPS_RTS && qp->state != RVT_QPS_SQD)
		return;
	qp->state = RVT_QPS_SQE;
	qp->draining = false;
	restrack_set(&qp->res, RESTRACK_QP_STATE, qp->state);
	rvt_flush_sends(qp);
}

void rvt_comm_est(struct rvt_qp *qp)
{
	if (qp->state == RVT_QPS_RTR)
		raise_event(qp, RVT_EVENT_COMM_EST);
}

void rvt_sq_drained(struct rvt_qp *qp)
{
	if (qp->state != RVT_QPS_SQD || !qp->draining)
		return;
	qp->draining = false;
	if (qp->attr.en_sqd_async_notify)
		raise_event(qp, RVT_EVENT_SQ_DRAINED);
}
