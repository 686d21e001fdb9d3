/* SPDX-License-Identifier: Apache-2.0 */
/* syndrome.c - tables of times */
#include "wire/syndrome.h"

uint64_t rnr_timer_ns(unsigned code)
{
	/* In units of 10 us. */
	static const uint16_t table[32] = { 0,	  1,	2,    3,     4,	    6,	   8,	  12,
					    16,	  24,	32,   48,    64,    96,	   128,	  192,
					    256,  384,	512,  768,   1024,  1536,  2048,  3072,
					    4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152 };

	return code % 32 ? table[code % 32] * UINT64_C(10000) : UINT64_C(655360000);
}

uint64_t ack_timeout_ns(unsigned code)
{
	return code ? UINT64_C(4096) << (code & 31) : 0;
}
