/* SPDX-License-Identifier: Apache-2.0 */
/* srq.c - rings of posted receives, and those that queue pairs share */
#include "rvt/srq.h"

#include <errno.h>
#include <string.h>

#include "rvt/cq.h"
#include "rvt/xrcd.h"

int rvt_rq_init(struct rvt_rq *rq, struct rvt_device *device, uint32_t max_wr, uint32_t max_sge)
{
	uint32_t size = 1;

	*rq = (struct rvt_rq){ .max_wr = max_wr, .max_sge = max_sge };
	if (!max_wr)
		return 0;
	while (size < max_wr)
		size <<= 1;
	rq->ring_size = size;
	rq->entry_size = (uint32_t)(sizeof(struct rvt_rwqe) + max_sge * sizeof(struct rvt_sge));
	rq->ring = allocator_get(device->allocator, (size_t)size * rq->entry_size);
	return rq->ring ? 0 : -ENOMEM;
}

void rvt_rq_deinit(struct rvt_rq *rq, struct rvt_device *device)
{
	allocator_put(device->allocator, rq->ring);
	*rq = (struct rvt_rq){ 0 };
}

static struct rvt_rwqe *entry(const struct rvt_rq *rq, uint32_t index)
{
	return (struct rvt_rwqe *)(void *)(rq->ring +
					   (size_t)(index & (rq->ring_size - 1)) * rq->entry_size);
}

enum rvt_verdict rvt_rq_post(struct rvt_rq *rq, const struct rvt_recv_wr *wr)
{
	struct rvt_rwqe *wqe;
	uint64_t length = 0;

	if (wr->num_sge > rq->max_sge)
		return RVT_POST_SGE_COUNT;
	if (rvt_rq_count(rq) >= rq->max_wr)
		return RVT_QUEUE_FULL;
	wqe = entry(rq, rq->head++);
	wqe->wr_id = wr->wr_id;
	wqe->num_sge = wr->num_sge;
	for (uint32_t i = 0; i < wr->num_sge; i++) {
		wqe->sges[i] = wr->sg_list[i];
		length += wr->sg_list[i].length;
	}
	wqe->length = length > UINT32_MAX ? UINT32_MAX : (uint32_t)length;
	return RVT_OK;
}

const struct rvt_rwqe *rvt_rq_peek(const struct rvt_rq *rq)
{
	return rvt_rq_count(rq) ? entry(rq, rq->tail) : NULL;
}

void rvt_rq_pop(struct rvt_rq *rq)
{
	ASSERT(rvt_rq_count(rq));
	rq->tail++;
}

static void publish(struct rvt_srq *srq)
{
	restrack_set(&srq->res, RESTRACK_SRQ_TYPE, srq->xrcd != NULL);
	restrack_set(&srq->res, RESTRACK_SRQ_CQN, srq->xrcd ? srq->cq->res.id : 0);
	restrack_set(&srq->res, RESTRACK_SRQ_PDN, srq->pd->res.id);
	restrack_set(&srq->res, RESTRACK_SRQ_MAX_WR, srq->rq.max_wr);
	restrack_set(&srq->res, RESTRACK_SRQ_MAX_SGE, srq->rq.max_sge);
	restrack_set(&srq->res, RESTRACK_SRQ_LIMIT, srq->limit);
	restrack_set(&srq->res, RESTRACK_SRQ_USERS, srq->users);
}

static void use_all(struct rvt_srq *srq, int delta)
{
	rvt_use_pd(srq->pd, delta);
	if (!srq->xrcd)
		return;
	rvt_use_cq(srq->cq, delta);
	rvt_use_xrcd(srq->xrcd, delta);
}

static int create(struct rvt_pd *pd, struct rvt_xrcd *xrcd, struct rvt_cq *cq, uint32_t *max_wr,
		  uint32_t *max_sge, uint32_t limit, struct rvt_srq **ret)
{
	struct rvt_device *device = pd->context->device;
	struct rvt_srq *srq;
	int err;

	if (!*max_wr || *max_wr > rvt_limits.max_srq_wr)
		return rvt_refuse(device, RVT_BAD_ARGUMENT, NULL, *max_wr, rvt_limits.max_srq_wr);
	if (*max_sge > rvt_limits.max_srq_sge)
		return rvt_refuse(device, RVT_BAD_ARGUMENT, NULL, *max_sge, rvt_limits.max_srq_sge);
	if (limit > *max_wr)
		return rvt_refuse(device, RVT_BAD_ARGUMENT, NULL, limit, *max_wr);
	if (!*max_sge)
		*max_sge = 1;
	srq = allocator_get(device->allocator, sizeof(*srq));
	if (!srq)
		return rvt_refuse(device, RVT_NO_MEMORY, NULL, 0, 0);
	srq->device = device;
	srq->context = pd->context;
	srq->pd = pd;
	srq->xrcd = xrcd;
	srq->cq = cq;
	srq->limit = limit;
	err = rvt_rq_init(&srq->rq, device, *max_wr, *max_sge);
	restrack_new(&srq->res, RESTRACK_SRQ);
	restrack_parent_name(&srq->res, &pd->context->res);
	if (!err)
		err = restrack_add(device->restrack, &srq->res);
	if (err) {
		rvt_rq_deinit(&srq->rq, device);
		allocator_put(device->allocator, srq);
		return rvt_refuse(device, RVT_NO_MEMORY, NULL, 0, 0);
	}
	publish(srq);
	use_all(srq, 1);
	*ret = srq;
	return 0;
}

int rvt_create_srq(struct rvt_pd *pd, uint32_t *max_wr, uint32_t *max_sge, uint32_t limit,
		   struct rvt_srq **ret)
{
	return create(pd, NULL, NULL, max_wr, max_sge, limit, ret);
}

int rvt_create_xrc_srq(struct rvt_pd *pd, struct rvt_xrcd *xrcd, struct rvt_cq *cq,
		       uint32_t *max_wr, uint32_t *max_sge, struct rvt_srq **ret)
{
	if (cq->context != pd->context || xrcd->context != pd->context)
		return rvt_refuse(pd->context->device, RVT_BAD_ARGUMENT, NULL, 0, 0);
	return create(pd, xrcd, cq, max_wr, max_sge, 0, ret);
}

static void forget(struct rvt_qp *qp, void *context)
{
	rvt_xrc_leave(qp, (const struct rvt_srq *)context);
}

int rvt_destroy_srq(struct rvt_srq *srq)
{
	struct rvt_device *device = srq->device;

	if (srq->users)
		return rvt_refuse(device, RVT_IN_USE, &srq->res, srq->users, 0);
	ASSERT(!restrack_del(&srq->res));
	if (srq->xrcd)
		rvt_qp_iter(device, forget, srq);
	use_all(srq, -1);
	rvt_rq_deinit(&srq->rq, device);
	allocator_put(device->allocator, srq);
	return 0;
}

void rvt_use_srq(struct rvt_srq *srq, int delta)
{
	srq->users = (uint32_t)((int)srq->users + delta);
	restrack_set(&srq->res, RESTRACK_SRQ_USERS, srq->users);
}

static int resize(struct rvt_srq *srq, uint32_t max_wr)
{
	uint32_t count = rvt_rq_count(&srq->rq);
	struct rvt_rq larger;

	if (rvt_rq_init(&larger, srq->device, max_wr, srq->rq.max_sge))
		return rvt_refuse(srq->device, RVT_NO_MEMORY, &srq->res, 0, 0);
	for (uint32_t i = 0; i < count; i++)
		memcpy(entry(&larger, i), entry(&srq->rq, srq->rq.tail + i), larger.entry_size);
	larger.head = count;
	rvt_rq_deinit(&srq->rq, srq->device);
	srq->rq = larger;
	return 0;
}

int rvt_modify_srq(struct rvt_srq *srq, uint32_t mask, uint32_t max_wr, uint32_t limit)
{
	uint32_t room = mask & RVT_SRQ_MAX_WR ? max_wr : srq->rq.max_wr;
	uint32_t new_limit = mask & RVT_SRQ_LIMIT ? limit : srq->limit;
	int err = 0;

	if (!room || room > rvt_limits.max_srq_wr || room < rvt_rq_count(&srq->rq))
		return rvt_refuse(srq->device, RVT_BAD_ARGUMENT, &srq->res, room,
				  rvt_limits.max_srq_wr);
	if (new_limit > room)
		return rvt_refuse(srq->device, RVT_BAD_ARGUMENT, &srq->res, new_limit, room);
	if (mask & RVT_SRQ_MAX_WR && max_wr != srq->rq.max_wr)
		err = resize(srq, max_wr);
	if (err)
		return err;
	srq->limit = new_limit;
	publish(srq);
	return 0;
}

int rvt_post_srq_recv(struct rvt_srq *srq, const struct rvt_recv_wr *wr)
{
	enum rvt_verdict verdict = rvt_rq_post(&srq->rq, wr);

	if (verdict == RVT_OK)
		return 0;
	if (verdict == RVT_QUEUE_FULL)
		return rvt_refuse(srq->device, verdict, &srq->res, rvt_rq_count(&srq->rq),
				  srq->rq.max_wr);
	return rvt_refuse(srq->device, verdict, &srq->res, wr->num_sge, srq->rq.max_sge);
}

void rvt_srq_taken(struct rvt_srq *srq)
{
	if (!srq->limit || rvt_rq_count(&srq->rq) >= srq->limit)
		return;
	srq->limit = 0;
	restrack_set(&srq->res, RESTRACK_SRQ_LIMIT, 0);
	srq->device->observer->async_event(srq->device->observer->context,
					   RVT_EVENT_SRQ_LIMIT_REACHED, NULL, NULL, srq);
}
