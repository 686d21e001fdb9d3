/* SPDX-License-Identifier: Apache-2.0 */
/* mw.c - memory windows */
#include "verbs/objects.h"

struct ibv_mw *verbs_alloc_mw(struct ibv_pd *ibv, enum ibv_mw_type type)
{
	struct verbs_pd *pd = to_pd(ibv);
	struct verbs_mw *mw;
	int err;

	if (!pd)
		return fail(-EINVAL);
	mw = HANDLE_NEW(struct verbs_mw, HANDLE_MW);
	if (!mw)
		return fail(-ENOMEM);
	err = enter_pd(pd, ibv);
	if (!err) {
		err = rvt_alloc_mw(pd->rvt, (enum rvt_mw_type)type, &mw->rvt);
		if (!err)
			mw->rvt->mr.owner = mw;
		lane_leave();
	}
	if (err) {
		handle_free(&mw->handle, HANDLE_MW);
		return fail(err);
	}
	mw->ibv.context = ibv->context;
	mw->ibv.pd = ibv;
	mw->ibv.rkey = mw->rvt->mr.key;
	mw->ibv.handle = mw->rvt->mr.res.id;
	mw->ibv.type = type;
	handle_publish(&mw->handle, HANDLE_MW);
	return &mw->ibv;
}

int verbs_dealloc_mw(struct ibv_mw *ibv)
{
	struct verbs_mw *mw = to_mw(ibv);
	int err;

	if (!mw)
		return EINVAL;
	err = enter_mw(mw, ibv);
	if (err)
		return -err;
	err = handle_retire(&mw->handle, HANDLE_MW) ? rvt_dealloc_mw(mw->rvt) : -EINVAL;
	lane_leave();
	if (!err)
		handle_free(&mw->handle, HANDLE_MW);
	return -err;
}

bool verbs_to_rvt_bind(struct rvt_bind *to, struct ibv_mw *ibv, uint32_t rkey,
		       const struct ibv_mw_bind_info *info)
{
	struct verbs_mw *mw = to_mw(ibv);
	struct verbs_mr *mr = to_mr(info->mr);

	if (!mw || (info->mr && !mr))
		return false;
	*to = (struct rvt_bind){
		.mw = mw->rvt,
		.region = mr ? mr->rvt : NULL,
		.address = info->addr,
		.length = info->length,
		.access = info->mw_access_flags,
		.key = rkey,
	};
	return true;
}

/* Windows of type 1: the next key of the window is ours to choose. */
int verbs_bind_mw(struct ibv_qp *ibv, struct ibv_mw *mw, struct ibv_mw_bind *request)
{
	struct verbs_qp *qp = to_qp(ibv);
	struct rvt_send_wr wr = { .opcode = RVT_WR_BIND_MW };
	int err;

	if (!qp || !mw || !request)
		return EINVAL;
	wr.wr_id = request->wr_id;
	wr.send_flags = request->send_flags;
	err = enter_qp(qp, ibv);
	if (err)
		return -err;
	if (verbs_to_rvt_bind(&wr.bind, mw, ibv_inc_rkey(mw->rkey), &request->bind_info))
		err = rvt_post_send(qp->rvt, &wr);
	else
		err = -EINVAL;
	if (!err)
		mw->rkey = wr.bind.key;
	rvt_send_pending(qp->rvt);
	lane_leave_sending();
	return -err;
}
