/* SPDX-License-Identifier: Apache-2.0 */
/* pd.c - protection domains, thread domains, parent domains */
#include <stdlib.h>
#include <string.h>

#include "verbs/objects.h"

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct verbs_pd *pd = HANDLE_NEW(struct verbs_pd, HANDLE_PD);
	int err;

	if (!pd)
		return fail(-ENOMEM);
	if (!enter(context)) {
		handle_free(&pd->handle, HANDLE_PD);
		return fail(-ENODEV);
	}
	err = rvt_alloc_pd(to_context(context)->rvt, &pd->rvt);
	if (!err) {
		pd->ibv.context = context;
		pd->ibv.handle = pd->rvt->res.id;
		pd->rvt->owner = pd;
	}
	lane_leave();
	if (err) {
		handle_free(&pd->handle, HANDLE_PD);
		return fail(err);
	}
	handle_publish(&pd->handle, HANDLE_PD);
	return &pd->ibv;
}

static int dealloc_parent_domain(struct verbs_pd *pd)
{
	if (pd->rvt->users && pd->children)
		return EBUSY;
	if (!handle_retire(&pd->handle, HANDLE_PD))
		return EINVAL;
	__atomic_sub_fetch(&pd->parent->children, 1, __ATOMIC_ACQ_REL);
	handle_free(&pd->handle, HANDLE_PD);
	return 0;
}

int ibv_dealloc_pd(struct ibv_pd *ibv)
{
	struct verbs_pd *pd = to_pd(ibv);
	int err;

	if (!pd || pd->imported)
		return EINVAL;
	if (pd->parent)
		return dealloc_parent_domain(pd);
	if (__atomic_load_n(&pd->children, __ATOMIC_ACQUIRE))
		return EBUSY;
	err = enter_pd(pd, ibv);
	if (err)
		return -err;
	err = rvt_dealloc_pd(pd->rvt);
	if (!err && !handle_retire(&pd->handle, HANDLE_PD))
		err = -EINVAL;
	lane_leave();
	if (!err)
		handle_free(&pd->handle, HANDLE_PD);
	return -err;
}

/* A parent domain is its PD under another handle: there is nothing to gain from a thread domain
 * here. */
struct ibv_pd *verbs_alloc_parent_domain(struct ibv_context *context,
					 struct ibv_parent_domain_init_attr *attr)
{
	struct verbs_pd *parent, *pd;

	if (!attr || !(parent = to_pd(attr->pd)) || parent->parent)
		return fail(-EINVAL);
	if (attr->comp_mask & ~(uint32_t)(IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
					  IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT))
		return fail(-EINVAL);
	if (!context || parent->ibv.context != context)
		return fail(-EINVAL);
	pd = HANDLE_NEW(struct verbs_pd, HANDLE_PD);
	if (!pd)
		return fail(-ENOMEM);
	pd->ibv = parent->ibv;
	pd->rvt = parent->rvt;
	pd->parent = parent;
	__atomic_add_fetch(&parent->children, 1, __ATOMIC_ACQ_REL);
	handle_publish(&pd->handle, HANDLE_PD);
	return &pd->ibv;
}

struct ibv_td *verbs_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr)
{
	struct ibv_td *td;

	if (!context || !attr || attr->comp_mask)
		return fail(-EINVAL);
	td = calloc(1, sizeof(*td));
	if (!td)
		return fail(-ENOMEM);
	td->context = context;
	return td;
}

int verbs_dealloc_td(struct ibv_td *td)
{
	if (!td)
		return EINVAL;
	free(td);
	return 0;
}
