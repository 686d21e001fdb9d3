/* SPDX-License-Identifier: Apache-2.0 */
/* mcast.c - attaching and detaching */
#include "rvt/mcast.h"

#include <errno.h>

struct rvt_mcast *rvt_mcast_find(const struct rvt_device *device, uint32_t interface,
				 const struct gid *mgid)
{
	list_for_each(node, &device->groups) {
		struct rvt_mcast *group = list_entry(node, struct rvt_mcast, node);

		if (group->interface == interface && gid_equal(&group->mgid, mgid))
			return group;
	}
	return NULL;
}

static struct rvt_mcast_qp *find_member(const struct rvt_mcast *group, const struct rvt_qp *qp)
{
	list_for_each(node, &group->members) {
		struct rvt_mcast_qp *member = list_entry(node, struct rvt_mcast_qp, node);

		if (member->qp == qp)
			return member;
	}
	return NULL;
}

/* Of the groups that the QP is in; by the QP itself, since its interface may have another number by
 * now. */
static struct rvt_mcast_qp *find_membership(const struct rvt_qp *qp, const struct gid *mgid,
					    struct rvt_mcast **ret)
{
	list_for_each(node, &qp->device->groups) {
		struct rvt_mcast *group = list_entry(node, struct rvt_mcast, node);
		struct rvt_mcast_qp *member;

		if (mgid && !gid_equal(&group->mgid, mgid))
			continue;
		member = find_member(group, qp);
		if (member) {
			*ret = group;
			return member;
		}
	}
	return NULL;
}

static int new_group(struct rvt_qp *qp, const struct gid *mgid, struct rvt_mcast **ret)
{
	struct rvt_device *device = qp->device;
	uint32_t interface = qp->context->port->interface;
	struct rvt_mcast *group;
	int err = 0;

	if (device->group_count == rvt_limits.max_mcast_grp)
		return rvt_refuse(device, RVT_MCAST_LIMIT, &qp->res, device->group_count,
				  rvt_limits.max_mcast_grp);
	group = allocator_get(device->allocator, sizeof(*group));
	if (!group)
		return rvt_refuse(device, RVT_NO_MEMORY, &qp->res, 0, 0);
	if (device->mcast)
		err = device->mcast->join(device->mcast->context, interface, mgid);
	if (err) {
		allocator_put(device->allocator, group);
		return rvt_refuse(device, RVT_MCAST_JOIN, &qp->res, interface, (uint64_t)-err);
	}
	group->mgid = *mgid;
	group->interface = interface;
	list_init(&group->members);
	list_append(&device->groups, &group->node);
	device->group_count++;
	*ret = group;
	return 0;
}

static void end_group(struct rvt_device *device, struct rvt_mcast *group)
{
	if (device->mcast)
		device->mcast->leave(device->mcast->context, group->interface, &group->mgid);
	list_unlink(&group->node);
	device->group_count--;
	allocator_put(device->allocator, group);
}

int rvt_attach_mcast(struct rvt_qp *qp, const struct gid *mgid)
{
	struct rvt_device *device = qp->device;
	struct rvt_mcast_qp *member;
	struct rvt_mcast *group;
	int err;

	if (qp->type != RVT_QPT_UD)
		return rvt_refuse(device, RVT_MCAST_TYPE, &qp->res, qp->type, 0);
	if (!gid_is_multicast(mgid))
		return rvt_refuse(device, RVT_MCAST_GID, &qp->res, 0, 0);
	if (find_membership(qp, mgid, &group))
		return 0;
	member = allocator_get(device->allocator, sizeof(*member));
	if (!member)
		return rvt_refuse(device, RVT_NO_MEMORY, &qp->res, 0, 0);
	group = rvt_mcast_find(device, qp->context->port->interface, mgid);
	err = 0;
	if (!group)
		err = new_group(qp, mgid, &group);
	else if (group->count == rvt_limits.max_mcast_qp_attach)
		err = rvt_refuse(device, RVT_MCAST_LIMIT, &qp->res, group->count,
				 rvt_limits.max_mcast_qp_attach);
	if (err || !group) {
		allocator_put(device->allocator, member);
		return err;
	}
	member->qp = qp;
	list_append(&group->members, &member->node);
	group->count++;
	qp->groups++;
	return 0;
}

static void detach(struct rvt_mcast *group, struct rvt_mcast_qp *member)
{
	struct rvt_qp *qp = member->qp;

	ASSERT(qp->groups && group->count);
	list_unlink(&member->node);
	allocator_put(qp->device->allocator, member);
	qp->groups--;
	if (!--group->count)
		end_group(qp->device, group);
}

int rvt_detach_mcast(struct rvt_qp *qp, const struct gid *mgid)
{
	struct rvt_mcast *group;
	struct rvt_mcast_qp *member = find_membership(qp, mgid, &group);

	if (!member)
		return rvt_refuse(qp->device, RVT_MCAST_NOT_ATTACHED, &qp->res, qp->number, 0);
	detach(group, member);
	return 0;
}

void rvt_leave_mcast(struct rvt_qp *qp)
{
	struct rvt_mcast_qp *member;
	struct rvt_mcast *group;

	while (qp->groups && (member = find_membership(qp, NULL, &group)))
		detach(group, member);
}
