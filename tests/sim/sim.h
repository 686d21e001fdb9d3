/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim.h - hosts with real devices and engines, a network that loses, copies, delays and damages
 * packets, and one clock, which is a number
 *
 * All chance comes from one seed, so that what went wrong once goes wrong again.
 */
#ifndef SIM_H
#define SIM_H

#include "roce/qp.h"

#define SIM_HOSTS 3
#define SIM_US	  1000ull
#define SIM_MS	  1000000ull
#define SIM_SLICE 65536u /* the largest message */

/* Chances in 1000 for each packet. */
struct sim_faults {
	unsigned loss, copy, late, damage;
	unsigned full;	/* the link has no room now */
	unsigned stall; /* a host gets no processor for a while, at most stall_ns; per packet for it
			 */
	uint64_t stall_ns;
	uint32_t latency_ns, late_ns;
};

struct sim_host {
	struct restrack_root restrack;
	struct rvt_device device;
	struct roce_engine engine;
	struct rvt_port port;
	struct rvt_context *context;
	struct rvt_pd *pd;
	uint64_t counters[RVT_COUNTERS];
	uint32_t events[RVT_EVENT_GID_CHANGE + 1];
	/* The packet that is being written. */
	struct sim_packet *open;
	struct roce_flow open_flow;
	uint64_t stalled_until_ns;
	unsigned unread; /* packets that came meanwhile */
	uint32_t index;
};

struct sim_stats {
	uint64_t sent, lost, copied, late, damaged, hidden, delivered, stalls;
};

extern struct sim {
	struct random random;
	uint64_t seed;
	const char *scenario;
	uint64_t now_ns;
	struct sim_faults faults;
	struct sim_host hosts[SIM_HOSTS];
	unsigned host_count;
	struct sim_stats stats; /* of all seeds */
	int64_t allocations;
	uint64_t causes[RVT_VERDICT_COUNT]; /* of all seeds */
	enum rvt_verdict cause;		    /* of this seed, the last one that ended something */
	uint64_t cause_values[2];
	/* A range that the program unmapped, or 0, 0. */
	uint64_t hole_begin, hole_end;
	uint64_t wake_ns;	 /* the program wants to run then */
	uint64_t apart_until_ns; /* nothing arrives until then */
} sim;

_Noreturn void sim_fail(const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
#define SIM_CHECK(condition, ...)             \
 do {                                         \
  if (!(condition))                           \
   sim_fail(__FILE__, __LINE__, __VA_ARGS__); \
 } while (0)

static inline uint32_t sim_random(uint32_t limit)
{
	return random_below(&sim.random, limit);
}

static inline bool sim_chance(unsigned in_1000)
{
	return sim_random(1000) < in_1000;
}

/*
 * Retries are counted, so at ten percent of loss one transfer in a million fails as it should.
 * Where millions run, less is lost.
 */
static inline unsigned sim_most_loss(uint64_t seed)
{
	return seed > 100000 ? 30 : 100;
}

/** sim_begin() - @hosts new hosts, an empty network; chance starts at @seed. */
void sim_begin(const char *scenario, uint64_t seed, unsigned hosts);
/** sim_end() - everything the program made is gone; checks that the hosts leak nothing. */
void sim_end(void);
/**
 * sim_run() - let time pass until @program, which is called all the time, returns true. Fails when
 * nothing is left that could happen, or after @limit_ns.
 */
void sim_run(bool (*program)(void), uint64_t limit_ns);
/** sim_wake() - @program wants to be called again @ns from now. */
void sim_wake(uint64_t ns);
/** sim_drain() - deliver what is still on its way. */
void sim_drain(void);
/** sim_idle() - no packet is on its way. */
bool sim_idle(void);

void *sim_allocate(size_t size);
void sim_release(void *memory);

/** sim_fill() - @length bytes that follow from @seed; sim_same() - are they there? */
void sim_fill(void *to, uint32_t length, uint64_t seed);
bool sim_same(const void *from, uint32_t length, uint64_t seed);

struct sim_qp_options {
	enum rvt_qp_type type;
	struct rvt_cq *send_cq, *recv_cq;
	struct rvt_srq *srq;
	struct rvt_xrcd *xrcd; /* XRC_TGT */
	uint32_t depth, recv_depth;
	enum rvt_mtu mtu;
	uint8_t max_rd_atomic, max_dest_rd_atomic, rnr_retry, retry_cnt, timeout;
	uint32_t qkey;
};

struct rvt_qp *sim_create_qp(struct sim_host *host, const struct sim_qp_options *options);
/** sim_connect() - to RTS with @peer as the other end (RC, UC, XRC); UD: @peer is NULL. */
void sim_connect(struct sim_host *host, struct rvt_qp *qp, const struct sim_qp_options *options,
		 struct sim_host *peer_host, struct rvt_qp *peer, uint32_t psn, uint32_t peer_psn);
struct rvt_mr *sim_reg(struct sim_host *host, void *memory, uint64_t length, uint64_t iova,
		       uint32_t access);

/* The scenarios; each is one run with one seed. */
void sim_reliable(uint64_t seed);
void sim_errors(uint64_t seed);
void sim_unreliable(uint64_t seed);
void sim_datagrams(uint64_t seed);
void sim_groups(uint64_t seed);
void sim_program(uint64_t seed);

#endif
