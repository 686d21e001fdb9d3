/* SPDX-License-Identifier: Apache-2.0 */
/*
 * address.c - the way back to the sender of a datagram
 *
 * A received datagram starts with a 40-byte area. With IPv6 the packet's header fills it; with IPv4
 * the header is in its last 20 bytes, and the first 20 mean nothing.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <net/ethernet.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <stdbool.h>
#include <string.h>

#include "verbs/abi.h"

enum {
	IPV4_OFFSET = 20,
	NEXT_HEADER_GRH = 0x1b, /* RoCE v1 */
	GID_TABLE_LIMIT = 65536,
};

static bool ipv4_checksum_holds(const uint8_t *header)
{
	uint32_t sum = 0;

	for (int i = 0; i < 20; i += 2)
		sum += ((uint32_t)header[i] << 8) | header[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum == 0xffff;
}

/* 4, 6, or 0 for neither */
static int header_version(const uint8_t *area)
{
	bool ipv4 = area[IPV4_OFFSET] == 0x45;

	if (area[0] >> 4 != 6)
		return ipv4 ? 4 : 0;
	/* Left-over bytes can look like IPv6, and an IPv6 address can look like an IPv4 header. */
	return ipv4 && ipv4_checksum_holds(area + IPV4_OFFSET) ? 4 : 6;
}

static void map_ipv4(union ibv_gid *gid, const uint8_t *address)
{
	memset(gid->raw, 0, 10);
	memset(gid->raw + 10, 0xff, 2);
	memcpy(gid->raw + 12, address, 4);
}

static bool is_multicast(const union ibv_gid *gid)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (gid->raw[0] == 0xff)
		return true;
	return !memcmp(gid->raw, mapped, sizeof(mapped)) && gid->raw[12] >> 4 == 0xe;
}

/* Returns the index of the GID, or a negative errno value. */
static int find_gid(struct ibv_context *context, uint8_t port_num, const union ibv_gid *gid,
		    uint32_t type)
{
	struct ibv_gid_entry entry;

	for (uint32_t index = 0; index < GID_TABLE_LIMIT; index++) {
		int error = _ibv_query_gid_ex(context, port_num, index, &entry, 0, sizeof(entry));

		if (error == ENODATA)
			continue;
		if (error)
			break;
		if (entry.gid_type == type && !memcmp(&entry.gid, gid, sizeof(*gid)))
			return (int)index;
	}
	return -EINVAL;
}

static int fail(int error)
{
	errno = error;
	return -1;
}

int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port_num, struct ibv_wc *wc,
			struct ibv_grh *grh, struct ibv_ah_attr *ah_attr)
{
	uint32_t type = IBV_GID_TYPE_ROCE_V2;
	uint8_t area[40];
	union ibv_gid to;
	int index;

	/* On Ethernet there is no other address than the one in the header. */
	if (!(wc->wc_flags & IBV_WC_GRH) || !grh)
		return fail(EINVAL);

	memset(ah_attr, 0, sizeof(*ah_attr));
	ah_attr->dlid = wc->slid;
	ah_attr->sl = wc->sl;
	ah_attr->src_path_bits = wc->dlid_path_bits;
	ah_attr->port_num = port_num;
	ah_attr->is_global = 1;

	memcpy(area, grh, sizeof(area));
	switch (header_version(area)) {
	case 4: {
		const uint8_t *header = area + IPV4_OFFSET;

		map_ipv4(&ah_attr->grh.dgid, header + offsetof(struct iphdr, saddr));
		map_ipv4(&to, header + offsetof(struct iphdr, daddr));
		ah_attr->grh.hop_limit = header[offsetof(struct iphdr, ttl)];
		ah_attr->grh.traffic_class = header[offsetof(struct iphdr, tos)];
		break;
	}
	case 6: {
		uint32_t word;

		memcpy(&word, area, sizeof(word));
		word = ntohl(word);
		memcpy(ah_attr->grh.dgid.raw, area + offsetof(struct ip6_hdr, ip6_src), 16);
		memcpy(to.raw, area + offsetof(struct ip6_hdr, ip6_dst), 16);
		ah_attr->grh.flow_label = word & 0xfffff;
		ah_attr->grh.traffic_class = (uint8_t)(word >> 20);
		ah_attr->grh.hop_limit = area[7];
		if (area[6] == NEXT_HEADER_GRH)
			type = IBV_GID_TYPE_ROCE_V1;
		else if (area[6] != IPPROTO_UDP)
			return fail(EPROTONOSUPPORT);
		break;
	}
	default:
		return fail(EPROTONOSUPPORT);
	}

	/* A multicast group is no address of ours to answer from. */
	if (is_multicast(&to))
		return fail(EINVAL);
	index = find_gid(context, port_num, &to, type);
	if (index < 0 || index > UINT8_MAX)
		return fail(EINVAL);
	ah_attr->grh.sgid_index = (uint8_t)index;
	return 0;
}

struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh,
				     uint8_t port_num)
{
	struct ibv_ah_attr attr;

	if (ibv_init_ah_from_wc(pd->context, port_num, wc, grh, &attr))
		return NULL;
	return ibv_create_ah(pd, &attr);
}

int ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr,
				uint8_t eth_mac[ETHERNET_LL_SIZE], uint16_t *vid)
{
	const uint8_t *gid = attr->grh.dgid.raw;

	(void)context;
	if (!attr->is_global)
		return EINVAL;
	if (gid[0] == 0xff) {
		eth_mac[0] = 0x33;
		eth_mac[1] = 0x33;
		memcpy(eth_mac + 2, gid + 12, 4);
	} else if (is_multicast(&attr->grh.dgid)) {
		eth_mac[0] = 0x01;
		eth_mac[1] = 0x00;
		eth_mac[2] = 0x5e;
		eth_mac[3] = gid[13] & 0x7f;
		memcpy(eth_mac + 4, gid + 14, 2);
	} else if (gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80 && gid[11] == 0xff &&
		   gid[12] == 0xfe) {
		eth_mac[0] = gid[8] ^ 0x02;
		memcpy(eth_mac + 1, gid + 9, 2);
		memcpy(eth_mac + 3, gid + 13, 3);
	} else {
		/* Only hardware drivers ask; the host's own routing finds the neighbour for us. */
		return EOPNOTSUPP;
	}
	if (vid)
		*vid = 0xffff;
	return 0;
}
