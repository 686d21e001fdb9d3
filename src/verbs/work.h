/* SPDX-License-Identifier: Apache-2.0 */
/* work.h - reading the work requests of a program, which may lie anywhere */
#ifndef VERBS_WORK_H
#define VERBS_WORK_H

#include "rvt/types.h"
#include "verbs/abi.h"

struct work_send {
	struct rvt_send_wr wr;
	struct rvt_sge sges[RVT_MAX_SGE];
};

struct work_receive {
	struct rvt_recv_wr wr;
	struct rvt_sge sges[RVT_MAX_SGE];
};

/**
 * work_read_send() - from the program's structures at @from into @to; *next is the one that
 * follows. Return: 0, -EFAULT when @from or its list is not readable memory, -EINVAL for more SGEs
 * than any queue takes or an address handle that is none. @type: of the queue pair, which says what
 * the union holds.
 */
int work_read_send(struct work_send *to, const struct ibv_send_wr *from, enum ibv_qp_type type,
		   struct ibv_send_wr **next);
int work_read_receive(struct work_receive *to, const struct ibv_recv_wr *from,
		      struct ibv_recv_wr **next);

#endif
