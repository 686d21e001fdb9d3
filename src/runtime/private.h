/* SPDX-License-Identifier: Apache-2.0 */
/* private.h - the lane from inside (private to runtime/) */
#ifndef RUNTIME_PRIVATE_H
#define RUNTIME_PRIVATE_H

#include <pthread.h>

#include "ipc/client.h"
#include "link/link.h"
#include "roce/engine.h"
#include "runtime/lane.h"

#define TICK_NS	   1000000u /* between looks of the engine thread while the program polls */
#define BLOCKED_NS 200000u  /* between looks for room in the link, while packets wait for it */

struct lane {
	pthread_mutex_t lock;
	int cancel_state; /* of the thread that entered */
	struct lane_events events;
	struct restrack_root restrack;
	struct rvt_device device;
	struct roce_engine engine;
	struct rvt_mcast_ops mcast;
	struct link *link;
	struct ipc_connection broker;
	void *ledger;
	size_t ledger_size;
	int ledger_fd;
	int wake_fd;		   /* eventfd: makes the engine thread look again */
	int netlink;		   /* readable when interfaces or addresses change; -1 */
	uint64_t polls;		   /* polls of the program so far: is it doing the work itself? */
	unsigned waiters;	   /* callers blocked in lane_wait(), who do the work themselves */
	uint64_t waiters_until_ns; /* when the last of them looks again at the latest */
	bool reconnecting;	   /* the broker went away */
	uint64_t thread_wakes_at;  /* when the engine thread looks again by itself */
};

/* The lane of this process, or NULL. */
extern struct lane *lane_current;

uint64_t lane_now_ns(void);

/* progress.c */
/** lane_round() - one bounded round of receive, run, expire. Return: whether there is more to do
 * now. */
bool lane_round(struct lane *lane);
/** lane_finish() - acknowledgements and everything gathered goes out, and what of it comes to
 * ourselves is received. */
void lane_finish(struct lane *lane);
/** lane_wake_thread() - after arming a deadline that is earlier than what the engine thread waits
 * for, or with packets to ourselves left. */
void lane_wake_thread(struct lane *lane);
extern const struct roce_transmit_ops lane_transmit;
/** lane_mcast_init() - before the device starts. */
void lane_mcast_init(struct lane *lane);

/* thread.c */
/** lane_thread_start() - the engine thread: always blocked, all signals blocked. 0 or a negative
 * errno. */
int lane_thread_start(struct lane *lane) MUST_USE;
/** lane_run_thread() - a detached thread without signals. 0 or a negative errno. */
int lane_run_thread(void *(*run)(void *), struct lane *lane, const char *name) MUST_USE;

/* lane.c */
/** lane_lock_if_running() - entered, unless there is no lane: then NULL. Ended by lane_leave(). */
struct lane *lane_lock_if_running(void);
/** lane_broker_event() - the broker said something or went away: connect again, keeping the slot.
 * Not locked. */
void lane_broker_event(struct lane *lane);

/* cause.c */
extern const struct rvt_observer lane_observer;

/* ports.c */
/** ports_interface_of() - the interface that has this address, 0 if it is not ours. */
unsigned ports_interface_of(void *context, const struct gid *address);
/** ports_before_fork(), ports_after_fork() - nobody is in the middle of it. */
void ports_before_fork(void);
void ports_after_fork(void);

#endif
