/* SPDX-License-Identifier: Apache-2.0 */
/* syndrome.h - the AETH syndrome, and the times that codes stand for
 * (IBTA 9.7.5.1.2, 9.7.5.2.8, 9.7.6.1.3) */
#ifndef WIRE_SYNDROME_H
#define WIRE_SYNDROME_H

#include <stdbool.h>
#include <stdint.h>

enum syndrome {
	SYNDROME_ACK = 0x1f, /* with a credit count that means: no end-to-end flow control */
	SYNDROME_RNR = 0x20, /* | the timer code */
	SYNDROME_NAK_SEQUENCE = 0x60,
	SYNDROME_NAK_INVALID_REQUEST = 0x61,
	SYNDROME_NAK_REMOTE_ACCESS = 0x62,
	SYNDROME_NAK_REMOTE_OPERATIONAL = 0x63,
	SYNDROME_NAK_INVALID_RD = 0x64,
};

static inline bool syndrome_is_ack(uint8_t syndrome)
{
	return (syndrome & 0xe0) == 0;
}

static inline bool syndrome_is_rnr(uint8_t syndrome)
{
	return (syndrome & 0xe0) == SYNDROME_RNR;
}

/** rnr_timer_ns() - how long an RNR NAK with this code asks to wait. Code 0 is the longest: 655 ms.
 */
uint64_t rnr_timer_ns(unsigned code);
/** ack_timeout_ns() - 4.096 us * 2^code; 0 for code 0: no timeout. */
uint64_t ack_timeout_ns(unsigned code);

#endif
