/* SPDX-License-Identifier: Apache-2.0 */
/* many.c - many queue pairs in one process, many connections one after the other: nothing grows */
#include "program.h"

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_mr *mr[2];

static void thousand(void)
{
	static struct ibv_qp *qps[1000];
	int made = 0, connected = 0, done = 0;

	for (; made < 1000 && (qps[made] = make_qp(pd, cq, IBV_QPT_RC)); made++)
		;
	CHECK(made == 1000, "1000 queue pairs in one process");
	for (int i = 0; i + 1 < made; i += 2)
		connected += !connect_pair(qps[i], qps[i + 1]);
	CHECK(connected == 500, "connected in pairs");
	for (int i = 0; i < made; i++) {
		if (post_write(qps[i], mr[0], mr[1], 3000))
			break;
		if (i % 100 == 99) {
			while (done <= i && wait_status(cq, 10) == IBV_WC_SUCCESS)
				done++;
		}
	}
	CHECK(done == made, "each wrote 3000 bytes");
	for (int i = 0; i < made; i++)
		MUST(!ibv_destroy_qp(qps[i]));
}

static void cycles(int count)
{
	long before = 0, after;
	int descriptors = 0;

	for (int i = 0; i < count; i++) {
		struct ibv_qp *a = make_qp(pd, cq, IBV_QPT_RC), *b = make_qp(pd, cq, IBV_QPT_RC);

		MUST(a && b && !connect_pair(a, b));
		MUST(!post_write(a, mr[0], mr[1], 1));
		MUST(wait_status(cq, 5) == IBV_WC_SUCCESS);
		MUST(!ibv_destroy_qp(a) && !ibv_destroy_qp(b));
		if (i == count / 10) {
			before = resident_kib();
			descriptors = open_descriptors();
		}
	}
	after = resident_kib();
	printf("# %d cycles: resident %ld KiB after a tenth, %ld KiB at the end\n", count, before,
	       after);
	CHECK(after < before + 512, "memory is flat over connect and disconnect");
	CHECK(open_descriptors() == descriptors, "descriptors are flat");
}

static void devices(int count)
{
	int descriptors = open_descriptors();
	long before = 0;

	for (int i = 0; i < count; i++) {
		struct ibv_context *c = open_first();
		struct ibv_pd *p;

		MUST(c && (p = ibv_alloc_pd(c)));
		MUST(!ibv_dealloc_pd(p) && !ibv_close_device(c));
		if (i == count / 10)
			before = resident_kib();
	}
	CHECK(resident_kib() < before + 512, "memory is flat over open and close");
	CHECK(open_descriptors() == descriptors, "descriptors are flat over open and close");
}

int main(int argc, char **argv)
{
	static char memory[2][8192];

	MUST((context = open_first()));
	MUST((pd = ibv_alloc_pd(context)) && (cq = ibv_create_cq(context, 4096, NULL, NULL, 0)));
	for (int i = 0; i < 2; i++)
		MUST((mr[i] = ibv_reg_mr(pd, memory[i], sizeof(memory[i]),
					 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)));
	thousand();
	cycles(argc > 1 ? atoi(argv[1]) : 10000);
	devices(1000);
	MUST(!ibv_dereg_mr(mr[0]) && !ibv_dereg_mr(mr[1]) && !ibv_destroy_cq(cq) &&
	     !ibv_dealloc_pd(pd) && !ibv_close_device(context));
	return failures != 0;
}
