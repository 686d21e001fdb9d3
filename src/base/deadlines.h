/* SPDX-License-Identifier: Apache-2.0 */
/* deadlines.h - what is due next? An intrusive pairing heap: nothing is allocated */
#ifndef BASE_DEADLINES_H
#define BASE_DEADLINES_H

#include <stdbool.h>
#include <stdint.h>

#define NEVER UINT64_MAX

struct deadline {
	uint64_t at_ns; /* NEVER while not armed */
	struct deadline *child, *sibling, *previous;
	void (*expired)(struct deadline *d); /* called disarmed; may arm itself or others again */
};

struct deadlines {
	struct deadline *root;
};

/** deadline_init() - not armed. */
void deadline_init(struct deadline *d, void (*expired)(struct deadline *d));
static inline bool deadline_armed(const struct deadline *d)
{
	return d->at_ns != NEVER;
}
/** deadline_arm() - (re)arm for an absolute time in ns. */
void deadline_arm(struct deadlines *all, struct deadline *d, uint64_t at_ns);
/** deadline_disarm() - harmless when not armed. Afterwards expired() will not be called. */
void deadline_disarm(struct deadlines *all, struct deadline *d);
/** deadlines_next() - when the earliest is due, or NEVER. */
uint64_t deadlines_next(const struct deadlines *all);
/** deadlines_expire() - call expired() of everything due at or before @now_ns, earliest first. */
void deadlines_expire(struct deadlines *all, uint64_t now_ns);

#endif
