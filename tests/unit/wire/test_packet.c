/* SPDX-License-Identifier: Apache-2.0 */
/* test_packet.c - what is written is read back; any bytes get a verdict */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include "base/random.h"
#include "wire/packet.h"
#include "wire/psn.h"
#include "wire/syndrome.h"

#include <cmocka.h>

static void headers_survive(void **state)
{
	struct random random;

	(void)state;
	random_seed(&random, 3);
	for (unsigned opcode = 0; opcode < 256; opcode++) {
		const struct opcode_info *info = opcode_info((uint8_t)opcode);
		uint8_t bytes[128] = { 0 };
		struct packet in = { .opcode = (uint8_t)opcode }, out;
		size_t n;

		if (info->operation == OPERATION_NONE) {
			assert_int_equal(packet_headers_length((uint8_t)opcode), 0);
			continue;
		}
		in.psn = random_next(&random) & PSN_MASK;
		in.dest_qpn = random_next(&random) & 0xffffff;
		in.pkey = (uint16_t)random_next(&random);
		in.ack_req = opcode & 1;
		in.solicited = opcode & 2;
		in.reth.va = random_next(&random);
		in.reth.rkey = (uint32_t)random_next(&random);
		in.reth.length = (uint32_t)random_next(&random);
		in.deth.qkey = (uint32_t)random_next(&random);
		in.deth.src_qpn = random_next(&random) & 0xffffff;
		in.aeth.syndrome = (uint8_t)random_next(&random);
		in.aeth.msn = random_next(&random) & 0xffffff;
		in.atomic.va = random_next(&random);
		in.atomic.rkey = (uint32_t)random_next(&random);
		in.atomic.swap_add = random_next(&random);
		in.atomic.compare = random_next(&random);
		in.atomic_ack = random_next(&random);
		in.immediate = (uint32_t)random_next(&random);
		in.ieth = (uint32_t)random_next(&random);
		in.srqn = random_next(&random) & 0xffffff;
		n = packet_write_headers(&in, bytes);
		assert_int_equal(n, packet_headers_length((uint8_t)opcode));
		memset(&out, 0, sizeof(out));
		assert_int_equal(packet_parse(&out, bytes, n + 4), PACKET_GOOD);
		assert_int_equal(out.psn, in.psn);
		assert_int_equal(out.dest_qpn, in.dest_qpn);
		assert_int_equal(out.pkey, in.pkey);
		assert_int_equal(out.ack_req, in.ack_req);
		assert_int_equal(out.solicited, in.solicited);
		assert_int_equal(out.payload_length, 0);
		if (info->flags & OPCODE_HAS_RETH)
			assert_memory_equal(&out.reth, &in.reth, sizeof(in.reth));
		if (info->flags & OPCODE_HAS_DETH)
			assert_memory_equal(&out.deth, &in.deth, sizeof(in.deth));
		if (info->flags & OPCODE_HAS_AETH) {
			assert_int_equal(out.aeth.syndrome, in.aeth.syndrome);
			assert_int_equal(out.aeth.msn, in.aeth.msn);
		}
		if (info->flags & OPCODE_HAS_ATOMIC) {
			assert_true(out.atomic.va == in.atomic.va &&
				    out.atomic.compare == in.atomic.compare);
			assert_true(out.atomic.swap_add == in.atomic.swap_add &&
				    out.atomic.rkey == in.atomic.rkey);
		}
		if (info->flags & OPCODE_HAS_ATOMIC_ACK)
			assert_true(out.atomic_ack == in.atomic_ack);
		if (info->flags & OPCODE_HAS_IMM)
			assert_int_equal(out.immediate, in.immediate);
		if (info->flags & OPCODE_HAS_IETH)
			assert_int_equal(out.ieth, in.ieth);
		if (info->flags & OPCODE_HAS_XRCETH)
			assert_int_equal(out.srqn, in.srqn);
		/* One byte less is too short, and a payload needs to be allowed. */
		assert_int_equal(packet_parse(&out, bytes, n + 3), PACKET_SHORT);
		assert_int_equal(packet_parse(&out, bytes, n + 8),
				 info->flags & OPCODE_HAS_PAYLOAD ? PACKET_GOOD : PACKET_PAYLOAD);
	}
}

/* XRC is RC with one more header, in requests alone and in all of them. */
static void xrc_names_its_queue(void **state)
{
	struct packet p = { .opcode = OPCODE_XRC_FLUSH, .srqn = 0xabcdef };
	unsigned requests = 0, responses = 0;
	uint8_t bytes[64];

	(void)state;
	for (unsigned i = 0; i < 32; i++) {
		const struct opcode_info *rc = opcode_info((uint8_t)i);
		const struct opcode_info *xrc = opcode_info((uint8_t)(OPCODE_XRC | i));
		bool request = rc->header_length && !(rc->flags & OPCODE_RESPONSE);

		assert_int_equal(xrc->operation, rc->operation);
		assert_int_equal(xrc->flags, rc->flags | (request ? OPCODE_HAS_XRCETH : 0));
		assert_int_equal(xrc->header_length, rc->header_length + (request ? 4 : 0));
		requests += request;
		responses += rc->header_length && !request;
	}
	assert_int_equal(requests, 19);
	assert_int_equal(responses, 6);
	/* Before everything else: 12 bytes in, a reserved one and the number. */
	p.feth.placement = FETH_GLOBAL;
	assert_int_equal(packet_write_headers(&p, bytes), 12 + 4 + 4 + 16);
	assert_memory_equal(bytes + 12, "\0\xab\xcd\xef\0\0\0\x01", 8);
	/* What is reserved is not looked at. */
	bytes[12] = 0xff;
	assert_int_equal(packet_parse(&p, bytes, 36 + 4), PACKET_GOOD);
	assert_int_equal(p.srqn, 0xabcdef);
}

static void flaws_have_names(void **state)
{
	uint8_t send[64] = { OPCODE_RC_SEND_ONLY };
	struct packet p;

	(void)state;
	assert_int_equal(packet_parse(&p, send, 16), PACKET_GOOD);
	assert_int_equal(packet_parse(&p, send, 0), PACKET_SHORT);
	assert_int_equal(packet_parse(&p, send, 17), PACKET_PAD);
	send[1] = 0x30;
	assert_int_equal(packet_parse(&p, send, 16), PACKET_PAD);
	assert_int_equal(packet_parse(&p, send, 20), PACKET_GOOD);
	assert_int_equal(p.payload_length, 1);
	send[1] = 1;
	assert_int_equal(packet_parse(&p, send, 16), PACKET_VERSION);
	send[0] = 0x1f;
	assert_int_equal(packet_parse(&p, send, 16), PACKET_OPCODE);
	for (int i = 0; i <= PACKET_LONG + 1; i++)
		assert_non_null(packet_flaw_name((enum packet_flaw)i));
}

/* Run under the address sanitizer: nothing outside of the bytes is read. */
static void any_bytes_get_a_verdict(void **state)
{
	struct random random;
	uint8_t bytes[4500];
	struct packet p;

	(void)state;
	random_seed(&random, 4);
	for (int i = 0; i < 200000; i++) {
		size_t length = random_below(&random, i % 10 ? 80 : sizeof(bytes));

		for (size_t j = 0; j < length && j < 80; j++)
			bytes[j] = (uint8_t)random_next(&random);
		if (i & 1)
			bytes[1] &= 0xf0;
		if (packet_parse(&p, bytes, length) == PACKET_GOOD) {
			assert_true(p.payload >= bytes &&
				    p.payload + p.payload_length + p.pad + 4 == bytes + length);
			assert_true(p.payload_length <= 4096);
		}
	}
}

static void psns_wrap(void **state)
{
	(void)state;
	assert_int_equal(psn_add(0xffffff, 1), 0);
	assert_int_equal(psn_add(0, PSN_MASK), 0xffffff);
	assert_true(psn_compare(0, 0xffffff) > 0);
	assert_true(psn_compare(0xffffff, 0) < 0);
	assert_int_equal(psn_compare(5, 5), 0);
	assert_true(psn_compare(0x7fffff, 0) > 0);
	assert_true(psn_compare(0x800000, 0) < 0);
	assert_int_equal(psn_distance(0xfffffe, 3), 5);
}

static void codes_are_times(void **state)
{
	(void)state;
	assert_true(rnr_timer_ns(0) == 655360000);
	assert_true(rnr_timer_ns(1) == 10000);
	assert_true(rnr_timer_ns(14) == 1280000);
	assert_true(rnr_timer_ns(25) == 61440000);
	assert_true(rnr_timer_ns(31) == 491520000);
	for (unsigned c = 2; c < 32; c++)
		assert_true(rnr_timer_ns(c) > rnr_timer_ns(c - 1));
	assert_true(ack_timeout_ns(0) == 0);
	assert_true(ack_timeout_ns(14) == 67108864);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headers_survive),  cmocka_unit_test(xrc_names_its_queue),
		cmocka_unit_test(flaws_have_names), cmocka_unit_test(any_bytes_get_a_verdict),
		cmocka_unit_test(psns_wrap),	    cmocka_unit_test(codes_are_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
