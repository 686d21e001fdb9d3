/* SPDX-License-Identifier: Apache-2.0 */
/* mr.c - memory regions */
#include <sys/mman.h>

#include "verbs/objects.h"

static struct ibv_mr *finish(struct verbs_pd *pd, struct verbs_mr *mr, int err, void *addr,
			     size_t length)
{
	if (err) {
		handle_free(&mr->handle, HANDLE_MR);
		return fail(err);
	}
	mr->ibv.context = pd->ibv.context;
	mr->ibv.pd = &pd->ibv;
	mr->ibv.addr = addr;
	mr->ibv.length = length;
	mr->ibv.handle = mr->rvt->res.id;
	mr->ibv.lkey = mr->rvt->key;
	mr->ibv.rkey = mr->rvt->null ? 0 : mr->rvt->key;
	handle_publish(&mr->handle, HANDLE_MR);
	return &mr->ibv;
}

static struct ibv_mr *reg_mr(struct ibv_pd *ibv, void *addr, size_t length, uint64_t iova,
			     unsigned int access)
{
	struct verbs_pd *pd = to_pd(ibv);
	struct verbs_mr *mr;
	int err;

	if (!pd)
		return fail(-EINVAL);
	mr = HANDLE_NEW(struct verbs_mr, HANDLE_MR);
	if (!mr)
		return fail(-ENOMEM);
	err = enter_pd(pd, ibv);
	if (!err) {
		err = rvt_reg_mr(pd->rvt, (uintptr_t)addr, length, iova, access, &mr->rvt);
		if (!err)
			mr->rvt->owner = mr;
		lane_leave();
	}
	return finish(pd, mr, err, addr, length);
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return reg_mr(pd, addr, length, (uintptr_t)addr, (unsigned int)access);
}

struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
			       int access)
{
	return reg_mr(pd, addr, length, iova, (unsigned int)access);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				unsigned int access)
{
	return reg_mr(pd, addr, length, iova, access);
}

struct ibv_mr *verbs_alloc_null_mr(struct ibv_pd *ibv)
{
	struct verbs_pd *pd = to_pd(ibv);
	struct verbs_mr *mr;
	int err;

	if (!pd)
		return fail(-EINVAL);
	mr = HANDLE_NEW(struct verbs_mr, HANDLE_MR);
	if (!mr)
		return fail(-ENOMEM);
	err = enter_pd(pd, ibv);
	if (!err) {
		err = rvt_alloc_null_mr(pd->rvt, &mr->rvt);
		if (!err)
			mr->rvt->owner = mr;
		lane_leave();
	}
	return finish(pd, mr, err, NULL, SIZE_MAX);
}

int ibv_rereg_mr(struct ibv_mr *ibv, int flags, struct ibv_pd *ibv_pd, void *addr, size_t length,
		 int access)
{
	struct verbs_mr *mr = to_mr(ibv);
	struct verbs_pd *pd = flags & IBV_REREG_MR_CHANGE_PD ? to_pd(ibv_pd) : NULL;
	int err;

	if (!mr || mr->imported || mr->dm || mr->mapping || !flags ||
	    flags & ~IBV_REREG_MR_FLAGS_SUPPORTED || (flags & IBV_REREG_MR_CHANGE_PD && !pd) ||
	    (flags & IBV_REREG_MR_CHANGE_TRANSLATION && (!addr || !length))) {
		errno = EINVAL;
		return IBV_REREG_MR_ERR_INPUT;
	}
	err = enter_mr(mr, ibv);
	if (err) {
		errno = -err;
		return err == -EINVAL ? IBV_REREG_MR_ERR_INPUT : IBV_REREG_MR_ERR_CMD;
	}
	if (pd && !to_pd(ibv_pd)) {
		lane_leave();
		errno = EINVAL;
		return IBV_REREG_MR_ERR_INPUT;
	}
	err = rvt_rereg_mr(mr->rvt, (uint32_t)flags, pd ? pd->rvt : NULL, (uintptr_t)addr, length,
			   (uint32_t)access);
	if (!err) {
		if (pd)
			ibv->pd = ibv_pd;
		if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
			ibv->addr = addr;
			ibv->length = length;
		}
		ibv->lkey = ibv->rkey = mr->rvt->key;
	}
	lane_leave();
	if (!err)
		return 0;
	errno = -err;
	return IBV_REREG_MR_ERR_CMD; /* the region is as it was */
}

int ibv_dereg_mr(struct ibv_mr *ibv)
{
	struct verbs_mr *mr = to_mr(ibv);
	int err;

	if (!mr || mr->imported)
		return EINVAL;
	err = enter_mr(mr, ibv);
	if (err)
		return -err;
	err = handle_retire(&mr->handle, HANDLE_MR) ? rvt_dereg_mr(mr->rvt) : -EINVAL;
	if (err == -EBUSY)
		handle_publish(&mr->handle, HANDLE_MR);
	else if (!err && mr->dm)
		verbs_dm_region_gone(mr->dm);
	lane_leave();
	if (err)
		return -err;
	if (mr->mapping)
		munmap(mr->mapping, mr->mapping_size);
	handle_free(&mr->handle, HANDLE_MR);
	return 0;
}

int verbs_advise_mr(struct ibv_pd *ibv, enum ibv_advise_mr_advice advice, uint32_t flags,
		    struct ibv_sge *list, uint32_t count)
{
	struct verbs_pd *pd = to_pd(ibv);
	int err;

	if (!pd || flags & ~(uint32_t)IBV_ADVISE_MR_FLAG_FLUSH || (count && !list))
		return EINVAL;
	if (advice != IBV_ADVISE_MR_ADVICE_PREFETCH &&
	    advice != IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE &&
	    advice != IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return EOPNOTSUPP;
	err = enter_pd(pd, ibv);
	if (err)
		return -err;
	/* Memory is touched where it lies, so there is nothing to fetch; a wrong key is still worth
	 * telling. */
	for (uint32_t i = 0; i < count && !err; i++) {
		struct rvt_sge sge = { list[i].addr, list[i].length, list[i].lkey };
		struct rvt_mr *mr;
		uint64_t address;

		if (rvt_lkey_ok(pd->rvt, &sge, advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, &mr,
				&address) == RVT_OK)
			rvt_put_mr(mr);
		else
			err = EFAULT;
	}
	lane_leave();
	return err;
}
