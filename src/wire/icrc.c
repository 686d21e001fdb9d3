/* SPDX-License-Identifier: Apache-2.0 */
/* icrc.c - pseudo headers, and finding the IPv4 identification that an ICRC was made with */
#include "wire/icrc.h"

#include <isa-l/crc.h>

#include "base/bytes.h"
#include "wire/packet.h"

#define UDP_HEADER 8
#define IPV4_ID_AT 4 /* in the IPv4 header: identification, then the byte with DF */
#define IPV4_DF	   0x40
#define MAX_LENGTH 8000 /* no packet is longer, and shift_back() reaches a little further */

/* Eight bytes of ones, IP and UDP headers and BTH with what routers change set to ones. Return: its
 * length. */
static size_t masked_headers(const struct icrc_route *r, uint16_t id, const uint8_t *bth,
			     size_t udp_length, uint8_t *to)
{
	uint8_t *at = to;

	memset(at, 0xff, 8);
	at += 8;
	if (gid_is_ipv4(&r->source)) {
		memset(at, 0xff, 20);
		at[0] = 0x45;
		put_be16(at + 2, (uint16_t)(20 + udp_length));
		put_be16(at + IPV4_ID_AT, id);
		put_be16(at + 6, IPV4_DF << 8);
		at[9] = 17;
		memcpy(at + 12, r->source.raw + 12, 4);
		memcpy(at + 16, r->destination.raw + 12, 4);
		at += 20;
	} else {
		memset(at, 0xff, 8);
		at[0] = 0x6f;
		put_be16(at + 4, (uint16_t)udp_length);
		at[6] = 17;
		memcpy(at + 8, r->source.raw, 16);
		memcpy(at + 24, r->destination.raw, 16);
		at += 40;
	}
	put_be16(at, r->source_port);
	put_be16(at + 2, r->destination_port);
	put_be16(at + 4, (uint16_t)udp_length);
	put_be16(at + 6, 0xffff);
	memcpy(at + UDP_HEADER, bth, BTH_LENGTH);
	at[UDP_HEADER + 4] = 0xff;
	return (size_t)(at - to) + UDP_HEADER + BTH_LENGTH;
}

uint32_t icrc_compute(const struct icrc_route *route, uint16_t ipv4_id, const uint8_t *payload,
		      size_t length)
{
	uint8_t headers[8 + 40 + UDP_HEADER + BTH_LENGTH];
	size_t n =
		masked_headers(route, ipv4_id, payload, UDP_HEADER + length + ICRC_LENGTH, headers);
	uint32_t crc = crc32_gzip_refl(0, headers, n);

	return crc32_gzip_refl(crc, payload + BTH_LENGTH, length - BTH_LENGTH);
}

void icrc_write(uint8_t *to, uint32_t icrc)
{
	/* Hosts are little-endian here (bytes.h), as the ICRC is on the wire. */
	memcpy(to, &icrc, sizeof(icrc));
}

/*
 * Polynomials modulo that of CRC-32, most significant coefficient in bit 0 as the CRC itself. A
 * difference of bits d in the covered bytes that is followed by n bytes changes the CRC by d *
 * x^(8n + 32); multiplying that change with x^-(8n + 32) gives d back.
 */
static uint32_t multiply(uint32_t a, uint32_t b)
{
	uint32_t product = 0;

	for (uint32_t bit = 1u << 31; bit; bit >>= 1) {
		if (a & bit)
			product ^= b;
		b = b >> 1 ^ (b & 1 ? 0xedb88320u : 0);
	}
	return product;
}

static uint32_t shift_back(uint32_t value, size_t bytes)
{
	/* x^-8, x^-16, x^-32 ... : the inverse of one byte, two bytes, four ... */
	static const uint32_t inverse[] = { 0x6567cb95, 0xd7125358, 0x5b358fd3, 0x2e9bb40b,
					    0x12a59a49, 0x8df9403d, 0x5139de12, 0xba340226,
					    0x29c45641, 0x12fbc105, 0xecd30c55, 0x3755ebd8,
					    0x24ee460c };

	for (unsigned i = 0; bytes && i < sizeof(inverse) / sizeof(inverse[0]); i++, bytes >>= 1) {
		if (bytes & 1)
			value = multiply(value, inverse[i]);
	}
	return value;
}

/* The hint: the last identification, and whether that sender counts up. */
#define HINT_COUNTS 0x10000

static uint16_t guess(const int32_t *hint)
{
	if (!hint || *hint < 0)
		return 0;
	return (uint16_t)(*hint + (*hint & HINT_COUNTS ? 1 : 0));
}

static void learn(int32_t *hint, uint16_t id)
{
	bool counts;

	if (!hint)
		return;
	counts = *hint >= 0 && *hint & HINT_COUNTS;
	if (*hint >= 0 && id == (uint16_t)(*hint + 1))
		counts = true;
	else if (*hint >= 0 && id == (uint16_t)*hint)
		counts = false;
	*hint = (counts ? HINT_COUNTS : 0) | id;
}

bool icrc_check(const struct icrc_route *route, const uint8_t *data, size_t length, int32_t *hint)
{
	bool ipv4 = gid_is_ipv4(&route->source);
	uint16_t id = ipv4 ? guess(hint) : 0;
	uint32_t found, difference, bits;
	size_t covered;

	if (length < BTH_LENGTH + ICRC_LENGTH || length > MAX_LENGTH)
		return false;
	covered = length - ICRC_LENGTH;
	memcpy(&found, data + covered, sizeof(found));
	difference = found ^ icrc_compute(route, id, data, covered);
	if (difference && !ipv4)
		return false;
	if (difference) {
		/* Bytes after the one with DF: the rest of the IP header, UDP, what is covered of
		 * the payload. */
		bits = shift_back(difference, 20 - 7 + UDP_HEADER + covered + 4);
		/* Reflected: the first of the three bytes is the highest, its first bit the lowest.
		 */
		if (bits & 0xff || ((bits >> 24 & 0xff) != 0 && (bits >> 24) != IPV4_DF))
			return false;
		id ^= (uint16_t)((bits >> 8 & 0xff) << 8 | (bits >> 16 & 0xff));
	}
	if (ipv4)
		learn(hint, id);
	return true;
}
