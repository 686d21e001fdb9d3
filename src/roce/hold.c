/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hold.c - acknowledgements that wait for the next message
 *
 * Between two programs that send small messages back and forth, an acknowledgement for each costs
 * as much as the message. One for several is enough, if the sender does not look at its send
 * completions. Whether it does cannot be seen, but its effect can: then no message follows. When
 * that happened a few times in a row, acknowledgements go at once again; a single late message then
 * suffices to go on like that for twice as long.
 */
#include "roce/qp.h"

#define HOLD_MESSAGES 8
#define HOLD_NS	      50000u /* after the last message */
#define MISSES	      3u     /* in a row, before that means something */
#define FIRST_PENALTY 64u    /* times that acknowledgements go at once */
#define LAST_PENALTY  8192u

void roce_hold_init(struct roce_hold *hold)
{
	*hold = (struct roce_hold){ .penalty = FIRST_PENALTY };
}

void roce_hold_message(struct roce_engine *engine)
{
	engine->hold.messages++;
	engine->hold.last_ns = engine->device->now_ns;
}

bool roce_engine_acks_due(const struct roce_engine *engine)
{
	const struct roce_hold *hold = &engine->hold;

	if (list_empty(&engine->acks))
		return false;
	return hold->urgent || hold->at_once || hold->messages >= HOLD_MESSAGES ||
	       engine->device->now_ns - hold->last_ns >= HOLD_NS;
}

void roce_hold_flushed(struct roce_hold *hold)
{
	if (hold->at_once) {
		hold->at_once--;
	} else if (hold->messages >= HOLD_MESSAGES) {
		hold->misses = 0;
		hold->penalty = FIRST_PENALTY;
	} else if (hold->messages && !hold->urgent && ++hold->misses >= MISSES) {
		hold->at_once = hold->penalty;
		if (hold->penalty < LAST_PENALTY)
			hold->penalty *= 2;
	}
	hold->messages = 0;
	hold->urgent = false;
}
