/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - every scenario with a number of seeds
 *
 * ADVERB_SEED=n runs that seed alone; ADVERB_SEEDS=n that many of each scenario, from
 * ADVERB_FIRST_SEED on; ADVERB_SIM_SHRINK=1 shortens a program that fails; an argument is the
 * name of the one scenario to run.
 */
#include <stdio.h>
#include <stdlib.h>

#include "sim.h"

static const struct {
	const char *name;
	void (*run)(uint64_t seed);
	unsigned seeds;
} scenarios[] = {
	{ "reliable", sim_reliable, 400 },     { "errors", sim_errors, 510 },
	{ "unreliable", sim_unreliable, 300 }, { "datagrams", sim_datagrams, 300 },
	{ "groups", sim_groups, 300 },	       { "program", sim_program, 600 },
};

int main(int count, char **arguments)
{
	const char *seed = getenv("ADVERB_SEED"), *seeds = getenv("ADVERB_SEEDS");
	const char *first_seed = getenv("ADVERB_FIRST_SEED");
	uint64_t first = first_seed ? strtoull(first_seed, NULL, 0) : 1;
	unsigned kinds = sizeof(scenarios) / sizeof(scenarios[0]);

	for (unsigned i = 0; i < kinds; i++) {
		unsigned runs = seeds ? (unsigned)strtoul(seeds, NULL, 0) : scenarios[i].seeds;

		if (count > 1 && strcmp(arguments[1], scenarios[i].name) != 0)
			continue;
		memset(&sim.stats, 0, sizeof(sim.stats));
		memset(sim.causes, 0, sizeof(sim.causes));
		if (seed) {
			scenarios[i].run(strtoull(seed, NULL, 0));
			runs = 1;
		} else {
			for (unsigned n = 0; n < runs; n++)
				scenarios[i].run(first + n);
		}
		printf("ok - %s: %u seeds; packets: %llu sent, %llu lost, %llu copied, %llu late, "
		       "%llu damaged\n",
		       scenarios[i].name, runs, (unsigned long long)sim.stats.sent,
		       (unsigned long long)sim.stats.lost, (unsigned long long)sim.stats.copied,
		       (unsigned long long)sim.stats.late, (unsigned long long)sim.stats.damaged);
		for (unsigned v = 1; v < RVT_VERDICT_COUNT; v++)
			if (sim.causes[v])
				printf("#   %8llu %s\n", (unsigned long long)sim.causes[v],
				       rvt_verdict_row(v)->name);
		fflush(stdout);
	}
	return 0;
}
