/* SPDX-License-Identifier: Apache-2.0 */
/* xrcd.c - XRC domains, and the queue that a request names */
#include "rvt/xrcd.h"

#include <errno.h>

static struct rvt_xrc_domain *find(const struct rvt_context *context, const struct rvt_inode *inode)
{
	list_for_each(node, &context->device->xrc_domains) {
		struct rvt_xrc_domain *domain = list_entry(node, struct rvt_xrc_domain, node);

		if (domain->shared && domain->port == context->port &&
		    domain->inode.device == inode->device && domain->inode.number == inode->number)
			return domain;
	}
	return NULL;
}

static struct rvt_xrc_domain *new_domain(const struct rvt_context *context,
					 const struct rvt_inode *inode)
{
	struct rvt_device *device = context->device;
	struct rvt_xrc_domain *domain = allocator_get(device->allocator, sizeof(*domain));

	if (!domain)
		return NULL;
	domain->port = context->port;
	domain->shared = inode != NULL;
	if (inode)
		domain->inode = *inode;
	list_append(&device->xrc_domains, &domain->node);
	return domain;
}

static void put_domain(struct rvt_device *device, struct rvt_xrc_domain *domain)
{
	if (!domain || domain->opens)
		return;
	list_unlink(&domain->node);
	allocator_put(device->allocator, domain);
}

int rvt_open_xrcd(struct rvt_context *context, const struct rvt_inode *inode, bool create,
		  bool exclusive, struct rvt_xrcd **ret)
{
	struct rvt_xrc_domain *domain = inode ? find(context, inode) : NULL;
	struct rvt_device *device = context->device;
	struct rvt_xrcd *xrcd;

	if (domain && create && exclusive)
		return rvt_refuse(device, RVT_XRCD_EXISTS, NULL, domain->opens, 0);
	if (!domain && !create)
		return rvt_refuse(device, inode ? RVT_XRCD_NONE : RVT_XRCD_NO_FILE, NULL, 0, 0);
	if (!domain)
		domain = new_domain(context, inode);
	xrcd = allocator_get(device->allocator, sizeof(*xrcd));
	if (!domain || !xrcd)
		goto no_memory;
	xrcd->context = context;
	xrcd->domain = domain;
	restrack_new(&xrcd->res, RESTRACK_XRCD);
	restrack_parent_name(&xrcd->res, &context->res);
	if (restrack_add(device->restrack, &xrcd->res))
		goto no_memory;
	domain->opens++;
	*ret = xrcd;
	return 0;

no_memory:
	put_domain(device, domain);
	allocator_put(device->allocator, xrcd);
	return rvt_refuse(device, RVT_NO_MEMORY, NULL, 0, 0);
}

int rvt_close_xrcd(struct rvt_xrcd *xrcd)
{
	struct rvt_device *device = xrcd->context->device;

	if (xrcd->users)
		return rvt_refuse(device, RVT_IN_USE, &xrcd->res, xrcd->users, 0);
	ASSERT(!restrack_del(&xrcd->res));
	xrcd->domain->opens--;
	put_domain(device, xrcd->domain);
	allocator_put(device->allocator, xrcd);
	return 0;
}

void rvt_use_xrcd(struct rvt_xrcd *xrcd, int delta)
{
	xrcd->users = (uint32_t)((int)xrcd->users + delta);
}

void rvt_move_target(struct rvt_qp *qp, struct rvt_xrcd *xrcd)
{
	ASSERT(qp->xrcd->domain == xrcd->domain);
	rvt_use_xrcd(qp->xrcd, -1);
	qp->xrcd = xrcd;
	if (qp->context == xrcd->context)
		return;
	qp->context = xrcd->context;
	restrack_move(&qp->res, &qp->context->res);
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
		if (!srq->xrcd || srq->xrcd->domain != qp->xrcd->domain)
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
