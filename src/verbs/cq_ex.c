/* SPDX-License-Identifier: Apache-2.0 */
/* cq_ex.c - ibv_start_poll() and the readers of single fields */
#include <string.h>

#include "verbs/objects.h"

static struct verbs_cq *cq_of(struct ibv_cq_ex *ex)
{
	return (struct verbs_cq *)(void *)ex;
}

/* The completion stays queued in rvt no longer than here: between the calls the program reads our
 * copy. */
static int next(struct verbs_cq *cq)
{
	const struct rvt_wc *wc = rvt_cq_peek(cq->rvt);

	if (!wc)
		return cq->rvt->dead ? EIO : ENOENT;
	cq->current = *wc;
	rvt_cq_consume(cq->rvt);
	cq->ex.wr_id = cq->current.wr_id;
	cq->ex.status = (enum ibv_wc_status)cq->current.status;
	return 0;
}

static int start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct verbs_cq *cq = cq_of(ex);
	int err;

	if ((attr && attr->comp_mask) || !handle_ok(&cq->handle, HANDLE_CQ))
		return EINVAL;
	err = enter_cq(cq, ibv_cq_ex_to_cq(ex));
	if (err)
		return -err;
	lane_poll_begin();
	if (!rvt_cq_entries(cq->rvt))
		lane_progress(cq->rvt);
	err = next(cq);
	lane_leave();
	if (err)
		lane_idle();
	return err;
}

static int next_poll(struct ibv_cq_ex *ex)
{
	struct verbs_cq *cq = cq_of(ex);
	int err;

	if (!handle_ok(&cq->handle, HANDLE_CQ) || enter_cq(cq, ibv_cq_ex_to_cq(ex)))
		return EINVAL;
	err = next(cq);
	lane_leave();
	return err;
}

static void end_poll(struct ibv_cq_ex *ex)
{
	(void)ex;
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *ex)
{
	return (enum ibv_wc_opcode)cq_of(ex)->current.opcode;
}

static uint32_t read_vendor_err(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->current.vendor_err;
}

static uint32_t read_byte_len(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->current.byte_len;
}

static __be32 read_imm_data(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->current.imm_data;
}

static uint32_t read_qp_num(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->current.qp_num;
}

static uint32_t read_src_qp(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->current.src_qp;
}

static unsigned int read_wc_flags(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->current.wc_flags;
}

static uint8_t read_sl(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->current.sl;
}

/* What only InfiniBand has. */
static uint32_t read_slid(struct ibv_cq_ex *ex)
{
	(void)ex;
	return 0;
}

static uint8_t read_dlid_path_bits(struct ibv_cq_ex *ex)
{
	(void)ex;
	return 0;
}

static uint64_t read_completion_ts(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->current.timestamp_ns;
}

static uint64_t read_completion_wallclock_ns(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->current.timestamp_ns + cq_of(ex)->wallclock_offset_ns;
}

void verbs_cq_extend(struct verbs_cq *cq, uint64_t wc_flags)
{
	struct ibv_cq_ex *ex = &cq->ex;

	ex->start_poll = start_poll;
	ex->next_poll = next_poll;
	ex->end_poll = end_poll;
	ex->read_opcode = read_opcode;
	ex->read_vendor_err = read_vendor_err;
	ex->read_wc_flags = read_wc_flags;
	/* The others exist as far as they were asked for: a program must not learn to use what it
	 * did not ask for. */
	if (wc_flags & IBV_WC_EX_WITH_BYTE_LEN)
		ex->read_byte_len = read_byte_len;
	if (wc_flags & IBV_WC_EX_WITH_IMM)
		ex->read_imm_data = read_imm_data;
	if (wc_flags & IBV_WC_EX_WITH_QP_NUM)
		ex->read_qp_num = read_qp_num;
	if (wc_flags & IBV_WC_EX_WITH_SRC_QP)
		ex->read_src_qp = read_src_qp;
	if (wc_flags & IBV_WC_EX_WITH_SLID)
		ex->read_slid = read_slid;
	if (wc_flags & IBV_WC_EX_WITH_SL)
		ex->read_sl = read_sl;
	if (wc_flags & IBV_WC_EX_WITH_DLID_PATH_BITS)
		ex->read_dlid_path_bits = read_dlid_path_bits;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		ex->read_completion_ts = read_completion_ts;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
		ex->read_completion_wallclock_ns = read_completion_wallclock_ns;
}
