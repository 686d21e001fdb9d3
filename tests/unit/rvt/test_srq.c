/* SPDX-License-Identifier: Apache-2.0 */
/* test_srq.c - rings of receives, shared receive queues, the limit event */
#include "world.h"

static struct rvt_srq *create(uint32_t max_wr, uint32_t max_sge, uint32_t limit)
{
	struct rvt_srq *srq;

	assert_int_equal(rvt_create_srq(w.pd, &max_wr, &max_sge, limit, &srq), 0);
	return srq;
}

static int post(struct rvt_srq *srq, uint64_t wr_id)
{
	struct rvt_sge sge = { .addr = wr_id << 8, .length = (uint32_t)wr_id, .lkey = 7 };
	struct rvt_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 };

	return rvt_post_srq_recv(srq, &wr);
}

static void take(struct rvt_srq *srq, uint64_t wr_id)
{
	const struct rvt_rwqe *wqe = rvt_rq_peek(&srq->rq);

	assert_non_null(wqe);
	assert_int_equal(wqe->wr_id, wr_id);
	assert_int_equal(wqe->num_sge, 1);
	assert_int_equal(wqe->length, (uint32_t)wr_id);
	assert_int_equal(wqe->sges[0].addr, wr_id << 8);
	assert_int_equal(wqe->sges[0].length, (uint32_t)wr_id);
	assert_int_equal(wqe->sges[0].lkey, 7);
	rvt_rq_pop(&srq->rq);
	rvt_srq_taken(srq);
}

static void test_ring(void **state)
{
	struct rvt_sge sges[3] = { { 1, 10, 11 }, { 2, 20, 22 }, { 3, 30, 33 } };
	struct rvt_recv_wr wr = { .sg_list = sges };
	uint64_t in = 0, out = 0;
	struct rvt_rq rq;

	(void)state;
	assert_int_equal(rvt_rq_init(&rq, &w.device, 5, 3), 0);
	rq.head = rq.tail = UINT32_MAX - 1;
	assert_null(rvt_rq_peek(&rq));
	for (unsigned round = 0; round < 50; round++) {
		const struct rvt_rwqe *wqe;

		while (rvt_rq_count(&rq) < 5) {
			wr.wr_id = in;
			wr.num_sge = (uint32_t)(in++ % 4);
			assert_int_equal(rvt_rq_post(&rq, &wr), RVT_OK);
		}
		assert_int_equal(rvt_rq_post(&rq, &wr), RVT_QUEUE_FULL);
		for (unsigned i = 0; i < 1 + round % 5; i++) {
			uint32_t sum = 0;

			wqe = rvt_rq_peek(&rq);
			assert_int_equal(wqe->wr_id, out);
			assert_int_equal(wqe->num_sge, out % 4);
			for (uint32_t j = 0; j < wqe->num_sge; j++) {
				assert_memory_equal(&wqe->sges[j], &sges[j], sizeof(sges[j]));
				sum += sges[j].length;
			}
			assert_int_equal(wqe->length, sum);
			rvt_rq_pop(&rq);
			out++;
		}
	}
	rvt_rq_deinit(&rq, &w.device);
}

static void test_ring_limits(void **state)
{
	struct rvt_sge sges[2] = { { 1, UINT32_MAX, 0 }, { 1, UINT32_MAX, 0 } };
	struct rvt_recv_wr wr = { .sg_list = sges, .num_sge = 2 };
	struct rvt_rq rq;

	(void)state;
	/* No receives at all. */
	assert_int_equal(rvt_rq_init(&rq, &w.device, 0, 2), 0);
	assert_int_equal(rvt_rq_post(&rq, &wr), RVT_QUEUE_FULL);
	assert_null(rvt_rq_peek(&rq));
	rvt_rq_deinit(&rq, &w.device);

	assert_int_equal(rvt_rq_init(&rq, &w.device, 1, 2), 0);
	wr.num_sge = 3;
	assert_int_equal(rvt_rq_post(&rq, &wr), RVT_POST_SGE_COUNT);
	wr.num_sge = UINT32_MAX;
	assert_int_equal(rvt_rq_post(&rq, &wr), RVT_POST_SGE_COUNT);
	assert_int_equal(rvt_rq_count(&rq), 0);
	wr.num_sge = 2;
	assert_int_equal(rvt_rq_post(&rq, &wr), RVT_OK);
	assert_int_equal(rvt_rq_peek(&rq)->length, UINT32_MAX);
	assert_int_equal(rvt_rq_post(&rq, &wr), RVT_QUEUE_FULL);
	rvt_rq_deinit(&rq, &w.device);

	w.fail_after = 0;
	assert_int_equal(rvt_rq_init(&rq, &w.device, 4, 2), -ENOMEM);
	w.fail_after = -1;
	rvt_rq_deinit(&rq, &w.device);
}

static void test_create(void **state)
{
	static const struct {
		uint32_t max_wr, max_sge, limit;
		bool good;
	} cases[] = {
		{ 0, 1, 0, false },	     { 1, 1, 0, true },	  { 32768, 32, 0, true },
		{ 32769, 1, 0, false },	     { 1, 33, 0, false }, { UINT32_MAX, 1, 0, false },
		{ 1, UINT32_MAX, 0, false }, { 10, 0, 0, true },  { 10, 1, 10, true },
		{ 10, 1, 11, false },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t max_wr = cases[i].max_wr, max_sge = cases[i].max_sge;
		struct rvt_srq *srq = NULL;
		int err = rvt_create_srq(w.pd, &max_wr, &max_sge, cases[i].limit, &srq);

		if (!cases[i].good) {
			world_refused(err, RVT_BAD_ARGUMENT);
			assert_null(srq);
			assert_int_equal(w.pd->users, 0);
			continue;
		}
		assert_int_equal(err, 0);
		assert_true(max_wr >= cases[i].max_wr && max_wr == srq->rq.max_wr);
		assert_true(max_sge >= 1 && max_sge >= cases[i].max_sge &&
			    max_sge == srq->rq.max_sge);
		assert_int_equal(w.pd->users, 1);
		assert_int_equal(world_attribute(&srq->res, RESTRACK_SRQ_PDN), w.pd->res.id);
		assert_int_equal(world_attribute(&srq->res, RESTRACK_SRQ_MAX_WR), max_wr);
		assert_int_equal(world_attribute(&srq->res, RESTRACK_SRQ_MAX_SGE), max_sge);
		assert_int_equal(world_attribute(&srq->res, RESTRACK_SRQ_LIMIT), cases[i].limit);
		assert_int_equal(rvt_destroy_srq(srq), 0);
		assert_int_equal(w.pd->users, 0);
	}
}

static void test_post(void **state)
{
	struct rvt_sge sges[3] = { { 0 } };
	struct rvt_recv_wr wr = { .sg_list = sges, .num_sge = 3 };
	struct rvt_srq *srq = create(4, 2, 0);

	(void)state;
	for (uint64_t i = 0; i < srq->rq.max_wr; i++)
		assert_int_equal(post(srq, i), 0);
	world_refused(post(srq, 99), RVT_QUEUE_FULL);
	assert_ptr_equal(w.cause_object, &srq->res);
	assert_int_equal(w.value1, srq->rq.max_wr);
	take(srq, 0);
	world_refused(rvt_post_srq_recv(srq, &wr), RVT_POST_SGE_COUNT);
	assert_int_equal(w.value1, 3);
	assert_int_equal(w.value2, 2);
	assert_int_equal(post(srq, 99), 0);
}

/* Ten posted, limit seven: the event comes with the fourth that is taken, and only once. */
static void test_limit(void **state)
{
	struct rvt_srq *srq = create(10, 1, 0);

	(void)state;
	for (uint64_t i = 0; i < 10; i++)
		assert_int_equal(post(srq, i), 0);
	assert_int_equal(rvt_modify_srq(srq, RVT_SRQ_LIMIT, 0, 7), 0);
	assert_int_equal(world_attribute(&srq->res, RESTRACK_SRQ_LIMIT), 7);
	for (uint64_t i = 0; i < 3; i++)
		take(srq, i);
	assert_int_equal(w.events[RVT_EVENT_SRQ_LIMIT_REACHED], 0);
	take(srq, 3);
	assert_int_equal(w.events[RVT_EVENT_SRQ_LIMIT_REACHED], 1);
	assert_ptr_equal(w.event_object, srq);
	assert_int_equal(srq->limit, 0);
	assert_int_equal(world_attribute(&srq->res, RESTRACK_SRQ_LIMIT), 0);
	for (uint64_t i = 4; i < 8; i++)
		take(srq, i);
	assert_int_equal(w.events[RVT_EVENT_SRQ_LIMIT_REACHED], 1);
	/* Armed above what is left: with the next that is taken. */
	assert_int_equal(rvt_modify_srq(srq, RVT_SRQ_LIMIT, 0, 5), 0);
	assert_int_equal(w.events[RVT_EVENT_SRQ_LIMIT_REACHED], 1);
	take(srq, 8);
	assert_int_equal(w.events[RVT_EVENT_SRQ_LIMIT_REACHED], 2);
	/* Disarmed by 0. */
	assert_int_equal(rvt_modify_srq(srq, RVT_SRQ_LIMIT, 0, 5), 0);
	assert_int_equal(rvt_modify_srq(srq, RVT_SRQ_LIMIT, 0, 0), 0);
	take(srq, 9);
	assert_int_equal(w.events[RVT_EVENT_SRQ_LIMIT_REACHED], 2);
}

static void test_modify(void **state)
{
	struct rvt_srq *srq = create(8, 1, 0);

	(void)state;
	/* Across the wrap of the ring and of its indices. */
	srq->rq.head = srq->rq.tail = UINT32_MAX - 4;
	for (uint64_t i = 0; i < 7; i++)
		assert_int_equal(post(srq, i), 0);
	take(srq, 0);
	assert_int_equal(post(srq, 7), 0);
	world_refused(rvt_modify_srq(srq, RVT_SRQ_LIMIT, 0, 9), RVT_BAD_ARGUMENT);
	world_refused(rvt_modify_srq(srq, RVT_SRQ_MAX_WR, 0, 0), RVT_BAD_ARGUMENT);
	world_refused(rvt_modify_srq(srq, RVT_SRQ_MAX_WR, 6, 0), RVT_BAD_ARGUMENT);
	world_refused(rvt_modify_srq(srq, RVT_SRQ_MAX_WR, rvt_limits.max_srq_wr + 1, 0),
		      RVT_BAD_ARGUMENT);
	world_refused(rvt_modify_srq(srq, RVT_SRQ_MAX_WR | RVT_SRQ_LIMIT, 16, 17),
		      RVT_BAD_ARGUMENT);
	w.fail_after = 0;
	world_refused(rvt_modify_srq(srq, RVT_SRQ_MAX_WR | RVT_SRQ_LIMIT, 16, 3), RVT_NO_MEMORY);
	w.fail_after = -1;
	assert_int_equal(srq->rq.max_wr, 8);
	assert_int_equal(srq->limit, 0);

	assert_int_equal(rvt_modify_srq(srq, RVT_SRQ_MAX_WR | RVT_SRQ_LIMIT, 16, 16), 0);
	assert_int_equal(world_attribute(&srq->res, RESTRACK_SRQ_MAX_WR), 16);
	assert_int_equal(srq->limit, 16);
	/* Not below the limit that is armed. */
	world_refused(rvt_modify_srq(srq, RVT_SRQ_MAX_WR, 15, 0), RVT_BAD_ARGUMENT);
	for (uint64_t i = 8; i < 17; i++)
		assert_int_equal(post(srq, i), 0);
	world_refused(post(srq, 17), RVT_QUEUE_FULL);
	assert_int_equal(rvt_modify_srq(srq, RVT_SRQ_LIMIT, 0, 0), 0);
	for (uint64_t i = 1; i < 14; i++)
		take(srq, i);
	assert_int_equal(rvt_modify_srq(srq, RVT_SRQ_MAX_WR, 3, 0), 0);
	world_refused(post(srq, 17), RVT_QUEUE_FULL);
	for (uint64_t i = 14; i < 17; i++)
		take(srq, i);
	assert_null(rvt_rq_peek(&srq->rq));
	/* Nothing to do is allowed. */
	assert_int_equal(rvt_modify_srq(srq, 0, 0, 0), 0);
}

static void test_users(void **state)
{
	struct rvt_srq *srq = create(8, 1, 0);
	struct rvt_cq *cq;
	struct rvt_qp *qp;

	(void)state;
	assert_int_equal(rvt_create_cq(w.context, 16, &cq), 0);
	qp = world_qp(cq, srq);
	assert_int_equal(world_attribute(&srq->res, RESTRACK_SRQ_USERS), 1);
	world_refused(rvt_destroy_srq(srq), RVT_IN_USE);
	world_refused(rvt_dealloc_pd(w.pd), RVT_IN_USE);
	assert_int_equal(rvt_destroy_qp(qp), 0);
	/* Receives that are still posted vanish. */
	assert_int_equal(post(srq, 1), 0);
	assert_int_equal(rvt_destroy_srq(srq), 0);
	assert_int_equal(rvt_cq_entries(cq), 0);
}

static int fail_create(void **object)
{
	uint32_t max_wr = 10, max_sge = 2;
	struct rvt_srq *srq;
	int err = rvt_create_srq(w.pd, &max_wr, &max_sge, 0, &srq);

	*object = err ? NULL : srq;
	return err;
}

static void fail_destroy(void *object)
{
	assert_int_equal(rvt_destroy_srq(object), 0);
}

static void test_allocations(void **state)
{
	(void)state;
	world_fail_allocations(fail_create, fail_destroy);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, world_open, world_close)
	const struct CMUnitTest tests[] = {
		TEST(test_ring),  TEST(test_ring_limits), TEST(test_create), TEST(test_post),
		TEST(test_limit), TEST(test_modify),	  TEST(test_users),  TEST(test_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
