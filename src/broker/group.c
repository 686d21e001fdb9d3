/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group.c - one UDP socket for each slot, all on port 4791
 *
 * The kernel chooses the socket by a filter that takes the slot out of the packet. Its number in
 * the group is the order of binding, and closing any one shifts the others, so all are bound at
 * once and none is ever closed: copies of all lie in the queue of a socket pair ("parked"), of
 * which every client has the reading end. As long as one process of the host has that, the group is
 * whole and keeps receiving, with or without a broker.
 */
#include <errno.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "broker/broker.h"
#include "ipc/parking.h"

#ifndef UDP_GRO
# define UDP_GRO 104
#endif
#ifndef UDP_NO_CHECK6_RX
# define UDP_NO_CHECK6_RX 102
#endif

#ifndef IPV6_MULTICAST_ALL
# define IPV6_MULTICAST_ALL 29
#endif

#define PORT	     4791
#define RECEIVE_SIZE (8 * 1024 * 1024)

void group_init(struct group *g)
{
	for (unsigned i = 0; i < SLOT_COUNT; i++)
		g->sockets[i] = -1;
	g->parking = g->strays_fd = -1;
	g->open = g->recovered = false;
	memset(g->watched, 0, sizeof(g->watched));
}

void group_close(struct group *g)
{
	for (unsigned i = 0; i < SLOT_COUNT; i++) {
		if (g->sockets[i] >= 0)
			close(g->sockets[i]);
	}
	if (g->parking >= 0)
		close(g->parking);
	if (g->strays_fd >= 0)
		close(g->strays_fd);
	group_init(g);
}

static int bind_port(int fd)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_port = htons(PORT) };

	return bind(fd, (struct sockaddr *)&any, sizeof(any)) ? -errno : 0;
}

static int new_socket(void)
{
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_UDP), off = 0;

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off))) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

/* Is the port free? Binding without SO_REUSEPORT tells, where with it we would join a group of
 * strangers. */
static int probe(char *why, size_t size)
{
	int fd = new_socket(), err;
	char who[128];

	if (fd < 0) {
		snprintf(why, size, "no IPv6 sockets here, which adverb needs also for IPv4: %s",
			 strerror(-fd));
		return fd;
	}
	err = bind_port(fd);
	close(fd);
	if (err == -EADDRINUSE) {
		port_holder(who, sizeof(who));
		snprintf(why, size, "UDP port %d, which RoCEv2 uses, is taken by %s", PORT, who);
	} else if (err) {
		snprintf(why, size, "cannot bind UDP port %d: %s", PORT, strerror(-err));
	}
	return err;
}

static void set(int fd, int level, int option, int value)
{
	/* What an old kernel lacks is not needed to work. */
	(void)setsockopt(fd, level, option, &value, sizeof(value));
}

/* A multicast packet goes to every socket of the port that is in the group; without this, also to
 * all that are not. */
static void only_own_groups(int fd)
{
	set(fd, IPPROTO_IP, IP_MULTICAST_ALL, 0);
	set(fd, IPPROTO_IPV6, IPV6_MULTICAST_ALL, 0);
}

static void set_options(int fd)
{
	set(fd, IPPROTO_UDP, UDP_GRO, 1);
	set(fd, IPPROTO_UDP, UDP_NO_CHECK6_RX, 1);
	/* The ICRC covers the IPv4 identification field, which is 0 only with this. */
	set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
	set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO);
	set(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
	only_own_groups(fd);
	set(fd, SOL_SOCKET, SO_RCVBUF, RECEIVE_SIZE);
	set(fd, SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_SIZE);
}

/* The slot of a packet: the upper seven bits of the BTH's destination QP number (bytes 5 to 7 of
 * the UDP payload). */
static int steer(int fd)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 4),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xffffff),
		BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, SLOT_SHIFT),
		BPF_STMT(BPF_RET | BPF_A, 0),
	};
	struct sock_fprog program = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof(program))
		       ? -errno
		       : 0;
}

static int bind_all(struct group *g)
{
	int on = 1, err;

	for (unsigned i = 0; i < SLOT_COUNT; i++) {
		int fd = new_socket();

		if (fd < 0)
			return fd;
		g->sockets[i] = fd;
		if (setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)))
			return -errno;
		set_options(fd);
		if (i == 0) {
			err = steer(fd);
			if (err)
				return err;
		}
		err = bind_port(fd);
		if (err)
			return err;
	}
	return 0;
}

union one_fd {
	char bytes[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

/* One byte, with one socket, for each slot; nobody ever reads them. */
static int park(struct group *g)
{
	int pair[2], size = 1024 * 1024, err = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
		return -errno;
	set(pair[0], SOL_SOCKET, SO_SNDBUF, size);
	for (unsigned i = 0; i < SLOT_COUNT && !err; i++) {
		char byte = 0;
		struct iovec iov = { &byte, 1 };
		union one_fd control = { 0 };
		struct msghdr m = { .msg_iov = &iov,
				    .msg_iovlen = 1,
				    .msg_control = control.bytes,
				    .msg_controllen = sizeof(control) };

		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.align), &g->sockets[i], sizeof(int));
		if (sendmsg(pair[0], &m, MSG_NOSIGNAL) != 1)
			err = errno ? -errno : -EIO;
	}
	close(pair[0]);
	if (err)
		close(pair[1]);
	else
		g->parking = pair[1];
	return err;
}

static int start_watching(struct group *g)
{
	g->strays_fd = epoll_create1(EPOLL_CLOEXEC);
	if (g->strays_fd < 0)
		return -errno;
	group_watch(g, SLOT_GSI, true);
	group_watch(g, SLOT_MULTICAST, true);
	return 0;
}

int group_open(struct group *g, char *why, size_t size)
{
	int err = probe(why, size);

	if (err)
		return err;
	err = bind_all(g);
	if (!err)
		err = park(g);
	if (!err)
		err = start_watching(g);
	if (err) {
		snprintf(why, size, "cannot set up the sockets of UDP port %d: %s", PORT,
			 strerror(-err));
		group_close(g);
		return err;
	}
	g->open = true;
	return 0;
}

static bool is_port_socket(int fd)
{
	struct sockaddr_in6 name = { 0 };
	socklen_t length = sizeof(name);
	int type = 0;
	socklen_t type_length = sizeof(type);

	return getsockname(fd, (struct sockaddr *)&name, &length) == 0 &&
	       name.sin6_family == AF_INET6 && ntohs(name.sin6_port) == PORT &&
	       getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_length) == 0 && type == SOCK_DGRAM;
}

int group_recover(struct group *g, int parking, int lock)
{
	int domain = 0, err;
	socklen_t length = sizeof(domain);

	if (getsockopt(parking, SOL_SOCKET, SO_DOMAIN, &domain, &length) || domain != AF_UNIX)
		return -EINVAL;
	for (unsigned i = 0; i < SLOT_COUNT; i++) {
		g->sockets[i] = ipc_parking_peek(parking, lock, i);
		if (g->sockets[i] < 0 || !is_port_socket(g->sockets[i])) {
			/* The parking stays the caller's. */
			group_close(g);
			return -EINVAL;
		}
	}
	err = start_watching(g);
	if (err) {
		group_close(g);
		return err;
	}
	g->parking = parking;
	g->open = g->recovered = true;
	return 0;
}

void group_watch(struct group *g, unsigned slot, bool on)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = slot };

	if (g->watched[slot] == on)
		return;
	if (!epoll_ctl(g->strays_fd, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, g->sockets[slot], &event))
		g->watched[slot] = on;
}

/* Throw away up to @limit receives; how many datagrams that were. */
static unsigned drain(int fd, int limit)
{
	unsigned datagrams = 0;

	for (int i = 0; i < limit; i++) {
		char byte, control[256];
		struct iovec iov = { &byte, 1 };
		struct msghdr m = { .msg_iov = &iov,
				    .msg_iovlen = 1,
				    .msg_control = control,
				    .msg_controllen = sizeof(control) };
		ssize_t n = recvmsg(fd, &m, MSG_DONTWAIT | MSG_TRUNC);
		int segment = 0;

		if (n < 0) {
			/* An error that waited here (ICMP) is taken by this call: go on. */
			if (errno == EAGAIN)
				break;
			continue;
		}
		for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
			if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO)
				memcpy(&segment, CMSG_DATA(c), sizeof(segment));
		}
		datagrams += segment > 0 && n > segment
				     ? ((unsigned)n + (unsigned)segment - 1) / (unsigned)segment
				     : 1;
	}
	return datagrams;
}

unsigned group_strays(struct group *g)
{
	struct epoll_event events[SLOT_COUNT];
	unsigned datagrams = 0;
	int n = epoll_wait(g->strays_fd, events, SLOT_COUNT, 0);

	for (int i = 0; i < n; i++)
		datagrams += drain(g->sockets[events[i].data.u32], 64);
	return datagrams;
}

unsigned group_drain(struct group *g, unsigned slot)
{
	return drain(g->sockets[slot], 100000);
}
