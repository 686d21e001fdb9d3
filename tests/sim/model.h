/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model.h - what verbs promise about one connection, without any idea of how it is done
 *
 * It is told what was posted and what was seen, and says what is wrong with that, or NULL. Each
 * side has a send queue, whose requests end once and in order, and hears the messages of the other
 * in the order in which they were posted.
 */
#ifndef SIM_MODEL_H
#define SIM_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "rvt/types.h"

#define MODEL_DEPTH    16u /* requests of a side that may be outstanding */
#define MODEL_RECEIVES 16u
#define MODEL_MESSAGES 64u

struct model_request {
	enum rvt_opcode opcode;
	uint32_t length;
	uint64_t seed; /* of its bytes */
	bool signaled;
	uint32_t message; /* its number, if it takes a receive */
};

struct model_side {
	struct model_request requests[MODEL_DEPTH]; /* by sequence */
	uint32_t posted, ended;
	/* Of the other side, in the order in which they were posted. */
	struct model_request messages[MODEL_MESSAGES];
	uint32_t sent, heard;
	uint32_t receives[MODEL_RECEIVES]; /* a ring of buffer numbers, oldest first */
	uint32_t receives_posted, receives_ended;
	bool failed;	  /* its queue pair is in error */
	uint32_t excuses; /* bit for each status that something that was done allows for its first
			     error */
	uint32_t receive_excuses;
	/* What was added to the other side's counter: certainly, and at most. */
	uint64_t added, added_most;
	uint64_t last_seen; /* the newest value that an addition of ours found there, plus one */
};

/** model_takes_receive() - does the other side have to have a receive for it? */
bool model_takes_receive(enum rvt_opcode opcode);
/** model_room() - may another request be posted? */
bool model_room(const struct model_side *side, const struct model_side *peer,
		enum rvt_opcode opcode);
/** model_post() - the request with this sequence number was posted. Return: the number. */
uint32_t model_post(struct model_side *side, struct model_side *peer,
		    const struct model_request *request);
/** model_excuse() - from now on @status may be the first error of the side. */
void model_excuse(struct model_side *side, enum rvt_wc_status status);
/**
 * model_end() - a completion. @verify says whether what a request did is there: it is called for
 * each request that ended well, the unsignaled ones before included.
 */
const char *model_end(struct model_side *side, struct model_side *peer, uint32_t sequence,
		      enum rvt_wc_status status,
		      const char *(*verify)(void *context, uint32_t sequence,
					    const struct model_request *request),
		      void *context);
/** model_added() - an addition of 1 that ended well found @value. */
const char *model_added(struct model_side *side, uint64_t value);
/** model_receive() - a receive buffer was posted. */
void model_receive(struct model_side *side, uint32_t buffer);
/** model_hear() - a receive ended; with success *message is the one that it must hold. */
const char *model_hear(struct model_side *side, uint32_t buffer, enum rvt_wc_status status,
		       const struct model_request **message);
/** model_done() - nothing of the side is outstanding. */
static inline bool model_done(const struct model_side *side)
{
	return side->posted == side->ended;
}
/** model_restart() - both queue pairs are new: what was outstanding has no end, and nobody knows
 * whether it happened. */
void model_restart(struct model_side *a, struct model_side *b);

#endif
