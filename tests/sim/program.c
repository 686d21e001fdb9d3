/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.c - a random program of verbs over one connection, with everything that may happen to it,
 * against model.c
 *
 * The program is made from the seed before it runs: a list of steps. So when it fails, steps can be
 * left out, and faults of the network too, as long as it still fails; what is left is printed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "model.h"
#include "sim.h"

#define GUARD 64u
#define SLOT  (SIM_SLICE + 2 * GUARD)
#define MARK  0xee
#define STEPS 120u
#define MS    SIM_MS

enum area {
	SEND,	 /* what is sent and written; never changes while a request uses it */
	RESULT,	 /* where READs and atomics put what they bring */
	TARGET,	 /* written to by the other side */
	SOURCE,	 /* read by it */
	RECEIVE, /* receive buffers */
	AREAS
};

enum kind {
	POST,	    /* value: length; detail: opcode */
	LISTEN,	    /* post receives; value: how many */
	PAUSE,	    /* value: microseconds */
	DEREGISTER, /* and register anew; detail: area */
	REREGISTER, /* where it was, with the same rights; detail: area */
	FORBID,	    /* the same without the rights that it needs; detail: area */
	TO_ERROR,
	RESTART,   /* both queue pairs: RESET and connected again */
	REPLACE,   /* both queue pairs: destroyed, and others connected */
	PARTITION, /* value: microseconds */
	STALL,	   /* a host gets no processor; value: microseconds */
	KINDS
};

static const char *const kind_names[KINDS] = {
	"post",	    "listen",  "pause",	  "deregister", "reregister", "forbid",
	"to error", "restart", "replace", "partition",	"stall",
};

struct step {
	enum kind kind;
	uint8_t side, detail;
	bool unsignaled, fenced;
	uint32_t value;
};

struct script {
	struct step steps[STEPS];
	unsigned count;
	struct sim_faults faults;
	uint8_t mtu, rd_atomic;
	uint32_t psn;
};

struct side {
	struct sim_host *host;
	struct rvt_qp *qp;
	struct rvt_cq *send_cq, *recv_cq;
	struct rvt_mr *mr[AREAS];
	uint8_t *memory[AREAS];
	uint64_t counter; /* that the other side adds to */
	struct rvt_mr *counter_mr;
	struct model_side model;
	bool listening[MODEL_RECEIVES];
	bool clean[MODEL_RECEIVES]; /* the buffer is all MARK */
};

static struct {
	struct side sides[2];
	const struct script *script;
	unsigned next; /* step */
	uint64_t wait_until_ns;
	unsigned lives;	   /* of the queue pairs so far */
	uint64_t apart_ns; /* how long the hosts could not talk in this life */
} w;

static uint8_t *arena;

static const uint32_t rights[AREAS] = {
	[SEND] = 0,
	[RESULT] = RVT_ACCESS_LOCAL_WRITE,
	[TARGET] = RVT_ACCESS_LOCAL_WRITE | RVT_ACCESS_REMOTE_WRITE,
	[SOURCE] = RVT_ACCESS_REMOTE_READ,
	[RECEIVE] = RVT_ACCESS_LOCAL_WRITE,
};

static struct side *other(const struct side *side)
{
	return &w.sides[side == w.sides];
}

static uint8_t *slot(const struct side *side, enum area area, uint32_t number)
{
	return side->memory[area] + (size_t)(number % MODEL_DEPTH) * SLOT + GUARD;
}

static void reg(struct side *side, enum area area, uint32_t access)
{
	side->mr[area] = sim_reg(side->host, side->memory[area], MODEL_DEPTH * SLOT,
				 (uintptr_t)side->memory[area], access);
}

/* Making a program. */

static uint32_t some_length(uint32_t mtu)
{
	static const uint32_t small[] = { 0, 1, 2, 3, 4, 8, 63, 64, 65 };
	uint32_t pick = sim_random(100);

	if (pick < 30)
		return small[sim_random(sizeof(small) / sizeof(small[0]))];
	if (pick < 80)
		return mtu * (1 + sim_random(6)) + sim_random(3) - 1;
	return sim_random(SIM_SLICE + 1);
}

static enum kind some_kind(bool calm)
{
	uint32_t pick = sim_random(1000);

	if (pick < 500)
		return POST;
	if (pick < 700)
		return LISTEN;
	if (pick < 880 || calm)
		return PAUSE;
	return (enum kind)(DEREGISTER + sim_random(KINDS - DEREGISTER));
}

static void write_script(struct script *script)
{
	static const uint8_t opcodes[] = {
		RVT_WR_SEND,
		RVT_WR_SEND,
		RVT_WR_SEND_WITH_IMM,
		RVT_WR_RDMA_WRITE,
		RVT_WR_RDMA_WRITE,
		RVT_WR_RDMA_READ,
		RVT_WR_RDMA_WRITE_WITH_IMM,
		RVT_WR_ATOMIC_FETCH_AND_ADD,
		RVT_WR_RDMA_READ,
		RVT_WR_ATOMIC_WRITE,
	};
	bool calm = sim_chance(200);

	*script = (struct script){
		.count = 20 + sim_random(STEPS - 20),
		.mtu = (uint8_t)(1 + sim_random(5)),
		.rd_atomic = (uint8_t)(1 + sim_random(4)),
		.psn = sim_chance(500) ? 0xffffc0 + sim_random(64) : sim_random(1 << 24),
	};
	if (sim_chance(700))
		script->faults =
			(struct sim_faults){ .loss = sim_random(sim_most_loss(sim.seed)),
					     .copy = sim_random(60),
					     .late = sim_random(100),
					     .damage = sim_random(sim_most_loss(sim.seed) / 3),
					     .full = sim_chance(300) ? sim_random(200) : 0 };
	script->faults.latency_ns = (uint32_t)SIM_US * (1 + sim_random(40));
	script->faults.late_ns = (uint32_t)SIM_US * (1 + sim_random(3000));
	for (unsigned i = 0; i < script->count; i++) {
		struct step *step = &script->steps[i];

		step->kind = some_kind(calm);
		step->side = (uint8_t)sim_random(2);
		step->detail = (uint8_t)sim_random(AREAS);
		switch (step->kind) {
		case POST:
			step->detail = opcodes[sim_random(sizeof(opcodes))];
			step->value = some_length(128u << script->mtu);
			step->unsignaled = sim_chance(300);
			step->fenced = sim_chance(100);
			break;
		case LISTEN:
			step->value = 1 + sim_random(4);
			break;
		case PAUSE:
			step->value = sim_random(sim_chance(100) ? 100000 : 200);
			break;
		case PARTITION:
		case STALL:
			step->value = sim_random(sim_chance(300) ? 3000000 : 30000);
			break;
		default:
			break;
		}
	}
}

static void print_script(const struct script *script)
{
	const struct sim_faults *f = &script->faults;

	printf("# MTU %u, first PSN 0x%x, max_rd_atomic %u; in 1000 packets: %u lost, %u copied, %u late, %u damaged, %u times "
	       "no room\n",
	       128u << script->mtu, script->psn, script->rd_atomic, f->loss, f->copy, f->late,
	       f->damage, f->full);
	for (unsigned i = 0; i < script->count; i++) {
		const struct step *step = &script->steps[i];

		printf("#   %c: %s", 'A' + step->side, kind_names[step->kind]);
		if (step->kind == POST)
			printf(" opcode %u, %u bytes%s%s", step->detail, step->value,
			       step->unsignaled ? ", unsignaled" : "",
			       step->fenced ? ", fenced" : "");
		else if (step->kind == LISTEN)
			printf(" %u", step->value);
		else if (step->kind == PAUSE || step->kind == PARTITION || step->kind == STALL)
			printf(" %u us", step->value);
		else if (step->kind <= FORBID)
			printf(" area %u", step->detail);
		printf("\n");
	}
}

/* Running it. */

static bool marked(const uint8_t *at, uint32_t length)
{
	for (uint32_t i = 0; i < length; i++) {
		if (at[i] != MARK)
			return false;
	}
	return true;
}

static const char *verify(void *context, uint32_t sequence, const struct model_request *request)
{
	struct side *side = context, *peer = other(side);
	const uint8_t *at;
	uint64_t value;

	switch (request->opcode) {
	case RVT_WR_RDMA_WRITE:
	case RVT_WR_RDMA_WRITE_WITH_IMM:
	case RVT_WR_ATOMIC_WRITE:
		at = slot(peer, TARGET, sequence);
		break;
	case RVT_WR_RDMA_READ:
		at = slot(side, RESULT, sequence);
		break;
	case RVT_WR_ATOMIC_FETCH_AND_ADD:
		memcpy(&value, slot(side, RESULT, sequence), sizeof(value));
		return model_added(&side->model, value);
	default:
		return NULL;
	}
	if (!sim_same(at, request->length, request->seed))
		return "data came out wrong";
	return marked(at + request->length, GUARD) ? NULL : "too much was written";
}

static void check(const struct side *side, const char *wrong, enum rvt_wc_status status)
{
	SIM_CHECK(!wrong, "side %c, before step %u: %s (status %u)", 'A' + (char)(side - w.sides),
		  w.next, wrong, status);
}

static void poll_side(struct side *side)
{
	const struct model_request *message;
	struct rvt_wc wc;

	while (rvt_poll_cq(side->recv_cq, 1, &wc) == 1) {
		uint32_t buffer = (uint32_t)wc.wr_id;
		const uint8_t *at = slot(side, RECEIVE, buffer);

		check(side, model_hear(&side->model, buffer, wc.status, &message), wc.status);
		side->listening[buffer] = false;
		side->clean[buffer] = false;
		if (!message)
			continue;
		if (message->opcode == RVT_WR_RDMA_WRITE_WITH_IMM) {
			side->clean[buffer] = true;
			continue;
		}
		SIM_CHECK(wc.byte_len == message->length &&
				  sim_same(at, message->length, message->seed) &&
				  marked(at + message->length, GUARD),
			  "a message of %u bytes came out wrong", message->length);
		memset(slot(side, RECEIVE, buffer), MARK, message->length);
		side->clean[buffer] = true;
	}
}

static void poll_sends(struct side *side)
{
	struct rvt_wc wc;

	while (rvt_poll_cq(side->send_cq, 1, &wc) == 1)
		check(side,
		      model_end(&side->model, &other(side)->model, (uint32_t)wc.wr_id, wc.status,
				verify, side),
		      wc.status);
}

static void post(struct side *side, const struct step *step)
{
	struct side *peer = other(side);
	uint32_t number = side->model.posted;
	struct model_request request = {
		.opcode = (enum rvt_opcode)step->detail,
		.length = step->value,
		.seed = sim.seed * 1000003 + w.next,
		/* A queue of which nothing is told fills up for ever. */
		.signaled = !step->unsignaled || number % (MODEL_DEPTH / 2) == 0,
	};
	struct rvt_sge sge = { (uintptr_t)slot(side, SEND, number), request.length,
			       side->mr[SEND]->key };
	struct rvt_send_wr wr = {
		.wr_id = number,
		.opcode = request.opcode,
		.send_flags = (request.signaled ? RVT_SEND_SIGNALED : 0u) |
			      (step->fenced ? RVT_SEND_FENCE : 0u),
		.sg_list = &sge,
		.num_sge = 1,
		.imm_data = number,
	};
	uint8_t *remote = slot(peer, TARGET, number);

	if (side->qp->state != RVT_QPS_RTS && side->qp->state != RVT_QPS_ERR)
		return;
	if (!model_room(&side->model, &peer->model, request.opcode))
		return;
	if (request.opcode == RVT_WR_ATOMIC_FETCH_AND_ADD || request.opcode == RVT_WR_ATOMIC_WRITE)
		sge.length = request.length = 8;
	sim_fill(slot(side, SEND, number), request.length, request.seed);
	wr.remote_addr = (uintptr_t)remote;
	wr.rkey = peer->mr[TARGET]->key;
	switch (request.opcode) {
	case RVT_WR_RDMA_READ:
		sim_fill(slot(peer, SOURCE, number), request.length, request.seed);
		wr.remote_addr = (uintptr_t)slot(peer, SOURCE, number);
		wr.rkey = peer->mr[SOURCE]->key;
		__attribute__((fallthrough));
	case RVT_WR_ATOMIC_FETCH_AND_ADD:
		sge.addr = (uintptr_t)slot(side, RESULT, number);
		sge.lkey = side->mr[RESULT]->key;
		memset(slot(side, RESULT, number), MARK, request.length + GUARD);
		break;
	default:
		/* What is in error writes nothing, and an old one may still be on its way to that
		 * place. */
		memset(remote, MARK, request.length + GUARD);
		break;
	}
	if (request.opcode == RVT_WR_ATOMIC_FETCH_AND_ADD) {
		wr.remote_addr = (uintptr_t)&peer->counter;
		wr.rkey = peer->counter_mr->key;
		wr.compare_add = 1;
	}
	SIM_CHECK(!rvt_post_send(side->qp, &wr), "post_send in state %u", side->qp->state);
	(void)model_post(&side->model, &peer->model, &request);
	rvt_send_pending(side->qp);
}

static void listen_for(struct side *side, uint32_t count)
{
	for (uint32_t i = 0; i < MODEL_RECEIVES && count; i++) {
		struct rvt_sge sge = { (uintptr_t)slot(side, RECEIVE, i), SIM_SLICE,
				       side->mr[RECEIVE]->key };
		struct rvt_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 };

		if (side->listening[i])
			continue;
		if (!side->clean[i])
			memset(slot(side, RECEIVE, i), MARK, SIM_SLICE + GUARD);
		side->clean[i] = false;
		/* It may end at once, when the queue pair is in error. */
		model_receive(&side->model, i);
		side->listening[i] = true;
		SIM_CHECK(!rvt_post_recv(side->qp, &wr), "post_recv");
		count--;
	}
}

/* The connection may fail now: on @side with @own, on the other with @peer. */
static void may_fail(struct side *side, enum rvt_wc_status own, enum rvt_wc_status peer)
{
	struct side *sides[2] = { side, other(side) };

	for (unsigned i = 0; i < 2; i++) {
		model_excuse(&sides[i]->model, RVT_WC_WR_FLUSH_ERR);
		model_excuse(&sides[i]->model, RVT_WC_RETRY_EXC_ERR);
		sides[i]->model.receive_excuses |= 1u << RVT_WC_WR_FLUSH_ERR;
	}
	model_excuse(&side->model, own);
	model_excuse(&sides[1]->model, peer);
}

static void change_area(struct side *side, enum area area, enum kind kind)
{
	static const struct {
		enum rvt_wc_status own, peer;
	} errors[AREAS] = {
		[SEND] = { RVT_WC_LOC_PROT_ERR, RVT_WC_WR_FLUSH_ERR },
		[RESULT] = { RVT_WC_LOC_PROT_ERR, RVT_WC_WR_FLUSH_ERR },
		[TARGET] = { RVT_WC_WR_FLUSH_ERR, RVT_WC_REM_ACCESS_ERR },
		[SOURCE] = { RVT_WC_WR_FLUSH_ERR, RVT_WC_REM_ACCESS_ERR },
		[RECEIVE] = { RVT_WC_WR_FLUSH_ERR, RVT_WC_REM_OP_ERR },
	};

	may_fail(side, errors[area].own, errors[area].peer);
	/* A WRITE with immediate had taken its receive. */
	if (area == TARGET)
		side->model.receive_excuses |= 1u << RVT_WC_LOC_ACCESS_ERR;
	if (area == RECEIVE)
		side->model.receive_excuses |= 1u << RVT_WC_LOC_PROT_ERR;
	if (kind == DEREGISTER) {
		SIM_CHECK(!rvt_dereg_mr(side->mr[area]), "dereg_mr");
		reg(side, area, rights[area]);
		return;
	}
	/* Without rights there is nothing to forbid for what is only read here. */
	SIM_CHECK(!rvt_rereg_mr(side->mr[area], RVT_REREG_ACCESS, NULL, 0, 0,
				kind == FORBID ? 0 : rights[area]),
		  "rereg_mr");
}

static struct sim_qp_options options_of(const struct side *side)
{
	return (struct sim_qp_options){
		.type = RVT_QPT_RC,
		.send_cq = side->send_cq,
		.recv_cq = side->recv_cq,
		.depth = MODEL_DEPTH,
		.recv_depth = MODEL_RECEIVES,
		.mtu = (enum rvt_mtu)w.script->mtu,
		.max_rd_atomic = w.script->rd_atomic,
		.max_dest_rd_atomic = w.script->rd_atomic,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.timeout = 12,
	};
}

/* @replace: with other queue pairs. Each life begins far from where the last one ended. */
static void connect_both(bool replace)
{
	struct rvt_qp_attr attr = { .qp_state = RVT_QPS_RESET };
	uint32_t psn[2];

	for (unsigned i = 0; i < 2; i++) {
		struct side *side = &w.sides[i];
		struct sim_qp_options options = options_of(side);

		psn[i] = (w.script->psn + w.lives * 0x155555 + i * 0x400000) & 0xffffff;
		if (side->qp && replace) {
			SIM_CHECK(!rvt_destroy_qp(side->qp), "destroy_qp");
			side->qp = NULL;
		}
		if (side->qp)
			SIM_CHECK(!rvt_modify_qp(side->qp, &attr, RVT_QP_STATE), "to RESET");
		else
			side->qp = sim_create_qp(side->host, &options);
		SIM_CHECK(!rvt_cq_entries(side->send_cq) && !rvt_cq_entries(side->recv_cq),
			  "completions of a former life");
		memset(side->listening, 0, sizeof(side->listening));
	}
	for (unsigned i = 0; i < 2; i++) {
		struct sim_qp_options options = options_of(&w.sides[i]);

		sim_connect(w.sides[i].host, w.sides[i].qp, &options, w.sides[1 - i].host,
			    w.sides[1 - i].qp, psn[i], psn[1 - i]);
	}
	w.lives++;
	model_restart(&w.sides[0].model, &w.sides[1].model);
}

/* Eight times 16 ms are waited for, less what other losses cost. */
static void apart(void)
{
	if (sim.apart_until_ns > sim.now_ns)
		w.apart_ns += sim.apart_until_ns - sim.now_ns;
	if (w.apart_ns > 50 * MS)
		may_fail(&w.sides[0], RVT_WC_RETRY_EXC_ERR, RVT_WC_RETRY_EXC_ERR);
}

static void restart(bool replace)
{
	for (unsigned i = 0; i < 2; i++) {
		for (unsigned area = 0; area < AREAS; area++)
			SIM_CHECK(!rvt_rereg_mr(w.sides[i].mr[area], RVT_REREG_ACCESS, NULL, 0, 0,
						rights[area]),
				  "rereg_mr");
	}
	connect_both(replace);
	w.apart_ns = 0;
	apart();
}

static void take(const struct step *step)
{
	struct side *side = &w.sides[step->side];

	switch (step->kind) {
	case POST:
		post(side, step);
		break;
	case LISTEN:
		listen_for(side, step->value);
		break;
	case PAUSE:
		w.wait_until_ns = sim.now_ns + step->value * SIM_US;
		break;
	case DEREGISTER:
	case REREGISTER:
	case FORBID:
		change_area(side, (enum area)step->detail, step->kind);
		break;
	case TO_ERROR: {
		struct rvt_qp_attr attr = { .qp_state = RVT_QPS_ERR };

		may_fail(side, RVT_WC_WR_FLUSH_ERR, RVT_WC_RETRY_EXC_ERR);
		SIM_CHECK(!rvt_modify_qp(side->qp, &attr, RVT_QP_STATE), "to ERR");
		break;
	}
	case RESTART:
	case REPLACE:
		restart(step->kind == REPLACE);
		break;
	case PARTITION:
		sim.apart_until_ns = sim.now_ns + step->value * SIM_US;
		apart();
		break;
	default:
		side->host->stalled_until_ns = sim.now_ns + step->value * SIM_US;
		break;
	}
}

/* What was not signaled is known to have ended by the end of what comes after it. */
static void mark_end(struct side *side)
{
	static const struct step last = { .kind = POST, .detail = RVT_WR_RDMA_WRITE };
	const struct model_side *model = &side->model;

	if (!model_done(model) && !model->requests[(model->posted - 1) % MODEL_DEPTH].signaled)
		post(side, &last);
}

static bool program(void)
{
	bool done = true;

	for (unsigned i = 0; i < 2; i++)
		poll_side(&w.sides[i]);
	for (unsigned i = 0; i < 2; i++)
		poll_sends(&w.sides[i]);
	while (w.next < w.script->count && sim.now_ns >= w.wait_until_ns)
		take(&w.script->steps[w.next++]);
	if (w.next < w.script->count) {
		sim_wake(w.wait_until_ns - sim.now_ns);
		return false;
	}
	/* At the end there is a receive for everything. */
	for (unsigned i = 0; i < 2; i++) {
		struct model_side *model = &w.sides[i].model;

		if (w.sides[i].qp->state != RVT_QPS_ERR)
			listen_for(&w.sides[i], MODEL_RECEIVES);
		mark_end(&w.sides[i]);
		/* An error that nobody hears of is found by whoever still waits. */
		done = done && model_done(model);
	}
	if (!done)
		sim_wake(20 * SIM_US);
	return done;
}

static void begin(const struct script *script, uint64_t seed)
{
	uint8_t *memory = arena;

	sim_begin("program", seed, 2);
	memset(&w, 0, sizeof(w));
	w.script = script;
	sim.faults = script->faults;
	for (unsigned i = 0; i < 2; i++) {
		struct side *side = &w.sides[i];

		side->host = &sim.hosts[i];
		for (unsigned area = 0; area < AREAS; area++) {
			side->memory[area] = memory;
			memory += MODEL_DEPTH * SLOT;
			memset(side->memory[area], MARK, MODEL_DEPTH * SLOT);
			reg(side, (enum area)area, rights[area]);
		}
		side->counter_mr = sim_reg(side->host, &side->counter, 8, (uintptr_t)&side->counter,
					   RVT_ACCESS_LOCAL_WRITE | RVT_ACCESS_REMOTE_ATOMIC);
		SIM_CHECK(!rvt_create_cq(side->host->context, 4 * MODEL_DEPTH, &side->send_cq),
			  "cq");
		SIM_CHECK(!rvt_create_cq(side->host->context, 4 * MODEL_RECEIVES, &side->recv_cq),
			  "cq");
	}
	connect_both(false);
}

static void end(void)
{
	for (unsigned i = 0; i < 2; i++) {
		struct side *side = &w.sides[i];
		const struct model_side *model = &other(side)->model;

		SIM_CHECK(side->counter >= model->added && side->counter <= model->added_most,
			  "the counter is %llu, %llu additions ended well, %llu were posted",
			  (unsigned long long)side->counter, (unsigned long long)model->added,
			  (unsigned long long)model->added_most);
		SIM_CHECK(!rvt_destroy_qp(side->qp), "destroy_qp");
		SIM_CHECK(!rvt_destroy_cq(side->send_cq) && !rvt_destroy_cq(side->recv_cq),
			  "destroy_cq");
		for (unsigned area = 0; area < AREAS; area++)
			SIM_CHECK(!rvt_dereg_mr(side->mr[area]), "dereg_mr");
		SIM_CHECK(!rvt_dereg_mr(side->counter_mr), "dereg_mr");
	}
	sim_end();
}

static void run(const struct script *script, uint64_t seed)
{
	begin(script, seed);
	sim_run(program, 300000 * MS);
	if (seed & 2)
		sim_drain();
	end();
}

static time_t give_up;

/* Does it fail? In a child, which says nothing. */
static bool fails(const struct script *script, uint64_t seed)
{
	int status = 0;
	pid_t pid;

	/* Something short now is better than the shortest one later. */
	if (time(NULL) > give_up)
		return false;
	pid = fork();

	if (!pid) {
		if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
			_exit(0);
		alarm(5);
		run(script, seed);
		_exit(0);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && status;
}

static bool without_steps(struct script *script, uint64_t seed, unsigned size)
{
	bool shorter = false;

	for (unsigned at = 0; at < script->count;) {
		struct script candidate = *script;
		unsigned gone = size < script->count - at ? size : script->count - at;

		memmove(&candidate.steps[at], &candidate.steps[at + gone],
			(candidate.count - at - gone) * sizeof(candidate.steps[0]));
		candidate.count -= gone;
		if (fails(&candidate, seed)) {
			*script = candidate;
			shorter = true;
		} else {
			at += gone;
		}
	}
	return shorter;
}

/* Whatever can be left out, or be less, and it still fails. */
static void shrink(struct script *script, uint64_t seed)
{
	unsigned *faults[] = { &script->faults.damage, &script->faults.late, &script->faults.copy,
			       &script->faults.full, &script->faults.loss };

	for (unsigned size = script->count / 2 + 1; size; size /= 2) {
		while (without_steps(script, seed, size))
			;
	}
	for (unsigned i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		unsigned before = *faults[i];

		*faults[i] = 0;
		if (before && !fails(script, seed))
			*faults[i] = before;
	}
	for (unsigned i = 0; i < script->count; i++) {
		uint32_t before = script->steps[i].value;

		for (uint32_t value = 1; value < before; value *= 16) {
			script->steps[i].value = value;
			if (fails(script, seed))
				break;
			script->steps[i].value = before;
		}
	}
}

void sim_program(uint64_t seed)
{
	struct script script;

	if (!arena)
		arena = calloc(2 * AREAS, MODEL_DEPTH * SLOT);
	random_seed(&sim.random, seed ^ 0x70726f6772616d);
	sim.seed = seed;
	write_script(&script);
	/* What would end the process is looked at in a child first. */
	give_up = time(NULL) + 60;
	if (getenv("ADVERB_SIM_SHRINK") && fails(&script, seed)) {
		shrink(&script, seed);
		print_script(&script);
	}
	run(&script, seed);
}
