/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unsupported.c - what is outside of a RoCE device in software: it answers EOPNOTSUPP, and says why
 * when asked to
 *
 * The interface would answer for functions that are missing in the table, but without a word.
 */
#include "verbs/objects.h"

int verbs_unsupported(const char *what, const char *why)
{
	lane_log(LANE_LOG_WARN, "%s: not supported: %s", what, why);
	return EOPNOTSUPP;
}

static void *none(const char *what, const char *why)
{
	errno = verbs_unsupported(what, why);
	return NULL;
}

#define RAW "there is no Ethernet port of its own to send or filter raw packets on"
#define SPREADING \
 "receive side scaling is for raw packets, and there is no Ethernet port of its own"
#define COUNTERS \
 "counters are attached to flows, and there are none; see `adverb resource` for those of the device"
#define ENCRYPTION "the network interface below does not offload encryption to programs"

static struct ibv_flow *create_flow(struct ibv_qp *qp, struct ibv_flow_attr *attr)
{
	(void)qp, (void)attr;
	return none("ibv_create_flow", RAW);
}

static int destroy_flow(struct ibv_flow *flow)
{
	(void)flow;
	return verbs_unsupported("ibv_destroy_flow", RAW);
}

static struct ibv_wq *create_wq(struct ibv_context *context, struct ibv_wq_init_attr *attr)
{
	(void)context, (void)attr;
	return none("ibv_create_wq", SPREADING);
}

static int modify_wq(struct ibv_wq *wq, struct ibv_wq_attr *attr)
{
	(void)wq, (void)attr;
	return verbs_unsupported("ibv_modify_wq", SPREADING);
}

static int destroy_wq(struct ibv_wq *wq)
{
	(void)wq;
	return verbs_unsupported("ibv_destroy_wq", SPREADING);
}

static struct ibv_rwq_ind_table *create_rwq_ind_table(struct ibv_context *context,
						      struct ibv_rwq_ind_table_init_attr *attr)
{
	(void)context, (void)attr;
	return none("ibv_create_rwq_ind_table", SPREADING);
}

static int destroy_rwq_ind_table(struct ibv_rwq_ind_table *table)
{
	(void)table;
	return verbs_unsupported("ibv_destroy_rwq_ind_table", SPREADING);
}

static struct ibv_counters *create_counters(struct ibv_context *context,
					    struct ibv_counters_init_attr *attr)
{
	(void)context, (void)attr;
	return none("ibv_create_counters", COUNTERS);
}

static int destroy_counters(struct ibv_counters *counters)
{
	(void)counters;
	return verbs_unsupported("ibv_destroy_counters", COUNTERS);
}

static int attach_counters(struct ibv_counters *counters, struct ibv_counter_attach_attr *attr,
			   struct ibv_flow *flow)
{
	(void)counters, (void)attr, (void)flow;
	return verbs_unsupported("ibv_attach_counters_point_flow", COUNTERS);
}

static int read_counters(struct ibv_counters *counters, uint64_t *values, uint32_t count,
			 uint32_t flags)
{
	(void)counters, (void)values, (void)count, (void)flags;
	return verbs_unsupported("ibv_read_counters", COUNTERS);
}

static struct ibv_flow_action *create_flow_action(struct ibv_context *context,
						  struct ibv_flow_action_esp_attr *attr)
{
	(void)context, (void)attr;
	return none("ibv_create_flow_action_esp", ENCRYPTION);
}

static int modify_flow_action(struct ibv_flow_action *action, struct ibv_flow_action_esp_attr *attr)
{
	(void)action, (void)attr;
	return verbs_unsupported("ibv_modify_flow_action_esp", ENCRYPTION);
}

static int destroy_flow_action(struct ibv_flow_action *action)
{
	(void)action;
	return verbs_unsupported("ibv_destroy_flow_action", ENCRYPTION);
}

static int post_srq_ops(struct ibv_srq *srq, struct ibv_ops_wr *op, struct ibv_ops_wr **bad)
{
	if (bad)
		*bad = op;
	(void)srq;
	return verbs_unsupported(
		"ibv_post_srq_ops",
		"tag matching is an adapter's; MPI libraries do it themselves then");
}

static int modify_rate_limit(struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *attr)
{
	(void)qp, (void)attr;
	return verbs_unsupported("ibv_modify_qp_rate_limit",
				 "rates are limited for raw packets only");
}

void verbs_fill_unsupported(struct verbs_context *v)
{
	v->ibv_create_flow = create_flow;
	v->ibv_destroy_flow = destroy_flow;
	v->create_wq = create_wq;
	v->modify_wq = modify_wq;
	v->destroy_wq = destroy_wq;
	v->create_rwq_ind_table = create_rwq_ind_table;
	v->destroy_rwq_ind_table = destroy_rwq_ind_table;
	v->create_counters = create_counters;
	v->destroy_counters = destroy_counters;
	v->attach_counters_point_flow = attach_counters;
	v->read_counters = read_counters;
	v->create_flow_action_esp = create_flow_action;
	v->modify_flow_action_esp = modify_flow_action;
	v->destroy_flow_action = destroy_flow_action;
	v->post_srq_ops = post_srq_ops;
	v->modify_qp_rate_limit = modify_rate_limit;
}
