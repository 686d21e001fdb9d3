/* SPDX-License-Identifier: Apache-2.0 */
/* test_mcast.c - multicast groups and who is in them */
#include "rvt/mcast.h"
#include "world.h"

static const struct gid group4 = { { [10] = 0xff, 0xff, 239, 1, 2, 3 } };
static const struct gid group6 = { { 0xff, 0x0e, [15] = 7 } };

/* The host. */
static struct {
	int error;
	unsigned joins, leaves;
	uint32_t interface;
	struct gid mgid;
} host;

static int join(void *context, uint32_t interface, const struct gid *mgid)
{
	assert_ptr_equal(context, &host);
	host.joins++;
	host.interface = interface;
	host.mgid = *mgid;
	return host.error;
}

static void leave(void *context, uint32_t interface, const struct gid *mgid)
{
	assert_ptr_equal(context, &host);
	host.leaves++;
	host.interface = interface;
	host.mgid = *mgid;
}

static const struct rvt_mcast_ops ops = { join, leave, &host };
static struct rvt_cq *cq;

static struct rvt_qp *make(enum rvt_qp_type type)
{
	struct rvt_qp_init init = {
		.type = type, .send_cq = cq, .recv_cq = cq, .cap = { 1, 1, 1, 1, 0 }
	};
	struct rvt_qp *qp;

	assert_int_equal(rvt_create_qp(w.pd, &init, &qp), 0);
	return qp;
}

static int setup(void **state)
{
	assert_int_equal(world_open(state), 0);
	memset(&host, 0, sizeof(host));
	w.device.mcast = &ops;
	w.port.interface = 5;
	assert_int_equal(rvt_create_cq(w.context, 16, &cq), 0);
	return 0;
}

static unsigned members(uint32_t interface, const struct gid *mgid)
{
	const struct rvt_mcast *group = rvt_mcast_find(&w.device, interface, mgid);
	unsigned n = 0;

	if (!group)
		return 0;
	list_for_each(node, &group->members)
		n++;
	assert_int_equal(n, group->count);
	assert_int_not_equal(n, 0);
	return n;
}

static void test_refusals(void **state)
{
	struct rvt_qp *rc = make(RVT_QPT_RC), *uc = make(RVT_QPT_UC), *ud = make(RVT_QPT_UD);
	static const struct gid addresses[] = {
		{ { 0 } },
		{ { [10] = 0xff, 0xff, 223, 255, 255, 255 } },
		{ { [10] = 0xff, 0xff, 240, 0, 0, 0 } },
		{ { 0xfe, 0xff } },
		{ { [12] = 239, 1, 2, 3 } },
	};

	(void)state;
	world_refused(rvt_attach_mcast(rc, &group4), RVT_MCAST_TYPE);
	world_refused(rvt_attach_mcast(uc, &group6), RVT_MCAST_TYPE);
	for (unsigned i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++)
		world_refused(rvt_attach_mcast(ud, &addresses[i]), RVT_MCAST_GID);
	world_refused(rvt_detach_mcast(ud, &group4), RVT_MCAST_NOT_ATTACHED);
	world_refused(rvt_detach_mcast(rc, &group4), RVT_MCAST_NOT_ATTACHED);
	assert_int_equal(host.joins, 0);
	host.error = -ENOBUFS;
	world_refused(rvt_attach_mcast(ud, &group4), RVT_MCAST_JOIN);
	assert_int_equal(w.value1, 5);
	assert_int_equal(w.value2, ENOBUFS);
	assert_int_equal(members(5, &group4), 0);
	assert_int_equal(ud->groups, 0);
	assert_int_equal(w.device.group_count, 0);
	assert_int_equal(host.leaves, 0);
}

static void test_membership(void **state)
{
	struct rvt_qp *a = make(RVT_QPT_UD), *b = make(RVT_QPT_UD);

	(void)state;
	assert_int_equal(rvt_attach_mcast(a, &group4), 0);
	assert_int_equal(host.joins, 1);
	assert_int_equal(host.interface, 5);
	assert_true(gid_equal(&host.mgid, &group4));
	/* Twice is once, and the host is asked once. */
	assert_int_equal(rvt_attach_mcast(a, &group4), 0);
	assert_int_equal(members(5, &group4), 1);
	assert_int_equal(rvt_attach_mcast(b, &group4), 0);
	assert_int_equal(members(5, &group4), 2);
	assert_int_equal(host.joins, 1);
	assert_int_equal(rvt_attach_mcast(a, &group6), 0);
	assert_int_equal(host.joins, 2);
	assert_int_equal(a->groups, 2);
	assert_int_equal(members(5, &group6), 1);
	/* What arrives on another interface is for others. */
	assert_null(rvt_mcast_find(&w.device, 6, &group4));
	world_refused(rvt_detach_mcast(b, &group6), RVT_MCAST_NOT_ATTACHED);
	assert_int_equal(rvt_detach_mcast(a, &group4), 0);
	assert_int_equal(host.leaves, 0);
	assert_int_equal(members(5, &group4), 1);
	world_refused(rvt_detach_mcast(a, &group4), RVT_MCAST_NOT_ATTACHED);
	assert_int_equal(rvt_detach_mcast(b, &group4), 0);
	assert_int_equal(host.leaves, 1);
	assert_true(gid_equal(&host.mgid, &group4));
	assert_int_equal(members(5, &group4), 0);
	/* The interface was replaced: the old membership is still found, and ended where it was. */
	w.port.interface = 9;
	assert_int_equal(rvt_detach_mcast(a, &group6), 0);
	assert_int_equal(host.interface, 5);
	assert_int_equal(host.leaves, 2);
	assert_int_equal(w.device.group_count, 0);
}

static void test_destroy(void **state)
{
	struct rvt_qp *a = make(RVT_QPT_UD);
	struct rvt_qp_attr attr = { .qp_state = RVT_QPS_RESET };

	(void)state;
	assert_int_equal(rvt_attach_mcast(a, &group4), 0);
	world_refused(rvt_destroy_qp(a), RVT_IN_USE);
	assert_int_equal(w.value1, 1);
	assert_ptr_equal(rvt_find_qp(&w.device, a->number), a);
	/* It stays in over a reset. */
	assert_int_equal(rvt_modify_qp(a, &attr, RVT_QP_STATE), 0);
	assert_int_equal(members(5, &group4), 1);
	assert_int_equal(rvt_detach_mcast(a, &group4), 0);
	assert_int_equal(rvt_destroy_qp(a), 0);
	/* One that is left to the context leaves with it. */
	a = make(RVT_QPT_UD);
	assert_int_equal(rvt_attach_mcast(a, &group4), 0);
	assert_int_equal(rvt_attach_mcast(a, &group6), 0);
	rvt_context_close(w.context);
	w.context = NULL;
	w.pd = NULL;
	assert_int_equal(host.leaves, host.joins);
	assert_int_equal(w.device.group_count, 0);
}

static void test_limits(void **state)
{
	struct rvt_qp *qps[257];
	struct gid mgid = group4;

	(void)state;
	assert_int_equal(rvt_limits.max_mcast_qp_attach, 256);
	for (unsigned i = 0; i < 257; i++)
		qps[i] = make(RVT_QPT_UD);
	for (unsigned i = 0; i < 256; i++)
		assert_int_equal(rvt_attach_mcast(qps[i], &group4), 0);
	world_refused(rvt_attach_mcast(qps[256], &group4), RVT_MCAST_LIMIT);
	assert_int_equal(rvt_attach_mcast(qps[3], &group4), 0);
	for (unsigned i = 1; i < rvt_limits.max_mcast_grp; i++) {
		mgid.raw[12] = 224;
		mgid.raw[15] = (uint8_t)i;
		assert_int_equal(rvt_attach_mcast(qps[256], &mgid), 0);
	}
	world_refused(rvt_attach_mcast(qps[256], &group6), RVT_MCAST_LIMIT);
	assert_int_equal(host.joins, rvt_limits.max_mcast_grp);
	for (unsigned i = 0; i < 257; i++) {
		rvt_leave_mcast(qps[i]);
		assert_int_equal(rvt_destroy_qp(qps[i]), 0);
	}
	assert_int_equal(host.leaves, host.joins);
}

static struct rvt_qp *attached;

static int attach_failing(void **object)
{
	*object = attached;
	return rvt_attach_mcast(attached, &group4);
}

static void detach_again(void *object)
{
	assert_int_equal(rvt_detach_mcast(object, &group4), 0);
}

static void test_no_memory(void **state)
{
	(void)state;
	attached = make(RVT_QPT_UD);
	world_fail_allocations(attach_failing, detach_again);
	assert_int_equal(host.joins, host.leaves);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_refusals, setup, world_close),
		cmocka_unit_test_setup_teardown(test_membership, setup, world_close),
		cmocka_unit_test_setup_teardown(test_destroy, setup, world_close),
		cmocka_unit_test_setup_teardown(test_limits, setup, world_close),
		cmocka_unit_test_setup_teardown(test_no_memory, setup, world_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
