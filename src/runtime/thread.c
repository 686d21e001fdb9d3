/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread.c - the engine thread: serves when the program does not call us
 *
 * It is always blocked, never spinning. While the program polls (or waits in lane_wait()) the
 * socket is the program's and the thread only looks after timers, once in TICK_NS: two readers of
 * one socket cost a third of the bandwidth. When a tick passes without a poll, the thread waits on
 * the socket again.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "runtime/private.h"

#define MAX_ROUNDS  16
#define MAX_WAIT_NS 1000000000u

static struct timespec until(uint64_t at_ns, uint64_t now_ns)
{
	uint64_t wait = at_ns <= now_ns ? 0 : at_ns - now_ns;

	if (wait > MAX_WAIT_NS)
		wait = MAX_WAIT_NS;
	return (struct timespec){ .tv_sec = (time_t)(wait / 1000000000u),
				  .tv_nsec = (long)(wait % 1000000000u) };
}

/* What the thread waits for, at these places; a descriptor of -1 is waited for in vain. */
enum {
	WAKE,
	BROKER,
	NETLINK,
	SOCKET,
	DESCRIPTORS
};

static void interfaces_changed(struct lane *lane)
{
	struct rvt_port *ports[RVT_MAX_PORTS];
	char messages[8192];

	while (recv(lane->netlink, messages, sizeof(messages), MSG_DONTWAIT) > 0)
		;
	lane_ports(ports);
}

/*
 * The program closed numbers that it did not open, past our functions for that. What it opens next
 * may get them: none of them is used again, as far as we know of it.
 */
static void descriptors_lost(struct lane *lane, const struct pollfd fds[DESCRIPTORS])
{
	pthread_mutex_lock(&lane->lock);
	if (fds[WAKE].revents & POLLNVAL)
		lane->wake_fd = -1;
	if (fds[NETLINK].revents & POLLNVAL)
		lane->netlink = -1;
	if (fds[BROKER].revents & POLLNVAL)
		lane->broker.fd = -1;
	if (fds[SOCKET].revents & POLLNVAL) {
		lane->broker.socket = -1;
		link_rebind(lane->link, -1);
	}
	pthread_mutex_unlock(&lane->lock);
	lane_log(LANE_LOG_ERROR, "the program closed descriptors of the device");
}

/* Do what there is to do and say what to wait for. Return: until when. */
static struct timespec work(struct lane *lane, uint64_t *polls_seen, struct pollfd fds[DESCRIPTORS])
{
	struct rvt_device *device = &lane->device;
	bool program_polls, waited_for;
	struct timespec wait;

	pthread_mutex_lock(&lane->lock);
	device->now_ns = lane_now_ns();
	/* A signal handler may have jumped out of the wait: then nobody counts it off. */
	waited_for = lane->waiters && device->now_ns < lane->waiters_until_ns;
	program_polls = lane->polls != *polls_seen || waited_for;
	*polls_seen = lane->polls;
	if (!program_polls || deadlines_next(&device->deadlines) <= device->now_ns ||
	    roce_engine_acks_due(&lane->engine) || link_pending(lane->link)) {
		for (unsigned i = 0; i < MAX_ROUNDS && lane_round(lane); i++) {
			link_flush(lane->link);
			device->now_ns = lane_now_ns();
		}
		lane_finish(lane);
	}
	lane->thread_wakes_at = deadlines_next(&device->deadlines);
	if (link_pending(lane->link))
		lane->thread_wakes_at = device->now_ns;
	if (program_polls && !waited_for && lane->thread_wakes_at > device->now_ns + TICK_NS)
		lane->thread_wakes_at = device->now_ns + TICK_NS;
	if (roce_engine_blocked(&lane->engine) &&
	    lane->thread_wakes_at > device->now_ns + BLOCKED_NS)
		lane->thread_wakes_at = device->now_ns + BLOCKED_NS;
	wait = until(lane->thread_wakes_at, device->now_ns);
	fds[WAKE].fd = lane->wake_fd;
	fds[BROKER].fd = lane->reconnecting ? -1 : lane->broker.fd;
	fds[NETLINK].fd = lane->netlink;
	fds[SOCKET].fd = program_polls ? -1 : lane->broker.socket;
	pthread_mutex_unlock(&lane->lock);
	return wait;
}

static void *thread_main(void *argument)
{
	struct lane *lane = argument;
	uint64_t polls_seen = 0;

	for (;;) {
		struct pollfd fds[DESCRIPTORS];
		struct timespec wait;
		bool lost = false;
		uint64_t count;

		for (unsigned i = 0; i < DESCRIPTORS; i++)
			fds[i] = (struct pollfd){ .fd = -1, .events = POLLIN };
		wait = work(lane, &polls_seen, fds);
		if (ppoll(fds, DESCRIPTORS, &wait, NULL) <= 0)
			continue;
		for (unsigned i = 0; i < DESCRIPTORS; i++)
			lost |= fds[i].revents & POLLNVAL;
		if (lost) {
			descriptors_lost(lane, fds);
			continue;
		}
		if (fds[WAKE].revents && read(lane->wake_fd, &count, sizeof(count)) < 0)
			continue;
		if (fds[BROKER].revents)
			lane_broker_event(lane);
		if (fds[NETLINK].revents)
			interfaces_changed(lane);
	}
	return NULL;
}

int lane_run_thread(void *(*run)(void *), struct lane *lane, const char *name)
{
	sigset_t all, before;
	pthread_attr_t attributes;
	pthread_t thread;
	int err;

	/* Signals of the program are for the program's threads. */
	sigfillset(&all);
	/* Its own faults have a landing place. */
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, 256 * 1024);
	err = pthread_create(&thread, &attributes, run, lane);
	pthread_attr_destroy(&attributes);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!err)
		pthread_setname_np(thread, name);
	return -err;
}

int lane_thread_start(struct lane *lane)
{
	return lane_run_thread(thread_main, lane, "adverb");
}
