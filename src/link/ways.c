/* SPDX-License-Identifier: Apache-2.0 */
/* ways.c - from an address to a slot of another: finds or makes the sending socket */
#include <errno.h>
#include <fcntl.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "link/private.h"

/* RoCEv2 senders use the dynamic ports, so that networks spread flows (IBTA A17.4.5.2). */
#define FIRST_PORT 0xC000u
#define PORTS	   0x4000u

static unsigned way_hash(const struct gid *destination, uint32_t slot)
{
	uint64_t low;

	memcpy(&low, destination->raw + 8, sizeof(low));
	low ^= slot * 0x9e3779b97f4a7c15u;
	low *= 0xff51afd7ed558ccdu;
	return (unsigned)(low >> 56) % WAY_BUCKETS;
}

static socklen_t fill_address(void *to, const struct gid *gid, uint16_t port, unsigned interface)
{
	if (gid_is_ipv4(gid)) {
		struct sockaddr_in *v4 = to;

		memset(v4, 0, sizeof(*v4));
		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
		memcpy(&v4->sin_addr, gid->raw + 12, 4);
		return sizeof(*v4);
	}
	struct sockaddr_in6 *v6 = to;

	memset(v6, 0, sizeof(*v6));
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons(port);
	memcpy(&v6->sin6_addr, gid->raw, 16);
	if ((gid->raw[0] == 0xfe && (gid->raw[1] & 0xc0) == 0x80) || gid->raw[0] == 0xff)
		v6->sin6_scope_id = interface;
	return sizeof(*v6);
}

static int bind_somewhere(int fd, const struct gid *source, unsigned interface, uint32_t slot,
			  uint16_t *port)
{
	struct sockaddr_in6 address;
	uint32_t start = (uint32_t)(getpid() * 131 + slot * 17) % PORTS;
	socklen_t length;

	for (uint32_t i = 0; i < PORTS; i++) {
		*port = (uint16_t)(FIRST_PORT + (start + i) % PORTS);
		length = fill_address(&address, source, *port, interface);
		if (bind(fd, (struct sockaddr *)&address, length) == 0)
			return 0;
		if (errno != EADDRINUSE)
			return -errno;
	}
	return -EADDRINUSE;
}

static void set_option(int fd, int level, int option, int value)
{
	/* What an old kernel lacks is not needed to work. */
	(void)setsockopt(fd, level, option, &value, sizeof(value));
}

static int open_socket(const struct gid *source, unsigned interface, uint32_t slot, uint16_t *port)
{
	bool v4 = gid_is_ipv4(source);
	int low = socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			 IPPROTO_UDP);
	int fd, err;

	if (low < 0)
		return -errno;
	/* Programs close, inherit and count low numbers: stay out of their way. */
	fd = fcntl(low, F_DUPFD_CLOEXEC, 64);
	if (fd < 0)
		fd = low;
	else
		close(low);
	descriptors_own(fd);
	/* Never fragment, and an IP identification that is known: 0, or the index in a train. */
	if (v4) {
		struct ip_mreqn out = { .imr_ifindex = (int)interface };

		set_option(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
		set_option(fd, IPPROTO_IP, IP_TTL, 64);
		(void)setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &out, sizeof(out));
	} else {
		set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
		set_option(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO);
		set_option(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, 64);
		set_option(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, (int)interface);
	}
	set_option(fd, SOL_SOCKET, SO_SNDBUF, 4 * 1024 * 1024);
	/* Nobody reads from it: what strangers send here must not use memory. */
	set_option(fd, SOL_SOCKET, SO_RCVBUF, 1);
	err = bind_somewhere(fd, source, interface, slot, port);
	if (err) {
		close(descriptors_disown(fd));
		return err;
	}
	return fd;
}

static int find_socket(struct link *link, const struct gid *source, unsigned interface,
		       uint32_t slot, struct way_socket **ret)
{
	struct way_socket *s, *same_source = NULL;
	int fd;

	for (s = link->sockets; s; s = s->next) {
		if (!gid_equal(&s->source, source))
			continue;
		same_source = s;
		if (s->slot == slot) {
			*ret = s;
			return 0;
		}
	}
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	fd = open_socket(source, interface, slot, &s->port);
	if (fd < 0) {
		free(s);
		/* Short of descriptors: share one, it only costs the receiver some merging. */
		if ((fd == -EMFILE || fd == -ENFILE) && same_source) {
			*ret = same_source;
			return 0;
		}
		return fd;
	}
	s->fd = fd;
	s->source = *source;
	s->slot = slot;
	s->segmentation = link->config.segmentation;
	s->next = link->sockets;
	link->sockets = s;
	*ret = s;
	return 0;
}

static void close_receiver(struct link_way *way)
{
	if (way->receiver >= 0)
		close(descriptors_disown(way->receiver));
}

int link_resolve(struct link *link, const struct gid *source, const struct gid *destination,
		 uint32_t qpn, struct link_way **ret)
{
	uint32_t slot = qpn >> link->config.slot_shift;
	unsigned bucket = way_hash(destination, slot);
	unsigned interface;
	struct link_way *way;
	int err;

	for (way = link->ways[bucket]; way; way = way->next) {
		if (way->slot == slot && gid_equal(&way->destination, destination) &&
		    gid_equal(&way->source, source)) {
			*ret = way;
			return 0;
		}
	}
	if (gid_is_ipv4(source) != gid_is_ipv4(destination))
		return -EAFNOSUPPORT;
	interface = link->config.interface_of(link->config.context, source);
	if (!interface)
		return -EADDRNOTAVAIL;
	way = calloc(1, sizeof(*way));
	if (!way)
		return -ENOMEM;
	way->source = *source;
	way->destination = *destination;
	way->slot = slot;
	way->multicast = gid_is_multicast(destination);
	way->local = slot == link->config.slot &&
		     link->config.interface_of(link->config.context, destination);
	way->receiver = -1;
	if (!way->local && link->config.slot_socket &&
	    link->config.interface_of(link->config.context, destination))
		way->receiver = link->config.slot_socket(link->config.context, slot);
	if (!way->local) {
		err = find_socket(link, source, interface, slot, &way->socket);
		if (err) {
			close_receiver(way);
			free(way);
			return err;
		}
	}
	way->address_length = fill_address(&way->address, destination, UDP_PORT, interface);
	way->next = link->ways[bucket];
	link->ways[bucket] = way;
	*ret = way;
	return 0;
}

uint16_t link_way_port(const struct link_way *way)
{
	return way->socket ? way->socket->port : UDP_PORT;
}

bool link_way_local(const struct link_way *way)
{
	return way->local;
}

void ways_free(struct link *link)
{
	for (unsigned i = 0; i < WAY_BUCKETS; i++) {
		while (link->ways[i]) {
			struct link_way *way = link->ways[i];

			link->ways[i] = way->next;
			close_receiver(way);
			free(way);
		}
	}
	while (link->sockets) {
		struct way_socket *s = link->sockets;

		link->sockets = s->next;
		close(descriptors_disown(s->fd));
		free(s);
	}
}
