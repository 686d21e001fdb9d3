/* SPDX-License-Identifier: Apache-2.0 */
/* mw.h - memory windows: keys with rights of their own to a part of a region (IBTA 10.6.7) */
#ifndef RVT_MW_H
#define RVT_MW_H

#include "rvt/mr.h"

struct rvt_swqe;

enum rvt_mw_type {
	RVT_MW_TYPE_1 = 1, /* bound by a verb, for all QPs of its PD */
	RVT_MW_TYPE_2 = 2, /* bound by a work request, for the QP that bound it; the key's low byte
			      is chosen then */
};

/*
 * To remote access a window is a region: valid while it is bound, with the key, range and rights of
 * the binding, and a new generation at each change. It has no use as local memory.
 */
struct rvt_mw {
	struct rvt_mr mr;
	enum rvt_mw_type type;
	struct rvt_mr *region; /* bound to it, and referenced; NULL: not bound */
	struct rvt_qp *qp;     /* type 2: bound by it */
};

/** rvt_alloc_mw() - not bound. -EINVAL: no such type, -ENOMEM. */
int rvt_alloc_mw(struct rvt_pd *pd, enum rvt_mw_type type, struct rvt_mw **ret) MUST_USE;
/** rvt_dealloc_mw() - unbinds; the key is dead at once. 0 */
int rvt_dealloc_mw(struct rvt_mw *mw) MUST_USE;

/** rvt_execute_local() - BIND_MW and LOCAL_INV when their turn comes. */
enum rvt_verdict rvt_execute_local(struct rvt_qp *qp, struct rvt_swqe *wqe);
/** rvt_invalidate_window() - by @qp itself or by its peer: only a window of type 2 that it bound
 * can be. */
bool rvt_invalidate_window(struct rvt_qp *qp, uint32_t rkey);
/** rvt_leave_windows() - the QP goes or is reset: what it bound is bound no more. */
void rvt_leave_windows(struct rvt_qp *qp);
/** rvt_qp_rkey_ok() - rvt_rkey_ok() for a peer of @qp, windows of other QPs excluded. */
enum rvt_verdict rvt_qp_rkey_ok(const struct rvt_qp *qp, uint32_t rkey, uint64_t va,
				uint64_t length, uint32_t access, struct rvt_mr **ret,
				uint64_t *address);

#endif
