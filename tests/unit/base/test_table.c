/* SPDX-License-Identifier: Apache-2.0 */
/* test_table.c - ids are given out cyclically, one to an owner; look-ups are total; memory may run
 * out anywhere */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "unit/seed.h"

#include <cmocka.h>

struct memory {
	int blocks; /* in use */
	int left;   /* allocations until they fail; < 0: never */
};

static void *get(void *context, size_t size)
{
	struct memory *memory = context;

	if (memory->left == 0)
		return NULL;
	if (memory->left > 0)
		memory->left--;
	memory->blocks++;
	return calloc(1, size);
}

static void put(void *context, void *block)
{
	struct memory *memory = context;

	if (block)
		memory->blocks--;
	free(block);
}

static struct memory memory;
static const struct allocator allocator = { get, put, &memory };

static int fresh(void **state)
{
	(void)state;
	memory = (struct memory){ .left = -1 };
	return 0;
}

static int nothing_left(void **state)
{
	(void)state;
	return memory.blocks != 0;
}

static void ids_come_back_late(void **state)
{
	struct table t;
	uint32_t id;

	(void)state;
	assert_int_equal(table_init(&t, &allocator, 100, 10, 17), 0);
	for (uint32_t i = 0; i < 10; i++) {
		assert_int_equal(table_take(&t, &id), 0);
		assert_int_equal(id, 100 + (7 + i) % 10);
	}
	assert_int_equal(table_take(&t, &id), -ENOSPC);
	table_release(&t, 108);
	table_release(&t, 103);
	assert_int_equal(table_take(&t, &id), 0);
	assert_int_equal(id, 108); /* the next from 107 on, where the last search began */
	table_release(&t, 108);
	assert_int_equal(table_take(&t, &id), 0);
	assert_int_equal(id, 103);
	table_deinit(&t);
}

static void the_very_id(void **state)
{
	struct table t;
	uint32_t id;

	(void)state;
	assert_int_equal(table_init(&t, &allocator, 5, 3000, 0), 0);
	assert_int_equal(table_take_id(&t, 4), -ERANGE);
	assert_int_equal(table_take_id(&t, 3005), -ERANGE);
	assert_int_equal(table_take_id(&t, UINT32_MAX), -ERANGE);
	assert_int_equal(table_take_id(&t, 3004), 0);
	assert_int_equal(table_take_id(&t, 3004), -EBUSY);
	assert_int_equal(table_take_id(&t, 5), 0);
	assert_int_equal(table_take(&t, &id), 0);
	assert_int_equal(id, 6);
	table_deinit(&t);
}

static void hidden_and_yet_taken(void **state)
{
	struct table t;
	uint32_t id, other;
	int object;

	(void)state;
	assert_int_equal(table_init(&t, &allocator, 0, 1, 0), 0);
	assert_int_equal(table_take(&t, &id), 0);
	assert_null(table_find(&t, id));
	table_set(&t, id, &object);
	assert_ptr_equal(table_find(&t, id), &object);
	table_set(&t, id, NULL);
	assert_null(table_find(&t, id));
	assert_int_equal(table_take(&t, &other), -ENOSPC);
	assert_int_equal(table_take_id(&t, id), -EBUSY);
	table_set(&t, id, &object);
	table_release(&t, id);
	assert_null(table_find(&t, id)); /* a released id finds nothing, whatever was set */
	assert_int_equal(table_take(&t, &other), 0);
	table_deinit(&t);
}

static void lookups_are_total(void **state)
{
	struct table t;
	uint32_t id = 0;

	(void)state;
	assert_int_equal(table_init(&t, &allocator, 10, 5000, 4999), 0);
	assert_null(table_find(&t, 0));
	assert_null(table_find(&t, 10));
	assert_null(table_find(&t, 5009));
	assert_null(table_find(&t, 5010));
	assert_null(table_find(&t, UINT32_MAX));
	assert_null(table_next(&t, &id));
	id = UINT32_MAX;
	assert_null(table_next(&t, &id));
	table_deinit(&t);

	assert_int_equal(table_init(&t, &allocator, 10, 0, 3), 0);
	assert_null(table_find(&t, 10));
	assert_int_equal(table_take(&t, &id), -ENOSPC);
	table_deinit(&t);
}

#define FIRST 1000u
#define COUNT 2500u /* three chunks, the last one not full, in its words either */

/* Any order of calls does what an array would. */
static void equals_an_array(void **state)
{
	static bool taken[COUNT];
	static void *objects[COUNT];
	struct random random;
	struct table t;
	uint32_t used = 0;

	(void)state;
	seed(&random);
	memset(taken, 0, sizeof(taken));
	memset(objects, 0, sizeof(objects));
	assert_int_equal(table_init(&t, &allocator, FIRST, COUNT, 77), 0);
	for (int step = 0; step < 60000; step++) {
		uint32_t index = random_below(&random, COUNT), id = FIRST + index;
		/* The table fills and empties in turn. */
		bool filling = step / 10000 % 2 == 0;

		if (random_below(&random, 10) < (filling ? 8 : 2)) {
			int err = index & 1 ? table_take_id(&t, id) : table_take(&t, &id);

			if (err) {
				assert_int_equal(err, index & 1 ? -EBUSY : -ENOSPC);
				assert_true(index & 1 ? taken[index] : used == COUNT);
				continue;
			}
			assert_in_range(id, FIRST, FIRST + COUNT - 1);
			assert_false(taken[id - FIRST]);
			taken[id - FIRST] = true;
			used++;
			if (step % 3 == 0)
				continue;
			objects[id - FIRST] = &taken[id - FIRST];
			table_set(&t, id, objects[id - FIRST]);
		} else if (taken[index]) {
			table_release(&t, id);
			taken[index] = false;
			objects[index] = NULL;
			used--;
		}
		assert_ptr_equal(table_find(&t, FIRST + index), objects[index]);
		if (step % 1000 == 0) {
			uint32_t at = 0, expected = 0;
			void *object;

			while ((object = table_next(&t, &at))) {
				while (!objects[expected])
					expected++;
				assert_int_equal(at, FIRST + expected);
				assert_ptr_equal(object, objects[expected]);
				expected++;
				at++;
			}
			while (expected < COUNT)
				assert_null(objects[expected++]);
		}
	}
	table_deinit(&t);
}

static void memory_runs_out(void **state)
{
	struct table t;
	uint32_t id;

	(void)state;
	for (int left = 0; left < 2; left++) {
		memory.left = left;
		assert_int_equal(table_init(&t, &allocator, 0, 4096, 0), -ENOMEM);
		assert_int_equal(memory.blocks, 0);
	}
	memory.left = 2;
	assert_int_equal(table_init(&t, &allocator, 0, 4096, 0), 0);
	for (int left = 0; left < 2; left++) {
		memory.left = left;
		assert_int_equal(table_take(&t, &id), -ENOMEM);
		assert_int_equal(table_take_id(&t, 2000), -ENOMEM);
		assert_int_equal(memory.blocks, 2);
	}
	memory.left = 2;
	assert_int_equal(table_take(&t, &id), 0);
	assert_int_equal(id, 0); /* what failed took nothing */
	table_deinit(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(ids_come_back_late, fresh, nothing_left),
		cmocka_unit_test_setup_teardown(the_very_id, fresh, nothing_left),
		cmocka_unit_test_setup_teardown(hidden_and_yet_taken, fresh, nothing_left),
		cmocka_unit_test_setup_teardown(lookups_are_total, fresh, nothing_left),
		cmocka_unit_test_setup_teardown(equals_an_array, fresh, nothing_left),
		cmocka_unit_test_setup_teardown(memory_runs_out, fresh, nothing_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
