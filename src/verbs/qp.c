/* SPDX-License-Identifier: Apache-2.0 */
/* qp.c - queue pairs: creation, states, the posting of lists */
#include <string.h>

#include "rvt/mcast.h"
#include "verbs/objects.h"
#include "verbs/work.h"

static uint32_t create_flags(const struct ibv_qp_init_attr_ex *attr)
{
	return attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS ? attr->create_flags : 0;
}

/* Entered. */
static int to_init(struct rvt_qp_init *to, const struct ibv_qp_init_attr_ex *from)
{
	bool target = from->qp_type == IBV_QPT_XRC_RECV,
	     initiator = from->qp_type == IBV_QPT_XRC_SEND;
	struct verbs_cq *send_cq = target ? NULL : to_cq(from->send_cq);
	struct verbs_cq *recv_cq = target || initiator ? NULL : to_cq(from->recv_cq);
	struct verbs_srq *srq = target || initiator ? NULL : to_srq(from->srq);
	struct verbs_xrcd *xrcd = target ? to_xrcd(from->xrcd) : NULL;

	if (from->qp_type != IBV_QPT_RC && from->qp_type != IBV_QPT_UC &&
	    from->qp_type != IBV_QPT_UD && !target && !initiator)
		return -verbs_unsupported(
			"ibv_create_qp",
			"types are RC, UC, UD, XRC_SEND and XRC_RECV: raw packets need "
			"an Ethernet port of the device's own");
	if ((!target && !send_cq) || (!target && !initiator && (!recv_cq || (from->srq && !srq))) ||
	    (target && !xrcd))
		return -EINVAL;
	/* Those that are just being destroyed. */
	if ((send_cq && !send_cq->rvt) || (recv_cq && !recv_cq->rvt) || (srq && !srq->rvt))
		return -EINVAL;
	*to = (struct rvt_qp_init){
		.type = (enum rvt_qp_type)from->qp_type,
		.send_cq = send_cq ? send_cq->rvt : NULL,
		.recv_cq = recv_cq ? recv_cq->rvt : NULL,
		.srq = srq ? srq->rvt : NULL,
		.xrcd = xrcd ? xrcd->rvt : NULL,
		.cap = { from->cap.max_send_wr, from->cap.max_recv_wr, from->cap.max_send_sge,
			 from->cap.max_recv_sge, from->cap.max_inline_data },
		.signal_all = from->sq_sig_all,
		.block_self = create_flags(from) & IBV_QP_CREATE_BLOCK_SELF_MCAST_LB,
	};
	return 0;
}

static void from_cap(struct ibv_qp_cap *to, const struct rvt_qp_cap *from)
{
	to->max_send_wr = from->max_send_wr;
	to->max_recv_wr = from->max_recv_wr;
	to->max_send_sge = from->max_send_sge;
	to->max_recv_sge = from->max_recv_sge;
	to->max_inline_data = from->max_inline_data;
}

static void init_handle(struct verbs_qp *qp, struct ibv_context *context)
{
	struct ibv_qp *ibv = &qp->ex.qp_base;

	ibv->context = context;
	ibv->state = IBV_QPS_RESET;
	list_init(&qp->openers);
	pthread_mutex_init(&ibv->mutex, NULL);
	pthread_mutex_init(&qp->batch_lock, NULL);
	pthread_cond_init(&ibv->cond, NULL);
}

static struct ibv_qp *create(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	bool target = attr->qp_type == IBV_QPT_XRC_RECV;
	struct verbs_pd *pd = target ? NULL : to_pd(attr->pd);
	struct ibv_qp *ibv;
	struct verbs_qp *qp;
	int err;

	if (!pd && !target)
		return fail(-EINVAL);
	qp = HANDLE_NEW(struct verbs_qp, HANDLE_QP);
	if (!qp)
		return fail(-ENOMEM);
	qp->signal_all = attr->sq_sig_all;
	init_handle(qp, context);
	ibv = &qp->ex.qp_base;
	ibv->qp_context = attr->qp_context;
	ibv->pd = pd ? attr->pd : NULL;
	ibv->send_cq = target ? NULL : attr->send_cq;
	ibv->qp_type = attr->qp_type;
	if (!enter(context)) {
		err = -ENODEV;
	} else {
		err = !pd || to_pd(attr->pd) ? to_init(&qp->init, attr) : -EINVAL;
		if (!err) {
			qp->init.owner = qp;
			qp->init.context = to_context(context)->rvt;
			err = rvt_create_qp(pd ? pd->rvt : NULL, &qp->init, &qp->rvt);
		}
		if (!err) {
			ibv->recv_cq = qp->init.recv_cq ? attr->recv_cq : NULL;
			ibv->srq = qp->init.srq ? attr->srq : NULL;
			ibv->qp_num = qp->rvt->number;
			if (attr->qp_type == IBV_QPT_UD)
				lane_want_headers();
			ibv->handle = qp->rvt->number;
		}
		lane_leave();
	}
	if (err) {
		handle_free(&qp->handle, HANDLE_QP);
		return fail(err);
	}
	from_cap(&attr->cap, &qp->init.cap);
	handle_publish(&qp->handle, HANDLE_QP);
	return ibv;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex ex;
	struct ibv_qp *qp;

	if (!pd || !attr)
		return fail(-EINVAL);
	memset(&ex, 0, sizeof(ex));
	ex.qp_context = attr->qp_context;
	ex.send_cq = attr->send_cq;
	ex.recv_cq = attr->recv_cq;
	ex.srq = attr->srq;
	ex.cap = attr->cap;
	ex.qp_type = attr->qp_type;
	ex.sq_sig_all = attr->sq_sig_all;
	ex.pd = pd;
	qp = to_pd(pd) ? create(pd->context, &ex) : fail(-EINVAL);
	if (qp)
		attr->cap = ex.cap;
	return qp;
}

#define QP_EX_WITH_FLUSH (1u << 11) /* of newer headers */

#define SEND_OPS_RC                                                                             \
 (IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |        \
  IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | \
  IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_SEND_WITH_INV |                          \
  IBV_QP_EX_WITH_ATOMIC_WRITE | IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV |             \
  QP_EX_WITH_FLUSH)
#define SEND_OPS_XRC \
 (SEND_OPS_RC &      \
  ~(unsigned)(IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV))
#define SEND_OPS_UC                                                                      \
 (IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND | \
  IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV)
#define SEND_OPS_UD (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM)

static uint32_t possible_flags(const struct ibv_qp_init_attr_ex *attr)
{
	return attr->qp_type == IBV_QPT_UD ? IBV_QP_CREATE_BLOCK_SELF_MCAST_LB : 0;
}

struct ibv_qp *verbs_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	uint64_t ops = 0, possible;
	struct ibv_qp *qp;

	if (!attr || !context)
		return fail(-EINVAL);
	if (attr->comp_mask & ~(uint32_t)(IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS |
					  IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_XRCD) ||
	    create_flags(attr) & ~possible_flags(attr))
		return fail(-verbs_unsupported(
			"ibv_create_qp_ex",
			"an attribute or creation flag that only adapters know"));
	if (attr->qp_type == IBV_QPT_XRC_RECV) {
		if (!(attr->comp_mask & IBV_QP_INIT_ATTR_XRCD) || !to_xrcd(attr->xrcd) ||
		    attr->xrcd->context != context)
			return fail(-EINVAL);
	} else if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !to_pd(attr->pd) ||
		   attr->pd->context != context) {
		return fail(-EINVAL);
	}
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) {
		ops = attr->send_ops_flags;
		possible = attr->qp_type == IBV_QPT_RC	       ? SEND_OPS_RC
			   : attr->qp_type == IBV_QPT_UC       ? SEND_OPS_UC
			   : attr->qp_type == IBV_QPT_XRC_SEND ? SEND_OPS_XRC
			   : attr->qp_type == IBV_QPT_XRC_RECV ? 0
							       : SEND_OPS_UD;
		/* The functions of an operation that is not asked for may be missing in the
		 * program's table. */
		if (ops & ~possible)
			return fail(-verbs_unsupported(
				"ibv_create_qp_ex",
				"send_ops_flags names an operation that this type of queue pair does not have"));
	}
	qp = create(context, attr);
	if (qp && attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) {
		struct verbs_qp *object = to_qp(qp);

		object->send_ops = ops;
		object->extended = true;
		verbs_qp_extend(object);
	}
	return qp;
}

/* The living XRC_RECV queue pair of this number in that domain. Entered. */
static struct rvt_qp *find_target(struct rvt_device *device, uint32_t number,
				  const struct rvt_xrcd *xrcd)
{
	struct rvt_qp *qp = rvt_find_qp(device, number);

	return qp && qp->owner && qp->xrcd && qp->xrcd->domain == xrcd->domain ? qp : NULL;
}

struct ibv_qp *verbs_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr)
{
	const uint32_t needed =
		IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
	struct verbs_xrcd *xrcd;
	struct rvt_device *device;
	struct verbs_qp *qp;
	struct ibv_qp *ibv;

	if (!attr || (attr->comp_mask & ~(uint32_t)IBV_QP_OPEN_ATTR_CONTEXT) != needed ||
	    attr->qp_type != IBV_QPT_XRC_RECV || !(xrcd = to_xrcd(attr->xrcd)) ||
	    xrcd->ibv.context != context)
		return fail(-EINVAL);
	qp = HANDLE_NEW(struct verbs_qp, HANDLE_QP);
	if (!qp)
		return fail(-ENOMEM);
	init_handle(qp, context);
	ibv = &qp->ex.qp_base;
	if (attr->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT)
		ibv->qp_context = attr->qp_context;
	ibv->qp_type = attr->qp_type;
	ibv->qp_num = ibv->handle = attr->qp_num;
	device = enter(context);
	if (device && to_xrcd(attr->xrcd)) {
		qp->rvt = find_target(device, attr->qp_num, xrcd->rvt);
		if (qp->rvt) {
			struct verbs_qp *other = qp->rvt->owner;

			list_append(&other->openers, &qp->openers);
			qp->init.xrcd = xrcd->rvt;
			rvt_use_xrcd(xrcd->rvt, 1);
			ibv->state = (enum ibv_qp_state)qp->rvt->state;
		} else {
			lane_log(
				LANE_LOG_WARN,
				"ibv_open_qp: this process has no XRC_RECV queue pair %u in that domain; "
				"those of other processes cannot be opened",
				attr->qp_num);
		}
	}
	if (device)
		lane_leave();
	if (!qp->rvt) {
		handle_free(&qp->handle, HANDLE_QP);
		return fail(-EINVAL);
	}
	handle_publish(&qp->handle, HANDLE_QP);
	return ibv;
}

/* The queue pair goes on with the others that stand for it. Entered. */
static void leave_ring(struct verbs_qp *qp)
{
	struct verbs_qp *other = list_entry(qp->openers.next, struct verbs_qp, openers);
	struct rvt_qp *rvt = qp->rvt;

	qp->rvt = NULL;
	list_unlink(&qp->openers);
	if (rvt->owner == qp) {
		rvt->owner = other;
		rvt_move_target(rvt, other->init.xrcd);
	} else {
		rvt_use_xrcd(qp->init.xrcd, -1);
	}
}

/* The queue pair goes with the last handle that stands for it. Entered. */
static int leave_qp(struct verbs_qp *qp)
{
	struct rvt_qp *rvt = qp->rvt;
	int err;

	if (!list_empty(&qp->openers)) {
		leave_ring(qp);
		return 0;
	}
	qp->rvt = NULL;
	lane_settle();
	rvt->owner = NULL;
	err = rvt_destroy_qp(rvt);
	if (err) {
		qp->rvt = rvt;
		rvt->owner = qp;
	}
	return err;
}

static void leave_if_of(struct rvt_qp *rvt, void *context)
{
	struct verbs_qp *owner = rvt->owner;

	if (!rvt->xrcd || !owner)
		return;
	list_for_each_safe(node, &owner->openers) {
		struct verbs_qp *qp = list_entry(node, struct verbs_qp, openers);

		if (qp->init.xrcd->context == context)
			leave_ring(qp);
	}
	/* The last one ends with its context, as every queue pair. */
	if (owner->init.xrcd->context == context && !list_empty(&owner->openers))
		leave_ring(owner);
}

void verbs_leave_targets(struct rvt_context *context)
{
	rvt_qp_iter(context->device, leave_if_of, context);
}

struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *ibv)
{
	struct verbs_qp *qp = to_qp(ibv);

	return qp && qp->extended ? &qp->ex : NULL;
}

int ibv_modify_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int mask)
{
	struct verbs_qp *qp = to_qp(ibv);
	struct rvt_qp_attr rvt_attr;
	int err;

	if (!qp || !attr)
		return EINVAL;
	verbs_to_rvt_qp_attr(&rvt_attr, attr);
	err = enter_qp(qp, ibv);
	if (err)
		return -err;
	lane_settle();
	err = rvt_modify_qp(qp->rvt, &rvt_attr, (uint32_t)mask);
	if (!err && mask & IBV_QP_STATE)
		ibv->state = attr->qp_state;
	/* Leaving SQD lets waiting work go. */
	lane_leave_sending();
	return -err;
}

int ibv_query_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int mask,
		 struct ibv_qp_init_attr *init)
{
	struct verbs_qp *qp = to_qp(ibv);
	struct rvt_qp_attr rvt_attr;
	int err;

	(void)mask; /* everything is told, whatever is asked for */
	if (!qp || !attr || !init)
		return EINVAL;
	err = enter_qp(qp, ibv);
	if (err)
		return -err;
	rvt_query_qp(qp->rvt, &rvt_attr);
	ibv->state = (enum ibv_qp_state)rvt_attr.qp_state;
	lane_leave();
	verbs_from_rvt_qp_attr(attr, &rvt_attr);
	memset(init, 0, sizeof(*init));
	init->qp_context = ibv->qp_context;
	init->send_cq = ibv->send_cq;
	init->recv_cq = ibv->recv_cq;
	init->srq = ibv->srq;
	init->qp_type = ibv->qp_type;
	init->sq_sig_all = qp->signal_all;
	init->cap = attr->cap;
	return 0;
}

int ibv_destroy_qp(struct ibv_qp *ibv)
{
	struct verbs_qp *qp = to_qp(ibv);
	int err;

	if (!qp)
		return EINVAL;
	err = enter_qp(qp, ibv);
	if (err)
		return -err;
	err = leave_qp(qp);
	lane_leave_sending();
	if (err)
		return -err;
	verbs_drop_events(ibv->context, ibv);
	verbs_wait_acknowledged(&ibv->mutex, &ibv->cond, &qp->async_delivered,
				&ibv->events_completed);
	if (handle_retire(&qp->handle, HANDLE_QP)) {
		verbs_batch_free(&qp->batch);
		handle_free(&qp->handle, HANDLE_QP);
	}
	return 0;
}

int verbs_post_send(struct ibv_qp *ibv, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct verbs_qp *qp = to_qp(ibv);
	struct work_send work;
	int err = 0;

	if (!qp || enter_qp(qp, ibv)) {
		if (bad)
			*bad = wr;
		return EINVAL;
	}
	while (wr && !err) {
		struct ibv_send_wr *next = NULL;

		err = work_read_send(&work, wr, ibv->qp_type, &next);
		/* The ACK that makes room may lie in the socket: a NIC would have taken it by now.
		 */
		if (!err && qp->rvt->s_head - qp->rvt->s_last >= qp->rvt->cap.max_send_wr)
			lane_make_room();
		if (!err)
			err = rvt_post_send(qp->rvt, &work.wr);
		if (!err)
			wr = next;
	}
	rvt_send_pending(qp->rvt);
	lane_leave_sending();
	if (err && bad)
		*bad = wr;
	return -err;
}

int verbs_post_recv(struct ibv_qp *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct verbs_qp *qp = to_qp(ibv);
	struct work_receive work;
	int err = 0;

	if (!qp || enter_qp(qp, ibv)) {
		if (bad)
			*bad = wr;
		return EINVAL;
	}
	while (wr && !err) {
		struct ibv_recv_wr *next = NULL;

		err = work_read_receive(&work, wr, &next);
		if (!err)
			err = rvt_post_recv(qp->rvt, &work.wr);
		if (!err)
			wr = next;
	}
	lane_leave();
	if (err && bad)
		*bad = wr;
	return -err;
}

static int change_group(struct ibv_qp *ibv, const union ibv_gid *gid,
			int (*change)(struct rvt_qp *qp, const struct gid *mgid))
{
	struct verbs_qp *qp = to_qp(ibv);
	struct gid mgid;
	int err;

	if (!qp || !gid)
		return EINVAL;
	memcpy(mgid.raw, gid->raw, sizeof(mgid.raw));
	err = enter_qp(qp, ibv);
	if (err)
		return -err;
	err = change(qp->rvt, &mgid);
	lane_leave();
	return -err;
}

/* The LID of a group means nothing on Ethernet. */

int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	(void)lid;
	return change_group(qp, gid, rvt_attach_mcast);
}

int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	(void)lid;
	return change_group(qp, gid, rvt_detach_mcast);
}
