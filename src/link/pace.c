/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pace.c - holding back what no acknowledgement holds back
 *
 * A NIC sends unreliable messages as fast as the wire carries them, and a NIC receives them as
 * fast. Here a program receives, when it is its turn to run: megabytes would be lost meanwhile in a
 * socket's buffer.
 */
#include <linux/sock_diag.h>

#include "link/private.h"

#define LOOK_EVERY (32 * 1024)		  /* bytes between looks at the receiver's socket */
#define BURST	   (128 * 1024)		  /* to receivers that we cannot see: at once, */
#define RATE	   (200 * 1000 * 1000ull) /* and then so many bytes a second */

struct fill {
	uint32_t used, size; /* of a receiver's buffer */
};

static struct fill receiver_fill(int fd)
{
	uint32_t info[SK_MEMINFO_VARS] = { 0 };
	socklen_t length = sizeof(info);

	if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info, &length))
		return (struct fill){ 0, UINT32_MAX };
	return (struct fill){ info[SK_MEMINFO_RMEM_ALLOC], info[SK_MEMINFO_RCVBUF] };
}

bool link_way_unread(const struct link_way *way)
{
	return way->receiver >= 0 && receiver_fill(way->receiver).used;
}

static bool rate_allows(struct link_way *way, size_t length, uint64_t now_ns)
{
	uint64_t passed = now_ns - way->credited_ns;

	if (passed > 1000000000u)
		passed = 1000000000u;
	way->credit += (int64_t)(passed * (RATE / 1000000u) / 1000u);
	if (way->credit > BURST)
		way->credit = BURST;
	way->credited_ns = now_ns;
	if (way->credit < (int64_t)length)
		return false;
	way->credit -= (int64_t)length;
	return true;
}

bool pace_allows(struct link_way *way, size_t length, uint64_t now_ns)
{
	if (way->receiver < 0)
		return rate_allows(way, length, now_ns);
	if (way->unchecked + length > LOOK_EVERY) {
		struct fill fill = receiver_fill(way->receiver);

		if (fill.used >= fill.size / 2)
			return false;
		way->unchecked = 0;
	}
	way->unchecked += (uint32_t)length;
	return true;
}
