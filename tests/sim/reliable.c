/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reliable.c - RC and XRC: random work in both directions of several connections
 *
 * What must be true: every work request completes once, in order; a message that completed has
 * arrived, once, in order, whole; READs bring what is there; atomics happen exactly once. With an
 * upset: until the first error all of that, then the right error, then everything is flushed.
 */
#include <stdio.h>
#include <stdlib.h>

#include "rvt/mw.h"
#include "rvt/xrcd.h"
#include "sim.h"

#define DEPTH	 8u
#define RECEIVES 8u
#define MESSAGES 64u /* that take a receive and are not seen yet; more than 2 * DEPTH */
#define GUARD	 64u
#define SLOT	 (SIM_SLICE + 2 * GUARD)
#define SIDES	 8u
#define MARK	 0xee
#define SECOND	 0x100u /* in the wr_id of a receive: of side->second */

struct request {
	enum rvt_opcode opcode;
	uint32_t length, shift; /* shift: where in the remote slot it begins */
	uint64_t seed, expected;
	uint32_t message; /* its number among those that take a receive */
	bool signaled;
};

struct message {
	enum rvt_opcode opcode;
	uint32_t length, immediate, slot, shift;
	uint64_t seed;
	bool solicited;
	bool second; /* XRC: it names side->second */
};

struct pool {
	struct rvt_qp *qp;
	struct rvt_srq *srq;
	struct rvt_mr *mr;
	uint8_t *memory; /* RECEIVES slots */
	bool posted[RECEIVES];
	uint32_t order[RECEIVES]; /* ring of what is posted, oldest first */
	uint32_t head, tail;
	uint32_t length; /* of the receives */
	bool stopped;
	bool one_user; /* receives complete in the order in which they were posted */
	uint32_t mark; /* of its wr_ids */
};

enum area {
	SEND,
	RESULT,
	TARGET,
	SOURCE,
	AREAS
};

struct side {
	struct sim_host *host;
	struct side *peer;
	struct rvt_qp *qp;
	struct rvt_qp *target; /* that what the peer sends comes to: of RC the same */
	struct rvt_cq *send_cq, *recv_cq;
	struct pool own, *pool;
	struct pool second;	/* XRC: the peer names one or the other */
	uint8_t *memory[AREAS]; /* DEPTH slots each */
	struct rvt_mr *mr[AREAS];
	uint32_t key[AREAS];
	uint64_t iova[AREAS];
	uint64_t word, model; /* for the peer's compare and swap; what it should be at post */
	struct rvt_mr *word_mr;
	struct rvt_mw *mw; /* bound to it now and then */
	uint32_t posted, completed, quota;
	struct request requests[DEPTH];
	struct message messages[MESSAGES]; /* from the peer */
	uint32_t messages_posted, messages_seen;
	uint64_t counted;      /* sum of the fetch and adds that succeeded */
	uint64_t counted_most; /* ... and those whose fate is unknown */
	enum rvt_wc_status failed;
};

static struct world {
	struct side sides[SIDES];
	unsigned count;
	struct pool shared[SIM_HOSTS];
	uint64_t counter[SIM_HOSTS];
	struct rvt_mr *counter_mr[SIM_HOSTS];
	bool srq, starving, again;
	bool xrc;
	struct rvt_xrcd *xrcd[SIM_HOSTS];
	const struct upset *upset;
	uint32_t upset_at;
	bool upset_done;
	uint32_t mtu;
} w;

static uint8_t *arena;

struct upset {
	const char *name;
	void (*strike)(struct side *victim);
	enum rvt_wc_status peer_status, own_status, recv_status;
	uint8_t rnr_retry;
};

static uint32_t random_length(void)
{
	uint32_t mtu = w.mtu, pick = sim_random(100);

	if (pick < 10)
		return 0;
	if (pick < 35)
		return 1 + sim_random(64);
	if (pick < 60)
		return mtu * (1 + sim_random(SIM_SLICE / mtu > 8 ? 8 : SIM_SLICE / mtu - 1)) +
		       sim_random(3) - 1;
	if (pick < 92)
		return sim_random(8192);
	return sim_random(SIM_SLICE + 1);
}

/* Cut a run of bytes into up to four pieces, some of them empty. */
static uint32_t cut(struct rvt_sge *sges, uint64_t address, uint32_t length, uint32_t key)
{
	uint32_t count = 1 + sim_random(4);

	for (uint32_t i = 0; i < count; i++) {
		uint32_t piece = i + 1 == count ? length : sim_random(length + 1);

		sges[i] = (struct rvt_sge){ address, piece, key };
		address += piece;
		length -= piece;
	}
	return count;
}

static uint8_t *slot(const struct side *side, enum area area, uint32_t sequence)
{
	return side->memory[area] + (size_t)(sequence % DEPTH) * SLOT + GUARD;
}

static uint64_t remote_address(const struct side *peer, enum area area, const uint8_t *at)
{
	return peer->iova[area] + (uint64_t)(at - peer->memory[area]);
}

/* XRC binds no memory windows: that is the last one. */
static enum rvt_opcode random_opcode(void)
{
	static const enum rvt_opcode opcodes[] = {
		RVT_WR_SEND,
		RVT_WR_SEND,
		RVT_WR_SEND_WITH_IMM,
		RVT_WR_RDMA_WRITE,
		RVT_WR_RDMA_WRITE,
		RVT_WR_RDMA_WRITE_WITH_IMM,
		RVT_WR_RDMA_READ,
		RVT_WR_RDMA_READ,
		RVT_WR_ATOMIC_FETCH_AND_ADD,
		RVT_WR_ATOMIC_CMP_AND_SWP,
		RVT_WR_ATOMIC_WRITE,
		RVT_WR_BIND_MW,
	};

	return opcodes[sim_random(sizeof(opcodes) / sizeof(opcodes[0]) - w.xrc)];
}

static void prepare_atomic(struct side *side, struct request *request, struct rvt_send_wr *wr)
{
	struct side *peer = side->peer;

	request->length = 8;
	if (wr->opcode == RVT_WR_ATOMIC_FETCH_AND_ADD) {
		uint32_t host = peer->host->index;

		wr->remote_addr = w.counter_mr[host]->iova;
		wr->rkey = w.counter_mr[host]->key;
		wr->compare_add = 1 + sim_random(1000);
		request->expected = wr->compare_add;
		return;
	}
	wr->remote_addr = peer->word_mr->iova;
	wr->rkey = peer->word_mr->key;
	wr->swap = random_next(&sim.random);
	wr->compare_add = sim_chance(700) ? peer->model : random_next(&sim.random);
	request->expected = peer->model;
	if (wr->compare_add == peer->model)
		peer->model = wr->swap;
}

/* A message that will take a receive at the peer. */
static void announce(struct side *side, struct request *request, const struct rvt_send_wr *wr)
{
	struct side *peer = side->peer;
	struct message *message = &peer->messages[peer->messages_posted % MESSAGES];

	SIM_CHECK(peer->messages_posted - peer->messages_seen < MESSAGES, "too many messages");
	request->message = peer->messages_posted++;
	*message = (struct message){
		.opcode = wr->opcode,
		.length = request->length,
		.immediate = wr->imm_data,
		.slot = side->posted,
		.shift = request->shift,
		.seed = request->seed,
		.solicited = wr->send_flags & RVT_SEND_SOLICITED,
		.second = w.xrc && wr->remote_srqn == peer->second.srq->res.id,
	};
}

static void post_send(struct side *side)
{
	struct side *peer = side->peer;
	struct request *request = &side->requests[side->posted % DEPTH];
	struct rvt_sge sges[4];
	struct rvt_send_wr wr = {
		.wr_id = side->posted,
		.opcode = random_opcode(),
		.sg_list = sges,
		.imm_data = (uint32_t)random_next(&sim.random),
	};
	bool last = side->posted - side->completed == DEPTH - 1 || side->posted + 1 == side->quota;
	bool local_read = true;

	if (w.xrc)
		wr.remote_srqn = (sim_chance(500) ? peer->pool : &peer->second)->srq->res.id;
	*request = (struct request){
		.opcode = wr.opcode,
		.length = random_length(),
		.shift = sim_random(GUARD),
		.seed = random_next(&sim.random),
		.signaled = last || sim_chance(600),
	};
	if (request->length + request->shift > SIM_SLICE)
		request->shift = 0;
	wr.send_flags = request->signaled ? RVT_SEND_SIGNALED : 0;
	wr.send_flags |= sim_chance(100) ? RVT_SEND_FENCE : 0;
	wr.send_flags |= sim_chance(300) ? RVT_SEND_SOLICITED : 0;
	switch (wr.opcode) {
	case RVT_WR_RDMA_WRITE:
	case RVT_WR_RDMA_WRITE_WITH_IMM: {
		uint8_t *at = slot(peer, TARGET, side->posted) + request->shift;

		memset(at - GUARD + request->shift % GUARD, MARK, GUARD - request->shift % GUARD);
		memset(at, MARK, request->length + GUARD);
		wr.remote_addr = remote_address(peer, TARGET, at);
		wr.rkey = peer->key[TARGET];
		break;
	}
	case RVT_WR_ATOMIC_WRITE: {
		uint8_t *at;

		request->length = 8;
		request->shift &= ~7u;
		at = slot(peer, TARGET, side->posted) + request->shift;
		memset(at, MARK, request->length + GUARD);
		wr.remote_addr = remote_address(peer, TARGET, at);
		wr.rkey = peer->key[TARGET];
		break;
	}
	case RVT_WR_BIND_MW:
		request->length = 0;
		wr.bind = (struct rvt_bind){
			.mw = side->mw,
			.region = side->word_mr,
			.address = side->word_mr->iova,
			.length = sim_random(9),
			.access = RVT_ACCESS_REMOTE_READ,
			.key = (side->mw->mr.key & ~0xffu) | sim_random(256),
		};
		break;
	case RVT_WR_RDMA_READ: {
		uint8_t *at = slot(peer, SOURCE, side->posted) + request->shift;

		sim_fill(at, request->length, request->seed);
		wr.remote_addr = remote_address(peer, SOURCE, at);
		wr.rkey = peer->key[SOURCE];
		local_read = false;
		break;
	}
	case RVT_WR_ATOMIC_FETCH_AND_ADD:
	case RVT_WR_ATOMIC_CMP_AND_SWP:
		prepare_atomic(side, request, &wr);
		local_read = false;
		break;
	default:
		break;
	}
	if (local_read) {
		uint8_t *at = slot(side, SEND, side->posted);

		sim_fill(at, request->length, request->seed);
		wr.num_sge = cut(sges, (uintptr_t)at, request->length, side->key[SEND]);
		if (request->length <= 64 && sim_chance(300))
			wr.send_flags |= RVT_SEND_INLINE;
	} else {
		uint8_t *at = slot(side, RESULT, side->posted);

		memset(at, MARK, request->length + GUARD);
		wr.num_sge = cut(sges, (uintptr_t)at, request->length, side->key[RESULT]);
	}
	if (wr.opcode == RVT_WR_SEND || wr.opcode == RVT_WR_SEND_WITH_IMM ||
	    wr.opcode == RVT_WR_RDMA_WRITE_WITH_IMM)
		announce(side, request, &wr);
	SIM_CHECK(!rvt_post_send(side->qp, &wr), "post_send");
	side->posted++;
	if (wr.send_flags & RVT_SEND_INLINE)
		memset(slot(side, SEND, side->posted - 1), MARK, request->length);
}

static bool marked(const uint8_t *at, uint32_t length)
{
	for (uint32_t i = 0; i < length; i++)
		if (at[i] != MARK)
			return false;
	return true;
}

static void verify(struct side *side, uint32_t sequence)
{
	const struct request *request = &side->requests[sequence % DEPTH];
	struct side *peer = side->peer;
	const uint8_t *at;
	uint64_t value;

	switch (request->opcode) {
	case RVT_WR_RDMA_WRITE:
	case RVT_WR_RDMA_WRITE_WITH_IMM:
	case RVT_WR_ATOMIC_WRITE:
		at = slot(peer, TARGET, sequence) + request->shift;
		SIM_CHECK(sim_same(at, request->length, request->seed),
			  "WRITE %u of %u bytes came out wrong", sequence, request->length);
		SIM_CHECK(marked(at + request->length, GUARD), "WRITE %u wrote too much", sequence);
		break;
	case RVT_WR_RDMA_READ:
		at = slot(side, RESULT, sequence);
		SIM_CHECK(sim_same(at, request->length, request->seed),
			  "READ %u of %u bytes came out wrong", sequence, request->length);
		SIM_CHECK(marked(at + request->length, GUARD), "READ %u wrote too much", sequence);
		break;
	case RVT_WR_ATOMIC_FETCH_AND_ADD:
		side->counted += request->expected;
		side->counted_most += request->expected;
		break;
	case RVT_WR_ATOMIC_CMP_AND_SWP:
		memcpy(&value, slot(side, RESULT, sequence), sizeof(value));
		SIM_CHECK(value == request->expected, "compare and swap %u saw a wrong value",
			  sequence);
		break;
	default:
		break;
	}
	if (request->opcode == RVT_WR_SEND || request->opcode == RVT_WR_SEND_WITH_IMM ||
	    request->opcode == RVT_WR_RDMA_WRITE_WITH_IMM)
		SIM_CHECK(request->message - peer->messages_seen > UINT32_MAX / 2,
			  "message %u completed before it arrived", sequence);
}

static bool allowed(const struct side *side, enum rvt_wc_status status)
{
	const struct side *victim = &w.sides[0];

	if (!w.upset)
		return false;
	if (status == RVT_WC_WR_FLUSH_ERR)
		return side->qp->state == RVT_QPS_ERR;
	if (status == RVT_WC_RETRY_EXC_ERR)
		return w.upset_done;
	if (side == victim->peer)
		return status == w.upset->peer_status;
	return side == victim && status == w.upset->own_status;
}

static void poll_send(struct side *side)
{
	struct rvt_wc wc;

	while (rvt_poll_cq(side->send_cq, 1, &wc) == 1) {
		uint32_t sequence = (uint32_t)wc.wr_id;
		struct request *request = &side->requests[sequence % DEPTH];

		SIM_CHECK(wc.qp_num == side->qp->number, "completion of another QP");
		SIM_CHECK(sequence - side->completed < side->posted - side->completed,
			  "request %u completed, %u..%u are outstanding", sequence, side->completed,
			  side->posted);
		for (; side->completed != sequence; side->completed++) {
			SIM_CHECK(!side->failed &&
					  !side->requests[side->completed % DEPTH].signaled,
				  "request %u has no completion", side->completed);
			verify(side, side->completed);
		}
		side->completed++;
		if (wc.status == RVT_WC_SUCCESS) {
			SIM_CHECK(!side->failed, "request %u succeeded after an error", sequence);
			SIM_CHECK(request->signaled, "request %u was not signaled", sequence);
			verify(side, sequence);
			continue;
		}
		if (!side->failed)
			SIM_CHECK(allowed(side, wc.status), "%s: request %u (opcode %u) failed: %u",
				  w.upset ? w.upset->name : "no upset", sequence, request->opcode,
				  wc.status);
		else
			SIM_CHECK(wc.status == RVT_WC_WR_FLUSH_ERR, "second error: %u", wc.status);
		SIM_CHECK(side->qp->state == RVT_QPS_ERR, "failed, but the QP is in state %u",
			  side->qp->state);
		if (!side->failed)
			side->failed = wc.status;
		if (request->opcode == RVT_WR_ATOMIC_FETCH_AND_ADD)
			side->counted_most += request->expected;
	}
}

static struct side *side_of(struct rvt_cq *cq, uint32_t number)
{
	for (unsigned i = 0; i < w.count; i++)
		if (w.sides[i].recv_cq == cq && w.sides[i].target->number == number)
			return &w.sides[i];
	SIM_CHECK(false, "completion of an unknown QP %u", number);
	return NULL;
}

static void check_message(struct side *side, const struct rvt_wc *wc, const uint8_t *buffer)
{
	const struct message *message = &side->messages[side->messages_seen % MESSAGES];
	bool write = message->opcode == RVT_WR_RDMA_WRITE_WITH_IMM;

	SIM_CHECK(!(wc->wr_id & SECOND) == !message->second, "came to another receive queue");
	SIM_CHECK(side->messages_seen != side->messages_posted, "a message that nobody sent");
	side->messages_seen++;
	SIM_CHECK(wc->opcode == (write ? RVT_WC_RECV_RDMA_WITH_IMM : RVT_WC_RECV), "wrong opcode");
	SIM_CHECK(wc->byte_len == message->length, "%u bytes came, %u were sent", wc->byte_len,
		  message->length);
	SIM_CHECK(wc->solicited == message->solicited, "solicited is wrong");
	if (message->opcode != RVT_WR_SEND)
		SIM_CHECK((wc->wc_flags & RVT_WC_WITH_IMM) && wc->imm_data == message->immediate,
			  "wrong immediate");
	else
		SIM_CHECK(!(wc->wc_flags & RVT_WC_WITH_IMM), "an immediate that nobody sent");
	if (write)
		SIM_CHECK(sim_same(slot(side, TARGET, message->slot) + message->shift,
				   message->length, message->seed),
			  "WRITE with immediate: data not there yet");
	else
		SIM_CHECK(sim_same(buffer, message->length, message->seed), "wrong data received");
	if (!write)
		SIM_CHECK(marked(buffer + message->length, GUARD), "received too much");
}

static void poll_recv(struct side *side)
{
	struct rvt_wc wc;

	while (rvt_poll_cq(side->recv_cq, 1, &wc) == 1) {
		struct side *to = side_of(side->recv_cq, wc.qp_num);
		struct pool *pool = wc.wr_id & SECOND ? &to->second : to->pool;
		uint32_t index = (uint32_t)wc.wr_id & ~SECOND;

		SIM_CHECK(index < RECEIVES && pool->posted[index], "receive %u is not posted",
			  index);
		if (pool->one_user)
			SIM_CHECK(pool->order[pool->tail % RECEIVES] == index,
				  "receives complete out of order");
		pool->tail++;
		pool->posted[index] = false;
		if (wc.status == RVT_WC_SUCCESS) {
			check_message(to, &wc, pool->memory + index * SLOT + GUARD);
			continue;
		}
		SIM_CHECK(w.upset && (wc.status == RVT_WC_WR_FLUSH_ERR ||
				      (to == &w.sides[0] && wc.status == w.upset->recv_status)),
			  "%s: receive failed: %u", w.upset ? w.upset->name : "no upset",
			  wc.status);
		/* A bad receive ends when it is taken, the QP when the NAK is out. */
		SIM_CHECK(to->qp->state == RVT_QPS_ERR || wc.status == RVT_WC_LOC_PROT_ERR,
			  "receive failed with %u in state %u", wc.status, to->qp->state);
	}
}

static void post_recv(struct pool *pool)
{
	struct rvt_sge sges[4];
	struct rvt_recv_wr wr = { .sg_list = sges };
	uint32_t index = 0;
	uint8_t *at;

	while (index < RECEIVES && pool->posted[index])
		index++;
	if (index == RECEIVES || pool->stopped)
		return;
	at = pool->memory + index * SLOT + GUARD;
	memset(at, MARK, SIM_SLICE + GUARD);
	wr.wr_id = index | pool->mark;
	wr.num_sge = cut(sges, (uintptr_t)at, pool->length, pool->mr->key);
	pool->posted[index] = true;
	pool->order[pool->head++ % RECEIVES] = index;
	if (pool->srq)
		SIM_CHECK(!rvt_post_srq_recv(pool->srq, &wr), "post_srq_recv");
	else
		SIM_CHECK(!rvt_post_recv(pool->qp, &wr), "post_recv");
}

static bool finished(const struct side *side)
{
	if (side->posted != side->completed)
		return false;
	return side->failed || side->posted == side->quota || side->qp->state == RVT_QPS_ERR;
}

static void side_work(struct side *side)
{
	uint32_t burst = sim_random(4);
	bool any = false;

	if (w.upset && !w.upset_done && side == &w.sides[0] && side->posted >= w.upset_at) {
		w.upset->strike(side);
		w.upset_done = true;
	}
	if (sim_chance(w.starving ? 30 : 700))
		for (uint32_t i = 1 + sim_random(3); i; i--)
			post_recv(w.xrc && sim_chance(500) ? &side->second : side->pool);
	while (burst-- && side->posted != side->quota && !side->failed &&
	       side->qp->state == RVT_QPS_RTS && side->posted - side->completed < DEPTH) {
		post_send(side);
		any = true;
	}
	if (any)
		rvt_send_pending(side->qp);
}

static bool program(void)
{
	bool done = true;

	/* What completed at the sender has arrived before: so look there first. */
	for (unsigned i = 0; i < w.count; i++)
		poll_recv(&w.sides[i]);
	for (unsigned i = 0; i < w.count; i++)
		poll_send(&w.sides[i]);
	for (unsigned i = 0; i < w.count; i++) {
		side_work(&w.sides[i]);
		if (!finished(&w.sides[i]))
			done = false;
	}
	if (!done)
		sim_wake(sim_random(w.starving ? 400 : 60) * SIM_US + 1);
	return done;
}

/* Building the world and taking it down. */

static void pool_begin(struct pool *pool, struct sim_host *host, uint8_t **memory)
{
	*pool = (struct pool){ .memory = *memory, .length = SIM_SLICE };
	*memory += RECEIVES * SLOT;
	pool->mr = sim_reg(host, pool->memory, RECEIVES * SLOT, (uintptr_t)pool->memory,
			   RVT_ACCESS_LOCAL_WRITE);
}

static void pool_of_xrc(struct pool *pool, struct sim_host *host, struct rvt_cq *cq)
{
	uint32_t max_wr = RECEIVES, max_sge = 4;

	SIM_CHECK(!rvt_create_xrc_srq(host->pd, w.xrcd[host->index], cq, &max_wr, &max_sge,
				      &pool->srq),
		  "XRC srq");
}

static void reg_area(struct side *side, unsigned area)
{
	static const uint32_t access[AREAS] = {
		[SEND] = 0,
		[RESULT] = RVT_ACCESS_LOCAL_WRITE,
		[TARGET] = RVT_ACCESS_LOCAL_WRITE | RVT_ACCESS_REMOTE_WRITE,
		[SOURCE] = RVT_ACCESS_REMOTE_READ,
	};
	bool moved = area >= TARGET && !w.upset && sim_chance(500);
	uint64_t address = (uintptr_t)side->memory[area];

	side->mr[area] = sim_reg(side->host, side->memory[area], DEPTH * SLOT,
				 moved ? address & 4095 : address, access[area]);
	side->key[area] = side->mr[area]->key;
	side->iova[area] = side->mr[area]->iova;
}

static void side_begin(struct side *side, struct sim_host *host, uint8_t **memory, uint32_t quota)
{
	*side = (struct side){ .host = host, .quota = quota };
	for (unsigned i = 0; i < AREAS; i++) {
		side->memory[i] = *memory;
		*memory += DEPTH * SLOT;
		reg_area(side, i);
	}
	side->word_mr =
		sim_reg(host, &side->word, 8, (uintptr_t)&side->word,
			RVT_ACCESS_LOCAL_WRITE | RVT_ACCESS_REMOTE_ATOMIC | RVT_ACCESS_MW_BIND);
	SIM_CHECK(!rvt_alloc_mw(host->pd, RVT_MW_TYPE_1, &side->mw), "mw");
	SIM_CHECK(!rvt_create_cq(host->context, 2 * DEPTH, &side->send_cq), "cq");
	SIM_CHECK(!rvt_create_cq(host->context, 2 * RECEIVES, &side->recv_cq), "cq");
	if (w.srq) {
		side->pool = &w.shared[host->index];
		return;
	}
	pool_begin(&side->own, host, memory);
	side->pool = &side->own;
	side->own.one_user = true;
	if (!w.xrc)
		return;
	pool_begin(&side->second, host, memory);
	side->second.one_user = true;
	side->second.mark = SECOND;
	pool_of_xrc(&side->own, host, side->recv_cq);
	pool_of_xrc(&side->second, host, side->recv_cq);
}

/* Each side sends from a queue pair of its own, which only hears answers. */
static void create_pair_qp(struct side *side, struct sim_qp_options *options)
{
	options->send_cq = side->send_cq;
	options->recv_cq = side->recv_cq;
	options->srq = w.xrc ? NULL : side->pool->srq;
	options->type = w.xrc ? RVT_QPT_XRC_INI : RVT_QPT_RC;
	options->xrcd = NULL;
	if (side->qp)
		return;
	side->qp = side->target = sim_create_qp(side->host, options);
	if (!w.xrc)
		return;
	options->type = RVT_QPT_XRC_TGT;
	options->xrcd = w.xrcd[side->host->index];
	side->target = sim_create_qp(side->host, options);
}

/* The first time create the queue pairs; later they are in RESET and begin anew. */
static void pair_begin(struct side *a, struct side *b)
{
	struct sim_qp_options options = {
		.type = RVT_QPT_RC,
		.depth = DEPTH,
		.recv_depth = RECEIVES,
		.mtu = (enum rvt_mtu)(1 + sim_random(5)),
		.max_rd_atomic = (uint8_t)(1 + sim_random(4)),
		.retry_cnt = 7,
		.rnr_retry = w.upset ? w.upset->rnr_retry : 7,
		.timeout = (uint8_t)(10 + sim_random(4)),
	};
	struct side *sides[2] = { a, b };
	uint32_t psn[2];

	options.max_dest_rd_atomic = (uint8_t)(options.max_rd_atomic + sim_random(2));
	w.mtu = 128u << options.mtu;
	a->peer = b;
	b->peer = a;
	for (unsigned i = 0; i < 2; i++) {
		create_pair_qp(sides[i], &options);
		if (!sides[i]->pool->srq)
			sides[i]->own.qp = sides[i]->qp;
		/* Many begin shortly before the wrap. */
		psn[i] = !w.again && sim_chance(500) ? 0xffffc0 + sim_random(64)
						     : sim_random(1 << 24);
	}
	for (unsigned i = 0; i < 2; i++) {
		struct side *side = sides[i], *peer = sides[1 - i];

		sim_connect(side->host, side->qp, &options, peer->host, peer->target, psn[i],
			    psn[1 - i]);
		if (w.xrc)
			sim_connect(peer->host, peer->target, &options, side->host, side->qp,
				    psn[1 - i], psn[i]);
	}
}

static void world_begin(unsigned pairs, uint32_t quota)
{
	uint8_t *memory = arena;

	for (unsigned i = 0; i < sim.host_count; i++) {
		struct sim_host *host = &sim.hosts[i];
		uint32_t max_wr = RECEIVES, max_sge = 4;

		w.counter[i] = 0;
		w.counter_mr[i] = sim_reg(host, &w.counter[i], 8, (uintptr_t)&w.counter[i],
					  RVT_ACCESS_LOCAL_WRITE | RVT_ACCESS_REMOTE_ATOMIC);
		if (w.xrc)
			SIM_CHECK(!rvt_open_xrcd(host->context, NULL, true, false, &w.xrcd[i]),
				  "xrcd");
		if (!w.srq)
			continue;
		pool_begin(&w.shared[i], host, &memory);
		SIM_CHECK(!rvt_create_srq(host->pd, &max_wr, &max_sge, 0, &w.shared[i].srq), "srq");
	}
	w.count = 2 * pairs;
	for (unsigned i = 0; i < pairs; i++) {
		struct sim_host *a = &sim.hosts[i % sim.host_count];
		struct sim_host *b = &sim.hosts[(i + 1) % sim.host_count];

		/* Some talk to themselves. */
		if (!w.upset && sim_chance(100))
			b = a;
		side_begin(&w.sides[2 * i], a, &memory, quota);
		side_begin(&w.sides[2 * i + 1], b, &memory, quota);
		pair_begin(&w.sides[2 * i], &w.sides[2 * i + 1]);
	}
}

static void put_mr(struct rvt_mr *mr)
{
	if (mr)
		SIM_CHECK(!rvt_dereg_mr(mr), "dereg_mr");
}

static void xrc_end(struct side *side)
{
	SIM_CHECK(!rvt_destroy_qp(side->target), "destroy_qp");
	SIM_CHECK(!rvt_destroy_srq(side->own.srq), "destroy_srq");
	SIM_CHECK(!rvt_destroy_srq(side->second.srq), "destroy_srq");
	put_mr(side->second.mr);
}

static void world_end(void)
{
	for (unsigned i = 0; i < w.count; i++) {
		struct side *side = &w.sides[i];

		if (side->qp)
			SIM_CHECK(!rvt_destroy_qp(side->qp), "destroy_qp");
		if (w.xrc)
			xrc_end(side);
		SIM_CHECK(!rvt_destroy_cq(side->send_cq), "destroy_cq");
		SIM_CHECK(!rvt_destroy_cq(side->recv_cq), "destroy_cq");
		for (unsigned area = 0; area < AREAS; area++)
			put_mr(side->mr[area]);
		SIM_CHECK(!rvt_dealloc_mw(side->mw), "dealloc_mw");
		put_mr(side->word_mr);
		if (!w.srq)
			put_mr(side->own.mr);
	}
	for (unsigned i = 0; i < sim.host_count; i++) {
		put_mr(w.counter_mr[i]);
		if (w.xrc)
			SIM_CHECK(!rvt_close_xrcd(w.xrcd[i]), "close_xrcd");
		if (!w.srq)
			continue;
		SIM_CHECK(!rvt_destroy_srq(w.shared[i].srq), "destroy_srq");
		put_mr(w.shared[i].mr);
	}
}

static void check_counters(void)
{
	for (unsigned host = 0; host < sim.host_count; host++) {
		uint64_t least = 0, most = 0;

		for (unsigned i = 0; i < w.count; i++) {
			if (w.sides[i].peer->host->index != host)
				continue;
			least += w.sides[i].counted;
			most += w.sides[i].counted_most;
		}
		SIM_CHECK(w.counter[host] >= least && w.counter[host] <= most,
			  "the counter is %llu, not %llu", (unsigned long long)w.counter[host],
			  (unsigned long long)least);
	}
}

static void common_begin(const char *name, uint64_t seed, const struct upset *upset)
{
	size_t per_side = AREAS * DEPTH * SLOT + 2 * RECEIVES * SLOT;

	sim_begin(name, seed, upset ? 2 : 1 + (unsigned)(seed % SIM_HOSTS));
	if (!arena)
		arena = calloc(SIDES, per_side);
	memset(&w, 0, sizeof(w));
	w.upset = upset;
	w.starving = sim_chance(250);
	w.srq = sim_chance(300);
	if (!sim_chance(200))
		sim.faults = (struct sim_faults){
			.loss = sim_random(sim_most_loss(seed)),
			.copy = sim_random(60),
			.late = sim_random(100),
			.damage = sim_random(sim_most_loss(seed) / 3),
		};
	sim.faults.full = sim_chance(300) ? sim_random(200) : 0;
	sim.faults.latency_ns = (uint32_t)SIM_US * (1 + sim_random(40));
	sim.faults.late_ns = (uint32_t)SIM_US * (1 + sim_random(3000));
	/* Longer than all retries together: what is not lost must not look like it. */
	if (!upset && sim_chance(300)) {
		sim.faults.stall = 1;
		sim.faults.stall_ns = 3000 * SIM_MS;
	}
}

void sim_reliable(uint64_t seed)
{
	common_begin("reliable", seed, NULL);
	w.xrc = !w.srq && sim_chance(300);
	world_begin(1 + sim_random(SIDES / 2), 20 + sim_random(60));
	/* Hosts that stall take their time. */
	sim_run(program, sim.faults.stall ? 600000 * SIM_MS : 60000 * SIM_MS);
	for (unsigned i = 0; i < w.count; i++)
		SIM_CHECK(w.sides[i].messages_seen == w.sides[i].messages_posted,
			  "messages were lost");
	check_counters();
	if (sim_chance(500))
		sim_drain();
	world_end();
	sim_end();
}

/* Upsets: what a program may do to the victim, side 0, in the middle of everything. */

static void dereg_source(struct side *victim)
{
	put_mr(victim->mr[SOURCE]);
	victim->mr[SOURCE] = NULL;
}

static void dereg_target(struct side *victim)
{
	put_mr(victim->mr[TARGET]);
	victim->mr[TARGET] = NULL;
}

static void dereg_send(struct side *victim)
{
	put_mr(victim->mr[SEND]);
	victim->mr[SEND] = NULL;
}

static void dereg_result(struct side *victim)
{
	put_mr(victim->mr[RESULT]);
	victim->mr[RESULT] = NULL;
}

static void dereg_receives(struct side *victim)
{
	/* One at least must be posted, or the peer would wait for ever. */
	post_recv(victim->pool);
	put_mr(victim->pool->mr);
	victim->pool->mr = NULL;
	victim->pool->stopped = true;
}

static void shrink_source(struct side *victim)
{
	SIM_CHECK(!rvt_rereg_mr(victim->mr[SOURCE], RVT_REREG_TRANSLATION, NULL,
				(uintptr_t)victim->memory[SOURCE], SLOT, 0),
		  "rereg_mr");
}

static void close_source(struct side *victim)
{
	SIM_CHECK(!rvt_rereg_mr(victim->mr[SOURCE], RVT_REREG_ACCESS, NULL, 0, 0,
				RVT_ACCESS_LOCAL_WRITE),
		  "rereg_mr");
}

static void same_source(struct side *victim)
{
	SIM_CHECK(!rvt_rereg_mr(victim->mr[SOURCE], RVT_REREG_ACCESS, NULL, 0, 0,
				RVT_ACCESS_REMOTE_READ),
		  "rereg_mr");
}

static void close_target(struct side *victim)
{
	SIM_CHECK(!rvt_rereg_mr(victim->mr[TARGET], RVT_REREG_ACCESS, NULL, 0, 0,
				RVT_ACCESS_LOCAL_WRITE),
		  "rereg_mr");
}

static void make_hole(const uint8_t *at, size_t length)
{
	sim.hole_begin = (uintptr_t)at;
	sim.hole_end = sim.hole_begin + length;
}

static void unmap_source(struct side *victim)
{
	make_hole(victim->memory[SOURCE], DEPTH * SLOT);
}

static void unmap_target(struct side *victim)
{
	make_hole(victim->memory[TARGET], DEPTH * SLOT);
}

static void unmap_receives(struct side *victim)
{
	make_hole(victim->pool->memory, RECEIVES * SLOT);
}

static void short_receives(struct side *victim)
{
	victim->pool->length = 40;
}

static void no_receives(struct side *victim)
{
	victim->pool->stopped = true;
}

static void to_error(struct side *victim)
{
	struct rvt_qp_attr attr = { .qp_state = RVT_QPS_ERR };

	SIM_CHECK(!rvt_modify_qp(victim->qp, &attr, RVT_QP_STATE), "to ERR");
}

static void forbid(struct side *victim)
{
	struct rvt_qp_attr attr = { .qp_access_flags = 0, .qp_state = RVT_QPS_RTS };

	SIM_CHECK(!rvt_modify_qp(victim->qp, &attr, RVT_QP_STATE | RVT_QP_ACCESS_FLAGS), "RTS");
}

static void blackout(struct side *victim)
{
	(void)victim;
	sim.faults.loss = 1000;
}

static const struct upset upsets[] = {
	{ "source deregistered", dereg_source, RVT_WC_REM_ACCESS_ERR, 0, 0, 7 },
	{ "target deregistered", dereg_target, RVT_WC_REM_ACCESS_ERR, 0, RVT_WC_LOC_ACCESS_ERR, 7 },
	{ "source shrunk", shrink_source, RVT_WC_REM_ACCESS_ERR, 0, 0, 7 },
	{ "source closed", close_source, RVT_WC_REM_ACCESS_ERR, 0, 0, 7 },
	{ "source registered again", same_source, RVT_WC_REM_ACCESS_ERR, 0, 0, 7 },
	{ "target closed", close_target, RVT_WC_REM_ACCESS_ERR, 0, RVT_WC_LOC_ACCESS_ERR, 7 },
	{ "source unmapped", unmap_source, RVT_WC_REM_ACCESS_ERR, 0, 0, 7 },
	{ "target unmapped", unmap_target, RVT_WC_REM_ACCESS_ERR, 0, RVT_WC_LOC_ACCESS_ERR, 7 },
	{ "send memory deregistered", dereg_send, 0, RVT_WC_LOC_PROT_ERR, 0, 7 },
	{ "result memory deregistered", dereg_result, 0, RVT_WC_LOC_PROT_ERR, 0, 7 },
	{ "receives deregistered", dereg_receives, RVT_WC_REM_OP_ERR, 0, RVT_WC_LOC_PROT_ERR, 7 },
	{ "receives unmapped", unmap_receives, RVT_WC_REM_OP_ERR, 0, RVT_WC_LOC_PROT_ERR, 7 },
	{ "short receives", short_receives, RVT_WC_REM_INV_REQ_ERR, 0, RVT_WC_LOC_LEN_ERR, 7 },
	{ "no receives", no_receives, RVT_WC_RNR_RETRY_EXC_ERR, 0, 0, 3 },
	{ "to error", to_error, 0, 0, 0, 7 },
	{ "rights of the QP taken", forbid, RVT_WC_REM_INV_REQ_ERR, 0, 0, 7 },
	{ "blackout", blackout, 0, 0, 0, 7 },
};

/* After an error the queue pairs are used again, while packets of their former life still come. */
static void begin_again(void)
{
	struct rvt_qp_attr attr = { .qp_state = RVT_QPS_RESET };

	w.upset = NULL;
	w.again = true;
	sim.hole_begin = sim.hole_end = 0;
	if (sim.faults.loss > 100)
		sim.faults.loss = 50;
	memset(w.counter, 0, sizeof(w.counter));
	for (unsigned i = 0; i < w.count; i++) {
		struct side *side = &w.sides[i];
		struct pool *pool = side->pool;

		SIM_CHECK(!rvt_modify_qp(side->qp, &attr, RVT_QP_STATE), "to RESET");
		SIM_CHECK(!rvt_cq_entries(side->recv_cq), "RESET leaves completions");
		for (unsigned area = 0; area < AREAS; area++) {
			put_mr(side->mr[area]);
			reg_area(side, area);
		}
		put_mr(pool->mr);
		pool->mr = sim_reg(side->host, pool->memory, RECEIVES * SLOT,
				   (uintptr_t)pool->memory, RVT_ACCESS_LOCAL_WRITE);
		memset(pool->posted, 0, sizeof(pool->posted));
		pool->head = pool->tail = 0;
		pool->length = SIM_SLICE;
		pool->stopped = false;
		side->posted = side->completed = 0;
		side->messages_posted = side->messages_seen = 0;
		side->counted = side->counted_most = 0;
		side->word = side->model = 0;
		side->quota = 20;
		side->failed = 0;
	}
	for (unsigned i = 0; i < w.count; i += 2)
		pair_begin(&w.sides[i], &w.sides[i + 1]);
}

void sim_errors(uint64_t seed)
{
	const struct upset *upset = &upsets[seed % (sizeof(upsets) / sizeof(upsets[0]))];

	common_begin("errors", seed, upset);
	w.srq = false;
	if (upset->rnr_retry != 7)
		w.starving = false;
	w.upset_at = 5 + sim_random(25);
	world_begin(1 + sim_random(2), 60);
	sim_run(program, 60000 * SIM_MS);
	check_counters();
	if (sim_chance(500)) {
		begin_again();
		sim_run(program, 60000 * SIM_MS);
		check_counters();
	}
	world_end();
	sim_end();
}
