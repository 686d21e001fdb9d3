/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe.c - how far apart are the two processors right now? Prints the one-way time of a cache line
 * in nanoseconds.
 *
 * In a virtual machine this changes under a measurement, and with it everything that crosses
 * processors.
 */
#include <stdatomic.h>
#include <sys/mman.h>

#include "pair.h"

int main(void)
{
	_Atomic uint32_t *turn =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const uint32_t rounds = 20000;
	struct pair p;
	double begin;

	if (turn == MAP_FAILED)
		die("mmap");
	p = pair_start();
	pair_meet(&p);
	begin = seconds();
	for (uint32_t i = 0; i < rounds; i++) {
		for (unsigned spins = 0;
		     atomic_load_explicit(turn, memory_order_acquire) != 2 * i + (uint32_t)p.second;
		     spins++) {
			if (spins > 100000000)
				exit(1);
		}
		atomic_store_explicit(turn, 2 * i + (uint32_t)p.second + 1, memory_order_release);
	}
	if (!p.second)
		printf("%.0f\n", (seconds() - begin) / rounds / 2 * 1e9);
	return pair_end(&p);
}
