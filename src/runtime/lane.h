/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lane.h - the running device of this process: one slot, one socket, one engine, one lock
 *
 * Everything below (rvt, roce, restrack, the link) is entered with the lane locked. The lane starts
 * with the first context and lives until the process ends. In a forked child the parent's lane is
 * gone: lane_start() makes a new one, and what belonged to the old answers -ENODEV (struct
 * lane_stamp).
 */
#ifndef RUNTIME_LANE_H
#define RUNTIME_LANE_H

#include <signal.h>

#include "rvt/qp.h"

/*
 * Whose objects are these? Kept in every object of the front; lane_enter() compares it with the
 * present, so that objects inherited over fork() are never touched.
 */
struct lane_stamp {
	uint32_t generation;
};

/* What the front does when rvt tells of events: called with the lane locked, must not call back. */
struct lane_events {
	void (*completion)(struct rvt_cq *cq);
	/* An event of an object, or (all NULL) of the context's port. */
	void (*asynchronous)(struct rvt_context *context, enum rvt_event event, struct rvt_qp *qp,
			     struct rvt_cq *cq, struct rvt_srq *srq);
};

/**
 * lane_start() - connect to the broker (starting it if there is none) and start the engine; once
 * per process, later calls return at once. Not locked on return. Return: 0, or a negative errno
 * with a sentence in @why: -EADDRINUSE (port 4791 is taken), -EACCES, -ENOMEM, -EMFILE, -ETIMEDOUT.
 */
int lane_start(const struct lane_events *events, char *why, size_t size) MUST_USE;

/** lane_stamp() - for objects made now. */
struct lane_stamp lane_stamp(void);
/**
 * lane_enter() - lock and set the time. Return: the device, or NULL (not locked) when @stamp is of
 * before a fork(). Until lane_leave() the thread cannot be cancelled: it would leave the device
 * locked for ever.
 */
struct rvt_device *lane_enter(struct lane_stamp stamp);
/** lane_present() - are objects of @stamp of this process, not inherited over fork()? */
bool lane_present(struct lane_stamp stamp);
/** lane_leave() - unlock. Nothing is sent by this. */
void lane_leave(void);
/** lane_leave_sending() - run the engine for what was posted, flush the link, unlock. */
void lane_leave_sending(void);

/**
 * lane_progress() - receive, run, expire, acknowledge; never blocks. Entered. For a poll that found
 * @cq empty; returns as soon as it is not, and then leaves acknowledgements for the caller's next
 * call.
 */
void lane_progress(const struct rvt_cq *cq);
/** lane_poll_begin() - first thing in every poll of a CQ: sends what the last poll left. Entered.
 */
void lane_poll_begin(void);
/**
 * lane_settle() - what is owed to peers goes out, before a queue pair changes or goes. Entered. A
 * NIC acknowledges when it receives; we do it with the program's next call, so it must not be lost
 * with the QP.
 */
void lane_settle(void);
/** lane_make_room() - a send queue is full: one round of receiving, which may free some of it.
 * Entered. */
void lane_make_room(void);
/** lane_want_headers() - a datagram QP was made: see link_want_headers(). Entered. */
void lane_want_headers(void);
/** lane_idle() - a poll came back empty: gives up the core after some in a row. Not entered. */
void lane_idle(void);

/**
 * lane_wait() - block until @fd is readable, with the device going on meanwhile. Not entered.
 * Return: 0, or a negative errno (-EINTR on a signal).
 */
int lane_wait(int fd) MUST_USE;

/* ports.c */
/**
 * lane_ports() - the devices: fills @ports with the first of them and returns their number. Reads
 * the interfaces of this network namespace and ADVERB_DEVICES; no broker is needed. A port once
 * listed keeps its address.
 */
unsigned lane_ports(struct rvt_port *ports[RVT_MAX_PORTS]);

/** lane_interface_index() - of the network interface of a port; 0 if it is gone. */
unsigned lane_interface_index(const struct rvt_port *port);

/* log.c */
enum lane_log_level {
	LANE_LOG_ERROR = 1,
	LANE_LOG_WARN,
	LANE_LOG_INFO,
	LANE_LOG_DEBUG
};
/** lane_log() - to stderr, if ADVERB_LOG (none, error, warn, info, debug; error if unset) asks for
 * this level. */
void lane_log(enum lane_log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
bool lane_logs(enum lane_log_level level);

/* fault.c */
/*
 * lane_quiet_begin(), lane_quiet_end() - around writing: a limit of file sizes or a pipe without
 * reader is an error there, not a signal that ends the program. errno stays.
 */
struct lane_quiet {
	sigset_t before;
	sigset_t own; /* those that came in between are ours */
};
void lane_quiet_begin(struct lane_quiet *quiet);
void lane_quiet_end(const struct lane_quiet *quiet);
extern const struct rvt_memory_ops lane_memory;
/** lane_fault_init() - take SIGSEGV and SIGBUS for guarded copies; chains to what the program had.
 * Once. */
void lane_fault_init(void);
struct sigaction;
/** lane_fault_mask() - what to block instead of @set: not SIGSEGV and SIGBUS, which would end the
 * process in an access that is guarded. Return: @set or @without. */
const sigset_t *lane_fault_mask(int how, const sigset_t *set, sigset_t *without);
/** lane_fault_sigaction() - the program sets its own handler for SIGSEGV or SIGBUS: it is called
 * for its faults. */
int lane_fault_sigaction(int signal, const struct sigaction *action, struct sigaction *old);

#endif
