/* SPDX-License-Identifier: Apache-2.0 */
/* test_cq.c - completion queues: order, arming, overrun, resizing */
#include "world.h"

static struct rvt_cq *create(uint32_t cqe)
{
	struct rvt_cq *cq;

	assert_int_equal(rvt_create_cq(w.context, cqe, &cq), 0);
	return cq;
}

/* Indices run free: a queue that is almost at the wrap behaves as a new one. */
static struct rvt_cq *create_old(uint32_t cqe)
{
	struct rvt_cq *cq = create(cqe);

	cq->head = cq->tail = cq->reported = UINT32_MAX - 2;
	return cq;
}

static bool enter(struct rvt_cq *cq, uint64_t wr_id, uint32_t qpn, bool solicited,
		  enum rvt_wc_status status)
{
	struct rvt_wc wc = {
		.wr_id = wr_id, .qp_num = qpn, .solicited = solicited, .status = status
	};

	return rvt_cq_enter(cq, &wc);
}

static void put(struct rvt_cq *cq, uint64_t wr_id)
{
	assert_true(enter(cq, wr_id, 1, false, RVT_WC_SUCCESS));
}

/* Takes one completion off and says whose. */
static uint64_t take(struct rvt_cq *cq)
{
	struct rvt_wc wc;

	assert_int_equal(rvt_poll_cq(cq, 1, &wc), 1);
	return wc.wr_id;
}

static void test_sizes(void **state)
{
	struct rvt_cq *cq;

	(void)state;
	world_refused(rvt_create_cq(w.context, 0, &cq), RVT_BAD_ARGUMENT);
	world_refused(rvt_create_cq(w.context, rvt_limits.max_cqe + 1, &cq), RVT_BAD_ARGUMENT);
	assert_int_equal(w.value1, rvt_limits.max_cqe + 1);
	assert_int_equal(w.value2, rvt_limits.max_cqe);
	world_refused(rvt_create_cq(w.context, UINT32_MAX, &cq), RVT_BAD_ARGUMENT);
	for (uint32_t n = 1; n < 200; n += 7) {
		cq = create(n);
		assert_true(cq->cqe >= n && cq->cqe <= cq->ring_size);
		assert_int_equal(world_attribute(&cq->res, RESTRACK_CQ_CQE), cq->cqe);
		for (uint32_t i = 0; i < cq->cqe; i++)
			put(cq, i);
		assert_int_equal(rvt_cq_entries(cq), cq->cqe);
		assert_int_equal(rvt_destroy_cq(cq), 0);
	}
	cq = create(rvt_limits.max_cqe);
	assert_int_equal(cq->cqe, rvt_limits.max_cqe);
	assert_int_equal(rvt_destroy_cq(cq), 0);
}

static void test_order(void **state)
{
	struct rvt_cq *cq = create_old(16);
	struct rvt_wc wc[16];
	uint64_t in = 0, out = 0;

	(void)state;
	assert_int_equal(rvt_poll_cq(cq, 16, wc), 0);
	assert_int_equal(rvt_poll_cq(cq, 0, wc), 0);
	for (unsigned round = 1; round < 100; round++) {
		int n;

		for (unsigned i = 0; i < round % 13; i++) {
			w.device.now_ns = 1000 + in;
			put(cq, in++);
		}
		do {
			n = rvt_poll_cq(cq, 5, wc);
			for (int i = 0; i < n; i++) {
				assert_int_equal(wc[i].wr_id, out);
				assert_int_equal(wc[i].timestamp_ns, 1000 + out++);
			}
		} while (n);
		assert_int_equal(in, out);
	}
	assert_int_equal(world_attribute(&cq->res, RESTRACK_CQ_COMPLETIONS), in);
	assert_int_equal(w.cq_events, 0);
}

static void test_peek(void **state)
{
	struct rvt_cq *cq = create_old(16);

	(void)state;
	assert_null(rvt_cq_peek(cq));
	put(cq, 1);
	put(cq, 2);
	assert_int_equal(rvt_cq_peek(cq)->wr_id, 1);
	assert_int_equal(rvt_cq_peek(cq)->wr_id, 1);
	rvt_cq_consume(cq);
	assert_int_equal(rvt_cq_peek(cq)->wr_id, 2);
	rvt_cq_consume(cq);
	assert_null(rvt_cq_peek(cq));
}

static void test_overrun(void **state)
{
	struct rvt_cq *cq = create_old(16);
	struct rvt_wc wc;

	(void)state;
	for (uint32_t i = 0; i < cq->cqe; i++)
		put(cq, i);
	for (int i = 0; i < 3; i++)
		assert_false(enter(cq, 99, 1, false, RVT_WC_SUCCESS));
	assert_int_equal(w.events[RVT_EVENT_CQ_ERR], 1);
	assert_ptr_equal(w.event_object, cq);
	assert_int_equal(w.causes[RVT_CQ_OVERRUN], 1);
	assert_ptr_equal(w.cause_object, &cq->res);
	assert_int_equal(w.value1, cq->res.id);
	assert_int_equal(w.value2, cq->cqe);
	assert_int_equal(world_attribute(&cq->res, RESTRACK_CQ_DEAD), 1);
	/* What is there can still be polled; room does not bring it back to life. */
	for (uint32_t i = 0; i < cq->cqe; i++) {
		assert_int_equal(take(cq), i);
		assert_false(enter(cq, 99, 1, false, RVT_WC_SUCCESS));
	}
	assert_int_equal(rvt_poll_cq(cq, 1, &wc), -EIO);
	assert_int_equal(w.events[RVT_EVENT_CQ_ERR], 1);
	assert_int_equal(rvt_destroy_cq(cq), 0);
}

static void test_overrun_ignored(void **state)
{
	struct rvt_cq *cq = create_old(16);

	(void)state;
	cq->ignore_overrun = true;
	for (uint32_t i = 0; i < cq->cqe + 5; i++)
		put(cq, i);
	assert_int_equal(rvt_cq_entries(cq), cq->cqe);
	assert_int_equal(take(cq), 5);
	assert_false(cq->dead);
	assert_int_equal(w.events[RVT_EVENT_CQ_ERR], 0);
	/* The event that is due is for what is left. */
	for (uint32_t i = 0; i < 3 * cq->cqe; i++)
		put(cq, i);
	rvt_arm_cq(cq, false);
	assert_int_equal(w.cq_events, 1);
}

static void test_arm_next(void **state)
{
	struct rvt_cq *cq = create_old(16);

	(void)state;
	put(cq, 0);
	take(cq);
	assert_int_equal(w.cq_events, 0);
	rvt_arm_cq(cq, false);
	assert_int_equal(w.cq_events, 0);
	put(cq, 1);
	assert_int_equal(w.cq_events, 1);
	assert_ptr_equal(w.cq_event_cq, cq);
	/* One event for each arming. */
	put(cq, 2);
	assert_int_equal(w.cq_events, 1);
	assert_int_equal(world_attribute(&cq->res, RESTRACK_CQ_EVENTS), 1);
}

static void test_arm_solicited(void **state)
{
	static const struct {
		bool solicited;
		enum rvt_wc_status status;
		bool wakes;
	} kinds[] = {
		{ false, RVT_WC_SUCCESS, false },     { true, RVT_WC_SUCCESS, true },
		{ false, RVT_WC_WR_FLUSH_ERR, true }, { false, RVT_WC_LOC_PROT_ERR, true },
		{ true, RVT_WC_REM_OP_ERR, true },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		/* At the completion, and late: it is there already when the queue is armed. */
		for (int late = 0; late < 2; late++) {
			struct rvt_cq *cq = create_old(16);
			unsigned before = w.cq_events;

			if (!late)
				rvt_arm_cq(cq, true);
			assert_true(enter(cq, 1, 1, kinds[i].solicited, kinds[i].status));
			if (late)
				rvt_arm_cq(cq, true);
			assert_int_equal(w.cq_events - before, kinds[i].wakes);
			/* The stronger arming finds what the weaker passed over. */
			if (!kinds[i].wakes) {
				rvt_arm_cq(cq, false);
				assert_int_equal(w.cq_events - before, 1);
			}
			assert_int_equal(rvt_destroy_cq(cq), 0);
		}
	}
}

static void test_arm_strength(void **state)
{
	struct rvt_cq *cq = create(16);

	(void)state;
	rvt_arm_cq(cq, false);
	rvt_arm_cq(cq, true);
	put(cq, 1);
	assert_int_equal(w.cq_events, 1);
	take(cq);
	rvt_arm_cq(cq, true);
	rvt_arm_cq(cq, false);
	put(cq, 2);
	assert_int_equal(w.cq_events, 2);
}

static void test_arm_late(void **state)
{
	struct rvt_cq *cq = create_old(16);

	(void)state;
	put(cq, 1);
	rvt_arm_cq(cq, false);
	assert_int_equal(w.cq_events, 1);
	/* It had its event. */
	rvt_arm_cq(cq, false);
	assert_int_equal(w.cq_events, 1);
	put(cq, 2);
	assert_int_equal(w.cq_events, 2);
	/* 3 came while the queue was not armed; 1 and 2 were reported. */
	put(cq, 3);
	assert_int_equal(w.cq_events, 2);
	assert_int_equal(take(cq), 1);
	rvt_arm_cq(cq, false);
	assert_int_equal(w.cq_events, 3);
	/* What was polled before needs no event. */
	put(cq, 4);
	while (rvt_cq_entries(cq))
		take(cq);
	rvt_arm_cq(cq, false);
	assert_int_equal(w.cq_events, 3);
}

/* A queue that was only polled for 2^31 completions, and is armed then. */
static void test_arm_after_long(void **state)
{
	struct rvt_cq *cq = create(16);

	(void)state;
	put(cq, 1);
	take(cq);
	for (int step = 0; step < 3; step++) {
		/* As if that many had come and gone, poll after poll. */
		cq->head += 0x3fffffff;
		cq->tail = cq->head - 1;
		take(cq);
		put(cq, 2);
		take(cq);
	}
	rvt_arm_cq(cq, true);
	assert_int_equal(w.cq_events, 0);
	rvt_arm_cq(cq, false);
	assert_int_equal(w.cq_events, 0);
	put(cq, 3);
	assert_int_equal(w.cq_events, 1);
}

static void test_clean(void **state)
{
	struct rvt_cq *cq = create_old(16);

	(void)state;
	rvt_cq_clean(cq, 7);
	for (uint64_t i = 0; i < 10; i++)
		assert_true(enter(cq, i, i % 3 ? 7 : 8, false, RVT_WC_SUCCESS));
	rvt_cq_clean(cq, 9);
	assert_int_equal(rvt_cq_entries(cq), 10);
	rvt_cq_clean(cq, 7);
	assert_int_equal(rvt_cq_entries(cq), 4);
	for (uint64_t i = 0; i < 10; i += 3)
		assert_int_equal(take(cq), i);
	assert_true(enter(cq, 5, 8, false, RVT_WC_SUCCESS));
	rvt_cq_clean(cq, 8);
	assert_int_equal(rvt_cq_entries(cq), 0);
}

/* What is left keeps whether it had its event: none is lost, none comes twice. */
static void test_clean_keeps_reported(void **state)
{
	(void)state;
	for (uint32_t gone = 7; gone <= 8; gone++) {
		for (int kept_reported = 0; kept_reported < 2; kept_reported++) {
			struct rvt_cq *cq = create_old(16);
			unsigned before;

			rvt_arm_cq(cq, false);
			assert_true(enter(cq, 1, 7, false, RVT_WC_SUCCESS));
			assert_true(enter(cq, 2, 8, false, RVT_WC_SUCCESS));
			if (kept_reported)
				rvt_arm_cq(cq, false);
			before = w.cq_events;
			rvt_cq_clean(cq, gone);
			rvt_arm_cq(cq, false);
			/* The second one is left and had no event of its own. */
			assert_int_equal(w.cq_events - before, gone == 7 && !kept_reported);
			assert_int_equal(rvt_cq_entries(cq), 1);
			assert_int_equal(rvt_destroy_cq(cq), 0);
		}
	}
}

static void test_resize(void **state)
{
	struct rvt_cq *cq = create_old(16);

	(void)state;
	for (uint64_t i = 0; i < 12; i++)
		put(cq, i);
	take(cq);
	take(cq);
	world_refused(rvt_resize_cq(cq, 0), RVT_BAD_ARGUMENT);
	world_refused(rvt_resize_cq(cq, 9), RVT_BAD_ARGUMENT);
	assert_int_equal(w.value2, 10);
	world_refused(rvt_resize_cq(cq, rvt_limits.max_cqe + 1), RVT_BAD_ARGUMENT);
	w.fail_after = 0;
	world_refused(rvt_resize_cq(cq, 100), RVT_NO_MEMORY);
	w.fail_after = -1;
	assert_int_equal(cq->cqe, 16);
	assert_int_equal(rvt_resize_cq(cq, 100), 0);
	assert_true(cq->cqe >= 100);
	assert_int_equal(world_attribute(&cq->res, RESTRACK_CQ_CQE), cq->cqe);
	for (uint64_t i = 12; i < 100; i++)
		put(cq, i);
	for (uint64_t i = 2; i < 95; i++)
		assert_int_equal(take(cq), i);
	assert_int_equal(rvt_resize_cq(cq, 5), 0);
	for (uint64_t i = 95; i < 100; i++)
		assert_int_equal(take(cq), i);
	assert_int_equal(rvt_cq_entries(cq), 0);
}

static void test_resize_keeps_reported(void **state)
{
	struct rvt_cq *cq = create_old(16);

	(void)state;
	put(cq, 0);
	take(cq);
	rvt_arm_cq(cq, false);
	put(cq, 1);
	assert_int_equal(w.cq_events, 1);
	assert_int_equal(rvt_resize_cq(cq, 64), 0);
	rvt_arm_cq(cq, false);
	assert_int_equal(w.cq_events, 1);
	/* Armed before, armed after. */
	assert_int_equal(rvt_resize_cq(cq, 200), 0);
	put(cq, 2);
	assert_int_equal(w.cq_events, 2);
	/* One that had none gets it. */
	put(cq, 3);
	assert_int_equal(rvt_resize_cq(cq, 64), 0);
	rvt_arm_cq(cq, false);
	assert_int_equal(w.cq_events, 3);
}

static void test_users(void **state)
{
	struct rvt_cq *cq = create(16);
	struct rvt_qp *qp = world_qp(cq, NULL);

	(void)state;
	assert_int_equal(cq->users, 2);
	assert_int_equal(world_attribute(&cq->res, RESTRACK_CQ_USERS), 2);
	world_refused(rvt_destroy_cq(cq), RVT_IN_USE);
	assert_ptr_equal(w.cause_object, &cq->res);
	/* The completions of a QP go with it. */
	assert_true(enter(cq, 1, qp->number, false, RVT_WC_SUCCESS));
	assert_true(enter(cq, 2, qp->number + 1, false, RVT_WC_SUCCESS));
	assert_int_equal(rvt_destroy_qp(qp), 0);
	assert_int_equal(rvt_cq_entries(cq), 1);
	assert_int_equal(take(cq), 2);
	assert_int_equal(rvt_destroy_cq(cq), 0);
}

static int fail_create(void **object)
{
	struct rvt_cq *cq;
	int err = rvt_create_cq(w.context, 16, &cq);

	*object = err ? NULL : cq;
	return err;
}

static void fail_destroy(void *object)
{
	assert_int_equal(rvt_destroy_cq(object), 0);
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
		TEST(test_sizes),
		TEST(test_order),
		TEST(test_peek),
		TEST(test_overrun),
		TEST(test_overrun_ignored),
		TEST(test_arm_next),
		TEST(test_arm_solicited),
		TEST(test_arm_strength),
		TEST(test_arm_late),
		TEST(test_arm_after_long),
		TEST(test_clean),
		TEST(test_clean_keeps_reported),
		TEST(test_resize),
		TEST(test_resize_keeps_reported),
		TEST(test_users),
		TEST(test_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
