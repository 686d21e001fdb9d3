/* SPDX-License-Identifier: Apache-2.0 */
/* test_directory.c - which directory it is, and which are refused */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ipc/directory.h"

#include <cmocka.h>

static char base[32];
static char why[256];
static struct ipc_paths paths;

static int setup(void **state)
{
	(void)state;
	strcpy(base, "/tmp/adverb-test-XXXXXX");
	unsetenv("ADVERB_RUNTIME_DIR");
	unsetenv("XDG_RUNTIME_DIR");
	return mkdtemp(base) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	return rmdir(base);
}

static const char *below(const char *name)
{
	static char path[64];

	snprintf(path, sizeof(path), "%s/%s", base, name);
	return path;
}

static void test_choice(void **state)
{
	struct stat st;

	(void)state;
	setenv("XDG_RUNTIME_DIR", base, 1);
	assert_int_equal(ipc_paths_find(&paths, 0, why, sizeof(why)), -ENOENT);
	assert_int_equal(ipc_paths_find(&paths, 1, why, sizeof(why)), 0);
	assert_string_equal(paths.directory, below("adverb"));
	assert_int_equal(stat(paths.directory, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_memory_equal(paths.socket, paths.directory, strlen(paths.directory));
	assert_non_null(strstr(paths.socket, ".sock"));
	setenv("ADVERB_RUNTIME_DIR", below("own"), 1);
	assert_int_equal(ipc_paths_find(&paths, 1, why, sizeof(why)), 0);
	assert_string_equal(paths.directory, below("own"));
	rmdir(below("own"));
	rmdir(below("adverb"));
}

static void refused(const char *path, int err)
{
	setenv("ADVERB_RUNTIME_DIR", path, 1);
	why[0] = 0;
	assert_int_equal(ipc_paths_find(&paths, 1, why, sizeof(why)), err);
	assert_true(strlen(why) > 10);
}

static void test_refused(void **state)
{
	static const mode_t open_modes[] = { 0755, 0710, 0701, 0770, 01777 };
	char path[64], too_long[200];
	FILE *file;

	(void)state;
	snprintf(path, sizeof(path), "%s", below("d"));
	assert_int_equal(mkdir(path, 0700), 0);
	for (size_t i = 0; i < sizeof(open_modes) / sizeof(open_modes[0]); i++) {
		assert_int_equal(chmod(path, open_modes[i]), 0);
		refused(path, -EPERM);
	}
	assert_int_equal(chmod(path, 0700), 0);
	assert_int_equal(symlink(path, below("link")), 0);
	refused(below("link"), -EPERM);
	unlink(below("link"));
	file = fopen(below("file"), "w");
	assert_non_null(file);
	fclose(file);
	refused(below("file"), -EPERM);
	unlink(below("file"));
	refused(below("not/there"), -ENOENT);
	memset(too_long, 'x', sizeof(too_long) - 1);
	too_long[0] = '/';
	too_long[sizeof(too_long) - 1] = 0;
	refused(too_long, -ENAMETOOLONG);
	if (geteuid() == 0) {
		assert_int_equal(chown(path, 65534, 65534), 0);
		refused(path, -EPERM);
		/* But the superuser may look. */
		setenv("ADVERB_RUNTIME_DIR", path, 1);
		assert_int_equal(ipc_paths_find(&paths, 0, why, sizeof(why)), 0);
	}
	rmdir(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_choice, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
