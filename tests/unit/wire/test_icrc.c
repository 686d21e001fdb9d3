/* SPDX-License-Identifier: Apache-2.0 */
/* test_icrc.c - the ICRC equals the vectors both ways, finds every flipped bit, and needs no IPv4
 * identification */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/random.h"
#include "icrc_vectors.h"
#include "wire/icrc.h"
#include "wire/packet.h"

#include <cmocka.h>

#define VECTORS (sizeof(icrc_vectors) / sizeof(icrc_vectors[0]))

struct vector {
	uint8_t bytes[512];
	struct icrc_route route;
	uint16_t id;
	uint8_t *udp_payload;
	size_t length; /* of the payload, with ICRC */
};

static void load(struct vector *v, const char *hex)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	size_t n = strlen(hex) / 2, ip;

	memset(v, 0, sizeof(*v));
	for (size_t i = 0; i < n; i++) {
		unsigned byte;

		assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
		v->bytes[i] = (uint8_t)byte;
	}
	if (v->bytes[0] >> 4 == 4) {
		ip = 20;
		v->id = get_be16(v->bytes + 4);
		memcpy(v->route.source.raw, mapped, 12);
		memcpy(v->route.destination.raw, mapped, 12);
		memcpy(v->route.source.raw + 12, v->bytes + 12, 4);
		memcpy(v->route.destination.raw + 12, v->bytes + 16, 4);
	} else {
		ip = 40;
		memcpy(v->route.source.raw, v->bytes + 8, 16);
		memcpy(v->route.destination.raw, v->bytes + 24, 16);
	}
	v->route.source_port = get_be16(v->bytes + ip);
	v->route.destination_port = get_be16(v->bytes + ip + 2);
	v->udp_payload = v->bytes + ip + 8;
	v->length = n - ip - 8;
}

static void vectors_are_computed(void **state)
{
	(void)state;
	assert_int_equal(VECTORS, 10);
	for (unsigned i = 0; i < VECTORS; i++) {
		struct vector v;
		uint8_t icrc[4];

		load(&v, icrc_vectors[i]);
		if (v.bytes[0] >> 4 == 4 && !(v.bytes[6] & 0x40))
			continue; /* sent without DF, which we always set; checked below */
		icrc_write(icrc, icrc_compute(&v.route, v.id, v.udp_payload, v.length - 4));
		assert_memory_equal(icrc, v.udp_payload + v.length - 4, 4);
	}
}

static void vectors_are_accepted(void **state)
{
	(void)state;
	for (unsigned i = 0; i < VECTORS; i++) {
		struct vector v;
		int32_t hint = -1;

		load(&v, icrc_vectors[i]);
		assert_true(icrc_check(&v.route, v.udp_payload, v.length, &hint));
		if (v.bytes[0] >> 4 == 4)
			assert_int_equal(hint & 0xffff, v.id);
		assert_true(icrc_check(&v.route, v.udp_payload, v.length, &hint));
		assert_true(icrc_check(&v.route, v.udp_payload, v.length, NULL));
	}
}

static void every_flipped_bit_is_found(void **state)
{
	(void)state;
	for (unsigned i = 0; i < VECTORS; i++) {
		struct vector v;

		load(&v, icrc_vectors[i]);
		for (size_t bit = 0; bit < v.length * 8; bit++) {
			/* FECN, BECN and six reserved bits may be changed on the way. */
			if (bit / 8 == 4)
				continue;
			v.udp_payload[bit / 8] ^= (uint8_t)(1 << bit % 8);
			assert_false(icrc_check(&v.route, v.udp_payload, v.length, NULL));
			v.udp_payload[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		v.route.source.raw[15] ^= 1;
		assert_false(icrc_check(&v.route, v.udp_payload, v.length, NULL));
		v.route.source.raw[15] ^= 1;
		v.route.source_port ^= 1;
		assert_false(icrc_check(&v.route, v.udp_payload, v.length, NULL));
	}
}

static void any_identification_is_found(void **state)
{
	struct random random;
	uint8_t packet[4200];
	struct icrc_route route = { .source_port = 0xc000, .destination_port = 4791 };
	int32_t hint = -1;

	(void)state;
	random_seed(&random, 1);
	route.source.raw[10] = route.source.raw[11] = route.destination.raw[10] =
		route.destination.raw[11] = 0xff;
	for (int i = 0; i < 20000; i++) {
		size_t length = 12 + 4 * random_below(&random, 1040);
		uint16_t id = (uint16_t)random_next(&random);

		for (size_t j = 0; j < length; j += 97)
			packet[j] = (uint8_t)random_next(&random);
		icrc_write(packet + length, icrc_compute(&route, id, packet, length));
		assert_true(icrc_check(&route, packet, length + 4, i & 1 ? &hint : NULL));
		if (i & 1)
			assert_int_equal(hint & 0xffff, id);
	}
}

/* One in 2^15 at the most: 3 of 100,000 expected. */
static void corruption_hardly_ever_passes(void **state)
{
	struct vector v;
	struct random random;
	int passed = 0;

	(void)state;
	random_seed(&random, 2);
	load(&v, icrc_vectors[0]);
	for (int i = 0; i < 100000; i++) {
		uint8_t original[64];
		size_t at = 5 + random_below(&random, (uint32_t)v.length - 9);

		memcpy(original, v.udp_payload, v.length);
		put_be32(v.udp_payload + at, (uint32_t)random_next(&random));
		passed += icrc_check(&v.route, v.udp_payload, v.length, NULL) &&
			  memcmp(original, v.udp_payload, v.length) != 0;
		memcpy(v.udp_payload, original, v.length);
	}
	assert_true(passed < 15);
}

/* The longest packet: over IPv4 two bits of it stand where a flip looks like another
 * identification, as icrc.h says; over IPv6 none. */
static void flipped_bits_of_a_long_packet(void **state)
{
	static uint8_t bytes[12 + 16 + 4 + 4096 + 4];
	struct icrc_route route = { .source_port = 0xc000, .destination_port = 4791 };
	const size_t covered = sizeof(bytes) - ICRC_LENGTH;
	struct random random;

	(void)state;
	random_seed(&random, 7);
	for (size_t i = 0; i < covered; i++)
		bytes[i] = (uint8_t)random_next(&random);
	for (int ipv4 = 0; ipv4 < 2; ipv4++) {
		icrc_write(bytes + covered, icrc_compute(&route, 0x1234, bytes, covered));
		assert_true(icrc_check(&route, bytes, sizeof(bytes), NULL));
		for (size_t bit = 0; bit < sizeof(bytes) * 8; bit++) {
			bool alias = bit == 173 * 8 + 3 || bit == 1834 * 8 + 6;

			if (bit / 8 == 4) /* masked */
				continue;
			bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
			assert_int_equal(icrc_check(&route, bytes, sizeof(bytes), NULL),
					 ipv4 && alias);
			bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		route.source.raw[10] = route.source.raw[11] = route.destination.raw[10] =
			route.destination.raw[11] = 0xff;
	}
}

/* The same CRC another way: bit by bit. */
static uint32_t crc_bit_by_bit(uint32_t crc, const uint8_t *bytes, size_t length)
{
	for (size_t i = 0; i < length * 8; i++) {
		uint32_t bit = (crc ^ (uint32_t)(bytes[i / 8] >> i % 8)) & 1;

		crc = crc >> 1 ^ (bit ? 0xedb88320u : 0);
	}
	return crc;
}

/* Sent with one bit of the IP and UDP headers other than the receiver thinks: only the
 * identification and DF may differ, and what is masked. */
static void headers_that_may_differ(void **state)
{
	/* Set to ones before the CRC: TOS, TTL, the two checksums. */
	static const uint8_t masked[28] = {
		[1] = 1, [8] = 1, [10] = 1, [11] = 1, [26] = 1, [27] = 1
	};
	struct vector v;

	(void)state;
	load(&v, icrc_vectors[3]);
	assert_int_equal(v.bytes[0], 0x45);
	for (unsigned bit = 0; bit < 28 * 8; bit++) {
		uint8_t bytes[128];
		bool identification = bit / 8 == 4 || bit / 8 == 5 || bit == 6 * 8 + 6;
		uint32_t crc = UINT32_MAX;

		memset(bytes, 0xff, 8);
		memcpy(bytes + 8, v.bytes, 28 + v.length);
		bytes[8 + bit / 8] ^= (uint8_t)(1 << bit % 8);
		for (unsigned i = 0; i < sizeof(masked); i++) {
			if (masked[i])
				bytes[8 + i] = 0xff;
		}
		bytes[8 + 28 + 4] = 0xff;
		crc = ~crc_bit_by_bit(crc, bytes, 8 + 28 + v.length - ICRC_LENGTH);
		icrc_write(v.udp_payload + v.length - ICRC_LENGTH, crc);
		assert_int_equal(icrc_check(&v.route, v.udp_payload, v.length, NULL),
				 identification || masked[bit / 8]);
	}
}

/* Run under the address sanitizer: no length makes it read outside, and what is no packet is wrong.
 */
static void any_length_gets_a_verdict(void **state)
{
	static uint8_t bytes[65535];
	struct icrc_route route = { .source_port = 0xc000, .destination_port = 4791 };

	(void)state;
	for (int family = 0; family < 2; family++) {
		for (size_t length = 0; length < BTH_LENGTH + ICRC_LENGTH; length++)
			assert_false(icrc_check(&route, bytes, length, NULL));
		for (size_t length = 16; length <= sizeof(bytes); length += length < 9000 ? 1 : 997)
			(void)icrc_check(&route, bytes, length, NULL);
		/* Too long, although right. */
		icrc_write(bytes + 9000, icrc_compute(&route, 0, bytes, 9000));
		assert_false(icrc_check(&route, bytes, 9004, NULL));
		memset(bytes + 9000, 0, 4);
		route.source.raw[10] = route.source.raw[11] = route.destination.raw[10] =
			route.destination.raw[11] = 0xff;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors_are_computed),
		cmocka_unit_test(vectors_are_accepted),
		cmocka_unit_test(every_flipped_bit_is_found),
		cmocka_unit_test(any_identification_is_found),
		cmocka_unit_test(corruption_hardly_ever_passes),
		cmocka_unit_test(flipped_bits_of_a_long_packet),
		cmocka_unit_test(headers_that_may_differ),
		cmocka_unit_test(any_length_gets_a_verdict),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
