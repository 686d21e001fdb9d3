/* SPDX-License-Identifier: Apache-2.0 */
/* ah.c - address handles */
#include "verbs/objects.h"

struct ibv_ah *ibv_create_ah(struct ibv_pd *ibv, struct ibv_ah_attr *attr)
{
	struct verbs_pd *pd = to_pd(ibv);
	struct rvt_ah_attr rvt_attr;
	struct verbs_ah *ah;
	int err;

	if (!pd || !attr)
		return fail(-EINVAL);
	ah = HANDLE_NEW(struct verbs_ah, HANDLE_AH);
	if (!ah)
		return fail(-ENOMEM);
	verbs_to_rvt_ah(&rvt_attr, attr);
	err = enter_pd(pd, ibv);
	if (!err) {
		err = rvt_create_ah(pd->rvt, &rvt_attr, &ah->rvt);
		if (!err)
			ah->rvt->owner = ah;
		lane_leave();
	}
	if (err) {
		handle_free(&ah->handle, HANDLE_AH);
		return fail(err);
	}
	ah->ibv.context = ibv->context;
	ah->ibv.pd = ibv;
	ah->ibv.handle = ah->rvt->res.id;
	handle_publish(&ah->handle, HANDLE_AH);
	return &ah->ibv;
}

int ibv_destroy_ah(struct ibv_ah *ibv)
{
	struct verbs_ah *ah = to_ah(ibv);
	int err;

	if (!ah)
		return EINVAL;
	err = enter_ah(ah, ibv);
	if (err)
		return -err;
	err = handle_retire(&ah->handle, HANDLE_AH) ? rvt_destroy_ah(ah->rvt) : -EINVAL;
	if (err == -EBUSY)
		handle_publish(&ah->handle, HANDLE_AH);
	lane_leave();
	if (!err)
		handle_free(&ah->handle, HANDLE_AH);
	return -err;
}
