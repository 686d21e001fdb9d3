/* SPDX-License-Identifier: Apache-2.0 */
/* post.c - posting work requests: what may be posted where, and what a WQE holds on to */
#include <errno.h>

#include "rvt/mw.h"
#include "rvt/private.h"

#define RC (1u << RVT_QPT_RC)
#define UC (1u << RVT_QPT_UC)
#define UD (1u << RVT_QPT_UD)
#define XI (1u << RVT_QPT_XRC_INI)

enum operation_flags {
	ATOMIC = 1,  /* eight bytes, aligned on the other side */
	FETCHES = 2, /* answers are written to local memory; takes one of max_rd_atomic */
	INLINE = 4,
	LOCAL = 8, /* nothing is sent */
	BARE = 16, /* only headers are sent */
};

/* Which types may do what; no types: no such operation here. */
static const struct {
	uint16_t types;
	uint8_t flags;
} operations[] = {
	[RVT_WR_RDMA_WRITE] = { RC | UC | XI, INLINE },
	[RVT_WR_RDMA_WRITE_WITH_IMM] = { RC | UC | XI, INLINE },
	[RVT_WR_SEND] = { RC | UC | UD | XI, INLINE },
	[RVT_WR_SEND_WITH_IMM] = { RC | UC | UD | XI, INLINE },
	[RVT_WR_RDMA_READ] = { RC | XI, FETCHES },
	[RVT_WR_ATOMIC_CMP_AND_SWP] = { RC | XI, ATOMIC | FETCHES },
	[RVT_WR_ATOMIC_FETCH_AND_ADD] = { RC | XI, ATOMIC | FETCHES },
	[RVT_WR_SEND_WITH_INV] = { RC, INLINE },
	[RVT_WR_BIND_MW] = { RC | UC, LOCAL },
	[RVT_WR_LOCAL_INV] = { RC | UC, LOCAL },
	[RVT_WR_FLUSH] = { RC | XI, BARE },
	[RVT_WR_ATOMIC_WRITE] = { RC | XI, ATOMIC | INLINE },
};

static unsigned flags_of(enum rvt_opcode opcode)
{
	return operations[opcode].flags;
}

static int refuse(struct rvt_qp *qp, enum rvt_verdict verdict, uint64_t value1, uint64_t value2)
{
	return rvt_refuse(qp->device, verdict, &qp->res, value1, value2);
}

static uint64_t total_length(const struct rvt_send_wr *wr)
{
	uint64_t total = 0;

	for (uint32_t i = 0; i < wr->num_sge; i++)
		total += wr->sg_list[i].length;
	return total;
}

static int valid_flush(struct rvt_qp *qp, const struct rvt_send_wr *wr)
{
	const struct rvt_flush *flush = &wr->flush;

	if (wr->num_sge || wr->send_flags & RVT_SEND_INLINE)
		return refuse(qp, RVT_POST_SGE_COUNT, wr->num_sge, 0);
	if (flush->length > RVT_MAX_MESSAGE)
		return refuse(qp, RVT_SEND_TOO_LONG, flush->length, RVT_MAX_MESSAGE);
	if (!flush->placement || flush->placement > RVT_FLUSH_BOTH || flush->selectivity > 1)
		return refuse(qp, RVT_POST_FLUSH, flush->placement, flush->selectivity);
	return 0;
}

/* May this work request be posted at all? What is wrong only with its memory is found out later. */
static int rvt_qp_valid_operation(struct rvt_qp *qp, const struct rvt_send_wr *wr)
{
	uint64_t length;

	if ((unsigned)wr->opcode >= sizeof(operations) / sizeof(operations[0]) ||
	    !(operations[wr->opcode].types & 1u << qp->type))
		return refuse(qp, RVT_POST_OPCODE, wr->opcode, qp->type);
	if (flags_of(wr->opcode) & LOCAL)
		return 0;
	if (flags_of(wr->opcode) & BARE)
		return valid_flush(qp, wr);
	length = total_length(wr);
	if (wr->send_flags & RVT_SEND_INLINE) {
		if (!(flags_of(wr->opcode) & INLINE) || length > qp->cap.max_inline_data)
			return refuse(qp, RVT_POST_INLINE, length, qp->cap.max_inline_data);
	} else if (wr->num_sge > qp->cap.max_send_sge) {
		return refuse(qp, RVT_POST_SGE_COUNT, wr->num_sge, qp->cap.max_send_sge);
	}
	if (length > RVT_MAX_MESSAGE)
		return refuse(qp, RVT_SEND_TOO_LONG, length, RVT_MAX_MESSAGE);
	if (flags_of(wr->opcode) & ATOMIC) {
		if (length != 8)
			return refuse(qp, RVT_POST_ATOMIC_LENGTH, length, 8);
		if (wr->remote_addr % 8)
			return refuse(qp, RVT_ATOMIC_MISALIGNED, wr->remote_addr, 8);
	}
	if (qp->type == RVT_QPT_UD && (!wr->ah || wr->ah->pd != qp->pd))
		return refuse(qp, RVT_POST_NO_AH, 0, 0);
	return 0;
}

/* The destination of a UD send, kept until the WQE ends: the program may destroy its handle at
 * once. */
static void set_ud_wq_attr(struct rvt_swqe *wqe, const struct rvt_send_wr *wr)
{
	rvt_get_ah(wr->ah);
	wqe->ud.ah = wr->ah;
	wqe->ud.remote_qpn = wr->remote_qpn & 0xffffff;
	wqe->ud.remote_qkey = wr->remote_qkey;
}

static void free_ud_wq_attr(struct rvt_qp *qp, struct rvt_swqe *wqe)
{
	/* Of any other type the bytes are somebody else's. */
	if (qp->type != RVT_QPT_UD || !wqe->ud.ah)
		return;
	rvt_put_ah(wqe->ud.ah);
	wqe->ud.ah = NULL;
}

void rvt_release_swqe(struct rvt_qp *qp, struct rvt_swqe *wqe)
{
	rvt_sge_list_put(&wqe->list);
	free_ud_wq_attr(qp, wqe);
	if (wqe->opcode == RVT_WR_BIND_MW) {
		rvt_put_mr(&wqe->bind.mw->mr);
		rvt_put_mr(wqe->bind.region);
		wqe->bind = (struct rvt_bind){ 0 };
	}
}

static void set_verdict(struct rvt_swqe *wqe, enum rvt_verdict verdict, uint64_t value1,
			uint64_t value2)
{
	if (wqe->verdict != RVT_OK)
		return;
	wqe->verdict = verdict;
	wqe->cause1 = value1;
	wqe->cause2 = value2;
}

static void set_inline(struct rvt_qp *qp, struct rvt_swqe *wqe, const struct rvt_send_wr *wr)
{
	uint8_t *to = qp->inline_buffers +
		      (size_t)(qp->s_head & (qp->s_size - 1)) * qp->cap.max_inline_data;

	wqe->inline_data = to;
	for (uint32_t i = 0; i < wr->num_sge; i++) {
		const struct rvt_sge *sge = &wr->sg_list[i];

		if (!sge->length)
			continue;
		if (qp->device->memory->read(to, sge->addr, sge->length))
			set_verdict(wqe, RVT_MEMORY_FAULT, sge->addr, sge->length);
		to += sge->length;
	}
}

static void set_memory(struct rvt_qp *qp, struct rvt_swqe *wqe, const struct rvt_send_wr *wr)
{
	bool write = flags_of(wr->opcode) & FETCHES;
	enum rvt_verdict verdict;
	uint32_t bad = 0;

	wqe->inline_data = NULL;
	verdict = rvt_sge_list_set(&wqe->list, qp->pd, wr->sg_list, wr->num_sge, write, &bad);
	if (verdict == RVT_LKEY_RANGE)
		set_verdict(wqe, verdict, wr->sg_list[bad].addr, wr->sg_list[bad].length);
	else if (verdict != RVT_OK)
		set_verdict(wqe, verdict, wr->sg_list[bad].lkey, qp->pd->res.id);
}

static void assign_psns(struct rvt_qp *qp, struct rvt_swqe *wqe)
{
	uint32_t packets = flags_of(wqe->opcode) & LOCAL ? 0 : 1;

	/* A queue pair that became ERR before it had a path has no MTU: nothing is ever sent. */
	if (qp->type != RVT_QPT_UD && !(flags_of(wqe->opcode) & ATOMIC) && qp->mtu &&
	    wqe->length > qp->mtu)
		packets = (wqe->length - 1) / qp->mtu + 1;
	wqe->psn = qp->s_next_psn;
	wqe->last_psn = (qp->s_next_psn + packets - 1) & 0xffffff;
	qp->s_next_psn = (wqe->last_psn + 1) & 0xffffff;
	wqe->ssn = qp->s_next_ssn++;
}

/* Nothing is sent: what it is about is looked at when its turn comes. */
static void set_local(struct rvt_swqe *wqe, const struct rvt_send_wr *wr)
{
	wqe->length = 0;
	wqe->inline_data = NULL;
	if (wr->opcode != RVT_WR_BIND_MW)
		return;
	wqe->bind = wr->bind;
	rvt_get_mr(&wqe->bind.mw->mr);
	if (wqe->bind.region)
		rvt_get_mr(wqe->bind.region);
}

static void rvt_post_one_wr(struct rvt_qp *qp, const struct rvt_send_wr *wr)
{
	struct rvt_swqe *wqe = rvt_swqe(qp, qp->s_head);

	wqe->wr_id = wr->wr_id;
	wqe->opcode = wr->opcode;
	wqe->flags = wr->send_flags | (qp->signal_all ? RVT_SEND_SIGNALED : 0);
	wqe->length = (uint32_t)total_length(wr);
	wqe->imm_data = wr->imm_data;
	wqe->invalidate_rkey = wr->invalidate_rkey;
	wqe->srqn = wr->remote_srqn & 0xffffff;
	wqe->verdict = RVT_OK;
	wqe->list.count = 0;
	if (flags_of(wr->opcode) & LOCAL) {
		set_local(wqe, wr);
		assign_psns(qp, wqe);
		qp->s_head++;
		return;
	}
	if (qp->type == RVT_QPT_UD) {
		set_ud_wq_attr(wqe, wr);
		if (wqe->length > qp->mtu)
			set_verdict(wqe, RVT_SEND_TOO_LONG, wqe->length, qp->mtu);
	} else if (wr->opcode == RVT_WR_ATOMIC_CMP_AND_SWP ||
		   wr->opcode == RVT_WR_ATOMIC_FETCH_AND_ADD) {
		wqe->atomic.remote_addr = wr->remote_addr;
		wqe->atomic.rkey = wr->rkey;
		wqe->atomic.compare_add = wr->compare_add;
		wqe->atomic.swap = wr->swap;
	} else {
		wqe->rdma.remote_addr = wr->remote_addr;
		wqe->rdma.rkey = wr->rkey;
		wqe->rdma.flush = wr->flush;
	}
	if (flags_of(wr->opcode) & FETCHES && !qp->attr.max_rd_atomic)
		set_verdict(wqe, RVT_NO_RD_ATOMIC, 0, 0);
	if (wr->send_flags & RVT_SEND_INLINE)
		set_inline(qp, wqe, wr);
	else
		set_memory(qp, wqe, wr);
	assign_psns(qp, wqe);
	qp->s_head++;
}

int rvt_post_send(struct rvt_qp *qp, const struct rvt_send_wr *wr)
{
	int err;

	if (qp->type == RVT_QPT_XRC_TGT)
		return refuse(qp, RVT_POST_WRONG_SIDE, qp->type, 0);
	if (qp->state < RVT_QPS_RTS)
		return refuse(qp, RVT_POST_STATE, qp->state, 0);
	err = rvt_qp_valid_operation(qp, wr);
	if (err)
		return err;
	if (qp->s_head - qp->s_last >= qp->cap.max_send_wr)
		return refuse(qp, RVT_QUEUE_FULL, qp->s_head - qp->s_last, qp->cap.max_send_wr);
	rvt_post_one_wr(qp, wr);
	return 0;
}

void rvt_send_pending(struct rvt_qp *qp)
{
	if (qp->s_last == qp->s_head)
		return;
	if (qp->state == RVT_QPS_ERR || qp->state == RVT_QPS_SQE)
		rvt_flush_sends(qp);
	else
		qp->device->transport->send(qp);
}

int rvt_post_recv(struct rvt_qp *qp, const struct rvt_recv_wr *wr)
{
	enum rvt_verdict verdict;

	if (qp->type == RVT_QPT_XRC_INI || qp->type == RVT_QPT_XRC_TGT)
		return refuse(qp, RVT_POST_WRONG_SIDE, qp->type, 0);
	if (qp->srq)
		return refuse(qp, RVT_POST_RECV_HAS_SRQ, 0, 0);
	if (qp->state == RVT_QPS_RESET)
		return refuse(qp, RVT_POST_STATE, qp->state, 0);
	verdict = rvt_rq_post(&qp->rq, wr);
	if (verdict == RVT_QUEUE_FULL)
		return refuse(qp, verdict, rvt_rq_count(&qp->rq), qp->rq.max_wr);
	if (verdict != RVT_OK)
		return refuse(qp, verdict, wr->num_sge, qp->rq.max_sge);
	if (qp->state == RVT_QPS_ERR)
		rvt_flush_receives(qp);
	return 0;
}

enum rvt_verdict rvt_swqe_copy(const struct rvt_qp *qp, const struct rvt_swqe *wqe, uint32_t offset,
			       void *to, uint32_t length)
{
	if (!wqe->inline_data)
		return rvt_copy_from_sge(qp->device, &wqe->list, offset, to, length);
	ASSERT((uint64_t)offset + length <= wqe->length);
	memcpy(to, wqe->inline_data + offset, length);
	return RVT_OK;
}
