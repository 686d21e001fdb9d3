/* SPDX-License-Identifier: Apache-2.0 */
/* One queue pair against a peer that is played by the test. */
#include "world.h"

static void sends_of_all_sizes(void **state)
{
	const struct packet *packet;

	(void)state;
	post_flags(RVT_WR_SEND, 0, 1, RVT_SEND_SOLICITED);
	packet = next(OPCODE_RC_SEND_ONLY, at(0), 0);
	assert_true(packet->ack_req && packet->solicited);
	post(RVT_WR_SEND_WITH_IMM, 1, 2);
	packet = next(OPCODE_RC_SEND_ONLY_IMM, at(1), 1);
	assert_int_equal(packet->pad, 3);
	assert_int_equal(packet->immediate, 0x04030201);
	assert_false(packet->solicited);
	post(RVT_WR_SEND, MTU, 3);
	packet = next(OPCODE_RC_SEND_ONLY, at(2), MTU);
	assert_memory_equal(packet->payload, w.memory, MTU);
	post(RVT_WR_SEND, MTU + 1, 4);
	assert_false(next(OPCODE_RC_SEND_FIRST, at(3), MTU)->ack_req);
	packet = next(OPCODE_RC_SEND_LAST, at(4), 1);
	assert_true(packet->ack_req);
	assert_int_equal(packet->payload[0], w.memory[MTU]);
	silence();
	no_completion();
	ack(at(2));
	for (uint64_t id = 1; id <= 3; id++)
		completion(id, RVT_WC_SUCCESS);
	no_completion();
	ack(at(3)); /* in the middle of a message */
	no_completion();
	ack(at(4));
	completion(4, RVT_WC_SUCCESS);
	assert_false(deadline_armed(&w.qp->retry_timer));
	ack(at(4)); /* a ghost */
	ack(at(7)); /* invented */
	no_completion();
	assert_int_equal(w.counters[RVT_COUNT_drop_stale], 2);
}

static void writes(void **state)
{
	const struct packet *packet;

	(void)state;
	post(RVT_WR_RDMA_WRITE, 0, 1);
	assert_int_equal(next(OPCODE_RC_WRITE_ONLY, at(0), 0)->reth.length, 0);
	post(RVT_WR_RDMA_WRITE_WITH_IMM, 2 * MTU + 5, 2);
	packet = next(OPCODE_RC_WRITE_FIRST, at(1), MTU);
	assert_int_equal(packet->reth.va, 0x10000);
	assert_int_equal(packet->reth.rkey, 0x777);
	assert_int_equal(packet->reth.length, 2 * MTU + 5);
	next(OPCODE_RC_WRITE_MIDDLE, at(2), MTU);
	packet = next(OPCODE_RC_WRITE_LAST_IMM, at(3), 5);
	assert_memory_equal(packet->payload, w.memory + 2 * MTU, 5);
	ack(at(3));
	completion(1, RVT_WC_SUCCESS);
	completion(2, RVT_WC_SUCCESS);
}

static void sequence_nak_goes_back(void **state)
{
	(void)state;
	post(RVT_WR_SEND, 4 * MTU, 1);
	next(OPCODE_RC_SEND_FIRST, at(0), MTU);
	next(OPCODE_RC_SEND_MIDDLE, at(1), MTU);
	next(OPCODE_RC_SEND_MIDDLE, at(2), MTU);
	next(OPCODE_RC_SEND_LAST, at(3), MTU);
	memset(w.memory + MTU, 0x5a, 3 * MTU); /* memory is read again */
	answer(SYNDROME_NAK_SEQUENCE, at(1));
	assert_int_equal(next(OPCODE_RC_SEND_MIDDLE, at(1), MTU)->payload[0], 0x5a);
	next(OPCODE_RC_SEND_MIDDLE, at(2), MTU);
	next(OPCODE_RC_SEND_LAST, at(3), MTU);
	answer(SYNDROME_NAK_SEQUENCE, at(1)); /* the same loss */
	silence();
	w.device.now_ns += 2 * MS;
	answer(SYNDROME_NAK_SEQUENCE, at(1)); /* lost once more */
	next(OPCODE_RC_SEND_MIDDLE, at(1), MTU);
	next(OPCODE_RC_SEND_MIDDLE, at(2), MTU);
	next(OPCODE_RC_SEND_LAST, at(3), MTU);
	ack(at(3));
	completion(1, RVT_WC_SUCCESS);
	silence();
}

static void late_ack_skips_resending(void **state)
{
	(void)state;
	post(RVT_WR_SEND, 1, 1);
	post(RVT_WR_SEND, 1, 2);
	post(RVT_WR_SEND, 1, 3);
	w.seen = w.count;
	w.room = 0;
	pass(70 * MS); /* timeout, but the link is full */
	silence();
	ack(at(1));
	completion(1, RVT_WC_SUCCESS);
	completion(2, RVT_WC_SUCCESS);
	w.room = 100;
	run();
	next(OPCODE_RC_SEND_ONLY, at(2), 1);
	silence();
	ack(at(2));
	completion(3, RVT_WC_SUCCESS);
}

static void rnr_waits(void **state)
{
	(void)state;
	post(RVT_WR_SEND, 1, 1);
	post(RVT_WR_SEND, 1, 2);
	w.seen = w.count;
	answer(0x20 | 10, at(1)); /* 0.32 ms */
	completion(1, RVT_WC_SUCCESS);
	silence();
	answer(0x20 | 10, at(1)); /* ignored while waiting */
	pass(300000);
	silence();
	post(RVT_WR_SEND, 1, 3);
	silence();
	pass(30000);
	next(OPCODE_RC_SEND_ONLY, at(1), 1);
	next(OPCODE_RC_SEND_ONLY, at(2), 1);
	answer(0x20 | 1, at(1));
	pass(MS);
	next(OPCODE_RC_SEND_ONLY, at(1), 1);
	next(OPCODE_RC_SEND_ONLY, at(2), 1);
	answer(0x20 | 1, at(1)); /* the third: rnr_retry is 2 */
	completion(2, RVT_WC_RNR_RETRY_EXC_ERR);
	completion(3, RVT_WC_WR_FLUSH_ERR);
	assert_int_equal(w.qp->state, RVT_QPS_ERR);
	assert_int_equal(w.cause, RVT_RNR_RETRIES);
	assert_int_equal(w.counters[RVT_COUNT_retry_rnr_exceeded_err], 1);
}

static void a_peer_that_is_behind_costs_no_retry(void **state)
{
	(void)state;
	post(RVT_WR_SEND, 1, 1);
	w.unread = true;
	for (unsigned i = 0; i < 20; i++) { /* retry_cnt is 2 */
		next(OPCODE_RC_SEND_ONLY, at(0), 1);
		pass(70 * MS);
	}
	no_completion();
	w.unread = false;
	for (unsigned i = 0; i < 2; i++) {
		next(OPCODE_RC_SEND_ONLY, at(0), 1);
		pass(70 * MS);
	}
	no_completion();
	pass(70 * MS);
	completion(1, RVT_WC_RETRY_EXC_ERR);
}

/* A timeout of 0 means that the answer is waited for, however long it takes. */
static void no_timeout_waits_for_ever(void **state)
{
	(void)state;
	w.qp->attr.timeout = 0;
	post(RVT_WR_SEND, 1, 1);
	next(OPCODE_RC_SEND_ONLY, at(0), 1);
	for (unsigned i = 0; i < 100; i++)
		pass(60000 * MS);
	silence();
	no_completion();
	assert_int_equal(w.qp->state, RVT_QPS_RTS);
	ack(at(0));
	completion(1, RVT_WC_SUCCESS);
}

static void congestion_notifications_change_nothing(void **state)
{
	struct packet packet = { .opcode = OPCODE_CNP, .psn = at(0) };

	(void)state;
	post(RVT_WR_SEND, 1, 1);
	next(OPCODE_RC_SEND_ONLY, at(0), 1);
	deliver(&packet, NULL, 0);
	assert_int_equal(w.counters[RVT_COUNT_cnp], 1);
	silence();
	no_completion();
	ack(at(0));
	completion(1, RVT_WC_SUCCESS);
}

/* Losses while the peer has no receive for long do not add up: it answers. */
static void rnr_is_an_answer(void **state)
{
	(void)state;
	assert_int_equal(rvt_destroy_qp(w.qp), 0);
	connect_qp(RVT_QPT_RC, 7);
	post(RVT_WR_SEND, 1, 1);
	for (unsigned i = 0; i < 10; i++) { /* retry_cnt is 2 */
		next(OPCODE_RC_SEND_ONLY, at(0), 1);
		pass(70 * MS); /* the answer was lost */
		next(OPCODE_RC_SEND_ONLY, at(0), 1);
		answer(0x20 | 1, at(0));
		pass(MS);
	}
	no_completion();
	next(OPCODE_RC_SEND_ONLY, at(0), 1);
	ack(at(0));
	completion(1, RVT_WC_SUCCESS);
}

static void lost_twice_probes(void **state)
{
	(void)state;
	post(RVT_WR_SEND, 8 * MTU, 1);
	w.seen = w.count;
	answer(SYNDROME_NAK_SEQUENCE, at(0));
	assert_int_equal(w.count, 16);
	w.seen = w.count;
	w.device.now_ns += 2 * MS;
	answer(SYNDROME_NAK_SEQUENCE, at(0));
	next(OPCODE_RC_SEND_FIRST, at(0), MTU);
	for (uint32_t psn = 1; psn < 4; psn++)
		next(OPCODE_RC_SEND_MIDDLE, at(psn), MTU);
	silence();
	ack(at(3));
	for (uint32_t psn = 4; psn < 7; psn++)
		next(OPCODE_RC_SEND_MIDDLE, at(psn), MTU);
	next(OPCODE_RC_SEND_LAST, at(7), MTU);
	ack(at(7));
	completion(1, RVT_WC_SUCCESS);
}

static void retries_are_finite(void **state)
{
	(void)state;
	post(RVT_WR_SEND, 8 * MTU, 1);
	assert_int_equal(w.count, 8);
	w.seen = 8;
	for (unsigned i = 0; i < 2; i++) {
		pass(60 * MS); /* less than 67 ms */
		silence();
		pass(8 * MS);
		next(OPCODE_RC_SEND_FIRST, at(0), MTU); /* a small burst */
		for (uint32_t psn = 1; psn < 4; psn++)
			assert_true(next(OPCODE_RC_SEND_MIDDLE, at(psn), MTU)->ack_req);
		silence();
	}
	pass(68 * MS);
	completion(1, RVT_WC_RETRY_EXC_ERR);
	assert_int_equal(w.qp->state, RVT_QPS_ERR);
	assert_int_equal(w.counters[RVT_COUNT_timeouts], 3);
	assert_int_equal(w.counters[RVT_COUNT_retry_exceeded_err], 1);
	assert_false(deadline_armed(&w.qp->retry_timer));
	silence();
}

static void progress_renews_retries(void **state)
{
	(void)state;
	post(RVT_WR_SEND, 4 * MTU, 1);
	for (uint32_t psn = 0; psn < 3; psn++) {
		pass(68 * MS);
		pass(68 * MS);
		ack(at(psn));
	}
	ack(at(3));
	completion(1, RVT_WC_SUCCESS);
}

static void reads(void **state)
{
	const struct packet *packet;

	(void)state;
	post(RVT_WR_RDMA_READ, 0, 1);
	next(OPCODE_RC_READ_REQUEST, at(0), 0);
	read_data(OPCODE_RC_READ_RESPONSE_ONLY, at(0), 0, 0);
	completion(1, RVT_WC_SUCCESS);
	post(RVT_WR_RDMA_READ, 3 * MTU + 7, 2);
	packet = next(OPCODE_RC_READ_REQUEST, at(1), 0);
	assert_int_equal(packet->reth.length, 3 * MTU + 7);
	assert_true(packet->ack_req);
	post(RVT_WR_SEND, 1, 3);
	next(OPCODE_RC_SEND_ONLY, at(5), 1);
	read_data(OPCODE_RC_READ_RESPONSE_FIRST, at(1), 1, MTU);
	/* at(2) is lost */
	read_data(OPCODE_RC_READ_RESPONSE_MIDDLE, at(3), 3, MTU);
	packet = next(OPCODE_RC_READ_REQUEST, at(2), 0);
	assert_int_equal(packet->reth.va, 0x10000 + MTU);
	assert_int_equal(packet->reth.length, 2 * MTU + 7);
	next(OPCODE_RC_SEND_ONLY, at(5), 1);
	read_data(OPCODE_RC_READ_RESPONSE_LAST, at(4), 4, 7);
	ack(at(5)); /* no answer of the READ */
	silence();
	no_completion();
	read_data(OPCODE_RC_READ_RESPONSE_FIRST, at(2), 0x22, MTU);
	read_data(OPCODE_RC_READ_RESPONSE_FIRST, at(2), 0x99, MTU); /* again: ignored */
	read_data(OPCODE_RC_READ_RESPONSE_MIDDLE, at(3), 0x33, MTU);
	read_data(OPCODE_RC_READ_RESPONSE_LAST, at(4), 0x44, 7);
	completion(2, RVT_WC_SUCCESS);
	assert_int_equal(w.memory[0], 1);
	assert_int_equal(w.memory[MTU], 0x22);
	assert_int_equal(w.memory[3 * MTU - 1], 0x33);
	assert_int_equal(w.memory[3 * MTU + 6], 0x44);
	assert_int_not_equal(w.memory[3 * MTU + 7], 0x44);
	ack(at(5));
	completion(3, RVT_WC_SUCCESS);
	silence();
}

static void long_read_in_pieces(void **state)
{
	uint32_t length = 200 * 1024, packets = length / MTU, asked = 0;

	(void)state;
	post(RVT_WR_RDMA_READ, length, 1);
	post(RVT_WR_SEND, 1, 2);
	for (uint32_t i = 0; i < packets; i++) {
		uint8_t opcode = OPCODE_RC_READ_RESPONSE_MIDDLE;

		while (w.seen < w.count && w.sent[w.seen].packet.opcode == OPCODE_RC_READ_REQUEST) {
			const struct packet *packet =
				next(OPCODE_RC_READ_REQUEST, at(asked / MTU), 0);

			assert_int_equal(packet->reth.va, 0x10000 + asked);
			asked += packet->reth.length;
		}
		assert_true(asked > i * MTU && asked - i * MTU <= 2 * 65536);
		assert_true(to_roce_qp(w.qp)->requester.rd_atomic <= 2);
		if (i % 64 == 0)
			opcode = OPCODE_RC_READ_RESPONSE_FIRST;
		if (i % 64 == 63 || i == packets - 1)
			opcode = OPCODE_RC_READ_RESPONSE_LAST;
		read_data(opcode, at(i), (uint8_t)i, MTU);
	}
	completion(1, RVT_WC_SUCCESS);
	for (uint32_t i = 0; i < packets; i++)
		assert_int_equal(w.memory[i * MTU], (uint8_t)i);
	next(OPCODE_RC_SEND_ONLY, at(packets), 1);
	ack(at(packets));
	completion(2, RVT_WC_SUCCESS);
	assert_int_equal(to_roce_qp(w.qp)->requester.rd_atomic, 0);
	assert_int_equal(to_roce_qp(w.qp)->peer->in_flight_bytes, 0);
}

static void bad_read_answers(void **state)
{
	(void)state;
	post(RVT_WR_RDMA_READ, 2 * MTU, 1);
	read_data(OPCODE_RC_READ_RESPONSE_FIRST, at(0), 0, MTU - 4);
	completion(1, RVT_WC_LOC_LEN_ERR);
	assert_int_equal(w.qp->state, RVT_QPS_ERR);
}

static void wrong_kind_of_answer(void **state)
{
	struct packet packet = { .opcode = OPCODE_RC_ATOMIC_ACK, .psn = at(0) };

	(void)state;
	packet.aeth.syndrome = SYNDROME_ACK;
	post(RVT_WR_RDMA_READ, 2 * MTU, 1);
	deliver(&packet, NULL, 0);
	completion(1, RVT_WC_BAD_RESP_ERR);
}

static void atomics(void **state)
{
	struct packet packet = { .opcode = OPCODE_RC_ATOMIC_ACK, .psn = at(0) };
	const struct packet *request;
	uint64_t original;

	(void)state;
	packet.aeth.syndrome = SYNDROME_ACK;
	packet.atomic_ack = 0x1122334455667788;
	post(RVT_WR_ATOMIC_CMP_AND_SWP, 8, 1);
	request = next(OPCODE_RC_CMP_SWAP, at(0), 0);
	assert_int_equal(request->atomic.va, 0x10000);
	assert_int_equal(request->atomic.rkey, 0x777);
	assert_int_equal(request->atomic.swap_add, 6);
	assert_int_equal(request->atomic.compare, 5);
	post(RVT_WR_ATOMIC_FETCH_AND_ADD, 8, 2);
	request = next(OPCODE_RC_FETCH_ADD, at(1), 0);
	assert_int_equal(request->atomic.swap_add, 5);
	post(RVT_WR_RDMA_READ, 4, 3); /* max_rd_atomic is 2 */
	silence();
	ack(at(0)); /* does not answer an atomic: implied NAK */
	next(OPCODE_RC_CMP_SWAP, at(0), 0);
	next(OPCODE_RC_FETCH_ADD, at(1), 0);
	deliver(&packet, NULL, 0);
	completion(1, RVT_WC_SUCCESS);
	memcpy(&original, w.memory, sizeof(original));
	assert_true(original == 0x1122334455667788);
	next(OPCODE_RC_READ_REQUEST, at(2), 0);
	/* The answer of the READ says that the one before it was lost. */
	read_data(OPCODE_RC_READ_RESPONSE_ONLY, at(2), 0, 4);
	next(OPCODE_RC_FETCH_ADD, at(1), 0);
	next(OPCODE_RC_READ_REQUEST, at(2), 0);
	packet.psn = at(1);
	deliver(&packet, NULL, 0);
	completion(2, RVT_WC_SUCCESS);
	read_data(OPCODE_RC_READ_RESPONSE_ONLY, at(2), 0, 4);
	completion(3, RVT_WC_SUCCESS);
}

static void atomic_writes(void **state)
{
	const struct packet *packet;

	(void)state;
	post(RVT_WR_ATOMIC_WRITE, 8, 1);
	packet = next(OPCODE_RC_ATOMIC_WRITE, at(0), 8);
	assert_true(packet->ack_req);
	assert_int_equal(packet->reth.va, 0x10000);
	assert_int_equal(packet->reth.rkey, 0x777);
	assert_int_equal(packet->reth.length, 8);
	assert_memory_equal(packet->payload, w.memory, 8);
	ack(at(0)); /* is no answer to it */
	no_completion();
	next(OPCODE_RC_ATOMIC_WRITE, at(0), 8);
	read_data(OPCODE_RC_READ_RESPONSE_ONLY, at(0), 0, 0);
	completion(1, RVT_WC_SUCCESS);
	post(RVT_WR_ATOMIC_WRITE, 8, 2);
	next(OPCODE_RC_ATOMIC_WRITE, at(1), 8);
	read_data(OPCODE_RC_READ_RESPONSE_ONLY, at(1), 1, 8);
	completion(2, RVT_WC_BAD_RESP_ERR);
}

static void write_word(uint32_t psn, uint64_t offset, uint8_t fill, uint32_t length)
{
	struct packet packet = { .opcode = OPCODE_RC_ATOMIC_WRITE, .psn = psn, .ack_req = true };
	uint8_t word[16];

	memset(word, fill, sizeof(word));
	packet.reth.va = (uintptr_t)w.memory + offset;
	packet.reth.rkey = w.mr->key;
	packet.reth.length = length;
	deliver(&packet, word, length);
}

static void atomic_writes_of_the_peer(void **state)
{
	struct rvt_qp_attr attr = { .qp_access_flags = RVT_ACCESS_REMOTE_WRITE };

	(void)state;
	modify(&attr, RVT_QPS_RTS, RVT_QP_ACCESS_FLAGS);
	write_word(100, 8, 0x11, 8);
	next(OPCODE_RC_READ_RESPONSE_ONLY, 100, 0);
	for (unsigned i = 8; i < 16; i++)
		assert_int_equal(w.memory[i], 0x11);
	/* Asked again: answered again, and not done again. */
	w.memory[8] = 0x22;
	write_word(100, 8, 0x11, 8);
	next(OPCODE_RC_READ_RESPONSE_ONLY, 100, 0);
	assert_int_equal(w.memory[8], 0x22);
	write_word(101, 12, 0x33, 8);
	assert_int_equal(next(OPCODE_RC_ACKNOWLEDGE, 101, 0)->aeth.syndrome,
			 SYNDROME_NAK_INVALID_REQUEST);
	assert_int_equal(w.qp->state, RVT_QPS_ERR);
	assert_int_equal(w.memory[16], (uint8_t)(16 * 31));
	assert_int_equal(rvt_destroy_qp(w.qp), 0);
	connect_qp(RVT_QPT_RC, 2);
	modify(&attr, RVT_QPS_RTS, RVT_QP_ACCESS_FLAGS);
	write_word(100, 16, 0x44, 4);
	assert_int_equal(next(OPCODE_RC_ACKNOWLEDGE, 100, 0)->aeth.syndrome,
			 SYNDROME_NAK_INVALID_REQUEST);
}

static void post_flush(uint64_t id, uint8_t placement, uint8_t selectivity, int err)
{
	struct rvt_send_wr wr = {
		.wr_id = id,
		.opcode = RVT_WR_FLUSH,
		.send_flags = RVT_SEND_SIGNALED,
		.remote_addr = 0x10000,
		.rkey = 0x777,
		.flush = { 4096, placement, selectivity },
	};

	assert_int_equal(rvt_post_send(w.qp, &wr), err);
	rvt_send_pending(w.qp);
	run();
}

static void flushes(void **state)
{
	const struct packet *packet;

	(void)state;
	post_flush(9, 0, 0, -EINVAL);
	post_flush(9, 4, 0, -EINVAL);
	post_flush(9, 1, 2, -EINVAL);
	post_flush(1, FETH_GLOBAL, FETH_REGION, 0);
	packet = next(OPCODE_RC_FLUSH, at(0), 0);
	assert_true(packet->ack_req);
	assert_int_equal(packet->feth.placement, FETH_GLOBAL);
	assert_int_equal(packet->feth.selectivity, FETH_REGION);
	assert_int_equal(packet->reth.va, 0x10000);
	assert_int_equal(packet->reth.rkey, 0x777);
	assert_int_equal(packet->reth.length, 4096);
	post(RVT_WR_SEND, 1, 2);
	next(OPCODE_RC_SEND_ONLY, at(1), 1);
	ack(at(1)); /* its answer was lost */
	no_completion();
	next(OPCODE_RC_FLUSH, at(0), 0);
	next(OPCODE_RC_SEND_ONLY, at(1), 1);
	read_data(OPCODE_RC_READ_RESPONSE_ONLY, at(0), 0, 0);
	completion(1, RVT_WC_SUCCESS);
	ack(at(1));
	completion(2, RVT_WC_SUCCESS);
	post_flush(3, FETH_GLOBAL | FETH_PERSISTENT, FETH_RANGE, 0);
	assert_int_equal(next(OPCODE_RC_FLUSH, at(2), 0)->feth.placement, 3);
	answer(SYNDROME_NAK_REMOTE_ACCESS, at(2));
	completion(3, RVT_WC_REM_ACCESS_ERR);
}

/* What the peer gets for a FLUSH of @length bytes at the beginning of the region. */
static uint8_t flush_of_the_peer(uint32_t psn, uint8_t placement, uint8_t selectivity,
				 uint64_t offset, uint32_t length)
{
	struct packet packet = { .opcode = OPCODE_RC_FLUSH, .psn = psn, .ack_req = true };

	packet.feth.placement = placement;
	packet.feth.selectivity = selectivity;
	packet.reth.va = (uintptr_t)w.memory + offset;
	packet.reth.rkey = w.mr->key;
	packet.reth.length = length;
	deliver(&packet, NULL, 0);
	run();
	assert_true(w.seen < w.count);
	if (w.sent[w.seen].packet.opcode == OPCODE_RC_READ_RESPONSE_ONLY)
		return next(OPCODE_RC_READ_RESPONSE_ONLY, psn, 0)->aeth.syndrome;
	return next(OPCODE_RC_ACKNOWLEDGE, psn, 0)->aeth.syndrome;
}

/* Rights of the QP and then those of the region; the range, but for the whole region; once more. */
static void flushes_of_the_peer(void **state)
{
	static const struct {
		uint32_t qp, mr;
		uint8_t placement, selectivity;
		uint64_t offset;
		uint32_t length;
		uint8_t syndrome;
	} cases[] = {
		{ 0x100, 0x100, 1, 0, 0, MEMORY, SYNDROME_ACK },
		{ 0x100, 0x100, 1, 0, 0, 0, SYNDROME_ACK },
		{ 0x100, 0x100, 1, 0, 1, MEMORY, SYNDROME_NAK_REMOTE_ACCESS },
		{ 0x100, 0x100, 1, 1, MEMORY, MEMORY, SYNDROME_ACK },
		{ 0x000, 0x100, 1, 0, 0, 8, SYNDROME_NAK_INVALID_REQUEST },
		{ 0x100, 0x000, 1, 0, 0, 8, SYNDROME_NAK_REMOTE_ACCESS },
		{ 0x100, 0x100, 2, 0, 0, 8, SYNDROME_NAK_INVALID_REQUEST },
		{ 0x300, 0x100, 2, 0, 0, 8, SYNDROME_NAK_REMOTE_ACCESS },
		{ 0x300, 0x100, 3, 1, 0, 8, SYNDROME_NAK_REMOTE_ACCESS },
		{ 0x100, 0x100, 0, 0, 0, 8, SYNDROME_NAK_INVALID_REQUEST },
		{ 0x100, 0x100, 8, 0, 0, 8, SYNDROME_NAK_INVALID_REQUEST },
		{ 0x100, 0x100, 1, 2, 0, 8, SYNDROME_NAK_INVALID_REQUEST },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rvt_qp_attr attr = { .qp_access_flags = cases[i].qp };

		assert_int_equal(rvt_rereg_mr(w.mr, RVT_REREG_ACCESS, NULL, 0, 0, cases[i].mr), 0);
		assert_int_equal(rvt_destroy_qp(w.qp), 0);
		connect_qp(RVT_QPT_RC, 2);
		modify(&attr, RVT_QPS_RTS, RVT_QP_ACCESS_FLAGS);
		assert_int_equal(flush_of_the_peer(100, cases[i].placement, cases[i].selectivity,
						   cases[i].offset, cases[i].length),
				 cases[i].syndrome);
		if (cases[i].syndrome != SYNDROME_ACK) {
			assert_int_equal(w.qp->state, RVT_QPS_ERR);
			continue;
		}
		/* The answer was lost. */
		assert_int_equal(flush_of_the_peer(100, cases[i].placement, cases[i].selectivity,
						   cases[i].offset, cases[i].length),
				 SYNDROME_ACK);
		assert_int_equal(w.counters[RVT_COUNT_duplicate_request], 1);
		w.counters[RVT_COUNT_duplicate_request] = 0;
	}
	assert_int_equal(rvt_rereg_mr(w.mr, RVT_REREG_ACCESS, NULL, 0, 0, 0x200), -EOPNOTSUPP);
}

static void fence_waits(void **state)
{
	(void)state;
	post(RVT_WR_RDMA_READ, 4, 1);
	next(OPCODE_RC_READ_REQUEST, at(0), 0);
	post_flags(RVT_WR_SEND, 4, 2, RVT_SEND_FENCE);
	silence();
	read_data(OPCODE_RC_READ_RESPONSE_ONLY, at(0), 0, 4);
	next(OPCODE_RC_SEND_ONLY, at(1), 4);
	ack(at(1));
	completion(1, RVT_WC_SUCCESS);
	completion(2, RVT_WC_SUCCESS);
}

static void fatal_naks(void **state)
{
	(void)state;
	post(RVT_WR_RDMA_WRITE, 4, 1);
	post(RVT_WR_RDMA_WRITE, 2 * MTU, 2);
	post(RVT_WR_SEND, 4, 3);
	answer(0x7f, at(2)); /* reserved: as if it had not come */
	no_completion();
	answer(SYNDROME_NAK_REMOTE_ACCESS, at(2));
	completion(1, RVT_WC_SUCCESS);
	completion(2, RVT_WC_REM_ACCESS_ERR);
	completion(3, RVT_WC_WR_FLUSH_ERR);
	assert_int_equal(w.qp->state, RVT_QPS_ERR);
	assert_int_equal(w.cause, RVT_PEER_ACCESS);
}

static void local_errors_in_turn(void **state)
{
	struct rvt_sge sge = { (uintptr_t)w.memory, 4, w.mr->key ^ 0x100 };
	struct rvt_send_wr wr = {
		.wr_id = 2, .opcode = RVT_WR_SEND, .sg_list = &sge, .num_sge = 1
	};

	(void)state;
	post(RVT_WR_SEND, 4, 1);
	assert_int_equal(rvt_post_send(w.qp, &wr), 0);
	post(RVT_WR_SEND, 4, 3);
	assert_int_equal(w.count, 1);
	no_completion();
	ack(at(0));
	completion(1, RVT_WC_SUCCESS);
	completion(2, RVT_WC_LOC_PROT_ERR);
	completion(3, RVT_WC_WR_FLUSH_ERR);
}

static void memory_window(void **state)
{
	struct roce_peer *peer = to_roce_qp(w.qp)->peer;
	uint32_t window = peer->window_bytes, packets, lost;

	(void)state;
	post(RVT_WR_RDMA_WRITE, 900 * MTU, 1);
	packets = window / (MTU + ROCE_PACKET_OVERHEAD);
	assert_int_equal(w.count, packets);
	assert_true(w.sent[packets - 1].packet.ack_req);
	for (unsigned i = 0, since = 0; i < packets; i++) {
		since = w.sent[i].packet.ack_req ? 0 : since + 1;
		assert_true(since < 32);
	}
	w.seen = w.count;
	ack(at(15));
	assert_true(w.count - w.seen >= 16 && w.count - w.seen <= 17);
	for (uint32_t acked = 15; acked < 899; acked += 4)
		ack(at(acked + 4));
	completion(1, RVT_WC_SUCCESS);
	assert_true(peer->window_bytes > window);
	assert_int_equal(peer->in_flight_bytes, 0);
	window = peer->window_bytes;
	post(RVT_WR_RDMA_WRITE, 20 * MTU, 2);
	lost = at(900);
	answer(SYNDROME_NAK_SEQUENCE, lost);
	assert_int_equal(peer->window_bytes, window / 2);
	ack(at(919));
	completion(2, RVT_WC_SUCCESS);
}

static void full_link_keeps_place(void **state)
{
	(void)state;
	w.room = 3;
	post(RVT_WR_SEND, 6 * MTU, 1);
	assert_int_equal(w.count, 3);
	w.room = 100;
	roce_link_writable(&w.engine);
	run();
	for (uint32_t i = 0; i < 6; i++)
		assert_int_equal(w.sent[i].packet.psn, at(i));
	assert_int_equal(w.count, 6);
	ack(at(5));
	completion(1, RVT_WC_SUCCESS);
}

static void drains(void **state)
{
	struct rvt_qp_attr attr = { .qp_state = RVT_QPS_SQD, .en_sqd_async_notify = true };

	(void)state;
	w.room = 2;
	post(RVT_WR_SEND, 3 * MTU, 1);
	post(RVT_WR_SEND, 1, 2);
	assert_int_equal(rvt_modify_qp(w.qp, &attr, RVT_QP_STATE | RVT_QP_EN_SQD_ASYNC_NOTIFY), 0);
	w.room = 100;
	run();
	assert_int_equal(w.count, 3); /* the rest of what was begun, nothing new */
	assert_false(w.events & (1u << RVT_EVENT_SQ_DRAINED));
	ack(at(2));
	completion(1, RVT_WC_SUCCESS);
	assert_true(w.events & (1u << RVT_EVENT_SQ_DRAINED));
	attr.qp_state = RVT_QPS_RTS;
	assert_int_equal(rvt_modify_qp(w.qp, &attr, RVT_QP_STATE), 0);
	run();
	assert_int_equal(w.count, 4);
	ack(at(3));
	completion(2, RVT_WC_SUCCESS);
}

static void unreliable(void **state)
{
	(void)state;
	assert_int_equal(rvt_destroy_qp(w.qp), 0);
	connect_qp(RVT_QPT_UC, 0);
	post(RVT_WR_SEND, MTU + 1, 1);
	assert_false(next(OPCODE_UC | OPCODE_RC_SEND_FIRST, at(0), MTU)->ack_req);
	assert_false(next(OPCODE_UC | OPCODE_RC_SEND_LAST, at(1), 1)->ack_req);
	completion(1, RVT_WC_SUCCESS);
	assert_false(deadline_armed(&w.qp->retry_timer));
	ack(at(0)); /* RC packets are not for it */
	assert_int_equal(w.counters[RVT_COUNT_drop_state], 1);
}

static void strangers_are_dropped(void **state)
{
	struct packet packet = { .opcode = OPCODE_RC_ACKNOWLEDGE, .psn = at(0), .pkey = 0xffff };
	uint8_t bytes[64] = { 0 };
	struct roce_datagram datagram = { .source = ipv4(3),
					  .destination = ipv4(1),
					  .data = bytes };

	(void)state;
	post(RVT_WR_SEND, 1, 1);
	packet.dest_qpn = w.qp->number;
	packet.aeth.syndrome = SYNDROME_ACK;
	datagram.length = packet_write_headers(&packet, bytes) + 4;
	roce_receive(&w.engine, &datagram);
	assert_int_equal(w.counters[RVT_COUNT_drop_address], 1);
	datagram.source = ipv4(2);
	roce_receive(&w.engine, &datagram); /* no ICRC */
	assert_int_equal(w.counters[RVT_COUNT_drop_icrc], 1);
	bytes[2] = 0x12; /* P_Key */
	roce_receive(&w.engine, &datagram);
	assert_int_equal(w.counters[RVT_COUNT_drop_pkey], 1);
	bytes[5] ^= 1; /* QP number */
	roce_receive(&w.engine, &datagram);
	assert_int_equal(w.counters[RVT_COUNT_drop_no_qp], 1);
	datagram.length = 11;
	roce_receive(&w.engine, &datagram);
	assert_int_equal(w.counters[RVT_COUNT_drop_malformed], 1);
	no_completion();
}

static void icrc_is_right(void **state)
{
	struct icrc_route route = { ipv4(1), ipv4(2), 0xc123, ROCE_UDP_PORT };

	(void)state;
	w.trusted = false;
	assert_int_equal(rvt_destroy_qp(w.qp), 0);
	connect_qp(RVT_QPT_RC, 0);
	post(RVT_WR_SEND, 5, 1);
	assert_true(icrc_check(&route, w.sent[0].bytes, w.sent[0].length, NULL));
	w.sent[0].bytes[14] ^= 4;
	assert_false(icrc_check(&route, w.sent[0].bytes, w.sent[0].length, NULL));
	ack(at(0));
	completion(1, RVT_WC_SUCCESS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sends_of_all_sizes),
		TEST(writes),
		TEST(sequence_nak_goes_back),
		TEST(late_ack_skips_resending),
		TEST(rnr_waits),
		TEST(a_peer_that_is_behind_costs_no_retry),
		TEST(lost_twice_probes),
		TEST(rnr_is_an_answer),
		TEST(no_timeout_waits_for_ever),
		TEST(congestion_notifications_change_nothing),
		TEST(retries_are_finite),
		TEST(progress_renews_retries),
		TEST(reads),
		TEST(long_read_in_pieces),
		TEST(bad_read_answers),
		TEST(wrong_kind_of_answer),
		TEST(atomics),
		TEST(atomic_writes),
		TEST(atomic_writes_of_the_peer),
		TEST(flushes),
		TEST(flushes_of_the_peer),
		TEST(fence_waits),
		TEST(fatal_naks),
		TEST(local_errors_in_turn),
		TEST(memory_window),
		TEST(full_link_keeps_place),
		TEST(drains),
		TEST(unreliable),
		TEST(strangers_are_dropped),
		TEST(icrc_is_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
