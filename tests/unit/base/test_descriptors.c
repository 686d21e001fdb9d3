/* SPDX-License-Identifier: Apache-2.0 */
/* test_descriptors.c - the book of descriptors */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/descriptors.h"

#include <cmocka.h>

static void test_own(void **state)
{
	(void)state;
	assert_int_equal(descriptors_next_own(0), -1);
	assert_int_equal(descriptors_own(64), 64);
	assert_int_equal(descriptors_own(127), 127);
	assert_int_equal(descriptors_own(1000000), 1000000);
	assert_true(descriptors_is_own(64));
	assert_false(descriptors_is_own(65));
	assert_int_equal(descriptors_next_own(0), 64);
	assert_int_equal(descriptors_next_own(64), 64);
	assert_int_equal(descriptors_next_own(65), 127);
	assert_int_equal(descriptors_next_own(128), 1000000);
	assert_int_equal(descriptors_next_own(1000001), -1);
	assert_int_equal(descriptors_next_own(UINT32_MAX), -1);
	assert_int_equal(descriptors_disown(127), 127);
	assert_int_equal(descriptors_next_own(65), 1000000);
	descriptors_disown(64);
	descriptors_disown(1000000);
	assert_int_equal(descriptors_next_own(0), -1);
}

static void test_no_numbers(void **state)
{
	static const int none[] = { -1, INT32_MIN, 1 << 20, INT32_MAX };

	(void)state;
	for (unsigned i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		assert_int_equal(descriptors_own(none[i]), none[i]);
		assert_false(descriptors_is_own(none[i]));
		assert_int_equal(descriptors_lend(none[i]), none[i]);
		assert_false(descriptors_take_back(none[i]));
		descriptors_disown(none[i]);
	}
	assert_int_equal(descriptors_next_own(0), -1);
}

static void test_lent(void **state)
{
	(void)state;
	descriptors_lend(3);
	descriptors_lend(63);
	descriptors_lend(64);
	descriptors_lend(200);
	assert_false(descriptors_is_own(3));
	descriptors_forget_lent(63, 199);
	assert_true(descriptors_is_lent(3));
	assert_false(descriptors_is_lent(63));
	assert_false(descriptors_take_back(64));
	assert_true(descriptors_take_back(200));
	assert_false(descriptors_take_back(200));
	descriptors_forget_lent(0, UINT32_MAX);
	assert_false(descriptors_is_lent(3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own),
		cmocka_unit_test(test_no_numbers),
		cmocka_unit_test(test_lent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
