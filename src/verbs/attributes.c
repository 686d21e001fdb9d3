/* SPDX-License-Identifier: Apache-2.0 */
/* attributes.c - between the structures of the interface and those of rvt; the numbers in them are
 * equal */
#include <string.h>

#include "verbs/objects.h"

#define SAME(a, b) _Static_assert((int)(a) == (int)(b), #a)

SAME(RVT_QPT_RC, IBV_QPT_RC);
SAME(RVT_QPT_UC, IBV_QPT_UC);
SAME(RVT_QPT_UD, IBV_QPT_UD);
SAME(RVT_QPS_RESET, IBV_QPS_RESET);
SAME(RVT_QPS_RTS, IBV_QPS_RTS);
SAME(RVT_QPS_SQD, IBV_QPS_SQD);
SAME(RVT_QPS_SQE, IBV_QPS_SQE);
SAME(RVT_QPS_ERR, IBV_QPS_ERR);
SAME(RVT_MTU_256, IBV_MTU_256);
SAME(RVT_MTU_4096, IBV_MTU_4096);
SAME(RVT_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE);
SAME(RVT_WR_SEND_WITH_IMM, IBV_WR_SEND_WITH_IMM);
SAME(RVT_WR_RDMA_READ, IBV_WR_RDMA_READ);
SAME(RVT_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_FETCH_AND_ADD);
SAME(RVT_WR_LOCAL_INV, IBV_WR_LOCAL_INV);
SAME(RVT_WR_SEND_WITH_INV, IBV_WR_SEND_WITH_INV);
SAME(RVT_WR_ATOMIC_WRITE, IBV_WR_ATOMIC_WRITE);
SAME(RVT_SEND_FENCE, IBV_SEND_FENCE);
SAME(RVT_SEND_SIGNALED, IBV_SEND_SIGNALED);
SAME(RVT_SEND_SOLICITED, IBV_SEND_SOLICITED);
SAME(RVT_SEND_INLINE, IBV_SEND_INLINE);
SAME(RVT_ACCESS_LOCAL_WRITE, IBV_ACCESS_LOCAL_WRITE);
SAME(RVT_ACCESS_REMOTE_ATOMIC, IBV_ACCESS_REMOTE_ATOMIC);
SAME(RVT_ACCESS_HUGETLB, IBV_ACCESS_HUGETLB);
SAME(RVT_WC_SUCCESS, IBV_WC_SUCCESS);
SAME(RVT_WC_WR_FLUSH_ERR, IBV_WC_WR_FLUSH_ERR);
SAME(RVT_WC_REM_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR);
SAME(RVT_WC_GENERAL_ERR, IBV_WC_GENERAL_ERR);
SAME(RVT_WC_RECV, IBV_WC_RECV);
SAME(RVT_WC_RECV_RDMA_WITH_IMM, IBV_WC_RECV_RDMA_WITH_IMM);
SAME(RVT_WC_FETCH_ADD, IBV_WC_FETCH_ADD);
SAME(RVT_WC_GRH, IBV_WC_GRH);
SAME(RVT_WC_WITH_IMM, IBV_WC_WITH_IMM);
SAME(RVT_WC_WITH_INV, IBV_WC_WITH_INV);
SAME(RVT_EVENT_CQ_ERR, IBV_EVENT_CQ_ERR);
SAME(RVT_EVENT_QP_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
SAME(RVT_EVENT_SRQ_LIMIT_REACHED, IBV_EVENT_SRQ_LIMIT_REACHED);
SAME(RVT_EVENT_QP_LAST_WQE_REACHED, IBV_EVENT_QP_LAST_WQE_REACHED);
SAME(RVT_EVENT_GID_CHANGE, IBV_EVENT_GID_CHANGE);
SAME(RVT_QP_STATE, IBV_QP_STATE);
SAME(RVT_QP_AV, IBV_QP_AV);
SAME(RVT_QP_SQ_PSN, IBV_QP_SQ_PSN);
SAME(RVT_QP_DEST_QPN, IBV_QP_DEST_QPN);
SAME(RVT_QP_RATE_LIMIT, IBV_QP_RATE_LIMIT);
SAME(RVT_REREG_ACCESS, IBV_REREG_MR_CHANGE_ACCESS);
SAME(RVT_SRQ_LIMIT, IBV_SRQ_LIMIT);
_Static_assert(sizeof(struct rvt_sge) == sizeof(struct ibv_sge), "SGEs are copied as they are");
_Static_assert(offsetof(struct rvt_sge, lkey) == offsetof(struct ibv_sge, lkey),
	       "SGEs are copied as they are");

void verbs_to_rvt_ah(struct rvt_ah_attr *to, const struct ibv_ah_attr *from)
{
	memset(to, 0, sizeof(*to));
	memcpy(to->dgid.raw, from->grh.dgid.raw, 16);
	to->flow_label = from->grh.flow_label & 0xfffff;
	to->sgid_index = from->grh.sgid_index;
	to->hop_limit = from->grh.hop_limit;
	to->traffic_class = from->grh.traffic_class;
	to->sl = from->sl;
	to->static_rate = from->static_rate;
	to->src_path_bits = from->src_path_bits;
	to->port_num = from->port_num;
	to->dlid = from->dlid;
	to->is_global = from->is_global;
}

void verbs_from_rvt_ah(struct ibv_ah_attr *to, const struct rvt_ah_attr *from)
{
	memset(to, 0, sizeof(*to));
	memcpy(to->grh.dgid.raw, from->dgid.raw, 16);
	to->grh.flow_label = from->flow_label;
	to->grh.sgid_index = from->sgid_index;
	to->grh.hop_limit = from->hop_limit;
	to->grh.traffic_class = from->traffic_class;
	to->sl = from->sl;
	to->static_rate = from->static_rate;
	to->src_path_bits = from->src_path_bits;
	to->port_num = from->port_num;
	to->dlid = from->dlid;
	to->is_global = from->is_global;
}

void verbs_to_rvt_qp_attr(struct rvt_qp_attr *to, const struct ibv_qp_attr *from)
{
	memset(to, 0, sizeof(*to));
	to->qp_state = (enum rvt_qp_state)from->qp_state;
	to->cur_qp_state = (enum rvt_qp_state)from->cur_qp_state;
	to->path_mtu = (enum rvt_mtu)from->path_mtu;
	to->path_mig_state = from->path_mig_state;
	to->qkey = from->qkey;
	to->rq_psn = from->rq_psn & 0xffffff;
	to->sq_psn = from->sq_psn & 0xffffff;
	to->dest_qp_num = from->dest_qp_num;
	to->qp_access_flags = from->qp_access_flags;
	to->cap = (struct rvt_qp_cap){ from->cap.max_send_wr, from->cap.max_recv_wr,
				       from->cap.max_send_sge, from->cap.max_recv_sge,
				       from->cap.max_inline_data };
	verbs_to_rvt_ah(&to->ah_attr, &from->ah_attr);
	to->pkey_index = from->pkey_index;
	to->en_sqd_async_notify = from->en_sqd_async_notify;
	to->max_rd_atomic = from->max_rd_atomic;
	to->max_dest_rd_atomic = from->max_dest_rd_atomic;
	to->min_rnr_timer = from->min_rnr_timer;
	to->port_num = from->port_num;
	to->timeout = from->timeout;
	to->retry_cnt = from->retry_cnt;
	to->rnr_retry = from->rnr_retry;
	to->rate_limit = from->rate_limit;
}

void verbs_from_rvt_qp_attr(struct ibv_qp_attr *to, const struct rvt_qp_attr *from)
{
	memset(to, 0, sizeof(*to));
	to->qp_state = (enum ibv_qp_state)from->qp_state;
	to->cur_qp_state = (enum ibv_qp_state)from->cur_qp_state;
	to->path_mtu = (enum ibv_mtu)from->path_mtu;
	to->path_mig_state = (enum ibv_mig_state)from->path_mig_state;
	to->qkey = from->qkey;
	to->rq_psn = from->rq_psn;
	to->sq_psn = from->sq_psn;
	to->dest_qp_num = from->dest_qp_num;
	to->qp_access_flags = from->qp_access_flags;
	to->cap.max_send_wr = from->cap.max_send_wr;
	to->cap.max_recv_wr = from->cap.max_recv_wr;
	to->cap.max_send_sge = from->cap.max_send_sge;
	to->cap.max_recv_sge = from->cap.max_recv_sge;
	to->cap.max_inline_data = from->cap.max_inline_data;
	verbs_from_rvt_ah(&to->ah_attr, &from->ah_attr);
	to->pkey_index = from->pkey_index;
	to->en_sqd_async_notify = from->en_sqd_async_notify;
	to->sq_draining = from->sq_draining;
	to->max_rd_atomic = from->max_rd_atomic;
	to->max_dest_rd_atomic = from->max_dest_rd_atomic;
	to->min_rnr_timer = from->min_rnr_timer;
	to->port_num = from->port_num;
	to->timeout = from->timeout;
	to->retry_cnt = from->retry_cnt;
	to->rnr_retry = from->rnr_retry;
	to->rate_limit = from->rate_limit;
}

void verbs_from_rvt_wc(struct ibv_wc *to, const struct rvt_wc *from)
{
	to->wr_id = from->wr_id;
	to->status = (enum ibv_wc_status)from->status;
	to->opcode = (enum ibv_wc_opcode)from->opcode;
	to->vendor_err = from->vendor_err;
	to->byte_len = from->byte_len;
	to->imm_data = from->imm_data; /* shares its place with invalidated_rkey */
	to->qp_num = from->qp_num;
	to->src_qp = from->src_qp;
	to->wc_flags = from->wc_flags;
	to->pkey_index = 0;
	to->slid = 0;
	to->sl = from->sl; /* UCX takes the kind of the GRH from here */
	to->dlid_path_bits = 0;
}
