/* SPDX-License-Identifier: Apache-2.0 */
/* messages.c - sending and receiving; whatever arrives is hostile until checked */
#include "ipc/messages.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void ipc_message_init(struct ipc_message *message, enum ipc_type type)
{
	memset(message, 0, sizeof(*message));
	message->magic = IPC_MAGIC;
	message->version = IPC_VERSION;
	message->type = type;
}

union control {
	char bytes[CMSG_SPACE(IPC_MAX_FDS * sizeof(int))];
	struct cmsghdr align;
};

int ipc_send(int fd, const struct ipc_message *message, const int *fds, unsigned count)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)message, .iov_len = sizeof(*message) };
	union control control;
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	ASSERT(count <= IPC_MAX_FDS);
	if (count) {
		struct cmsghdr *c = &control.align;

		memset(&control, 0, sizeof(control));
		m.msg_control = control.bytes;
		m.msg_controllen = CMSG_SPACE(count * sizeof(int));
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(c), fds, count * sizeof(int));
	}
	do
		n = sendmsg(fd, &m, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(*message) ? 0 : n < 0 ? -errno : -EPROTO;
}

/* False when there were more than we take: padding leaves room for one more in the buffer. */
static bool take_fds(struct msghdr *m, int fds[IPC_MAX_FDS], unsigned *count)
{
	bool all = true;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (*count < IPC_MAX_FDS) {
				fds[(*count)++] = fd;
			} else {
				close(fd);
				all = false;
			}
		}
	}
	return all;
}

int ipc_receive(int fd, struct ipc_message *message, int fds[IPC_MAX_FDS], unsigned *count)
{
	struct iovec iov = { .iov_base = message, .iov_len = sizeof(*message) };
	union control control;
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control.bytes,
			    .msg_controllen = sizeof(control) };
	ssize_t n;
	bool all;

	*count = 0;
	do
		n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	all = take_fds(&m, fds, count);
	if (n == 0 && !*count)
		return -ECONNRESET;
	/* What was sent did not fit, not into the message but into this process. */
	if (all && m.msg_flags & MSG_CTRUNC && *count < IPC_MAX_FDS) {
		while (*count)
			close(fds[--*count]);
		return -EMFILE;
	}
	if (!all || n != (ssize_t)sizeof(*message) || m.msg_flags & (MSG_TRUNC | MSG_CTRUNC) ||
	    message->magic != IPC_MAGIC || message->version != IPC_VERSION ||
	    message->type < IPC_HELLO || message->type > IPC_END) {
		while (*count)
			close(fds[--*count]);
		return -EPROTO;
	}
	message->comm[sizeof(message->comm) - 1] = 0;
	message->text[sizeof(message->text) - 1] = 0;
	return 0;
}
