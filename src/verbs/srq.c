/* SPDX-License-Identifier: Apache-2.0 */
/* srq.c - shared receive queues */
#include <string.h>

#include "verbs/objects.h"
#include "verbs/work.h"

struct ibv_srq *ibv_create_srq(struct ibv_pd *ibv, struct ibv_srq_init_attr *init)
{
	struct verbs_pd *pd = to_pd(ibv);
	uint32_t max_wr, max_sge;
	struct verbs_srq *srq;
	int err;

	if (!pd || !init)
		return fail(-EINVAL);
	srq = HANDLE_NEW(struct verbs_srq, HANDLE_SRQ);
	if (!srq)
		return fail(-ENOMEM);
	max_wr = init->attr.max_wr;
	max_sge = init->attr.max_sge;
	srq->ibv.context = ibv->context;
	srq->ibv.srq_context = init->srq_context;
	srq->ibv.pd = ibv;
	pthread_mutex_init(&srq->ibv.mutex, NULL);
	pthread_cond_init(&srq->ibv.cond, NULL);
	if (!enter(ibv->context)) {
		err = -ENODEV;
	} else {
		/* srq_limit is ignored at creation: ibv_create_srq(3). */
		err = rvt_create_srq(pd->rvt, &max_wr, &max_sge, 0, &srq->rvt);
		if (!err) {
			srq->rvt->owner = srq;
			srq->ibv.handle = srq->rvt->res.id;
		}
		lane_leave();
	}
	if (err) {
		handle_free(&srq->handle, HANDLE_SRQ);
		return fail(err);
	}
	init->attr.max_wr = max_wr;
	init->attr.max_sge = max_sge;
	handle_publish(&srq->handle, HANDLE_SRQ);
	return &srq->ibv;
}

struct ibv_srq *verbs_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr)
{
	struct ibv_srq_init_attr basic;
	struct ibv_srq *srq;

	if (!attr)
		return fail(-EINVAL);
	if (attr->comp_mask & ~(uint32_t)(IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD) ||
	    (attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE && attr->srq_type != IBV_SRQT_BASIC))
		return fail(-EOPNOTSUPP);
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) || !to_pd(attr->pd) ||
	    attr->pd->context != context)
		return fail(-EINVAL);
	memset(&basic, 0, sizeof(basic));
	basic.srq_context = attr->srq_context;
	basic.attr = attr->attr;
	srq = ibv_create_srq(attr->pd, &basic);
	if (srq)
		attr->attr = basic.attr;
	return srq;
}

int ibv_modify_srq(struct ibv_srq *ibv, struct ibv_srq_attr *attr, int mask)
{
	struct verbs_srq *srq = to_srq(ibv);
	int err;

	if (!srq || !attr || mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT))
		return EINVAL;
	if (!enter(ibv->context))
		return ENODEV;
	err = rvt_modify_srq(srq->rvt, (uint32_t)mask, attr->max_wr, attr->srq_limit);
	lane_leave();
	return -err;
}

int ibv_query_srq(struct ibv_srq *ibv, struct ibv_srq_attr *attr)
{
	struct verbs_srq *srq = to_srq(ibv);

	if (!srq || !attr)
		return EINVAL;
	if (!enter(ibv->context))
		return ENODEV;
	attr->max_wr = srq->rvt->rq.max_wr;
	attr->max_sge = srq->rvt->rq.max_sge;
	attr->srq_limit = srq->rvt->limit;
	lane_leave();
	return 0;
}

int ibv_destroy_srq(struct ibv_srq *ibv)
{
	struct verbs_srq *srq = to_srq(ibv);
	int err;

	if (!srq)
		return EINVAL;
	if (!enter(ibv->context))
		return ENODEV;
	err = srq->rvt->users ? -EBUSY : handle_ok(&srq->handle, HANDLE_SRQ) ? 0 : -EINVAL;
	if (!err) {
		srq->rvt->owner = NULL;
		err = rvt_destroy_srq(srq->rvt);
	}
	lane_leave();
	if (err)
		return -err;
	verbs_drop_events(ibv->context, ibv);
	verbs_wait_acknowledged(&ibv->mutex, &ibv->cond, &srq->async_delivered,
				&ibv->events_completed);
	if (handle_retire(&srq->handle, HANDLE_SRQ))
		handle_free(&srq->handle, HANDLE_SRQ);
	return 0;
}

int verbs_get_srq_num(struct ibv_srq *srq, uint32_t *number)
{
	/* Only SRQs of XRC have one. */
	(void)srq;
	(void)number;
	return EOPNOTSUPP;
}

int verbs_post_srq_recv(struct ibv_srq *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct verbs_srq *srq = to_srq(ibv);
	int err = 0;

	if (!srq || !enter(ibv->context)) {
		if (bad)
			*bad = wr;
		return EINVAL;
	}
	while (wr && !err) {
		struct work_receive work;
		struct ibv_recv_wr *next = NULL;

		err = work_read_receive(&work, wr, &next);
		if (!err)
			err = rvt_post_srq_recv(srq->rvt, &work.wr);
		if (!err)
			wr = next;
	}
	lane_leave();
	if (err && bad)
		*bad = wr;
	return -err;
}
