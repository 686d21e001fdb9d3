/* SPDX-License-Identifier: Apache-2.0 */
/* test_resource_map.c - which files are taken for a ledger */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/resource_source.h"

static int make_file(size_t size, int seals, int format)
{
	struct ledger_identity identity = { .pid = 12, .comm = "prog" };
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	if (format) {
		void *ledger = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

		assert_ptr_not_equal(ledger, MAP_FAILED);
		assert_int_equal(ledger_format(ledger, size, &identity), 0);
		munmap(ledger, size);
	}
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static void check(size_t size, int seals, int format, int expected)
{
	struct resource_source source = { .clients = calloc(1, sizeof(*source.clients)),
					  .count = 1 };
	int fd = make_file(size, seals, format);

	assert_non_null(source.clients);
	assert_int_equal(resource_client_map(source.clients, fd), expected);
	close(fd);
	assert_int_equal(source.clients->has_ledger, !expected);
	if (!expected)
		assert_int_equal(source.clients->reader.header.pid, 12);
	resource_source_close(&source);
}

static void test_map(void **state)
{
	struct resource_client client = { 0 };
	int pipes[2];

	(void)state;
	check(ledger_size(), F_SEAL_SHRINK | F_SEAL_GROW, 1, 0);
	check(ledger_size() + 4096, F_SEAL_SHRINK, 1, 0);
	check(ledger_size(), 0, 1, -EINVAL);
	check(ledger_size(), F_SEAL_SHRINK, 0, -EINVAL);
	check(ledger_size() - 4096, F_SEAL_SHRINK, 0, -EINVAL);
	check(0, F_SEAL_SHRINK, 0, -EINVAL);
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(resource_client_map(&client, pipes[0]), -EINVAL);
	close(pipes[0]);
	close(pipes[1]);
	assert_int_equal(resource_client_map(&client, -1), -EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_map),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
