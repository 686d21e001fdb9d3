/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop.c - the ring of a process to itself: what goes in comes out, in order, until it is full
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "link/private.h"
#include "unit/seed.h"

#include <cmocka.h>

static struct link_way ways[2];

static uint8_t byte_of(uint32_t number, size_t at)
{
	return (uint8_t)(number * 7 + at * 13);
}

static size_t length_of(uint32_t number)
{
	return 1 + (number * 2654435761u >> 7) % MAX_PACKET;
}

static bool put(struct loop *loop, uint32_t number)
{
	size_t length = length_of(number);
	uint8_t *to = loop_reserve(loop, &ways[number & 1], (uint8_t)number, length);

	if (!to)
		return false;
	for (size_t i = 0; i < length; i++)
		to[i] = byte_of(number, i);
	loop_commit(loop);
	return true;
}

static void get(struct loop *loop, uint32_t number)
{
	struct loop_header *h = loop_peek(loop);
	const uint8_t *data;
	size_t length = length_of(number);

	assert_non_null(h);
	data = (const uint8_t *)(h + 1);
	assert_int_equal(h->size, length);
	assert_ptr_equal(h->way, &ways[number & 1]);
	assert_int_equal(h->traffic_class, (uint8_t)number);
	for (size_t i = 0; i < length; i++) {
		if (data[i] != byte_of(number, i))
			fail_msg("packet %u differs at byte %zu", number, i);
	}
	loop_drop(loop);
}

static void in_order(void **state)
{
	struct random random;
	struct loop loop;
	uint32_t in = 0, out = 0;
	unsigned full = 0;

	(void)state;
	seed(&random);
	assert_int_equal(loop_init(&loop), 0);
	assert_null(loop_peek(&loop));
	while (in < 30000) {
		unsigned puts = random_below(&random, 400), gets = random_below(&random, 400);

		for (; puts; puts--) {
			/* A reservation that comes to nothing leaves nothing behind. */
			if (random_below(&random, 8) == 0)
				(void)loop_reserve(&loop, &ways[0], 0,
						   1 + random_below(&random, MAX_PACKET));
			if (!put(&loop, in)) {
				full++;
				break;
			}
			in++;
		}
		assert_true(loop.used <= LOOP_SIZE);
		for (; gets && out < in; gets--)
			get(&loop, out++);
	}
	while (out < in)
		get(&loop, out++);
	assert_null(loop_peek(&loop));
	assert_int_equal(loop.used, 0);
	assert_true(full > 0);
	free(loop.memory);
}

/* An empty ring takes any packet, wherever its ends are. */
static void empty_takes_any(void **state)
{
	struct loop loop;

	(void)state;
	assert_int_equal(loop_init(&loop), 0);
	for (uint32_t i = 0; i < 5000; i++) {
		assert_non_null(loop_reserve(&loop, &ways[0], 0, MAX_PACKET - i % 300));
		loop_commit(&loop);
		assert_non_null(loop_peek(&loop));
		loop_drop(&loop);
		assert_null(loop_peek(&loop));
	}
	free(loop.memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_order),
		cmocka_unit_test(empty_takes_any),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
