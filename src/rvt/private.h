/* SPDX-License-Identifier: Apache-2.0 */
/* private.h - what the files of queue pairs share (private to rvt/) */
#ifndef RVT_PRIVATE_H
#define RVT_PRIVATE_H

#include "rvt/qp.h"

/* qp.c */
void rvt_init_qp(struct rvt_qp *qp);
/** rvt_reset_qp() - as new: work requests vanish without completions, and so do unpolled
 * completions. */
void rvt_reset_qp(struct rvt_qp *qp);
/** rvt_publish_qp() - the ledger shows the QP as it is. */
void rvt_publish_qp(struct rvt_qp *qp);
/** rvt_clear_mr_refs() - drops what all unfinished work requests hold: regions, and of UD the
 * address handles. */
void rvt_clear_mr_refs(struct rvt_qp *qp);

/* post.c */
/** rvt_release_swqe() - regions and, of UD alone, the address handle: the WQE is a union. Once for
 * each WQE. */
void rvt_release_swqe(struct rvt_qp *qp, struct rvt_swqe *wqe);

/* complete.c */
/** rvt_flush_sends() - the rest of the send queue ends with FLUSHED, in order. */
void rvt_flush_sends(struct rvt_qp *qp);
void rvt_flush_receives(struct rvt_qp *qp);

#endif
