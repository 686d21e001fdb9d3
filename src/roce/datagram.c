/* SPDX-License-Identifier: Apache-2.0 */
/* datagram.c - UD: one packet each, from and to anybody who knows the Q_Key */
#include "roce/qp.h"
#include "wire/grh.h"
#include "wire/opcode.h"
#include "wire/psn.h"

#define QKEY_CONTROLLED 0x80000000u /* such a Q_Key in a WR means: the one of the QP */
#define BEFORE_UDP	8	    /* bytes of the UDP header */

/* Build and send one work request. RVT_OK with *full: the link had no room. */
static enum rvt_verdict transmit(struct roce_qp *qp, const struct rvt_swqe *wqe, bool *full)
{
	struct roce_engine *engine = qp->engine;
	const struct rvt_ah_attr *ah = &wqe->ud.ah->attr;
	struct roce_flow flow = {
		.paced = true,
		.source = ah->sgid,
		.destination = ah->dgid,
		.flow_label = ah->flow_label,
		.traffic_class = ah->traffic_class,
		.hop_limit = ah->hop_limit,
	};
	struct packet headers = {
		.opcode =
			wqe->opcode == RVT_WR_SEND ? OPCODE_UD_SEND_ONLY : OPCODE_UD_SEND_ONLY_IMM,
		.solicited = wqe->flags & RVT_SEND_SOLICITED,
		.pkey = 0xffff,
		.dest_qpn = wqe->ud.remote_qpn,
		.psn = qp->requester.psn,
		.immediate = wqe->imm_data,
		.deth = { .qkey = wqe->ud.remote_qkey, .src_qpn = qp->rvt.number },
	};
	struct roce_outgoing out;
	enum rvt_verdict verdict;

	if (headers.deth.qkey & QKEY_CONTROLLED)
		headers.deth.qkey = qp->rvt.attr.qkey;
	if (engine->transmit->resolve(engine->link, &flow, qp->rvt.number, wqe->ud.remote_qpn))
		return RVT_CANNOT_SEND;
	*full = roce_packet_start(engine, &flow, &headers, wqe->length, &out) != 0;
	if (*full)
		return RVT_OK;
	verdict = wqe->length ? rvt_swqe_copy(&qp->rvt, wqe, 0, out.payload, wqe->length) : RVT_OK;
	if (verdict != RVT_OK) {
		roce_packet_cancel(&out);
		return verdict;
	}
	roce_packet_finish(&out);
	return RVT_OK;
}

/* Return: false when nothing more can be sent now. */
static bool send_one(struct roce_qp *qp)
{
	const struct rvt_swqe *wqe = rvt_swqe(&qp->rvt, qp->rvt.s_last);
	enum rvt_verdict verdict;
	bool full = false;

	if (wqe->verdict != RVT_OK) {
		roce_requester_fail(qp, wqe->verdict, wqe->cause1, wqe->cause2);
		return false;
	}
	if (wqe->opcode != RVT_WR_SEND && wqe->opcode != RVT_WR_SEND_WITH_IMM) {
		roce_requester_fail(qp, RVT_CANNOT_SEND, wqe->opcode, 0);
		return false;
	}
	if (wqe->length > qp->rvt.mtu) {
		roce_requester_fail(qp, RVT_SEND_TOO_LONG, wqe->length, qp->rvt.mtu);
		return false;
	}
	verdict = transmit(qp, wqe, &full);
	if (verdict != RVT_OK) {
		roce_requester_fail(qp, verdict, wqe->opcode, 0);
		return false;
	}
	qp->requester.waiting_link = full;
	if (full)
		return false;
	qp->requester.psn = psn_add(qp->requester.psn, 1);
	qp->requester.index = qp->rvt.s_last + 1;
	rvt_send_complete(&qp->rvt, RVT_OK);
	return true;
}

unsigned roce_datagram_run(struct roce_qp *qp, unsigned budget)
{
	unsigned sent = 0;

	while (qp->rvt.state == RVT_QPS_RTS && qp->rvt.s_last != qp->rvt.s_head) {
		if (sent == budget) {
			roce_qp_ready(qp);
			break;
		}
		if (!send_one(qp))
			break;
		sent++;
	}
	roce_requester_drained(qp);
	return sent;
}

/* The receive ends in error, and with it the QP: the mistake is the program's own. */
static void fail_receive(struct roce_qp *qp, enum rvt_verdict verdict)
{
	roce_tell(qp->engine, verdict, &qp->rvt.res, 0, 0);
	rvt_recv_fail(&qp->rvt, verdict);
	rvt_error_qp(&qp->rvt, verdict);
}

static enum rvt_verdict deliver(struct roce_qp *qp, const struct packet *packet,
				const struct roce_datagram *datagram)
{
	const struct grh grh = {
		.source = datagram->source,
		.destination = datagram->destination,
		.traffic_class = datagram->traffic_class,
		.hop_limit = datagram->hop_limit,
		.flow_label = datagram->flow_label,
		.udp_length = BEFORE_UDP + datagram->length,
	};
	const struct rvt_sge_list *list = &qp->rvt.receive.list;
	struct rvt_device *device = qp->rvt.device;
	uint8_t bytes[GRH_LENGTH];
	enum rvt_verdict verdict;

	grh_write(bytes, &grh);
	verdict = rvt_copy_to_sge(device, list, 0, bytes, GRH_LENGTH);
	if (verdict == RVT_OK && packet->payload_length)
		verdict = rvt_copy_to_sge(device, list, GRH_LENGTH, packet->payload,
					  packet->payload_length);
	return verdict;
}

/* One QP gets one message; of a multicast packet each attached QP does. */
void roce_datagram_receive(struct roce_qp *qp, const struct packet *packet,
			   const struct roce_datagram *datagram)
{
	struct roce_engine *engine = qp->engine;
	struct rvt_qp *rvt = &qp->rvt;
	uint32_t needed = packet->payload_length + GRH_LENGTH;
	struct rvt_wc wc = {
		.opcode = RVT_WC_RECV,
		.byte_len = needed,
		.src_qp = packet->deth.src_qpn,
		.wc_flags = RVT_WC_GRH,
		.sl = gid_is_ipv4(&datagram->source) ? 8 | 2 : 8 | 1,
		.solicited = packet->solicited,
	};
	enum rvt_verdict verdict;

	if (packet->deth.qkey != rvt->attr.qkey) {
		roce_drop(engine, RVT_COUNT_drop_qkey, RVT_DROP_QKEY, qp, packet->deth.qkey,
			  rvt->attr.qkey);
		return;
	}
	if (packet->payload_length > rvt->mtu) {
		roce_drop(engine, RVT_COUNT_drop_malformed, RVT_DROP_MALFORMED, qp,
			  packet->payload_length, rvt->mtu);
		return;
	}
	/* A receive that was too short for an earlier message is still there. */
	verdict = rvt->receive.taken ? RVT_OK : rvt_get_rwqe(rvt);
	if (verdict == RVT_NO_RECEIVE) {
		roce_drop(engine, RVT_COUNT_drop_receive, RVT_DROP_UD_NO_RECEIVE, qp, 0, 0);
		return;
	}
	if (verdict != RVT_OK) {
		fail_receive(qp, verdict);
		return;
	}
	if (needed > rvt->receive.list.length) {
		roce_drop(engine, RVT_COUNT_drop_receive, RVT_DROP_UD_LENGTH, qp, needed,
			  rvt->receive.list.length);
		return; /* the receive stays taken, for the next one */
	}
	verdict = deliver(qp, packet, datagram);
	if (verdict != RVT_OK) {
		fail_receive(qp, verdict);
		return;
	}
	if (packet->info->flags & OPCODE_HAS_IMM) {
		wc.wc_flags |= RVT_WC_WITH_IMM;
		wc.imm_data = packet->immediate;
	}
	rvt_recv_complete(rvt, &wc);
}
