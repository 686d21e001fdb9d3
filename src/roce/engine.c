/* SPDX-License-Identifier: Apache-2.0 */
/* engine.c - whose turn it is, and what the queue pairs' life means to the transport */
#include "roce/qp.h"
#include "wire/opcode.h"

#define TURN 64 /* packets a QP may send before the next one has its turn */

void roce_engine_init(struct roce_engine *engine, const struct roce_config *config)
{
	ASSERT(config->device && config->transmit && config->transmit->resolve &&
	       config->transmit->reserve && config->transmit->commit && config->transmit->cancel);
	ASSERT(config->device->transport == &roce_transport_ops);
	*engine = (struct roce_engine){
		.device = config->device,
		.transmit = config->transmit,
		.link = config->link,
	};
	list_init(&engine->ready);
	list_init(&engine->blocked);
	list_init(&engine->acks);
	list_init(&engine->peers);
	roce_hold_init(&engine->hold);
	config->device->engine = engine;
}

void roce_engine_deinit(struct roce_engine *engine)
{
	ASSERT(list_empty(&engine->device->qp_list));
	ASSERT(list_empty(&engine->ready) && list_empty(&engine->blocked) &&
	       list_empty(&engine->acks) && list_empty(&engine->peers));
	engine->device->engine = NULL;
}

void roce_qp_ready(struct roce_qp *qp)
{
	if (list_empty(&qp->ready_node))
		list_append(&qp->engine->ready, &qp->ready_node);
}

void roce_owe_ack_soon(struct roce_qp *qp)
{
	if (list_empty(&qp->ack_node))
		list_append(&qp->engine->acks, &qp->ack_node);
	roce_hold_message(qp->engine);
}

void roce_owe_ack(struct roce_qp *qp)
{
	roce_owe_ack_soon(qp);
	qp->engine->hold.urgent = true;
}

void roce_link_writable(struct roce_engine *engine)
{
	list_for_each_safe(node, &engine->blocked) {
		list_unlink(node);
		list_append(&engine->ready, node);
	}
}

static bool responds(const struct roce_qp *qp)
{
	enum rvt_qp_state state = qp->rvt.state;

	return qp->rvt.type != RVT_QPT_UD && state >= RVT_QPS_RTR && state <= RVT_QPS_SQE;
}

static bool requests(const struct roce_qp *qp)
{
	return qp->rvt.state == RVT_QPS_RTS || qp->rvt.state == RVT_QPS_SQD;
}

/* One turn of one QP. Answers go first: a peer waits for them. */
static unsigned serve(struct roce_qp *qp, unsigned budget)
{
	unsigned share = budget < TURN ? budget : TURN;
	unsigned sent = 0;

	if (responds(qp) && roce_responder_pending(qp)) {
		sent = roce_responder_run(qp, share);
		if (sent >= share && roce_responder_pending(qp))
			roce_qp_ready(qp);
	}
	if (!requests(qp) || qp->engine->link_full)
		return sent;
	if (qp->rvt.type == RVT_QPT_UD)
		return sent + roce_datagram_run(qp, share);
	return sent + roce_requester_run(qp, share);
}

bool roce_engine_run(struct roce_engine *engine, unsigned budget)
{
	unsigned used = 0;

	/* Whether the link has room again is cheap to find out: by trying. */
	roce_link_writable(engine);
	while (!list_empty(&engine->ready) && used < budget) {
		struct roce_qp *qp = list_entry(engine->ready.next, struct roce_qp, ready_node);
		unsigned sent;

		list_unlink(&qp->ready_node);
		engine->link_full = false;
		sent = serve(qp, budget - used);
		used += sent ? sent : 1;
		if (engine->link_full) {
			list_unlink(&qp->ready_node);
			list_append(&engine->blocked, &qp->ready_node);
		}
	}
	return !list_empty(&engine->ready);
}

void roce_engine_flush_acks(struct roce_engine *engine)
{
	struct list_node owing;

	list_init(&owing);
	list_for_each_safe(node, &engine->acks) {
		list_unlink(node);
		list_append(&owing, node);
	}
	while (!list_empty(&owing)) {
		struct roce_qp *qp = list_entry(owing.next, struct roce_qp, ack_node);

		list_unlink(&qp->ack_node);
		if (!responds(qp))
			continue;
		if (!roce_responder_ack(qp))
			list_append(&engine->acks, &qp->ack_node);
	}
	roce_hold_flushed(&engine->hold);
}

/* The queue pair operations. */

static int qp_init(struct rvt_qp *rvt)
{
	struct roce_qp *qp = to_roce_qp(rvt);

	qp->engine = (struct roce_engine *)rvt->device->engine;
	qp->flow = (struct roce_flow){ 0 };
	qp->peer = NULL;
	qp->mtu_shift = 0;
	qp->transport = rvt->type == RVT_QPT_UC	  ? OPCODE_UC
			: rvt->type == RVT_QPT_RC ? OPCODE_RC
						  : OPCODE_XRC;
	list_init(&qp->ready_node);
	list_init(&qp->ack_node);
	list_init(&qp->wait_node);
	roce_requester_reset(qp);
	return roce_responder_init(qp);
}

/* Nothing of the engine refers to the QP afterwards, and it sends nothing more. */
static void quiesce(struct roce_qp *qp)
{
	struct deadlines *deadlines = &qp->rvt.device->deadlines;

	list_unlink(&qp->ready_node);
	list_unlink(&qp->ack_node);
	deadline_disarm(deadlines, &qp->rvt.retry_timer);
	deadline_disarm(deadlines, &qp->rvt.rnr_timer);
	roce_peer_leave(qp);
	roce_responder_stop(qp);
}

static void qp_stop(struct rvt_qp *rvt)
{
	quiesce(to_roce_qp(rvt));
}

static void qp_deinit(struct rvt_qp *rvt)
{
	roce_responder_deinit(to_roce_qp(rvt));
}

static void qp_error(struct rvt_qp *rvt)
{
	quiesce(to_roce_qp(rvt));
}

/* Set up the way to the peer of a connected QP. A QP that has none can do nothing: error. */
static void connect(struct roce_qp *qp)
{
	const struct rvt_ah_attr *ah = &qp->rvt.attr.ah_attr;
	struct roce_engine *engine = qp->engine;

	roce_peer_leave(qp);
	qp->flow = (struct roce_flow){
		.source = ah->sgid,
		.destination = ah->dgid,
		.flow_label = ah->flow_label,
		.traffic_class = ah->traffic_class,
		.hop_limit = ah->hop_limit,
		.paced = qp->rvt.type == RVT_QPT_UC,
	};
	if (engine->transmit->resolve(engine->link, &qp->flow, qp->rvt.number,
				      qp->rvt.attr.dest_qp_num) ||
	    (rvt_reliable(qp->rvt.type) && roce_peer_join(qp))) {
		roce_tell(engine, RVT_CANNOT_SEND, &qp->rvt.res, 0, 0);
		rvt_error_qp(&qp->rvt, RVT_CANNOT_SEND);
	}
}

static void qp_modified(struct rvt_qp *rvt, enum rvt_qp_state old, uint32_t mask)
{
	struct roce_qp *qp = to_roce_qp(rvt);
	enum rvt_qp_state state = rvt->state;

	if (state < RVT_QPS_RTR || state == RVT_QPS_ERR)
		return;
	if (rvt->mtu)
		qp->mtu_shift = (uint8_t)__builtin_ctz(rvt->mtu);
	if (rvt->type != RVT_QPT_UD && (old == RVT_QPS_INIT || (mask & RVT_QP_AV))) {
		connect(qp);
		if (rvt->state == RVT_QPS_ERR)
			return;
	}
	if (old == RVT_QPS_INIT)
		roce_responder_start(qp);
	else if (mask & RVT_QP_MAX_DEST_RD_ATOMIC)
		roce_responder_resize(qp);
	if (rvt->state == RVT_QPS_ERR)
		return;
	if (old == RVT_QPS_RTR && state == RVT_QPS_RTS)
		roce_requester_start(qp);
	if (old == RVT_QPS_SQE && state == RVT_QPS_RTS)
		roce_requester_resume(qp);
	if (state == RVT_QPS_SQD)
		roce_requester_drained(qp);
	if (state == RVT_QPS_RTS || state == RVT_QPS_SQD)
		roce_qp_ready(qp);
}

static void send(struct rvt_qp *rvt)
{
	roce_qp_ready(to_roce_qp(rvt));
}

static void retry_expired(struct rvt_qp *rvt)
{
	roce_completer_timeout(to_roce_qp(rvt));
}

static void rnr_expired(struct rvt_qp *rvt)
{
	roce_completer_rnr_timeout(to_roce_qp(rvt));
}

const struct rvt_transport_ops roce_transport_ops = {
	.qp_size = sizeof(struct roce_qp),
	.qp_init = qp_init,
	.qp_stop = qp_stop,
	.qp_deinit = qp_deinit,
	.qp_modified = qp_modified,
	.qp_error = qp_error,
	.send = send,
	.retry_expired = retry_expired,
	.rnr_expired = rnr_expired,
};
