/* SPDX-License-Identifier: Apache-2.0 */
/* lane.c - start, lock, fork, and what happens when the broker goes away */
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "ipc/parking.h"
#include "ipc/slots.h"
#include "restrack/ledger.h"
#include "runtime/private.h"
#include "wire/mtu.h"

struct lane *lane_current;

static _Atomic uint32_t generation = 1;
/* This thread has the lane locked, or is about to. */
static _Thread_local bool inside __attribute__((tls_model("initial-exec")));
static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;

uint64_t lane_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void *allocate(void *context, size_t size)
{
	(void)context;
	return calloc(1, size);
}

static void release(void *context, void *memory)
{
	(void)context;
	free(memory);
}

static const struct allocator heap = { .allocate = allocate, .release = release };

/* Descriptors of ours stay away from the low numbers, which programs close, inherit and compare. */
static int move_up(int fd)
{
	int high;

	if (fd < 0)
		return -errno;
	high = fcntl(fd, F_DUPFD_CLOEXEC, 64);
	if (high < 0)
		return descriptors_own(fd);
	close(fd);
	return descriptors_own(high);
}

static int make_ledger(struct lane *lane, char *why, size_t size)
{
	struct lane_quiet quiet;
	int err;

	lane->ledger_size = ledger_size();
	lane->ledger_fd = move_up(memfd_create("adverb-ledger", MFD_CLOEXEC | MFD_ALLOW_SEALING));
	if (lane->ledger_fd < 0) {
		snprintf(why, size, "cannot create the resource ledger: %s",
			 strerror(-lane->ledger_fd));
		return lane->ledger_fd;
	}
	lane_quiet_begin(&quiet);
	err = ftruncate(lane->ledger_fd, (off_t)lane->ledger_size);
	lane_quiet_end(&quiet);
	if (err || fcntl(lane->ledger_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW)) {
		snprintf(why, size, "cannot size the resource ledger: %s", strerror(errno));
		return -errno;
	}
	lane->ledger = mmap(NULL, lane->ledger_size, PROT_READ | PROT_WRITE, MAP_SHARED,
			    lane->ledger_fd, 0);
	if (lane->ledger == MAP_FAILED) {
		lane->ledger = NULL;
		snprintf(why, size, "cannot map the resource ledger: %s", strerror(errno));
		return -errno;
	}
	/* A child must not write into its parent's book. */
	madvise(lane->ledger, lane->ledger_size, MADV_DONTFORK);
	return 0;
}

static void destroy(struct lane *lane)
{
	link_close(lane->link);
	ipc_disconnect(&lane->broker);
	if (lane->ledger)
		munmap(lane->ledger, lane->ledger_size);
	if (lane->ledger_fd >= 0)
		close(descriptors_disown(lane->ledger_fd));
	if (lane->wake_fd >= 0)
		close(descriptors_disown(lane->wake_fd));
	if (lane->netlink >= 0)
		close(descriptors_disown(lane->netlink));
	free(lane);
}

static void fill_hello(struct lane *lane, struct ipc_hello *hello)
{
	memset(hello, 0, sizeof(*hello));
	hello->ledger = lane->ledger_fd;
}

/* With the pid the identity of a process: clock ticks after boot, field 22 of /proc/self/stat. */
static uint64_t process_start_time(void)
{
	char text[1024], *at;
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return 0;
	text[n] = 0;
	at = strrchr(text, ')');
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

/* What a reader outside learns of this process before there is any object. */
static int write_identity(struct lane *lane)
{
	struct ledger_identity identity = { .pid = (uint32_t)getpid(), .now_ns = lane_now_ns() };
	struct rvt_port *ports[RVT_MAX_PORTS];
	char comm[16] = "";
	int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		ssize_t n = read(fd, comm, sizeof(comm) - 1);

		close(fd);
		comm[n > 0 ? n : 0] = 0;
		comm[strcspn(comm, "\n")] = 0;
	}
	identity.comm = comm;
	identity.start_time = process_start_time();
	if (ledger_format(lane->ledger, lane->ledger_size, &identity))
		return -EINVAL;
	for (unsigned n = lane_ports(ports), i = 0; i < n; i++)
		ledger_set_port(lane->ledger, ports[i]->index, ports[i]->name, ports[i]->ifname,
				lane_interface_index(ports[i]), ports[i]->guid, ports[i]->up);
	for (unsigned i = 0; i < RVT_COUNTERS; i++)
		ledger_name_counter(lane->ledger, i, rvt_counter_name((enum rvt_counter)i));
	return 0;
}

static int start_device(struct lane *lane)
{
	struct rvt_device_config config = {
		.allocator = &heap,
		.restrack = &lane->restrack,
		.memory = &lane_memory,
		.transport = &roce_transport_ops,
		.observer = &lane_observer,
		.mcast = &lane->mcast,
		.counters = ledger_counters(lane->ledger),
		.first_qpn = lane->broker.slot << SLOT_SHIFT,
		.qpn_count = 1u << SLOT_SHIFT,
	};
	struct roce_config roce = { .device = &lane->device,
				    .transmit = &lane_transmit,
				    .link = lane };
	int err;

	if (getrandom(&config.seed, sizeof(config.seed), 0) != sizeof(config.seed))
		config.seed = lane_now_ns() * 0x9e3779b97f4a7c15u ^ (uint64_t)getpid();
	lane_mcast_init(lane);
	err = restrack_init(&lane->restrack, &heap, lane->ledger);
	if (err)
		return err;
	restrack_set_clock(&lane->restrack, &lane->device.now_ns);
	err = rvt_device_init(&lane->device, &config);
	if (err)
		return err;
	lane->device.now_ns = lane_now_ns();
	roce_engine_init(&lane->engine, &roce);
	return 0;
}

/* A descriptor that is readable when interfaces or addresses change; without it nothing is told of
 * that. */
static int watch_interfaces(void)
{
	struct sockaddr_nl address = { .nl_family = AF_NETLINK,
				       .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR |
						    RTMGRP_IPV6_IFADDR };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);

	if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address))) {
		close(fd);
		return -1;
	}
	return fd < 0 ? -1 : move_up(fd);
}

static int slot_socket(void *context, uint32_t slot)
{
	struct lane *lane = context;
	int fd = ipc_parking_peek(lane->broker.parking, lane->broker.lock, slot);

	return fd < 0 ? fd : move_up(fd);
}

static int start(struct lane **ret, const struct lane_events *events, char *why, size_t size)
{
	struct lane *lane = calloc(1, sizeof(*lane));
	const char *segmentation = getenv("ADVERB_GSO");
	struct ipc_hello hello;
	int err;

	if (!lane) {
		snprintf(why, size, "out of memory");
		return -ENOMEM;
	}
	lane->events = *events;
	lane->ledger_fd = lane->wake_fd = lane->netlink = -1;
	ipc_connection_init(&lane->broker);
	pthread_mutex_init(&lane->lock, NULL);
	lane_fault_init();
	err = make_ledger(lane, why, size);
	if (!err)
		err = write_identity(lane);
	if (err)
		goto fail;
	fill_hello(lane, &hello);
	err = ipc_broker_connect(&lane->broker, &hello, why, size);
	if (err)
		goto fail;
	ledger_set_slot(lane->ledger, lane->broker.slot);
	lane->wake_fd = move_up(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (lane->wake_fd < 0) {
		err = lane->wake_fd;
		snprintf(why, size, "no event descriptor: %s", strerror(-err));
		goto fail;
	}
	lane->netlink = watch_interfaces();
	err = link_open(&lane->link,
			&(struct link_config){
				.socket = lane->broker.socket,
				.slot = lane->broker.slot,
				.slot_shift = SLOT_SHIFT,
				.segmentation = !segmentation || strcmp(segmentation, "0") != 0,
				.interface_of = ports_interface_of,
				.slot_socket = slot_socket,
				.context = lane,
			});
	if (!err)
		err = start_device(lane);
	if (err) {
		snprintf(why, size, "cannot start the device: %s", strerror(-err));
		goto fail;
	}
	*ret = lane;
	lane_current = lane;
	err = lane_thread_start(lane);
	if (err) {
		lane_current = NULL;
		snprintf(why, size, "cannot start the engine thread: %s", strerror(-err));
		goto fail;
	}
	lane_log(LANE_LOG_INFO, "slot %u: QP numbers from 0x%x", lane->broker.slot,
		 lane->device.first_qpn);
	return 0;
fail:
	destroy(lane);
	return err;
}

/* fork(): the child starts anew; what it inherited is closed, so that it keeps nothing of the
 * parent alive. */

/*
 * A signal handler that interrupted this very thread in a verb may fork, to start another program:
 * there is nothing to wait for then, and the child must not come back from the handler.
 */

static void before_fork(void)
{
	if (inside)
		return;
	pthread_mutex_lock(&start_lock);
	ports_before_fork();
	if (lane_current)
		pthread_mutex_lock(&lane_current->lock);
}

static void after_fork_in_parent(void)
{
	if (inside)
		return;
	if (lane_current)
		pthread_mutex_unlock(&lane_current->lock);
	ports_after_fork();
	pthread_mutex_unlock(&start_lock);
}

static void after_fork_in_child(void)
{
	struct lane *lane = lane_current;

	if (inside) {
		atomic_fetch_add(&generation, 1);
		lane_current = NULL;
		return;
	}
	if (lane) {
		atomic_fetch_add(&generation, 1);
		lane_current = NULL;
		/* Its pages are not mapped here. */
		lane->ledger = NULL;
		pthread_mutex_unlock(&lane->lock);
		destroy(lane);
	}
	ports_after_fork();
	pthread_mutex_unlock(&start_lock);
}

int lane_start(const struct lane_events *events, char *why, size_t size)
{
	static bool fork_handled;
	struct lane *lane;
	int err = 0, cancel_state;

	/* A cancelled thread would leave this locked. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	pthread_mutex_lock(&start_lock);
	if (!lane_current) {
		if (!fork_handled)
			pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
		fork_handled = true;
		err = start(&lane, events, why, size);
	}
	pthread_mutex_unlock(&start_lock);
	pthread_setcancelstate(cancel_state, NULL);
	return err;
}

struct lane_stamp lane_stamp(void)
{
	return (struct lane_stamp){ atomic_load_explicit(&generation, memory_order_relaxed) };
}

bool lane_present(struct lane_stamp stamp)
{
	return stamp.generation == atomic_load_explicit(&generation, memory_order_relaxed);
}

struct rvt_device *lane_enter(struct lane_stamp stamp)
{
	struct lane *lane = lane_current;
	int cancel_state;

	if (!lane || !lane_present(stamp))
		return NULL;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	inside = true;
	pthread_mutex_lock(&lane->lock);
	lane->cancel_state = cancel_state;
	lane->device.now_ns = lane_now_ns();
	return &lane->device;
}

struct lane *lane_lock_if_running(void)
{
	return lane_enter(lane_stamp()) ? lane_current : NULL;
}

void lane_leave(void)
{
	struct lane *lane = lane_current;

	int cancel_state = lane->cancel_state;

	lane_wake_thread(lane);
	pthread_mutex_unlock(&lane->lock);
	inside = false;
	pthread_setcancelstate(cancel_state, NULL);
}

/* The broker. It is needed only for what comes and goes, so traffic goes on without it. */

static void *reconnect_main(void *argument)
{
	struct lane *lane = argument;
	struct timespec pause = { 0, 50 * 1000 * 1000 };
	struct ipc_hello hello;
	char why[256];
	int err;

	fill_hello(lane, &hello);
	for (;;) {
		struct ipc_connection next = lane->broker;

		err = ipc_broker_reconnect(&next, &hello, why, sizeof(why));
		if (!err) {
			pthread_mutex_lock(&lane->lock);
			lane->broker = next;
			link_rebind(lane->link, next.socket);
			lane->reconnecting = false;
			lane->thread_wakes_at = UINT64_MAX;
			pthread_mutex_unlock(&lane->lock);
			lane_log(LANE_LOG_INFO, "the broker is back; slot %u kept", next.slot);
			return NULL;
		}
		lane_log(LANE_LOG_WARN, "no broker: %s", why);
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < 800 * 1000 * 1000)
			pause.tv_nsec *= 2;
	}
}

void lane_broker_event(struct lane *lane)
{
	bool start;

	if (ipc_broker_alive(&lane->broker))
		return;
	pthread_mutex_lock(&lane->lock);
	start = !lane->reconnecting;
	lane->reconnecting = true;
	pthread_mutex_unlock(&lane->lock);
	if (start && lane_run_thread(reconnect_main, lane, "adverb-broker")) {
		pthread_mutex_lock(&lane->lock);
		lane->reconnecting = false;
		pthread_mutex_unlock(&lane->lock);
	}
}
