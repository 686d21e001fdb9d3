/* SPDX-License-Identifier: Apache-2.0 */
/* qp.c - the life of a queue pair: numbers, queues, creation, destruction, walking over all */
#include "rvt/qp.h"

#include <errno.h>

#include "rvt/mcast.h"
#include "rvt/mw.h"
#include "rvt/private.h"
#include "rvt/xrcd.h"

#define MIN_INLINE 64 /* what programs that ask for none, or little, get anyway */
#define MIN_SENDS \
 16 /* likewise: some count on a NIC's habit of rounding up, and post before an ACK is in */

int rvt_alloc_qpn(struct rvt_device *device, uint32_t *ret)
{
	if (device->qps.used >= rvt_limits.max_qp)
		return -ENOSPC;
	/* 0, 1 and the multicast number lie in slots that no process has. */
	return table_take(&device->qps, ret);
}

void rvt_free_qpn(struct rvt_device *device, uint32_t qpn)
{
	table_release(&device->qps, qpn);
}

static void retry_expired(struct deadline *d)
{
	struct rvt_qp *qp = container_of(d, struct rvt_qp, retry_timer);

	qp->device->transport->retry_expired(qp);
}

static void rnr_expired(struct deadline *d)
{
	struct rvt_qp *qp = container_of(d, struct rvt_qp, rnr_timer);

	qp->device->transport->rnr_expired(qp);
}

static int check_init(struct rvt_context *context, const struct rvt_pd *pd,
		      const struct rvt_qp_init *init)
{
	bool sends = init->type != RVT_QPT_XRC_TGT;
	bool receives = init->type != RVT_QPT_XRC_INI && sends;
	const struct rvt_qp_cap *cap = &init->cap;
	const struct {
		uint32_t asked, limit;
	} limits[] = {
		{ sends ? cap->max_send_wr : 0, rvt_limits.max_qp_wr },
		{ sends ? cap->max_send_sge : 0, rvt_limits.max_sge },
		{ sends ? cap->max_inline_data : 0, rvt_limits.max_inline },
		{ init->srq || !receives ? 0 : cap->max_recv_wr, rvt_limits.max_qp_wr },
		{ init->srq || !receives ? 0 : cap->max_recv_sge, rvt_limits.max_sge },
	};

	if (!rvt_reliable(init->type) && init->type != RVT_QPT_UC && init->type != RVT_QPT_UD)
		return rvt_refuse(context->device, RVT_NOT_SUPPORTED, NULL, init->type, 0);
	if (!pd != !sends || (!sends && (!init->xrcd || init->xrcd->context != context)) ||
	    (sends && (!init->send_cq || init->send_cq->context != context)) ||
	    (receives && (!init->recv_cq || init->recv_cq->context != context)) ||
	    (receives && init->srq && (init->srq->context != context || init->srq->xrcd)))
		return rvt_refuse(context->device, RVT_BAD_ARGUMENT, NULL, 0, 0);
	for (unsigned i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		if (limits[i].asked > limits[i].limit)
			return rvt_refuse(context->device, RVT_BAD_ARGUMENT, NULL, limits[i].asked,
					  limits[i].limit);
	}
	return 0;
}

static int alloc_send_queue(struct rvt_qp *qp)
{
	const struct allocator *a = qp->device->allocator;
	uint32_t size = 1;

	while (size < qp->cap.max_send_wr)
		size <<= 1;
	qp->s_size = size;
	qp->swqes = allocator_get(a, size * sizeof(*qp->swqes));
	qp->segments =
		allocator_get(a, (size_t)size * qp->cap.max_send_sge * sizeof(*qp->segments));
	qp->inline_buffers = allocator_get(a, (size_t)size * qp->cap.max_inline_data);
	if (!qp->swqes || !qp->segments || !qp->inline_buffers)
		return -ENOMEM;
	for (uint32_t i = 0; i < size; i++)
		qp->swqes[i].list.segments = &qp->segments[(size_t)i * qp->cap.max_send_sge];
	return 0;
}

static void free_queues(struct rvt_qp *qp)
{
	const struct allocator *a = qp->device->allocator;

	allocator_put(a, qp->swqes);
	allocator_put(a, qp->segments);
	allocator_put(a, qp->inline_buffers);
	rvt_rq_deinit(&qp->rq, qp->device);
}

void rvt_init_qp(struct rvt_qp *qp)
{
	qp->state = RVT_QPS_RESET;
	qp->attr = (struct rvt_qp_attr){ 0 };
	qp->draining = qp->error_event_raised = qp->last_wqe_raised = false;
	qp->s_head = qp->s_last = 0;
	qp->s_next_psn = qp->s_next_ssn = 0;
	qp->rq.head = qp->rq.tail = 0;
	qp->mtu = qp->type == RVT_QPT_UD ? 128u << qp->context->port->active_mtu : 0;
}

/* What was asked for, rounded up; of a side that the type does not have, nothing. */
static struct rvt_qp_cap given_cap(const struct rvt_qp_init *init)
{
	struct rvt_qp_cap cap = init->cap;

	if (cap.max_send_wr && cap.max_send_wr < MIN_SENDS)
		cap.max_send_wr = MIN_SENDS;
	if (!cap.max_send_sge)
		cap.max_send_sge = 1;
	if (cap.max_inline_data < MIN_INLINE)
		cap.max_inline_data = MIN_INLINE;
	if (!cap.max_recv_sge)
		cap.max_recv_sge = 1;
	if (init->type == RVT_QPT_XRC_TGT)
		cap.max_send_wr = cap.max_send_sge = cap.max_inline_data = 0;
	if (init->srq || init->type == RVT_QPT_XRC_INI || init->type == RVT_QPT_XRC_TGT)
		cap.max_recv_wr = cap.max_recv_sge = 0;
	return cap;
}

static struct rvt_qp *alloc_qp(struct rvt_context *context, struct rvt_pd *pd,
			       const struct rvt_qp_init *init)
{
	struct rvt_device *device = context->device;
	struct rvt_qp *qp = allocator_get(device->allocator, device->transport->qp_size);

	if (!qp)
		return NULL;
	qp->device = device;
	qp->context = context;
	qp->pd = pd;
	qp->type = init->type;
	if (init->type != RVT_QPT_XRC_TGT)
		qp->send_cq = init->send_cq;
	if (init->type != RVT_QPT_XRC_TGT && init->type != RVT_QPT_XRC_INI) {
		qp->recv_cq = init->recv_cq;
		qp->srq = init->srq;
	}
	if (init->type == RVT_QPT_XRC_TGT)
		qp->xrcd = init->xrcd;
	qp->signal_all = init->signal_all;
	qp->block_self = init->block_self;
	qp->owner = init->owner;
	qp->cap = given_cap(init);
	qp->receive.list.segments = qp->receive.segments;
	list_init(&qp->node);
	deadline_init(&qp->retry_timer, retry_expired);
	deadline_init(&qp->rnr_timer, rnr_expired);
	return qp;
}

void rvt_publish_qp(struct rvt_qp *qp)
{
	restrack_set(&qp->res, RESTRACK_QP_TYPE, qp->type);
	restrack_set(&qp->res, RESTRACK_QP_STATE, qp->state);
	restrack_set(&qp->res, RESTRACK_QP_RQPN, qp->attr.dest_qp_num);
	restrack_set(&qp->res, RESTRACK_QP_RQ_PSN, qp->attr.rq_psn);
	restrack_set(&qp->res, RESTRACK_QP_SQ_PSN, qp->attr.sq_psn);
	restrack_set(&qp->res, RESTRACK_QP_PATH_MTU, qp->mtu);
	/* Those of an XRC_TGT change with each request: it has none of its own. */
	restrack_set(&qp->res, RESTRACK_QP_PDN, qp->pd && !qp->xrcd ? qp->pd->res.id : 0);
	restrack_set(&qp->res, RESTRACK_QP_SEND_CQN, qp->send_cq ? qp->send_cq->res.id : 0);
	restrack_set(&qp->res, RESTRACK_QP_RECV_CQN,
		     qp->recv_cq && !qp->xrcd ? qp->recv_cq->res.id : 0);
	restrack_set(&qp->res, RESTRACK_QP_SRQN, qp->srq && !qp->xrcd ? qp->srq->res.id : 0);
	restrack_set(&qp->res, RESTRACK_QP_MAX_SEND_WR, qp->cap.max_send_wr);
	restrack_set(&qp->res, RESTRACK_QP_MAX_RECV_WR, qp->cap.max_recv_wr);
}

static void use_all(struct rvt_qp *qp, int delta)
{
	if (qp->xrcd) {
		rvt_use_xrcd(qp->xrcd, delta);
		return;
	}
	rvt_use_pd(qp->pd, delta);
	rvt_use_cq(qp->send_cq, delta);
	if (qp->recv_cq)
		rvt_use_cq(qp->recv_cq, delta);
	if (qp->srq)
		rvt_use_srq(qp->srq, delta);
}

int rvt_create_qp(struct rvt_pd *pd, struct rvt_qp_init *init, struct rvt_qp **ret)
{
	struct rvt_context *context = pd ? pd->context : init->context;
	struct rvt_device *device = context->device;
	struct rvt_qp *qp;
	int err = check_init(context, pd, init);

	if (err)
		return err;
	qp = alloc_qp(context, pd, init);
	if (!qp)
		return rvt_refuse(device, RVT_NO_MEMORY, NULL, 0, 0);
	err = alloc_send_queue(qp);
	if (!err)
		err = rvt_rq_init(&qp->rq, device, qp->cap.max_recv_wr, qp->cap.max_recv_sge);
	if (!err)
		err = rvt_alloc_qpn(device, &qp->number);
	if (err)
		goto free_qp;
	restrack_new(&qp->res, RESTRACK_QP);
	restrack_parent_name(&qp->res, &context->res);
	err = restrack_take_id(device->restrack, &qp->res, qp->number);
	if (err)
		goto free_number;
	rvt_init_qp(qp);
	err = device->transport->qp_init(qp);
	if (err)
		goto untrack;
	rvt_publish_qp(qp);
	ASSERT(!restrack_add(device->restrack, &qp->res));
	use_all(qp, 1);
	list_append(&device->qp_list, &qp->node);
	table_set(&device->qps, qp->number, qp);
	init->cap = qp->cap;
	*ret = qp;
	return 0;

untrack:
	ASSERT(!restrack_del(&qp->res));
free_number:
	rvt_free_qpn(device, qp->number);
free_qp:
	free_queues(qp);
	allocator_put(device->allocator, qp);
	return rvt_refuse(device, RVT_NO_MEMORY, NULL, 0, 0);
}

void rvt_clear_mr_refs(struct rvt_qp *qp)
{
	for (; qp->s_last != qp->s_head; qp->s_last++)
		rvt_release_swqe(qp, rvt_swqe(qp, qp->s_last));
	rvt_sge_list_put(&qp->receive.list);
	qp->receive.taken = false;
}

void rvt_reset_qp(struct rvt_qp *qp)
{
	struct rvt_device *device = qp->device;

	device->transport->qp_stop(qp);
	deadline_disarm(&device->deadlines, &qp->retry_timer);
	deadline_disarm(&device->deadlines, &qp->rnr_timer);
	rvt_clear_mr_refs(qp);
	rvt_leave_windows(qp);
	if (qp->send_cq)
		rvt_cq_clean(qp->send_cq, qp->number);
	/* Completions of an XRC_TGT are those of the queues that it served, and stay. */
	if (qp->recv_cq && !qp->xrcd && qp->recv_cq != qp->send_cq)
		rvt_cq_clean(qp->recv_cq, qp->number);
	rvt_xrc_leave(qp, NULL);
	rvt_init_qp(qp);
}

int rvt_destroy_qp(struct rvt_qp *qp)
{
	struct rvt_device *device = qp->device;

	if (qp->groups)
		return rvt_refuse(device, RVT_IN_USE, &qp->res, qp->groups, 0);
	/* Packets do not find it from here on. */
	table_set(&device->qps, qp->number, NULL);
	ASSERT(!restrack_begin_del(&qp->res));
	rvt_reset_qp(qp);
	device->transport->qp_deinit(qp);
	list_unlink(&qp->node);
	use_all(qp, -1);
	ASSERT(!restrack_commit_del(&qp->res));
	rvt_free_qpn(device, qp->number);
	free_queues(qp);
	allocator_put(device->allocator, qp);
	return 0;
}

void rvt_qp_iter(struct rvt_device *device, void (*call)(struct rvt_qp *qp, void *context),
		 void *context)
{
	list_for_each_safe(node, &device->qp_list)
		call(list_entry(node, struct rvt_qp, node), context);
}

static void free_qp_cb(struct rvt_qp *qp, void *context)
{
	unsigned *count = context;

	(*count)++;
	rvt_leave_mcast(qp);
	ASSERT(!rvt_destroy_qp(qp));
}

unsigned rvt_free_all_qps(struct rvt_device *device)
{
	unsigned count = 0;

	rvt_qp_iter(device, free_qp_cb, &count);
	return count;
}
