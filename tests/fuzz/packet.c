/* SPDX-License-Identifier: Apache-2.0 */
/* packet.c - any bytes as a packet: parsed, written again, and its ICRC checked */
#include "wire/packet.h"

#include "fuzz.h"
#include "wire/icrc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct icrc_route route = { .source_port = 0xc000, .destination_port = 4791 };
	uint8_t headers[128], again[128];
	struct packet packet, second;
	enum packet_flaw flaw;
	int32_t hint = -1;
	size_t length;

	if (size > 9216)
		return 0;
	flaw = packet_parse(&packet, data, size);
	FUZZ_CHECK(packet_flaw_name(flaw)[0]);
	route.source.raw[10] = route.source.raw[11] = size & 1 ? 0xff : 0;
	route.destination.raw[10] = route.destination.raw[11] = size & 1 ? 0xff : 0;
	if (size >= BTH_LENGTH + ICRC_LENGTH)
		(void)icrc_check(&route, data, size, &hint);
	if (flaw != PACKET_GOOD)
		return 0;
	length = packet_headers_length(packet.opcode);
	FUZZ_CHECK(length && length <= sizeof(headers));
	FUZZ_CHECK(packet.payload == data + length);
	FUZZ_CHECK(length + packet.payload_length + packet.pad + ICRC_LENGTH == size);
	FUZZ_CHECK(packet.payload_length <= 4096);
	/* What is written is what was read, but for reserved bits. */
	FUZZ_CHECK(packet_write_headers(&packet, headers) == length);
	FUZZ_CHECK(headers[0] == data[0] && !memcmp(headers + 9, data + 9, 3));
	{
		uint8_t copy[128 + 4100 + 8];

		memcpy(copy, headers, length);
		memcpy(copy + length, packet.payload, size - length);
		FUZZ_CHECK(packet_parse(&second, copy, size) == PACKET_GOOD);
	}
	FUZZ_CHECK(packet_write_headers(&second, again) == length);
	FUZZ_CHECK(!memcmp(headers, again, length));
	return 0;
}
