/* SPDX-License-Identifier: Apache-2.0 */
/* random.h - a seeded generator (splitmix64): the only randomness of the pure layers */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stdint.h>

struct random {
	uint64_t state;
};

static inline void random_seed(struct random *r, uint64_t seed)
{
	r->state = seed;
}

static inline uint64_t random_next(struct random *r)
{
	uint64_t z = (r->state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/** random_below() - uniform enough in 0 .. limit - 1; limit > 0. */
static inline uint32_t random_below(struct random *r, uint32_t limit)
{
	return (uint32_t)(((random_next(r) >> 32) * limit) >> 32);
}

#endif
