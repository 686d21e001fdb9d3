/* SPDX-License-Identifier: Apache-2.0 */
/* work.c - reading work requests: a wild pointer is an error of the call, not the end of the
 * process */
#include "verbs/work.h"

#include "verbs/objects.h"

static int read_sges(struct rvt_sge *to, const struct ibv_sge *from, int count)
{
	if (count < 0 || count > RVT_MAX_SGE)
		return -EINVAL;
	if (!count)
		return 0;
	return lane_memory.read(to, (uintptr_t)from, (size_t)count * sizeof(*to));
}

int work_read_send(struct work_send *to, const struct ibv_send_wr *from, enum ibv_qp_type type,
		   struct ibv_send_wr **next)
{
	struct ibv_send_wr wr;
	int err = lane_memory.read(&wr, (uintptr_t)from, sizeof(wr));

	if (!err)
		err = read_sges(to->sges, wr.sg_list, wr.num_sge);
	if (err)
		return err;
	*next = wr.next;
	to->wr = (struct rvt_send_wr){
		.wr_id = wr.wr_id,
		.opcode = (enum rvt_opcode)wr.opcode,
		.send_flags = wr.send_flags,
		.sg_list = to->sges,
		.num_sge = (uint32_t)wr.num_sge,
		.imm_data = wr.imm_data,
		.invalidate_rkey = wr.invalidate_rkey,
	};
	if (type == IBV_QPT_XRC_SEND)
		to->wr.remote_srqn = wr.qp_type.xrc.remote_srqn;
	if (wr.opcode == IBV_WR_BIND_MW) {
		/* Those of type 1 are for ibv_bind_mw(). */
		if (!verbs_to_rvt_bind(&to->wr.bind, wr.bind_mw.mw, wr.bind_mw.rkey,
				       &wr.bind_mw.bind_info) ||
		    wr.bind_mw.mw->type != IBV_MW_TYPE_2)
			return -EINVAL;
	} else if (type == IBV_QPT_UD) {
		struct verbs_ah *ah = to_ah(wr.wr.ud.ah);

		if (!ah)
			return -EINVAL;
		to->wr.ah = ah->rvt;
		to->wr.remote_qpn = wr.wr.ud.remote_qpn;
		to->wr.remote_qkey = wr.wr.ud.remote_qkey;
	} else if (wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
		   wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		to->wr.remote_addr = wr.wr.atomic.remote_addr;
		to->wr.rkey = wr.wr.atomic.rkey;
		to->wr.compare_add = wr.wr.atomic.compare_add;
		to->wr.swap = wr.wr.atomic.swap;
	} else {
		to->wr.remote_addr = wr.wr.rdma.remote_addr;
		to->wr.rkey = wr.wr.rdma.rkey;
	}
	return 0;
}

int work_read_receive(struct work_receive *to, const struct ibv_recv_wr *from,
		      struct ibv_recv_wr **next)
{
	struct ibv_recv_wr wr;
	int err = lane_memory.read(&wr, (uintptr_t)from, sizeof(wr));

	if (!err)
		err = read_sges(to->sges, wr.sg_list, wr.num_sge);
	if (err)
		return err;
	*next = wr.next;
	to->wr = (struct rvt_recv_wr){ .wr_id = wr.wr_id,
				       .sg_list = to->sges,
				       .num_sge = (uint32_t)wr.num_sge };
	return 0;
}
