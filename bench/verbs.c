/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verbs.c - a plain verbs program, to be run by `adverb run`: two processes over the first device
 *
 *   bench-verbs write SECONDS  RC writes of 64 KiB, MTU 4096, 16 outstanding; prints MB/s
 *   bench-verbs latency COUNT  RC sends of 8 bytes back and forth, both polling; prints
 * microseconds one way
 */
#include <infiniband/verbs.h>

#include <string.h>

#include "pair.h"

#define MESSAGE	    65536
#define OUTSTANDING 16

struct side {
	uint32_t qpn, rkey;
	uint64_t address;
	union ibv_gid gid;
};

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_mr *mr;
static struct side mine, theirs;
static uint8_t *memory;

static void setup(struct pair *p)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_qp_init_attr init = { .cap = { 64, 64, 1, 1, 64 }, .qp_type = IBV_QPT_RC };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qp_access_flags =
					    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE };

	if (!list || !list[0] || !(context = ibv_open_device(list[0])) ||
	    !(pd = ibv_alloc_pd(context)))
		die("no device");
	memory = aligned_alloc(4096, MESSAGE * 2);
	if (!memory)
		die("memory");
	memset(memory, 1, MESSAGE * 2);
	mr = ibv_reg_mr(pd, memory, MESSAGE * 2, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	cq = ibv_create_cq(context, 256, NULL, NULL, 0);
	if (!mr || !cq)
		die("mr or cq");
	init.send_cq = init.recv_cq = cq;
	qp = ibv_create_qp(pd, &init);
	if (!qp ||
	    ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS))
		die("qp");
	mine = (struct side){ .qpn = qp->qp_num, .rkey = mr->rkey, .address = (uintptr_t)memory };
	if (ibv_query_gid(context, 1, 0, &mine.gid))
		die("gid");
	pair_exchange(p, &mine, &theirs, sizeof(mine));
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_4096,
		.dest_qp_num = theirs.qpn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 1,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .dgid = theirs.gid } }
	};
	if (ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
		die("rtr");
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
				     .timeout = 14,
				     .retry_cnt = 7,
				     .rnr_retry = 7,
				     .max_rd_atomic = 1 };
	if (ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				  IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC))
		die("rts");
	pair_meet(p);
}

static void check(const struct ibv_wc *wc)
{
	if (wc->status == IBV_WC_SUCCESS)
		return;
	fprintf(stderr, "completion: %s\n", ibv_wc_status_str(wc->status));
	exit(1);
}

static void post_write(void)
{
	struct ibv_sge sge = { (uintptr_t)memory, MESSAGE, mr->lkey };
	struct ibv_send_wr *bad, wr = { .sg_list = &sge,
					.num_sge = 1,
					.opcode = IBV_WR_RDMA_WRITE,
					.send_flags = IBV_SEND_SIGNALED,
					.wr.rdma = { theirs.address + MESSAGE, theirs.rkey } };

	if (ibv_post_send(qp, &wr, &bad))
		die("post_send");
}

static int write_bandwidth(double duration)
{
	struct pair p = pair_start();
	struct ibv_wc wc[16];
	uint64_t done = 0, posted = 0;
	double begin, end;
	int n;

	setup(&p);
	if (p.second) {
		/* As perftest's server: it waits, and polls nothing. */
		pair_meet(&p);
		return pair_end(&p);
	}
	begin = seconds();
	for (; posted < OUTSTANDING; posted++)
		post_write();
	while ((end = seconds()) < begin + duration) {
		n = ibv_poll_cq(cq, 16, wc);
		for (int i = 0; i < n; i++) {
			check(&wc[i]);
			post_write();
			posted++;
		}
		done += n > 0 ? (uint64_t)n : 0;
	}
	printf("%.1f\n", (double)done * MESSAGE / (end - begin) / 1e6);
	while (done < posted) {
		n = ibv_poll_cq(cq, 16, wc);
		done += n > 0 ? (uint64_t)n : 0;
	}
	pair_meet(&p);
	return pair_end(&p);
}

static void post_receive(void)
{
	struct ibv_sge sge = { (uintptr_t)memory + MESSAGE, 64, mr->lkey };
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };

	if (ibv_post_recv(qp, &wr, &bad))
		die("post_recv");
}

static void post_send(void)
{
	struct ibv_sge sge = { (uintptr_t)memory, 8, mr->lkey };
	struct ibv_send_wr *bad, wr = { .sg_list = &sge,
					.num_sge = 1,
					.opcode = IBV_WR_SEND,
					.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE };

	if (ibv_post_send(qp, &wr, &bad))
		die("post_send");
}

static int latency(int count)
{
	struct pair p = pair_start();
	struct ibv_wc wc[4];
	int warm = count / 10, received = 0, sent = 0, pending = 0;
	double begin = 0;

	setup(&p);
	for (int i = 0; i < 32; i++)
		post_receive();
	pair_meet(&p);
	if (!p.second) {
		post_send();
		sent++;
		pending++;
	}
	while (received < count + warm || pending) {
		int n = ibv_poll_cq(cq, 4, wc);

		for (int i = 0; i < n; i++) {
			check(&wc[i]);
			if (!(wc[i].opcode & IBV_WC_RECV)) {
				pending--;
				continue;
			}
			if (received++ == warm)
				begin = seconds();
			if (sent < count + warm) {
				post_send();
				sent++;
				pending++;
			}
			post_receive();
		}
	}
	if (!p.second)
		printf("%.3f\n", (seconds() - begin) / count / 2 * 1e6);
	pair_meet(&p);
	return pair_end(&p);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "write"))
		return write_bandwidth(atof(argv[2]));
	if (argc == 3 && !strcmp(argv[1], "latency"))
		return latency(atoi(argv[2]));
	fprintf(stderr, "usage: adverb run -- bench-verbs write SECONDS | latency COUNT\n");
	return 2;
}
