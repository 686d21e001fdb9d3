/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.h - the RoCEv2 transport of one lane: packets in, packets out, no I/O of its own
 *
 * Everything is called with the lane locked and rvt_device.now_ns set. The owner of the lane
 * (runtime, or a simulation) gives packets with roce_receive(), lets work go on with
 * roce_engine_run(), expires rvt_device.deadlines, and sends what the engine put into the link.
 */
#ifndef ROCE_ENGINE_H
#define ROCE_ENGINE_H

#include "rvt/qp.h"

#define ROCE_UDP_PORT	4791
#define ROCE_MAX_PACKET 4224 /* 4096 of payload, the longest headers, pad and ICRC, rounded up */

/* A way to a peer. Addresses are set by the engine; the link answers with the rest in resolve(). */
struct roce_flow {
	struct gid source, destination;
	uint32_t flow_label;
	uint8_t traffic_class, hop_limit;
	bool paced; /* no acknowledgements slow us down: the link may, by giving no room for a while
		     */
	/* The link's part: */
	uint16_t source_port; /* UDP, as the peer will see it: goes into the ICRC */
	bool trusted;	      /* never leaves this process: no ICRC is computed or checked */
	void *route;	      /* the link's own */
};

/* Where packets go. */
struct roce_transmit_ops {
	/*
	 * Fill the link's part of @flow; @destination_qpn and the addresses choose among several
	 * sockets, the same for the same values. 0 or a negative errno. Cheap enough for each UD
	 * send.
	 */
	int (*resolve)(void *context, struct roce_flow *flow, uint32_t source_qpn,
		       uint32_t destination_qpn);
	/*
	 * Room for one packet of @length bytes (BTH up to and with ICRC) to @flow. NULL: the link
	 * is full now; the engine keeps its place and goes on in a later roce_engine_run().
	 * *ipv4_id is the IP identification the packet will carry (IPv4; enters the ICRC).
	 */
	uint8_t *(*reserve)(void *context, const struct roce_flow *flow, uint32_t destination_qpn,
			    size_t length, uint16_t *ipv4_id);
	/* The reserved packet is complete: it is sent at the latest when the engine's caller
	 * flushes the link. */
	void (*commit)(void *context);
	/* The reserved packet is not wanted. */
	void (*cancel)(void *context);
	/*
	 * Does the receiver at the end of @flow still have to read what lies before it? Asked when
	 * an answer is overdue: a NIC answers whatever its host does, while a receiver in software
	 * answers when it is given a processor. That is no loss and costs no retry. False when it
	 * cannot be known; may be NULL.
	 */
	bool (*unread)(void *context, const struct roce_flow *flow);
};

/* A received packet. */
struct roce_datagram {
	struct gid source, destination;
	uint16_t source_port;
	uint8_t traffic_class, hop_limit;
	uint32_t flow_label;
	uint32_t interface; /* where it arrived; what rvt_port.interface is compared with, of
			       multicast packets */
	bool trusted;
	int32_t *id_hint; /* icrc_check()'s memory for this source, or NULL */
	const uint8_t *data;
	size_t length; /* BTH up to and with ICRC */
};

/* In-flight bookkeeping toward one receiving socket: (address, slot). Its kernel buffer is what
 * overflows. */
struct roce_peer {
	struct list_node node;
	struct gid gid;
	uint32_t slot;
	uint32_t users;	       /* QPs */
	uint32_t window_bytes; /* what may be unacknowledged: grows on success, halves on loss */
	uint32_t in_flight_bytes;
	uint64_t last_loss_ns;
	struct list_node waiting; /* QPs that wait for room */
};

/* Acknowledgements that may wait for the next message (hold.c). */
struct roce_hold {
	unsigned messages; /* that are not acknowledged yet and would not mind to wait */
	bool urgent;	   /* so is something that would */
	uint64_t last_ns;  /* when the last of them came */
	unsigned misses;   /* times in a row that no more messages came */
	unsigned at_once;  /* so often nothing is held back, for it was no use */
	unsigned penalty;  /* the next at_once */
};

struct roce_engine {
	struct rvt_device *device;
	const struct roce_transmit_ops *transmit;
	void *link;
	struct list_node ready; /* roce_qp.ready_node: have something to send; served round robin */
	struct list_node
		blocked;       /* roce_qp.ready_node too: have something, but the link was full */
	struct list_node acks; /* roce_qp.ack_node: owe an acknowledgement */
	struct roce_hold hold;
	struct list_node peers;
	bool link_full; /* reserve() gave nothing since this was last cleared */
};

struct roce_config {
	struct rvt_device *device; /* its transport ops must be roce_transport_ops */
	const struct roce_transmit_ops *transmit;
	void *link;
};

/* The queue pair operations for rvt_device_config.transport. */
extern const struct rvt_transport_ops roce_transport_ops;

/** roce_engine_init() - after rvt_device_init(); sets device->engine. */
void roce_engine_init(struct roce_engine *engine, const struct roce_config *config);
/** roce_engine_deinit() - every QP is gone (asserted); frees peers. */
void roce_engine_deinit(struct roce_engine *engine);

/** roce_receive() - one packet from the network; hostile. Bad ones are counted and dropped with a
 * cause. */
void roce_receive(struct roce_engine *engine, const struct roce_datagram *datagram);

/**
 * roce_engine_run() - send what may be sent, at most about @budget packets, fairly among QPs.
 * Return: true when there is more to do right now (budget used up, not when waiting for ACKs,
 * timers or the link).
 */
bool roce_engine_run(struct roce_engine *engine, unsigned budget);
/**
 * roce_engine_flush_acks() - send the acknowledgements that are owed. Called when no more input is
 * at hand, after the answers the program itself posted, so that data leaves first and coalescing
 * adds no wait.
 */
void roce_engine_flush_acks(struct roce_engine *engine);
static inline bool roce_engine_owes_acks(const struct roce_engine *engine)
{
	return !list_empty(&engine->acks);
}
/**
 * roce_engine_acks_due() - acknowledgements are owed and should go now: for a caller who asks again
 * within microseconds. Otherwise they are for small messages, of which more may come that one
 * acknowledgement can answer.
 */
bool roce_engine_acks_due(const struct roce_engine *engine);
/** roce_engine_blocked() - somebody waits for room in the link: roce_engine_run() again, soon. */
static inline bool roce_engine_blocked(const struct roce_engine *engine)
{
	return !list_empty(&engine->blocked);
}
/** roce_link_writable() - the link was full and has room again: QPs that met it are ready. */
void roce_link_writable(struct roce_engine *engine);

#endif
