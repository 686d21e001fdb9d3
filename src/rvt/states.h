/* SPDX-License-Identifier: Apache-2.0 */
/* states.h - which state may follow which, with which attributes (IBTA 10.3.1, 11.2.5.2; private to
 * rvt/) */
#ifndef RVT_STATES_H
#define RVT_STATES_H

#include "rvt/types.h"

/**
 * rvt_transition() - is @from -> @to allowed for @type? *required and *optional are the mask bits
 * that must and may be given, without RVT_QP_STATE.
 */
bool rvt_transition(enum rvt_qp_type type, enum rvt_qp_state from, enum rvt_qp_state to,
		    uint32_t *required, uint32_t *optional);

#endif
