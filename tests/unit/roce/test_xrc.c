/* SPDX-License-Identifier: Apache-2.0 */
/* test_xrc.c - XRC: what an initiator sends, and what a target does with the queues that requests
 * name */
#include "rvt/xrcd.h"
#include "world.h"

#define FIRST	100u /* PSN that the target expects */
#define MEMORY2 65536u

/* What belongs to one receive queue: its own PD, CQ and region. */
struct queue {
	struct rvt_pd *pd;
	struct rvt_cq *cq;
	struct rvt_mr *mr;
	struct rvt_srq *srq;
	uint8_t *memory;
	uint64_t posted;
};

static struct queue queues[2];
static uint32_t number; /* of the target */

static struct rvt_srq *new_srq(struct rvt_pd *pd, struct rvt_xrcd *xrcd, struct rvt_cq *cq)
{
	uint32_t max_wr = 8, max_sge = 1;
	struct rvt_srq *srq;

	assert_int_equal(rvt_create_xrc_srq(pd, xrcd, cq, &max_wr, &max_sge, &srq), 0);
	return srq;
}

static void queue_begin(struct queue *q)
{
	const uint32_t access = RVT_ACCESS_LOCAL_WRITE | RVT_ACCESS_REMOTE_WRITE |
				RVT_ACCESS_REMOTE_READ | RVT_ACCESS_REMOTE_ATOMIC;

	*q = (struct queue){ .memory = calloc(1, MEMORY2) };
	assert_int_equal(rvt_alloc_pd(w.context, &q->pd), 0);
	assert_int_equal(rvt_create_cq(w.context, 64, &q->cq), 0);
	assert_int_equal(rvt_reg_mr(q->pd, (uintptr_t)q->memory, MEMORY2, (uintptr_t)q->memory,
				    access, &q->mr),
			 0);
	q->srq = new_srq(q->pd, w.xrcd, q->cq);
}

static int target(void **state)
{
	assert_int_equal(setup(state), 0);
	assert_int_equal(rvt_destroy_qp(w.qp), 0);
	assert_int_equal(rvt_open_xrcd(w.context, NULL, true, false, &w.xrcd), 0);
	queue_begin(&queues[0]);
	queue_begin(&queues[1]);
	connect_qp(RVT_QPT_XRC_TGT, 2);
	number = w.qp->number;
	return 0;
}

static int target_ends(void **state)
{
	for (unsigned i = 0; i < 2; i++) {
		struct queue *q = &queues[i];

		if (q->srq)
			assert_int_equal(rvt_destroy_srq(q->srq), 0);
		assert_int_equal(rvt_cq_entries(q->cq), 0);
		assert_int_equal(rvt_dereg_mr(q->mr), 0);
		assert_int_equal(rvt_destroy_cq(q->cq), 0);
		assert_int_equal(rvt_dealloc_pd(q->pd), 0);
		free(q->memory);
	}
	silence();
	return teardown(state);
}

static int initiator(void **state)
{
	assert_int_equal(setup(state), 0);
	assert_int_equal(rvt_destroy_qp(w.qp), 0);
	connect_qp(RVT_QPT_XRC_INI, 2);
	return 0;
}

/* The receive of the message number i of a queue is at i * 8192. */
static void receive(struct queue *q, uint32_t length)
{
	struct rvt_sge sge = { (uintptr_t)q->memory + q->posted * 8192, length, q->mr->key };
	struct rvt_recv_wr wr = { .wr_id = q->posted++, .sg_list = &sge, .num_sge = 1 };

	assert_int_equal(rvt_post_srq_recv(q->srq, &wr), 0);
}

static void request(uint8_t opcode, uint32_t psn, uint32_t srqn, uint32_t length)
{
	struct packet packet = { .opcode = opcode, .psn = psn, .srqn = srqn, .ack_req = true };
	uint8_t data[MTU];

	memset(data, (int)psn, sizeof(data));
	deliver(&packet, data, length);
}

static void rdma(uint8_t opcode, uint32_t psn, uint32_t srqn, const struct queue *q, uint32_t total,
		 uint32_t length)
{
	struct packet packet = { .opcode = opcode, .psn = psn, .srqn = srqn, .ack_req = true };
	uint8_t data[MTU];

	memset(data, (int)psn, sizeof(data));
	packet.reth.va = (uintptr_t)q->memory;
	packet.reth.rkey = q->mr->key;
	packet.reth.length = total;
	deliver(&packet, data, length);
}

static uint32_t name(const struct queue *q)
{
	return q->srq->res.id;
}

static void answered(uint8_t syndrome, uint32_t psn)
{
	roce_engine_flush_acks(&w.engine);
	assert_int_equal(next(OPCODE_XRC_ACKNOWLEDGE, psn, 0)->aeth.syndrome, syndrome);
	/* Answers name no queue. */
	assert_int_equal(w.sent[w.seen - 1].length, 12 + 4 + 4);
	silence();
}

static void refused(uint32_t psn)
{
	answered(SYNDROME_NAK_INVALID_REQUEST, psn);
	assert_int_equal(w.qp->state, RVT_QPS_ERR);
	assert_int_equal(w.cause, RVT_XRC_SRQ);
	assert_true(w.events & 1u << RVT_EVENT_QP_REQ_ERR);
	assert_true(w.events & 1u << RVT_EVENT_QP_LAST_WQE_REACHED);
	no_completion();
}

static void received(struct queue *q, uint64_t id, enum rvt_wc_status status, uint32_t length)
{
	struct rvt_wc wc;

	assert_int_equal(rvt_poll_cq(q->cq, 1, &wc), 1);
	assert_int_equal(wc.status, status);
	assert_int_equal(wc.wr_id, id);
	assert_int_equal(wc.qp_num, number);
	if (status != RVT_WC_SUCCESS)
		return;
	assert_int_equal(wc.byte_len, length);
	assert_int_equal(wc.src_qp, PEER_QPN);
}

static void filled(const struct queue *q, uint32_t offset, uint32_t length, uint8_t with)
{
	for (uint32_t i = 0; i < length; i++)
		assert_int_equal(q->memory[offset + i], with);
}

/* One target, two queues in turn: each in its own memory, with its own CQ. */
static void two_queues(void **state)
{
	struct queue *a = &queues[0], *b = &queues[1];

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		receive(a, 8192);
		receive(b, 8192);
	}
	request(OPCODE_XRC_SEND_FIRST, FIRST, name(a), MTU);
	request(OPCODE_XRC_SEND_MIDDLE, FIRST + 1, name(a), MTU);
	request(OPCODE_XRC_SEND_LAST, FIRST + 2, name(a), 5);
	request(OPCODE_XRC_SEND_ONLY, FIRST + 3, name(b), 7);
	request(OPCODE_XRC_SEND_ONLY, FIRST + 4, name(a), 9);
	rdma(OPCODE_XRC_WRITE_ONLY_IMM, FIRST + 5, name(b), b, 11, 11);
	answered(SYNDROME_ACK, FIRST + 5);
	received(a, 0, RVT_WC_SUCCESS, 2 * MTU + 5);
	received(a, 1, RVT_WC_SUCCESS, 9);
	received(b, 0, RVT_WC_SUCCESS, 7);
	received(b, 1, RVT_WC_SUCCESS, 11);
	filled(a, 0, MTU, FIRST);
	filled(a, MTU, MTU, FIRST + 1);
	filled(a, 2 * MTU, 5, FIRST + 2);
	filled(a, 8192, 9, FIRST + 4);
	filled(b, 0, 11, FIRST + 5);
}

static void unknown_queue(void **state)
{
	(void)state;
	receive(&queues[0], 64);
	request(OPCODE_XRC_SEND_ONLY, FIRST, 0xffffff, 8);
	refused(FIRST);
	assert_int_equal(rvt_rq_count(&queues[0].srq->rq), 1);
}

/* Even what needs no receive and no key: it needs a PD. */
static void queue_of_another_domain(void **state)
{
	struct rvt_xrcd *other;
	struct rvt_srq *srq;

	(void)state;
	assert_int_equal(rvt_open_xrcd(w.context, NULL, true, false, &other), 0);
	srq = new_srq(w.pd, other, w.cq);
	rdma(OPCODE_XRC_WRITE_ONLY, FIRST, srq->res.id, &queues[0], 0, 0);
	refused(FIRST);
	assert_int_equal(rvt_destroy_srq(srq), 0);
	assert_int_equal(rvt_close_xrcd(other), 0);
}

static void plain_queue(void **state)
{
	uint32_t max_wr = 8, max_sge = 1;
	struct rvt_srq *srq;

	(void)state;
	assert_int_equal(rvt_create_srq(w.pd, &max_wr, &max_sge, 0, &srq), 0);
	request(OPCODE_XRC_SEND_ONLY, FIRST, srq->res.id, 8);
	refused(FIRST);
	assert_int_equal(rvt_destroy_srq(srq), 0);
}

/* What was taken ends in the CQ of the queue that it came from. */
static void queue_changes_in_a_message(void **state)
{
	struct queue *a = &queues[0], *b = &queues[1];

	(void)state;
	receive(a, 8192);
	receive(b, 8192);
	request(OPCODE_XRC_SEND_FIRST, FIRST, name(a), MTU);
	request(OPCODE_XRC_SEND_LAST, FIRST + 1, name(b), 8);
	refused(FIRST + 1);
	received(a, 0, RVT_WC_REM_INV_REQ_ERR, 0);
	assert_int_equal(rvt_rq_count(&b->srq->rq), 1);
}

static void queue_ends_in_a_message(void **state)
{
	struct queue *a = &queues[0];
	uint32_t gone = name(a);

	(void)state;
	receive(a, 8192);
	request(OPCODE_XRC_SEND_FIRST, FIRST, gone, MTU);
	assert_int_equal(rvt_destroy_srq(a->srq), 0);
	a->srq = NULL;
	request(OPCODE_XRC_SEND_MIDDLE, FIRST + 1, gone, MTU);
	refused(FIRST + 1);
}

static void flushed_in_a_message(void **state)
{
	struct rvt_qp_attr attr = { .qp_state = RVT_QPS_ERR };
	struct queue *a = &queues[0];

	(void)state;
	receive(a, 8192);
	receive(a, 8192);
	request(OPCODE_XRC_SEND_FIRST, FIRST, name(a), MTU);
	assert_int_equal(rvt_modify_qp(w.qp, &attr, RVT_QP_STATE), 0);
	received(a, 0, RVT_WC_WR_FLUSH_ERR, 0);
	/* The rest is still the queue's. */
	assert_int_equal(rvt_rq_count(&a->srq->rq), 1);
	assert_true(w.events & 1u << RVT_EVENT_QP_LAST_WQE_REACHED);
	w.seen = w.count;
}

static void not_ready_and_limit(void **state)
{
	struct queue *a = &queues[0], *b = &queues[1];

	(void)state;
	receive(b, 64);
	receive(b, 64);
	assert_int_equal(rvt_modify_srq(b->srq, RVT_SRQ_LIMIT, 0, 2), 0);
	/* That another queue has receives is no help. */
	request(OPCODE_XRC_SEND_ONLY, FIRST, name(a), 8);
	answered(SYNDROME_RNR | 1, FIRST);
	assert_int_equal(w.qp->state, RVT_QPS_RTS);
	request(OPCODE_XRC_SEND_ONLY, FIRST + 1, name(b), 8);
	silence();
	assert_false(w.events & 1u << RVT_EVENT_SRQ_LIMIT_REACHED);
	receive(a, 64);
	request(OPCODE_XRC_SEND_ONLY, FIRST, name(a), 8);
	assert_false(w.events & 1u << RVT_EVENT_SRQ_LIMIT_REACHED);
	request(OPCODE_XRC_SEND_ONLY, FIRST + 1, name(b), 8);
	assert_true(w.events & 1u << RVT_EVENT_SRQ_LIMIT_REACHED);
	answered(SYNDROME_ACK, FIRST + 1);
	received(a, 0, RVT_WC_SUCCESS, 8);
	received(b, 0, RVT_WC_SUCCESS, 8);
}

/* The memory that a request reaches is that of the PD of the queue that it names. */
static void memory_of_the_queue(void **state)
{
	struct queue *a = &queues[0], *b = &queues[1];

	(void)state;
	rdma(OPCODE_XRC_WRITE_ONLY, FIRST, name(a), a, 16, 16);
	rdma(OPCODE_XRC_WRITE_ONLY, FIRST + 1, name(b), b, 16, 16);
	answered(SYNDROME_ACK, FIRST + 1);
	filled(a, 0, 16, FIRST);
	filled(b, 0, 16, FIRST + 1);
	rdma(OPCODE_XRC_WRITE_ONLY, FIRST + 2, name(b), a, 16, 16);
	answered(SYNDROME_NAK_REMOTE_ACCESS, FIRST + 2);
	assert_int_equal(w.cause, RVT_RKEY_PD);
	filled(a, 0, 16, FIRST);
}

/* A READ that is asked again is looked up as it was asked; the message in progress stays whole. */
static void read_again_in_a_message(void **state)
{
	struct queue *a = &queues[0], *b = &queues[1];

	(void)state;
	receive(a, 8192);
	memset(b->memory, 0x5a, 32);
	rdma(OPCODE_XRC_READ_REQUEST, FIRST, name(b), b, 32, 0);
	assert_int_equal(*next(OPCODE_XRC_READ_RESPONSE_ONLY, FIRST, 32)->payload, 0x5a);
	request(OPCODE_XRC_SEND_FIRST, FIRST + 1, name(a), MTU);
	answered(SYNDROME_ACK, FIRST + 1);
	rdma(OPCODE_XRC_READ_REQUEST, FIRST, name(b), b, 32, 0);
	assert_int_equal(*next(OPCODE_XRC_READ_RESPONSE_ONLY, FIRST, 32)->payload, 0x5a);
	request(OPCODE_XRC_SEND_LAST, FIRST + 2, name(a), 8);
	answered(SYNDROME_ACK, FIRST + 2);
	received(a, 0, RVT_WC_SUCCESS, MTU + 8);
	filled(a, MTU, 8, FIRST + 2);
	/* Without the queue there is no telling whose memory it was. */
	assert_int_equal(rvt_destroy_srq(b->srq), 0);
	b->srq = NULL;
	rdma(OPCODE_XRC_READ_REQUEST, FIRST, 1, b, 32, 0);
	assert_int_equal(next(OPCODE_XRC_ACKNOWLEDGE, FIRST, 0)->aeth.syndrome,
			 SYNDROME_NAK_INVALID_REQUEST);
	assert_int_equal(w.qp->state, RVT_QPS_RTS);
}

static void atomics(void **state)
{
	struct packet packet = { .opcode = OPCODE_XRC_FETCH_ADD, .psn = FIRST, .ack_req = true };
	struct queue *b = &queues[1];
	uint64_t value = 40;

	(void)state;
	memcpy(b->memory, &value, sizeof(value));
	packet.srqn = name(b);
	packet.atomic.va = (uintptr_t)b->memory;
	packet.atomic.rkey = b->mr->key;
	packet.atomic.swap_add = 2;
	for (unsigned i = 0; i < 2; i++) {
		deliver(&packet, NULL, 0);
		assert_true(next(OPCODE_XRC_ATOMIC_ACK, FIRST, 0)->atomic_ack == 40);
	}
	memcpy(&value, b->memory, sizeof(value));
	assert_true(value == 42);
}

/* A target hears requests of XRC alone. */
static void not_for_a_target(void **state)
{
	struct packet response = { .opcode = OPCODE_XRC_ACKNOWLEDGE, .psn = START_PSN };

	(void)state;
	receive(&queues[0], 64);
	request(OPCODE_RC_SEND_ONLY, FIRST, name(&queues[0]), 8);
	request(OPCODE_UC_SEND_ONLY, FIRST, name(&queues[0]), 8);
	deliver(&response, NULL, 0);
	assert_int_equal(w.counters[RVT_COUNT_drop_state], 3);
	roce_engine_flush_acks(&w.engine);
}

/* The initiator. */

static void post_to(enum rvt_opcode opcode, uint32_t length, uint64_t id, uint32_t srqn)
{
	struct rvt_sge sge = { (uintptr_t)w.memory, length, w.mr->key };
	struct rvt_send_wr wr = {
		.wr_id = id,
		.opcode = opcode,
		.send_flags = RVT_SEND_SIGNALED,
		.sg_list = &sge,
		.num_sge = opcode != RVT_WR_FLUSH,
		.remote_addr = 0x10000,
		.remote_srqn = srqn,
		.flush = { .length = 8, .placement = 1 },
	};

	assert_int_equal(rvt_post_send(w.qp, &wr), 0);
	rvt_send_pending(w.qp);
	run();
}

static void named(uint8_t opcode, uint32_t psn, uint32_t length, uint32_t srqn)
{
	assert_int_equal(next(opcode, psn, length)->srqn, srqn);
}

static void response(uint8_t opcode, uint32_t psn, uint32_t length)
{
	struct packet packet = { .opcode = opcode, .psn = psn };
	uint8_t data[MTU];

	memset(data, 0x77, sizeof(data));
	packet.aeth.syndrome = SYNDROME_ACK;
	deliver(&packet, data, length);
}

/* Each packet names the queue of its own work request, again when it is sent again. */
static void every_request_names_its_queue(void **state)
{
	(void)state;
	post_to(RVT_WR_SEND, 2 * MTU + 1, 1, 0x123456);
	post_to(RVT_WR_RDMA_WRITE, 2 * MTU, 2, 0xffffff);
	for (unsigned i = 0; i < 2; i++) {
		named(OPCODE_XRC_SEND_FIRST, at(0), MTU, 0x123456);
		named(OPCODE_XRC_SEND_MIDDLE, at(1), MTU, 0x123456);
		named(OPCODE_XRC_SEND_LAST, at(2), 1, 0x123456);
		named(OPCODE_XRC_WRITE_FIRST, at(3), MTU, 0xffffff);
		if (!i) {
			named(OPCODE_XRC_WRITE_LAST, at(4), MTU, 0xffffff);
			pass(500 * MS);
		}
	}
	silence();
	response(OPCODE_XRC_ACKNOWLEDGE, at(4), 0);
	completion(1, RVT_WC_SUCCESS);
	completion(2, RVT_WC_SUCCESS);
}

static void every_operation(void **state)
{
	(void)state;
	post_to(RVT_WR_RDMA_READ, MTU + 8, 1, 1);
	named(OPCODE_XRC_READ_REQUEST, at(0), 0, 1);
	response(OPCODE_XRC_READ_RESPONSE_FIRST, at(0), MTU);
	response(OPCODE_XRC_READ_RESPONSE_LAST, at(1), 8);
	completion(1, RVT_WC_SUCCESS);
	assert_int_equal(w.memory[MTU + 7], 0x77);
	post_to(RVT_WR_ATOMIC_CMP_AND_SWP, 8, 2, 2);
	named(OPCODE_XRC_CMP_SWAP, at(2), 0, 2);
	response(OPCODE_XRC_ATOMIC_ACK, at(2), 0);
	completion(2, RVT_WC_SUCCESS);
	post_to(RVT_WR_ATOMIC_FETCH_AND_ADD, 8, 3, 3);
	named(OPCODE_XRC_FETCH_ADD, at(3), 0, 3);
	response(OPCODE_XRC_ATOMIC_ACK, at(3), 0);
	completion(3, RVT_WC_SUCCESS);
	post_to(RVT_WR_ATOMIC_WRITE, 8, 4, 4);
	named(OPCODE_XRC_ATOMIC_WRITE, at(4), 8, 4);
	response(OPCODE_XRC_READ_RESPONSE_ONLY, at(4), 0);
	completion(4, RVT_WC_SUCCESS);
	post_to(RVT_WR_FLUSH, 8, 5, 5);
	named(OPCODE_XRC_FLUSH, at(5), 0, 5);
	response(OPCODE_XRC_READ_RESPONSE_ONLY, at(5), 0);
	completion(5, RVT_WC_SUCCESS);
	post_to(RVT_WR_SEND_WITH_IMM, 3, 6, 6);
	named(OPCODE_XRC_SEND_ONLY_IMM, at(6), 3, 6);
	response(OPCODE_XRC_ACKNOWLEDGE, at(6), 0);
	completion(6, RVT_WC_SUCCESS);
	silence();
}

/* An initiator hears answers of XRC alone. */
static void not_for_an_initiator(void **state)
{
	struct packet packet = { .opcode = OPCODE_XRC_SEND_ONLY, .psn = FIRST, .ack_req = true };

	(void)state;
	post_to(RVT_WR_SEND, 3, 1, 9);
	named(OPCODE_XRC_SEND_ONLY, at(0), 3, 9);
	response(OPCODE_RC_ACKNOWLEDGE, at(0), 0);
	deliver(&packet, NULL, 0);
	roce_engine_flush_acks(&w.engine);
	silence();
	assert_int_equal(w.counters[RVT_COUNT_drop_state], 2);
	no_completion();
	/* The peer does not know the queue. */
	packet = (struct packet){ .opcode = OPCODE_XRC_ACKNOWLEDGE, .psn = at(0) };
	packet.aeth.syndrome = SYNDROME_NAK_INVALID_REQUEST;
	deliver(&packet, NULL, 0);
	completion(1, RVT_WC_REM_INV_REQ_ERR);
	assert_int_equal(w.qp->state, RVT_QPS_ERR);
}

#define TGT(name) cmocka_unit_test_setup_teardown(name, target, target_ends)
#define INI(name) cmocka_unit_test_setup_teardown(name, initiator, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TGT(two_queues),
		TGT(unknown_queue),
		TGT(queue_of_another_domain),
		TGT(plain_queue),
		TGT(queue_changes_in_a_message),
		TGT(queue_ends_in_a_message),
		TGT(flushed_in_a_message),
		TGT(not_ready_and_limit),
		TGT(memory_of_the_queue),
		TGT(read_again_in_a_message),
		TGT(atomics),
		TGT(not_for_a_target),
		INI(every_request_names_its_queue),
		INI(every_operation),
		INI(not_for_an_initiator),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
