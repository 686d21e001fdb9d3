/* SPDX-License-Identifier: Apache-2.0 */
/* gid.h - the 16-byte address of a port: an IPv6 address, or an IPv4 one as ::ffff:a.b.c.d */
#ifndef BASE_GID_H
#define BASE_GID_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct gid {
	uint8_t raw[16];
};

static inline bool gid_equal(const struct gid *a, const struct gid *b)
{
	return memcmp(a->raw, b->raw, sizeof(a->raw)) == 0;
}

static inline bool gid_is_zero(const struct gid *g)
{
	static const struct gid zero;

	return gid_equal(g, &zero);
}

static inline bool gid_is_ipv4(const struct gid *g)
{
	static const uint8_t prefix[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

	return memcmp(g->raw, prefix, sizeof(prefix)) == 0;
}

static inline bool gid_is_multicast(const struct gid *g)
{
	return g->raw[0] == 0xff || (gid_is_ipv4(g) && (g->raw[12] & 0xf0) == 0xe0);
}

#endif
