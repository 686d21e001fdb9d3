/* SPDX-License-Identifier: Apache-2.0 */
/* grh.h - the 40 bytes in front of every received UD message (IBTA A17.4.5.1) */
#ifndef WIRE_GRH_H
#define WIRE_GRH_H

#include <stddef.h>
#include <stdint.h>

#include "base/gid.h"

#define GRH_LENGTH 40

struct grh {
	struct gid source, destination;
	uint8_t traffic_class, hop_limit;
	uint32_t flow_label;
	size_t udp_length; /* UDP header and all behind it */
};

/** grh_write() - an IPv6 header; for IPv4 20 zero bytes and an IPv4 header. */
void grh_write(uint8_t to[GRH_LENGTH], const struct grh *grh);

#endif
