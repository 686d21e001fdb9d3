/* SPDX-License-Identifier: Apache-2.0 */
/* Which acknowledgements wait for the next message, and when that was found to be of no use. */
#include "world.h"

#define HELD 8u /* messages that one acknowledgement answers */
#define US   1000u
#define LATE (50 * US)

static struct roce_qp *qp(void)
{
	return to_roce_qp(w.qp);
}

static bool due(void)
{
	return roce_engine_acks_due(&w.engine);
}

static void flush(void)
{
	assert_true(due());
	roce_engine_flush_acks(&w.engine);
	assert_false(due());
}

/* So many messages in a row that are answered together. */
static void stream(void)
{
	for (unsigned i = 0; i < HELD; i++) {
		assert_false(due());
		roce_owe_ack_soon(qp());
		w.device.now_ns += 20 * US;
	}
	flush();
}

/* One message, and the next one only after it is acknowledged. */
static bool waits_for_the_clock(void)
{
	roce_owe_ack_soon(qp());
	if (due()) {
		flush();
		return false;
	}
	w.device.now_ns += LATE - 1;
	assert_false(due());
	w.device.now_ns += 1;
	flush();
	return true;
}

static void small_messages_share_one(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 100; i++)
		stream();
}

static void others_do_not_wait(void **state)
{
	(void)state;
	roce_owe_ack_soon(qp());
	assert_false(due());
	roce_owe_ack(qp());
	flush();
	stream(); /* and that was no miss */
}

/* A sender that waits for each acknowledgement is delayed a few times only, and ever more rarely.
 */
static void a_sender_that_waits_is_noticed(void **state)
{
	unsigned delayed = 0;

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		assert_true(waits_for_the_clock());
	for (unsigned i = 0; i < 64; i++)
		assert_false(waits_for_the_clock());
	for (unsigned i = 0; i < 50000; i++)
		delayed += waits_for_the_clock();
	assert_in_range(delayed, 1, 15);
}

static void a_stream_is_noticed_again(void **state)
{
	unsigned at_once = 0;

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		assert_true(waits_for_the_clock());
	for (;;) {
		roce_owe_ack_soon(qp());
		if (!due())
			break;
		flush();
		at_once++;
	}
	assert_int_equal(at_once, 64);
	for (unsigned i = 1; i < HELD; i++)
		roce_owe_ack_soon(qp());
	flush();
	/* Forgiven: one late message is no reason again. */
	assert_true(waits_for_the_clock());
	stream();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(small_messages_share_one),
		TEST(others_do_not_wait),
		TEST(a_sender_that_waits_is_noticed),
		TEST(a_stream_is_noticed_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
