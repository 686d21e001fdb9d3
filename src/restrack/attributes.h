/* SPDX-License-Identifier: Apache-2.0 */
/* attributes.h - what each slot of a tracked object's attributes means; part of the ledger's format
 */
#ifndef RESTRACK_ATTRIBUTES_H
#define RESTRACK_ATTRIBUTES_H

/* Owner, type, id, context and device stand in the record itself. Append only. */

enum restrack_ctx_attribute {
	RESTRACK_CTX_ASYNC_EVENTS, /* raised so far */
};

enum restrack_pd_attribute {
	RESTRACK_PD_USERS, /* MRs, QPs, SRQs, AHs */
};

/* Of memory windows too; they have no lkey. */
enum restrack_mr_attribute {
	RESTRACK_MR_RKEY,
	RESTRACK_MR_LKEY,
	RESTRACK_MR_LENGTH,
	RESTRACK_MR_IOVA,
	RESTRACK_MR_PDN,
	RESTRACK_MR_ACCESS, /* enum rvt_access, the values of IBV_ACCESS_* */
	RESTRACK_MR_GENERATION,
	RESTRACK_MR_REFERENCES,
};

enum restrack_cq_attribute {
	RESTRACK_CQ_CQE,
	RESTRACK_CQ_USERS,	 /* QPs and SRQs */
	RESTRACK_CQ_COMPLETIONS, /* entered so far */
	RESTRACK_CQ_EVENTS,
	RESTRACK_CQ_DEAD, /* 1: overran */
};

enum restrack_qp_attribute {
	RESTRACK_QP_TYPE,  /* enum rvt_qp_type, the values of IBV_QPT_* */
	RESTRACK_QP_STATE, /* enum rvt_qp_state, the values of IBV_QPS_* */
	RESTRACK_QP_RQPN,
	RESTRACK_QP_RQ_PSN,
	RESTRACK_QP_SQ_PSN,
	RESTRACK_QP_PATH_MTU, /* bytes */
	RESTRACK_QP_PDN,
	RESTRACK_QP_SEND_CQN,
	RESTRACK_QP_RECV_CQN,
	RESTRACK_QP_SRQN, /* 0: none */
	RESTRACK_QP_MAX_SEND_WR,
	RESTRACK_QP_MAX_RECV_WR,
	RESTRACK_QP_SENDS,   /* completed send work requests */
	RESTRACK_QP_RECVS,   /* completed receives */
	RESTRACK_QP_RETRIES, /* timeouts and sequence NAKs that made it go back */
	RESTRACK_QP_RNR,     /* RNR NAKs received */
	RESTRACK_QP_CAUSE,   /* enum rvt_verdict of the last error, 0: none */
};

enum restrack_srq_attribute {
	RESTRACK_SRQ_TYPE, /* 0: basic, 1: XRC */
	RESTRACK_SRQ_PDN,
	RESTRACK_SRQ_MAX_WR,
	RESTRACK_SRQ_MAX_SGE,
	RESTRACK_SRQ_LIMIT,
	RESTRACK_SRQ_USERS, /* QPs */
	RESTRACK_SRQ_CQN,   /* of XRC; 0: none */
};

enum restrack_ah_attribute {
	RESTRACK_AH_PDN,
};

#endif
