/* SPDX-License-Identifier: Apache-2.0 */
/* qp.h - what the engine keeps for a queue pair, and who inside the engine calls whom (private to
 * roce/) */
#ifndef ROCE_QP_H
#define ROCE_QP_H

#include "roce/engine.h"
#include "wire/packet.h"

#define ROCE_SLOT_SHIFT	     17	 /* QP number >> this: the socket of a host that receives for it */
#define ROCE_PACKET_OVERHEAD 512 /* what a packet costs in a socket buffer besides its payload */

/*
 * The requester's place is (index, psn): the WQE and the next PSN to send. Every packet of a
 * message can be built from its PSN alone, so going back is setting the place.
 */
struct roce_requester {
	uint32_t index;		  /* send queue index of the WQE to send from */
	uint32_t psn;		  /* next to send */
	uint32_t max_psn;	  /* highest ever sent, plus 1 */
	uint32_t una;		  /* oldest not acknowledged */
	uint32_t rd_atomic;	  /* READs and atomics sent and unanswered */
	uint32_t since_ack_req;	  /* packets since one asked for an ACK */
	uint32_t in_flight_bytes; /* this QP's share of peer->in_flight_bytes */
	uint8_t retries_left, rnr_retries_left;
	bool waiting_rnr;  /* nothing is sent before rnr_timer */
	bool waiting_peer; /* on peer->waiting */
	bool waiting_link; /* reserve() gave nothing */
	bool rewound;	   /* went back once since the last progress: the same NAK again is stale */
	bool implied_nak; /* a READ is being asked again: other responses are ignored until it comes
			   */
	bool probing;	  /* after a timeout or RNR: a small burst only, until progress */
	uint64_t progress_ns; /* when the retry timer was last restarted */
	uint64_t rewind_ns;   /* when it last went back for a loss */
};

/* A READ or atomic that can be answered again. */
struct roce_resource {
	enum {
		ROCE_RESOURCE_FREE,
		ROCE_RESOURCE_READ,
		ROCE_RESOURCE_ATOMIC,
		ROCE_RESOURCE_ATOMIC_WRITE,
		ROCE_RESOURCE_FLUSH
	} kind;
	bool active; /* responses are still to be sent */
	bool replay; /* being answered again: its region is looked up by key (roce_recheck_mr) */
	bool ack_before; /* an ACK for what came before it goes first */
	uint32_t first_psn, last_psn;
	uint32_t psn;	    /* next response to send */
	uint32_t start_psn; /* first response of this run */
	uint64_t va;	    /* as asked first */
	uint32_t length, rkey;
	uint32_t srqn;	     /* XRC: whose PD is to be asked again */
	struct rvt_mr *mr;   /* while answering; NULL for zero length and when idle */
	uint64_t address;    /* of va, in this process */
	uint32_t generation; /* of mr at first execution */
	uint64_t original;   /* atomic: the value before */
};

#define ROCE_MAX_RESOURCES 128

struct roce_responder {
	uint32_t psn; /* expected */
	uint32_t msn;
	uint8_t last_opcode; /* of the message in progress; see in_message */
	bool in_message;
	bool nak_sent; /* a sequence or RNR NAK is out for psn: stay silent until it comes */
	bool uc_drop;  /* UC: until the next FIRST or ONLY */
	bool ack_owed; /* an ACK for psn - 1 is due; on engine->acks */
	bool comm_est;
	/* A NAK or RNR to be sent after the responses before it. */
	bool nak_pending;
	uint8_t nak_syndrome;
	uint32_t nak_psn;
	enum rvt_verdict
		fatal; /* of nak_pending: the QP goes to error with it once the NAK is out */
	/* The SEND or WRITE in progress. */
	uint32_t offset; /* bytes placed */
	uint32_t length; /* WRITE: of its RETH */
	uint64_t va, address;
	uint32_t srqn; /* XRC: that its message named */
	uint32_t rkey, generation;
	struct rvt_mr *mr;
	/* Replay ring: exactly max_dest_rd_atomic of the latest; head is where the next goes. */
	struct roce_resource *resources;
	uint32_t resource_count, resource_head;
	uint32_t active;       /* how many are; answered in PSN order */
	uint32_t first_active; /* none before this one, in order of age */
};

struct roce_qp {
	struct rvt_qp rvt; /* first */
	struct roce_engine *engine;
	struct roce_flow flow;	/* RC, UC: to the peer; valid from RTR on */
	struct roce_peer *peer; /* RC; NULL before RTR */
	struct list_node ready_node, ack_node, wait_node;
	struct roce_requester requester;
	struct roce_responder responder;
	uint8_t mtu_shift; /* log2 of the path MTU */
	uint8_t transport; /* bits of the opcode: OPCODE_RC, OPCODE_UC or OPCODE_XRC */
};

static inline struct roce_qp *to_roce_qp(struct rvt_qp *qp)
{
	return container_of(qp, struct roce_qp, rvt);
}

/* transmit.c: building packets into the link. */
struct roce_outgoing {
	struct roce_engine *engine;
	const struct roce_flow *flow;
	uint8_t *packet;
	uint8_t *payload; /* write exactly payload_length bytes here */
	size_t length;	  /* of all */
	uint32_t payload_length;
	uint16_t ipv4_id;
};
/**
 * roce_packet_start() - room for @headers (pad is set here from @payload_length) and the payload.
 * Return: 0, or -EAGAIN when the link is full. Then roce_packet_finish() or roce_packet_cancel().
 */
int roce_packet_start(struct roce_engine *engine, const struct roce_flow *flow,
		      struct packet *headers, uint32_t payload_length,
		      struct roce_outgoing *out) MUST_USE;
/** roce_packet_finish() - pad, ICRC (unless trusted), commit, count. */
void roce_packet_finish(struct roce_outgoing *out);
void roce_packet_cancel(struct roce_outgoing *out);

/* engine.c */
/** roce_qp_ready() - the QP has something to send: serve it in the next run. Idempotent. */
void roce_qp_ready(struct roce_qp *qp);
/** roce_owe_ack() - an acknowledgement is due: put on engine->acks. Idempotent. */
void roce_owe_ack(struct roce_qp *qp);
/** roce_owe_ack_soon() - the same for a small message: it may wait for the next one. */
void roce_owe_ack_soon(struct roce_qp *qp);

/* hold.c */
void roce_hold_init(struct roce_hold *hold);
void roce_hold_message(struct roce_engine *engine); /* another one that may wait */
void roce_hold_flushed(struct roce_hold *hold);	    /* all acknowledgements were sent */
/** roce_tell() - tell the observer of a cause. */
static inline void roce_tell(struct roce_engine *engine, enum rvt_verdict verdict,
			     struct restrack_entry *object, uint64_t value1, uint64_t value2)
{
	const struct rvt_observer *observer = engine->device->observer;

	observer->cause(observer->context, verdict, object, value1, value2);
}
/** roce_drop() - a packet is dropped: count it and tell why. @qp may be NULL. */
static inline void roce_drop(struct roce_engine *engine, enum rvt_counter counter,
			     enum rvt_verdict verdict, struct roce_qp *qp, uint64_t value1,
			     uint64_t value2)
{
	rvt_count(engine->device, counter);
	roce_tell(engine, verdict, qp ? &qp->rvt.res : NULL, value1, value2);
}

/* requester.c: RC and UC */
void roce_requester_reset(struct roce_qp *qp);
void roce_requester_start(
	struct roce_qp *qp); /* RTS reached: una, psn from sq_psn, counters from attr */
void roce_requester_resume(struct roce_qp *qp);	 /* SQE to RTS: on with what is posted now */
void roce_requester_drained(struct roce_qp *qp); /* SQD: tell when nothing started is left */
/** roce_requester_run() - send up to @budget packets. Return: packets sent; ready again if more
 * could go now. */
unsigned roce_requester_run(struct roce_qp *qp, unsigned budget);
/** roce_requester_seek() - go back (or on) to @psn: finds the WQE. */
void roce_requester_seek(struct roce_qp *qp, uint32_t psn);
/** roce_requester_fail() - the oldest WQE ends with @verdict, QP to ERR (RC) or SQE (UC, UD). */
void roce_requester_fail(struct roce_qp *qp, enum rvt_verdict verdict, uint64_t value1,
			 uint64_t value2);

/** roce_requester_arm() - progress, or the first packet after idleness: the retry timer runs from
 * now. */
void roce_requester_arm(struct roce_qp *qp);
/** roce_timeout_ns() - the local ACK timeout; 0: none. */
uint64_t roce_timeout_ns(const struct roce_qp *qp);
/** roce_expects_response() - a READ or atomic: an ACK alone does not complete it. */
bool roce_expects_response(const struct rvt_swqe *wqe);
/** roce_read_end() - the last PSN of the READ request that @psn of @wqe belongs to; of an atomic:
 * @psn. */
uint32_t roce_read_end(const struct roce_qp *qp, const struct rvt_swqe *wqe, uint32_t psn);
/** roce_wqe_cost() - of PSNs @from up to but without @to of @wqe, in the receiver's buffer. */
uint32_t roce_wqe_cost(const struct roce_qp *qp, const struct rvt_swqe *wqe, uint32_t from,
		       uint32_t to);

/* completer.c: RC responses, timers */
void roce_completer_receive(struct roce_qp *qp, const struct packet *packet);
void roce_completer_timeout(struct roce_qp *qp);
void roce_completer_rnr_timeout(struct roce_qp *qp);

/* peer.c: windows toward one receiving socket */
int roce_peer_join(struct roce_qp *qp) MUST_USE; /* -ENOMEM */
void roce_peer_leave(struct roce_qp *qp);
bool roce_peer_room(struct roce_qp *qp, uint32_t bytes); /* false: the QP now waits */
void roce_peer_sent(struct roce_qp *qp, uint32_t bytes);
void roce_peer_acked(struct roce_qp *qp, uint32_t bytes); /* wakes the first who waits */
void roce_peer_pass_on(struct roce_qp *qp); /* had its turn: is there room for the next one? */
void roce_peer_forget(struct roce_qp *qp);  /* everything in flight of this QP is forgotten */
void roce_peer_lost(struct roce_qp *qp);    /* ... because of loss: the window halves */
bool roce_peer_fits(const struct roce_peer *peer, uint32_t bytes); /* room, without waiting */

/* responder.c: RC and UC requests; resource.c: replay; response.c: READ responses, ACKs */
int roce_responder_init(struct roce_qp *qp) MUST_USE; /* at creation and RESET */
void roce_responder_start(
	struct roce_qp *qp); /* RTR reached: psn from rq_psn, resources; attr may change later */
void roce_responder_stop(
	struct roce_qp *qp); /* ERR, RESET, destroy: releases regions, frees nothing else */
void roce_responder_deinit(struct roce_qp *qp); /* destroy: frees resources */
/** roce_responder_resize() - max_dest_rd_atomic was set: the ring gets that many resources and
 * keeps the latest. */
void roce_responder_resize(struct roce_qp *qp);
void roce_responder_receive(struct roce_qp *qp, const struct packet *packet);
/** roce_responder_run() - READ responses, atomic answers and what waits behind them; up to @budget
 * packets. */
unsigned roce_responder_run(struct roce_qp *qp, unsigned budget);
bool roce_responder_pending(const struct roce_qp *qp);
/** roce_responder_ack() - send the owed ACK now, if nothing must go before it. Return: false when
 * the link is full. */
bool roce_responder_ack(struct roce_qp *qp);
/** roce_resource_claim() - the oldest resource, to be used for a new READ or atomic; NULL when it
 * is still being answered or there is none. */
struct roce_resource *roce_resource_claim(struct roce_qp *qp);
/** roce_resource_activate() - (re)start answering from @psn on. */
void roce_resource_activate(struct roce_qp *qp, struct roce_resource *resource, uint32_t psn);
/** roce_resource_finish() - answered, or given up: its region is released. */
void roce_resource_finish(struct roce_qp *qp, struct roce_resource *resource);
/** roce_resource_first() - the oldest that is being answered, or NULL. */
struct roce_resource *roce_resource_first(struct roce_qp *qp);
/** roce_resource_find() - what the duplicate READ or atomic @packet asks for again, or NULL. */
struct roce_resource *roce_resource_find(struct roce_qp *qp, const struct packet *packet);
/** roce_responder_nak() - a NAK or RNR for the expected PSN, after the responses before it. With a
 * @fatal verdict the QP goes to error when the NAK is out. */
void roce_responder_nak(struct roce_qp *qp, uint8_t syndrome, enum rvt_verdict fatal);
/** roce_recheck_mr() - take the region of a replayed READ again: RVT_OK, or RKEY_* as it is now;
 * see resource.c. */
enum rvt_verdict roce_recheck_mr(struct roce_qp *qp, struct roce_resource *resource);

/* datagram.c: UD, both directions */
unsigned roce_datagram_run(struct roce_qp *qp, unsigned budget);
void roce_datagram_receive(struct roce_qp *qp, const struct packet *packet,
			   const struct roce_datagram *datagram);

#endif
