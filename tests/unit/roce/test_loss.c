/* SPDX-License-Identifier: Apache-2.0 */
/* A queue pair that is connected to itself, over a link that loses packets. */
#include "world.h"

/* Carry packets back, but one of twenty, until @wanted completions are there. */
static void pump(uint32_t wanted)
{
	struct roce_datagram datagram = {
		.source = ipv4(1),
		.destination = ipv4(1),
		.source_port = 0xc123,
		.trusted = w.trusted,
	};

	w.room = UINT32_MAX;
	for (unsigned i = 0; rvt_cq_entries(w.cq) < wanted; i++) {
		assert_true(i < 100000);
		assert_int_equal(w.qp->state, RVT_QPS_RTS);
		roce_engine_run(&w.engine, 64);
		for (unsigned n = 0; n < w.count; n++) {
			datagram.data = w.sent[n].bytes;
			datagram.length = w.sent[n].length;
			if (random_below(&w.device.random, 20))
				roce_receive(&w.engine, &datagram);
		}
		w.count = 0;
		w.device.now_ns += 10000;
		roce_engine_flush_acks(&w.engine);
		if (rvt_cq_entries(w.cq) < wanted && !w.count && list_empty(&w.engine.ready) &&
		    list_empty(&w.engine.blocked)) {
			w.device.now_ns = deadlines_next(&w.device.deadlines);
			assert_true(w.device.now_ns != NEVER);
		}
		deadlines_expire(&w.device.deadlines, w.device.now_ns);
	}
}

#define SLOT 65536u

/* A random work request: from slot @i of the lower half of memory to that of the upper, or back. */
static uint32_t post_random(uint32_t i, uint32_t length, enum rvt_opcode opcode)
{
	uint8_t *near = w.memory + i * SLOT, *far = near + MEMORY / 2;
	struct rvt_sge sge = { (uintptr_t)near, length, w.mr->key };
	struct rvt_sge receive = { (uintptr_t)far, length, w.mr->key };
	struct rvt_recv_wr recv_wr = { .wr_id = 100 + i, .sg_list = &receive, .num_sge = 1 };
	struct rvt_send_wr wr = {
		.wr_id = i,
		.opcode = opcode,
		.send_flags = RVT_SEND_SIGNALED,
		.sg_list = &sge,
		.num_sge = 1,
		.remote_addr = (uintptr_t)far,
		.rkey = w.mr->key,
		.compare_add = 1,
	};

	for (uint32_t n = 0; n < length; n++)
		near[n] = (uint8_t)random_next(&w.device.random);
	if (opcode == RVT_WR_RDMA_READ)
		for (uint32_t n = 0; n < length; n++)
			far[n] = (uint8_t)random_next(&w.device.random);
	if (opcode == RVT_WR_SEND)
		assert_int_equal(rvt_post_recv(w.qp, &recv_wr), 0);
	assert_int_equal(rvt_post_send(w.qp, &wr), 0);
	return opcode == RVT_WR_SEND ? 2 : 1;
}

static void talks_to_itself_over_a_lossy_link(void **state)
{
	static const enum rvt_opcode opcodes[] = { RVT_WR_SEND, RVT_WR_RDMA_WRITE, RVT_WR_RDMA_READ,
						   RVT_WR_ATOMIC_FETCH_AND_ADD };

	(void)state;
	assert_int_equal(rvt_destroy_qp(w.qp), 0);
	w.self = true;
	w.trusted = false;
	connect_qp(RVT_QPT_RC, 7);
	for (unsigned round = 0; round < 100; round++) {
		uint32_t lengths[8], wanted = 0;
		uint64_t before[8];
		enum rvt_opcode chosen[8];

		for (uint32_t i = 0; i < 8; i++) {
			uint8_t *far = w.memory + MEMORY / 2 + i * SLOT;

			chosen[i] = opcodes[random_below(&w.device.random, 4)];
			lengths[i] = random_below(&w.device.random, i ? 8000 : SLOT);
			if (chosen[i] == RVT_WR_ATOMIC_FETCH_AND_ADD)
				lengths[i] = 8;
			memcpy(&before[i], far, 8);
			wanted += post_random(i, lengths[i], chosen[i]);
		}
		rvt_send_pending(w.qp);
		pump(wanted);
		for (uint32_t i = 0; i < wanted; i++) {
			struct rvt_wc wc;

			assert_int_equal(rvt_poll_cq(w.cq, 1, &wc), 1);
			assert_int_equal(wc.status, RVT_WC_SUCCESS);
		}
		for (uint32_t i = 0; i < 8; i++) {
			uint8_t *near = w.memory + i * SLOT, *far = near + MEMORY / 2;

			if (chosen[i] == RVT_WR_ATOMIC_FETCH_AND_ADD) {
				assert_memory_equal(near, &before[i], 8);
				before[i]++;
				assert_memory_equal(far, &before[i], 8);
			} else {
				assert_true(!memcmp(near, far, lengths[i]));
			}
		}
	}
	assert_true(w.counters[RVT_COUNT_completer_retry_err] > 100);
	assert_int_equal(to_roce_qp(w.qp)->peer->in_flight_bytes, 0);
	assert_int_equal(to_roce_qp(w.qp)->requester.rd_atomic, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(talks_to_itself_over_a_lossy_link, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
