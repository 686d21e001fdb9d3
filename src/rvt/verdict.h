/* SPDX-License-Identifier: Apache-2.0 */
/* verdict.h - every reason to refuse, in one table (verdict.def) */
#ifndef RVT_VERDICT_H
#define RVT_VERDICT_H

#include "rvt/types.h"

enum rvt_verdict {
#define VERDICT(name, error, nak, status, event, sentence) RVT_##name,
#include "rvt/verdict.def"
#undef VERDICT
	RVT_VERDICT_COUNT,
};

/* What one verdict means to each of those who must be told. */
struct rvt_verdict_row {
	const char *name;
	int error;		   /* errno of a verb that is refused so */
	uint8_t nak;		   /* AETH syndrome for the peer, 0 = none */
	enum rvt_wc_status status; /* of the work request that it ends */
	enum rvt_event event;	   /* raised on the QP, or RVT_EVENT_NONE */
	const char *sentence; /* for people; may hold the values of the cause: %1 and %2 as numbers,
			      %S1 as the name of a state, %A1 as that of a mask bit */
};

/** rvt_verdict_row() - total: an unknown number gives the row of RVT_OK. */
const struct rvt_verdict_row *rvt_verdict_row(unsigned verdict);

#endif
