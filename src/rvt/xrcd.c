/* SPDX-License-Identifier: Apache-2.0 */
/* xrcd.c - XRC domains, and the queue that a request names */
#include "rvt/xrcd.h"

#include <errno.h>

static struct rvt_xrcd *find(struct rvt_device *device, const struct rvt_inode *inode)
{
	struct restrack_entry *e;

	for (uint32_t id = 0; (e = restrack_next(device->restrack, RESTRACK_XRCD, &id)); id++) {
		struct rvt_xrcd *xrcd = container_of(e, struct rvt_xrcd, res);

		if (xrcd->shared && xrcd->inode.device == inode->device &&
		    xrcd->inode.number == inode->number)
			return xrcd;
	}
	return NULL;
}

int rvt_open_xrcd(struct rvt_device *device, const struct rvt_inode *inode, bool create,
		  bool exclusive, struct rvt_xrcd **ret)
{
	struct rvt_xrcd *xrcd = inode ? find(device, inode) : NULL;

	if (xrcd && create && exclusive)
		return rvt_refuse(device, RVT_XRCD_EXISTS, &xrcd->res, xrcd->opens, 0);
	if (!xrcd && !create)
		return rvt_refuse(device, inode ? RVT_XRCD_NONE : RVT_XRCD_NO_FILE, NULL, 0, 0);
	if (!xrcd) {
		xrcd = allocator_get(device->allocator, sizeof(*xrcd));
		if (!xrcd)
			return rvt_refuse(device, RVT_NO_MEMORY, NULL, 0, 0);
		xrcd->device = device;
		xrcd->shared = inode != NULL;
		if (inode)
			xrcd->inode = *inode;
		restrack_new(&xrcd->res, RESTRACK_XRCD);
		if (restrack_add(device->restrack, &xrcd->res)) {
			allocator_put(device->allocator, xrcd);
			return rvt_refuse(device, RVT_NO_MEMORY, NULL, 0, 0);
		}
	}
	xrcd->opens++;
	*ret = xrcd;
	return 0;
}

int rvt_close_xrcd(struct rvt_xrcd *xrcd)
{
	if (xrcd->opens == 1 && xrcd->users)
		return rvt_refuse(xrcd->device, RVT_IN_USE, &xrcd->res, xrcd->users, 0);
	if (--xrcd->opens)
		return 0;
	ASSERT(!restrack_del(&xrcd->res));
	allocator_put(xrcd->device->allocator, xrcd);
	return 0;
}

void rvt_use_xrcd(struct rvt_xrcd *xrcd, int delta)
{
	xrcd->users = (uint32_t)((int)xrcd->users + delta);
}

bool rvt_xrc_target(struct rvt_qp *qp, uint32_t srqn)
{
	struct restrack_entry *e;
	struct rvt_srq *srq = qp->srq;

	if (!srq || srq->res.id != srqn) {
		e = table_find(&qp->device->restrack->tables[RESTRACK_SRQ], srqn);
		if (!e)
			return false;
		srq = container_of(e, struct rvt_srq, res);
		if (!srq->xrcd || srq->xrcd != qp->xrcd)
			return false;
	}
	qp->srq = srq;
	qp->pd = srq->pd;
	qp->recv_cq = srq->cq;
	return true;
}

void rvt_xrc_leave(struct rvt_qp *qp, const struct rvt_srq *srq)
{
	if (qp->type != RVT_QPT_XRC_TGT)
		return;
	if (qp->receive.taken && (!srq || qp->receive.srq == srq)) {
		rvt_sge_list_put(&qp->receive.list);
		qp->receive.taken = false;
	}
	if (srq && qp->srq != srq)
		return;
	qp->srq = NULL;
	qp->pd = NULL;
	qp->recv_cq = NULL;
}
