/* SPDX-License-Identifier: Apache-2.0 */
/* transmit.c - trains of packets, and the system calls that send them */
#include <errno.h>
#include <netinet/udp.h>
#include <poll.h>
#include <string.h>

#include "link/private.h"

#ifndef UDP_SEGMENT
# define UDP_SEGMENT 103
#endif

#define SEND_WAIT_MS                                                         \
 2 /* for a device that is slower than we are; after that the packet is lost \
    */

static bool train_takes(const struct train *t, const struct link_way *way,
			const struct link_packet *packet)
{
	return !t->closed && t->way == way && t->qpn == packet->qpn &&
	       t->traffic_class == packet->traffic_class &&
	       (!way->multicast || t->hop_limit == packet->hop_limit) &&
	       packet->length <= t->segment && t->count < MAX_SEGMENTS &&
	       t->length + packet->length <= MAX_TRAIN && way->socket->segmentation;
}

uint8_t *link_reserve(struct link *link, struct link_way *way, const struct link_packet *packet,
		      uint16_t *ipv4_id)
{
	size_t length = packet->length;
	struct train *last = link->train_count ? &link->trains[link->train_count - 1] : NULL;

	ASSERT(!link->reserved.length && length && length <= MAX_PACKET);
	*ipv4_id = 0;
	if (way->local) {
		uint8_t *place = loop_reserve(&link->loop, way, packet->traffic_class, length);

		link->reserved.loop = true;
		link->reserved.length = place ? length : 0;
		return place;
	}
	if (packet->paced && !pace_allows(way, length, packet->now_ns)) {
		/* What it may have to wait for is perhaps still here. */
		link_flush(link);
		return NULL;
	}
	link->reserved.loop = false;
	link->reserved.fresh = !last || !train_takes(last, way, packet);
	if (link->arena_used + length > ARENA_SIZE ||
	    (link->reserved.fresh && link->train_count == MAX_TRAINS)) {
		link_flush(link);
		link->reserved.fresh = true;
	}
	if (link->reserved.fresh) {
		last = &link->trains[link->train_count];
		*last = (struct train){ .way = way,
					.qpn = packet->qpn,
					.traffic_class = packet->traffic_class,
					.hop_limit = packet->hop_limit,
					.start = link->arena_used,
					.segment = (uint16_t)length };
	}
	/* The kernel numbers the packets of a train 0, 1, 2...: and 0 is the number of a lone one.
	 */
	*ipv4_id = last->count;
	link->reserved.length = length;
	return link->arena + link->arena_used;
}

void link_commit(struct link *link)
{
	size_t length = link->reserved.length;
	struct train *t;

	ASSERT(length);
	link->reserved.length = 0;
	if (link->reserved.loop) {
		loop_commit(&link->loop);
		return;
	}
	if (link->reserved.fresh)
		link->train_count++;
	t = &link->trains[link->train_count - 1];
	t->length += (uint32_t)length;
	t->count++;
	t->closed = length < t->segment;
	link->arena_used += (uint32_t)length;
}

void link_cancel(struct link *link)
{
	link->reserved.length = 0;
}

union control {
	char bytes[CMSG_SPACE(sizeof(uint16_t)) + 2 * CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

static void add_control(struct msghdr *m, size_t *used, int level, int type, const void *value,
			size_t size)
{
	struct cmsghdr *c = (struct cmsghdr *)(void *)((char *)m->msg_control + *used);

	c->cmsg_level = level;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(size);
	memcpy(CMSG_DATA(c), value, size);
	*used += CMSG_SPACE(size);
}

static void fill_message(struct link *link, const struct train *t, struct msghdr *m,
			 struct iovec *iov, union control *control)
{
	bool v4 = t->way->address_length == sizeof(struct sockaddr_in);
	size_t used = 0;

	iov->iov_base = link->arena + t->start;
	iov->iov_len = t->length;
	memset(m, 0, sizeof(*m));
	m->msg_name = &t->way->address;
	m->msg_namelen = t->way->address_length;
	m->msg_iov = iov;
	m->msg_iovlen = 1;
	m->msg_control = control->bytes;
	if (t->count > 1)
		add_control(m, &used, IPPROTO_UDP, UDP_SEGMENT, &t->segment, sizeof(t->segment));
	if (t->traffic_class) {
		int class = t->traffic_class;

		if (v4)
			add_control(m, &used, IPPROTO_IP, IP_TOS, &class, sizeof(class));
		else
			add_control(m, &used, IPPROTO_IPV6, IPV6_TCLASS, &class, sizeof(class));
	}
	if (t->way->multicast) {
		/* The host's default for groups is 1, and 0 cannot be said. */
		int hops = t->hop_limit ? t->hop_limit : 1;

		if (v4)
			add_control(m, &used, IPPROTO_IP, IP_TTL, &hops, sizeof(hops));
		else
			add_control(m, &used, IPPROTO_IPV6, IPV6_HOPLIMIT, &hops, sizeof(hops));
	}
	m->msg_controllen = used;
	if (!used)
		m->msg_control = NULL;
}

/* One message was refused. Return: true to try it again. */
static bool refused(struct link *link, const struct train *t, bool waited)
{
	struct pollfd p = { .fd = t->way->socket->fd, .events = POLLOUT };

	switch (errno) {
	case EINTR:
		return true;
	case EAGAIN:
	case ENOBUFS:
		if (!waited && poll(&p, 1, SEND_WAIT_MS) >= 0)
			return true;
		break;
	case EIO:
	case EINVAL:
	case EOPNOTSUPP:
		/* This way cannot do segmentation; its ICRCs were made for it, so the
		 * retransmission must carry on. */
		if (t->count > 1)
			t->way->socket->segmentation = false;
		break;
	default:
		break;
	}
	link->send_errors += t->count;
	return false;
}

void link_flush(struct link *link)
{
	struct mmsghdr messages[MAX_TRAINS];
	struct iovec iovecs[MAX_TRAINS];
	union control controls[MAX_TRAINS];
	unsigned i = 0;
	bool waited = false;

	while (i < link->train_count) {
		struct way_socket *s = link->trains[i].way->socket;
		unsigned n = 0;
		int sent;

		while (i + n < link->train_count && link->trains[i + n].way->socket == s) {
			fill_message(link, &link->trains[i + n], &messages[n].msg_hdr, &iovecs[n],
				     &controls[n]);
			n++;
		}
		if (n == 1)
			sent = sendmsg(s->fd, &messages[0].msg_hdr, MSG_NOSIGNAL) < 0 ? -1 : 1;
		else
			sent = sendmmsg(s->fd, messages, n, MSG_NOSIGNAL);
		if (sent > 0) {
			i += (unsigned)sent;
			waited = false;
		} else if (refused(link, &link->trains[i], waited)) {
			waited = errno != EINTR;
		} else {
			i++;
			waited = false;
		}
	}
	link->train_count = 0;
	link->arena_used = 0;
}

uint64_t link_send_errors(const struct link *link)
{
	return link->send_errors;
}
