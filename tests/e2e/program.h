/* SPDX-License-Identifier: Apache-2.0 */
/* program.h - what the verbs programs of the end-to-end tests share: a device, connected pairs,
 * results */
#ifndef E2E_PROGRAM_H
#define E2E_PROGRAM_H

#include <infiniband/verbs.h>

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int failures __attribute__((unused));

#define CHECK(condition, name)                                                 \
 do {                                                                          \
  if (condition) {                                                             \
   printf("ok %s\n", name);                                                    \
  } else {                                                                     \
   printf("not ok %s - line %d, errno %s\n", name, __LINE__, strerror(errno)); \
   failures++;                                                                 \
  }                                                                            \
  fflush(stdout);                                                              \
 } while (0)

#define MUST(condition)                                                              \
 do {                                                                                \
  if (!(condition)) {                                                                \
   printf("not ok %s - line %d, errno %s\n", #condition, __LINE__, strerror(errno)); \
   exit(1);                                                                          \
  }                                                                                  \
 } while (0)

static inline struct ibv_context *open_first(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = list && list[0] ? ibv_open_device(list[0]) : NULL;

	ibv_free_device_list(list);
	return context;
}

static inline struct ibv_qp *make_qp(struct ibv_pd *pd, struct ibv_cq *cq, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init = { .send_cq = cq,
					 .recv_cq = cq,
					 .cap = { 16, 16, 2, 2, 64 },
					 .qp_type = type,
					 .sq_sig_all = 1 };

	return ibv_create_qp(pd, &init);
}

static inline int to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qkey = 0x11111111,
				    .qp_access_flags =
					    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
					    IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC };

	return ibv_modify_qp(
		qp, &attr,
		IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			(qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
}

static inline int to_rts(struct ibv_qp *qp, const union ibv_gid *gid, uint32_t qpn, uint8_t timeout)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = qpn,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 1,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .dgid = *gid } }
	};
	int err = ibv_modify_qp(qp, &attr,
				IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
					IBV_QP_MIN_RNR_TIMER);

	if (err)
		return err;
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
				     .timeout = timeout,
				     .retry_cnt = 7,
				     .rnr_retry = 7,
				     .max_rd_atomic = 4 };
	return ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

/* Two queue pairs of this process, connected to each other. */
static inline int connect_pair(struct ibv_qp *a, struct ibv_qp *b)
{
	union ibv_gid gid;

	if (ibv_query_gid(a->context, 1, 0, &gid) || to_init(a) || to_init(b))
		return -1;
	return to_rts(a, &gid, b->qp_num, 14) || to_rts(b, &gid, a->qp_num, 14);
}

static inline int post_write(struct ibv_qp *qp, struct ibv_mr *from, struct ibv_mr *to,
			     uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)from->addr, length, from->lkey };
	struct ibv_send_wr *bad, wr = { .sg_list = &sge,
					.num_sge = 1,
					.opcode = IBV_WR_RDMA_WRITE,
					.wr.rdma = { (uintptr_t)to->addr, to->rkey } };

	return ibv_post_send(qp, &wr, &bad);
}

/* The next completion, within @seconds; its status, or -1. */
static inline int wait_status(struct ibv_cq *cq, int seconds)
{
	time_t end = time(NULL) + seconds + 1;
	struct ibv_wc wc;

	while (time(NULL) < end) {
		int n = ibv_poll_cq(cq, 1, &wc);

		if (n < 0)
			return -1;
		if (n == 1)
			return (int)wc.status;
	}
	return -1;
}

static inline long resident_kib(void)
{
	long pages = 0, resident = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (!f || fscanf(f, "%ld %ld", &pages, &resident) != 2)
		resident = 0;
	if (f)
		fclose(f);
	return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static inline int open_descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < 4096; fd++)
		n += !access(({
				     static char p[64];
				     snprintf(p, sizeof(p), "/proc/self/fd/%d", fd);
				     p;
			     }),
			     F_OK);
	return n;
}

#endif
