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
# define F_SEAL_GROW   4
#endif

#define LINGER_MS   2000 /* alone, before leaving */
#define RECOVERY_MS 3000 /* for a client of the last broker to bring the sockets */
#define RELEASE_MS  500	 /* for another user's broker to let go of the port, alone itself now */
#define TICK_MS	    100	 /* while there is something to wait for */
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
	if (c->greeted && s->owners[c->slot] == c) {
		/* Free when its lock goes, which may be a moment later, see look_after_slots(). */
		s->owners[c->slot] = NULL;
		s->missing++;
	}
	list_unlink(&c->node);
	s->client_count--;
	close_fd(&c->ledger);
	close(c->fd);
	free(c);
}

static void accept_client(struct server *s)
{
	int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred peer;
	socklen_t length = sizeof(peer);
	struct client *c;

	if (fd < 0) {
		/* Out of descriptors: it stays readable, and this must not spin. */
		if (errno != EAGAIN && errno != ECONNABORTED)
			poll(NULL, 0, 10);
		return;
	}
	/* The directory keeps others out already; this is the second door. */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) ||
	    (peer.uid != geteuid() && peer.uid != 0) || s->client_count == MAX_CLIENTS ||
	    !(c = calloc(1, sizeof(*c)))) {
		close(fd);
		return;
	}
	c->fd = fd;
	c->ledger = -1;
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

	if (seals < 0 || !(seals & F_SEAL_SHRINK) || !(seals & F_SEAL_GROW) || fstat(fd, &st) ||
	    !S_ISREG(st.st_mode) || st.st_size > MAX_LEDGER)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static void own(struct server *s, struct client *c, unsigned slot)
{
	c->slot = slot;
	c->greeted = true;
	s->owners[slot] = c;
	group_watch(&s->group, slot, false);
}

/*
 * Slots whose owners are gone get watched; the rest of those without an owner are missing. With a
 * @fresh group all that are free are watched, and no more tired than they were.
 */
static void look_after_slots(struct server *s, bool fresh)
{
	s->missing = 0;
	for (unsigned slot = SLOT_FIRST; slot <= SLOT_LAST; slot++) {
		if (s->group.watched[slot] || s->owners[slot])
			continue;
		if (slots_used(&s->slots, slot)) {
			s->missing++;
			continue;
		}
		if (!fresh)
			slots_freed(&s->slots, slot, now_ms());
		if (!fresh || s->group.recovered)
			group_leave(&s->group, slot);
		group_watch(&s->group, slot, true);
	}
}

/* Give a slot to a client that asked for one; the group is there. -EBUSY: not yet. */
static int welcome(struct server *s, struct client *c)
{
	struct ipc_message m;
	int fds[3], lock = -1, err;
	unsigned slot;

	err = slots_take(&s->slots, now_ms(), &slot, &lock);
	if (err == -EBUSY)
		return err;
	if (err)
		return refuse(c, err,
			      err == -EUSERS ? "all 126 slots of this network namespace are in use"
					     : "cannot lock a slot in the runtime directory");
	own(s, c, slot);
	group_leave(&s->group, slot);
	s->strays += group_drain(&s->group, slot);
	ipc_message_init(&m, IPC_WELCOME);
	m.slot = slot;
	m.pid = (uint32_t)getpid();
	fds[0] = s->group.sockets[slot];
	fds[1] = s->group.parking;
	fds[2] = lock;
	err = ipc_send(c->fd, &m, fds, 3);
	close(lock);
	return err;
}

/* A client of the last broker: it has a slot, and the sockets. */
static int hello_again(struct server *s, struct client *c, const struct ipc_message *m,
		       int *parking)
{
	struct ipc_message answer;
	int err;

	if (m->slot < SLOT_FIRST || m->slot > SLOT_LAST || s->owners[m->slot] ||
	    !slots_used(&s->slots, m->slot))
		return refuse(c, -EINVAL, "that slot is not held");
	if (!s->group.open) {
		err = group_recover(&s->group, *parking, s->slots.fd);
		if (err)
			return refuse(c, err, "those are not the sockets of UDP port 4791");
		*parking = -1;
		look_after_slots(s, true);
	}
	own(s, c, m->slot);
	ipc_message_init(&answer, IPC_WELCOME);
	answer.slot = m->slot;
	answer.pid = (uint32_t)getpid();
	return ipc_send(c->fd, &answer, NULL, 0);
}

/*
 * Make the group if there is none. -EBUSY: wait. The port may be with clients of the last broker,
 * who hold slots and bring it; or with another user's broker that is just letting go of it.
 */
static int need_group(struct server *s, const struct client *c, char *why, size_t size)
{
	uint64_t waited = now_ms() - c->asked_ms;
	bool ours;
	int err;

	if (s->group.open)
		return 0;
	ours = slots_count(&s->slots);
	if (ours && s->port_taken && waited < RECOVERY_MS)
		return -EBUSY;
	err = group_open(&s->group, why, size);
	if (!err)
		look_after_slots(s, true);
	s->port_taken = err == -EADDRINUSE;
	return s->port_taken && waited < (ours ? RECOVERY_MS : RELEASE_MS) ? -EBUSY : err;
}

static int hello(struct server *s, struct client *c, const struct ipc_message *m, int *fds,
		 unsigned count)
{
	bool again = m->flags & IPC_AGAIN, extra = m->flags & IPC_EXTRA;

	if (c->greeted || c->waiting || count != (again ? 1u : 0u) + (extra ? 0u : 1u))
		return -EPROTO;
	memcpy(c->comm, m->comm, sizeof(c->comm));
	c->extra = extra;
	if (!extra) {
		c->ledger = read_only_ledger(fds[0]);
		if (c->ledger < 0)
			return refuse(
				c, -EINVAL,
				"the ledger is no memory file sealed against shrinking and growing");
	}
	if (again)
		return hello_again(s, c, m, &fds[extra ? 0 : 1]);
	c->waiting = true;
	c->asked_ms = now_ms();
	return 0;
}

/* Answer those that asked for a slot, in turn. */
static void serve_waiting(struct server *s)
{
	char why[256];

	list_for_each_safe(node, &s->clients) {
		struct client *c = list_entry(node, struct client, node);
		int err;

		if (!c->waiting)
			continue;
		err = need_group(s, c, why, sizeof(why));
		if (err && err != -EBUSY)
			err = refuse(c, err, why);
		else if (!err)
			err = welcome(s, c);
		if (err == -EBUSY)
			return;
		c->waiting = false;
		if (err)
			drop(s, c);
	}
}

static bool listed(const struct client *c)
{
	return c->greeted && !c->extra;
}

static int list(struct server *s, struct client *asker)
{
	struct ipc_message m;
	unsigned clients = 0;
	int err;

	list_for_each(node, &s->clients)
		clients += listed(list_entry(node, struct client, node));
	ipc_message_init(&m, IPC_STATUS);
	m.pid = (uint32_t)getpid();
	m.slots_used = slots_count(&s->slots);
	m.clients = clients;
	m.strays = s->strays;
	err = ipc_send(asker->fd, &m, NULL, 0);
	list_for_each(node, &s->clients) {
		struct client *c = list_entry(node, struct client, node);

		if (err || !listed(c))
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
	/* One of another version shall know it. */
	if (err == -EPROTO)
		err = refuse(c, err, "not a message of this version's");
	if (err)
		drop(s, c);
}

static bool anybody_waits(const struct server *s)
{
	list_for_each(node, &s->clients) {
		if (list_entry(node, struct client, node)->waiting)
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

/* Serving one may drop others, so each is looked up again. */
static void serve_polled(struct server *s, const struct client *polled)
{
	list_for_each(node, &s->clients) {
		struct client *c = list_entry(node, struct client, node);

		if (c == polled) {
			serve(s, c);
			return;
		}
	}
}

void server_run(struct server *s)
{
	static struct pollfd fds[MAX_CLIENTS + 2];
	static struct client *polled[MAX_CLIENTS + 2];

	while (!may_leave(s)) {
		bool idle = anybody_served(s) && !s->missing && !anybody_waits(s);
		nfds_t n = 2;

		fds[0] = (struct pollfd){ .fd = s->listener, .events = POLLIN };
		fds[1] = (struct pollfd){ .fd = s->group.strays_fd, .events = POLLIN };
		list_for_each(node, &s->clients) {
			polled[n] = list_entry(node, struct client, node);
			fds[n] = (struct pollfd){ .fd = polled[n]->fd, .events = POLLIN };
			n++;
		}
		if (poll(fds, n, idle ? -1 : TICK_MS) < 0)
			continue;
		for (nfds_t i = 2; i < n; i++) {
			if (fds[i].revents)
				serve_polled(s, polled[i]);
		}
		if (fds[0].revents)
			accept_client(s);
		if (s->group.open && s->missing)
			look_after_slots(s, false);
		/* Nobody needs the port from us: others may have it while we linger. */
		if (s->group.open && !s->missing && !anybody_served(s) && !anybody_waits(s))
			group_close(&s->group);
		if (fds[1].revents)
			s->strays += group_strays(&s->group);
		serve_waiting(s);
	}
}
