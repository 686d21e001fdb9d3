/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer.c - how much may be on its way to one receiving socket
 *
 * A stock socket buffer takes about fifty packets of 4 KiB and the kernel drops the rest without a
 * word, so what all queue pairs together have in flight toward one socket is limited here: it
 * begins with what every receiver has room for, grows by about a packet for each acknowledged
 * window while it is the limit, and halves on loss. READ responses come back to our own socket but
 * are charged here all the same: the buffers are of a kind, and one rule is enough.
 */
#include <errno.h>

#include "roce/qp.h"

#define PACKET_COST    (4096u + ROCE_PACKET_OVERHEAD)
#define WINDOW_INITIAL (45u * PACKET_COST)
#define WINDOW_MAXIMUM (2u << 20)
#define WINDOW_MINIMUM (4u * PACKET_COST)
#define LOSS_PERIOD_NS 2000000u /* losses closer together than this are one event */

int roce_peer_join(struct roce_qp *qp)
{
	struct roce_engine *engine = qp->engine;
	uint32_t slot = qp->rvt.attr.dest_qp_num >> ROCE_SLOT_SHIFT;
	struct roce_peer *peer;

	ASSERT(!qp->peer);
	list_for_each(node, &engine->peers) {
		peer = list_entry(node, struct roce_peer, node);
		if (peer->slot == slot && gid_equal(&peer->gid, &qp->flow.destination)) {
			peer->users++;
			qp->peer = peer;
			return 0;
		}
	}
	peer = (struct roce_peer *)allocator_get(engine->device->allocator, sizeof(*peer));
	if (!peer)
		return -ENOMEM;
	peer->gid = qp->flow.destination;
	peer->slot = slot;
	peer->users = 1;
	peer->window_bytes = WINDOW_INITIAL;
	list_init(&peer->waiting);
	list_append(&engine->peers, &peer->node);
	qp->peer = peer;
	return 0;
}

void roce_peer_leave(struct roce_qp *qp)
{
	struct roce_peer *peer = qp->peer;

	if (!peer)
		return;
	list_unlink(&qp->wait_node);
	qp->requester.waiting_peer = false;
	roce_peer_forget(qp);
	qp->peer = NULL;
	if (--peer->users)
		return;
	list_unlink(&peer->node);
	allocator_put(qp->engine->device->allocator, peer);
}

bool roce_peer_fits(const struct roce_peer *peer, uint32_t bytes)
{
	/* What is larger than the window goes alone. */
	return !peer->in_flight_bytes || peer->in_flight_bytes + bytes <= peer->window_bytes;
}

bool roce_peer_room(struct roce_qp *qp, uint32_t bytes)
{
	if (roce_peer_fits(qp->peer, bytes))
		return true;
	if (!qp->requester.waiting_peer) {
		qp->requester.waiting_peer = true;
		list_append(&qp->peer->waiting, &qp->wait_node);
	}
	return false;
}

void roce_peer_sent(struct roce_qp *qp, uint32_t bytes)
{
	qp->peer->in_flight_bytes += bytes;
	qp->requester.in_flight_bytes += bytes;
}

/* One at a time: it wakes the next when it leaves room. Waking all would be a storm. */
static void wake(struct roce_peer *peer)
{
	struct roce_qp *qp;

	if (list_empty(&peer->waiting))
		return;
	qp = list_entry(peer->waiting.next, struct roce_qp, wait_node);
	list_unlink(&qp->wait_node);
	qp->requester.waiting_peer = false;
	roce_qp_ready(qp);
}

void roce_peer_pass_on(struct roce_qp *qp)
{
	if (qp->peer && !qp->requester.waiting_peer &&
	    roce_peer_fits(qp->peer, qp->rvt.mtu + ROCE_PACKET_OVERHEAD))
		wake(qp->peer);
}

static void release(struct roce_qp *qp, uint32_t bytes)
{
	struct roce_peer *peer = qp->peer;

	if (bytes > qp->requester.in_flight_bytes)
		bytes = qp->requester.in_flight_bytes;
	qp->requester.in_flight_bytes -= bytes;
	peer->in_flight_bytes -= bytes;
	wake(peer);
}

void roce_peer_acked(struct roce_qp *qp, uint32_t bytes)
{
	struct roce_peer *peer = qp->peer;

	if (!list_empty(&peer->waiting) ||
	    peer->in_flight_bytes + 2 * PACKET_COST > peer->window_bytes) {
		uint64_t growth = (uint64_t)bytes * PACKET_COST / peer->window_bytes;

		peer->window_bytes += (uint32_t)growth;
		if (peer->window_bytes > WINDOW_MAXIMUM)
			peer->window_bytes = WINDOW_MAXIMUM;
	}
	release(qp, bytes);
}

void roce_peer_forget(struct roce_qp *qp)
{
	if (qp->peer)
		release(qp, qp->requester.in_flight_bytes);
}

void roce_peer_lost(struct roce_qp *qp)
{
	struct roce_peer *peer = qp->peer;
	uint64_t now = qp->engine->device->now_ns;

	if (!peer->last_loss_ns || now - peer->last_loss_ns >= LOSS_PERIOD_NS) {
		peer->last_loss_ns = now;
		peer->window_bytes /= 2;
		if (peer->window_bytes < WINDOW_MINIMUM)
			peer->window_bytes = WINDOW_MINIMUM;
	}
	roce_peer_forget(qp);
}
