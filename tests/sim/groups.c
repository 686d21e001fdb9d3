/* SPDX-License-Identifier: Apache-2.0 */
/*
 * groups.c - UD multicast: each member gets each message of its groups at most once, and nobody
 * else does; on a network without faults, each gets all
 */
#include <errno.h>
#include <stdlib.h>

#include "rvt/mcast.h"
#include "sim.h"
#include "wire/grh.h"

#define MEMBERS	 6u /* two on each host */
#define GROUPS	 3u
#define MESSAGES 120u
#define LENGTH	 512u
#define ROOM	 (LENGTH + GRH_LENGTH)
#define QKEY	 0x1234567u

static struct message {
	uint32_t group, sender, length;
	uint64_t seed;
	bool foreign; /* with a Q_Key that nobody has */
} messages[MESSAGES];

static struct member {
	struct sim_host *host;
	struct rvt_qp *qp;
	struct rvt_cq *send_cq, *recv_cq;
	struct rvt_mr *mr;
	struct rvt_ah *ahs[GROUPS];
	uint8_t *receives, *sends;
	bool attached[GROUPS];
	bool seen[MESSAGES];
	uint32_t sent, completed;
} members[MEMBERS];

static uint32_t posted; /* messages, of all */
static bool clean;
static struct rvt_mcast_ops ops;
static int32_t joined;

static int join(void *context, uint32_t interface, const struct gid *mgid)
{
	(void)context, (void)mgid;
	SIM_CHECK(interface, "no interface");
	if (!clean && sim_chance(50))
		return -ENOBUFS;
	joined++;
	return 0;
}

static void leave(void *context, uint32_t interface, const struct gid *mgid)
{
	(void)context, (void)mgid;
	SIM_CHECK(interface, "no interface");
	joined--;
}

static struct gid group_gid(uint32_t group)
{
	struct gid gid = { { 0xff, 0x0e, [15] = (uint8_t)(group + 1) } };

	if (sim.seed & 1)
		gid = (struct gid){
			{ [10] = 0xff, [11] = 0xff, [12] = 239, [15] = (uint8_t)(group + 1) }
		};
	return gid;
}

static void attach(struct member *member, uint32_t group)
{
	struct gid gid = group_gid(group);
	int err = rvt_attach_mcast(member->qp, &gid);

	SIM_CHECK(!err || (!clean && err == -ENODEV), "attach: %d", err);
	if (!err)
		member->attached[group] = true;
}

static void detach(struct member *member, uint32_t group)
{
	struct gid gid = group_gid(group);
	int err = rvt_detach_mcast(member->qp, &gid);

	SIM_CHECK(err == (member->attached[group] ? 0 : -EINVAL), "detach: %d", err);
	member->attached[group] = false;
}

static void member_begin(struct member *member, struct sim_host *host, uint8_t *memory)
{
	struct sim_qp_options options = { .type = RVT_QPT_UD,
					  .depth = MESSAGES,
					  .recv_depth = MESSAGES,
					  .mtu = RVT_MTU_4096,
					  .qkey = QKEY };
	struct rvt_ah_attr attr = { .is_global = true, .port_num = 1, .hop_limit = 64 };

	memset(member, 0, sizeof(*member));
	member->host = host;
	member->receives = memory;
	member->sends = memory + MESSAGES * ROOM;
	member->mr = sim_reg(host, memory, 2 * MESSAGES * ROOM, (uintptr_t)memory,
			     RVT_ACCESS_LOCAL_WRITE);
	SIM_CHECK(!rvt_create_cq(host->context, MESSAGES, &member->send_cq), "cq");
	SIM_CHECK(!rvt_create_cq(host->context, MESSAGES, &member->recv_cq), "cq");
	options.send_cq = member->send_cq;
	options.recv_cq = member->recv_cq;
	member->qp = sim_create_qp(host, &options);
	member->qp->block_self = sim_chance(300);
	sim_connect(host, member->qp, &options, NULL, NULL, sim_random(1 << 24), 0);
	for (uint32_t i = 0; i < MESSAGES; i++) {
		struct rvt_sge sge = { (uintptr_t)(memory + i * ROOM), ROOM, member->mr->key };
		struct rvt_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 };

		SIM_CHECK(!rvt_post_recv(member->qp, &wr), "post_recv");
	}
	for (uint32_t i = 0; i < GROUPS; i++) {
		attr.dgid = group_gid(i);
		SIM_CHECK(!rvt_create_ah(host->pd, &attr, &member->ahs[i]), "create_ah");
		if (sim_chance(600))
			attach(member, i);
	}
}

static void member_end(struct member *member)
{
	bool in = false;

	for (uint32_t i = 0; i < GROUPS; i++) {
		SIM_CHECK(!rvt_destroy_ah(member->ahs[i]), "destroy_ah");
		in |= member->attached[i];
	}
	if (in) {
		SIM_CHECK(rvt_destroy_qp(member->qp) == -EBUSY, "destroyed while attached");
		for (uint32_t i = 0; i < GROUPS; i++)
			detach(member, i);
	}
	SIM_CHECK(!rvt_destroy_qp(member->qp), "destroy_qp");
	SIM_CHECK(!rvt_destroy_cq(member->send_cq), "destroy_cq");
	SIM_CHECK(!rvt_destroy_cq(member->recv_cq), "destroy_cq");
	SIM_CHECK(!rvt_dereg_mr(member->mr), "dereg_mr");
}

static void send(uint32_t sender)
{
	struct member *member = &members[sender];
	struct message *message = &messages[posted];
	uint8_t *at = member->sends + posted * ROOM;
	struct rvt_sge sge = { (uintptr_t)at, 0, member->mr->key };
	struct rvt_send_wr wr = { .opcode = RVT_WR_SEND_WITH_IMM,
				  .send_flags = RVT_SEND_SIGNALED,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .imm_data = posted,
				  .remote_qpn = 0xffffff,
				  .remote_qkey = QKEY };

	*message = (struct message){ sim_random(GROUPS), sender, sim_random(LENGTH + 1),
				     random_next(&sim.random), sim_chance(100) };
	if (message->foreign)
		wr.remote_qkey++;
	wr.ah = member->ahs[message->group];
	sge.length = message->length;
	sim_fill(at, message->length, message->seed);
	SIM_CHECK(!rvt_post_send(member->qp, &wr), "post_send");
	rvt_send_pending(member->qp);
	member->sent++;
	posted++;
}

static bool blocked(const struct member *member, const struct message *message)
{
	return member->qp->block_self && &members[message->sender] == member;
}

/* Membership changes only after all queues were looked at, so it is now as it was when this came.
 */
static void check(struct member *member, const struct rvt_wc *wc)
{
	const uint8_t *at = member->receives + wc->wr_id * ROOM;
	const struct message *message = &messages[wc->imm_data];
	struct gid gid;

	SIM_CHECK(wc->status == RVT_WC_SUCCESS && wc->imm_data < posted, "bad completion");
	SIM_CHECK(!member->seen[wc->imm_data], "message %u came twice", wc->imm_data);
	member->seen[wc->imm_data] = true;
	SIM_CHECK(member->attached[message->group], "it is not in that group");
	SIM_CHECK(!message->foreign, "the Q_Key does not fit");
	SIM_CHECK(!blocked(member, message), "it did not want to hear itself");
	SIM_CHECK(wc->src_qp == members[message->sender].qp->number, "wrong source QP");
	SIM_CHECK(wc->byte_len == message->length + GRH_LENGTH, "wrong length");
	SIM_CHECK(sim_same(at + GRH_LENGTH, message->length, message->seed), "damaged");
	gid = group_gid(message->group);
	if (gid_is_ipv4(&gid))
		SIM_CHECK(!memcmp(at + 36, gid.raw + 12, 4), "the header shows no group");
	else
		SIM_CHECK(!memcmp(at + 24, gid.raw, 16), "the header shows no group");
}

static bool program(void)
{
	uint32_t completed = 0;

	for (uint32_t i = 0; i < MEMBERS; i++) {
		struct member *member = &members[i];
		struct rvt_wc wc;

		while (rvt_poll_cq(member->recv_cq, 1, &wc) == 1)
			check(member, &wc);
		while (rvt_poll_cq(member->send_cq, 1, &wc) == 1) {
			SIM_CHECK(wc.status == RVT_WC_SUCCESS, "send: %u", wc.status);
			member->completed++;
		}
		completed += member->completed;
	}
	if (!clean && sim_chance(300)) {
		struct member *member = &members[sim_random(MEMBERS)];

		if (sim_chance(500))
			attach(member, sim_random(GROUPS));
		else
			detach(member, sim_random(GROUPS));
	}
	for (uint32_t n = sim_random(4); n && posted < MESSAGES; n--)
		send(sim_random(MEMBERS));
	if (completed == MESSAGES && sim_idle())
		return true;
	sim_wake(sim_random(100) * SIM_US + 1);
	return false;
}

static void check_all_came(void)
{
	for (uint32_t i = 0; i < MEMBERS; i++) {
		for (uint32_t m = 0; m < MESSAGES; m++) {
			bool wanted = members[i].attached[messages[m].group] &&
				      !messages[m].foreign && !blocked(&members[i], &messages[m]);

			SIM_CHECK(members[i].seen[m] == wanted, "message %u, member %u", m, i);
		}
	}
}

void sim_groups(uint64_t seed)
{
	static uint8_t *arena;
	size_t size = 2 * MESSAGES * ROOM;
	uint32_t came = 0;

	sim_begin("groups", seed, SIM_HOSTS);
	if (!arena)
		arena = malloc(MEMBERS * size);
	posted = 0;
	joined = 0;
	ops = (struct rvt_mcast_ops){ join, leave, NULL };
	clean = sim_chance(300);
	if (!clean)
		sim.faults = (struct sim_faults){ .loss = sim_random(60),
						  .late = sim_random(60),
						  .damage = sim_random(30),
						  .full = sim_random(100) };
	sim.faults.latency_ns = (uint32_t)SIM_US * (1 + sim_random(40));
	sim.faults.late_ns = (uint32_t)SIM_US * (1 + sim_random(300));
	for (uint32_t i = 0; i < SIM_HOSTS; i++)
		sim.hosts[i].device.mcast = &ops;
	for (uint32_t i = 0; i < MEMBERS; i++)
		member_begin(&members[i], &sim.hosts[i % SIM_HOSTS], arena + i * size);
	sim_run(program, 20000 * SIM_MS);
	if (clean)
		check_all_came();
	for (uint32_t i = 0; i < MEMBERS; i++)
		for (uint32_t m = 0; m < MESSAGES; m++)
			came += members[i].seen[m];
	SIM_CHECK(came, "nothing arrives");
	for (uint32_t i = 0; i < MEMBERS; i++)
		member_end(&members[i]);
	SIM_CHECK(!joined, "%d groups are not left", joined);
	sim_end();
}
