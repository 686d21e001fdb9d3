/* SPDX-License-Identifier: Apache-2.0 */
/* srq.c - shared receive queues */
#include <string.h>

#include "verbs/objects.h"
#include "verbs/work.h"

/* @xrc: of type XRC, with the domain and CQ in @attr. */
static struct ibv_srq *create(struct ibv_srq_init_attr_ex *attr, bool xrc)
{
	struct verbs_xrcd *xrcd = xrc ? to_xrcd(attr->xrcd) : NULL;
	struct verbs_cq *cq = xrc ? to_cq(attr->cq) : NULL;
	struct verbs_pd *pd = to_pd(attr->pd);
	struct verbs_srq *srq;
	uint32_t max_wr = attr->attr.max_wr, max_sge = attr->attr.max_sge;
	int err;

	if (!pd || (xrc && (!xrcd || !cq || xrcd->ibv.context != pd->ibv.context)))
		return fail(-EINVAL);
	srq = HANDLE_NEW(struct verbs_srq, HANDLE_SRQ);
	if (!srq)
		return fail(-ENOMEM);
	srq->ibv.context = pd->ibv.context;
	srq->ibv.srq_context = attr->srq_context;
	srq->ibv.pd = attr->pd;
	pthread_mutex_init(&srq->ibv.mutex, NULL);
	pthread_cond_init(&srq->ibv.cond, NULL);
	err = enter_pd(pd, attr->pd);
	if (!err && xrc && !(to_xrcd(attr->xrcd) && to_cq(attr->cq) && cq->rvt)) {
		err = -EINVAL;
		lane_leave();
	} else if (!err) {
		/* srq_limit is ignored at creation: ibv_create_srq(3). */
		if (xrc)
			err = rvt_create_xrc_srq(pd->rvt, xrcd->rvt, cq->rvt, &max_wr, &max_sge,
						 &srq->rvt);
		else
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
	attr->attr.max_wr = max_wr;
	attr->attr.max_sge = max_sge;
	handle_publish(&srq->handle, HANDLE_SRQ);
	return &srq->ibv;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
	struct ibv_srq_init_attr_ex ex = { .pd = pd };
	struct ibv_srq *srq;

	if (!init)
		return fail(-EINVAL);
	ex.srq_context = init->srq_context;
	ex.attr = init->attr;
	srq = create(&ex, false);
	if (srq)
		init->attr = ex.attr;
	return srq;
}

#define KNOWN \
 (IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ)

struct ibv_srq *verbs_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr)
{
	enum ibv_srq_type type = IBV_SRQT_BASIC;
	uint32_t needed = IBV_SRQ_INIT_ATTR_PD;

	if (!attr)
		return fail(-EINVAL);
	if (attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE)
		type = attr->srq_type;
	if (attr->comp_mask & ~(uint32_t)KNOWN || (type != IBV_SRQT_BASIC && type != IBV_SRQT_XRC))
		return fail(-verbs_unsupported(
			"ibv_create_srq_ex",
			"types are BASIC and XRC: tag matching is an adapter's"));
	if (type == IBV_SRQT_XRC)
		needed |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
	if ((attr->comp_mask & needed) != needed || !to_pd(attr->pd) ||
	    attr->pd->context != context)
		return fail(-EINVAL);
	return create(attr, type == IBV_SRQT_XRC);
}

int ibv_modify_srq(struct ibv_srq *ibv, struct ibv_srq_attr *attr, int mask)
{
	struct verbs_srq *srq = to_srq(ibv);
	int err;

	if (!srq || !attr || mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT))
		return EINVAL;
	err = enter_srq(srq, ibv);
	if (err)
		return -err;
	err = rvt_modify_srq(srq->rvt, (uint32_t)mask, attr->max_wr, attr->srq_limit);
	lane_leave();
	return -err;
}

int ibv_query_srq(struct ibv_srq *ibv, struct ibv_srq_attr *attr)
{
	struct verbs_srq *srq = to_srq(ibv);
	int err;

	if (!srq || !attr)
		return EINVAL;
	err = enter_srq(srq, ibv);
	if (err)
		return -err;
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
	err = enter_srq(srq, ibv);
	if (err)
		return -err;
	if (srq->rvt->users) {
		err = -EBUSY;
	} else {
		srq->rvt->owner = NULL;
		err = rvt_destroy_srq(srq->rvt);
		if (!err)
			srq->rvt = NULL;
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

int verbs_get_srq_num(struct ibv_srq *ibv, uint32_t *number)
{
	struct verbs_srq *srq = to_srq(ibv);

	int err;

	if (!srq || !number)
		return EINVAL;
	err = enter_srq(srq, ibv);
	if (err)
		return -err;
	/* Only SRQs of XRC have one. */
	if (srq->rvt->xrcd)
		*number = srq->rvt->res.id;
	else
		err = EOPNOTSUPP;
	lane_leave();
	return err;
}

int verbs_post_srq_recv(struct ibv_srq *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct verbs_srq *srq = to_srq(ibv);
	int err = 0;

	if (!srq || enter_srq(srq, ibv)) {
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
