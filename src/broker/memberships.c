/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memberships.c - ending the multicast memberships of a slot whose owner is gone
 *
 * A socket cannot be asked which groups it is in. But the groups of the namespace can be read, and
 * leaving one that the socket is not in does nothing. So nobody has to tell us what he joins, and
 * it does not matter which broker was there when he did.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "broker/broker.h"

/* "1<TAB>lo        :     1      V3" names an interface; lines after it, indented, begin with a
 * group as the number that it is in memory. */
static void leave_ipv4(int fd)
{
	FILE *file = fopen("/proc/self/net/igmp", "re");
	struct ip_mreqn request = { 0 };
	char line[256];

	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		unsigned group;

		if (line[0] != '\t' && line[0] != ' ') {
			if (sscanf(line, "%d", &request.imr_ifindex) != 1)
				request.imr_ifindex = 0;
		} else if (request.imr_ifindex && sscanf(line, "%8x", &group) == 1) {
			request.imr_multiaddr.s_addr = group;
			(void)setsockopt(fd, IPPROTO_IP, IP_DROP_MEMBERSHIP, &request,
					 sizeof(request));
		}
	}
	fclose(file);
}

static bool parse_ipv6(const char *hex, struct in6_addr *to)
{
	for (unsigned i = 0; i < 16; i++) {
		unsigned byte;

		if (sscanf(hex + 2 * i, "%2x", &byte) != 1)
			return false;
		to->s6_addr[i] = (uint8_t)byte;
	}
	return true;
}

/* "1    lo              ff020000000000000000000000000001     1 0000000C 0" */
static void leave_ipv6(int fd)
{
	FILE *file = fopen("/proc/self/net/igmp6", "re");
	char line[256];

	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		struct ipv6_mreq request = { 0 };
		char hex[33];

		if (sscanf(line, "%u %*s %32s", &request.ipv6mr_interface, hex) != 2 ||
		    strlen(hex) != 32 || !parse_ipv6(hex, &request.ipv6mr_multiaddr))
			continue;
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_LEAVE_GROUP, &request, sizeof(request));
	}
	fclose(file);
}

void group_leave(const struct group *g, unsigned slot)
{
	leave_ipv4(g->sockets[slot]);
	leave_ipv6(g->sockets[slot]);
}
