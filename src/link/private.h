/* SPDX-License-Identifier: Apache-2.0 */
/* private.h - the parts of a link (private to link/) */
#ifndef LINK_PRIVATE_H
#define LINK_PRIVATE_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "base/list.h"
#include "link/link.h"

#define UDP_PORT      4791
#define MAX_PACKET    4352	    /* no RoCE packet is longer */
#define ARENA_SIZE    (1024 * 1024) /* committed and not yet sent */
#define MAX_TRAINS    64
#define MAX_SEGMENTS  64    /* older kernels take no more in one send */
#define MAX_TRAIN     65507 /* bytes of a UDP datagram over IPv4 */
#define RECEIVE_BATCH 8
#define RECEIVE_SIZE  65536
#define LOOP_SIZE     (1024 * 1024)
#define WAY_BUCKETS   256
#define HINTS	      64

/* A socket that sends from one address to one slot number: the receiver's GRO must never merge two
 * slots. */
struct way_socket {
	struct way_socket *next;
	struct gid source;
	uint32_t slot;
	int fd;
	uint16_t port;
	bool segmentation;
};

struct link_way {
	struct link_way *next;
	struct gid source, destination;
	uint32_t slot;
	bool local, multicast;
	struct way_socket *socket; /* NULL when local */
	int receiver;	    /* a copy of the destination's socket, to see how full it is; -1 */
	uint32_t unchecked; /* paced bytes since that was looked at */
	int64_t credit;	    /* paced bytes that may go now, without a receiver to look at */
	uint64_t credited_ns;
	socklen_t address_length;
	union {
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} address;
};

/* Packets that leave in one send. */
struct train {
	struct link_way *way;
	uint32_t qpn;
	uint8_t traffic_class, hop_limit;
	bool closed; /* a shorter packet ended it */
	uint32_t start, length;
	uint16_t segment, count;
};

/* The in-process queue: a ring of bytes; each packet is a header and its data, never split at the
 * end. */
struct loop {
	uint8_t *memory;
	size_t head, tail, used; /* bytes */
};

struct loop_header {
	uint32_t size; /* of the data; UINT32_MAX: skip to the start of the ring */
	uint32_t room; /* taken in the ring, with this header */
	struct link_way *way;
	uint8_t traffic_class;
};

struct receiver {
	struct mmsghdr messages[RECEIVE_BATCH];
	struct iovec iovecs[RECEIVE_BATCH];
	struct sockaddr_in6 sources[RECEIVE_BATCH];
	_Alignas(16) uint8_t controls[RECEIVE_BATCH][256];
	uint8_t *memory;
	int32_t hints[HINTS];
	bool single; /* the last call gave one datagram */
	bool busy;   /* two in a row did: several calls' worth may be waiting */
};

struct link {
	struct link_config config;
	struct way_socket *sockets;
	struct link_way *ways[WAY_BUCKETS];
	uint8_t *arena;
	uint32_t arena_used;
	struct train trains[MAX_TRAINS];
	unsigned train_count;
	struct {
		size_t length; /* 0: nothing reserved */
		bool loop, fresh;
	} reserved;
	struct loop loop;
	struct receiver receiver;
	uint64_t send_errors;
};

/* ways.c */
void ways_free(struct link *link);

/* pace.c */
/** pace_allows() - may a paced packet go now? */
bool pace_allows(struct link_way *way, size_t length, uint64_t now_ns);

/* loop.c */
int loop_init(struct loop *loop) MUST_USE;
uint8_t *loop_reserve(struct loop *loop, struct link_way *way, uint8_t traffic_class,
		      size_t length);
void loop_commit(struct loop *loop);
/** loop_peek() - the oldest packet, or NULL; loop_drop() takes it off. */
struct loop_header *loop_peek(struct loop *loop);
void loop_drop(struct loop *loop);

/* receive.c */
int receiver_init(struct receiver *receiver) MUST_USE;

#endif
