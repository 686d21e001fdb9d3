/* SPDX-License-Identifier: Apache-2.0 */
/* psn.h - packet sequence numbers: 24 bits, compared modulo 2^24 (IBTA 9.7.2) */
#ifndef WIRE_PSN_H
#define WIRE_PSN_H

#include <stdint.h>

#define PSN_MASK 0xffffffu

static inline uint32_t psn_add(uint32_t psn, uint32_t n)
{
	return (psn + n) & PSN_MASK;
}

/** psn_compare() - < 0: @a is before @b; 0: equal; > 0: after. Within half of the space. */
static inline int32_t psn_compare(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

/** psn_distance() - how many steps from @from on to @to: 0 .. 2^24 - 1. */
static inline uint32_t psn_distance(uint32_t from, uint32_t to)
{
	return (to - from) & PSN_MASK;
}

#endif
