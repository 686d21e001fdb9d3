/* SPDX-License-Identifier: Apache-2.0 */
/* test_report.c - a broken invariant says where it stands, and ends the process */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/report.h"

#include <cmocka.h>

static void dies_with_words(void **state)
{
	const struct rlimit no_core = { 0, 0 };
	char text[400] = "";
	size_t got = 0;
	ssize_t n;
	int ends[2], status;
	pid_t child;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		(void)setrlimit(RLIMIT_CORE, &no_core);
		(void)signal(SIGABRT, SIG_DFL);
		(void)dup2(ends[1], STDERR_FILENO);
		report_fatal("some/file.c", 1203, "count < limit");
	}
	close(ends[1]);
	while (got < sizeof(text) - 1 &&
	       (n = read(ends[0], text + got, sizeof(text) - 1 - got)) > 0)
		got += (size_t)n;
	close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	assert_non_null(strstr(text, "some/file.c:1203: count < limit\n"));
}

static void true_is_silent(void **state)
{
	(void)state;
	ASSERT(1 + 1 == 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dies_with_words),
		cmocka_unit_test(true_is_silent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
