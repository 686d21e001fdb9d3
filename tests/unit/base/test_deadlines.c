/* SPDX-License-Identifier: Apache-2.0 */
/* test_deadlines.c - what is due comes in its order, once, and not after it was disarmed */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/deadlines.h"
#include "base/list.h"
#include "unit/seed.h"

#include <cmocka.h>

struct timer {
	struct deadline deadline;
	uint64_t expected; /* what the deadline should be at */
	int fired;
	uint64_t again;	      /* arms itself for this when it fires, if not 0 */
	struct timer *victim; /* disarms this one when it fires */
};

static struct deadlines all;
static uint64_t now, last;

static void fired(struct deadline *d)
{
	struct timer *timer = container_of(d, struct timer, deadline);

	assert_false(deadline_armed(d));
	assert_true(timer->expected <= now);
	assert_true(timer->expected >= last);
	last = timer->expected;
	timer->expected = NEVER;
	timer->fired++;
	if (timer->again) {
		timer->expected = timer->again;
		timer->again = 0;
		deadline_arm(&all, d, timer->expected);
	}
	if (timer->victim)
		deadline_disarm(&all, &timer->victim->deadline);
}

static void arm(struct timer *timer, uint64_t at)
{
	timer->expected = at;
	deadline_arm(&all, &timer->deadline, at);
}

static void expire(uint64_t to)
{
	now = to;
	last = 0;
	deadlines_expire(&all, now);
}

static int fresh(void **state)
{
	(void)state;
	all = (struct deadlines){ 0 };
	return 0;
}

static void init(struct timer *timer)
{
	*timer = (struct timer){ .expected = NEVER };
	deadline_init(&timer->deadline, fired);
}

static void one(void **state)
{
	struct timer t;

	(void)state;
	init(&t);
	assert_true(deadlines_next(&all) == NEVER);
	deadline_disarm(&all, &t.deadline); /* harmless */
	arm(&t, 5);
	assert_true(deadlines_next(&all) == 5);
	expire(4);
	assert_int_equal(t.fired, 0);
	arm(&t, 9);
	expire(8);
	assert_int_equal(t.fired, 0);
	expire(9);
	assert_int_equal(t.fired, 1);
	expire(10);
	assert_int_equal(t.fired, 1);
	arm(&t, 0);
	expire(0);
	assert_int_equal(t.fired, 2);
	arm(&t, 7);
	arm(&t, NEVER); /* the same as disarming */
	assert_true(deadlines_next(&all) == NEVER);
	expire(NEVER - 1);
	assert_int_equal(t.fired, 2);
}

static void expired_may_arm_and_disarm(void **state)
{
	struct timer a, b, c;

	(void)state;
	init(&a);
	init(&b);
	init(&c);
	arm(&a, 1);
	arm(&b, 2);
	arm(&c, 3);
	a.again = 3;
	a.victim = &b;
	expire(3);
	assert_int_equal(a.fired, 2);
	assert_int_equal(b.fired, 0);
	assert_int_equal(c.fired, 1);
	assert_true(deadlines_next(&all) == NEVER);
}

#define TIMERS 200

static void equals_an_array(void **state)
{
	static struct timer timers[TIMERS];
	struct random random;
	uint64_t time = 0;

	(void)state;
	seed(&random);
	for (int i = 0; i < TIMERS; i++)
		init(&timers[i]);
	for (int step = 0; step < 50000; step++) {
		struct timer *timer = &timers[random_below(&random, TIMERS)];
		uint64_t earliest = NEVER;

		switch (random_below(&random, 8)) {
		case 0:
			timer->expected = NEVER;
			deadline_disarm(&all, &timer->deadline);
			break;
		case 1:
			time += random_below(&random, 30);
			expire(time);
			break;
		default: /* equal times happen often */
			arm(timer, time + 1 + random_below(&random, 400));
		}
		for (int i = 0; i < TIMERS; i++) {
			assert_true(timers[i].deadline.at_ns == timers[i].expected);
			if (timers[i].expected < earliest)
				earliest = timers[i].expected;
		}
		assert_true(deadlines_next(&all) == earliest);
		assert_true(earliest > time);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(one, fresh),
		cmocka_unit_test_setup(expired_may_arm_and_disarm, fresh),
		cmocka_unit_test_setup(equals_an_array, fresh),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
