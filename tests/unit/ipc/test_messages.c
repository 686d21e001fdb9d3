/* SPDX-License-Identifier: Apache-2.0 */
/* test_messages.c - what is sent arrives; anything else is refused, and leaves no descriptor open
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ipc/messages.h"

#include <cmocka.h>

static int pair[2];

static int setup(void **state)
{
	(void)state;
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair);
}

static int teardown(void **state)
{
	(void)state;
	close(pair[0]);
	close(pair[1]);
	return 0;
}

static int open_count(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void test_round_trip(void **state)
{
	int fds[IPC_MAX_FDS] = { 0, 1, 2 }, got[IPC_MAX_FDS];
	struct ipc_message out, in;
	unsigned count;

	(void)state;
	for (unsigned n = 0; n <= IPC_MAX_FDS; n++) {
		ipc_message_init(&out, IPC_WELCOME);
		out.slot = 77;
		strcpy(out.comm, "program");
		assert_int_equal(ipc_send(pair[0], &out, fds, n), 0);
		assert_int_equal(ipc_receive(pair[1], &in, got, &count), 0);
		assert_memory_equal(&in, &out, sizeof(in));
		assert_int_equal(count, n);
		while (count) {
			assert_true(fcntl(got[--count], F_GETFD) & FD_CLOEXEC);
			close(got[count]);
		}
	}
}

static void test_strings_end(void **state)
{
	int fds[IPC_MAX_FDS];
	struct ipc_message out, in;
	unsigned count;

	(void)state;
	ipc_message_init(&out, IPC_HELLO);
	memset(out.comm, 'x', sizeof(out.comm));
	memset(out.text, 'x', sizeof(out.text));
	assert_int_equal(ipc_send(pair[0], &out, NULL, 0), 0);
	assert_int_equal(ipc_receive(pair[1], &in, fds, &count), 0);
	assert_int_equal(strlen(in.comm), sizeof(in.comm) - 1);
	assert_int_equal(strlen(in.text), sizeof(in.text) - 1);
}

/* As raw bytes with @fds copies of stdin. */
static void send_raw(const void *bytes, size_t length, unsigned fds)
{
	struct iovec iov = { (void *)(uintptr_t)bytes, length };
	union {
		char bytes[CMSG_SPACE(sizeof(int) * 16)];
		struct cmsghdr align;
	} control = { 0 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (fds) {
		m.msg_control = control.bytes;
		m.msg_controllen = CMSG_SPACE(sizeof(int) * fds);
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(sizeof(int) * fds);
	}
	assert_int_equal(sendmsg(pair[0], &m, 0), length);
}

static void refuse(const void *bytes, size_t length, unsigned fds)
{
	int got[IPC_MAX_FDS], before = open_count();
	struct ipc_message in;
	unsigned count = 99;

	send_raw(bytes, length, fds);
	assert_int_equal(ipc_receive(pair[1], &in, got, &count), -EPROTO);
	assert_int_equal(count, 0);
	assert_int_equal(open_count(), before);
}

static void test_refused(void **state)
{
	struct ipc_message m;
	uint8_t longer[sizeof(m) + 1] = { 0 };

	(void)state;
	ipc_message_init(&m, IPC_HELLO);
	for (size_t length = 1; length < sizeof(m); length += 13)
		refuse(&m, length, 1);
	memcpy(longer, &m, sizeof(m));
	refuse(longer, sizeof(longer), 2);
	refuse(&m, sizeof(m), IPC_MAX_FDS + 1);
	refuse(&m, sizeof(m), 16);
	m.magic ^= 1;
	refuse(&m, sizeof(m), 0);
	m.magic ^= 1;
	m.version++;
	refuse(&m, sizeof(m), 3);
	m.version--;
	m.type = 0;
	refuse(&m, sizeof(m), 0);
	m.type = IPC_END + 1;
	refuse(&m, sizeof(m), 1);
}

static void test_ends(void **state)
{
	int fds[IPC_MAX_FDS];
	struct ipc_message m;
	unsigned count;

	(void)state;
	assert_int_equal(ipc_receive(pair[1], &m, fds, &count), -EAGAIN);
	assert_int_equal(count, 0);
	shutdown(pair[0], SHUT_RDWR);
	assert_int_equal(ipc_receive(pair[1], &m, fds, &count), -ECONNRESET);
	ipc_message_init(&m, IPC_HELLO);
	/* And no SIGPIPE. */
	assert_int_equal(ipc_send(pair[1], &m, NULL, 0), -EPIPE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_round_trip, setup, teardown),
		cmocka_unit_test_setup_teardown(test_strings_end, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ends, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
