/* SPDX-License-Identifier: Apache-2.0 */
/* message.c - any bytes and descriptors on the broker's socket: taken whole and checked, or refused
 * and closed */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "ipc/messages.h"

#define MOST_FDS 8

static void give(int to, const void *bytes, size_t size, int fd, unsigned fds)
{
	struct iovec iov = { (void *)(uintptr_t)bytes, size };
	union {
		char bytes[CMSG_SPACE(MOST_FDS * sizeof(int))];
		struct cmsghdr align;
	} control = { { 0 } };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (fds) {
		struct cmsghdr *c = &control.align;

		m.msg_control = control.bytes;
		m.msg_controllen = CMSG_SPACE(fds * sizeof(int));
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(fds * sizeof(int));
		for (unsigned i = 0; i < fds; i++)
			memcpy(CMSG_DATA(c) + i * sizeof(int), &fd, sizeof(int));
	}
	FUZZ_CHECK(sendmsg(to, &m, MSG_NOSIGNAL) == (ssize_t)size);
}

/* The lowest free descriptor: the same before and after, or one leaked. */
static int lowest_fd(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	FUZZ_CHECK(fd >= 0);
	close(fd);
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	uint8_t shape = take(&in);
	struct ipc_message message;
	uint8_t bytes[sizeof(message) + 64] = { 0 };
	unsigned count, fds = shape & 7;
	size_t length = sizeof(message);
	int pair[2], taken[IPC_MAX_FDS], err, lowest;

	FUZZ_CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair));
	lowest = lowest_fd();
	/* Of the right size and kind, unless the input wants it otherwise. */
	ipc_message_init(&message, (enum ipc_type)(take(&in) % 9));
	memcpy(bytes, &message, sizeof(message));
	if (shape & 8)
		length = take16(&in) % sizeof(bytes);
	for (size_t i = shape & 16 ? 0 : 12; i < length && in.left; i++)
		bytes[i] = take(&in);
	give(pair[1], bytes, length, STDERR_FILENO, fds);
	err = ipc_receive(pair[0], &message, taken, &count);
	FUZZ_CHECK(err || (count <= IPC_MAX_FDS && count == fds));
	FUZZ_CHECK(!err || !count);
	FUZZ_CHECK(fds <= IPC_MAX_FDS || err == -EPROTO);
	if (!err) {
		FUZZ_CHECK(message.magic == IPC_MAGIC && message.version == IPC_VERSION);
		FUZZ_CHECK(message.type >= IPC_HELLO && message.type <= IPC_END);
		FUZZ_CHECK(memchr(message.comm, 0, sizeof(message.comm)));
		FUZZ_CHECK(memchr(message.text, 0, sizeof(message.text)));
	}
	while (count)
		close(taken[--count]);
	FUZZ_CHECK(lowest_fd() == lowest);
	close(pair[0]);
	close(pair[1]);
	return 0;
}
