/* SPDX-License-Identifier: Apache-2.0 */
/* Memory windows: local operations among what is sent, and what a peer may do with their keys. */
#include <errno.h>

#include "rvt/mw.h"
#include "world.h"

#define FIRST_PSN 100u /* expected from the peer */

static struct rvt_mr *region;
static uint32_t peer_psn;

static int setup_windows(void **state)
{
	struct rvt_qp_attr attr = { .qp_access_flags =
					    RVT_ACCESS_REMOTE_WRITE | RVT_ACCESS_REMOTE_READ };

	setup(state);
	peer_psn = FIRST_PSN;
	modify(&attr, RVT_QPS_RTS, RVT_QP_ACCESS_FLAGS);
	assert_int_equal(rvt_reg_mr(w.pd, (uintptr_t)w.memory, 4096, (uintptr_t)w.memory,
				    RVT_ACCESS_LOCAL_WRITE | RVT_ACCESS_MW_BIND, &region),
			 0);
	return 0;
}

static int teardown_windows(void **state)
{
	/* A region goes when nothing is bound to it. */
	assert_int_equal(rvt_dereg_mr(region), 0);
	return teardown(state);
}

static struct rvt_mw *window(enum rvt_mw_type type)
{
	struct rvt_mw *mw;

	assert_int_equal(rvt_alloc_mw(w.pd, type, &mw), 0);
	return mw;
}

static void post_local(const struct rvt_send_wr *wr)
{
	assert_int_equal(rvt_post_send(w.qp, wr), 0);
	rvt_send_pending(w.qp);
	run();
}

/* Binds [16, 16 + length) of the region. Return: the key. */
static uint32_t bind(struct rvt_mw *mw, uint64_t length, uint32_t access, uint64_t id)
{
	struct rvt_send_wr wr = {
		.wr_id = id,
		.opcode = RVT_WR_BIND_MW,
		.send_flags = RVT_SEND_SIGNALED,
		.bind = { mw, region, (uintptr_t)w.memory + 16, length, access,
			  (mw->mr.key & ~0xffu) | ((mw->mr.key + 1) & 0xff) },
	};

	post_local(&wr);
	return wr.bind.key;
}

static void invalidate(uint32_t key, uint64_t id)
{
	struct rvt_send_wr wr = { .wr_id = id,
				  .opcode = RVT_WR_LOCAL_INV,
				  .send_flags = RVT_SEND_SIGNALED,
				  .invalidate_rkey = key };

	post_local(&wr);
}

/* The peer writes @length bytes at @va; the answer must have this syndrome. */
static void written(uint32_t key, uint64_t va, uint32_t length, uint8_t syndrome)
{
	struct packet packet = { .opcode = OPCODE_RC_WRITE_ONLY, .psn = peer_psn, .ack_req = true };
	uint8_t data[64];

	memset(data, 0x77, sizeof(data));
	packet.reth.va = va;
	packet.reth.rkey = key;
	packet.reth.length = length;
	deliver(&packet, data, length);
	roce_engine_flush_acks(&w.engine);
	assert_int_equal(next(OPCODE_RC_ACKNOWLEDGE, peer_psn, 0)->aeth.syndrome, syndrome);
	peer_psn++;
}

static void local_operations_wait(void **state)
{
	struct rvt_mw *mw = window(RVT_MW_TYPE_2);

	(void)state;
	post(RVT_WR_SEND, 1, 1);
	bind(mw, 64, RVT_ACCESS_REMOTE_WRITE, 2);
	post(RVT_WR_SEND, 2, 3);
	next(OPCODE_RC_SEND_ONLY, at(0), 1);
	silence();
	assert_false(mw->mr.valid);
	answer(SYNDROME_NAK_SEQUENCE, at(0));
	next(OPCODE_RC_SEND_ONLY, at(0), 1);
	silence();
	/* The answer comes after the way back, but before anything was sent again. */
	w.room = 0;
	pass(70 * MS);
	silence();
	ack(at(0));
	completion(1, RVT_WC_SUCCESS);
	completion(2, RVT_WC_SUCCESS);
	assert_true(mw->mr.valid);
	w.room = 100;
	roce_link_writable(&w.engine);
	run();
	next(OPCODE_RC_SEND_ONLY, at(1), 2);
	silence();
	ack(at(1));
	completion(3, RVT_WC_SUCCESS);
	assert_false(deadline_armed(&w.qp->retry_timer));
	assert_int_equal(rvt_dereg_mr(region), -EBUSY);
	assert_int_equal(rvt_rereg_mr(region, RVT_REREG_ACCESS, NULL, 0, 0, 1), -EBUSY);
	assert_int_equal(rvt_dealloc_mw(mw), 0);
}

static void rights_are_the_window_s(void **state)
{
	struct rvt_mw *one = window(RVT_MW_TYPE_1), *two = window(RVT_MW_TYPE_2);
	uint64_t base = (uintptr_t)w.memory + 16;
	uint32_t key, old;

	(void)state;
	old = bind(one, 32, RVT_ACCESS_REMOTE_WRITE, 1);
	key = bind(two, 64, RVT_ACCESS_REMOTE_WRITE | RVT_ACCESS_ZERO_BASED, 2);
	completion(1, RVT_WC_SUCCESS);
	completion(2, RVT_WC_SUCCESS);
	written(old, base, 32, SYNDROME_ACK);
	assert_int_equal(w.memory[16 + 31], 0x77);
	written(key, 32, 32, SYNDROME_ACK);
	assert_int_equal(w.memory[16 + 63], 0x77);
	/* Bound again under another key: the old one is dead. */
	key = bind(one, 16, RVT_ACCESS_REMOTE_WRITE, 3);
	completion(3, RVT_WC_SUCCESS);
	assert_null(rvt_find_mr(&w.device, old));
	written(key, base, 16, SYNDROME_ACK);
	written(key, base, 17, SYNDROME_NAK_REMOTE_ACCESS);
	assert_int_equal(w.qp->state, RVT_QPS_ERR);
	assert_int_equal(rvt_dealloc_mw(one), 0);
	assert_int_equal(rvt_dealloc_mw(two), 0);
}

static void invalidated_by_both(void **state)
{
	struct rvt_mw *mw = window(RVT_MW_TYPE_2);
	struct packet packet = { .opcode = OPCODE_RC_SEND_ONLY_INV, .psn = FIRST_PSN };
	struct rvt_recv_wr receive = { .wr_id = 9 };
	struct rvt_wc wc;
	uint32_t key;

	(void)state;
	key = bind(mw, 64, RVT_ACCESS_REMOTE_WRITE, 1);
	completion(1, RVT_WC_SUCCESS);
	invalidate(key, 2);
	completion(2, RVT_WC_SUCCESS);
	assert_null(rvt_find_mr(&w.device, key));
	key = bind(mw, 64, RVT_ACCESS_REMOTE_WRITE, 3);
	completion(3, RVT_WC_SUCCESS);
	assert_int_equal(rvt_post_recv(w.qp, &receive), 0);
	packet.ieth = key;
	deliver(&packet, NULL, 0);
	assert_int_equal(rvt_poll_cq(w.cq, 1, &wc), 1);
	assert_int_equal(wc.wc_flags, RVT_WC_WITH_INV);
	assert_int_equal(wc.imm_data, key);
	assert_null(rvt_find_mr(&w.device, key));
	/* What goes with the QP. */
	bind(mw, 64, RVT_ACCESS_REMOTE_WRITE, 4);
	completion(4, RVT_WC_SUCCESS);
	assert_int_equal(rvt_destroy_qp(w.qp), 0);
	assert_false(mw->mr.valid);
	connect_qp(RVT_QPT_RC, 2);
	assert_int_equal(rvt_dealloc_mw(mw), 0);
}

static void of_another_qp(void **state)
{
	struct rvt_mw *mw = window(RVT_MW_TYPE_2);
	struct rvt_qp *first = w.qp;
	uint64_t address;
	struct rvt_mr *mr;
	uint32_t key;

	(void)state;
	key = bind(mw, 64, RVT_ACCESS_REMOTE_WRITE, 1);
	completion(1, RVT_WC_SUCCESS);
	connect_qp(RVT_QPT_RC, 2);
	assert_int_equal(rvt_qp_rkey_ok(w.qp, key, (uintptr_t)w.memory + 16, 8,
					RVT_ACCESS_REMOTE_WRITE, &mr, &address),
			 RVT_RKEY_UNKNOWN);
	assert_int_equal(rvt_qp_rkey_ok(first, key, (uintptr_t)w.memory + 16, 8,
					RVT_ACCESS_REMOTE_WRITE, &mr, &address),
			 RVT_OK);
	rvt_put_mr(mr);
	invalidate(key, 2);
	completion(2, RVT_WC_LOC_QP_OP_ERR);
	assert_true(mw->mr.valid);
	assert_int_equal(rvt_destroy_qp(first), 0);
	assert_int_equal(rvt_dealloc_mw(mw), 0);
}

static void refused_binds(void **state)
{
	struct rvt_mw *mw = window(RVT_MW_TYPE_2), *dead = window(RVT_MW_TYPE_2);
	struct rvt_mw *none;

	(void)state;
	assert_int_equal(rvt_alloc_mw(w.pd, (enum rvt_mw_type)3, &none), -EINVAL);
	/* Reaches outside of the region. */
	bind(mw, 4096, RVT_ACCESS_REMOTE_READ, 1);
	completion(1, RVT_WC_MW_BIND_ERR);
	assert_int_equal(w.qp->state, RVT_QPS_ERR);
	assert_int_equal(rvt_destroy_qp(w.qp), 0);
	connect_qp(RVT_QPT_RC, 2);
	/* Deallocated while the work request waits. */
	post(RVT_WR_SEND, 1, 2);
	bind(dead, 64, RVT_ACCESS_REMOTE_READ, 3);
	assert_int_equal(rvt_dealloc_mw(dead), 0);
	ack(at(0));
	completion(2, RVT_WC_SUCCESS);
	completion(3, RVT_WC_MW_BIND_ERR);
	assert_int_equal(rvt_dealloc_mw(mw), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_windows, teardown_windows)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(local_operations_wait), TEST(rights_are_the_window_s),
		TEST(invalidated_by_both),   TEST(of_another_qp),
		TEST(refused_binds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
