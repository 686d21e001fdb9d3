/* SPDX-License-Identifier: Apache-2.0 */
/* opcode.c - the table of opcodes */
#include "wire/opcode.h"

#include "wire/packet.h"

#define LENGTH(flags)                                                 \
 (uint8_t)(BTH_LENGTH + ((flags)&OPCODE_HAS_DETH ? DETH_LENGTH : 0) + \
	   ((flags)&OPCODE_HAS_XRCETH ? XRCETH_LENGTH : 0) +          \
	   ((flags)&OPCODE_HAS_FETH ? FETH_LENGTH : 0) +              \
	   ((flags)&OPCODE_HAS_RETH ? RETH_LENGTH : 0) +              \
	   ((flags)&OPCODE_HAS_ATOMIC ? ATOMIC_ETH_LENGTH : 0) +      \
	   ((flags)&OPCODE_HAS_AETH ? AETH_LENGTH : 0) +              \
	   ((flags)&OPCODE_HAS_ATOMIC_ACK ? ATOMIC_ACK_LENGTH : 0) +  \
	   ((flags)&OPCODE_HAS_IMM ? IMM_LENGTH : 0) +                \
	   ((flags)&OPCODE_HAS_IETH ? IETH_LENGTH : 0))

#define ROW(opcode, what, bits)                       \
 [OPCODE_##opcode] = { .name = #opcode,               \
		       .operation = OPERATION_##what, \
		       .flags = (uint16_t)(bits),     \
		       .header_length = LENGTH(bits) }

#define F   OPCODE_FIRST
#define M   OPCODE_MIDDLE
#define L   OPCODE_LAST
#define O   OPCODE_ONLY
#define D   OPCODE_HAS_PAYLOAD
#define IMM OPCODE_HAS_IMM
#define INV OPCODE_HAS_IETH
#define R   OPCODE_RESPONSE

/* What RC can, and XRC too: PREFIX is RC or XRC, X what each request has besides. */
#define RELIABLE(PREFIX, X)                                                                     \
 ROW(PREFIX##_SEND_FIRST, SEND, F | D | (X)), ROW(PREFIX##_SEND_MIDDLE, SEND, M | D | (X)),     \
	 ROW(PREFIX##_SEND_LAST, SEND, L | D | (X)),                                            \
	 ROW(PREFIX##_SEND_LAST_IMM, SEND, L | D | IMM | (X)),                                  \
	 ROW(PREFIX##_SEND_ONLY, SEND, O | D | (X)),                                            \
	 ROW(PREFIX##_SEND_ONLY_IMM, SEND, O | D | IMM | (X)),                                  \
	 ROW(PREFIX##_WRITE_FIRST, WRITE, F | D | OPCODE_HAS_RETH | (X)),                       \
	 ROW(PREFIX##_WRITE_MIDDLE, WRITE, M | D | (X)),                                        \
	 ROW(PREFIX##_WRITE_LAST, WRITE, L | D | (X)),                                          \
	 ROW(PREFIX##_WRITE_LAST_IMM, WRITE, L | D | IMM | (X)),                                \
	 ROW(PREFIX##_WRITE_ONLY, WRITE, O | D | OPCODE_HAS_RETH | (X)),                        \
	 ROW(PREFIX##_WRITE_ONLY_IMM, WRITE, O | D | OPCODE_HAS_RETH | IMM | (X)),              \
	 ROW(PREFIX##_READ_REQUEST, READ_REQUEST, O | OPCODE_HAS_RETH | (X)),                   \
	 ROW(PREFIX##_READ_RESPONSE_FIRST, READ_RESPONSE, F | D | R | OPCODE_HAS_AETH),         \
	 ROW(PREFIX##_READ_RESPONSE_MIDDLE, READ_RESPONSE, M | D | R),                          \
	 ROW(PREFIX##_READ_RESPONSE_LAST, READ_RESPONSE, L | D | R | OPCODE_HAS_AETH),          \
	 ROW(PREFIX##_READ_RESPONSE_ONLY, READ_RESPONSE, O | D | R | OPCODE_HAS_AETH),          \
	 ROW(PREFIX##_ACKNOWLEDGE, ACKNOWLEDGE, O | R | OPCODE_HAS_AETH),                       \
	 ROW(PREFIX##_ATOMIC_ACK, ATOMIC_ACK, O | R | OPCODE_HAS_AETH | OPCODE_HAS_ATOMIC_ACK), \
	 ROW(PREFIX##_CMP_SWAP, CMP_SWAP, O | OPCODE_HAS_ATOMIC | (X)),                         \
	 ROW(PREFIX##_FETCH_ADD, FETCH_ADD, O | OPCODE_HAS_ATOMIC | (X)),                       \
	 ROW(PREFIX##_SEND_LAST_INV, SEND, L | D | INV | (X)),                                  \
	 ROW(PREFIX##_SEND_ONLY_INV, SEND, O | D | INV | (X)),                                  \
	 ROW(PREFIX##_FLUSH, FLUSH, O | OPCODE_HAS_FETH | OPCODE_HAS_RETH | (X)),               \
	 ROW(PREFIX##_ATOMIC_WRITE, ATOMIC_WRITE, O | D | OPCODE_HAS_RETH | (X))

static const struct opcode_info table[256] = {
	RELIABLE(RC, 0),
	RELIABLE(XRC, OPCODE_HAS_XRCETH),

	ROW(UC_SEND_FIRST, SEND, F | D),
	ROW(UC_SEND_MIDDLE, SEND, M | D),
	ROW(UC_SEND_LAST, SEND, L | D),
	ROW(UC_SEND_LAST_IMM, SEND, L | D | IMM),
	ROW(UC_SEND_ONLY, SEND, O | D),
	ROW(UC_SEND_ONLY_IMM, SEND, O | D | IMM),
	ROW(UC_WRITE_FIRST, WRITE, F | D | OPCODE_HAS_RETH),
	ROW(UC_WRITE_MIDDLE, WRITE, M | D),
	ROW(UC_WRITE_LAST, WRITE, L | D),
	ROW(UC_WRITE_LAST_IMM, WRITE, L | D | IMM),
	ROW(UC_WRITE_ONLY, WRITE, O | D | OPCODE_HAS_RETH),
	ROW(UC_WRITE_ONLY_IMM, WRITE, O | D | OPCODE_HAS_RETH | IMM),

	ROW(UD_SEND_ONLY, SEND, O | D | OPCODE_HAS_DETH),
	ROW(UD_SEND_ONLY_IMM, SEND, O | D | OPCODE_HAS_DETH | IMM),

	/* Sixteen reserved bytes follow its BTH. */
	[OPCODE_CNP] = { .name = "CNP",
			 .operation = OPERATION_CNP,
			 .flags = OPCODE_ONLY,
			 .header_length = BTH_LENGTH + CNP_LENGTH },
};

const struct opcode_info *opcode_info(uint8_t opcode)
{
	return &table[opcode];
}
