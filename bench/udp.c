/* SPDX-License-Identifier: Apache-2.0 */
/*
 * udp.c - what plain UDP sockets reach on this machine between two processes over loopback
 *
 *   bench-udp gso SECONDS     64 KiB messages as 4112-byte datagrams, segmentation offload both
 * ways; prints MB/s bench-udp plain SECONDS   the same datagrams by sendmmsg() and recvmmsg();
 * prints MB/s bench-udp latency COUNT   8-byte ping-pong, both spinning; prints microseconds one
 * way (half a round trip)
 *
 * Flow control is a counter in shared memory, which costs less than any packet: this is the upper
 * bound.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "pair.h"

#ifndef UDP_SEGMENT
# define UDP_SEGMENT 103
# define UDP_GRO     104
#endif

#define DATAGRAM 4112
#define TRAIN	 15
#define MESSAGE	 65536
#define WINDOW	 (45 * DATAGRAM)

static _Atomic uint64_t *shared; /* bytes that the receiver has taken */

static int udp_socket(struct sockaddr_in *self)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0), size = 4 * 1024 * 1024;
	socklen_t length = sizeof(*self);

	memset(self, 0, sizeof(*self));
	self->sin_family = AF_INET;
	self->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (struct sockaddr *)self, sizeof(*self)) ||
	    getsockname(fd, (struct sockaddr *)self, &length))
		die("socket");
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	return fd;
}

static void receive(int fd, double until)
{
	static uint8_t buffers[8][65536], place[MESSAGE * 4];
	struct mmsghdr messages[8];
	struct iovec iovecs[8];
	uint64_t total = 0;

	for (int i = 0; i < 8; i++) {
		iovecs[i] = (struct iovec){ buffers[i], sizeof(buffers[i]) };
		messages[i] =
			(struct mmsghdr){ .msg_hdr = { .msg_iov = &iovecs[i], .msg_iovlen = 1 } };
	}
	while (seconds() < until) {
		int n = recvmmsg(fd, messages, 8, MSG_DONTWAIT, NULL);

		for (int i = 0; i < n; i++) {
			memcpy(place + total % (sizeof(place) - 65536), buffers[i],
			       messages[i].msg_len);
			total += messages[i].msg_len;
		}
		if (n > 0)
			atomic_store_explicit(shared, total, memory_order_release);
	}
}

static double send_all(int fd, const struct sockaddr_in *to, double until, int gso)
{
	static uint8_t data[TRAIN * DATAGRAM];
	struct mmsghdr messages[TRAIN];
	struct iovec iovecs[TRAIN];
	double begin = seconds(), end;
	uint64_t sent = 0, taken;
	union {
		char bytes[CMSG_SPACE(sizeof(uint16_t))];
		struct cmsghdr align;
	} control;
	int parts = gso ? 1 : TRAIN;

	memset(&control, 0, sizeof(control));
	for (int i = 0; i < parts; i++) {
		iovecs[i] = (struct iovec){ data + i * DATAGRAM, gso ? sizeof(data) : DATAGRAM };
		messages[i] = (struct mmsghdr){ .msg_hdr = { .msg_name = (void *)to,
							     .msg_namelen = sizeof(*to),
							     .msg_iov = &iovecs[i],
							     .msg_iovlen = 1 } };
	}
	if (gso) {
		struct cmsghdr *c = &control.align;
		uint16_t segment = DATAGRAM;

		c->cmsg_level = IPPROTO_UDP;
		c->cmsg_type = UDP_SEGMENT;
		c->cmsg_len = CMSG_LEN(sizeof(segment));
		memcpy(CMSG_DATA(c), &segment, sizeof(segment));
		messages[0].msg_hdr.msg_control = control.bytes;
		messages[0].msg_hdr.msg_controllen = sizeof(control);
	}
	while ((end = seconds()) < until) {
		taken = atomic_load_explicit(shared, memory_order_acquire);
		if (sent - taken > WINDOW - sizeof(data))
			continue;
		if (sendmmsg(fd, messages, (unsigned)parts, 0) == parts)
			sent += sizeof(data);
	}
	taken = atomic_load_explicit(shared, memory_order_acquire);
	return (double)taken / DATAGRAM * 4096 / (end - begin) / 1e6;
}

static int bandwidth(double duration, int gso)
{
	struct sockaddr_in self, other;
	struct pair p = pair_start();
	int fd = udp_socket(&self), on = 1;
	double until;

	if (gso && p.second && setsockopt(fd, IPPROTO_UDP, UDP_GRO, &on, sizeof(on)))
		die("UDP_GRO");
	pair_exchange(&p, &self, &other, sizeof(self));
	pair_meet(&p);
	until = seconds() + duration;
	if (p.second)
		receive(fd, until + 0.05);
	else
		printf("%.1f\n", send_all(fd, &other, until, gso));
	return pair_end(&p);
}

static int latency(int count)
{
	struct sockaddr_in self, other;
	struct pair p = pair_start();
	int fd = udp_socket(&self), warm = count / 10;
	uint64_t word = 0;
	double begin = 0;

	pair_exchange(&p, &self, &other, sizeof(self));
	for (int i = 0; i < count + warm; i++) {
		if (i == warm)
			begin = seconds();
		if (!p.second && sendto(fd, &word, sizeof(word), 0, (struct sockaddr *)&other,
					sizeof(other)) < 0)
			die("sendto");
		while (recv(fd, &word, sizeof(word), MSG_DONTWAIT) < 0) {
			if (errno != EAGAIN)
				die("recv");
		}
		if (p.second && sendto(fd, &word, sizeof(word), 0, (struct sockaddr *)&other,
				       sizeof(other)) < 0)
			die("sendto");
	}
	if (!p.second)
		printf("%.3f\n", (seconds() - begin) / count / 2 * 1e6);
	return pair_end(&p);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		goto usage;
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		die("mmap");
	if (!strcmp(argv[1], "gso"))
		return bandwidth(atof(argv[2]), 1);
	if (!strcmp(argv[1], "plain"))
		return bandwidth(atof(argv[2]), 0);
	if (!strcmp(argv[1], "latency"))
		return latency(atoi(argv[2]));
usage:
	fprintf(stderr, "usage: bench-udp gso|plain SECONDS | latency COUNT\n");
	return 2;
}
