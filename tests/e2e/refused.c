/* SPDX-License-Identifier: Apache-2.0 */
/* refused.c - what is not for a RoCE device in software answers EOPNOTSUPP; the script looks for
 * the reasons */
#include <sys/mman.h>

#include "program.h"

#define REFUSED(call, error, name)          \
 do {                                       \
  errno = 0;                                \
  CHECK(!(call) && errno == (error), name); \
 } while (0)

int main(void)
{
	struct ibv_context *context = open_first();
	struct ibv_pd *pd = context ? ibv_alloc_pd(context) : NULL;
	struct ibv_cq *cq = pd ? ibv_create_cq(context, 16, NULL, NULL, 0) : NULL;
	struct ibv_qp *qp = cq ? make_qp(pd, cq, IBV_QPT_UD) : NULL;
	struct ibv_flow_attr flow = { .type = IBV_FLOW_ATTR_NORMAL,
				      .size = sizeof(flow),
				      .port = 1 };
	struct ibv_wq_init_attr wq = {
		.wq_type = IBV_WQT_RQ, .max_wr = 1, .max_sge = 1, .pd = pd, .cq = cq
	};
	struct ibv_rwq_ind_table_init_attr table = { 0 };
	struct ibv_counters_init_attr counters = { 0 };
	struct ibv_qp_init_attr raw = { .send_cq = cq,
					.recv_cq = cq,
					.cap = { 1, 1, 1, 1, 0 },
					.qp_type = IBV_QPT_RAW_PACKET };
	struct ibv_qp_init_attr_ex rss = { .send_cq = cq,
					   .recv_cq = cq,
					   .qp_type = IBV_QPT_UD,
					   .comp_mask =
						   IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_RX_HASH,
					   .pd = pd };
	struct ibv_srq_init_attr_ex tag = { .attr = { .max_wr = 1, .max_sge = 1 },
					    .comp_mask =
						    IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
						    IBV_SRQ_INIT_ATTR_TM | IBV_SRQ_INIT_ATTR_CQ,
					    .srq_type = IBV_SRQT_TM,
					    .pd = pd,
					    .cq = cq };
	struct ibv_cq_init_attr_ex vlan = { .cqe = 1, .wc_flags = IBV_WC_EX_WITH_CVLAN };
	struct ibv_qp_rate_limit_attr rate = { .rate_limit = 1 };
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
	int file = memfd_create("file", 0);

	MUST(qp);
	REFUSED(ibv_create_flow(qp, &flow), EOPNOTSUPP, "flow steering");
	REFUSED(ibv_create_wq(context, &wq), EOPNOTSUPP, "work queues");
	REFUSED(ibv_create_rwq_ind_table(context, &table), EOPNOTSUPP, "indirection tables");
	REFUSED(ibv_create_counters(context, &counters), EOPNOTSUPP, "counters of flows");
	REFUSED(ibv_create_qp(pd, &raw), EOPNOTSUPP, "raw packets");
	REFUSED(ibv_create_qp_ex(context, &rss), EOPNOTSUPP, "receive side scaling");
	REFUSED(ibv_create_srq_ex(context, &tag), EOPNOTSUPP, "tag matching");
	REFUSED(ibv_create_cq_ex(context, &vlan), EOPNOTSUPP, "completions with VLANs");
	CHECK(ibv_modify_qp_rate_limit(qp, &rate) == EOPNOTSUPP, "rate limits");
	REFUSED(ibv_reg_dmabuf_mr(pd, 0, 4096, 0, file, IBV_ACCESS_LOCAL_WRITE), EINVAL,
		"a file that is no dma-buf");
	REFUSED(ibv_reg_dmabuf_mr(pd, 0, 4096, 0, -1, IBV_ACCESS_LOCAL_WRITE), EBADF,
		"no descriptor for a dma-buf");
	REFUSED(ibv_import_device(file), EINVAL, "a file that is no device");
	CHECK(!ibv_query_rt_values_ex(context, &values) &&
		      values.comp_mask == IBV_VALUES_MASK_RAW_CLOCK &&
		      (values.raw_clock.tv_sec || values.raw_clock.tv_nsec),
	      "the raw clock");
	MUST(!ibv_destroy_qp(qp) && !ibv_destroy_cq(cq) && !ibv_dealloc_pd(pd) &&
	     !ibv_close_device(context));
	return failures != 0;
}
