/* SPDX-License-Identifier: Apache-2.0 */
/* seed.h - tests by chance take another course each time, and the same again under ADVERB_SEED */
#ifndef UNIT_SEED_H
#define UNIT_SEED_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/random.h"

/** seed() - start @r from ADVERB_SEED or the clock, and say from what. */
static inline void seed(struct random *r)
{
	const char *given = getenv("ADVERB_SEED");
	struct timespec now;
	unsigned long long value;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	value = given ? strtoull(given, NULL, 0)
		      : (unsigned long long)now.tv_sec * 1000000000u + (unsigned long)now.tv_nsec;
	printf("ADVERB_SEED=%llu\n", value);
	(void)fflush(stdout);
	random_seed(r, value);
}

#endif
