/* SPDX-License-Identifier: Apache-2.0 */
/* receive.c - from the slot socket and the in-process queue to single packets */
#include <errno.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>

#include "link/private.h"

#ifndef UDP_GRO
# define UDP_GRO 104
#endif

int receiver_init(struct receiver *r)
{
	r->memory = malloc((size_t)RECEIVE_BATCH * RECEIVE_SIZE);
	if (!r->memory)
		return -ENOMEM;
	for (unsigned i = 0; i < RECEIVE_BATCH; i++) {
		r->iovecs[i] = (struct iovec){ r->memory + (size_t)i * RECEIVE_SIZE, RECEIVE_SIZE };
		r->messages[i].msg_hdr.msg_iov = &r->iovecs[i];
		r->messages[i].msg_hdr.msg_iovlen = 1;
		r->messages[i].msg_hdr.msg_name = &r->sources[i];
		r->messages[i].msg_hdr.msg_control = r->controls[i];
	}
	for (unsigned i = 0; i < HINTS; i++)
		r->hints[i] = -1;
	return 0;
}

static int32_t *hint_of(struct receiver *r, const struct gid *source, uint16_t port)
{
	uint32_t low;

	memcpy(&low, source->raw + 12, sizeof(low));
	return &r->hints[((low ^ port) * 0x9e3779b1u) >> 26];
}

/* Control messages of one datagram. Return: the size of its segments, 0 when it is one packet. */
static size_t read_controls(struct msghdr *m, struct link_datagram *d)
{
	size_t segment = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		int value = 0;
		size_t size = c->cmsg_len - CMSG_LEN(0);

		if (size <= sizeof(value))
			memcpy(&value, CMSG_DATA(c), size);
		if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO) {
			segment = (size_t)(uint16_t)value;
		} else if (c->cmsg_level == IPPROTO_IP) {
			if (c->cmsg_type == IP_PKTINFO && size >= sizeof(struct in_pktinfo)) {
				static const uint8_t prefix[12] = { 0, 0, 0, 0, 0,    0,
								    0, 0, 0, 0, 0xff, 0xff };
				struct in_pktinfo info;

				memcpy(&info, CMSG_DATA(c), sizeof(info));
				memcpy(d->destination.raw, prefix, sizeof(prefix));
				memcpy(d->destination.raw + 12, &info.ipi_addr, 4);
				d->interface = (unsigned)info.ipi_ifindex;
			} else if (c->cmsg_type == IP_TTL) {
				d->hop_limit = (uint8_t)value;
			} else if (c->cmsg_type == IP_TOS) {
				d->traffic_class = (uint8_t)value;
			}
		} else if (c->cmsg_level == IPPROTO_IPV6) {
			if (c->cmsg_type == IPV6_PKTINFO && size >= sizeof(struct in6_pktinfo)) {
				struct in6_pktinfo info;

				memcpy(&info, CMSG_DATA(c), sizeof(info));
				memcpy(d->destination.raw, &info.ipi6_addr, 16);
				d->interface = (unsigned)info.ipi6_ifindex;
			} else if (c->cmsg_type == IPV6_HOPLIMIT) {
				d->hop_limit = (uint8_t)value;
			} else if (c->cmsg_type == IPV6_TCLASS) {
				d->traffic_class = (uint8_t)value;
			}
		}
	}
	return segment;
}

static unsigned deliver_message(struct link *link, struct mmsghdr *mm,
				void (*deliver)(void *context,
						const struct link_datagram *datagram),
				void *context)
{
	const struct sockaddr_in6 *from = mm->msg_hdr.msg_name;
	const uint8_t *data = mm->msg_hdr.msg_iov->iov_base;
	struct link_datagram d = { .hop_limit = 64 };
	size_t left = mm->msg_len, segment;
	unsigned count = 0;

	if (mm->msg_hdr.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
		return 0;
	if (mm->msg_hdr.msg_namelen < sizeof(*from) || from->sin6_family != AF_INET6)
		return 0;
	memcpy(d.source.raw, &from->sin6_addr, 16);
	d.source_port = ntohs(from->sin6_port);
	d.flow_label = ntohl(from->sin6_flowinfo) & 0xfffff;
	d.id_hint = hint_of(&link->receiver, &d.source, d.source_port);
	segment = read_controls(&mm->msg_hdr, &d);
	if (!segment)
		segment = left;
	while (left) {
		d.data = data;
		d.length = left < segment ? left : segment;
		deliver(context, &d);
		data += d.length;
		left -= d.length;
		count++;
	}
	return count;
}

static unsigned receive_loop(struct link *link,
			     void (*deliver)(void *context, const struct link_datagram *datagram),
			     void *context)
{
	struct loop_header *h;
	unsigned count = 0;

	/* Only what is there now: answers may append. */
	for (size_t left = link->loop.used; left && (h = loop_peek(&link->loop)); count++) {
		size_t room = h->room;
		struct link_datagram d = {
			.source = h->way->source,
			.destination = h->way->destination,
			.source_port = UDP_PORT,
			.traffic_class = h->traffic_class,
			.hop_limit = 64,
			.local = true,
			.data = (const uint8_t *)(h + 1),
			.length = h->size,
		};

		deliver(context, &d);
		loop_drop(&link->loop);
		left = left > room ? left - room : 0;
	}
	return count;
}

/*
 * One system call. A lone packet is the rule when the program waits for an answer, and a single
 * receive is the cheaper call; when packets queue up, several at once are.
 */
static int receive_some(struct link *link)
{
	struct receiver *r = &link->receiver;
	unsigned wanted = r->busy ? RECEIVE_BATCH : 1;
	ssize_t n;

	for (unsigned i = 0; i < wanted; i++) {
		r->messages[i].msg_hdr.msg_namelen = sizeof(r->sources[i]);
		r->messages[i].msg_hdr.msg_controllen = sizeof(r->controls[i]);
	}
	if (wanted > 1)
		return recvmmsg(link->config.socket, r->messages, wanted, MSG_DONTWAIT, NULL);
	n = recvmsg(link->config.socket, &r->messages[0].msg_hdr, MSG_DONTWAIT);
	if (n < 0)
		return -1;
	r->messages[0].msg_len = (unsigned)n;
	return 1;
}

unsigned link_receive(struct link *link, unsigned limit,
		      void (*deliver)(void *context, const struct link_datagram *datagram),
		      void *context)
{
	struct receiver *r = &link->receiver;
	unsigned count = receive_loop(link, deliver, context);

	for (unsigned calls = 0; calls < limit; calls++) {
		bool batch = r->busy;
		int n = receive_some(link);

		if (n < 0 && errno == EINTR)
			continue;
		for (int i = 0; i < n; i++)
			count += deliver_message(link, &r->messages[i], deliver, context);
		r->busy = batch ? n > 1 : n > 0 && r->single;
		r->single = n == 1;
		if (n < (batch ? RECEIVE_BATCH : 2))
			break;
	}
	return count;
}

void link_want_headers(struct link *link)
{
	static const struct {
		int level, option;
	} options[] = {
		{ IPPROTO_IP, IP_RECVTOS },
		{ IPPROTO_IP, IP_RECVTTL },
		{ IPPROTO_IPV6, IPV6_RECVTCLASS },
		{ IPPROTO_IPV6, IPV6_RECVHOPLIMIT },
	};
	int on = 1;

	for (unsigned i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		(void)setsockopt(link->config.socket, options[i].level, options[i].option, &on,
				 sizeof(on));
}

bool link_pending(const struct link *link)
{
	return link->loop.used != 0;
}
