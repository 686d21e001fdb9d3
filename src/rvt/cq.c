/* SPDX-License-Identifier: Apache-2.0 */
/* cq.c - completion queues */
#include "rvt/cq.h"

#include <errno.h>
#include <string.h>

#define MIN_ENTRIES 16 /* as NICs round up, and some programs need */

static uint32_t ring_size(uint32_t n)
{
	uint32_t size = MIN_ENTRIES;

	while (size < n)
		size <<= 1;
	return size;
}

int rvt_create_cq(struct rvt_context *context, uint32_t cqe, struct rvt_cq **ret)
{
	struct rvt_device *device = context->device;
	struct rvt_cq *cq;

	if (!cqe || cqe > rvt_limits.max_cqe)
		return rvt_refuse(device, RVT_BAD_ARGUMENT, NULL, cqe, rvt_limits.max_cqe);
	cq = allocator_get(device->allocator, sizeof(*cq));
	if (!cq)
		return rvt_refuse(device, RVT_NO_MEMORY, NULL, 0, 0);
	cq->device = device;
	cq->context = context;
	cq->ring_size = ring_size(cqe);
	cq->cqe = cq->ring_size < rvt_limits.max_cqe ? cq->ring_size : rvt_limits.max_cqe;
	cq->ring = allocator_get(device->allocator, cq->ring_size * sizeof(*cq->ring));
	restrack_new(&cq->res, RESTRACK_CQ);
	restrack_parent_name(&cq->res, &context->res);
	if (!cq->ring || restrack_add(device->restrack, &cq->res)) {
		allocator_put(device->allocator, cq->ring);
		allocator_put(device->allocator, cq);
		return rvt_refuse(device, RVT_NO_MEMORY, NULL, 0, 0);
	}
	restrack_set(&cq->res, RESTRACK_CQ_CQE, cq->cqe);
	*ret = cq;
	return 0;
}

int rvt_destroy_cq(struct rvt_cq *cq)
{
	if (cq->users)
		return rvt_refuse(cq->device, RVT_IN_USE, &cq->res, cq->users, 0);
	ASSERT(!restrack_del(&cq->res));
	allocator_put(cq->device->allocator, cq->ring);
	allocator_put(cq->device->allocator, cq);
	return 0;
}

void rvt_use_cq(struct rvt_cq *cq, int delta)
{
	cq->users = (uint32_t)((int)cq->users + delta);
	restrack_set(&cq->res, RESTRACK_CQ_USERS, cq->users);
}

static struct rvt_wc *slot(const struct rvt_cq *cq, uint32_t index)
{
	return &cq->ring[index & (cq->ring_size - 1)];
}

int rvt_resize_cq(struct rvt_cq *cq, uint32_t cqe)
{
	uint32_t size, count = rvt_cq_entries(cq);
	struct rvt_wc *ring;

	if (!cqe || cqe > rvt_limits.max_cqe || cqe < count)
		return rvt_refuse(cq->device, RVT_BAD_ARGUMENT, &cq->res, cqe,
				  cqe < count ? count : rvt_limits.max_cqe);
	size = ring_size(cqe);
	ring = allocator_get(cq->device->allocator, size * sizeof(*ring));
	if (!ring)
		return rvt_refuse(cq->device, RVT_NO_MEMORY, &cq->res, 0, 0);
	for (uint32_t i = 0; i < count; i++)
		ring[i] = *slot(cq, cq->tail + i);
	allocator_put(cq->device->allocator, cq->ring);
	cq->ring = ring;
	cq->ring_size = size;
	cq->cqe = size < rvt_limits.max_cqe ? size : rvt_limits.max_cqe;
	cq->reported -= cq->tail;
	cq->tail = 0;
	cq->head = count;
	restrack_set(&cq->res, RESTRACK_CQ_CQE, cq->cqe);
	return 0;
}

const struct rvt_wc *rvt_cq_peek(const struct rvt_cq *cq)
{
	return rvt_cq_entries(cq) ? slot(cq, cq->tail) : NULL;
}

/* What was taken needs no event any more: tail <= reported <= head, or the distance between them
 * would have no meaning after 2^31 completions. */
static void taken(struct rvt_cq *cq)
{
	if ((int32_t)(cq->tail - cq->reported) > 0)
		cq->reported = cq->tail;
}

void rvt_cq_consume(struct rvt_cq *cq)
{
	ASSERT(rvt_cq_entries(cq));
	cq->tail++;
	taken(cq);
}

int rvt_poll_cq(struct rvt_cq *cq, uint32_t count, struct rvt_wc *wc)
{
	uint32_t n = 0;

	while (n < count && rvt_cq_entries(cq))
		wc[n++] = *slot(cq, cq->tail++);
	taken(cq);
	return !n && count && cq->dead ? -EIO : (int)n;
}

/* An error counts as solicited: the program must learn of it (IBTA 11.4.2.2). */
static bool wakes(const struct rvt_cq *cq, const struct rvt_wc *wc)
{
	return cq->armed == RVT_CQ_NEXT ||
	       (cq->armed == RVT_CQ_SOLICITED && (wc->solicited || wc->status != RVT_WC_SUCCESS));
}

static void fire(struct rvt_cq *cq)
{
	cq->armed = RVT_CQ_IDLE;
	cq->reported = cq->head;
	restrack_adjust(&cq->res, RESTRACK_CQ_EVENTS, 1);
	cq->device->observer->cq_event(cq->device->observer->context, cq);
}

void rvt_arm_cq(struct rvt_cq *cq, bool solicited_only)
{
	if (cq->armed != RVT_CQ_NEXT)
		cq->armed = solicited_only ? RVT_CQ_SOLICITED : RVT_CQ_NEXT;
	for (uint32_t i = cq->reported; i != cq->head; i++) {
		if (wakes(cq, slot(cq, i))) {
			fire(cq);
			return;
		}
	}
}

bool rvt_cq_enter(struct rvt_cq *cq, const struct rvt_wc *wc)
{
	struct rvt_wc *entry;

	if (cq->dead)
		return false;
	if (rvt_cq_entries(cq) >= cq->cqe) {
		if (cq->ignore_overrun) {
			cq->tail++;
			taken(cq);
		} else {
			cq->dead = true;
			restrack_set(&cq->res, RESTRACK_CQ_DEAD, 1);
			rvt_refuse(cq->device, RVT_CQ_OVERRUN, &cq->res, cq->res.id, cq->cqe);
			cq->device->observer->async_event(cq->device->observer->context,
							  RVT_EVENT_CQ_ERR, NULL, cq, NULL);
			return false;
		}
	}
	entry = slot(cq, cq->head++);
	*entry = *wc;
	entry->timestamp_ns = cq->device->now_ns;
	restrack_adjust(&cq->res, RESTRACK_CQ_COMPLETIONS, 1);
	if (cq->armed != RVT_CQ_IDLE && wakes(cq, wc))
		fire(cq);
	return true;
}

void rvt_cq_clean(struct rvt_cq *cq, uint32_t qpn)
{
	uint32_t keep = cq->tail, reported = cq->reported;

	for (uint32_t i = cq->tail; i != cq->head; i++) {
		if (slot(cq, i)->qp_num == qpn) {
			if ((int32_t)(cq->reported - i) > 0)
				reported--;
			continue;
		}
		if (keep != i)
			*slot(cq, keep) = *slot(cq, i);
		keep++;
	}
	cq->head = keep;
	cq->reported = reported;
}
