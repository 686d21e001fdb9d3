/* SPDX-License-Identifier: Apache-2.0 */
/*
 * receive.c - the demultiplexer: whose packet is it, and may it be believed?
 *
 * Nothing is answered or changed before the ICRC is checked. It is checked late because it is the
 * dearest check, and counters of the cheaper ones say more about what is wrong.
 */
#include "roce/qp.h"
#include "rvt/mcast.h"
#include "wire/icrc.h"
#include "wire/opcode.h"

#define QPN_MULTICAST 0xffffffu

/* Transport bits of the opcode that the QP understands. */
static bool transport_fits(const struct roce_qp *qp, uint8_t opcode)
{
	bool response = opcode_info(opcode)->flags & OPCODE_RESPONSE;

	if (qp->rvt.type == RVT_QPT_UD)
		return (opcode & OPCODE_TRANSPORT) == OPCODE_UD;
	if ((opcode & OPCODE_TRANSPORT) != qp->transport)
		return false;
	return qp->transport != OPCODE_XRC || response == (qp->rvt.type == RVT_QPT_XRC_INI);
}

static bool state_fits(const struct roce_qp *qp, const struct packet *packet)
{
	enum rvt_qp_state state = qp->rvt.state;

	if (rvt_reliable(qp->rvt.type) && (packet->info->flags & OPCODE_RESPONSE))
		return state == RVT_QPS_RTS || state == RVT_QPS_SQD;
	return state >= RVT_QPS_RTR && state <= RVT_QPS_SQE;
}

static bool own_address(const struct rvt_port *port, const struct gid *address)
{
	for (unsigned i = 0; i < RVT_GID_TABLE; i++)
		if (gid_equal(&port->gids[i], address))
			return true;
	return false;
}

/* A connected QP hears its peer alone; a datagram QP whoever writes to an address of its port. */
static bool address_fits(const struct roce_qp *qp, const struct roce_datagram *datagram)
{
	if (qp->rvt.type == RVT_QPT_UD)
		return !gid_is_zero(&datagram->destination) &&
		       own_address(qp->rvt.context->port, &datagram->destination);
	return gid_equal(&datagram->source, &qp->flow.destination) &&
	       gid_equal(&datagram->destination, &qp->flow.source);
}

/* Ours is the full member of the default partition: it hears full and limited members. */
static bool pkey_fits(uint16_t pkey)
{
	return (pkey & 0x7fff) == 0x7fff;
}

static bool icrc_fits(const struct roce_datagram *datagram)
{
	struct icrc_route route = {
		.source = datagram->source,
		.destination = datagram->destination,
		.source_port = datagram->source_port,
		.destination_port = ROCE_UDP_PORT,
	};

	return datagram->trusted ||
	       icrc_check(&route, datagram->data, datagram->length, datagram->id_hint);
}

/* The last checks, the same for whatever QPs it is for. */
static bool believable(struct roce_engine *engine, struct roce_qp *qp, const struct packet *packet,
		       const struct roce_datagram *datagram)
{
	if (!pkey_fits(packet->pkey)) {
		roce_drop(engine, RVT_COUNT_drop_pkey, RVT_DROP_PKEY, qp, packet->pkey, 0);
		return false;
	}
	if (!icrc_fits(datagram)) {
		roce_drop(engine, RVT_COUNT_drop_icrc, RVT_DROP_ICRC, qp, 0, 0);
		return false;
	}
	rvt_count(engine->device, RVT_COUNT_rcvd_pkts);
	return true;
}

/* The checks in the order that decides which counter tells. Return: may the QP see the packet? */
static bool accept(struct roce_engine *engine, struct roce_qp *qp, const struct packet *packet,
		   const struct roce_datagram *datagram)
{
	if (!transport_fits(qp, packet->opcode)) {
		roce_drop(engine, RVT_COUNT_drop_state, RVT_DROP_TRANSPORT, qp, packet->opcode, 0);
		return false;
	}
	if (!state_fits(qp, packet)) {
		roce_drop(engine, RVT_COUNT_drop_state, RVT_DROP_STATE, qp, qp->rvt.state, 0);
		return false;
	}
	if (!address_fits(qp, datagram)) {
		roce_drop(engine, RVT_COUNT_drop_address, RVT_DROP_ADDRESS, qp, 0, 0);
		return false;
	}
	return believable(engine, qp, packet, datagram);
}

/* What the QP itself sent, if it does not want that back. */
static bool blocked_echo(const struct rvt_qp *qp, const struct packet *packet,
			 const struct roce_datagram *datagram)
{
	return qp->block_self && packet->deth.src_qpn == qp->number &&
	       own_address(qp->context->port, &datagram->source);
}

/* One packet, and one message for each QP that is in the group. */
static void multicast(struct roce_engine *engine, const struct packet *packet,
		      const struct roce_datagram *datagram)
{
	struct rvt_mcast *group =
		rvt_mcast_find(engine->device, datagram->interface, &datagram->destination);

	if (!group) {
		roce_drop(engine, RVT_COUNT_drop_no_qp, RVT_DROP_NO_QP, NULL, packet->dest_qpn, 0);
		return;
	}
	if ((packet->opcode & OPCODE_TRANSPORT) != OPCODE_UD) {
		roce_drop(engine, RVT_COUNT_drop_state, RVT_DROP_TRANSPORT, NULL, packet->opcode,
			  0);
		return;
	}
	if (!believable(engine, NULL, packet, datagram))
		return;
	list_for_each_safe(node, &group->members) {
		struct rvt_qp *rvt = list_entry(node, struct rvt_mcast_qp, node)->qp;
		struct roce_qp *qp = to_roce_qp(rvt);

		if (blocked_echo(rvt, packet, datagram))
			continue;
		if (state_fits(qp, packet))
			roce_datagram_receive(qp, packet, datagram);
		else
			roce_drop(engine, RVT_COUNT_drop_state, RVT_DROP_STATE, qp, rvt->state, 0);
	}
}

void roce_receive(struct roce_engine *engine, const struct roce_datagram *datagram)
{
	enum packet_flaw flaw;
	struct packet packet;
	struct rvt_qp *rvt;
	struct roce_qp *qp;

	flaw = packet_parse(&packet, datagram->data, datagram->length);
	if (flaw != PACKET_GOOD) {
		roce_drop(engine, RVT_COUNT_drop_malformed, RVT_DROP_MALFORMED, NULL, flaw, 0);
		return;
	}
	if (packet.opcode == OPCODE_CNP) {
		if (icrc_fits(datagram))
			roce_drop(engine, RVT_COUNT_cnp, RVT_DROP_CNP, NULL, packet.dest_qpn, 0);
		else
			roce_drop(engine, RVT_COUNT_drop_icrc, RVT_DROP_ICRC, NULL, 0, 0);
		return;
	}
	if (packet.dest_qpn == QPN_MULTICAST) {
		multicast(engine, &packet, datagram);
		return;
	}
	rvt = rvt_find_qp(engine->device, packet.dest_qpn);
	if (!rvt) {
		roce_drop(engine, RVT_COUNT_drop_no_qp, RVT_DROP_NO_QP, NULL, packet.dest_qpn, 0);
		return;
	}
	qp = to_roce_qp(rvt);
	if (!accept(engine, qp, &packet, datagram))
		return;
	/* What differs in XRC is said by the type of the QP: from here on an opcode is that of RC.
	 */
	if (qp->transport == OPCODE_XRC)
		packet.opcode &= (uint8_t)~OPCODE_TRANSPORT;
	if (rvt->type == RVT_QPT_UD)
		roce_datagram_receive(qp, &packet, datagram);
	else if (rvt_reliable(rvt->type) && (packet.info->flags & OPCODE_RESPONSE))
		roce_completer_receive(qp, &packet);
	else
		roce_responder_receive(qp, &packet);
}
