/* SPDX-License-Identifier: Apache-2.0 */
/* srq.h - receive queues, a QP's own or shared */
#ifndef RVT_SRQ_H
#define RVT_SRQ_H

#include "rvt/sge.h"

/* A posted receive, unchecked: keys are checked when a message takes it, as hardware does. */
struct rvt_rwqe {
	uint64_t wr_id;
	uint32_t num_sge;
	uint32_t length;       /* sum, saturated at UINT32_MAX */
	struct rvt_sge sges[]; /* max_sge of them */
};

struct rvt_rq {
	uint8_t *ring;
	uint32_t entry_size;
	uint32_t max_wr, max_sge; /* what the program got */
	uint32_t ring_size;	  /* power of two >= max_wr */
	uint32_t head, tail;	  /* free-running */
};

/** rvt_rq_init() - allocate for @max_wr receives of @max_sge SGEs; 0 receives is a valid, always
 * empty queue. */
int rvt_rq_init(struct rvt_rq *rq, struct rvt_device *device, uint32_t max_wr,
		uint32_t max_sge) MUST_USE;
void rvt_rq_deinit(struct rvt_rq *rq, struct rvt_device *device);
static inline uint32_t rvt_rq_count(const struct rvt_rq *rq)
{
	return rq->head - rq->tail;
}
/** rvt_rq_post() - RVT_OK, QUEUE_FULL or POST_SGE_COUNT. Copies the SGEs. */
enum rvt_verdict rvt_rq_post(struct rvt_rq *rq, const struct rvt_recv_wr *wr);
/** rvt_rq_peek() - the oldest posted receive or NULL; rvt_rq_pop() takes it off. */
const struct rvt_rwqe *rvt_rq_peek(const struct rvt_rq *rq);
void rvt_rq_pop(struct rvt_rq *rq);

struct rvt_xrcd;
struct rvt_cq;

struct rvt_srq {
	struct restrack_entry res;
	struct rvt_device *device;
	struct rvt_context *context;
	struct rvt_pd *pd;
	struct rvt_xrcd *xrcd; /* of type XRC, or NULL; its number is its id */
	struct rvt_cq *cq;     /* XRC */
	struct rvt_rq rq;
	uint32_t limit; /* 0: not armed */
	uint32_t users; /* QPs */
	void *owner;
};

/** rvt_create_srq() - ibv_create_srq(3); *max_wr and *max_sge become what was given (>= asked).
 * -EINVAL, -ENOMEM */
int rvt_create_srq(struct rvt_pd *pd, uint32_t *max_wr, uint32_t *max_sge, uint32_t limit,
		   struct rvt_srq **ret) MUST_USE;
/** rvt_create_xrc_srq() - the same, of type XRC: completions go to @cq. */
int rvt_create_xrc_srq(struct rvt_pd *pd, struct rvt_xrcd *xrcd, struct rvt_cq *cq,
		       uint32_t *max_wr, uint32_t *max_sge, struct rvt_srq **ret) MUST_USE;
/** rvt_destroy_srq() - -EBUSY with QPs. */
int rvt_destroy_srq(struct rvt_srq *srq) MUST_USE;
/** rvt_use_srq() - one user more (1) or less (-1). */
void rvt_use_srq(struct rvt_srq *srq, int delta);
enum rvt_srq_mask {
	RVT_SRQ_MAX_WR = 1,
	RVT_SRQ_LIMIT = 2
};
/** rvt_modify_srq() - ibv_modify_srq(3): resize (posted receives stay) and arm the limit event.
 * -EINVAL, -ENOMEM */
int rvt_modify_srq(struct rvt_srq *srq, uint32_t mask, uint32_t max_wr, uint32_t limit) MUST_USE;
/** rvt_post_srq_recv() - one receive. 0 or a negative errno, cause told. */
int rvt_post_srq_recv(struct rvt_srq *srq, const struct rvt_recv_wr *wr) MUST_USE;
/** rvt_srq_taken() - after a pop: raises SRQ_LIMIT_REACHED once when fewer than limit are left. */
void rvt_srq_taken(struct rvt_srq *srq);

#endif
