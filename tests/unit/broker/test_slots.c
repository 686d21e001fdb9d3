/* SPDX-License-Identifier: Apache-2.0 */
/* test_slots.c - a slot is its lock; freed ones come back late, and rest first */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "broker/broker.h"

#include <cmocka.h>

#define ALL (SLOT_LAST - SLOT_FIRST + 1)

static char path[] = "/tmp/adverb-test-slots-XXXXXX";
static struct slots slots;
static int locks[ALL];

static int setup(void **state)
{
	int fd;

	(void)state;
	strcpy(path + sizeof(path) - 7, "XXXXXX");
	fd = mkstemp(path);
	if (fd < 0)
		return -1;
	close(fd);
	return slots_open(&slots, path);
}

static int teardown(void **state)
{
	(void)state;
	close(slots.fd);
	return unlink(path);
}

static void test_all(void **state)
{
	bool seen[SLOT_COUNT] = { false };
	unsigned slot, freed;
	int lock;

	(void)state;
	for (unsigned i = 0; i < ALL; i++) {
		assert_int_equal(slots_take(&slots, 1000, &slot, &locks[i]), 0);
		assert_in_range(slot, SLOT_FIRST, SLOT_LAST);
		assert_false(seen[slot]);
		seen[slot] = true;
		assert_true(slots_used(&slots, slot));
		assert_int_equal(slots_count(&slots), i + 1);
		freed = slot;
	}
	assert_int_equal(slots_take(&slots, 1000, &slot, &lock), -EUSERS);
	/* The last one's owner goes. */
	close(locks[ALL - 1]);
	slots_freed(&slots, freed, 5000);
	assert_false(slots_used(&slots, freed));
	assert_int_equal(slots_take(&slots, 6999, &slot, &lock), -EBUSY);
	assert_int_equal(slots_take(&slots, 7000, &slot, &locks[ALL - 1]), 0);
	assert_int_equal(slot, freed);
	for (unsigned i = 0; i < ALL; i++)
		close(locks[i]);
	assert_int_equal(slots_count(&slots), 0);
}

static void test_cyclic(void **state)
{
	unsigned first, slot;
	int lock;

	(void)state;
	assert_int_equal(slots_take(&slots, 1000, &first, &lock), 0);
	close(lock);
	slots_freed(&slots, first, 1000);
	for (unsigned i = 1; i < ALL; i++) {
		/* Long after its rest, and still others come first. */
		assert_int_equal(slots_take(&slots, 1000000, &slot, &lock), 0);
		assert_int_not_equal(slot, first);
		close(lock);
	}
	assert_int_equal(slots_take(&slots, 1000000, &slot, &lock), 0);
	assert_int_equal(slot, first);
	close(lock);
}

/* Another broker of the same file, and an owner that is another process. */
static void test_outlives(void **state)
{
	struct slots next;
	unsigned slot;
	int lock, pipes[2];
	pid_t pid;

	(void)state;
	assert_int_equal(slots_take(&slots, 1000, &slot, &lock), 0);
	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	if (!pid) {
		char byte;

		close(pipes[1]);
		_exit((int)read(pipes[0], &byte, 1));
	}
	close(pipes[0]);
	close(lock);
	assert_int_equal(slots_open(&next, path), 0);
	assert_true(slots_used(&next, slot));
	assert_int_equal(slots_count(&next), 1);
	close(pipes[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(slots_used(&next, slot));
	close(next.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_all, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cyclic, setup, teardown),
		cmocka_unit_test_setup_teardown(test_outlives, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
