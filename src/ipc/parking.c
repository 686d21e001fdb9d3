/* SPDX-License-Identifier: Apache-2.0 */
/* parking.c - looking into the queue */
#include "ipc/parking.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

#define LOCK_BYTE 1000 /* behind those of the slots */

static int set_lock(int fd, short type)
{
	struct flock lock = {
		.l_type = type, .l_whence = SEEK_SET, .l_start = LOCK_BYTE, .l_len = 1
	};
	int err;

	do
		err = fcntl(fd, F_OFD_SETLKW, &lock);
	while (err && errno == EINTR);
	return err ? -errno : 0;
}

static int peek(int parking, int at)
{
	char byte;
	struct iovec iov = { &byte, 1 };
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { { 0 } };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control.bytes,
			    .msg_controllen = sizeof(control) };
	int fd = -EINVAL;

	if (setsockopt(parking, SOL_SOCKET, SO_PEEK_OFF, &at, sizeof(at)) ||
	    recvmsg(parking, &m, MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != 1)
		return -EINVAL;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
		    c->cmsg_len == CMSG_LEN(sizeof(int)))
			memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	}
	return fd;
}

int ipc_parking_peek(int parking, int lock, unsigned slot)
{
	int fd, err = set_lock(lock, F_WRLCK);

	if (err)
		return err;
	fd = peek(parking, (int)slot);
	(void)set_lock(lock, F_UNLCK);
	return fd;
}
