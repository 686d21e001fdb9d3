/* SPDX-License-Identifier: Apache-2.0 */
/* broker.h - the parts of adverbd */
#ifndef BROKER_BROKER_H
#define BROKER_BROKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/list.h"
#include "ipc/directory.h"
#include "ipc/messages.h"
#include "ipc/slots.h"

/* group.c: the sockets of UDP port 4791, one of each slot, steered by destination QP number. */
struct group {
	int sockets[SLOT_COUNT]; /* all or none are open */
	int parking;   /* the end of a socket pair in whose queue all of them lie: keeps them open
			  without us */
	int strays_fd; /* epoll, of the watched; readable when there are strays */
	bool watched[SLOT_COUNT]; /* nobody has it: what arrives is thrown away and counted */
	bool open, recovered;
};

void group_init(struct group *group);
/**
 * group_open() - make them. -EADDRINUSE when somebody has the port (also a group of earlier
 * clients); @why says who.
 */
int group_open(struct group *group, char *why, size_t size) MUST_USE;
/** group_recover() - take them out of a client's parking; @parking is the group's then. -EINVAL: it
 * is none. */
int group_recover(struct group *group, int parking, int lock) MUST_USE;
/** group_watch() - nobody has this slot (@on), or somebody has. Slots 0 and 127 are watched always.
 */
void group_watch(struct group *group, unsigned slot, bool on);
/** group_strays() - throw away some of what lies in watched slots; how many datagrams. */
unsigned group_strays(struct group *group);
/** group_drain() - the same for one slot and all of it, before somebody gets it. */
unsigned group_drain(struct group *group, unsigned slot);
/** group_leave() - the slot's socket outlives its owner: out of all multicast groups that he had
 * joined. */
void group_leave(const struct group *group, unsigned slot);
void group_close(struct group *group);

/* holder.c */
/** port_holder() - who has UDP port 4791 of this namespace, as far as one can see; a part of a
 * sentence. */
void port_holder(char *to, size_t size);

/* slots.c: a slot is in use as long as somebody holds the lock of its byte, whether a broker runs
 * or not. */
struct slots {
	char path[108];
	int fd;	       /* to look; holds no lock */
	unsigned next; /* where the next search begins: a freed slot comes back late */
	uint64_t freed_ms[SLOT_COUNT];
};

int slots_open(struct slots *slots, const char *path) MUST_USE;
/**
 * slots_take() - a free slot, and in *lock the descriptor that holds it. -EBUSY when those that are
 * not in use were in use moments ago, -EUSERS when all are in use, or another negative errno.
 */
int slots_take(struct slots *slots, uint64_t now_ms, unsigned *slot, int *lock) MUST_USE;
/** slots_used() - is it held by somebody? */
bool slots_used(const struct slots *slots, unsigned slot);
unsigned slots_count(const struct slots *slots);
/** slots_freed() - it was given back now: late packets for it may still come for a while. */
void slots_freed(struct slots *slots, unsigned slot, uint64_t now_ms);

/* server.c */
struct client {
	struct list_node node;
	int fd;
	bool greeted; /* has a slot */
	uint32_t pid, uid, slot;
	char comm[16];
	int ledger;	   /* read-only; -1 for an extra slot */
	bool extra;	   /* not a process but one more slot of it */
	bool waiting;	   /* HELLO is to be answered when there is a group and a slot */
	uint64_t asked_ms; /* when it began to wait */
};

struct server {
	struct ipc_paths paths;
	int listener, lock_file;
	struct group group;
	struct slots slots;
	struct list_node clients;
	unsigned client_count;
	struct client *owners[SLOT_COUNT]; /* NULL: nobody, or one that has not come back */
	unsigned missing;		   /* slots in use by who is not here */
	uint64_t strays;
	bool port_taken;	 /* when last tried */
	uint64_t alone_since_ms; /* 0: not alone */
};

/** server_open() - -EALREADY when another broker runs here. */
int server_open(struct server *server, char *why, size_t size) MUST_USE;
/** server_run() - until the last client has been gone for a while. */
void server_run(struct server *server);
void server_close(struct server *server);

#endif
