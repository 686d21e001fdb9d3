/* SPDX-License-Identifier: Apache-2.0 */
/* One RC queue pair against a peer that is played by the test. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
/* clang-format on */

#include "roce/qp.h"
#include "wire/icrc.h"
#include "wire/opcode.h"
#include "wire/psn.h"
#include "wire/syndrome.h"

#define MTU	  1024u
#define START_PSN 0xfffffeu /* everything crosses the wrap */
#define PEER_QPN  0x40123u
#define PACKETS	  2048
#define MEMORY	  (1u << 20)
#define MS	  1000000ull

struct sent {
	struct packet packet;
	uint8_t bytes[ROCE_MAX_PACKET];
	size_t length;
};

static struct world {
	struct restrack_root restrack;
	struct rvt_device device;
	struct roce_engine engine;
	struct rvt_port port;
	struct rvt_context *context;
	struct rvt_pd *pd;
	struct rvt_cq *cq;
	struct rvt_qp *qp;
	struct rvt_mr *mr;
	uint64_t counters[RVT_COUNTERS];
	struct sent *sent;
	unsigned count, seen; /* packets sent, and those that the test has looked at */
	unsigned room;	      /* that the link still takes */
	bool trusted;
	bool self; /* the QP is connected to itself */
	uint8_t *memory;
	unsigned events;
	enum rvt_verdict cause;
} w;

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

static const struct allocator heap = { allocate, release, NULL };

static int memory_read(void *to, uint64_t from, size_t length)
{
	memcpy(to, (const void *)(uintptr_t)from, length);
	return 0;
}

static int memory_write(uint64_t to, const void *from, size_t length)
{
	memcpy((void *)(uintptr_t)to, from, length);
	return 0;
}

static int memory_swap(uint64_t address, uint64_t compare, uint64_t swap, uint64_t *original)
{
	uint64_t *word = (uint64_t *)(uintptr_t)address;

	*original = *word;
	if (*word == compare)
		*word = swap;
	return 0;
}

static int memory_add(uint64_t address, uint64_t add, uint64_t *original)
{
	uint64_t *word = (uint64_t *)(uintptr_t)address;

	*original = *word;
	*word += add;
	return 0;
}

static int memory_probe(uint64_t address, uint64_t length, bool write)
{
	(void)address, (void)length, (void)write;
	return 0;
}

static const struct rvt_memory_ops memory_ops = { memory_read, memory_write, memory_swap,
						  memory_add, memory_probe };

static void cq_event(void *context, struct rvt_cq *cq)
{
	(void)context, (void)cq;
}

static void async_event(void *context, enum rvt_event event, struct rvt_qp *qp, struct rvt_cq *cq,
			struct rvt_srq *srq)
{
	(void)context, (void)qp, (void)cq, (void)srq;
	w.events |= 1u << event;
}

static void cause(void *context, enum rvt_verdict verdict, struct restrack_entry *object,
		  uint64_t value1, uint64_t value2)
{
	(void)context, (void)object, (void)value1, (void)value2;
	w.cause = verdict;
}

static const struct rvt_observer observer = { cq_event, async_event, cause, NULL };

static int resolve(void *context, struct roce_flow *flow, uint32_t source, uint32_t destination)
{
	(void)context, (void)source, (void)destination;
	flow->source_port = 0xc123;
	flow->trusted = w.trusted;
	return 0;
}

static uint8_t *reserve(void *context, const struct roce_flow *flow, uint32_t qpn, size_t length,
			uint16_t *ipv4_id)
{
	(void)context, (void)flow;
	assert_int_equal(qpn, w.self ? w.qp->number : PEER_QPN);
	assert_true(length <= ROCE_MAX_PACKET);
	if (!w.room || (w.self && w.count == PACKETS))
		return NULL;
	assert_true(w.count < PACKETS);
	w.sent[w.count].length = length;
	*ipv4_id = 0;
	return w.sent[w.count].bytes;
}

static void commit(void *context)
{
	struct sent *sent = &w.sent[w.count];

	(void)context;
	assert_int_equal(packet_parse(&sent->packet, sent->bytes, sent->length), 0);
	w.count++;
	w.room--;
}

static void cancel(void *context)
{
	(void)context;
}

static const struct roce_transmit_ops transmit_ops = { resolve, reserve, commit, cancel };

static struct gid ipv4(uint8_t last)
{
	struct gid gid = { { [10] = 0xff, [11] = 0xff, [12] = 10, [15] = last } };

	return gid;
}

static void modify(struct rvt_qp_attr *attr, enum rvt_qp_state state, uint32_t mask)
{
	attr->qp_state = state;
	assert_int_equal(rvt_modify_qp(w.qp, attr, RVT_QP_STATE | mask), 0);
	assert_int_equal(w.qp->state, state);
}

static void connect_qp(enum rvt_qp_type type, uint8_t rnr_retry)
{
	struct rvt_qp_init init = {
		.type = type,
		.send_cq = w.cq,
		.recv_cq = w.cq,
		.cap = { 128, 16, 4, 4, 64 },
	};
	struct rvt_qp_attr attr = {
		.port_num = 1,
		.path_mtu = RVT_MTU_1024,
		.dest_qp_num = PEER_QPN,
		.rq_psn = 100,
		.sq_psn = START_PSN,
		.ah_attr = { .is_global = true, .dgid = ipv4(2), .sgid_index = 0, .port_num = 1 },
		.max_rd_atomic = 2,
		.max_dest_rd_atomic = 2,
		.min_rnr_timer = 1,
		.timeout = 14,
		.retry_cnt = 2,
		.rnr_retry = rnr_retry,
	};
	bool rc = type == RVT_QPT_RC;

	assert_int_equal(rvt_create_qp(w.pd, &init, &w.qp), 0);
	if (w.self) {
		attr.dest_qp_num = w.qp->number;
		attr.ah_attr.dgid = ipv4(1);
		attr.rq_psn = START_PSN;
		attr.retry_cnt = 7;
		attr.qp_access_flags =
			RVT_ACCESS_REMOTE_WRITE | RVT_ACCESS_REMOTE_READ | RVT_ACCESS_REMOTE_ATOMIC;
	}
	modify(&attr, RVT_QPS_INIT, RVT_QP_PKEY_INDEX | RVT_QP_PORT | RVT_QP_ACCESS_FLAGS);
	modify(&attr, RVT_QPS_RTR,
	       RVT_QP_AV | RVT_QP_PATH_MTU | RVT_QP_DEST_QPN | RVT_QP_RQ_PSN |
		       (rc ? RVT_QP_MAX_DEST_RD_ATOMIC | RVT_QP_MIN_RNR_TIMER : 0u));
	modify(&attr, RVT_QPS_RTS,
	       RVT_QP_SQ_PSN | (rc ? RVT_QP_TIMEOUT | RVT_QP_RETRY_CNT | RVT_QP_RNR_RETRY |
						RVT_QP_MAX_QP_RD_ATOMIC
				   : 0u));
}

static int setup(void **state)
{
	struct rvt_device_config config = {
		.allocator = &heap,
		.restrack = &w.restrack,
		.memory = &memory_ops,
		.transport = &roce_transport_ops,
		.observer = &observer,
		.counters = w.counters,
		.seed = 1,
		.first_qpn = 0x20000,
		.qpn_count = 1 << 17,
	};
	struct roce_config roce = { &w.device, &transmit_ops, NULL };

	(void)state;
	memset(&w, 0, sizeof(w));
	w.sent = calloc(PACKETS, sizeof(*w.sent));
	w.memory = calloc(1, MEMORY);
	w.room = PACKETS;
	w.trusted = true;
	for (uint32_t i = 0; i < MEMORY; i++)
		w.memory[i] = (uint8_t)(i * 31 + (i >> 8));
	w.port = (struct rvt_port){ .name = "test", .up = true };
	w.port.active_mtu = w.port.max_mtu = RVT_MTU_4096;
	w.port.gids[0] = ipv4(1);
	assert_int_equal(restrack_init(&w.restrack, &heap, NULL), 0);
	assert_int_equal(rvt_device_init(&w.device, &config), 0);
	roce_engine_init(&w.engine, &roce);
	w.device.now_ns = 1000 * MS;
	assert_int_equal(rvt_context_open(&w.device, &w.port, &w.context), 0);
	assert_int_equal(rvt_alloc_pd(w.context, &w.pd), 0);
	assert_int_equal(rvt_create_cq(w.context, 512, &w.cq), 0);
	assert_int_equal(rvt_reg_mr(w.pd, (uintptr_t)w.memory, MEMORY, (uintptr_t)w.memory,
				    RVT_ACCESS_LOCAL_WRITE | RVT_ACCESS_REMOTE_WRITE |
					    RVT_ACCESS_REMOTE_READ | RVT_ACCESS_REMOTE_ATOMIC,
				    &w.mr),
			 0);
	connect_qp(RVT_QPT_RC, 2);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	assert_int_equal(rvt_destroy_qp(w.qp), 0);
	assert_int_equal(rvt_dereg_mr(w.mr), 0);
	assert_int_equal(rvt_destroy_cq(w.cq), 0);
	assert_int_equal(rvt_dealloc_pd(w.pd), 0);
	rvt_context_close(w.context);
	roce_engine_deinit(&w.engine);
	assert_int_equal(rvt_device_deinit(&w.device), 0);
	assert_int_equal(restrack_clean(&w.restrack), 0);
	free(w.sent);
	free(w.memory);
	return 0;
}

static void run(void)
{
	for (unsigned i = 0; roce_engine_run(&w.engine, 64); i++)
		assert_true(i < 1000);
}

static void post_flags(enum rvt_opcode opcode, uint32_t length, uint64_t id, uint32_t flags)
{
	struct rvt_sge sge = { (uintptr_t)w.memory, length, w.mr->key };
	struct rvt_send_wr wr = {
		.wr_id = id,
		.opcode = opcode,
		.send_flags = RVT_SEND_SIGNALED | flags,
		.sg_list = &sge,
		.num_sge = 1,
		.imm_data = 0x04030201,
		.remote_addr = 0x10000,
		.rkey = 0x777,
		.compare_add = 5,
		.swap = 6,
	};

	assert_int_equal(rvt_post_send(w.qp, &wr), 0);
	rvt_send_pending(w.qp);
	run();
}

static void post(enum rvt_opcode opcode, uint32_t length, uint64_t id)
{
	post_flags(opcode, length, id, 0);
}

static uint32_t at(uint32_t offset)
{
	return (START_PSN + offset) & 0xffffff;
}

/* The next packet that was sent. */
static const struct packet *next(uint8_t opcode, uint32_t psn, uint32_t length)
{
	const struct packet *packet;

	assert_true(w.seen < w.count);
	packet = &w.sent[w.seen++].packet;
	assert_int_equal(packet->opcode, opcode);
	assert_int_equal(packet->psn, psn);
	assert_int_equal(packet->payload_length, length);
	assert_int_equal(packet->dest_qpn, PEER_QPN);
	assert_int_equal(packet->pkey, 0xffff);
	return packet;
}

static void silence(void)
{
	assert_int_equal(w.seen, w.count);
}

static void deliver(struct packet *packet, const void *payload, uint32_t length)
{
	uint8_t bytes[ROCE_MAX_PACKET] = { 0 };
	size_t headers;
	struct roce_datagram datagram = {
		.source = ipv4(2),
		.destination = ipv4(1),
		.source_port = 0xc000,
		.trusted = true,
		.data = bytes,
	};

	packet->dest_qpn = w.qp->number;
	packet->pkey = 0xffff;
	packet->pad = (uint8_t)(-length & 3);
	headers = packet_write_headers(packet, bytes);
	if (length)
		memcpy(bytes + headers, payload, length);
	datagram.length = headers + length + packet->pad + 4;
	roce_receive(&w.engine, &datagram);
	run();
}

static void answer(uint8_t syndrome, uint32_t psn)
{
	struct packet packet = { .opcode = OPCODE_RC_ACKNOWLEDGE, .psn = psn };

	packet.aeth.syndrome = syndrome;
	deliver(&packet, NULL, 0);
}

static void ack(uint32_t psn)
{
	answer(SYNDROME_ACK, psn);
}

static void read_data(uint8_t opcode, uint32_t psn, uint8_t fill, uint32_t length)
{
	struct packet packet = { .opcode = opcode, .psn = psn };
	uint8_t data[MTU];

	memset(data, fill, sizeof(data));
	packet.aeth.syndrome = SYNDROME_ACK;
	deliver(&packet, data, length);
}

static void pass(uint64_t ns)
{
	w.device.now_ns += ns;
	deadlines_expire(&w.device.deadlines, w.device.now_ns);
	run();
}

static void completion(uint64_t id, enum rvt_wc_status status)
{
	struct rvt_wc wc;

	assert_int_equal(rvt_poll_cq(w.cq, 1, &wc), 1);
	assert_int_equal(wc.wr_id, id);
	assert_int_equal(wc.status, status);
}

static void no_completion(void)
{
	assert_int_equal(rvt_cq_entries(w.cq), 0);
}

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

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sends_of_all_sizes),
		TEST(writes),
		TEST(sequence_nak_goes_back),
		TEST(late_ack_skips_resending),
		TEST(rnr_waits),
		TEST(retries_are_finite),
		TEST(progress_renews_retries),
		TEST(reads),
		TEST(long_read_in_pieces),
		TEST(bad_read_answers),
		TEST(wrong_kind_of_answer),
		TEST(atomics),
		TEST(fence_waits),
		TEST(fatal_naks),
		TEST(local_errors_in_turn),
		TEST(memory_window),
		TEST(full_link_keeps_place),
		TEST(drains),
		TEST(unreliable),
		TEST(strangers_are_dropped),
		TEST(icrc_is_right),
		TEST(talks_to_itself_over_a_lossy_link),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
