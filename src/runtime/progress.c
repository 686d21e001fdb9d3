/* SPDX-License-Identifier: Apache-2.0 */
/* progress.c - work is done by whoever asks for it: receive, run the engine, expire timers, send */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "ipc/slots.h"
#include "runtime/private.h"

#define RECEIVE_CALLS 2			   /* system calls of one round */
#define RUN_BUDGET    256		   /* packets sent in one round */
#define MAX_ROUNDS    8			   /* before a poll returns, whatever is left */
#define WAIT_ASIDE_MS 2			   /* while another thread polls */
#define WAIT_NS	      UINT64_C(1000000000) /* at a time, in a caller */
#define EXIT_WAIT_NS  20000000		   /* for the lock, when the program ends */
#define IDLE_POLLS    32 /* empty polls in a row before the core is offered to others */

static int resolve(void *context, struct roce_flow *flow, uint32_t source_qpn,
		   uint32_t destination_qpn)
{
	struct lane *lane = context;
	struct link_way *way;
	int err;

	(void)source_qpn;
	err = link_resolve(lane->link, &flow->source, &flow->destination, destination_qpn, &way);
	if (err) {
		lane_log(LANE_LOG_WARN, "no way to the peer: %s",
			 err == -EADDRNOTAVAIL
				 ? "the source address is not on this machine any more"
			 : err == -EMFILE ? "no file descriptor for a sending socket"
					  : "the addresses do not fit or memory is short");
		return err;
	}
	flow->route = way;
	flow->source_port = link_way_port(way);
	flow->trusted = link_way_local(way);
	return 0;
}

static uint8_t *reserve(void *context, const struct roce_flow *flow, uint32_t destination_qpn,
			size_t length, uint16_t *ipv4_id)
{
	struct lane *lane = context;

	return link_reserve(lane->link, flow->route,
			    &(struct link_packet){ .qpn = destination_qpn,
						   .traffic_class = flow->traffic_class,
						   .hop_limit = flow->hop_limit,
						   .length = length,
						   .paced = flow->paced,
						   .now_ns = lane->device.now_ns },
			    ipv4_id);
}

static void commit(void *context)
{
	link_commit(((struct lane *)context)->link);
}

static void cancel(void *context)
{
	link_cancel(((struct lane *)context)->link);
}

static bool unread(void *context, const struct roce_flow *flow)
{
	(void)context;
	return link_way_unread(flow->route);
}

const struct roce_transmit_ops lane_transmit = {
	.resolve = resolve,
	.reserve = reserve,
	.commit = commit,
	.cancel = cancel,
	.unread = unread,
};

static void deliver(void *context, const struct link_datagram *d)
{
	struct lane *lane = context;
	struct roce_datagram datagram = {
		.source = d->source,
		.destination = d->destination,
		.source_port = d->source_port,
		.traffic_class = d->traffic_class,
		.hop_limit = d->hop_limit,
		.flow_label = d->flow_label,
		.interface = d->interface,
		.trusted = d->local,
		.id_hint = d->id_hint,
		.data = d->data,
		.length = d->length,
	};

	/* A network card may merge packets for several slots into one datagram, which then goes to
	 * the first one's. */
	if (d->length >= 8 && !gid_is_multicast(&d->destination) &&
	    (get_be24(d->data + 5) >> SLOT_SHIFT) != lane->broker.slot)
		rvt_count(&lane->device, RVT_COUNT_strays);
	roce_receive(&lane->engine, &datagram);
}

static int join(void *context, uint32_t interface, const struct gid *mgid)
{
	return link_join(((struct lane *)context)->link, interface, mgid);
}

static void leave(void *context, uint32_t interface, const struct gid *mgid)
{
	link_leave(((struct lane *)context)->link, interface, mgid);
}

void lane_mcast_init(struct lane *lane)
{
	lane->mcast = (struct rvt_mcast_ops){ .join = join, .leave = leave, .context = lane };
}

bool lane_round(struct lane *lane)
{
	bool was_pending = link_pending(lane->link);
	unsigned received = link_receive(lane->link, RECEIVE_CALLS, deliver, lane);
	bool more;

	if (was_pending)
		roce_link_writable(&lane->engine);
	if (deadlines_next(&lane->device.deadlines) <= lane->device.now_ns)
		deadlines_expire(&lane->device.deadlines, lane->device.now_ns);
	more = roce_engine_run(&lane->engine, RUN_BUDGET);
	return received || more || link_pending(lane->link);
}

static void finish(struct lane *lane, bool (*flush)(const struct roce_engine *engine))
{
	for (unsigned i = 0;; i++) {
		if (flush(&lane->engine))
			roce_engine_flush_acks(&lane->engine);
		link_flush(lane->link);
		/* What goes to ourselves lies in memory, and no descriptor tells of it. */
		if (!link_pending(lane->link) || i == MAX_ROUNDS)
			return;
		lane_round(lane);
	}
}

void lane_finish(struct lane *lane)
{
	finish(lane, roce_engine_owes_acks);
}

void lane_wake_thread(struct lane *lane)
{
	uint64_t one = 1, due = deadlines_next(&lane->device.deadlines);

	if (roce_engine_blocked(&lane->engine) && due > lane->device.now_ns + BLOCKED_NS)
		due = lane->device.now_ns + BLOCKED_NS;
	/* They wait for the program's next call, but not long. */
	if (roce_engine_owes_acks(&lane->engine) && due > lane->device.now_ns + TICK_NS)
		due = lane->device.now_ns + TICK_NS;
	if (due >= lane->thread_wakes_at)
		return;
	lane->thread_wakes_at = 0;
	if (write(lane->wake_fd, &one, sizeof(one)) < 0)
		return; /* it is readable already */
}

void lane_leave_sending(void)
{
	struct lane *lane = lane_current;

	roce_engine_run(&lane->engine, RUN_BUDGET);
	/*
	 * What the program posted goes first, in a call of its own: the peer waits for it, and one
	 * packet is faster through the kernel than a train of two. Acknowledgements follow while
	 * the peer is busy with it.
	 */
	link_flush(lane->link);
	finish(lane, roce_engine_acks_due);
	lane_leave();
}

void lane_settle(void)
{
	if (roce_engine_owes_acks(&lane_current->engine))
		lane_finish(lane_current);
}

void lane_poll_begin(void)
{
	lane_current->polls++;
	if (roce_engine_acks_due(&lane_current->engine))
		lane_finish(lane_current);
}

void lane_want_headers(void)
{
	link_want_headers(lane_current->link);
}

void lane_make_room(void)
{
	lane_round(lane_current);
	link_flush(lane_current->link);
}

/*
 * A program that ends without destroying its queue pairs. Many call exit() in a signal handler,
 * which may have interrupted this very thread with the lane locked: then nobody will ever unlock
 * it.
 */
__attribute__((destructor)) static void settle_at_exit(void)
{
	struct lane *lane = lane_current;
	struct timespec until;

	if (!lane)
		return;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += EXIT_WAIT_NS;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	if (pthread_mutex_timedlock(&lane->lock, &until))
		return;
	lane->device.now_ns = lane_now_ns();
	lane_settle();
	pthread_mutex_unlock(&lane->lock);
}

void lane_progress(const struct rvt_cq *cq)
{
	struct lane *lane = lane_current;

	for (unsigned i = 0; i < MAX_ROUNDS; i++) {
		bool more = lane_round(lane);

		link_flush(lane->link);
		/* The program likely answers: its data goes first, acknowledgements follow. */
		if (rvt_cq_entries(cq))
			return;
		if (!more)
			break;
	}
	finish(lane, roce_engine_acks_due);
}

void lane_idle(void)
{
	static _Thread_local unsigned idle;

	if (++idle >= IDLE_POLLS) {
		idle = 0;
		sched_yield();
	}
}

struct waiter {
	struct lane_stamp stamp;
	bool gone; /* a fork: the lane is no more */
};

/* Also when the waiting thread is cancelled: the engine thread would otherwise believe for ever
 * that somebody does its work. */
static void stop_waiting(void *argument)
{
	struct waiter *waiter = argument;

	waiter->gone = !lane_enter(waiter->stamp);
	if (waiter->gone)
		return;
	lane_current->waiters--;
	lane_leave();
}

/* Blocks, as one of those who do the device's work; this is where the thread may be cancelled. */
static int wait_working(struct pollfd fds[2], struct waiter *waiter)
{
	volatile int err = 0; /* cleaning up may be a longjmp() */

	pthread_cleanup_push(stop_waiting, waiter);
	/* Timers are the engine thread's; a second is for a socket that was replaced. */
	if (poll(fds, 2, WAIT_NS / 1000000) < 0)
		err = -errno;
	pthread_cleanup_pop(1);
	return waiter->gone ? -ENODEV : err;
}

int lane_wait(int fd)
{
	struct lane *lane = lane_current;
	struct lane_stamp stamp = lane_stamp();
	uint64_t polls = 0;
	int err = 0;

	for (;;) {
		struct pollfd fds[2] = { { .fd = fd, .events = POLLIN },
					 { .fd = -1, .events = POLLIN } };
		bool others_poll;

		if (poll(fds, 1, 0) > 0)
			return 0;
		if (!lane || !lane_enter(stamp))
			return -ENODEV;
		for (unsigned i = 0; i < MAX_ROUNDS && lane_round(lane); i++)
			link_flush(lane->link);
		lane_finish(lane);
		others_poll = polls && lane->polls != polls;
		polls = lane->polls;
		/* Two readers of the socket are slower than one: leave it to a thread that polls.
		 */
		if (!others_poll) {
			lane->waiters++;
			lane->waiters_until_ns = lane->device.now_ns + WAIT_NS * 3 / 2;
			fds[1].fd = lane->broker.socket;
		}
		lane_leave();
		if (!others_poll)
			err = wait_working(fds, &(struct waiter){ .stamp = stamp });
		else if (poll(fds, 1, WAIT_ASIDE_MS) < 0)
			err = -errno;
		if (err)
			return err;
	}
}
