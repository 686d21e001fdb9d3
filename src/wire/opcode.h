/* SPDX-License-Identifier: Apache-2.0 */
/* opcode.h - BTH opcodes and what each means (IBTA table 38) */
#ifndef WIRE_OPCODE_H
#define WIRE_OPCODE_H

#include <stdint.h>

/* The upper three bits: the transport. */
#define OPCODE_TRANSPORT 0xe0
#define OPCODE_RC	 0x00
#define OPCODE_UC	 0x20
#define OPCODE_UD	 0x60

enum opcode {
	OPCODE_RC_SEND_FIRST = 0x00,
	OPCODE_RC_SEND_MIDDLE = 0x01,
	OPCODE_RC_SEND_LAST = 0x02,
	OPCODE_RC_SEND_LAST_IMM = 0x03,
	OPCODE_RC_SEND_ONLY = 0x04,
	OPCODE_RC_SEND_ONLY_IMM = 0x05,
	OPCODE_RC_WRITE_FIRST = 0x06,
	OPCODE_RC_WRITE_MIDDLE = 0x07,
	OPCODE_RC_WRITE_LAST = 0x08,
	OPCODE_RC_WRITE_LAST_IMM = 0x09,
	OPCODE_RC_WRITE_ONLY = 0x0a,
	OPCODE_RC_WRITE_ONLY_IMM = 0x0b,
	OPCODE_RC_READ_REQUEST = 0x0c,
	OPCODE_RC_READ_RESPONSE_FIRST = 0x0d,
	OPCODE_RC_READ_RESPONSE_MIDDLE = 0x0e,
	OPCODE_RC_READ_RESPONSE_LAST = 0x0f,
	OPCODE_RC_READ_RESPONSE_ONLY = 0x10,
	OPCODE_RC_ACKNOWLEDGE = 0x11,
	OPCODE_RC_ATOMIC_ACK = 0x12,
	OPCODE_RC_CMP_SWAP = 0x13,
	OPCODE_RC_FETCH_ADD = 0x14,
	OPCODE_RC_SEND_LAST_INV = 0x16,
	OPCODE_RC_SEND_ONLY_INV = 0x17,
	OPCODE_RC_FLUSH = 0x1c,	       /* IBTA A19.4 */
	OPCODE_RC_ATOMIC_WRITE = 0x1d, /* IBTA A19.4 */

	OPCODE_UC_SEND_FIRST = 0x20,
	OPCODE_UC_SEND_MIDDLE = 0x21,
	OPCODE_UC_SEND_LAST = 0x22,
	OPCODE_UC_SEND_LAST_IMM = 0x23,
	OPCODE_UC_SEND_ONLY = 0x24,
	OPCODE_UC_SEND_ONLY_IMM = 0x25,
	OPCODE_UC_WRITE_FIRST = 0x26,
	OPCODE_UC_WRITE_MIDDLE = 0x27,
	OPCODE_UC_WRITE_LAST = 0x28,
	OPCODE_UC_WRITE_LAST_IMM = 0x29,
	OPCODE_UC_WRITE_ONLY = 0x2a,
	OPCODE_UC_WRITE_ONLY_IMM = 0x2b,

	OPCODE_UD_SEND_ONLY = 0x64,
	OPCODE_UD_SEND_ONLY_IMM = 0x65,

	OPCODE_CNP = 0x81, /* congestion notification (IBTA A17.9.3) */
};

/* What the packet does. */
enum operation {
	OPERATION_NONE, /* no such opcode */
	OPERATION_SEND,
	OPERATION_WRITE,
	OPERATION_READ_REQUEST,
	OPERATION_READ_RESPONSE,
	OPERATION_ACKNOWLEDGE,
	OPERATION_ATOMIC_ACK,
	OPERATION_CMP_SWAP,
	OPERATION_FETCH_ADD,
	OPERATION_FLUSH,	/* answered by an empty READ response */
	OPERATION_ATOMIC_WRITE, /* so is this */
	OPERATION_CNP,
};

enum opcode_flags {
	OPCODE_FIRST = 1 << 0, /* begins a message of several packets */
	OPCODE_MIDDLE = 1 << 1,
	OPCODE_LAST = 1 << 2,
	OPCODE_ONLY = 1 << 3,
	OPCODE_HAS_DETH = 1 << 4,
	OPCODE_HAS_RETH = 1 << 5,
	OPCODE_HAS_ATOMIC = 1 << 6,
	OPCODE_HAS_AETH = 1 << 7,
	OPCODE_HAS_ATOMIC_ACK = 1 << 8,
	OPCODE_HAS_IMM = 1 << 9,
	OPCODE_HAS_IETH = 1 << 10,
	OPCODE_HAS_PAYLOAD = 1 << 11, /* may carry one; without it payload and pad must be empty */
	OPCODE_RESPONSE = 1 << 12,
	OPCODE_HAS_FETH = 1 << 13,
	OPCODE_BEGINS = OPCODE_FIRST | OPCODE_ONLY,
	OPCODE_ENDS = OPCODE_LAST | OPCODE_ONLY,
};

struct opcode_info {
	const char *name;
	enum operation operation;
	uint16_t flags;
	uint8_t header_length; /* BTH and extension headers; 0 for OPERATION_NONE */
};

/** opcode_info() - total: an opcode that does not exist gives OPERATION_NONE. */
const struct opcode_info *opcode_info(uint8_t opcode);

#endif
