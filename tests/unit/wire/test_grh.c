/* SPDX-License-Identifier: Apache-2.0 */
/* test_grh.c - the header in front of a datagram is one that programs can answer; path MTU codes */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"
#include "wire/grh.h"
#include "wire/mtu.h"

#include <cmocka.h>

static void ipv4(void **state)
{
	/* From 192.0.2.1 to 192.0.2.2, as any IPv4 header; its checksum was computed by hand. */
	static const uint8_t expected[20] = { 0x45, 0x6a, 0x00, 0x38, 0x00, 0x00, 0x40,
					      0x00, 0x40, 0x11, 0xb6, 0x47, 192,  0,
					      2,    1,	  192,	0,    2,    2 };
	static const uint8_t zero[20];
	struct grh grh = {
		.source.raw = { [10] = 0xff, 0xff, 192, 0, 2, 1 },
		.destination.raw = { [10] = 0xff, 0xff, 192, 0, 2, 2 },
		.traffic_class = 0x6a,
		.hop_limit = 64,
		.flow_label = 0x12345, /* IPv4 has none */
		.udp_length = 36,
	};
	uint8_t to[GRH_LENGTH];
	uint32_t sum = 0;

	(void)state;
	memset(to, 0xee, sizeof(to));
	grh_write(to, &grh);
	assert_memory_equal(to, zero, 20);
	assert_memory_equal(to + 20, expected, 20);
	for (int i = 20; i < 40; i += 2)
		sum += get_be16(to + i);
	assert_int_equal((sum & 0xffff) + (sum >> 16), 0xffff);
}

static void ipv6(void **state)
{
	static const uint8_t expected[8] = { 0x66, 0xa1, 0x23, 0x45, 0x00, 0x24, 17, 7 };
	struct grh grh = {
		.source.raw = { 0x20, 0x01, 0x0d, 0xb8, [15] = 1 },
		.destination.raw = { 0x20, 0x01, 0x0d, 0xb8, [15] = 2 },
		.traffic_class = 0x6a,
		.hop_limit = 7,
		.flow_label = 0xfff12345, /* twenty bits of it */
		.udp_length = 36,
	};
	uint8_t to[GRH_LENGTH];

	(void)state;
	grh_write(to, &grh);
	assert_memory_equal(to, expected, 8);
	assert_memory_equal(to + 8, grh.source.raw, 16);
	assert_memory_equal(to + 24, grh.destination.raw, 16);
}

static void mtus(void **state)
{
	(void)state;
	for (unsigned code = 1; code <= 5; code++) {
		assert_int_equal(mtu_bytes(code), 128 << code);
		assert_int_equal(mtu_from_netdev(mtu_bytes(code) + 96), code);
		assert_int_equal(mtu_from_netdev(mtu_bytes(code) + 95), code > 1 ? code - 1 : 1);
	}
	assert_int_equal(mtu_from_netdev(1500), 3);
	assert_int_equal(mtu_from_netdev(2200), 4);
	assert_int_equal(mtu_from_netdev(4200), 5);
	assert_int_equal(mtu_from_netdev(9000), 5);
	assert_int_equal(mtu_from_netdev(65536), 5);
	assert_int_equal(mtu_from_netdev(0), 1);
	assert_int_equal(mtu_from_netdev(UINT32_MAX), 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ipv4),
		cmocka_unit_test(ipv6),
		cmocka_unit_test(mtus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
