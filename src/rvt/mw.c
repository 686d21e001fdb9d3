/* SPDX-License-Identifier: Apache-2.0 */
/* mw.c - memory windows */
#include "rvt/mw.h"

#include <errno.h>

#include "rvt/qp.h"

#define WINDOW_ACCESS                                                         \
 (RVT_ACCESS_LOCAL_WRITE | RVT_ACCESS_REMOTE_WRITE | RVT_ACCESS_REMOTE_READ | \
  RVT_ACCESS_REMOTE_ATOMIC | RVT_ACCESS_ZERO_BASED)

static struct rvt_mw *to_mw(struct rvt_mr *mr)
{
	return container_of(mr, struct rvt_mw, mr);
}

static void publish(struct rvt_mr *mr)
{
	restrack_set(&mr->res, RESTRACK_MR_RKEY, mr->key);
	restrack_set(&mr->res, RESTRACK_MR_LENGTH, mr->length);
	restrack_set(&mr->res, RESTRACK_MR_IOVA, mr->iova);
	restrack_set(&mr->res, RESTRACK_MR_PDN, mr->pd->res.id);
	restrack_set(&mr->res, RESTRACK_MR_ACCESS, mr->access);
	restrack_set(&mr->res, RESTRACK_MR_GENERATION, mr->generation);
}

int rvt_alloc_mw(struct rvt_pd *pd, enum rvt_mw_type type, struct rvt_mw **ret)
{
	struct rvt_device *device = pd->context->device;
	struct rvt_mw *mw;

	if (type != RVT_MW_TYPE_1 && type != RVT_MW_TYPE_2)
		return rvt_refuse(device, RVT_BAD_ARGUMENT, NULL, type, RVT_MW_TYPE_2);
	mw = allocator_get(device->allocator, sizeof(*mw));
	if (!mw)
		return rvt_refuse(device, RVT_NO_MEMORY, NULL, 0, 0);
	*mw = (struct rvt_mw){
		.mr = { .device = device,
			.context = pd->context,
			.pd = pd,
			.references = 1,
			.window = true,
			.generation = ++device->mr_generation },
		.type = type,
	};
	restrack_new(&mw->mr.res, RESTRACK_MW);
	restrack_parent_name(&mw->mr.res, &pd->context->res);
	if (restrack_reserve(device->restrack, &mw->mr.res)) {
		allocator_put(device->allocator, mw);
		return rvt_refuse(device, RVT_NO_MEMORY, NULL, 0, 0);
	}
	mw->mr.key = mw->mr.res.id << 8 | (uint32_t)(random_next(&device->random) & 0xff);
	publish(&mw->mr);
	ASSERT(!restrack_add(device->restrack, &mw->mr.res));
	rvt_use_pd(pd, 1);
	*ret = mw;
	return 0;
}

static void unbind(struct rvt_mw *mw)
{
	if (!mw->region)
		return;
	mw->region->windows--;
	rvt_put_mr(mw->region);
	mw->region = NULL;
	if (mw->qp)
		mw->qp->windows--;
	mw->qp = NULL;
	/* Whoever is in the middle of an access sees that it ended. */
	mw->mr.valid = false;
	mw->mr.generation = ++mw->mr.device->mr_generation;
}

int rvt_dealloc_mw(struct rvt_mw *mw)
{
	struct rvt_mr *mr = &mw->mr;

	unbind(mw);
	ASSERT(!restrack_begin_del(&mr->res));
	rvt_use_pd(mr->pd, -1);
	mr->pd = NULL;
	mr->context = NULL;
	mr->owner = NULL;
	rvt_put_mr(mr);
	return 0;
}

static bool bindable(const struct rvt_qp *qp, const struct rvt_bind *bind)
{
	const struct rvt_mr *region = bind->region;
	const struct rvt_mw *mw = bind->mw;

	/* Deallocated since it was posted, of another PD, or a key of another window. */
	if (mw->mr.pd != qp->pd || bind->key >> 8 != mw->mr.res.id)
		return false;
	/* A window of type 2 is bound once, to some memory. */
	if (mw->type == RVT_MW_TYPE_2 && (mw->region || !region || !bind->length))
		return false;
	if (!region || !bind->length)
		return true;
	if (!region->valid || region->window || region->null || region->pd != qp->pd ||
	    !(region->access & RVT_ACCESS_MW_BIND) || bind->access & ~(uint32_t)WINDOW_ACCESS)
		return false;
	if (bind->access & (RVT_ACCESS_REMOTE_WRITE | RVT_ACCESS_REMOTE_ATOMIC) &&
	    !(region->access & RVT_ACCESS_LOCAL_WRITE))
		return false;
	return rvt_mr_inside(region, bind->address, bind->length);
}

static enum rvt_verdict bind_window(struct rvt_qp *qp, const struct rvt_bind *bind)
{
	struct rvt_mr *region = bind->region;
	struct rvt_mw *mw = bind->mw;
	struct rvt_mr *mr = &mw->mr;

	if (!bindable(qp, bind))
		return RVT_BIND_REFUSED;
	unbind(mw);
	mr->key = bind->key;
	mr->length = bind->length;
	mr->access = bind->access;
	mr->generation = ++mr->device->mr_generation;
	if (region && bind->length) {
		rvt_get_mr(region);
		region->windows++;
		mw->region = region;
		mr->address = region->address + (bind->address - region->iova);
		mr->iova = bind->access & RVT_ACCESS_ZERO_BASED ? 0 : bind->address;
		mr->valid = true;
		if (mw->type == RVT_MW_TYPE_2) {
			mw->qp = qp;
			qp->windows++;
		}
	}
	publish(mr);
	return RVT_OK;
}

enum rvt_verdict rvt_execute_local(struct rvt_qp *qp, struct rvt_swqe *wqe)
{
	if (wqe->opcode == RVT_WR_LOCAL_INV) {
		wqe->cause1 = wqe->invalidate_rkey;
		return rvt_invalidate_window(qp, wqe->invalidate_rkey)
			       ? RVT_OK
			       : RVT_LOCAL_INVALIDATE_REFUSED;
	}
	wqe->cause1 = wqe->bind.key;
	wqe->cause2 = wqe->bind.region ? wqe->bind.region->key : 0;
	return bind_window(qp, &wqe->bind);
}

bool rvt_invalidate_window(struct rvt_qp *qp, uint32_t rkey)
{
	struct rvt_mr *mr = rvt_find_mr(qp->device, rkey);

	if (!mr || !mr->window || to_mw(mr)->qp != qp)
		return false;
	unbind(to_mw(mr));
	publish(mr);
	return true;
}

void rvt_leave_windows(struct rvt_qp *qp)
{
	struct restrack_entry *e;

	for (uint32_t id = 0;
	     qp->windows && (e = restrack_next(qp->device->restrack, RESTRACK_MW, &id)); id++) {
		struct rvt_mw *mw = to_mw(container_of(e, struct rvt_mr, res));

		if (mw->qp == qp)
			unbind(mw);
	}
}

enum rvt_verdict rvt_qp_rkey_ok(const struct rvt_qp *qp, uint32_t rkey, uint64_t va,
				uint64_t length, uint32_t access, struct rvt_mr **ret,
				uint64_t *address)
{
	struct rvt_mr *mr = rvt_find_mr(qp->device, rkey);

	if (mr && mr->window && to_mw(mr)->type == RVT_MW_TYPE_2 && to_mw(mr)->qp != qp)
		return RVT_RKEY_UNKNOWN;
	return rvt_rkey_ok(qp->pd, rkey, va, length, access, ret, address);
}
