/* SPDX-License-Identifier: Apache-2.0 */
/* test_link.c - packets over the kernel's loopback: all of them, in order, as they were reserved */
#include <errno.h>
#include <net/if.h>
#include <netinet/udp.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "link/private.h"
#include "unit/seed.h"

#include <cmocka.h>

#ifndef UDP_GRO
# define UDP_GRO 104
#endif

#define SLOT_SHIFT 10
#define QPN(slot)  ((uint32_t)(slot) << SLOT_SHIFT)
#define NEAR	   1u /* the sender's slot */
#define FAR	   2u

static bool alone; /* in a network namespace of our own, where port 4791 is free */
static int far_socket = -1, near_socket = -1;
static struct link *near, *far;

static const struct gid v4 = { { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1 } };
static const struct gid v6 = { { [15] = 1 } };
static const struct gid nowhere = { { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 1 } };

static unsigned interface_of(void *context, const struct gid *address)
{
	(void)context;
	return gid_equal(address, &v4) || gid_equal(address, &v6) ? 1 : 0;
}

static bool make_namespace(void)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd, err;

	if (unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return false;
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (fd < 0)
		return false;
	err = ioctl(fd, SIOCSIFFLAGS, &request);
	close(fd);
	return err == 0;
}

static int open_far(void)
{
	struct sockaddr_in6 address = { .sin6_family = AF_INET6, .sin6_port = htons(UDP_PORT) };
	int on = 1, off = 0, size = 16 * 1024 * 1024;
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)), 0);
	assert_int_equal(setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof(on)), 0);
	(void)setsockopt(fd, IPPROTO_UDP, UDP_GRO, &on, sizeof(on));
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static int open_both(void **state)
{
	struct link_config config = { .slot_shift = SLOT_SHIFT,
				      .segmentation = true,
				      .interface_of = interface_of };

	(void)state;
	if (!alone)
		return 0;
	far_socket = open_far();
	near_socket = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_true(near_socket >= 0);
	config.slot = NEAR;
	config.socket = near_socket;
	assert_int_equal(link_open(&near, &config), 0);
	config.slot = FAR;
	config.socket = far_socket;
	assert_int_equal(link_open(&far, &config), 0);
	return 0;
}

static int close_both(void **state)
{
	(void)state;
	link_close(near);
	link_close(far);
	near = far = NULL;
	if (alone) {
		close(near_socket);
		close(far_socket);
	}
	return 0;
}

#define IN_FLIGHT 32 /* an ordinary receive buffer holds so many */

/* What was sent and has not come yet. */
struct sent {
	const struct gid *gid;
	uint16_t port;
	uint8_t traffic_class;
	size_t length;
};

static struct traffic {
	struct sent sent[IN_FLIGHT];
	uint32_t in, out;
	bool local, headers;
} traffic;

static void expect(void *context, const struct link_datagram *d)
{
	struct traffic *t = context;
	const struct sent *s = &t->sent[t->out % IN_FLIGHT];

	if (t->out == t->in) {
		fail_msg("more packets than were sent");
		return;
	}
	assert_int_equal(d->length, s->length);
	assert_memory_equal(&d->source, s->gid, sizeof(*s->gid));
	assert_memory_equal(&d->destination, s->gid, sizeof(*s->gid));
	assert_int_equal(d->source_port, s->port);
	assert_int_equal(d->local, t->local);
	if (t->headers || t->local) {
		assert_int_equal(d->traffic_class, s->traffic_class);
		assert_int_equal(d->hop_limit, 64);
	}
	for (size_t i = 0; i < d->length; i++) {
		if (d->data[i] != (uint8_t)(t->out + i))
			fail_msg("packet %u differs at byte %zu", t->out, i);
	}
	t->out++;
}

static uint8_t *reserve(struct traffic *t, const struct gid *gid, uint32_t qpn,
			uint8_t traffic_class, size_t length, uint16_t *id)
{
	struct link_way *way;
	uint8_t *to;

	assert_int_equal(link_resolve(near, gid, gid, qpn, &way), 0);
	to = link_reserve(near, way,
			  &(struct link_packet){
				  .qpn = qpn, .traffic_class = traffic_class, .length = length },
			  id);
	if (!to)
		return NULL;
	for (size_t i = 0; i < length; i++)
		to[i] = (uint8_t)(t->in + i);
	t->sent[t->in % IN_FLIGHT] =
		(struct sent){ gid, link_way_port(way), traffic_class, length };
	return to;
}

static void drain(struct traffic *t)
{
	for (int empty = 0; t->out < t->in && empty < 1000;) {
		if (link_receive(far, 4, expect, t) == 0) {
			empty++;
			(void)usleep(1000);
		}
	}
	assert_int_equal(t->out, t->in);
}

/* Two addresses, three queue pairs, runs of equal sizes: trains begin, grow and end in any way. */
static void over_the_kernel(void **state)
{
	struct traffic *t = &traffic;
	struct random random;

	(void)state;
	if (!alone)
		skip();
	*t = (struct traffic){ .headers = true };
	seed(&random);
	link_want_headers(far);
	for (int run = 0; run < 1500; run++) {
		const struct gid *gid = random_below(&random, 2) ? &v4 : &v6;
		uint32_t qpn = QPN(FAR + random_below(&random, 2)) + random_below(&random, 3);
		uint8_t class = random_below(&random, 3) ? 0 : (uint8_t)random_below(&random, 64);
		size_t length = 16 + random_below(&random, MAX_PACKET - 16);

		/* The last two bits of the class are the network's, but the loopback leaves them.
		 */
		for (unsigned n = 1 + random_below(&random, 8); n; n--) {
			uint16_t id;

			if (t->in - t->out == IN_FLIGHT - 1)
				break;
			assert_non_null(reserve(t, gid, qpn, class,
						n == 1 ? 1 + random_below(&random, (uint32_t)length)
						       : length,
						&id));
			if (random_below(&random, 16) == 0) {
				link_cancel(near);
				continue;
			}
			link_commit(near);
			t->in++;
		}
		if (random_below(&random, 3) == 0 || t->in - t->out > IN_FLIGHT - 9) {
			link_flush(near);
			drain(t);
		}
	}
	link_flush(near);
	drain(t);
	assert_int_equal(link_send_errors(near), 0);
}

/* The identification is the place in the train, which the kernel counts when it cuts it. */
static void identification(void **state)
{
	static const struct {
		uint32_t qpn;
		size_t length;
		uint16_t id;
	} steps[] = {
		{ QPN(FAR), 1000, 0 },	 { QPN(FAR), 1000, 1 },
		{ QPN(FAR), 1000, 2 },	 { QPN(FAR), 10, 3 }, /* shorter: the last */
		{ QPN(FAR), 10, 0 },	 { QPN(FAR), 11, 0 }, /* longer than its segments */
		{ QPN(FAR) + 1, 11, 0 }, { QPN(FAR) + 1, 11, 1 },
		{ QPN(FAR), 11, 0 },	 { QPN(FAR + 1), 11, 0 },
	};
	struct traffic *t = &traffic;
	uint16_t id;

	(void)state;
	if (!alone)
		skip();
	*t = (struct traffic){ 0 };
	for (unsigned i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		assert_non_null(reserve(t, &v4, steps[i].qpn, 0, steps[i].length, &id));
		assert_int_equal(id, steps[i].id);
		link_commit(near);
		t->in++;
	}
	link_flush(near);
	assert_non_null(reserve(t, &v4, QPN(FAR + 1), 0, 11, &id));
	assert_int_equal(id, 0);
	link_cancel(near);
	drain(t);
}

/* Our own slot at an address of ours: no system call, and a limit that is told. */
static void in_process(void **state)
{
	struct traffic *t = &traffic;
	struct link_way *way;
	unsigned full = 0;
	uint16_t id;

	(void)state;
	if (!alone)
		skip();
	*t = (struct traffic){ .local = true };
	assert_int_equal(link_resolve(near, &v6, &v6, QPN(NEAR) + 5, &way), 0);
	assert_true(link_way_local(way));
	assert_int_equal(link_way_port(way), UDP_PORT);
	for (int round = 0; round < 200; round++) {
		while (t->in - t->out < IN_FLIGHT - 1 &&
		       reserve(t, &v6, QPN(NEAR) + 5, (uint8_t)round, 1000, &id)) {
			link_commit(near);
			t->in++;
		}
		assert_true(link_pending(near));
		assert_int_equal(link_receive(near, 1, expect, t), IN_FLIGHT - 1);
		assert_int_equal(t->out, t->in);
		assert_false(link_pending(near));
	}
	while (link_reserve(near, way,
			    &(struct link_packet){ .qpn = QPN(NEAR), .length = MAX_PACKET }, &id)) {
		link_commit(near);
		full++;
		assert_true(full < LOOP_SIZE / MAX_PACKET + 1);
	}
	assert_true(full > 200);
}

static void ways(void **state)
{
	struct link_way *one, *same, *other;

	(void)state;
	if (!alone)
		skip();
	assert_int_equal(link_resolve(near, &v4, &v4, QPN(FAR), &one), 0);
	assert_int_equal(link_resolve(near, &v4, &v4, QPN(FAR) + 9, &same), 0);
	assert_ptr_equal(one, same);
	assert_in_range(link_way_port(one), 0xc000, 0xffff);
	/* The receiver's kernel merges what comes from one port: never two slots. */
	assert_int_equal(link_resolve(near, &v4, &v4, QPN(FAR + 1), &other), 0);
	assert_ptr_not_equal(one, other);
	assert_int_not_equal(link_way_port(one), link_way_port(other));
	assert_int_equal(link_resolve(near, &v4, &v6, QPN(FAR), &other), -EAFNOSUPPORT);
	assert_int_equal(link_resolve(near, &nowhere, &v4, QPN(FAR), &other), -EADDRNOTAVAIL);
}

/* What the kernel refuses is lost and counted, and the next packet goes. */
static void refused(void **state)
{
	struct traffic *t = &traffic;
	struct link_way *way;
	uint16_t id;

	(void)state;
	if (!alone)
		skip();
	*t = (struct traffic){ 0 };
	assert_int_equal(link_resolve(near, &v4, &nowhere, QPN(FAR), &way), 0);
	for (int i = 0; i < 3; i++) {
		uint8_t *to = link_reserve(
			near, way, &(struct link_packet){ .qpn = QPN(FAR), .length = 100 }, &id);

		assert_non_null(to);
		memset(to, 0, 100);
		link_commit(near);
	}
	assert_non_null(reserve(t, &v4, QPN(FAR), 0, 100, &id));
	link_commit(near);
	t->in++;
	link_flush(near);
	assert_int_equal(link_send_errors(near), 3);
	drain(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(over_the_kernel, open_both, close_both),
		cmocka_unit_test_setup_teardown(identification, open_both, close_both),
		cmocka_unit_test_setup_teardown(in_process, open_both, close_both),
		cmocka_unit_test_setup_teardown(ways, open_both, close_both),
		cmocka_unit_test_setup_teardown(refused, open_both, close_both),
	};

	alone = make_namespace();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
