/* SPDX-License-Identifier: Apache-2.0 */
/* mtu.h - path MTU codes: 1 is 256 bytes, 5 is 4096 */
#ifndef WIRE_MTU_H
#define WIRE_MTU_H

#include <stdint.h>

static inline uint32_t mtu_bytes(unsigned code)
{
	return 128u << code;
}

/** mtu_from_netdev() - the largest code whose packets fit an interface MTU; never less than 256
 * bytes. */
static inline unsigned mtu_from_netdev(uint32_t bytes)
{
	unsigned code = 5;

	/* IP (as the kernel counts it: a GRH), UDP, BTH, the longest extension headers, ICRC. */
	while (code > 1 && mtu_bytes(code) + 96 > bytes)
		code--;
	return code;
}

#endif
