/* SPDX-License-Identifier: Apache-2.0 */
/* mcast.h - multicast groups of this process and the datagram queue pairs in them */
#ifndef RVT_MCAST_H
#define RVT_MCAST_H

#include "rvt/qp.h"

/* One group as heard on one interface. */
struct rvt_mcast {
	struct list_node node; /* rvt_device.groups */
	struct gid mgid;
	uint32_t interface;
	uint32_t count;		  /* members */
	struct list_node members; /* rvt_mcast_qp.node, in the order of attaching */
};

struct rvt_mcast_qp {
	struct list_node node;
	struct rvt_qp *qp;
};

/**
 * rvt_attach_mcast() - ibv_attach_mcast(3), in any state of the QP. Once more is no error and
 * changes nothing, as with the kernel's verbs. The first QP of a group on an interface joins it on
 * the host (rvt_mcast_ops). -EINVAL: not a UD QP, or no group; -ENOMEM: a limit of rvt_limits;
 * -ENODEV: the host does not let us join.
 */
int rvt_attach_mcast(struct rvt_qp *qp, const struct gid *mgid) MUST_USE;
/** rvt_detach_mcast() - the last one leaves the group on the host. -EINVAL: was not attached. */
int rvt_detach_mcast(struct rvt_qp *qp, const struct gid *mgid) MUST_USE;
/** rvt_leave_mcast() - out of all groups: the QP ends with its context. */
void rvt_leave_mcast(struct rvt_qp *qp);
/** rvt_mcast_find() - who gets what arrived on @interface for @mgid; NULL: nobody. */
struct rvt_mcast *rvt_mcast_find(const struct rvt_device *device, uint32_t interface,
				 const struct gid *mgid);

#endif
