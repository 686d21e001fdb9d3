/* SPDX-License-Identifier: Apache-2.0 */
/* test_device.c - devices, contexts, PDs, address handles, verdicts, counters */
#include "world.h"

static void test_verdicts(void **state)
{
	(void)state;
	for (unsigned v = 0; v < RVT_VERDICT_COUNT; v++) {
		const struct rvt_verdict_row *row = rvt_verdict_row(v);
		struct restrack_entry object;

		assert_non_null(row->name);
		assert_true(strlen(row->sentence) > 0);
		assert_true(row->error >= 0);
		assert_true(row->event == RVT_EVENT_NONE || row->event <= RVT_EVENT_GID_CHANGE);
		assert_true(row->status <= RVT_WC_GENERAL_ERR);
		assert_int_equal(rvt_refuse(&w.device, (enum rvt_verdict)v, &object, v + 1, v + 2),
				 -row->error);
		assert_int_equal(w.cause, v);
		assert_int_equal(w.causes[v], 1);
		assert_ptr_equal(w.cause_object, &object);
		assert_int_equal(w.value1, v + 1);
		assert_int_equal(w.value2, v + 2);
	}
	assert_string_equal(rvt_verdict_row(RVT_OK)->name, "OK");
	assert_ptr_equal(rvt_verdict_row(RVT_VERDICT_COUNT), rvt_verdict_row(RVT_OK));
	assert_ptr_equal(rvt_verdict_row(UINT32_MAX), rvt_verdict_row(RVT_OK));
	/* The number is the low byte of vendor_err. */
	assert_in_range(RVT_VERDICT_COUNT, 1, 256);
}

static void test_counters(void **state)
{
	(void)state;
	assert_in_range(RVT_COUNTERS, 1, LEDGER_COUNTERS);
	for (unsigned i = 0; i < RVT_COUNTERS; i++) {
		const char *name = rvt_counter_name((enum rvt_counter)i);

		assert_in_range(strlen(name), 2, LEDGER_COUNTER_NAME - 1);
		for (unsigned j = 0; j < i; j++)
			assert_string_not_equal(name, rvt_counter_name((enum rvt_counter)j));
		rvt_count(&w.device, (enum rvt_counter)i);
		assert_int_equal(w.counters[i], 1);
	}
	assert_string_equal(rvt_counter_name(RVT_COUNT_sent_pkts), "sent_pkts");
	assert_string_equal(rvt_counter_name(RVT_COUNTERS), "?");
}

static void test_gids(void **state)
{
	(void)state;
	assert_ptr_equal(rvt_port_gid(&w.port, 0), &w.port.gids[0]);
	assert_null(rvt_port_gid(&w.port, 1));
	assert_ptr_equal(rvt_port_gid(&w.port, 2), &w.port.gids[2]);
	assert_null(rvt_port_gid(&w.port, RVT_GID_TABLE));
	assert_null(rvt_port_gid(&w.port, UINT32_MAX));
	w.port.gids[RVT_GID_TABLE - 1] = w.port.gids[0];
	assert_non_null(rvt_port_gid(&w.port, RVT_GID_TABLE - 1));
}

/* Keys and QP numbers of the next run are others. */
static void test_random_start(void **state)
{
	struct rvt_device_config config = world_config();
	uint32_t keys[4], numbers[4];

	for (unsigned i = 0; i < 4; i++) {
		struct rvt_cq *cq;
		struct rvt_mr *mr;

		if (i) {
			assert_int_equal(world_close(state), 0);
			assert_int_equal(world_empty(state), 0);
			rvt_device_deinit(&w.device);
			config.seed = i * 1000;
			assert_int_equal(rvt_device_init(&w.device, &config), 0);
		}
		assert_int_equal(rvt_context_open(&w.device, &w.port, &w.context), 0);
		assert_int_equal(rvt_alloc_pd(w.context, &w.pd), 0);
		assert_int_equal(rvt_create_cq(w.context, 16, &cq), 0);
		mr = world_region(keys, sizeof(keys), 0);
		keys[i] = mr->key >> 8;
		numbers[i] = world_qp(cq, NULL)->number;
		assert_in_range(numbers[i], WORLD_FIRST_QPN, WORLD_FIRST_QPN + WORLD_QPNS - 1);
		for (unsigned j = 0; j < i; j++) {
			assert_int_not_equal(keys[i], keys[j]);
			assert_int_not_equal(numbers[i], numbers[j]);
		}
	}
}

static int fail_device(void **object)
{
	static struct rvt_device device;
	struct rvt_device_config config = world_config();
	int err = rvt_device_init(&device, &config);

	*object = err ? NULL : &device;
	/* Starting is nobody's verb: nobody is told. */
	w.cause = RVT_NO_MEMORY;
	return err;
}

static void fail_deinit(void *object)
{
	assert_int_equal(rvt_device_deinit(object), 0);
}

static void test_device_allocations(void **state)
{
	(void)state;
	world_fail_allocations(fail_device, fail_deinit);
}

static int fail_open(void **object)
{
	struct rvt_context *context;
	int err = rvt_context_open(&w.device, &w.port, &context);

	*object = err ? NULL : context;
	return err;
}

static void fail_close(void *object)
{
	rvt_context_close(object);
}

static void test_context_allocations(void **state)
{
	(void)state;
	world_fail_allocations(fail_open, fail_close);
}

static int fail_alloc_pd(void **object)
{
	struct rvt_pd *pd;
	int err = rvt_alloc_pd(w.context, &pd);

	*object = err ? NULL : pd;
	return err;
}

static void fail_dealloc_pd(void *object)
{
	assert_int_equal(rvt_dealloc_pd(object), 0);
}

static void test_pd_allocations(void **state)
{
	(void)state;
	assert_int_equal(rvt_context_open(&w.device, &w.port, &w.context), 0);
	world_fail_allocations(fail_alloc_pd, fail_dealloc_pd);
}

static struct rvt_ah_attr to_ipv4(void)
{
	return (struct rvt_ah_attr){ .dgid = { { [10] = 0xff, 0xff, 10, 0, 0, 9 } },
				     .is_global = true,
				     .port_num = 1 };
}

static int fail_create_ah(void **object)
{
	struct rvt_ah_attr attr = to_ipv4();
	struct rvt_ah *ah;
	int err = rvt_create_ah(w.pd, &attr, &ah);

	*object = err ? NULL : ah;
	return err;
}

static void fail_destroy_ah(void *object)
{
	assert_int_equal(rvt_destroy_ah(object), 0);
}

static void test_ah_allocations(void **state)
{
	(void)state;
	world_fail_allocations(fail_create_ah, fail_destroy_ah);
}

static void test_ah_attributes(void **state)
{
	struct rvt_ah_attr attr = to_ipv4();
	struct rvt_ah *ah;

	(void)state;
	assert_int_equal(rvt_create_ah(w.pd, &attr, &ah), 0);
	assert_true(gid_equal(&ah->attr.sgid, &w.port.gids[0]));
	assert_true(gid_equal(&ah->attr.dgid, &attr.dgid));
	assert_int_equal(w.pd->users, 1);
	assert_int_equal(world_attribute(&ah->res, RESTRACK_AH_PDN), w.pd->res.id);
	assert_int_equal(rvt_destroy_ah(ah), 0);

	attr.is_global = false;
	world_refused(rvt_create_ah(w.pd, &attr, &ah), RVT_NOT_GLOBAL);
	attr = to_ipv4();
	attr.sgid_index = 1;
	world_refused(rvt_create_ah(w.pd, &attr, &ah), RVT_BAD_GID_INDEX);
	assert_int_equal(w.value1, 1);
	assert_int_equal(w.value2, RVT_GID_TABLE);
	attr.sgid_index = 255;
	world_refused(rvt_create_ah(w.pd, &attr, &ah), RVT_BAD_GID_INDEX);
	attr.sgid_index = 2;
	world_refused(rvt_create_ah(w.pd, &attr, &ah), RVT_GID_FAMILY);
	attr = to_ipv4();
	attr.dgid = (struct gid){ { 0xfe, 0x80, [15] = 2 } };
	world_refused(rvt_create_ah(w.pd, &attr, &ah), RVT_GID_FAMILY);
	attr.sgid_index = 2;
	assert_int_equal(rvt_create_ah(w.pd, &attr, &ah), 0);
	assert_true(gid_equal(&ah->attr.sgid, &w.port.gids[2]));
	assert_int_equal(rvt_destroy_ah(ah), 0);
	attr = to_ipv4();
	attr.dgid = (struct gid){ { 0 } };
	world_refused(rvt_create_ah(w.pd, &attr, &ah), RVT_BAD_ARGUMENT);
	attr = to_ipv4();
	attr.port_num = 2;
	world_refused(rvt_create_ah(w.pd, &attr, &ah), RVT_BAD_ARGUMENT);
	assert_int_equal(w.pd->users, 0);
}

/* A send that was posted keeps the address, whatever the program takes away. */
static void test_ah_outlives(void **state)
{
	struct rvt_ah_attr attr = to_ipv4();
	struct ledger_record record;
	struct rvt_ah *ah;
	uint32_t id;

	(void)state;
	assert_int_equal(rvt_create_ah(w.pd, &attr, &ah), 0);
	id = ah->res.id;
	rvt_get_ah(ah);
	world_refused(rvt_dealloc_pd(w.pd), RVT_IN_USE);
	assert_int_equal(rvt_destroy_ah(ah), 0);
	assert_int_equal(rvt_dealloc_pd(w.pd), 0);
	w.pd = NULL;
	assert_null(ah->pd);
	assert_true(gid_equal(&ah->attr.dgid, &attr.dgid));
	assert_true(world_record(RESTRACK_AH, id, &record));
	assert_int_equal(record.state, LEDGER_DELETING);
	rvt_put_ah(ah);
	assert_false(world_record(RESTRACK_AH, id, &record));
}

static void test_pd_users(void **state)
{
	static uint8_t memory[16];
	struct rvt_mr *mr = world_region(memory, sizeof(memory), 0);

	(void)state;
	world_refused(rvt_dealloc_pd(w.pd), RVT_IN_USE);
	assert_ptr_equal(w.cause_object, &w.pd->res);
	assert_int_equal(w.value1, 1);
	assert_int_equal(rvt_dereg_mr(mr), 0);
	assert_int_equal(rvt_dealloc_pd(w.pd), 0);
	w.pd = NULL;
}

static void test_ledger_context(void **state)
{
	struct ledger_record record;
	struct rvt_context *context;
	struct rvt_pd *pd;

	(void)state;
	w.port.index = 3;
	w.device.now_ns = 5000;
	assert_int_equal(rvt_context_open(&w.device, &w.port, &context), 0);
	assert_int_equal(rvt_alloc_pd(context, &pd), 0);
	assert_true(world_record(RESTRACK_CTX, context->res.id, &record));
	assert_int_equal(record.port, 3);
	assert_int_equal(record.created_ns, 5000);
	assert_string_equal(record.name, "unit");
	assert_true(world_record(RESTRACK_PD, pd->res.id, &record));
	assert_int_equal(record.port, 3);
	assert_int_equal(record.context, context->res.id);
	assert_int_equal(rvt_context_close(context), 1);
	assert_int_equal(restrack_count(&w.restrack, RESTRACK_CTX, NULL), 1);
	assert_int_equal(restrack_count(&w.restrack, RESTRACK_PD, NULL), 1);
}

/* One of each in @w.context, tied together in every way. */
static void furnish(uint8_t *memory, struct rvt_mr **ret)
{
	struct rvt_ah_attr ah_attr = to_ipv4();
	uint32_t max_wr = 4, max_sge = 2;
	struct rvt_swqe bind = { .opcode = RVT_WR_BIND_MW };
	struct rvt_srq *srq;
	struct rvt_cq *cq;
	struct rvt_ah *ah;
	struct rvt_mw *mw;
	struct rvt_qp *qp;
	struct rvt_mr *window_mr;
	struct rvt_mr *mr = world_region(memory, 64, RVT_ACCESS_LOCAL_WRITE);
	struct rvt_sge sge = { (uintptr_t)memory, 64, mr->key };
	struct rvt_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };

	assert_int_equal(rvt_create_cq(w.context, 16, &cq), 0);
	assert_int_equal(rvt_create_srq(w.pd, &max_wr, &max_sge, 0, &srq), 0);
	assert_int_equal(rvt_create_ah(w.pd, &ah_attr, &ah), 0);
	qp = world_qp(cq, srq);
	/* A message in progress holds the region. */
	assert_int_equal(rvt_post_srq_recv(srq, &wr), 0);
	assert_int_equal(rvt_get_rwqe(qp), RVT_OK);
	assert_int_equal(mr->references, 2);
	/* And so does a window. */
	window_mr = world_region(memory, 64, RVT_ACCESS_MW_BIND);
	assert_int_equal(rvt_alloc_mw(w.pd, RVT_MW_TYPE_1, &mw), 0);
	bind.bind = (struct rvt_bind){ mw, window_mr, (uintptr_t)memory, 64, 0, mw->mr.key };
	assert_int_equal(rvt_execute_local(qp, &bind), RVT_OK);
	assert_int_equal(window_mr->references, 2);
	*ret = mr;
}

static void test_context_close(void **state)
{
	static uint8_t memory[64];
	static const enum restrack_type types[] = { RESTRACK_PD, RESTRACK_CQ,  RESTRACK_QP,
						    RESTRACK_MW, RESTRACK_SRQ, RESTRACK_AH,
						    RESTRACK_CTX };
	struct rvt_context *first = w.context;
	struct rvt_mr *mr;
	long before;

	(void)state;
	furnish(memory, &mr);
	/* Tables are warm now, so what is left can be counted. */
	assert_int_equal(rvt_context_open(&w.device, &w.port, &w.context), 0);
	before = w.allocations;
	assert_int_equal(rvt_alloc_pd(w.context, &w.pd), 0);
	furnish(memory, &mr);
	furnish(memory, &mr);
	/* A region that is gone for the program and held by a message. */
	assert_int_equal(rvt_dereg_mr(mr), 0);
	for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		assert_in_range(restrack_count(&w.restrack, types[i], &w.context->res), 1, 2);
	/* Seven of furnish(), twice, and the PD; less the region that is gone. */
	assert_int_equal(rvt_context_close(w.context), 14);
	w.context = first;
	w.pd = NULL;
	/* Less the context itself. */
	assert_int_equal(w.allocations, before - 1);
	for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		assert_int_equal(restrack_count(&w.restrack, types[i], NULL), 1);
	assert_int_equal(restrack_count(&w.restrack, RESTRACK_MR, NULL), 2);
	assert_int_equal(w.qp_inits, 3);
	assert_int_equal(w.qp_deinits, 2);
	assert_true(w.qp_stops >= 2);
	rvt_context_close(first);
	assert_int_equal(w.qp_deinits, 3);
	for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		assert_int_equal(restrack_count(&w.restrack, types[i], NULL), 0);
}

static void test_deinit_counts(void **state)
{
	static uint8_t memory[64];
	struct rvt_device_config config = world_config();
	struct rvt_mr *mr;

	(void)state;
	furnish(memory, &mr);
	furnish(memory, &mr);
	/* Two QPs and one context; what is in the context goes with it. */
	assert_int_equal(rvt_device_deinit(&w.device), 3);
	for (int type = 0; type < RESTRACK_TYPES; type++)
		assert_int_equal(restrack_count(&w.restrack, (enum restrack_type)type, NULL), 0);
	assert_int_equal(rvt_device_init(&w.device, &config), 0);
	assert_int_equal(rvt_device_deinit(&w.device), 0);
}

static int fail_create_qp(void **object)
{
	struct rvt_cq *cq = container_of(restrack_next(&w.restrack, RESTRACK_CQ, &(uint32_t){ 0 }),
					 struct rvt_cq, res);
	struct rvt_qp_init init = {
		.type = RVT_QPT_RC, .send_cq = cq, .recv_cq = cq, .cap = { 4, 4, 1, 1, 0 }
	};
	struct rvt_qp *qp;
	int err = rvt_create_qp(w.pd, &init, &qp);

	*object = err ? NULL : qp;
	return err;
}

static void fail_destroy_qp(void *object)
{
	assert_int_equal(rvt_destroy_qp(object), 0);
}

static void test_qp_allocations(void **state)
{
	struct rvt_cq *cq;
	void *object;
	long before;

	(void)state;
	assert_int_equal(rvt_create_cq(w.context, 16, &cq), 0);
	world_fail_allocations(fail_create_qp, fail_destroy_qp);
	before = w.allocations;
	w.qp_init_error = -ENOMEM;
	world_refused(fail_create_qp(&object), RVT_NO_MEMORY);
	assert_int_equal(w.allocations, before);
	assert_int_equal(cq->users, 0);
	assert_int_equal(w.device.qps.used, 0);
}

/* A queue pair that never had a path, and so no MTU, takes work requests in ERR like any other. */
static void test_post_without_path(void **state)
{
	static const enum rvt_opcode opcodes[] = { RVT_WR_SEND, RVT_WR_RDMA_WRITE,
						   RVT_WR_RDMA_READ };
	static uint8_t memory[64];
	struct rvt_mr *mr = world_region(memory, sizeof(memory), RVT_ACCESS_LOCAL_WRITE);
	struct rvt_sge sge = { (uintptr_t)memory, sizeof(memory), mr->key };
	struct rvt_send_wr wr = { .sg_list = &sge, .num_sge = 1 };
	struct rvt_qp_attr attr = { .qp_state = RVT_QPS_INIT, .port_num = 1 };
	struct rvt_cq *cq;
	struct rvt_qp *qp;
	struct rvt_wc wc;

	(void)state;
	assert_int_equal(rvt_create_cq(w.context, 16, &cq), 0);
	qp = world_qp(cq, NULL);
	assert_int_equal(
		rvt_modify_qp(qp, &attr,
			      RVT_QP_STATE | RVT_QP_PKEY_INDEX | RVT_QP_PORT | RVT_QP_ACCESS_FLAGS),
		0);
	attr.qp_state = RVT_QPS_ERR;
	assert_int_equal(rvt_modify_qp(qp, &attr, RVT_QP_STATE), 0);
	for (unsigned i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++) {
		wr.opcode = opcodes[i];
		wr.wr_id = i;
		assert_int_equal(rvt_post_send(qp, &wr), 0);
		rvt_send_pending(qp);
		assert_int_equal(rvt_poll_cq(cq, 1, &wc), 1);
		assert_int_equal(wc.status, RVT_WC_WR_FLUSH_ERR);
		assert_int_equal(wc.wr_id, i);
	}
}

int main(void)
{
#define TEST(name)  cmocka_unit_test_setup_teardown(name, world_open, world_close)
#define EMPTY(name) cmocka_unit_test_setup_teardown(name, world_empty, world_close)
	const struct CMUnitTest tests[] = {
		EMPTY(test_verdicts),
		EMPTY(test_counters),
		EMPTY(test_gids),
		EMPTY(test_random_start),
		EMPTY(test_device_allocations),
		EMPTY(test_context_allocations),
		EMPTY(test_pd_allocations),
		TEST(test_ah_allocations),
		TEST(test_ah_attributes),
		TEST(test_ah_outlives),
		TEST(test_pd_users),
		TEST(test_ledger_context),
		TEST(test_context_close),
		TEST(test_deinit_counts),
		TEST(test_qp_allocations),
		TEST(test_post_without_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
