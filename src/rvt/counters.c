/* SPDX-License-Identifier: Apache-2.0 */
/* counters.c - names of counters */
#include "rvt/device.h"

const char *rvt_counter_name(enum rvt_counter counter)
{
	static const char *const names[] = {
#define COUNTER(name, sentence) #name,
#include "rvt/counters.def"
#undef COUNTER
	};

	return (unsigned)counter < RVT_COUNTERS ? names[counter] : "?";
}
