/* SPDX-License-Identifier: Apache-2.0 */
/* test_kernel.c - packets that the kernel's driver sent are read, written again to the same bytes,
 * and have the ICRC that we compute */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "wire/icrc.h"
#include "wire/packet.h"
#include "wire/syndrome.h"

#include <cmocka.h>

static const struct {
	const char *where, *hex;
} captured[] = {
#define PACKET(where, hex) { where, hex },
#include "../../vectors/rxe.def"
#undef PACKET
};

#define CAPTURED (sizeof(captured) / sizeof(captured[0]))
#define HEADERS	 28 /* IPv4 and UDP */

struct datagram {
	uint8_t bytes[1200];
	struct icrc_route route;
	uint16_t id;
	uint8_t *data;
	size_t length;
};

static void load(struct datagram *d, const char *hex)
{
	size_t n = strlen(hex) / 2;

	memset(d, 0, sizeof(*d));
	assert_in_range(n, HEADERS + BTH_LENGTH + ICRC_LENGTH, sizeof(d->bytes));
	for (size_t i = 0; i < n; i++) {
		unsigned byte;

		assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
		d->bytes[i] = (uint8_t)byte;
	}
	assert_int_equal(d->bytes[0], 0x45);
	assert_int_equal(get_be16(d->bytes + 2), n);
	assert_int_equal(get_be16(d->bytes + 22), 4791);
	d->id = get_be16(d->bytes + 4);
	d->route.source.raw[10] = d->route.source.raw[11] = 0xff;
	d->route.destination.raw[10] = d->route.destination.raw[11] = 0xff;
	memcpy(d->route.source.raw + 12, d->bytes + 12, 4);
	memcpy(d->route.destination.raw + 12, d->bytes + 16, 4);
	d->route.source_port = get_be16(d->bytes + 20);
	d->route.destination_port = 4791;
	d->data = d->bytes + HEADERS;
	d->length = n - HEADERS;
}

static void read_and_written_again(void **state)
{
	(void)state;
	for (unsigned i = 0; i < CAPTURED; i++) {
		struct datagram d;
		struct packet p;
		uint8_t again[128];
		size_t n;

		load(&d, captured[i].hex);
		assert_int_equal(packet_parse(&p, d.data, d.length), PACKET_GOOD);
		n = packet_write_headers(&p, again);
		assert_int_equal(n, p.payload - d.data);
		assert_memory_equal(again, d.data, n);
		assert_int_equal(p.payload_length + p.pad + ICRC_LENGTH + n, d.length);
		assert_int_equal(p.pad, -p.payload_length & 3);
		assert_int_equal(p.pkey, 0xffff);
	}
}

/* One of each opcode is there, but of those that the driver of that time did not send. */
static void every_opcode_is_there(void **state)
{
	bool seen[256] = { false };

	(void)state;
	for (unsigned i = 0; i < CAPTURED; i++) {
		struct datagram d;

		load(&d, captured[i].hex);
		seen[d.data[0]] = true;
	}
	for (unsigned opcode = 0; opcode < 256; opcode++) {
		if (opcode == OPCODE_RC_SEND_ONLY_INV || opcode == OPCODE_RC_ATOMIC_WRITE ||
		    opcode == OPCODE_RC_FLUSH || (opcode & OPCODE_TRANSPORT) == OPCODE_XRC ||
		    opcode == OPCODE_CNP)
			continue;
		assert_int_equal(seen[opcode],
				 opcode_info((uint8_t)opcode)->operation != OPERATION_NONE);
	}
}

static void icrc_is_computed_and_accepted(void **state)
{
	int32_t hint = -1;

	(void)state;
	for (unsigned i = 0; i < CAPTURED; i++) {
		struct datagram d;
		uint8_t icrc[4];

		load(&d, captured[i].hex);
		icrc_write(icrc, icrc_compute(&d.route, d.id, d.data, d.length - ICRC_LENGTH));
		assert_memory_equal(icrc, d.data + d.length - ICRC_LENGTH, ICRC_LENGTH);
		assert_true(icrc_check(&d.route, d.data, d.length, &hint));
		assert_int_equal(hint & 0xffff, d.id);
		assert_true(icrc_check(&d.route, d.data, d.length, NULL));
	}
}

/* All but the one bit that icrc.h names; the other one is behind the end of these packets. */
static void flipped_bits_are_found(void **state)
{
	(void)state;
	for (unsigned i = 0; i < CAPTURED; i++) {
		struct datagram d;

		load(&d, captured[i].hex);
		for (size_t bit = 0; bit < d.length * 8; bit++) {
			bool alias = bit == 173 * 8 + 3 && bit / 8 < d.length - ICRC_LENGTH;

			if (bit / 8 == 4) /* masked */
				continue;
			d.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
			assert_int_equal(icrc_check(&d.route, d.data, d.length, NULL), alias);
			d.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
	}
}

static void syndromes(void **state)
{
	unsigned kinds[4] = { 0 };

	(void)state;
	for (unsigned i = 0; i < CAPTURED; i++) {
		struct datagram d;
		struct packet p;

		load(&d, captured[i].hex);
		assert_int_equal(packet_parse(&p, d.data, d.length), PACKET_GOOD);
		if (!(p.info->flags & OPCODE_HAS_AETH))
			continue;
		kinds[p.aeth.syndrome >> 5]++;
		if (syndrome_is_ack(p.aeth.syndrome))
			assert_int_equal(p.aeth.syndrome, SYNDROME_ACK);
		if (p.aeth.syndrome >> 5 == 3)
			assert_in_range(p.aeth.syndrome, SYNDROME_NAK_SEQUENCE,
					SYNDROME_NAK_REMOTE_OPERATIONAL);
		assert_int_equal(syndrome_is_rnr(p.aeth.syndrome), p.aeth.syndrome >> 5 == 1);
	}
	assert_true(kinds[0] && kinds[1] && !kinds[2] && kinds[3]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read_and_written_again),
		cmocka_unit_test(every_opcode_is_there),
		cmocka_unit_test(icrc_is_computed_and_accepted),
		cmocka_unit_test(flipped_bits_are_found),
		cmocka_unit_test(syndromes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
