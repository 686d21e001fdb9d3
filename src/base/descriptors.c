/* SPDX-License-Identifier: Apache-2.0 */
/* descriptors.c - two sets of small numbers, changed bit by bit */
#include "base/descriptors.h"

#include <stdint.h>

#define LIMIT (1u << 20) /* what Linux allows a process, unless told otherwise */
#define WORDS (LIMIT / 64)

struct set {
	uint64_t words[WORDS]; /* pages that are never written take no memory */
	unsigned end;	       /* no word at or after it was ever set */
};

static struct set own, lent;

static bool in_range(int fd)
{
	return fd >= 0 && (unsigned)fd < LIMIT;
}

static void add(struct set *set, int fd)
{
	unsigned word = (unsigned)fd / 64, end;

	if (!in_range(fd))
		return;
	__atomic_fetch_or(&set->words[word], UINT64_C(1) << fd % 64, __ATOMIC_SEQ_CST);
	end = __atomic_load_n(&set->end, __ATOMIC_RELAXED);
	while (end <= word && !__atomic_compare_exchange_n(&set->end, &end, word + 1, true,
							   __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
}

static bool drop(struct set *set, int fd)
{
	uint64_t bit = UINT64_C(1) << (unsigned)fd % 64;

	return in_range(fd) &&
	       __atomic_fetch_and(&set->words[fd / 64], ~bit, __ATOMIC_SEQ_CST) & bit;
}

static bool has(const struct set *set, int fd)
{
	return in_range(fd) &&
	       __atomic_load_n(&set->words[fd / 64], __ATOMIC_ACQUIRE) >> fd % 64 & 1;
}

/* The first at or after @from, or -1. */
static int next(const struct set *set, unsigned from)
{
	unsigned end = __atomic_load_n(&set->end, __ATOMIC_ACQUIRE);

	for (unsigned word = from / 64; word < end; word++) {
		uint64_t bits = __atomic_load_n(&set->words[word], __ATOMIC_ACQUIRE);

		if (word == from / 64)
			bits &= UINT64_MAX << from % 64;
		if (bits)
			return (int)(word * 64 + (unsigned)__builtin_ctzll(bits));
	}
	return -1;
}

int descriptors_own(int fd)
{
	add(&own, fd);
	return fd;
}

int descriptors_disown(int fd)
{
	drop(&own, fd);
	return fd;
}

bool descriptors_is_own(int fd)
{
	return has(&own, fd);
}

int descriptors_next_own(unsigned from)
{
	return next(&own, from);
}

int descriptors_lend(int fd)
{
	add(&lent, fd);
	return fd;
}

bool descriptors_take_back(int fd)
{
	return drop(&lent, fd);
}

bool descriptors_is_lent(int fd)
{
	return has(&lent, fd);
}

void descriptors_forget_lent(unsigned first, unsigned last)
{
	for (int fd = next(&lent, first); fd >= 0 && (unsigned)fd <= last;
	     fd = next(&lent, (unsigned)fd + 1))
		drop(&lent, fd);
}
