/* SPDX-License-Identifier: Apache-2.0 */
/* groups.c - multicast groups that the slot socket is in */
#include <errno.h>
#include <string.h>

#include "link/private.h"

static int change(struct link *link, unsigned interface, const struct gid *group, bool join)
{
	int fd = link->config.socket, err;

	if (gid_is_ipv4(group)) {
		struct ip_mreqn request = { .imr_ifindex = (int)interface };

		memcpy(&request.imr_multiaddr, group->raw + 12, 4);
		err = setsockopt(fd, IPPROTO_IP, join ? IP_ADD_MEMBERSHIP : IP_DROP_MEMBERSHIP,
				 &request, sizeof(request));
	} else {
		struct ipv6_mreq request = { .ipv6mr_interface = interface };

		memcpy(&request.ipv6mr_multiaddr, group->raw, 16);
		err = setsockopt(fd, IPPROTO_IPV6, join ? IPV6_JOIN_GROUP : IPV6_LEAVE_GROUP,
				 &request, sizeof(request));
	}
	return err ? -errno : 0;
}

int link_join(struct link *link, unsigned interface, const struct gid *group)
{
	/* 0 would let the kernel choose one. */
	return interface ? change(link, interface, group, true) : -ENODEV;
}

void link_leave(struct link *link, unsigned interface, const struct gid *group)
{
	/* An interface that is gone took the membership with it. */
	(void)change(link, interface, group, false);
}
