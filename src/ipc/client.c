/* SPDX-License-Identifier: Apache-2.0 */
/* client.c - the client's side of the connection */
#include "ipc/client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "ipc/directory.h"
#include "ipc/messages.h"
#include "ipc/slots.h"
#include "ipc/start.h"

/* For a broker that is just starting, waits for the clients of its predecessor, or hangs. */
#define PATIENCE_MS 6000

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void pause_ms(long ms)
{
	struct timespec t = { .tv_sec = 0, .tv_nsec = ms * 1000000 };

	nanosleep(&t, NULL);
}

/* Away from the numbers that programs close, inherit and compare. */
static int move_up(int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, 64);

	if (high < 0)
		return descriptors_own(fd);
	close(fd);
	return descriptors_own(high);
}

void ipc_connection_init(struct ipc_connection *c)
{
	*c = (struct ipc_connection){ .fd = -1, .socket = -1, .parking = -1, .lock = -1 };
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(descriptors_disown(*fd));
	*fd = -1;
}

void ipc_disconnect(struct ipc_connection *c)
{
	close_fd(&c->fd);
	close_fd(&c->socket);
	close_fd(&c->parking);
	close_fd(&c->lock);
}

/* A connection to a broker that is there, or a negative errno. */
static int dial(const struct ipc_paths *paths, int64_t end)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int64_t left = end - now_ms();
	struct timeval wait = { .tv_usec = 1000 };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), err;

	if (fd < 0)
		return -errno;
	if (left > 0)
		wait = (struct timeval){ left / 1000, left % 1000 * 1000 + 1 };
	/* Also how long connect() waits for a broker that does not accept. */
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	memcpy(address.sun_path, paths->socket, sizeof(address.sun_path));
	if (connect(fd, (struct sockaddr *)&address, sizeof(address))) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

/* As ipc_receive(), until @end. Signals of the program make it no longer. */
static int receive_until(int fd, int64_t end, struct ipc_message *m, int fds[IPC_MAX_FDS],
			 unsigned *count)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	*count = 0;
	for (;;) {
		int64_t left = end - now_ms();
		int n = poll(&p, 1, left > 0 ? (int)left : 0);

		if (n > 0)
			return ipc_receive(fd, m, fds, count);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (left <= 0)
			return -ETIMEDOUT;
	}
}

static bool nobody_there(int err)
{
	return err == -ENOENT || err == -ECONNREFUSED || err == -ECONNRESET || err == -EPIPE ||
	       err == -EAGAIN || err == -EINTR;
}

static void read_comm(char comm[16])
{
	int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, comm, 15);

	if (fd >= 0)
		close(fd);
	comm[n > 0 ? n : 0] = 0;
	comm[strcspn(comm, "\n")] = 0;
}

/* Say hello on @fd and take the answer. 0, or a negative errno with a sentence. */
static int greet(int fd, int64_t end, struct ipc_connection *c, const struct ipc_hello *hello,
		 bool again, char *why, size_t size)
{
	int fds[IPC_MAX_FDS], mine[2];
	struct ipc_message m;
	unsigned count = 0;
	int err;

	ipc_message_init(&m, IPC_HELLO);
	read_comm(m.comm);
	if (hello->ledger >= 0)
		mine[count++] = hello->ledger;
	else
		m.flags |= IPC_EXTRA;
	if (again) {
		m.flags |= IPC_AGAIN;
		m.slot = c->slot;
		mine[count++] = c->parking;
	}
	err = ipc_send(fd, &m, mine, count);
	if (!err)
		err = receive_until(fd, end, &m, fds, &count);
	if (err) {
		if (err == -EPROTO)
			snprintf(why, size, "the broker is of another version");
		else if (err == -ETIMEDOUT)
			snprintf(why, size, "the broker does not answer; is it stopped?");
		else
			snprintf(why, size, "cannot talk to the broker: %s", strerror(-err));
		return err;
	}
	if (m.type == IPC_WELCOME && count == (again ? 0 : 3) && m.slot >= SLOT_FIRST &&
	    m.slot <= SLOT_LAST) {
		if (!again) {
			c->socket = move_up(fds[0]);
			c->parking = move_up(fds[1]);
			c->lock = move_up(fds[2]);
			c->slot = m.slot;
		}
		return 0;
	}
	while (count)
		close(fds[--count]);
	if (m.type != IPC_ERROR) {
		snprintf(why, size, "the broker is of another version");
		return -EPROTO;
	}
	snprintf(why, size, "%s", m.text);
	return m.error > 0 && m.error < 4096 ? -m.error : -EPROTO;
}

static int reach(struct ipc_connection *c, const struct ipc_hello *hello, bool again, char *why,
		 size_t size)
{
	int64_t end = now_ms() + PATIENCE_MS, next_start = 0;
	struct ipc_paths paths;
	long pause = 2;
	int err = ipc_paths_find(&paths, 1, why, size);

	if (err)
		return err;
	for (;;) {
		int fd = dial(&paths, end);

		err = fd < 0 ? fd : 0;
		if (!err) {
			err = greet(fd, end, c, hello, again, why, size);
			if (!err) {
				close_fd(&c->fd);
				c->fd = move_up(fd);
				return 0;
			}
			close(fd);
		}
		if (!nobody_there(err)) {
			if (fd < 0)
				snprintf(why, size, "cannot reach the broker at %.100s: %s",
					 paths.socket, strerror(-err));
			return err;
		}
		if (now_ms() >= end) {
			snprintf(why, size, "the broker does not start or does not answer (%.100s)",
				 paths.socket);
			return -ETIMEDOUT;
		}
		if (now_ms() >= next_start && err != -EAGAIN) {
			err = ipc_start_broker(why, size);
			if (err)
				return err;
			next_start = now_ms() + 250;
		} else {
			pause_ms(pause);
			pause = pause < 50 ? pause * 2 : 50;
		}
	}
}

int ipc_broker_connect(struct ipc_connection *c, const struct ipc_hello *hello, char *why,
		       size_t size)
{
	ipc_connection_init(c);
	return reach(c, hello, false, why, size);
}

int ipc_broker_reconnect(struct ipc_connection *c, const struct ipc_hello *hello, char *why,
			 size_t size)
{
	return reach(c, hello, true, why, size);
}

bool ipc_broker_alive(const struct ipc_connection *c)
{
	char byte;
	ssize_t n;

	if (c->fd < 0)
		return false;
	/* The broker says nothing after its welcome. */
	n = recv(c->fd, &byte, sizeof(byte), MSG_PEEK | MSG_DONTWAIT);
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

int ipc_broker_list(void (*on_status)(void *context, const struct ipc_status *status),
		    void (*on_client)(void *context, const struct ipc_client_info *client),
		    void *context)
{
	struct ipc_paths paths;
	struct ipc_message m;
	int fds[IPC_MAX_FDS], fd, err;
	unsigned count;
	int64_t end = now_ms() + PATIENCE_MS;
	char why[256];

	err = ipc_paths_find(&paths, 0, why, sizeof(why));
	if (err)
		return err == -ENOENT ? err : -EACCES;
	fd = dial(&paths, end);
	if (fd < 0)
		return nobody_there(fd) ? -ENOENT : fd;
	ipc_message_init(&m, IPC_LIST);
	err = ipc_send(fd, &m, NULL, 0);
	while (!err) {
		err = receive_until(fd, end, &m, fds, &count);
		if (err)
			break;
		if (m.type == IPC_STATUS) {
			on_status(context,
				  &(struct ipc_status){ m.pid, SLOT_LAST - SLOT_FIRST + 1,
							m.slots_used, m.clients, m.strays });
		} else if (m.type == IPC_CLIENT) {
			struct ipc_client_info info = { m.pid, m.uid, m.slot, m.comm,
							count ? fds[0] : -1 };

			on_client(context, &info);
		}
		while (count)
			close(fds[--count]);
		if (m.type == IPC_END)
			break;
		if (m.type != IPC_STATUS && m.type != IPC_CLIENT)
			err = -EPROTO;
	}
	close(fd);
	return err == -ECONNRESET ? -ENOENT : err;
}
