/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unreliable.c - UC and UD: messages may be lost, but never come damaged
 *
 * UC: and never twice, and in order. UD has nothing that would tell a copy; the network makes none
 * there, so that a message that comes twice is the device's fault.
 */
#include <stdlib.h>

#include "sim.h"
#include "wire/grh.h"

#define MESSAGES 300u
#define RECEIVES 16u
#define DEPTH	 16u
#define TARGETS	 64u /* more messages than come between two looks at the queues */
#define GUARD	 64u
#define SLOT	 (SIM_SLICE + 2 * GUARD)
#define MARK	 0xee
#define QKEY	 0x1234567u

struct sent {
	uint32_t length;
	uint64_t seed;
	bool write, seen;
};

static struct end {
	struct sim_host *host;
	struct rvt_qp *qp;
	struct rvt_cq *send_cq, *recv_cq;
	struct rvt_srq *srq;
	struct rvt_mr *mr;
	struct rvt_ah *ah; /* UD: of the other end */
	uint8_t *send, *recv, *target;
	struct end *peer;
	struct sent sent[MESSAGES];
	uint32_t posted, completed;
	uint32_t next; /* the earliest message that may still come from the peer */
	uint32_t got;
	bool receiving[RECEIVES];
	uint32_t receive_length[RECEIVES];
} ends[2];

static bool datagrams;
static uint32_t mtu;

static void post_recv(struct end *end)
{
	struct rvt_sge sge = { .lkey = end->mr->key };
	struct rvt_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };
	uint32_t index = 0, length = SIM_SLICE;
	uint8_t *at;

	while (index < RECEIVES && end->receiving[index])
		index++;
	if (index == RECEIVES)
		return;
	if (datagrams)
		length = mtu + GRH_LENGTH;
	/* Messages that do not fit leave the receive for the next. */
	if (sim_chance(200))
		length = GRH_LENGTH + mtu / 2 + sim_random(mtu / 2);
	at = end->recv + index * SLOT + GUARD;
	memset(at, MARK, length + GUARD);
	sge.addr = (uintptr_t)at;
	sge.length = length;
	wr.wr_id = index;
	end->receiving[index] = true;
	end->receive_length[index] = length;
	if (end->srq)
		SIM_CHECK(!rvt_post_srq_recv(end->srq, &wr), "post_srq_recv");
	else
		SIM_CHECK(!rvt_post_recv(end->qp, &wr), "post_recv");
}

static void post_send(struct end *end)
{
	uint32_t number = end->posted++;
	struct sent *sent = &end->sent[number];
	uint8_t *at = end->send + (number % DEPTH) * SLOT;
	struct rvt_sge sge = { (uintptr_t)at, 0, end->mr->key };
	struct rvt_send_wr wr = {
		.wr_id = number,
		.opcode = RVT_WR_SEND_WITH_IMM,
		.send_flags = RVT_SEND_SIGNALED,
		.sg_list = &sge,
		.num_sge = 1,
		.imm_data = number,
		.ah = end->ah,
		.remote_qpn = end->peer->qp->number,
		.remote_qkey = sim_chance(300) ? 0x80000000u : QKEY,
	};

	sent->seed = random_next(&sim.random);
	if (datagrams)
		sent->length = sim_random(mtu + 1);
	else
		sent->length = sim_chance(500) ? sim_random(64) : sim_random(12 * mtu) % SIM_SLICE;
	if (!datagrams && sim_chance(400)) {
		uint8_t *to = end->peer->target + (number % TARGETS) * SLOT;

		sent->write = true;
		wr.opcode = RVT_WR_RDMA_WRITE_WITH_IMM;
		wr.remote_addr = (uintptr_t)to;
		wr.rkey = end->peer->mr->key;
	}
	sge.length = sent->length;
	sim_fill(at, sent->length, sent->seed);
	SIM_CHECK(!rvt_post_send(end->qp, &wr), "post_send");
}

static void check(struct end *end, const struct rvt_wc *wc)
{
	const uint8_t *at = end->recv + (uint32_t)wc->wr_id * SLOT + GUARD;
	uint32_t number = wc->imm_data, before = datagrams ? GRH_LENGTH : 0;
	uint32_t room = end->receive_length[wc->wr_id];
	struct sent *sent;

	SIM_CHECK(wc->status == RVT_WC_SUCCESS, "receive failed: %u", wc->status);
	SIM_CHECK(wc->wr_id < RECEIVES && end->receiving[wc->wr_id], "receive is not posted");
	end->receiving[wc->wr_id] = false;
	SIM_CHECK((wc->wc_flags & RVT_WC_WITH_IMM) && number < end->peer->posted,
		  "a message that nobody sent");
	sent = &end->peer->sent[number];
	SIM_CHECK(!sent->seen, "message %u came twice", number);
	sent->seen = true;
	end->got++;
	SIM_CHECK(wc->byte_len == sent->length + before, "wrong length");
	if (sent->write) {
		at = end->target + (number % TARGETS) * SLOT;
	} else {
		SIM_CHECK(wc->byte_len <= room, "it does not fit");
		for (uint32_t i = 0; i < GUARD; i++)
			SIM_CHECK(at[room + i] == MARK, "received too much");
	}
	SIM_CHECK(sim_same(at + before, sent->length, sent->seed),
		  "message %u (%s, %u bytes) is damaged", number, sent->write ? "write" : "send",
		  sent->length);
	if (!datagrams) {
		SIM_CHECK(number >= end->next, "message %u came after %u", number, end->next - 1);
		end->next = number + 1;
		return;
	}
	SIM_CHECK(wc->src_qp == end->peer->qp->number, "wrong source QP");
	SIM_CHECK(wc->wc_flags & RVT_WC_GRH, "no GRH");
	if (gid_is_ipv4(&end->host->port.gids[0]))
		SIM_CHECK(at[20] == 0x45 && at[29] == 17, "no IPv4 header");
	else
		SIM_CHECK(at[0] >> 4 == 6 && at[6] == 17, "no IPv6 header");
}

static bool program(void)
{
	bool done = true;

	for (unsigned i = 0; i < 2; i++) {
		struct end *end = &ends[i];
		struct rvt_wc wc;

		while (rvt_poll_cq(end->recv_cq, 1, &wc) == 1)
			check(end, &wc);
		while (rvt_poll_cq(end->send_cq, 1, &wc) == 1) {
			SIM_CHECK(wc.status == RVT_WC_SUCCESS && wc.wr_id == end->completed,
				  "send %u: status %u", end->completed, wc.status);
			end->completed++;
		}
		for (uint32_t n = sim_random(6); n; n--)
			post_recv(end);
		if (sim_chance(400)) {
			for (uint32_t n = sim_random(4); n && end->posted < MESSAGES; n--)
				if (end->posted - end->completed < DEPTH)
					post_send(end);
			rvt_send_pending(end->qp);
		}
		if (end->completed != MESSAGES || !sim_idle())
			done = false;
	}
	if (!done)
		sim_wake(sim_random(200) * SIM_US + 1);
	return done;
}

static void end_begin(struct end *end, struct sim_host *host, uint8_t *memory, bool srq)
{
	uint32_t max_wr = RECEIVES, max_sge = 4;

	memset(end, 0, sizeof(*end));
	end->host = host;
	end->send = memory;
	end->recv = end->send + DEPTH * SLOT;
	end->target = end->recv + RECEIVES * SLOT;
	end->mr = sim_reg(host, memory, (DEPTH + RECEIVES + TARGETS) * SLOT, (uintptr_t)memory,
			  RVT_ACCESS_LOCAL_WRITE | RVT_ACCESS_REMOTE_WRITE);
	SIM_CHECK(!rvt_create_cq(host->context, 2 * DEPTH, &end->send_cq), "cq");
	SIM_CHECK(!rvt_create_cq(host->context, 2 * RECEIVES, &end->recv_cq), "cq");
	if (srq)
		SIM_CHECK(!rvt_create_srq(host->pd, &max_wr, &max_sge, 0, &end->srq), "srq");
}

static void end_end(struct end *end)
{
	if (end->ah)
		SIM_CHECK(!rvt_destroy_ah(end->ah), "destroy_ah");
	SIM_CHECK(!rvt_destroy_qp(end->qp), "destroy_qp");
	SIM_CHECK(!rvt_destroy_cq(end->send_cq), "destroy_cq");
	SIM_CHECK(!rvt_destroy_cq(end->recv_cq), "destroy_cq");
	if (end->srq)
		SIM_CHECK(!rvt_destroy_srq(end->srq), "destroy_srq");
	SIM_CHECK(!rvt_dereg_mr(end->mr), "dereg_mr");
}

static void connect_ends(void)
{
	struct sim_qp_options options = {
		.type = datagrams ? RVT_QPT_UD : RVT_QPT_UC,
		.depth = DEPTH,
		.recv_depth = RECEIVES,
		.mtu = datagrams ? RVT_MTU_4096 : (enum rvt_mtu)(1 + sim_random(5)),
		.qkey = QKEY,
	};
	uint32_t psn[2] = { sim_random(1 << 24), 0xfffff0 };

	mtu = 128u << options.mtu;
	for (unsigned i = 0; i < 2; i++) {
		struct rvt_ah_attr ah = { .is_global = true, .port_num = 1, .hop_limit = 64 };

		ends[i].peer = &ends[1 - i];
		options.send_cq = ends[i].send_cq;
		options.recv_cq = ends[i].recv_cq;
		options.srq = ends[i].srq;
		ends[i].qp = sim_create_qp(ends[i].host, &options);
		ah.dgid = ends[1 - i].host->port.gids[0];
		if (datagrams)
			SIM_CHECK(!rvt_create_ah(ends[i].host->pd, &ah, &ends[i].ah), "create_ah");
	}
	for (unsigned i = 0; i < 2; i++)
		sim_connect(ends[i].host, ends[i].qp, &options, ends[1 - i].host, ends[1 - i].qp,
			    psn[i], psn[1 - i]);
}

static void run(const char *name, uint64_t seed)
{
	static uint8_t *arena;
	size_t size = (DEPTH + RECEIVES + TARGETS) * SLOT;
	bool clean;

	sim_begin(name, seed, 2);
	if (!arena)
		arena = malloc(2 * size);
	clean = sim_chance(300);
	if (!clean)
		sim.faults = (struct sim_faults){
			.loss = sim_random(60),
			.copy = datagrams ? 0 : sim_random(60),
			.late = sim_random(60),
			.damage = sim_random(30),
			.full = sim_random(100),
		};
	sim.faults.latency_ns = (uint32_t)SIM_US * (1 + sim_random(40));
	sim.faults.late_ns = (uint32_t)SIM_US * (1 + sim_random(300));
	for (unsigned i = 0; i < 2; i++)
		end_begin(&ends[i], &sim.hosts[i], arena + i * size, sim_chance(300));
	connect_ends();
	sim_run(program, 20000 * SIM_MS);
	for (unsigned i = 0; i < 2; i++)
		SIM_CHECK(ends[i].got, "nothing arrives");
	for (unsigned i = 0; i < 2; i++)
		end_end(&ends[i]);
	sim_end();
}

void sim_unreliable(uint64_t seed)
{
	datagrams = false;
	run("unreliable", seed);
}

void sim_datagrams(uint64_t seed)
{
	datagrams = true;
	run("datagrams", seed);
}
