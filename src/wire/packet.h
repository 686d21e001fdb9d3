/* SPDX-License-Identifier: Apache-2.0 */
/* packet.h - the headers of a RoCEv2 packet, read and written in this one place (IBTA 9.2, 9.3,
 * A17) */
#ifndef WIRE_PACKET_H
#define WIRE_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/opcode.h"

#define BTH_LENGTH	  12
#define DETH_LENGTH	  8
#define XRCETH_LENGTH	  4
#define FETH_LENGTH	  4
#define RETH_LENGTH	  16
#define ATOMIC_ETH_LENGTH 28
#define AETH_LENGTH	  4
#define ATOMIC_ACK_LENGTH 8
#define IMM_LENGTH	  4
#define IETH_LENGTH	  4
#define CNP_LENGTH	  16
#define ICRC_LENGTH	  4

/* Of FLUSH: what is to be seen by whom. */
#define FETH_GLOBAL	0x1
#define FETH_PERSISTENT 0x2
#define FETH_RANGE	0
#define FETH_REGION	1

/* The headers as numbers; which members are valid follows from the opcode. */
struct packet {
	uint8_t opcode;
	const struct opcode_info *info; /* set by packet_parse() */
	bool solicited, migrated, ack_req, fecn, becn;
	uint8_t pad; /* 0 .. 3 bytes between payload and ICRC */
	uint16_t pkey;
	uint32_t dest_qpn;
	uint32_t psn;
	uint32_t srqn; /* XRCETH: the shared receive queue */
	struct {
		uint8_t placement;   /* FETH_GLOBAL, FETH_PERSISTENT */
		uint8_t selectivity; /* FETH_RANGE of the RETH, or all of its region: FETH_REGION */
	} feth;
	struct {
		uint64_t va;
		uint32_t rkey, length;
	} reth;
	struct {
		uint32_t qkey, src_qpn;
	} deth;
	struct {
		uint8_t syndrome;
		uint32_t msn;
	} aeth;
	struct {
		uint64_t va, swap_add, compare;
		uint32_t rkey;
	} atomic;
	uint64_t atomic_ack; /* the value before */
	uint32_t immediate;  /* network order, opaque */
	uint32_t ieth;	     /* the rkey to invalidate */
	const uint8_t *payload;
	uint32_t payload_length; /* without the pad */
};

enum packet_flaw {
	PACKET_GOOD,
	PACKET_SHORT,	/* than BTH and ICRC, or than its headers */
	PACKET_OPCODE,	/* no such opcode */
	PACKET_VERSION, /* of the transport header, not 0 */
	PACKET_PAD,	/* more pad than payload, or a length that is not a multiple of four */
	PACKET_PAYLOAD, /* where none belongs */
	PACKET_LONG,	/* more payload than any path MTU */
};

/**
 * packet_parse() - total: any bytes get a verdict. @data: the UDP payload with its ICRC, which is
 * not checked here. On PACKET_GOOD all members that the opcode has are set and payload points into
 * @data.
 */
enum packet_flaw packet_parse(struct packet *packet, const uint8_t *data, size_t length);
/** packet_flaw_name() - a few words. */
const char *packet_flaw_name(enum packet_flaw flaw);
/** packet_headers_length() - bytes in front of the payload; 0 when there is no such opcode. */
size_t packet_headers_length(uint8_t opcode);
/** packet_write_headers() - write them to @to (packet_headers_length() bytes). Return: that length.
 */
size_t packet_write_headers(const struct packet *packet, uint8_t *to);

#endif
