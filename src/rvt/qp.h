/* SPDX-License-Identifier: Apache-2.0 */
/* qp.h - queue pairs: life, states, the two work queues, completion and flush; no wire in here */
#ifndef RVT_QP_H
#define RVT_QP_H

#include "rvt/cq.h"
#include "rvt/srq.h"

/* A posted send work request. */
struct rvt_swqe {
	uint64_t wr_id;
	enum rvt_opcode opcode;
	uint32_t flags;	 /* enum rvt_send_flags; SIGNALED set too when the QP signals all */
	uint32_t length; /* of the message */
	uint32_t imm_data;
	uint32_t invalidate_rkey;
	uint32_t psn,
		last_psn; /* of RC and UC: assigned at post; a READ takes one for each response */
	uint32_t ssn;
	uint32_t srqn; /* XRC: that it goes to */
	/* RVT_OK, or why it cannot be carried out: found at post, completed when its turn comes
	 * (IBTA 10.8.2). */
	enum rvt_verdict verdict;
	uint64_t cause1, cause2; /* the values of that verdict */
	struct rvt_sge_list list;
	uint8_t *inline_data; /* not NULL: take the message from here */
	/* Which member is valid follows from the QP's type and the opcode; the AH belongs to UD
	 * alone. */
	union {
		struct {
			uint64_t remote_addr;
			uint32_t rkey;
			struct rvt_flush flush;
		} rdma;
		struct {
			uint64_t remote_addr;
			uint64_t compare_add, swap;
			uint32_t rkey;
		} atomic;
		struct rvt_bind bind; /* window and region referenced from post to completion */
		struct {
			struct rvt_ah *ah; /* referenced from post to completion */
			uint32_t remote_qpn, remote_qkey;
		} ud;
	};
};

/* The receive that the message in progress fills. */
struct rvt_active_receive {
	bool taken;
	uint64_t wr_id;
	struct rvt_cq *cq;   /* that will tell of it */
	struct rvt_srq *srq; /* that it came from, or NULL */
	struct rvt_sge_list list;
	struct rvt_segment segments[RVT_MAX_SGE];
};

/* Embedded as the first member in the transport's own QP. */
struct rvt_qp {
	struct restrack_entry res; /* its id is the QP number */
	struct list_node node;	   /* rvt_device.qp_list */
	struct rvt_device *device;
	struct rvt_context *context;
	struct rvt_pd *pd;
	struct rvt_cq *send_cq, *recv_cq;
	struct rvt_srq *srq;
	struct rvt_xrcd *xrcd; /* XRC_TGT: then PD, CQ and SRQ are those of the last request */
	enum rvt_qp_type type;
	enum rvt_qp_state state;
	bool signal_all;
	bool block_self; /* what it sends to a group does not come back to it */
	bool draining;	 /* SQD, not drained yet */
	bool error_event_raised;
	bool last_wqe_raised;
	struct rvt_qp_attr attr; /* as last set; qp_state is in ->state; ah_attr.sgid resolved */
	struct rvt_qp_cap cap;	 /* as given */
	uint32_t number;
	uint32_t mtu; /* bytes; UD: the port's active MTU */

	/* Send queue. Indices run free; slot = index & (ring size - 1). */
	struct rvt_swqe *swqes;
	struct rvt_segment *segments; /* cap.max_send_sge for each slot */
	uint8_t *inline_buffers;      /* cap.max_inline_data for each slot */
	uint32_t s_size;	      /* power of two */
	uint32_t s_head;	      /* next to be posted */
	uint32_t s_last;	      /* oldest not completed */
	uint32_t s_next_psn, s_next_ssn;

	struct rvt_rq rq;
	struct rvt_active_receive receive;

	struct deadline retry_timer, rnr_timer;
	uint32_t windows; /* of type 2 that are bound by it */
	uint32_t groups;  /* multicast groups it is attached to */
	void *owner;
};

struct rvt_qp_init {
	enum rvt_qp_type type;
	struct rvt_cq *send_cq, *recv_cq;
	struct rvt_srq *srq;
	struct rvt_xrcd *xrcd;	     /* XRC_TGT: instead of a PD and CQs; */
	struct rvt_context *context; /* and this */
	struct rvt_qp_cap cap;
	bool signal_all;
	bool block_self; /* IBV_QP_CREATE_BLOCK_SELF_MCAST_LB */
	void *owner;	 /* set before the transport and observers see the QP */
};

/** rvt_reliable() - acknowledged: RC and XRC. */
static inline bool rvt_reliable(enum rvt_qp_type type)
{
	return type == RVT_QPT_RC || type == RVT_QPT_XRC_INI || type == RVT_QPT_XRC_TGT;
}

/** rvt_create_qp() - ibv_create_qp(3); @pd is NULL for XRC_TGT; init->cap becomes what was given
 * (>= asked). -EINVAL, -ENOMEM, -EOPNOTSUPP */
int rvt_create_qp(struct rvt_pd *pd, struct rvt_qp_init *init, struct rvt_qp **ret) MUST_USE;
/** rvt_destroy_qp() - unpolled completions of the QP are dropped; references are released.
 * -EBUSY while attached to a multicast group. */
int rvt_destroy_qp(struct rvt_qp *qp) MUST_USE;
/** rvt_free_all_qps() - what is left at the end. Return: how many there were. */
unsigned rvt_free_all_qps(struct rvt_device *device);
/** rvt_modify_qp() - ibv_modify_qp(3): the whole transition and mask table of IBTA 10.3; an error
 * changes nothing. */
int rvt_modify_qp(struct rvt_qp *qp, const struct rvt_qp_attr *attr, uint32_t mask) MUST_USE;
/** rvt_query_qp() - every attribute as it is now. */
void rvt_query_qp(const struct rvt_qp *qp, struct rvt_qp_attr *attr);

/** rvt_find_qp() - whom a packet is for; NULL. Not referenced. */
static inline struct rvt_qp *rvt_find_qp(const struct rvt_device *device, uint32_t qpn)
{
	return (struct rvt_qp *)table_find(&device->qps, qpn);
}
/** rvt_qp_iter() - call for every QP; the QP that is passed may be destroyed in @call. */
void rvt_qp_iter(struct rvt_device *device, void (*call)(struct rvt_qp *qp, void *context),
		 void *context);

/**
 * rvt_post_send() - one work request. Refused (negative errno, cause told) for state, opcode,
 * count, queue full. A bad key, range or PD is accepted and completes in error in its turn. Nothing
 * is sent: after the last of a list call rvt_send_pending().
 */
int rvt_post_send(struct rvt_qp *qp, const struct rvt_send_wr *wr) MUST_USE;
/** rvt_send_pending() - let the transport start, or flush when the QP is in error. */
void rvt_send_pending(struct rvt_qp *qp);
/** rvt_post_recv() - one receive. In state ERR it is flushed at once, in order. */
int rvt_post_recv(struct rvt_qp *qp, const struct rvt_recv_wr *wr) MUST_USE;

/**
 * rvt_alloc_qpn() - a free QP number of the process' slot, the next after the one given last, or
 * -ENOSPC, -ENOMEM. rvt_free_qpn() gives it back.
 */
int rvt_alloc_qpn(struct rvt_device *device, uint32_t *ret) MUST_USE;
void rvt_free_qpn(struct rvt_device *device, uint32_t qpn);

/* For the transport. */

/** rvt_local_operation() - carried out here: takes no PSN (last_psn is psn - 1) and sends nothing.
 */
static inline bool rvt_local_operation(enum rvt_opcode opcode)
{
	return opcode == RVT_WR_BIND_MW || opcode == RVT_WR_LOCAL_INV;
}
static inline struct rvt_swqe *rvt_swqe(const struct rvt_qp *qp, uint32_t index)
{
	return &qp->swqes[index & (qp->s_size - 1)];
}
/** rvt_swqe_copy() - @length bytes at @offset of the message of a WQE (inline or gathered) to @to.
 */
enum rvt_verdict rvt_swqe_copy(const struct rvt_qp *qp, const struct rvt_swqe *wqe, uint32_t offset,
			       void *to, uint32_t length);

/**
 * rvt_send_complete() - the oldest WQE (s_last) ends with RVT_OK or a verdict: completion (if
 * signalled or in error), references released, s_last advances. With a verdict the caller decides
 * what the QP does next: rvt_error_qp() for RC, rvt_sqe_qp() for UC and UD.
 */
void rvt_send_complete(struct rvt_qp *qp, enum rvt_verdict verdict);

/**
 * rvt_get_rwqe() - take a receive from the QP's queue or SRQ into qp->receive and check its SGEs
 * for writing. RVT_OK; NO_RECEIVE: none posted; LKEY_*: it was taken, is bad, and ended with that
 * verdict. May raise the SRQ limit event.
 */
enum rvt_verdict rvt_get_rwqe(struct rvt_qp *qp);
/**
 * rvt_recv_complete() - the active receive ends with @wc (its wr_id, qp_num are set here). Overrun
 * of the CQ moves the QP to error. WQEs of messages with immediate that carry no data end here too.
 */
void rvt_recv_complete(struct rvt_qp *qp, struct rvt_wc *wc);
/** rvt_recv_fail() - the active receive (if any) ends with the verdict's status. */
void rvt_recv_fail(struct rvt_qp *qp, enum rvt_verdict verdict);
/**
 * rvt_error_qp() - to ERR: transport stopped, active receive and both queues flushed in order, the
 * event of the verdict raised (once), LAST_WQE_REACHED for SRQ users. Harmless in ERR and RESET.
 */
void rvt_error_qp(struct rvt_qp *qp, enum rvt_verdict verdict);
/** rvt_sqe_qp() - UC and UD: the send queue alone is in error and flushed. */
void rvt_sqe_qp(struct rvt_qp *qp);
/** rvt_comm_est() - first packet in RTR: COMM_EST. */
void rvt_comm_est(struct rvt_qp *qp);
/** rvt_sq_drained() - the transport has nothing outstanding in SQD: SQ_DRAINED if asked for. */
void rvt_sq_drained(struct rvt_qp *qp);

#endif
