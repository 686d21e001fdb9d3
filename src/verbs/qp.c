/* SPDX-License-Identifier: Apache-2.0 */
/* qp.c - queue pairs: creation, states, the posting of lists */
#include <string.h>

#include "verbs/objects.h"
#include "verbs/work.h"

static int to_init(struct rvt_qp_init *to, const struct ibv_qp_init_attr_ex *from)
{
	struct verbs_cq *send_cq = to_cq(from->send_cq), *recv_cq = to_cq(from->recv_cq);
	struct verbs_srq *srq = to_srq(from->srq);

	if (from->qp_type != IBV_QPT_RC && from->qp_type != IBV_QPT_UC &&
	    from->qp_type != IBV_QPT_UD)
		return -EOPNOTSUPP;
	if (!send_cq || !recv_cq || (from->srq && !srq))
		return -EINVAL;
	*to = (struct rvt_qp_init){
		.type = (enum rvt_qp_type)from->qp_type,
		.send_cq = send_cq->rvt,
		.recv_cq = recv_cq->rvt,
		.srq = srq ? srq->rvt : NULL,
		.cap = { from->cap.max_send_wr, from->cap.max_recv_wr, from->cap.max_send_sge,
			 from->cap.max_recv_sge, from->cap.max_inline_data },
		.signal_all = from->sq_sig_all,
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

static struct ibv_qp *create(struct ibv_pd *ibv_pd, struct ibv_qp_init_attr_ex *attr)
{
	struct verbs_pd *pd = to_pd(ibv_pd);
	struct ibv_qp *ibv;
	struct verbs_qp *qp;
	int err;

	if (!pd || attr->send_cq == NULL || attr->recv_cq == NULL)
		return fail(-EINVAL);
	qp = HANDLE_NEW(struct verbs_qp, HANDLE_QP);
	if (!qp)
		return fail(-ENOMEM);
	err = to_init(&qp->init, attr);
	if (err) {
		handle_free(&qp->handle, HANDLE_QP);
		return fail(err);
	}
	qp->init.owner = qp;
	qp->signal_all = attr->sq_sig_all;
	ibv = &qp->ex.qp_base;
	ibv->context = ibv_pd->context;
	ibv->qp_context = attr->qp_context;
	ibv->pd = ibv_pd;
	ibv->send_cq = attr->send_cq;
	ibv->recv_cq = attr->recv_cq;
	ibv->srq = attr->srq;
	ibv->qp_type = attr->qp_type;
	ibv->state = IBV_QPS_RESET;
	pthread_mutex_init(&ibv->mutex, NULL);
	pthread_mutex_init(&qp->batch_lock, NULL);
	pthread_cond_init(&ibv->cond, NULL);
	if (!enter(ibv->context)) {
		err = -ENODEV;
	} else {
		err = rvt_create_qp(pd->rvt, &qp->init, &qp->rvt);
		if (!err) {
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
	qp = create(pd, &ex);
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
#define SEND_OPS_UC                                                                      \
 (IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND | \
  IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV)
#define SEND_OPS_UD (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM)

struct ibv_qp *verbs_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	uint64_t ops = 0, possible;
	struct ibv_qp *qp;

	if (!attr || !context)
		return fail(-EINVAL);
	if (attr->comp_mask & ~(uint32_t)(IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS |
					  IBV_QP_INIT_ATTR_CREATE_FLAGS) ||
	    (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS && attr->create_flags))
		return fail(-EOPNOTSUPP);
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->pd || attr->pd->context != context)
		return fail(-EINVAL);
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) {
		ops = attr->send_ops_flags;
		possible = attr->qp_type == IBV_QPT_RC	 ? SEND_OPS_RC
			   : attr->qp_type == IBV_QPT_UC ? SEND_OPS_UC
							 : SEND_OPS_UD;
		/* The functions of an operation that is not asked for may be missing in the
		 * program's table. */
		if (ops & ~possible)
			return fail(-EOPNOTSUPP);
	}
	qp = create(attr->pd, attr);
	if (qp && attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) {
		struct verbs_qp *object = to_qp(qp);

		object->send_ops = ops;
		object->extended = true;
		verbs_qp_extend(object);
	}
	return qp;
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
	if (!enter(ibv->context))
		return ENODEV;
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

	(void)mask; /* everything is told, whatever is asked for */
	if (!qp || !attr || !init)
		return EINVAL;
	if (!enter(ibv->context))
		return ENODEV;
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
	if (!enter(ibv->context))
		return ENODEV;
	err = handle_ok(&qp->handle, HANDLE_QP) && qp->rvt ? 0 : -EINVAL;
	if (!err) {
		lane_settle();
		qp->rvt->owner = NULL;
		err = rvt_destroy_qp(qp->rvt);
		if (!err)
			qp->rvt = NULL;
	}
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

	if (!qp || !enter(ibv->context)) {
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

	if (!qp || !enter(ibv->context)) {
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

int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	(void)lid;
	return to_qp(qp) && gid ? EOPNOTSUPP : EINVAL;
}

int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	(void)lid;
	return to_qp(qp) && gid ? EOPNOTSUPP : EINVAL;
}
