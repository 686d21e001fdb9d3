/* SPDX-License-Identifier: Apache-2.0 */
/* cq.h - completion queues */
#ifndef RVT_CQ_H
#define RVT_CQ_H

#include "rvt/device.h"

enum rvt_cq_arm {
	RVT_CQ_IDLE,
	RVT_CQ_SOLICITED,
	RVT_CQ_NEXT
};

struct rvt_cq {
	struct restrack_entry res;
	struct rvt_device *device;
	struct rvt_context *context;
	struct rvt_wc *ring;
	uint32_t cqe;	     /* entries the program may rely on: at least what it asked for */
	uint32_t ring_size;  /* power of two >= cqe */
	uint32_t head, tail; /* free-running: next in, next out */
	uint32_t reported;   /* entries before this one had their event */
	enum rvt_cq_arm armed;
	bool dead;	     /* overran; CQ_ERR was raised once */
	bool ignore_overrun; /* IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN */
	uint32_t users;	     /* QPs and SRQs */
	void *owner;
};

/** rvt_create_cq() - ibv_create_cq(3). -EINVAL for 0 or more than max_cqe entries, -ENOMEM. */
int rvt_create_cq(struct rvt_context *context, uint32_t cqe, struct rvt_cq **ret) MUST_USE;
/** rvt_destroy_cq() - -EBUSY with users. */
int rvt_destroy_cq(struct rvt_cq *cq) MUST_USE;
/** rvt_use_cq() - one user more (1) or less (-1). */
void rvt_use_cq(struct rvt_cq *cq, int delta);
/** rvt_resize_cq() - entries are kept. -EINVAL when they would not fit or the size is not allowed,
 * -ENOMEM. */
int rvt_resize_cq(struct rvt_cq *cq, uint32_t cqe) MUST_USE;

/** rvt_poll_cq() - take up to @count completions. Return: how many, or -EIO on a dead CQ once it is
 * empty. */
int rvt_poll_cq(struct rvt_cq *cq, uint32_t count, struct rvt_wc *wc);
static inline uint32_t rvt_cq_entries(const struct rvt_cq *cq)
{
	return cq->head - cq->tail;
}
/** rvt_cq_peek() - the oldest completion, or NULL; valid until rvt_cq_consume(). */
const struct rvt_wc *rvt_cq_peek(const struct rvt_cq *cq);
void rvt_cq_consume(struct rvt_cq *cq);

/**
 * rvt_arm_cq() - ibv_req_notify_cq(3): one event at the next completion (with @solicited_only: at
 * the next that is solicited or in error). One that came since the last event and is unpolled fires
 * at once, so a program that arms late misses nothing; one that had its event already does not fire
 * again. Arming for NEXT replaces SOLICITED, never the reverse.
 */
void rvt_arm_cq(struct rvt_cq *cq, bool solicited_only);

/**
 * rvt_cq_enter() - queue a completion; stamps it. @wc->solicited or an error status wakes SOLICITED
 * arming. Return: false when the CQ overran: it is dead, CQ_ERR was raised, and the caller moves
 * its QP to error.
 */
bool rvt_cq_enter(struct rvt_cq *cq, const struct rvt_wc *wc) MUST_USE;
/** rvt_cq_clean() - drop the unpolled completions of a QP (destroy and RESET; hardware libraries
 * do). */
void rvt_cq_clean(struct rvt_cq *cq, uint32_t qpn);

#endif
