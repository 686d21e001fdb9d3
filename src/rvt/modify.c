/* SPDX-License-Identifier: Apache-2.0 */
/* modify.c - ibv_modify_qp() and ibv_query_qp(): everything is checked before anything changes */
#include <errno.h>

#include "rvt/private.h"
#include "rvt/states.h"

#define KNOWN_MASK                                                                               \
 (RVT_QP_STATE | RVT_QP_CUR_STATE | RVT_QP_EN_SQD_ASYNC_NOTIFY | RVT_QP_ACCESS_FLAGS |           \
  RVT_QP_PKEY_INDEX | RVT_QP_PORT | RVT_QP_QKEY | RVT_QP_AV | RVT_QP_PATH_MTU | RVT_QP_TIMEOUT | \
  RVT_QP_RETRY_CNT | RVT_QP_RNR_RETRY | RVT_QP_RQ_PSN | RVT_QP_MAX_QP_RD_ATOMIC |                \
  RVT_QP_ALT_PATH | RVT_QP_MIN_RNR_TIMER | RVT_QP_SQ_PSN | RVT_QP_MAX_DEST_RD_ATOMIC |           \
  RVT_QP_PATH_MIG_STATE | RVT_QP_CAP | RVT_QP_DEST_QPN | RVT_QP_RATE_LIMIT)
/* With what means nothing to a QP: programs give the flags of their regions. */
#define KNOWN_ACCESS                                                                             \
 (RVT_ACCESS_LOCAL_WRITE | RVT_ACCESS_REMOTE_WRITE | RVT_ACCESS_REMOTE_READ |                    \
  RVT_ACCESS_REMOTE_ATOMIC | RVT_ACCESS_MW_BIND | RVT_ACCESS_ZERO_BASED | RVT_ACCESS_ON_DEMAND | \
  RVT_ACCESS_HUGETLB | RVT_ACCESS_FLUSH_GLOBAL | RVT_ACCESS_FLUSH_PERSISTENT |                   \
  RVT_ACCESS_OPTIONAL_RANGE)

static int refuse(struct rvt_qp *qp, enum rvt_verdict verdict, uint64_t value1, uint64_t value2)
{
	return rvt_refuse(qp->device, verdict, &qp->res, value1, value2);
}

static int check_transition(struct rvt_qp *qp, const struct rvt_qp_attr *attr, uint32_t mask,
			    enum rvt_qp_state *to)
{
	enum rvt_qp_state from = qp->state;
	uint32_t required, optional, wrong;

	if (mask & ~(uint32_t)KNOWN_MASK)
		return refuse(qp, RVT_ATTRIBUTE_UNKNOWN, mask & ~(uint32_t)KNOWN_MASK, mask);
	/* Where the program says it is must be where it is (IBTA 11.2.5.2). */
	if (mask & RVT_QP_CUR_STATE && attr->cur_qp_state != from)
		return refuse(qp, RVT_ATTRIBUTE_VALUE, RVT_QP_CUR_STATE, attr->cur_qp_state);
	*to = mask & RVT_QP_STATE ? attr->qp_state : from;
	if ((unsigned)*to >= RVT_QPS_COUNT ||
	    !rvt_transition(qp->type, from, *to, &required, &optional))
		return refuse(qp, RVT_TRANSITION, from, *to);
	/* Nothing but an end is allowed before what was started has ended (IBTA 10.3.1.5). */
	if (from == RVT_QPS_SQD && qp->draining && *to != RVT_QPS_ERR && *to != RVT_QPS_RESET)
		return refuse(qp, RVT_TRANSITION, from, *to);
	wrong = required & ~mask;
	if (wrong)
		return refuse(qp, RVT_ATTRIBUTE_MISSING, wrong & -wrong, mask);
	wrong = mask & ~(required | optional | RVT_QP_STATE);
	if (wrong)
		return refuse(qp, RVT_ATTRIBUTE_FOREIGN, wrong & -wrong, mask);
	return 0;
}

static int check_values(struct rvt_qp *qp, struct rvt_qp_attr *attr, uint32_t mask)
{
	const struct rvt_port *port = qp->context->port;
	const struct {
		uint32_t bit;
		uint64_t value, least, most;
	} limits[] = {
		{ RVT_QP_PORT, attr->port_num, 1, 1 },
		{ RVT_QP_PKEY_INDEX, attr->pkey_index, 0, 0 },
		{ RVT_QP_PATH_MTU, attr->path_mtu, RVT_MTU_256, RVT_MTU_4096 },
		{ RVT_QP_TIMEOUT, attr->timeout, 0, 31 },
		{ RVT_QP_MIN_RNR_TIMER, attr->min_rnr_timer, 0, 31 },
		{ RVT_QP_RETRY_CNT, attr->retry_cnt, 0, 7 },
		{ RVT_QP_RNR_RETRY, attr->rnr_retry, 0, 7 },
		{ RVT_QP_DEST_QPN, attr->dest_qp_num, 0, 0xffffff },
		{ RVT_QP_MAX_QP_RD_ATOMIC, attr->max_rd_atomic, 0, rvt_limits.max_rd_atomic },
		{ RVT_QP_MAX_DEST_RD_ATOMIC, attr->max_dest_rd_atomic, 0,
		  rvt_limits.max_dest_rd_atomic },
		{ RVT_QP_PATH_MIG_STATE, attr->path_mig_state, 0, 0 },
		{ RVT_QP_ACCESS_FLAGS, attr->qp_access_flags & ~(uint32_t)KNOWN_ACCESS, 0, 0 },
	};

	for (unsigned i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		if (mask & limits[i].bit &&
		    (limits[i].value < limits[i].least || limits[i].value > limits[i].most))
			return refuse(qp, RVT_ATTRIBUTE_VALUE, limits[i].bit, limits[i].value);
	}
	if (mask & RVT_QP_PATH_MTU && attr->path_mtu > port->active_mtu)
		return refuse(qp, RVT_MTU_TOO_LARGE, attr->path_mtu, port->active_mtu);
	/* Automatic path migration is InfiniBand's. */
	if (mask & RVT_QP_ALT_PATH)
		return refuse(qp, RVT_ATTRIBUTE_VALUE, RVT_QP_ALT_PATH, 1);
	if (mask & RVT_QP_AV)
		return rvt_check_ah_attr(qp->device, port, &attr->ah_attr);
	return 0;
}

static void apply(struct rvt_qp *qp, const struct rvt_qp_attr *from, uint32_t mask)
{
	struct rvt_qp_attr *to = &qp->attr;

	if (mask & RVT_QP_EN_SQD_ASYNC_NOTIFY)
		to->en_sqd_async_notify = from->en_sqd_async_notify;
	if (mask & RVT_QP_ACCESS_FLAGS)
		to->qp_access_flags = from->qp_access_flags;
	if (mask & RVT_QP_PKEY_INDEX)
		to->pkey_index = from->pkey_index;
	if (mask & RVT_QP_PORT)
		to->port_num = from->port_num;
	if (mask & RVT_QP_QKEY)
		to->qkey = from->qkey;
	if (mask & RVT_QP_AV)
		to->ah_attr = from->ah_attr;
	if (mask & RVT_QP_PATH_MTU) {
		to->path_mtu = from->path_mtu;
		qp->mtu = 128u << from->path_mtu;
	}
	if (mask & RVT_QP_TIMEOUT)
		to->timeout = from->timeout;
	if (mask & RVT_QP_RETRY_CNT)
		to->retry_cnt = from->retry_cnt;
	if (mask & RVT_QP_RNR_RETRY)
		to->rnr_retry = from->rnr_retry;
	if (mask & RVT_QP_RQ_PSN)
		to->rq_psn = from->rq_psn & 0xffffff;
	if (mask & RVT_QP_SQ_PSN) {
		to->sq_psn = from->sq_psn & 0xffffff;
		qp->s_next_psn = to->sq_psn;
	}
	if (mask & RVT_QP_MAX_QP_RD_ATOMIC)
		to->max_rd_atomic = from->max_rd_atomic;
	if (mask & RVT_QP_MAX_DEST_RD_ATOMIC)
		to->max_dest_rd_atomic = from->max_dest_rd_atomic;
	if (mask & RVT_QP_MIN_RNR_TIMER)
		to->min_rnr_timer = from->min_rnr_timer;
	if (mask & RVT_QP_DEST_QPN)
		to->dest_qp_num = from->dest_qp_num;
	if (mask & RVT_QP_RATE_LIMIT)
		to->rate_limit = from->rate_limit;
}

static int reset(struct rvt_qp *qp)
{
	int err;

	rvt_reset_qp(qp);
	err = qp->device->transport->qp_init(qp);
	rvt_publish_qp(qp);
	return err ? refuse(qp, RVT_NO_MEMORY, 0, 0) : 0;
}

/* Programs set up either side of XRC as they would RC: what is the other side's is not looked at.
 */
static uint32_t own_side(enum rvt_qp_type type, uint32_t mask)
{
	if (type == RVT_QPT_XRC_INI)
		return mask & ~(uint32_t)(RVT_QP_MAX_DEST_RD_ATOMIC | RVT_QP_MIN_RNR_TIMER);
	if (type == RVT_QPT_XRC_TGT)
		return mask &
		       ~(uint32_t)(RVT_QP_MAX_QP_RD_ATOMIC | RVT_QP_RETRY_CNT | RVT_QP_RNR_RETRY);
	return mask;
}

int rvt_modify_qp(struct rvt_qp *qp, const struct rvt_qp_attr *attr, uint32_t mask)
{
	enum rvt_qp_state old = qp->state, to = old;
	struct rvt_qp_attr checked = *attr;
	int err;

	mask = own_side(qp->type, mask);
	err = check_transition(qp, attr, mask, &to);
	if (!err)
		err = check_values(qp, &checked, mask);
	if (err)
		return err;
	if (to == RVT_QPS_RESET)
		return reset(qp);
	if (to == RVT_QPS_ERR) {
		rvt_error_qp(qp, RVT_FLUSHED);
		return 0;
	}
	apply(qp, &checked, mask);
	qp->state = to;
	if (to == RVT_QPS_SQD && old == RVT_QPS_RTS)
		qp->draining = true;
	if (to != RVT_QPS_SQD)
		qp->draining = false;
	qp->device->transport->qp_modified(qp, old, mask);
	rvt_publish_qp(qp);
	return 0;
}

void rvt_query_qp(const struct rvt_qp *qp, struct rvt_qp_attr *attr)
{
	*attr = qp->attr;
	attr->qp_state = attr->cur_qp_state = qp->state;
	attr->cap = qp->cap;
	if (qp->state >= RVT_QPS_RTS)
		attr->sq_psn = qp->s_next_psn;
	attr->sq_draining = qp->state == RVT_QPS_SQD && qp->draining;
}
