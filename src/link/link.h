/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link.h - carries packets: UDP sockets to others, a queue in memory to ourselves
 *
 * One link belongs to one lane and is used with the lane locked, but for the slot socket, on which
 * another thread may wait for input. Outgoing packets gather in trains: equal sizes to one
 * destination QP number go in one UDP segmentation (GSO) send, and all trains of a flush in one
 * system call.
 */
#ifndef LINK_LINK_H
#define LINK_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/gid.h"
#include "base/report.h"

struct link;
struct link_way; /* from one source address to one slot of one destination address */

struct link_config {
	int socket;    /* the slot's: receives; stays the caller's */
	uint32_t slot; /* its number: packets to it at a local address never leave the process */
	unsigned slot_shift; /* slot = QP number >> slot_shift */
	bool segmentation;   /* use GSO where the kernel has it */
	/* Index of the interface that has this address, 0 if none: it is ours. */
	unsigned (*interface_of)(void *context, const struct gid *address);
	/*
	 * A copy of the socket of another slot of this host, to see how full it is: a descriptor
	 * that is the link's then, or negative. May be NULL.
	 */
	int (*slot_socket)(void *context, uint32_t slot);
	void *context;
};

/* What is known of a received packet. Addresses are as on the wire. */
struct link_datagram {
	struct gid source, destination;
	uint16_t source_port;
	uint8_t traffic_class, hop_limit;
	uint32_t flow_label;
	unsigned interface; /* where it arrived; 0: unknown, or local */
	bool local;	    /* came through the in-process queue */
	int32_t *id_hint;   /* a place of this source, for the ICRC's IPv4 identification */
	const uint8_t *data;
	size_t length;
};

/** link_open() - -ENOMEM. */
int link_open(struct link **ret, const struct link_config *config) MUST_USE;
/** link_close() - closes the sending sockets; NULL is allowed. */
void link_close(struct link *link);
/** link_rebind() - the slot socket is another one now (after the broker came back). */
void link_rebind(struct link *link, int socket);

/**
 * link_resolve() - the way from @source to the slot of @qpn at @destination. Found again for the
 * same values; lives as long as the link. -EADDRNOTAVAIL: @source is not ours. -EAFNOSUPPORT,
 * -ENOMEM, -EMFILE.
 */
int link_resolve(struct link *link, const struct gid *source, const struct gid *destination,
		 uint32_t qpn, struct link_way **ret) MUST_USE;
/** link_way_port() - the UDP source port that the peer will see. */
uint16_t link_way_port(const struct link_way *way);
/** link_way_unread() - the receiver has not read all that lies in its socket. False for one that is
 * not on this host. One system call. */
bool link_way_unread(const struct link_way *way);
/** link_way_local() - it ends in this process. */
bool link_way_local(const struct link_way *way);

/**
 * link_join() - what arrives on @interface for the multicast group comes to our slot socket too.
 * -EADDRINUSE: it did already. -ENODEV, -ENOBUFS: more groups than the host allows one socket.
 */
int link_join(struct link *link, unsigned interface, const struct gid *group) MUST_USE;
/** link_leave() - the end of that. */
void link_leave(struct link *link, unsigned interface, const struct gid *group);

/* What a packet needs besides its way. */
struct link_packet {
	uint32_t qpn; /* of the destination */
	uint8_t traffic_class;
	uint8_t hop_limit; /* of multicast; other packets may go as far as they have to */
	size_t length;
	/*
	 * Nobody acknowledges it, so nobody slows us down when the receiver is behind: then it
	 * waits. Where the receiver's socket is on this host, until that has room; otherwise as
	 * long as a moderate rate asks for.
	 */
	bool paced;
	uint64_t now_ns; /* with paced */
};

/**
 * link_reserve() - room for a packet; *ipv4_id is the IP identification it will have on the wire.
 * NULL: the in-process queue is full (drain it with link_receive()), or a paced packet has to wait:
 * try again a little later.
 */
uint8_t *link_reserve(struct link *link, struct link_way *way, const struct link_packet *packet,
		      uint16_t *ipv4_id);
void link_commit(struct link *link);
void link_cancel(struct link *link);
/** link_flush() - hand all committed packets to the kernel. What it refuses is lost, as on any
 * network. */
void link_flush(struct link *link);

/**
 * link_receive() - take what is there, without blocking, and call @deliver for each packet (which
 * may reserve and commit, but not receive). At most about @limit system calls. Return: packets
 * delivered.
 */
unsigned link_receive(struct link *link, unsigned limit,
		      void (*deliver)(void *context, const struct link_datagram *datagram),
		      void *context);
/**
 * link_want_headers() - from now on tell traffic class and hop limit of received packets, which
 * costs each of them some time. Datagram QPs show them to their programs.
 */
void link_want_headers(struct link *link);
/** link_pending() - are there packets in the in-process queue? */
bool link_pending(const struct link *link);
/** link_send_errors() - packets that the kernel refused so far. */
uint64_t link_send_errors(const struct link *link);

#endif
