/* SPDX-License-Identifier: Apache-2.0 */
/* types.h - the values that verbs are made of; numbers equal those of the verbs ABI (checked in
 * verbs/) */
#ifndef RVT_TYPES_H
#define RVT_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/gid.h"

#define RVT_MAX_SGE	32
#define RVT_MAX_INLINE	1024
#define RVT_MAX_MESSAGE (1u << 31)
#define RVT_PSN_WINDOW	(1u << 23)

enum rvt_qp_type {
	RVT_QPT_RC = 2,
	RVT_QPT_UC = 3,
	RVT_QPT_UD = 4,
	RVT_QPT_XRC_INI = 9,
	RVT_QPT_XRC_TGT = 10,
};

enum rvt_qp_state {
	RVT_QPS_RESET,
	RVT_QPS_INIT,
	RVT_QPS_RTR,
	RVT_QPS_RTS,
	RVT_QPS_SQD,
	RVT_QPS_SQE,
	RVT_QPS_ERR,
	RVT_QPS_COUNT,
};

enum rvt_mtu {
	RVT_MTU_256 = 1,
	RVT_MTU_512,
	RVT_MTU_1024,
	RVT_MTU_2048,
	RVT_MTU_4096
};

enum rvt_opcode {
	RVT_WR_RDMA_WRITE = 0,
	RVT_WR_RDMA_WRITE_WITH_IMM = 1,
	RVT_WR_SEND = 2,
	RVT_WR_SEND_WITH_IMM = 3,
	RVT_WR_RDMA_READ = 4,
	RVT_WR_ATOMIC_CMP_AND_SWP = 5,
	RVT_WR_ATOMIC_FETCH_AND_ADD = 6,
	RVT_WR_LOCAL_INV = 7,
	RVT_WR_BIND_MW = 8,
	RVT_WR_SEND_WITH_INV = 9,
	RVT_WR_FLUSH = 14,
	RVT_WR_ATOMIC_WRITE = 15,
};

enum rvt_send_flags {
	RVT_SEND_FENCE = 1 << 0,
	RVT_SEND_SIGNALED = 1 << 1,
	RVT_SEND_SOLICITED = 1 << 2,
	RVT_SEND_INLINE = 1 << 3,
};

enum rvt_access {
	RVT_ACCESS_LOCAL_WRITE = 1 << 0,
	RVT_ACCESS_REMOTE_WRITE = 1 << 1,
	RVT_ACCESS_REMOTE_READ = 1 << 2,
	RVT_ACCESS_REMOTE_ATOMIC = 1 << 3,
	RVT_ACCESS_MW_BIND = 1 << 4,
	RVT_ACCESS_ZERO_BASED = 1 << 5,
	RVT_ACCESS_ON_DEMAND = 1 << 6,
	RVT_ACCESS_HUGETLB = 1 << 7,
	RVT_ACCESS_FLUSH_GLOBAL = 1 << 8,
	RVT_ACCESS_FLUSH_PERSISTENT = 1 << 9,
	RVT_ACCESS_OPTIONAL_RANGE = 0x3ff00000, /* ignored where unknown */
};

enum rvt_wc_status {
	RVT_WC_SUCCESS,
	RVT_WC_LOC_LEN_ERR,
	RVT_WC_LOC_QP_OP_ERR,
	RVT_WC_LOC_EEC_OP_ERR,
	RVT_WC_LOC_PROT_ERR,
	RVT_WC_WR_FLUSH_ERR,
	RVT_WC_MW_BIND_ERR,
	RVT_WC_BAD_RESP_ERR,
	RVT_WC_LOC_ACCESS_ERR,
	RVT_WC_REM_INV_REQ_ERR,
	RVT_WC_REM_ACCESS_ERR,
	RVT_WC_REM_OP_ERR,
	RVT_WC_RETRY_EXC_ERR,
	RVT_WC_RNR_RETRY_EXC_ERR,
	RVT_WC_LOC_RDD_VIOL_ERR,
	RVT_WC_REM_INV_RD_REQ_ERR,
	RVT_WC_REM_ABORT_ERR,
	RVT_WC_INV_EECN_ERR,
	RVT_WC_INV_EEC_STATE_ERR,
	RVT_WC_FATAL_ERR,
	RVT_WC_RESP_TIMEOUT_ERR,
	RVT_WC_GENERAL_ERR,
};

enum rvt_wc_opcode {
	RVT_WC_SEND = 0,
	RVT_WC_RDMA_WRITE = 1,
	RVT_WC_RDMA_READ = 2,
	RVT_WC_COMP_SWAP = 3,
	RVT_WC_FETCH_ADD = 4,
	RVT_WC_BIND_MW = 5,
	RVT_WC_LOCAL_INV = 6,
	RVT_WC_FLUSH = 8,
	RVT_WC_ATOMIC_WRITE = 9,
	RVT_WC_RECV = 128,
	RVT_WC_RECV_RDMA_WITH_IMM = 129,
};

enum rvt_wc_flags {
	RVT_WC_GRH = 1,
	RVT_WC_WITH_IMM = 2,
	RVT_WC_WITH_INV = 8
};

enum rvt_event {
	RVT_EVENT_CQ_ERR = 0,
	RVT_EVENT_QP_FATAL = 1,
	RVT_EVENT_QP_REQ_ERR = 2,
	RVT_EVENT_QP_ACCESS_ERR = 3,
	RVT_EVENT_COMM_EST = 4,
	RVT_EVENT_SQ_DRAINED = 5,
	RVT_EVENT_PORT_ACTIVE = 9,
	RVT_EVENT_PORT_ERR = 10,
	RVT_EVENT_SRQ_ERR = 14,
	RVT_EVENT_SRQ_LIMIT_REACHED = 15,
	RVT_EVENT_QP_LAST_WQE_REACHED = 16,
	RVT_EVENT_GID_CHANGE = 18,
	RVT_EVENT_NONE = 255,
};

/* One piece of memory as a program names it. */
struct rvt_sge {
	uint64_t addr;
	uint32_t length;
	uint32_t lkey;
};

struct rvt_ah_attr {
	struct gid dgid;
	struct gid sgid; /* resolved from sgid_index when set */
	uint32_t flow_label;
	uint8_t sgid_index;
	uint8_t hop_limit;
	uint8_t traffic_class;
	uint8_t sl;
	uint8_t static_rate;
	uint8_t src_path_bits;
	uint8_t port_num;
	uint16_t dlid;
	bool is_global;
};

struct rvt_ah;
struct rvt_mr;
struct rvt_mw;

/* What a BIND_MW work request asks for. */
struct rvt_bind {
	struct rvt_mw *mw;
	struct rvt_mr *region; /* NULL or no length: unbind (type 1 only) */
	uint64_t address;      /* as the region calls it */
	uint64_t length;
	uint32_t access; /* of the window; with ZERO_BASED peers call its first byte 0 */
	uint32_t key;
};

/* What a FLUSH work request asks for; as in the packet. */
struct rvt_flush {
	uint32_t length;
	uint8_t placement;   /* 1 global visibility, 2 persistence, or both */
	uint8_t selectivity; /* 0 the range, 1 the whole region */
};
#define RVT_FLUSH_BOTH 3

struct rvt_send_wr {
	uint64_t wr_id;
	enum rvt_opcode opcode;
	uint32_t send_flags;
	const struct rvt_sge *sg_list;
	/* Pieces of inline data when RVT_SEND_INLINE: then addr is a host pointer and lkey is
	 * ignored. */
	uint32_t num_sge;
	uint32_t imm_data; /* network order, opaque */
	uint32_t invalidate_rkey;
	uint64_t remote_addr; /* rdma and atomic */
	uint32_t rkey;
	uint64_t compare_add, swap;
	struct rvt_ah *ah; /* UD */
	uint32_t remote_qpn, remote_qkey;
	uint32_t remote_srqn; /* XRC */
	struct rvt_bind bind;
	struct rvt_flush flush;
};

struct rvt_recv_wr {
	uint64_t wr_id;
	const struct rvt_sge *sg_list;
	uint32_t num_sge;
};

struct rvt_wc {
	uint64_t wr_id;
	enum rvt_wc_status status;
	enum rvt_wc_opcode opcode;
	uint32_t vendor_err; /* low byte: enum rvt_verdict of the cause; 0 on success */
	uint32_t byte_len;
	uint32_t imm_data; /* network order; or the invalidated rkey */
	uint32_t qp_num;
	uint32_t src_qp;
	uint32_t wc_flags;
	uint8_t sl; /* of datagrams, as NICs tell it: 8 for UDP, and 1 for IPv6 or 2 for IPv4 */
	uint64_t timestamp_ns; /* device clock (CLOCK_MONOTONIC) when it was queued */
	bool solicited;
};

struct rvt_qp_cap {
	uint32_t max_send_wr, max_recv_wr, max_send_sge, max_recv_sge, max_inline_data;
};

/* Mask bits of modify, numbers of the ABI. */
enum rvt_qp_attr_mask {
	RVT_QP_STATE = 1 << 0,
	RVT_QP_CUR_STATE = 1 << 1,
	RVT_QP_EN_SQD_ASYNC_NOTIFY = 1 << 2,
	RVT_QP_ACCESS_FLAGS = 1 << 3,
	RVT_QP_PKEY_INDEX = 1 << 4,
	RVT_QP_PORT = 1 << 5,
	RVT_QP_QKEY = 1 << 6,
	RVT_QP_AV = 1 << 7,
	RVT_QP_PATH_MTU = 1 << 8,
	RVT_QP_TIMEOUT = 1 << 9,
	RVT_QP_RETRY_CNT = 1 << 10,
	RVT_QP_RNR_RETRY = 1 << 11,
	RVT_QP_RQ_PSN = 1 << 12,
	RVT_QP_MAX_QP_RD_ATOMIC = 1 << 13,
	RVT_QP_ALT_PATH = 1 << 14,
	RVT_QP_MIN_RNR_TIMER = 1 << 15,
	RVT_QP_SQ_PSN = 1 << 16,
	RVT_QP_MAX_DEST_RD_ATOMIC = 1 << 17,
	RVT_QP_PATH_MIG_STATE = 1 << 18,
	RVT_QP_CAP = 1 << 19,
	RVT_QP_DEST_QPN = 1 << 20,
	RVT_QP_RATE_LIMIT = 1 << 25,
};

struct rvt_qp_attr {
	enum rvt_qp_state qp_state, cur_qp_state;
	enum rvt_mtu path_mtu;
	uint32_t path_mig_state; /* 0 MIGRATED, 1 REARM, 2 ARMED */
	uint32_t qkey;
	uint32_t rq_psn, sq_psn;
	uint32_t dest_qp_num;
	uint32_t qp_access_flags;
	struct rvt_qp_cap cap;
	struct rvt_ah_attr ah_attr;
	uint16_t pkey_index;
	bool en_sqd_async_notify;
	bool sq_draining;
	uint8_t max_rd_atomic, max_dest_rd_atomic;
	uint8_t min_rnr_timer;
	uint8_t port_num;
	uint8_t timeout, retry_cnt, rnr_retry;
	uint32_t rate_limit;
};

#endif
