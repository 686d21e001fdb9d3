/* SPDX-License-Identifier: Apache-2.0 */
/* client.h - a process' connection to the broker: finds it, starts it, comes back to it */
#ifndef IPC_CLIENT_H
#define IPC_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/report.h"

struct ipc_hello {
	/* memfd of the process' resources, sealed against shrinking and growing; stays the
	 * caller's. -1: none, a further slot of a process that needs more QP numbers than one has
	 */
	int ledger;
};

/* All descriptors are close-on-exec, and high numbers where there is room. */
struct ipc_connection {
	int fd;	     /* readable when the broker is gone; -1 */
	int socket;  /* UDP, receives what is for the slot */
	int parking; /* holds all sockets of the port: with it a new broker finds them again */
	int lock;    /* the slot is ours as long as this is open */
	uint32_t slot;
};

/** ipc_connection_init() - nothing is open. */
void ipc_connection_init(struct ipc_connection *connection);
/**
 * ipc_broker_connect() - get a slot; starts a broker if there is none (see start.h for where it is
 * found), and waits for it at most six seconds. Return: 0, or a negative errno and a sentence in
 * @why: -EADDRINUSE port 4791 is taken, -EUSERS no slot is free, -EPERM the runtime directory is
 * not private, -EINVAL the ledger is not sealed, -EPROTO another version's broker, -EMFILE,
 * -ETIMEDOUT. No threads, no locks, nothing is printed.
 */
int ipc_broker_connect(struct ipc_connection *connection, const struct ipc_hello *hello, char *why,
		       size_t size) MUST_USE;
/**
 * ipc_broker_reconnect() - after the broker went: a new one learns of us. Slot and socket stay; fd
 * is replaced, the old one closed, on success only. Errors as above; try again later.
 */
int ipc_broker_reconnect(struct ipc_connection *connection, const struct ipc_hello *hello,
			 char *why, size_t size) MUST_USE;
/** ipc_broker_alive() - without blocking: is the broker still there? */
bool ipc_broker_alive(const struct ipc_connection *connection);
/** ipc_disconnect() - closes what is open; the slot is free then. */
void ipc_disconnect(struct ipc_connection *connection);

struct ipc_client_info {
	uint32_t pid, uid, slot;
	const char *comm;
	int ledger; /* read-only, closed after the call; -1: none */
};
struct ipc_status {
	uint32_t pid, slots, slots_used, clients;
	uint64_t strays; /* datagrams that came for slots that nobody has */
};
/**
 * ipc_broker_list() - @status first, then each client. Starts no broker: -ENOENT when there is
 * none.
 */
int ipc_broker_list(void (*on_status)(void *context, const struct ipc_status *status),
		    void (*on_client)(void *context, const struct ipc_client_info *client),
		    void *context) MUST_USE;

#endif
