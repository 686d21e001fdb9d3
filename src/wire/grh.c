/* SPDX-License-Identifier: Apache-2.0 */
/* grh.c - headers that the socket did not give us, built again from what it told */
#include "wire/grh.h"

#include "base/bytes.h"

static uint16_t header_checksum(const uint8_t *header)
{
	uint32_t sum = 0;

	for (int i = 0; i < 20; i += 2)
		sum += get_be16(header + i);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

void grh_write(uint8_t to[GRH_LENGTH], const struct grh *g)
{
	memset(to, 0, GRH_LENGTH);
	if (gid_is_ipv4(&g->source)) {
		uint8_t *ip = to + 20;

		ip[0] = 0x45;
		ip[1] = g->traffic_class;
		put_be16(ip + 2, (uint16_t)(20 + g->udp_length));
		ip[6] = 0x40;
		ip[8] = g->hop_limit;
		ip[9] = 17;
		memcpy(ip + 12, g->source.raw + 12, 4);
		memcpy(ip + 16, g->destination.raw + 12, 4);
		put_be16(ip + 10, header_checksum(ip));
		return;
	}
	put_be32(to, 6u << 28 | (uint32_t)g->traffic_class << 20 | (g->flow_label & 0xfffff));
	put_be16(to + 4, (uint16_t)g->udp_length);
	to[6] = 17;
	to[7] = g->hop_limit;
	memcpy(to + 8, g->source.raw, 16);
	memcpy(to + 24, g->destination.raw, 16);
}
