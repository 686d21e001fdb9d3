/* SPDX-License-Identifier: Apache-2.0 */
/* server.c - clients come, get a slot, and go */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "broker/broker.h"

#ifndef F_GET_SEALS
# define F_GET_SEALS   1034
# define F_SEAL_SHRINK 2
#endif

#define LINGER_MS   2000 /* alone, before leaving */
#define RECOVERY_MS 3000 /* for a client of the last broker to bring the sockets */
#define MAX_CLIENTS 512
#define MAX_LEDGER  (1ll << 32)

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

int server_open(struct server *s, char *why, size_t size)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int err;

	*s = (struct server){ .listener = -1, .lock_file = -1, .slots.fd = -1 };
	group_init(&s->group);
	list_init(&s->clients);
	err = ipc_paths_find(&s->paths, 1, why, size);
	if (err)
		return err;
	s->lock_file = open(s->paths.lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (s->lock_file < 0) {
		snprintf(why, size, "cannot open %s: %s", s->paths.lock, strerror(errno));
		return -errno;
	}
	if (flock(s->lock_file, LOCK_EX | LOCK_NB)) {
		snprintf(why, size, "a broker runs already");
		return errno == EWOULDBLOCK ? -EALREADY : -errno;
	}
	err = slots_open(&s->slots, s->paths.slots);
	if (err) {
		snprintf(why, size, "cannot open %s: %s", s->paths.slots, strerror(-err));
		return err;
	}
	/* A socket that is there belongs to a broker that is dead: we have its lock. */
	unlink(s->paths.socket);
	memcpy(address.sun_path, s->paths.socket, sizeof(address.sun_path));
	s->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->listener < 0 || bind(s->listener, (struct sockaddr *)&address, sizeof(address)) ||
	    listen(s->listener, MAX_CLIENTS)) {
		err = -errno;
		snprintf(why, size, "cannot listen at %s: %s", s->paths.socket, strerror(-err));
		return err;
	}
	s->alone_since_ms = now_ms();
	return 0;
}

void server_close(struct server *s)
{
	list_for_each_safe(node, &s->clients) {
		struct client *c = list_entry(node, struct client, node);

		list_unlink(node);
		close(c->fd);
		free(c);
	}
	if (s->listener >= 0) {
		unlink(s->paths.socket);
		close(s->listener);
	}
	group_close(&s->group);
	if (s->slots.fd >= 0)
		close(s->slots.fd);
	/* Last: from here on another broker may begin. */
	if (s->lock_file >= 0)
		close(s->lock_file);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void drop(struct server *s, struct client *c)
{
	if (c->greeted)
		slots_freed(&s->slots, c->slot, now_ms());
	list_unlink(&c->node);
	s->client_count--;
	close_fd(&c->ledger);
	close_fd(&c->waiting_ledger);
	close(c->fd);
	free(c);
}

static void accept_client(struct server *s)
{
	int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred peer;
	socklen_t length = sizeof(peer);
	struct client *c;

	if (fd < 0)
		return;
	/* The directory keeps others out already; this is the second door. */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) ||
	    (peer.uid != geteuid() && peer.uid != 0) || s->client_count == MAX_CLIENTS ||
	    !(c = calloc(1, sizeof(*c)))) {
		close(fd);
		return;
	}
	c->fd = fd;
	c->ledger = c->waiting_ledger = -1;
	c->pid = (uint32_t)peer.pid;
	c->uid = peer.uid;
	list_append(&s->clients, &c->node);
	s->client_count++;
}

static int refuse(struct client *c, int err, const char *text)
{
	struct ipc_message m;

	ipc_message_init(&m, IPC_ERROR);
	m.error = -err;
	snprintf(m.text, sizeof(m.text), "%s", text);
	if (ipc_send(c->fd, &m, NULL, 0))
		return err;
	return err;
}

/* A ledger that readers can map without fear: it cannot shrink under them, and they cannot write.
 */
static int read_only_ledger(int fd)
{
	struct stat st;
	char path[64];
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &st) || !S_ISREG(st.st_mode) ||
	    st.st_size > MAX_LEDGER)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Give a slot to a client that asked for one; the group is there. */
static int welcome(struct server *s, struct client *c, int ledger)
{
	struct ipc_message m;
	int fds[3], lock = -1, err;
	unsigned slot;

	err = slots_take(&s->slots, now_ms(), &slot, &lock);
	if (err)
		return refuse(c, err,
			      err == -EUSERS ? "all 126 slots of this network namespace are in use"
					     : "cannot lock a slot in the runtime directory");
	group_drain(&s->group, slot);
	ipc_message_init(&m, IPC_WELCOME);
	m.slot = slot;
	m.pid = (uint32_t)getpid();
	fds[0] = s->group.sockets[slot];
	fds[1] = s->group.parking;
	fds[2] = lock;
	err = ipc_send(c->fd, &m, fds, 3);
	close(lock);
	if (err)
		return err;
	c->slot = slot;
	c->greeted = true;
	c->ledger = read_only_ledger(ledger);
	return 0;
}

/* Answer those that had to wait for the group. */
static void serve_waiting(struct server *s, int err, const char *why)
{
	list_for_each_safe(node, &s->clients) {
		struct client *c = list_entry(node, struct client, node);
		int ledger = c->waiting_ledger, result;

		if (!c->waiting_until_ms)
			continue;
		c->waiting_ledger = -1;
		c->waiting_until_ms = 0;
		result = err ? refuse(c, err, why) : welcome(s, c, ledger);
		close(ledger);
		if (result)
			drop(s, c);
	}
}

/* A client of the last broker: it has a slot, and the sockets. */
static int hello_again(struct server *s, struct client *c, const struct ipc_message *m, int ledger,
		       int *parking)
{
	struct ipc_message answer;
	int err;

	if (m->slot < SLOT_FIRST || m->slot > SLOT_LAST || !slots_used(&s->slots, m->slot))
		return refuse(c, -EINVAL, "that slot is not held");
	if (!s->group.open) {
		err = group_recover(&s->group, *parking);
		if (err)
			return refuse(c, err, "those are not the sockets of UDP port 4791");
		*parking = -1;
	}
	ipc_message_init(&answer, IPC_WELCOME);
	answer.slot = m->slot;
	answer.pid = (uint32_t)getpid();
	err = ipc_send(c->fd, &answer, NULL, 0);
	if (err)
		return err;
	c->slot = m->slot;
	c->greeted = true;
	c->ledger = read_only_ledger(ledger);
	serve_waiting(s, 0, NULL);
	return 0;
}

static int hello(struct server *s, struct client *c, const struct ipc_message *m, int *fds,
		 unsigned count)
{
	char why[256];
	int err;

	if (c->greeted || c->waiting_until_ms || count != (m->flags & IPC_AGAIN ? 2u : 1u))
		return -EPROTO;
	memcpy(c->comm, m->comm, sizeof(c->comm));
	if (m->flags & IPC_AGAIN)
		return hello_again(s, c, m, fds[0], &fds[1]);
	if (!s->group.open) {
		err = group_open(&s->group, why, sizeof(why));
		if (err == -EADDRINUSE) {
			/* Perhaps by clients of a broker that died: one of them will be here at
			 * once. */
			c->waiting_ledger = fds[0];
			fds[0] = -1;
			c->waiting_until_ms = now_ms() + RECOVERY_MS;
			return 0;
		}
		if (err)
			return refuse(c, err, why);
	}
	return welcome(s, c, fds[0]);
}

static int list(struct server *s, struct client *asker)
{
	struct ipc_message m;
	unsigned clients = 0;
	int err;

	list_for_each(node, &s->clients)
		clients += list_entry(node, struct client, node)->greeted;
	ipc_message_init(&m, IPC_STATUS);
	m.pid = (uint32_t)getpid();
	m.slots_used = slots_count(&s->slots);
	m.clients = clients;
	err = ipc_send(asker->fd, &m, NULL, 0);
	list_for_each(node, &s->clients) {
		struct client *c = list_entry(node, struct client, node);

		if (err || !c->greeted)
			continue;
		ipc_message_init(&m, IPC_CLIENT);
		m.pid = c->pid;
		m.uid = c->uid;
		m.slot = c->slot;
		memcpy(m.comm, c->comm, sizeof(m.comm));
		err = ipc_send(asker->fd, &m, &c->ledger, c->ledger >= 0);
	}
	if (err)
		return err;
	ipc_message_init(&m, IPC_END);
	return ipc_send(asker->fd, &m, NULL, 0);
}

static void serve(struct server *s, struct client *c)
{
	struct ipc_message m;
	int fds[IPC_MAX_FDS];
	unsigned count;
	int err = ipc_receive(c->fd, &m, fds, &count);

	if (err == -EAGAIN)
		return;
	if (!err) {
		if (m.type == IPC_HELLO)
			err = hello(s, c, &m, fds, count);
		else
			err = m.type == IPC_LIST && !count ? list(s, c) : -EPROTO;
		for (unsigned i = 0; i < count; i++)
			close_fd(&fds[i]);
	}
	if (err)
		drop(s, c);
}

/* Nobody brought the sockets in time: then they are somebody else's, or free by now. */
static void expire_waiting(struct server *s)
{
	uint64_t now = now_ms();
	char why[256];
	int err;

	list_for_each(node, &s->clients) {
		struct client *c = list_entry(node, struct client, node);

		if (!c->waiting_until_ms || c->waiting_until_ms > now)
			continue;
		err = s->group.open ? 0 : group_open(&s->group, why, sizeof(why));
		serve_waiting(s, err, why);
		return;
	}
}

static bool anybody_waits(const struct server *s)
{
	list_for_each(node, &s->clients) {
		if (list_entry(node, struct client, node)->waiting_until_ms)
			return true;
	}
	return false;
}

/* Those who only ask do not keep us: somebody may ask again and again whether we are still there.
 */
static bool anybody_served(const struct server *s)
{
	list_for_each(node, &s->clients) {
		if (list_entry(node, struct client, node)->greeted)
			return true;
	}
	return false;
}

static bool may_leave(struct server *s)
{
	if (anybody_served(s) || anybody_waits(s)) {
		s->alone_since_ms = 0;
		return false;
	}
	if (!s->alone_since_ms)
		s->alone_since_ms = now_ms();
	return now_ms() - s->alone_since_ms >= LINGER_MS;
}

void server_run(struct server *s)
{
	static struct pollfd fds[MAX_CLIENTS + 1];
	static struct client *polled[MAX_CLIENTS + 1];

	while (!may_leave(s)) {
		nfds_t n = 1;

		fds[0] = (struct pollfd){ .fd = s->listener, .events = POLLIN };
		list_for_each(node, &s->clients) {
			polled[n] = list_entry(node, struct client, node);
			fds[n] = (struct pollfd){ .fd = polled[n]->fd, .events = POLLIN };
			n++;
		}
		if (poll(fds, n, anybody_served(s) && !anybody_waits(s) ? -1 : 100) < 0)
			continue;
		/* Serving one may drop others: those were not polled twice, so look each up again.
		 */
		for (nfds_t i = 1; i < n; i++) {
			if (!fds[i].revents)
				continue;
			list_for_each(node, &s->clients) {
				if (list_entry(node, struct client, node) == polled[i]) {
					serve(s, polled[i]);
					break;
				}
			}
		}
		if (fds[0].revents)
			accept_client(s);
		expire_waiting(s);
	}
}
