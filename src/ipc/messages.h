/* SPDX-License-Identifier: Apache-2.0 */
/* messages.h - what broker and clients say, one message a datagram of a SOCK_SEQPACKET socket */
#ifndef IPC_MESSAGES_H
#define IPC_MESSAGES_H

#include <stddef.h>
#include <stdint.h>

#include "base/report.h"

#define IPC_MAGIC   0x62766461u /* "advb" */
#define IPC_VERSION 1u
#define IPC_MAX_FDS 3

enum ipc_type {
	IPC_HELLO =
		1, /* client: a slot, please. fds: ledger unless IPC_EXTRA; parking if IPC_AGAIN */
	IPC_WELCOME, /* broker: fds: slot socket, parking, slot lock; none after IPC_AGAIN */
	IPC_ERROR,   /* broker: no, and why */
	IPC_LIST,    /* tool: who is there? */
	IPC_STATUS,  /* broker: about itself; then */
	IPC_CLIENT,  /* one for each client, fd: its ledger, read-only; then */
	IPC_END,
};

/* flags of HELLO */
#define IPC_AGAIN 1u /* it has a slot already */
#define IPC_EXTRA 2u /* one more slot for a process that has a ledger elsewhere; not listed */

struct ipc_message {
	uint32_t magic, version;
	uint32_t type; /* enum ipc_type */
	uint32_t flags;
	uint32_t slot;
	uint32_t pid, uid;
	int32_t error;	     /* positive errno */
	uint32_t slots_used; /* STATUS */
	uint32_t clients;    /* STATUS */
	uint64_t strays;     /* STATUS: datagrams for slots that nobody has */
	char comm[16];
	char text[256];
};

/**
 * ipc_send() - one message with @count descriptors, which stay the caller's. 0 or a negative errno;
 * never blocks longer than the socket's own timeout, raises no SIGPIPE.
 */
int ipc_send(int fd, const struct ipc_message *message, const int *fds, unsigned count) MUST_USE;
/**
 * ipc_receive() - one message; descriptors that came with it go to @fds (close on exec), *count
 * says how many. Everything is checked: size, magic, version, type, ends of strings. -ECONNRESET:
 * the other end is gone. -EMFILE: this process has no room for the descriptors. -EPROTO: not a
 * message of ours. In both cases those that came with it are closed.
 */
int ipc_receive(int fd, struct ipc_message *message, int fds[IPC_MAX_FDS],
		unsigned *count) MUST_USE;
/** ipc_message_init() - zero, with magic and version. */
void ipc_message_init(struct ipc_message *message, enum ipc_type type);

#endif
