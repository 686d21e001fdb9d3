/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resource.c - the latest READs and atomics, which may be asked for again
 *
 * A ring of exactly max_dest_rd_atomic: the requester keeps no more outstanding, so whoever sends a
 * newer one beyond that has the answer of the oldest.
 */
#include "roce/qp.h"
#include "rvt/mw.h"
#include "rvt/xrcd.h"
#include "wire/psn.h"

int roce_responder_init(struct roce_qp *qp)
{
	roce_responder_deinit(qp);
	return 0;
}

void roce_responder_deinit(struct roce_qp *qp)
{
	roce_responder_stop(qp);
	allocator_put(qp->engine->device->allocator, qp->responder.resources);
	qp->responder = (struct roce_responder){ 0 };
}

void roce_responder_resize(struct roce_qp *qp)
{
	struct roce_responder *r = &qp->responder;
	const struct allocator *allocator = qp->engine->device->allocator;
	uint32_t count = qp->rvt.attr.max_dest_rd_atomic, kept = 0;
	struct roce_resource *fresh = NULL;

	if (count > ROCE_MAX_RESOURCES)
		count = ROCE_MAX_RESOURCES;
	if (count == r->resource_count)
		return;
	if (count)
		fresh = (struct roce_resource *)allocator_get(allocator, count * sizeof(*fresh));
	if (count && !fresh) {
		roce_tell(qp->engine, RVT_NO_MEMORY, &qp->rvt.res, 0, 0);
		rvt_error_qp(&qp->rvt, RVT_NO_MEMORY);
		return;
	}
	for (uint32_t i = 0; i < r->resource_count; i++) {
		struct roce_resource *old =
			&r->resources[(r->resource_head + i) % r->resource_count];

		if (r->resource_count - i <= count)
			fresh[kept++] = *old;
		else if (old->active)
			roce_resource_finish(qp, old);
	}
	allocator_put(allocator, r->resources);
	r->resources = fresh;
	r->resource_count = count;
	r->resource_head = count ? kept % count : 0;
	r->first_active = kept == count ? r->resource_head : 0;
}

void roce_responder_start(struct roce_qp *qp)
{
	qp->responder.psn = qp->rvt.attr.rq_psn & PSN_MASK;
	qp->responder.msn = 0;
	roce_responder_resize(qp);
}

void roce_responder_stop(struct roce_qp *qp)
{
	struct roce_responder *r = &qp->responder;

	for (uint32_t i = 0; i < r->resource_count; i++) {
		if (r->resources[i].active)
			roce_resource_finish(qp, &r->resources[i]);
		r->resources[i].kind = ROCE_RESOURCE_FREE;
	}
	rvt_put_mr(r->mr);
	r->mr = NULL;
	r->in_message = false;
	r->nak_pending = false;
	r->ack_owed = false;
}

struct roce_resource *roce_resource_claim(struct roce_qp *qp)
{
	struct roce_responder *r = &qp->responder;
	struct roce_resource *resource;

	if (!r->resource_count)
		return NULL;
	resource = &r->resources[r->resource_head];
	if (resource->active) {
		if (!resource->replay)
			return NULL;
		/* A late copy asked for it: who asks for a new one has the answer. */
		roce_resource_finish(qp, resource);
	}
	if (r->active && r->first_active == r->resource_head)
		r->first_active = (r->resource_head + 1) % r->resource_count;
	r->resource_head = (r->resource_head + 1) % r->resource_count;
	*resource = (struct roce_resource){ 0 };
	return resource;
}

/* 0 is the oldest. */
static uint32_t age_rank(const struct roce_responder *r, uint32_t index)
{
	return (index + r->resource_count - r->resource_head) % r->resource_count;
}

void roce_resource_activate(struct roce_qp *qp, struct roce_resource *resource, uint32_t psn)
{
	struct roce_responder *r = &qp->responder;
	uint32_t index = (uint32_t)(resource - r->resources);

	resource->psn = psn;
	resource->start_psn = psn;
	if (!resource->active) {
		resource->active = true;
		if (!r->active++ || age_rank(r, index) < age_rank(r, r->first_active))
			r->first_active = index;
	}
	roce_qp_ready(qp);
}

void roce_resource_finish(struct roce_qp *qp, struct roce_resource *resource)
{
	ASSERT(resource->active && qp->responder.active);
	resource->active = false;
	qp->responder.active--;
	rvt_put_mr(resource->mr);
	resource->mr = NULL;
}

struct roce_resource *roce_resource_first(struct roce_qp *qp)
{
	struct roce_responder *r = &qp->responder;

	if (!r->active)
		return NULL;
	for (uint32_t i = 0; i < r->resource_count; i++) {
		struct roce_resource *resource = &r->resources[r->first_active];

		if (resource->active)
			return resource;
		r->first_active = (r->first_active + 1) % r->resource_count;
	}
	report_fatal(__FILE__, __LINE__, "an active resource is in the ring");
}

/* May @packet, a READ request at a PSN of @resource, be its answer again from there on? */
static bool is_suffix(const struct roce_qp *qp, const struct roce_resource *resource,
		      const struct packet *packet)
{
	uint64_t skipped = (uint64_t)psn_distance(resource->first_psn, packet->psn)
			   << qp->mtu_shift;

	return packet->reth.rkey == resource->rkey && packet->reth.va == resource->va + skipped &&
	       packet->reth.length + skipped == resource->length;
}

struct roce_resource *roce_resource_find(struct roce_qp *qp, const struct packet *packet)
{
	struct roce_responder *r = &qp->responder;
	bool read = packet->info->operation == OPERATION_READ_REQUEST;
	bool write = packet->info->operation == OPERATION_ATOMIC_WRITE;
	bool flush = packet->info->operation == OPERATION_FLUSH;

	for (uint32_t i = 0; i < r->resource_count; i++) {
		struct roce_resource *resource = &r->resources[i];
		uint32_t at = psn_distance(resource->first_psn, packet->psn);

		if (resource->kind == ROCE_RESOURCE_FREE ||
		    at > psn_distance(resource->first_psn, resource->last_psn))
			continue;
		if (read && resource->kind == ROCE_RESOURCE_READ && is_suffix(qp, resource, packet))
			return resource;
		if (write && resource->kind == ROCE_RESOURCE_ATOMIC_WRITE &&
		    packet->reth.va == resource->va && packet->reth.rkey == resource->rkey)
			return resource;
		if (flush && resource->kind == ROCE_RESOURCE_FLUSH &&
		    packet->reth.va == resource->va && packet->reth.rkey == resource->rkey &&
		    packet->reth.length == resource->length)
			return resource;
		if (!read && !write && !flush && resource->kind == ROCE_RESOURCE_ATOMIC &&
		    packet->atomic.va == resource->va && packet->atomic.rkey == resource->rkey)
			return resource;
	}
	return NULL;
}

enum rvt_verdict roce_recheck_mr(struct roce_qp *qp, struct roce_resource *resource)
{
	enum rvt_verdict verdict;
	uint64_t address;
	struct rvt_mr *mr;

	if (!resource->length)
		return RVT_OK;
	if (qp->rvt.type == RVT_QPT_XRC_TGT && !rvt_xrc_target(&qp->rvt, resource->srqn))
		return RVT_XRC_SRQ;
	verdict = rvt_qp_rkey_ok(&qp->rvt, resource->rkey, resource->va, resource->length,
				 RVT_ACCESS_REMOTE_READ, &mr, &address);
	if (verdict != RVT_OK)
		return verdict;
	/* The key is the same and the rights suffice, but it is not the registration that was read
	 * first: what the peer would get is not what it asked for. */
	if (mr->generation != resource->generation) {
		rvt_put_mr(mr);
		return RVT_RKEY_CHANGED;
	}
	resource->mr = mr;
	resource->address = address;
	return RVT_OK;
}
