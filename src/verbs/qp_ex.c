/* SPDX-License-Identifier: Apache-2.0 */
/*
 * qp_ex.c - ibv_wr_start() .. ibv_wr_complete(): a batch of work requests that is posted whole or
 * not at all
 *
 * Between start and complete the requests gather in the QP's batch; mistakes are remembered and
 * told by complete.
 */
#include <stdlib.h>
#include <string.h>

#include "verbs/objects.h"

static struct verbs_qp *qp_of(struct ibv_qp_ex *ex)
{
	return (struct verbs_qp *)(void *)ex;
}

static bool grow(void *array, uint32_t *capacity, uint32_t needed, size_t size)
{
	uint32_t more = *capacity ? *capacity : 16;
	void *larger;

	if (needed <= *capacity)
		return true;
	while (more < needed)
		more *= 2;
	larger = realloc(*(void **)array, more * size);
	if (!larger)
		return false;
	*(void **)array = larger;
	*capacity = more;
	return true;
}

static void mistake(struct verbs_batch *batch, int error)
{
	if (!batch->error)
		batch->error = error;
}

static void wr_start(struct ibv_qp_ex *ex)
{
	struct verbs_qp *qp = qp_of(ex);

	pthread_mutex_lock(&qp->batch_lock);
	qp->batch.count = 0;
	qp->batch.sge_count = 0;
	qp->batch.bytes_used = 0;
	qp->batch.error = 0;
	qp->batch.open = true;
}

/* A new work request at the end of the batch, or NULL after a mistake. */
static struct rvt_send_wr *append(struct ibv_qp_ex *ex, enum rvt_opcode opcode)
{
	struct verbs_batch *batch = &qp_of(ex)->batch;
	struct verbs_batch_wr *w;

	if (batch->error)
		return NULL;
	if (!grow(&batch->wrs, &batch->capacity, batch->count + 1, sizeof(*batch->wrs))) {
		mistake(batch, ENOMEM);
		return NULL;
	}
	w = &batch->wrs[batch->count++];
	memset(w, 0, sizeof(*w));
	w->wr.wr_id = ex->wr_id;
	w->wr.send_flags = ex->wr_flags & ~(unsigned)IBV_SEND_INLINE;
	w->wr.opcode = opcode;
	w->first_sge = batch->sge_count;
	return &w->wr;
}

static void wr_send(struct ibv_qp_ex *ex)
{
	append(ex, RVT_WR_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 imm_data)
{
	struct rvt_send_wr *wr = append(ex, RVT_WR_SEND_WITH_IMM);

	if (wr)
		wr->imm_data = imm_data;
}

static void wr_send_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	struct rvt_send_wr *wr = append(ex, RVT_WR_SEND_WITH_INV);

	if (wr)
		wr->invalidate_rkey = rkey;
}

static struct rvt_send_wr *append_rdma(struct ibv_qp_ex *ex, enum rvt_opcode opcode, uint32_t rkey,
				       uint64_t address)
{
	struct rvt_send_wr *wr = append(ex, opcode);

	if (wr) {
		wr->rkey = rkey;
		wr->remote_addr = address;
	}
	return wr;
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t address)
{
	append_rdma(ex, RVT_WR_RDMA_WRITE, rkey, address);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t address,
			      __be32 imm_data)
{
	struct rvt_send_wr *wr = append_rdma(ex, RVT_WR_RDMA_WRITE_WITH_IMM, rkey, address);

	if (wr)
		wr->imm_data = imm_data;
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t address)
{
	append_rdma(ex, RVT_WR_RDMA_READ, rkey, address);
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t address,
			      uint64_t compare, uint64_t swap)
{
	struct rvt_send_wr *wr = append_rdma(ex, RVT_WR_ATOMIC_CMP_AND_SWP, rkey, address);

	if (wr) {
		wr->compare_add = compare;
		wr->swap = swap;
	}
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t address, uint64_t add)
{
	struct rvt_send_wr *wr = append_rdma(ex, RVT_WR_ATOMIC_FETCH_AND_ADD, rkey, address);

	if (wr)
		wr->compare_add = add;
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length);

static void wr_atomic_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t address,
			    const void *value)
{
	if (append_rdma(ex, RVT_WR_ATOMIC_WRITE, rkey, address))
		wr_set_inline_data(ex, (void *)(uintptr_t)value, 8);
}

static void wr_flush(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t address, size_t length,
		     uint8_t type, uint8_t level)
{
	struct rvt_send_wr *wr = append_rdma(ex, RVT_WR_FLUSH, rkey, address);

	if (!wr)
		return;
	wr->flush.length = length > UINT32_MAX ? UINT32_MAX : (uint32_t)length;
	wr->flush.placement = type;
	wr->flush.selectivity = level;
}

static void wr_local_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	struct rvt_send_wr *wr = append(ex, RVT_WR_LOCAL_INV);

	if (wr)
		wr->invalidate_rkey = rkey;
}

static void wr_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info)
{
	struct rvt_send_wr *wr = append(ex, RVT_WR_BIND_MW);

	struct verbs_batch_wr *w;

	if (!wr)
		return;
	w = container_of(wr, struct verbs_batch_wr, wr);
	if (!verbs_to_rvt_bind(&wr->bind, mw, rkey, info) || mw->type != IBV_MW_TYPE_2) {
		mistake(&qp_of(ex)->batch, EINVAL);
		return;
	}
	w->mw = mw;
	w->info = *info;
}

static struct verbs_batch_wr *current(struct verbs_batch *batch)
{
	if (!batch->error && !batch->count)
		batch->error = EINVAL;
	return batch->error ? NULL : &batch->wrs[batch->count - 1];
}

static void wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ibv, uint32_t qpn, uint32_t qkey)
{
	struct verbs_batch *batch = &qp_of(ex)->batch;
	struct verbs_batch_wr *w = current(batch);

	if (!w)
		return;
	if (!to_ah(ibv)) {
		mistake(batch, EINVAL);
		return;
	}
	w->ah = ibv;
	w->wr.remote_qpn = qpn;
	w->wr.remote_qkey = qkey;
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *ex, uint32_t srqn)
{
	struct verbs_batch_wr *w = current(&qp_of(ex)->batch);

	if (w)
		w->wr.remote_srqn = srqn;
}

static void add_sges(struct verbs_batch *batch, const struct ibv_sge *list, size_t count)
{
	struct verbs_batch_wr *w = current(batch);

	if (!w)
		return;
	if (count > RVT_MAX_SGE || (count && !list)) {
		mistake(batch, EINVAL);
		return;
	}
	/* Setting again replaces. */
	batch->sge_count = w->first_sge;
	if (!grow(&batch->sges, &batch->sge_capacity, batch->sge_count + (uint32_t)count,
		  sizeof(*batch->sges))) {
		mistake(batch, ENOMEM);
		return;
	}
	if (count)
		memcpy(&batch->sges[batch->sge_count], list, count * sizeof(*list));
	batch->sge_count += (uint32_t)count;
	w->wr.num_sge = (uint32_t)count;
	w->wr.send_flags &= ~(uint32_t)RVT_SEND_INLINE;
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	struct ibv_sge sge = { .addr = addr, .length = length, .lkey = lkey };

	add_sges(&qp_of(ex)->batch, &sge, 1);
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t count, const struct ibv_sge *list)
{
	add_sges(&qp_of(ex)->batch, list, count);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t count,
				    const struct ibv_data_buf *list)
{
	struct verbs_qp *qp = qp_of(ex);
	struct verbs_batch *batch = &qp->batch;
	struct verbs_batch_wr *w = current(batch);
	size_t total = 0;

	if (!w)
		return;
	for (size_t i = 0; i < count; i++)
		total += list[i].length;
	if (total > qp->init.cap.max_inline_data) {
		mistake(batch, EINVAL);
		return;
	}
	if (batch->bytes_used + total > batch->bytes_capacity) {
		size_t more = (batch->bytes_used + total) * 2;
		uint8_t *larger = realloc(batch->bytes, more);

		if (!larger) {
			mistake(batch, ENOMEM);
			return;
		}
		batch->bytes = larger;
		batch->bytes_capacity = more;
	}
	/* The program may change its buffers as soon as we return. */
	w->inline_at = batch->bytes_used;
	for (size_t i = 0; i < count; i++) {
		if (!list[i].length)
			continue;
		if (lane_memory.read(batch->bytes + batch->bytes_used, (uintptr_t)list[i].addr,
				     list[i].length)) {
			mistake(batch, EFAULT);
			return;
		}
		batch->bytes_used += list[i].length;
	}
	w->wr.num_sge = (uint32_t)total;
	w->wr.send_flags |= RVT_SEND_INLINE;
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	struct ibv_data_buf one = { .addr = addr, .length = length };

	wr_set_inline_data_list(ex, 1, &one);
}

/* What the request names may have gone since it was built. Entered. */
static bool resolve(struct verbs_batch_wr *w)
{
	struct verbs_ah *ah = w->ah ? to_ah(w->ah) : NULL;

	if (w->ah && !ah)
		return false;
	w->wr.ah = ah ? ah->rvt : NULL;
	return !w->mw || verbs_to_rvt_bind(&w->wr.bind, w->mw, w->wr.bind.key, &w->info);
}

static int post(struct verbs_qp *qp, struct verbs_batch *batch)
{
	struct rvt_qp *rvt = qp->rvt;
	int err = 0;

	/* All or nothing: whether there is room is known before the first is posted. */
	if (rvt->s_head - rvt->s_last + batch->count > rvt->cap.max_send_wr)
		return ENOMEM;
	for (uint32_t i = 0; i < batch->count; i++) {
		if (!resolve(&batch->wrs[i]))
			return EINVAL;
	}
	for (uint32_t i = 0; i < batch->count && !err; i++) {
		struct verbs_batch_wr *w = &batch->wrs[i];
		struct rvt_sge whole;

		w->wr.sg_list = &batch->sges[w->first_sge];
		if (w->wr.send_flags & RVT_SEND_INLINE) {
			whole = (struct rvt_sge){ (uintptr_t)(batch->bytes + w->inline_at),
						  w->wr.num_sge, 0 };
			w->wr.sg_list = &whole;
			w->wr.num_sge = 1;
		}
		err = rvt_post_send(rvt, &w->wr);
	}
	rvt_send_pending(rvt);
	return -err;
}

static int wr_complete(struct ibv_qp_ex *ex)
{
	struct verbs_qp *qp = qp_of(ex);
	struct verbs_batch *batch = &qp->batch;
	int err = batch->open ? batch->error : EINVAL;

	if (!err)
		err = -enter_qp(qp, &ex->qp_base);
	if (!err) {
		err = post(qp, batch);
		lane_leave_sending();
	}
	if (batch->open) {
		batch->open = false;
		pthread_mutex_unlock(&qp->batch_lock);
	}
	return err;
}

static void wr_abort(struct ibv_qp_ex *ex)
{
	struct verbs_qp *qp = qp_of(ex);

	if (qp->batch.open) {
		qp->batch.open = false;
		pthread_mutex_unlock(&qp->batch_lock);
	}
}

void verbs_qp_extend(struct verbs_qp *qp)
{
	void (*flush)(struct ibv_qp_ex *, uint32_t, uint64_t, size_t, uint8_t, uint8_t);
	struct ibv_qp_ex *ex = &qp->ex;

	ex->wr_start = wr_start;
	ex->wr_complete = wr_complete;
	ex->wr_abort = wr_abort;
	ex->wr_send = wr_send;
	ex->wr_send_imm = wr_send_imm;
	ex->wr_send_inv = wr_send_inv;
	ex->wr_rdma_write = wr_rdma_write;
	ex->wr_rdma_write_imm = wr_rdma_write_imm;
	ex->wr_rdma_read = wr_rdma_read;
	ex->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	ex->wr_atomic_fetch_add = wr_atomic_fetch_add;
	ex->wr_atomic_write = wr_atomic_write;
	/* The one function that newer headers append. */
	flush = wr_flush;
	memcpy(qp->newer, &flush, sizeof(flush));
	ex->wr_local_inv = wr_local_inv;
	ex->wr_bind_mw = wr_bind_mw;
	ex->wr_set_ud_addr = wr_set_ud_addr;
	ex->wr_set_xrc_srqn = wr_set_xrc_srqn;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
}

void verbs_batch_free(struct verbs_batch *batch)
{
	free(batch->wrs);
	free(batch->sges);
	free(batch->bytes);
	memset(batch, 0, sizeof(*batch));
}
