/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xrcd.h - XRC domains: what queue pairs without a receive queue and shared receive queues without
 * a queue pair have in common (IBTA 10.2.10)
 *
 * A queue pair of type XRC_TGT belongs to a domain and to no PD. Each request names a shared
 * receive queue of the domain; its receives, its CQ and its PD are the ones that count for that
 * request.
 */
#ifndef RVT_XRCD_H
#define RVT_XRCD_H

#include "rvt/qp.h"
#include "rvt/srq.h"

/* The file that a domain is shared by. */
struct rvt_inode {
	uint64_t device, number;
};

struct rvt_xrc_domain {
	struct list_node node; /* rvt_device.xrc_domains */
	const struct rvt_port *port;
	bool shared; /* by whoever opens the same file on the same device */
	struct rvt_inode inode;
	uint32_t opens;
};

/* One opening of a domain; it ends with its context. */
struct rvt_xrcd {
	struct restrack_entry res;
	struct rvt_context *context;
	struct rvt_xrc_domain *domain;
	uint32_t users; /* SRQs and XRC_TGT queue pairs */
};

/**
 * rvt_open_xrcd() - ibv_open_xrcd(3): the domain of @inode, which is made when there is none and
 * @create is set; NULL for a domain of its own, which needs @create. Processes do not share it.
 * -EAGAIN: there is none; -EINVAL: there is one and @exclusive is set, or neither @inode nor
 * @create; -ENOMEM.
 */
int rvt_open_xrcd(struct rvt_context *context, const struct rvt_inode *inode, bool create,
		  bool exclusive, struct rvt_xrcd **ret) MUST_USE;
/** rvt_close_xrcd() - the last opening ends the domain. -EBUSY with users of this opening. */
int rvt_close_xrcd(struct rvt_xrcd *xrcd) MUST_USE;
void rvt_use_xrcd(struct rvt_xrcd *xrcd, int delta);
/** rvt_move_target() - @qp, an XRC_TGT, goes on through another opening of its domain, which counts
 * it as a user already; the old one does no more. Its context is that of the opening. */
void rvt_move_target(struct rvt_qp *qp, struct rvt_xrcd *xrcd);

/**
 * rvt_xrc_target() - a request for @qp, an XRC_TGT, names the queue @srqn: its queue, CQ and PD are
 * those of @qp until the next one. Return: false when the domain has no such queue.
 */
bool rvt_xrc_target(struct rvt_qp *qp, uint32_t srqn);
/** rvt_xrc_leave() - @qp forgets @srq, which goes; with NULL: whichever it used last. */
void rvt_xrc_leave(struct rvt_qp *qp, const struct rvt_srq *srq);

#endif
