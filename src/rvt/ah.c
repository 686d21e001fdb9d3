/* SPDX-License-Identifier: Apache-2.0 */
/* ah.c - address handles, and the check of an address vector that they share with queue pairs */
#include <errno.h>

#include "rvt/device.h"

int rvt_check_ah_attr(struct rvt_device *device, const struct rvt_port *port,
		      struct rvt_ah_attr *attr)
{
	const struct gid *source;

	if (attr->port_num > 1)
		return rvt_refuse(device, RVT_BAD_ARGUMENT, NULL, attr->port_num, 1);
	if (!attr->is_global)
		return rvt_refuse(device, RVT_NOT_GLOBAL, NULL, 0, 0);
	source = rvt_port_gid(port, attr->sgid_index);
	if (!source)
		return rvt_refuse(device, RVT_BAD_GID_INDEX, NULL, attr->sgid_index, RVT_GID_TABLE);
	if (gid_is_zero(&attr->dgid))
		return rvt_refuse(device, RVT_BAD_ARGUMENT, NULL, 0, 0);
	if (gid_is_ipv4(source) != gid_is_ipv4(&attr->dgid))
		return rvt_refuse(device, RVT_GID_FAMILY, NULL, 0, 0);
	attr->sgid = *source;
	return 0;
}

int rvt_create_ah(struct rvt_pd *pd, const struct rvt_ah_attr *attr, struct rvt_ah **ret)
{
	struct rvt_device *device = pd->context->device;
	struct rvt_ah_attr checked = *attr;
	struct rvt_ah *ah;
	int err = rvt_check_ah_attr(device, pd->context->port, &checked);

	if (err)
		return err;
	ah = allocator_get(device->allocator, sizeof(*ah));
	if (!ah)
		return rvt_refuse(device, RVT_NO_MEMORY, NULL, 0, 0);
	ah->device = device;
	ah->pd = pd;
	ah->attr = checked;
	ah->references = 1;
	restrack_new(&ah->res, RESTRACK_AH);
	restrack_parent_name(&ah->res, &pd->context->res);
	if (restrack_add(device->restrack, &ah->res)) {
		allocator_put(device->allocator, ah);
		return rvt_refuse(device, RVT_NO_MEMORY, NULL, 0, 0);
	}
	restrack_set(&ah->res, RESTRACK_AH_PDN, pd->res.id);
	rvt_use_pd(pd, 1);
	*ret = ah;
	return 0;
}

void rvt_get_ah(struct rvt_ah *ah)
{
	ah->references++;
}

void rvt_put_ah(struct rvt_ah *ah)
{
	struct rvt_device *device = ah->device;

	ASSERT(ah->references);
	if (--ah->references)
		return;
	ASSERT(!restrack_commit_del(&ah->res));
	allocator_put(device->allocator, ah);
}

int rvt_destroy_ah(struct rvt_ah *ah)
{
	ASSERT(!restrack_begin_del(&ah->res));
	rvt_use_pd(ah->pd, -1);
	/* Posted sends keep the address; the PD may go before they end. */
	ah->pd = NULL;
	ah->owner = NULL;
	rvt_put_ah(ah);
	return 0;
}
