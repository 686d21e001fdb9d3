/* SPDX-License-Identifier: Apache-2.0 */
/* pd.c - protection domains */
#include <errno.h>

#include "rvt/device.h"

int rvt_alloc_pd(struct rvt_context *context, struct rvt_pd **ret)
{
	struct rvt_device *device = context->device;
	struct rvt_pd *pd = allocator_get(device->allocator, sizeof(*pd));

	if (!pd)
		return rvt_refuse(device, RVT_NO_MEMORY, NULL, 0, 0);
	pd->context = context;
	restrack_new(&pd->res, RESTRACK_PD);
	restrack_parent_name(&pd->res, &context->res);
	if (restrack_add(device->restrack, &pd->res)) {
		allocator_put(device->allocator, pd);
		return rvt_refuse(device, RVT_NO_MEMORY, NULL, 0, 0);
	}
	*ret = pd;
	return 0;
}

int rvt_dealloc_pd(struct rvt_pd *pd)
{
	struct rvt_device *device = pd->context->device;

	if (pd->users)
		return rvt_refuse(device, RVT_IN_USE, &pd->res, pd->users, 0);
	ASSERT(!restrack_del(&pd->res));
	allocator_put(device->allocator, pd);
	return 0;
}

struct rvt_pd *rvt_find_pd(struct rvt_context *context, uint32_t id)
{
	struct restrack_entry *e = table_find(&context->device->restrack->tables[RESTRACK_PD], id);
	struct rvt_pd *pd = e ? container_of(e, struct rvt_pd, res) : NULL;

	return pd && pd->context == context ? pd : NULL;
}

void rvt_use_pd(struct rvt_pd *pd, int delta)
{
	pd->users = (uint32_t)((int)pd->users + delta);
	restrack_set(&pd->res, RESTRACK_PD_USERS, pd->users);
}
