/* SPDX-License-Identifier: Apache-2.0 */
/* context.c - one opening of a device, and all that was made in it */
#include <errno.h>

#include "rvt/cq.h"
#include "rvt/device.h"
#include "rvt/mcast.h"
#include "rvt/mw.h"
#include "rvt/qp.h"
#include "rvt/srq.h"
#include "rvt/xrcd.h"

int rvt_context_open(struct rvt_device *device, struct rvt_port *port, struct rvt_context **ret)
{
	struct rvt_context *context = allocator_get(device->allocator, sizeof(*context));
	int err;

	if (!context)
		return rvt_refuse(device, RVT_NO_MEMORY, NULL, 0, 0);
	context->device = device;
	context->port = port;
	restrack_new(&context->res, RESTRACK_CTX);
	restrack_set_port(&context->res, port->index);
	err = restrack_add(device->restrack, &context->res);
	if (err) {
		allocator_put(device->allocator, context);
		return rvt_refuse(device, RVT_NO_MEMORY, NULL, 0, 0);
	}
	*ret = context;
	return 0;
}

/* Call for each object of a type in the context; the object may go in the call. */
static unsigned for_each(struct rvt_context *context, enum restrack_type type,
			 void (*call)(struct restrack_entry *))
{
	struct restrack_entry *e;
	unsigned count = 0;

	for (uint32_t id = 0; (e = restrack_next(context->device->restrack, type, &id)); id++) {
		if (e->context == &context->res) {
			call(e);
			count++;
		}
	}
	return count;
}

/* In this order nothing is in use when its turn comes. */

static void end_qp(struct restrack_entry *e)
{
	struct rvt_qp *qp = container_of(e, struct rvt_qp, res);

	rvt_leave_mcast(qp);
	ASSERT(!rvt_destroy_qp(qp));
}

static void end_srq(struct restrack_entry *e)
{
	ASSERT(!rvt_destroy_srq(container_of(e, struct rvt_srq, res)));
}

static void end_xrcd(struct restrack_entry *e)
{
	struct rvt_xrcd *xrcd = container_of(e, struct rvt_xrcd, res);

	/* All that is left are handles of a queue pair that went. */
	xrcd->users = 0;
	ASSERT(!rvt_close_xrcd(xrcd));
}

static void end_cq(struct restrack_entry *e)
{
	ASSERT(!rvt_destroy_cq(container_of(e, struct rvt_cq, res)));
}

static void end_ah(struct restrack_entry *e)
{
	ASSERT(!rvt_destroy_ah(container_of(e, struct rvt_ah, res)));
}

static void end_mw(struct restrack_entry *e)
{
	struct rvt_mr *mr = container_of(e, struct rvt_mr, res);

	ASSERT(!rvt_dealloc_mw(container_of(mr, struct rvt_mw, mr)));
}

static void end_mr(struct restrack_entry *e)
{
	ASSERT(!rvt_dereg_mr(container_of(e, struct rvt_mr, res)));
}

static void end_pd(struct restrack_entry *e)
{
	ASSERT(!rvt_dealloc_pd(container_of(e, struct rvt_pd, res)));
}

static void leave_it(struct restrack_entry *e)
{
	(void)e;
}

unsigned rvt_context_objects(struct rvt_context *context)
{
	static const enum restrack_type types[] = { RESTRACK_QP, RESTRACK_SRQ, RESTRACK_CQ,
						    RESTRACK_AH, RESTRACK_MW,  RESTRACK_MR,
						    RESTRACK_PD, RESTRACK_XRCD };
	unsigned count = 0;

	for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		count += for_each(context, types[i], leave_it);
	return count;
}

unsigned rvt_context_close(struct rvt_context *context)
{
	unsigned left = for_each(context, RESTRACK_QP, end_qp);

	left += for_each(context, RESTRACK_SRQ, end_srq);
	left += for_each(context, RESTRACK_XRCD, end_xrcd);
	left += for_each(context, RESTRACK_CQ, end_cq);
	left += for_each(context, RESTRACK_AH, end_ah);
	left += for_each(context, RESTRACK_MW, end_mw);
	left += for_each(context, RESTRACK_MR, end_mr);
	left += for_each(context, RESTRACK_PD, end_pd);
	ASSERT(!restrack_del(&context->res));
	allocator_put(context->device->allocator, context);
	return left;
}
