/* SPDX-License-Identifier: Apache-2.0 */
/* The responder of one queue pair against a peer that is played by the test. */
/* clang-format off */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
/* clang-format on */

#include "roce/qp.h"
#include "wire/opcode.h"
#include "wire/psn.h"
#include "wire/syndrome.h"

#define MTU	  256u
#define START_PSN 0xfffffeu /* everything crosses the wrap */
#define PEER_QPN  0x40123u
#define PACKETS	  512
#define MEMORY	  65536u
#define QKEY	  0x11111u
#define ALL	  (RVT_ACCESS_REMOTE_WRITE | RVT_ACCESS_REMOTE_READ | RVT_ACCESS_REMOTE_ATOMIC)

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
	unsigned count, seen;
	unsigned room;
	uint8_t *memory;
	unsigned events[32];
	bool unmapped;
	uint32_t dest_rd_atomic;
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
	if (w.unmapped)
		return -EFAULT;
	memcpy(to, (const void *)(uintptr_t)from, length);
	return 0;
}

static int memory_write(uint64_t to, const void *from, size_t length)
{
	if (w.unmapped)
		return -EFAULT;
	memcpy((void *)(uintptr_t)to, from, length);
	return 0;
}

static int memory_swap(uint64_t address, uint64_t compare, uint64_t swap, uint64_t *original)
{
	uint64_t *word = (uint64_t *)(uintptr_t)address;

	if (w.unmapped)
		return -EFAULT;
	*original = *word;
	if (*word == compare)
		*word = swap;
	return 0;
}

static int memory_add(uint64_t address, uint64_t add, uint64_t *original)
{
	uint64_t *word = (uint64_t *)(uintptr_t)address;

	if (w.unmapped)
		return -EFAULT;
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
	w.events[event]++;
}

static void cause(void *context, enum rvt_verdict verdict, struct restrack_entry *object,
		  uint64_t value1, uint64_t value2)
{
	(void)context, (void)verdict, (void)object, (void)value1, (void)value2;
}

static const struct rvt_observer observer = { cq_event, async_event, cause, NULL };

static int resolve(void *context, struct roce_flow *flow, uint32_t source, uint32_t destination)
{
	(void)context, (void)source, (void)destination;
	flow->source_port = 0xc123;
	flow->trusted = true;
	return 0;
}

static uint8_t *reserve(void *context, const struct roce_flow *flow, uint32_t qpn, size_t length,
			uint16_t *ipv4_id)
{
	(void)context, (void)flow, (void)qpn;
	if (!w.room)
		return NULL;
	assert_true(w.count < PACKETS && length <= ROCE_MAX_PACKET);
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

static const struct roce_transmit_ops transmit_ops = { resolve, reserve, commit, cancel, NULL };

static struct gid ipv4(uint8_t last)
{
	struct gid gid = { { [10] = 0xff, [11] = 0xff, [12] = 10, [15] = last } };

	return gid;
}

static void modify(struct rvt_qp_attr *attr, enum rvt_qp_state state, uint32_t mask)
{
	attr->qp_state = state;
	assert_int_equal(rvt_modify_qp(w.qp, attr, RVT_QP_STATE | mask), 0);
}

static void create_qp(enum rvt_qp_type type, uint32_t access, bool rts)
{
	struct rvt_qp_init init = {
		.type = type,
		.send_cq = w.cq,
		.recv_cq = w.cq,
		.cap = { 16, 16, 4, 4, 64 },
	};
	struct rvt_qp_attr attr = {
		.port_num = 1,
		.path_mtu = RVT_MTU_256,
		.dest_qp_num = PEER_QPN,
		.rq_psn = START_PSN,
		.qkey = QKEY,
		.qp_access_flags = access,
		.ah_attr = { .is_global = true, .dgid = ipv4(2), .port_num = 1 },
		.max_rd_atomic = 2,
		.max_dest_rd_atomic = (uint8_t)w.dest_rd_atomic,
		.min_rnr_timer = 9,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
	};
	bool rc = type == RVT_QPT_RC;

	if (w.qp)
		assert_int_equal(rvt_destroy_qp(w.qp), 0);
	assert_int_equal(rvt_create_qp(w.pd, &init, &w.qp), 0);
	if (type == RVT_QPT_UD) {
		modify(&attr, RVT_QPS_INIT, RVT_QP_PKEY_INDEX | RVT_QP_PORT | RVT_QP_QKEY);
		modify(&attr, RVT_QPS_RTR, 0);
		modify(&attr, RVT_QPS_RTS, RVT_QP_SQ_PSN);
		return;
	}
	modify(&attr, RVT_QPS_INIT, RVT_QP_PKEY_INDEX | RVT_QP_PORT | RVT_QP_ACCESS_FLAGS);
	modify(&attr, RVT_QPS_RTR,
	       RVT_QP_AV | RVT_QP_PATH_MTU | RVT_QP_DEST_QPN | RVT_QP_RQ_PSN |
		       (rc ? RVT_QP_MAX_DEST_RD_ATOMIC | RVT_QP_MIN_RNR_TIMER : 0u));
	if (rts)
		modify(&attr, RVT_QPS_RTS,
		       RVT_QP_SQ_PSN | (rc ? RVT_QP_TIMEOUT | RVT_QP_RETRY_CNT | RVT_QP_RNR_RETRY |
							RVT_QP_MAX_QP_RD_ATOMIC
					   : 0u));
}

static void reg(uint32_t access)
{
	assert_int_equal(rvt_reg_mr(w.pd, (uintptr_t)w.memory, MEMORY, 0x10000, access, &w.mr), 0);
}

static void pattern(void)
{
	for (uint32_t i = 0; i < MEMORY; i++)
		w.memory[i] = (uint8_t)(i * 31 + (i >> 8));
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
	w.memory = aligned_alloc(4096, MEMORY);
	w.room = PACKETS;
	w.dest_rd_atomic = 3;
	pattern();
	w.port = (struct rvt_port){ .name = "test", .up = true };
	w.port.active_mtu = w.port.max_mtu = RVT_MTU_1024;
	w.port.gids[0] = ipv4(1);
	assert_int_equal(restrack_init(&w.restrack, &heap, NULL), 0);
	assert_int_equal(rvt_device_init(&w.device, &config), 0);
	roce_engine_init(&w.engine, &roce);
	w.device.now_ns = 1000000000;
	assert_int_equal(rvt_context_open(&w.device, &w.port, &w.context), 0);
	assert_int_equal(rvt_alloc_pd(w.context, &w.pd), 0);
	assert_int_equal(rvt_create_cq(w.context, 64, &w.cq), 0);
	reg(RVT_ACCESS_LOCAL_WRITE | ALL);
	create_qp(RVT_QPT_RC, ALL, true);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	assert_int_equal(rvt_destroy_qp(w.qp), 0);
	if (w.mr)
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

static uint32_t at(uint32_t offset)
{
	return (START_PSN + offset) & 0xffffff;
}

static void run(void)
{
	for (unsigned i = 0; roce_engine_run(&w.engine, 64); i++)
		assert_true(i < 1000);
}

static void deliver(struct packet *packet, const void *payload, uint32_t length)
{
	uint8_t bytes[ROCE_MAX_PACKET] = { 0 };
	size_t headers;
	struct roce_datagram datagram = {
		.source = ipv4(2),
		.destination = ipv4(1),
		.source_port = 0xc000,
		.hop_limit = 64,
		.trusted = true,
		.data = bytes,
	};

	packet->dest_qpn = w.qp->number;
	packet->pkey = 0xffff;
	packet->pad = (uint8_t)(-length & 3);
	headers = packet_write_headers(packet, bytes);
	if (payload)
		memcpy(bytes + headers, payload, length);
	datagram.length = headers + length + packet->pad + 4;
	roce_receive(&w.engine, &datagram);
	run();
}

/* A request that asks for an ACK. */
static void request(uint8_t opcode, uint32_t psn, uint32_t length)
{
	struct packet packet = { .opcode = opcode, .psn = psn, .ack_req = true };

	if (w.qp->type == RVT_QPT_UC)
		packet.opcode |= OPCODE_UC;
	packet.immediate = 0x04030201;
	packet.ieth = w.mr ? w.mr->key : 0;
	deliver(&packet, w.memory + 32768, length);
}

static void rdma(uint8_t opcode, uint32_t psn, uint64_t va, uint32_t total, uint32_t length)
{
	struct packet packet = { .opcode = opcode, .psn = psn, .ack_req = true };

	if (w.qp->type == RVT_QPT_UC)
		packet.opcode |= OPCODE_UC;
	packet.immediate = 0x04030201;
	packet.reth.va = va;
	packet.reth.rkey = w.mr ? w.mr->key : 0x1234;
	packet.reth.length = total;
	deliver(&packet, w.memory + 32768, length);
}

static void atomic(uint8_t opcode, uint32_t psn, uint64_t va, uint64_t swap_add, uint64_t compare)
{
	struct packet packet = { .opcode = opcode, .psn = psn, .ack_req = true };

	packet.atomic.va = va;
	packet.atomic.rkey = w.mr->key;
	packet.atomic.swap_add = swap_add;
	packet.atomic.compare = compare;
	deliver(&packet, NULL, 0);
}

static void flush(void)
{
	roce_engine_flush_acks(&w.engine);
	run();
}

static const struct packet *next(uint8_t opcode, uint32_t psn)
{
	const struct packet *packet;

	assert_true(w.seen < w.count);
	packet = &w.sent[w.seen++].packet;
	assert_int_equal(packet->opcode, opcode);
	assert_int_equal(packet->psn, psn);
	assert_int_equal(packet->dest_qpn, PEER_QPN);
	assert_false(packet->ack_req);
	return packet;
}

static void acknowledge(uint8_t syndrome, uint32_t psn, uint32_t msn)
{
	const struct packet *packet = next(OPCODE_RC_ACKNOWLEDGE, psn);

	assert_int_equal(packet->aeth.syndrome, syndrome);
	assert_int_equal(packet->aeth.msn, msn);
}

static void data(uint8_t opcode, uint32_t psn, uint32_t offset, uint32_t length)
{
	const struct packet *packet = next(opcode, psn);

	assert_int_equal(packet->payload_length, length);
	assert_memory_equal(packet->payload, w.memory + offset, length);
}

static void silence(void)
{
	assert_int_equal(w.seen, w.count);
}

static void refused(uint8_t syndrome, uint32_t psn)
{
	assert_int_equal(next(OPCODE_RC_ACKNOWLEDGE, psn)->aeth.syndrome, syndrome);
	silence();
	assert_int_equal(w.qp->state, RVT_QPS_ERR);
}

static void receive(uint32_t length, uint64_t id)
{
	struct rvt_sge sge = { 0x10000, length, w.mr->key };
	struct rvt_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 };

	assert_int_equal(rvt_post_recv(w.qp, &wr), 0);
}

static struct rvt_wc completion(uint64_t id, enum rvt_wc_status status)
{
	struct rvt_wc wc;

	assert_int_equal(rvt_poll_cq(w.cq, 1, &wc), 1);
	assert_int_equal(wc.wr_id, id);
	assert_int_equal(wc.status, status);
	return wc;
}

static void no_completion(void)
{
	assert_int_equal(rvt_cq_entries(w.cq), 0);
}

static void sends(void **state)
{
	struct rvt_wc wc;

	(void)state;
	receive(1000, 1);
	receive(0, 2);
	request(OPCODE_RC_SEND_FIRST, at(0), MTU);
	request(OPCODE_RC_SEND_MIDDLE, at(1), MTU);
	no_completion();
	request(OPCODE_RC_SEND_LAST_IMM, at(2), 3);
	request(OPCODE_RC_SEND_ONLY, at(3), 0);
	silence(); /* acknowledgements wait for each other */
	wc = completion(1, RVT_WC_SUCCESS);
	assert_int_equal(wc.opcode, RVT_WC_RECV);
	assert_int_equal(wc.byte_len, 2 * MTU + 3);
	assert_int_equal(wc.wc_flags, RVT_WC_WITH_IMM);
	assert_int_equal(wc.imm_data, 0x04030201);
	assert_memory_equal(w.memory, w.memory + 32768, MTU);
	assert_memory_equal(w.memory + MTU, w.memory + 32768, MTU);
	assert_int_equal(completion(2, RVT_WC_SUCCESS).byte_len, 0);
	flush();
	acknowledge(SYNDROME_ACK, at(3), 2);
	flush();
	silence();
}

static void writes(void **state)
{
	struct rvt_wc wc;

	(void)state;
	rdma(OPCODE_RC_WRITE_FIRST, at(0), 0x10010, MTU + 5, MTU);
	request(OPCODE_RC_WRITE_LAST, at(1), 5);
	assert_memory_equal(w.memory + 16, w.memory + 32768, MTU);
	assert_memory_equal(w.memory + 16 + MTU, w.memory + 32768, 5);
	flush();
	acknowledge(SYNDROME_ACK, at(1), 1);
	no_completion();
	receive(0, 7);
	rdma(OPCODE_RC_WRITE_ONLY_IMM, at(2), 0x10000, 10, 10);
	wc = completion(7, RVT_WC_SUCCESS);
	assert_int_equal(wc.opcode, RVT_WC_RECV_RDMA_WITH_IMM);
	assert_int_equal(wc.byte_len, 10);
	assert_int_equal(to_roce_qp(w.qp)->responder.mr == NULL, true);
	assert_int_equal(w.mr->references, 1);
}

static void zero_length_needs_no_key(void **state)
{
	(void)state;
	assert_int_equal(rvt_dereg_mr(w.mr), 0);
	w.mr = NULL;
	rdma(OPCODE_RC_WRITE_ONLY, at(0), 0x99, 0, 0);
	rdma(OPCODE_RC_READ_REQUEST, at(1), 0x99, 0, 0);
	acknowledge(SYNDROME_ACK, at(0), 2);
	assert_int_equal(next(OPCODE_RC_READ_RESPONSE_ONLY, at(1))->payload_length, 0);
	rdma(OPCODE_RC_READ_REQUEST, at(1), 0x99, 0, 0); /* again */
	next(OPCODE_RC_READ_RESPONSE_ONLY, at(1));
	silence();
}

static void receiver_not_ready(void **state)
{
	(void)state;
	request(OPCODE_RC_SEND_ONLY, at(0), 4);
	acknowledge(SYNDROME_RNR | 9, at(0), 0);
	request(OPCODE_RC_SEND_ONLY, at(1), 4); /* was on its way */
	silence();
	request(OPCODE_RC_SEND_ONLY, at(0), 4);
	acknowledge(SYNDROME_RNR | 9, at(0), 0);
	receive(4, 1);
	request(OPCODE_RC_SEND_ONLY, at(0), 4);
	completion(1, RVT_WC_SUCCESS);
	flush();
	acknowledge(SYNDROME_ACK, at(0), 1);
	/* A WRITE with immediate needs one only at its end. */
	rdma(OPCODE_RC_WRITE_FIRST, at(1), 0x10000, 2 * MTU, MTU);
	request(OPCODE_RC_WRITE_LAST_IMM, at(2), MTU);
	acknowledge(SYNDROME_RNR | 9, at(2), 1);
	receive(4, 2);
	request(OPCODE_RC_WRITE_LAST_IMM, at(2), MTU);
	assert_int_equal(completion(2, RVT_WC_SUCCESS).byte_len, 2 * MTU);
	assert_int_equal(w.counters[RVT_COUNT_send_rnr_err], 3);
}

static void one_nak_for_a_gap(void **state)
{
	struct packet quiet = { .opcode = OPCODE_RC_SEND_ONLY, .psn = at(0) };

	(void)state;
	for (uint64_t i = 0; i < 4; i++)
		receive(4, i);
	request(OPCODE_RC_SEND_ONLY, at(0), 4);
	request(OPCODE_RC_SEND_ONLY, at(2), 4);
	acknowledge(SYNDROME_NAK_SEQUENCE, at(1), 1);
	request(OPCODE_RC_SEND_ONLY, at(3), 4);
	silence();
	flush(); /* the NAK said it */
	silence();
	request(OPCODE_RC_SEND_ONLY, at(0), 4); /* again: acknowledged, not executed */
	flush();
	acknowledge(SYNDROME_ACK, at(0), 1);
	request(OPCODE_RC_SEND_ONLY, at(2), 4); /* and the gap is told anew */
	acknowledge(SYNDROME_NAK_SEQUENCE, at(1), 1);
	deliver(&quiet, NULL, 0);
	flush();
	silence();
	request(OPCODE_RC_SEND_ONLY, at(1), 4);
	flush();
	acknowledge(SYNDROME_ACK, at(1), 2);
	completion(0, RVT_WC_SUCCESS);
	completion(1, RVT_WC_SUCCESS);
	no_completion();
}

static void answers_in_order(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 3; i++)
		receive(4, i);
	request(OPCODE_RC_SEND_ONLY, at(0), 4);
	w.room = 2;
	pattern();
	rdma(OPCODE_RC_READ_REQUEST, at(1), 0x10020, 3 * MTU + 8, 0);
	request(OPCODE_RC_SEND_ONLY, at(5), 0);
	flush();
	request(OPCODE_RC_SEND_ONLY, at(7), 0); /* a gap behind */
	acknowledge(SYNDROME_ACK, at(0), 2);
	data(OPCODE_RC_READ_RESPONSE_FIRST, at(1), 0x20, MTU);
	silence();
	w.room = 100;
	run();
	data(OPCODE_RC_READ_RESPONSE_MIDDLE, at(2), 0x20 + MTU, MTU);
	data(OPCODE_RC_READ_RESPONSE_MIDDLE, at(3), 0x20 + 2 * MTU, MTU);
	data(OPCODE_RC_READ_RESPONSE_LAST, at(4), 0x20 + 3 * MTU, 8);
	acknowledge(SYNDROME_NAK_SEQUENCE, at(6), 3);
	silence();
	request(OPCODE_RC_SEND_ONLY, at(6), 0);
	flush();
	acknowledge(SYNDROME_ACK, at(6), 4);
	assert_int_equal(w.mr->references, 1);
}

static void read_again(void **state)
{
	(void)state;
	rdma(OPCODE_RC_READ_REQUEST, at(0), 0x10000, 3 * MTU, 0);
	data(OPCODE_RC_READ_RESPONSE_FIRST, at(0), 0, MTU);
	w.seen = w.count;
	w.memory[MTU] ^= 1; /* memory is read again */
	rdma(OPCODE_RC_READ_REQUEST, at(1), 0x10000 + MTU, 2 * MTU, 0);
	data(OPCODE_RC_READ_RESPONSE_FIRST, at(1), MTU, MTU);
	data(OPCODE_RC_READ_RESPONSE_LAST, at(2), 2 * MTU, MTU);
	/* Not what was asked before. */
	rdma(OPCODE_RC_READ_REQUEST, at(1), 0x10000, 2 * MTU, 0);
	rdma(OPCODE_RC_READ_REQUEST, at(1), 0x10000 + MTU, MTU, 0);
	rdma(OPCODE_RC_READ_REQUEST, at(0), 0x10000, 3 * MTU + 1, 0);
	silence();
	assert_int_equal(w.counters[RVT_COUNT_drop_stale], 3);
	/* Three newer ones: it is forgotten. */
	for (uint32_t i = 0; i < 3; i++)
		rdma(OPCODE_RC_READ_REQUEST, at(3 + i), 0x10000, 1, 0);
	w.seen = w.count;
	rdma(OPCODE_RC_READ_REQUEST, at(0), 0x10000, 3 * MTU, 0);
	silence();
	assert_int_equal(w.qp->state, RVT_QPS_RTS);
	assert_int_equal(to_roce_qp(w.qp)->responder.psn, at(6));
}

/* Asked again while it is answered: the answer begins again from there. */
static void read_interrupted(void **state)
{
	(void)state;
	w.room = 3;
	rdma(OPCODE_RC_READ_REQUEST, at(0), 0x10000, 4 * MTU, 0);
	rdma(OPCODE_RC_READ_REQUEST, at(4), 0x10000, 1, 0);
	w.seen = w.count;
	rdma(OPCODE_RC_READ_REQUEST, at(1), 0x10000 + MTU, 3 * MTU, 0);
	w.room = 100;
	run();
	data(OPCODE_RC_READ_RESPONSE_FIRST, at(1), MTU, MTU);
	data(OPCODE_RC_READ_RESPONSE_MIDDLE, at(2), 2 * MTU, MTU);
	data(OPCODE_RC_READ_RESPONSE_LAST, at(3), 3 * MTU, MTU);
	data(OPCODE_RC_READ_RESPONSE_ONLY, at(4), 0, 1);
	silence();
	assert_int_equal(w.mr->references, 1);
}

/* How a region can change while a READ of it is being answered, or before it is asked for again. */
static void change(unsigned how)
{
	struct rvt_pd *pd;

	switch (how) {
	case 0:
		assert_int_equal(rvt_dereg_mr(w.mr), 0);
		w.mr = NULL;
		break;
	case 1: /* other range, which still holds what is asked */
		assert_int_equal(rvt_rereg_mr(w.mr, RVT_REREG_TRANSLATION, NULL,
					      (uintptr_t)w.memory, 32768, 0),
				 0);
		break;
	case 2: /* other rights, which would do */
		assert_int_equal(
			rvt_rereg_mr(w.mr, RVT_REREG_ACCESS, NULL, 0, 0, RVT_ACCESS_REMOTE_READ),
			0);
		break;
	case 3:
		assert_int_equal(
			rvt_rereg_mr(w.mr, RVT_REREG_ACCESS, NULL, 0, 0, RVT_ACCESS_LOCAL_WRITE),
			0);
		break;
	case 4:
		assert_int_equal(rvt_alloc_pd(w.context, &pd), 0);
		assert_int_equal(rvt_rereg_mr(w.mr, RVT_REREG_PD, pd, 0, 0, 0), 0);
		break;
	default:
		w.unmapped = true;
		break;
	}
}

static void restore(void)
{
	struct rvt_pd *pd = w.mr ? w.mr->pd : NULL;

	w.unmapped = false;
	if (w.mr)
		assert_int_equal(rvt_dereg_mr(w.mr), 0);
	if (pd && pd != w.pd)
		assert_int_equal(rvt_dealloc_pd(pd), 0);
	reg(RVT_ACCESS_LOCAL_WRITE | ALL);
}

static void region_changes_under_read(void **state)
{
	(void)state;
	for (unsigned how = 0; how < 6; how++) {
		w.room = 2;
		rdma(OPCODE_RC_READ_REQUEST, at(0), 0x10000, 4 * MTU, 0);
		w.seen = w.count;
		change(how);
		w.room = 100;
		run();
		refused(SYNDROME_NAK_REMOTE_ACCESS, at(2));
		assert_int_equal(w.events[RVT_EVENT_QP_ACCESS_ERR], how + 1);
		restore();
		create_qp(RVT_QPT_RC, ALL, true);
	}
}

static void region_changes_before_read_again(void **state)
{
	(void)state;
	for (unsigned how = 0; how < 6; how++) {
		struct packet again = { .opcode = OPCODE_RC_READ_REQUEST, .psn = at(0) };

		again.reth.va = 0x10000;
		again.reth.rkey = w.mr->key;
		again.reth.length = 2 * MTU;
		deliver(&again, NULL, 0);
		rdma(OPCODE_RC_READ_REQUEST, at(2), 0x10000, 1, 0);
		w.seen = w.count;
		change(how);
		deliver(&again, NULL, 0);
		assert_int_equal(next(OPCODE_RC_ACKNOWLEDGE, at(0))->aeth.syndrome,
				 SYNDROME_NAK_REMOTE_ACCESS);
		silence();
		/* Perhaps nobody waits for it any more: the QP lives on, the READ is forgotten. */
		assert_int_equal(w.qp->state, RVT_QPS_RTS);
		deliver(&again, NULL, 0);
		silence();
		rdma(OPCODE_RC_WRITE_ONLY, at(3), 0, 0, 0);
		flush();
		acknowledge(SYNDROME_ACK, at(3), 3);
		restore();
		create_qp(RVT_QPT_RC, ALL, true);
	}
}

static void atomics(void **state)
{
	uint64_t *word = (uint64_t *)(void *)w.memory;

	(void)state;
	*word = 40;
	atomic(OPCODE_RC_FETCH_ADD, at(0), 0x10000, 2, 0);
	assert_int_equal(next(OPCODE_RC_ATOMIC_ACK, at(0))->atomic_ack, 40);
	assert_int_equal(*word, 42);
	atomic(OPCODE_RC_FETCH_ADD, at(0), 0x10000, 2, 0); /* again */
	assert_int_equal(next(OPCODE_RC_ATOMIC_ACK, at(0))->atomic_ack, 40);
	assert_int_equal(*word, 42);
	atomic(OPCODE_RC_CMP_SWAP, at(1), 0x10000, 7, 41);
	assert_int_equal(next(OPCODE_RC_ATOMIC_ACK, at(1))->atomic_ack, 42);
	assert_int_equal(*word, 42);
	atomic(OPCODE_RC_CMP_SWAP, at(2), 0x10000, 7, 42);
	assert_int_equal(next(OPCODE_RC_ATOMIC_ACK, at(2))->atomic_ack, 42);
	assert_int_equal(*word, 7);
	atomic(OPCODE_RC_CMP_SWAP, at(1), 0x10000, 7, 41);
	assert_int_equal(next(OPCODE_RC_ATOMIC_ACK, at(1))->atomic_ack, 42);
	silence();
	atomic(OPCODE_RC_FETCH_ADD, at(3), 0x10004, 2, 0);
	refused(SYNDROME_NAK_INVALID_REQUEST, at(3));
}

static void rights(void **state)
{
	static const uint8_t opcodes[] = { OPCODE_RC_WRITE_ONLY, OPCODE_RC_READ_REQUEST,
					   OPCODE_RC_FETCH_ADD };

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		uint8_t opcode = opcodes[i / 2];

		/* The QP's rights, then the region's. */
		if (i % 2)
			assert_int_equal(rvt_rereg_mr(w.mr, RVT_REREG_ACCESS, NULL, 0, 0,
						      RVT_ACCESS_LOCAL_WRITE),
					 0);
		create_qp(RVT_QPT_RC, i % 2 ? ALL : 0, true);
		if (opcode == OPCODE_RC_FETCH_ADD)
			atomic(opcode, at(0), 0x10000, 1, 0);
		else
			rdma(opcode, at(0), 0x10000, 4, opcode == OPCODE_RC_WRITE_ONLY ? 4 : 0);
		refused(i % 2 ? SYNDROME_NAK_REMOTE_ACCESS : SYNDROME_NAK_INVALID_REQUEST, at(0));
		restore();
	}
	assert_int_equal(w.events[RVT_EVENT_QP_REQ_ERR], 3);
	assert_int_equal(w.events[RVT_EVENT_QP_ACCESS_ERR], 3);
}

static void ranges(void **state)
{
	static const struct {
		uint64_t va;
		uint32_t length;
	} bad[] = { { 0xffff, 2 }, { 0x10000 + MEMORY - 1, 2 }, { UINT64_MAX, 2 }, { 0, 1 } };

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		create_qp(RVT_QPT_RC, ALL, true);
		rdma(OPCODE_RC_WRITE_ONLY, at(0), bad[i].va, bad[i].length, bad[i].length);
		refused(SYNDROME_NAK_REMOTE_ACCESS, at(0));
		create_qp(RVT_QPT_RC, ALL, true);
		rdma(OPCODE_RC_READ_REQUEST, at(0), bad[i].va, bad[i].length, 0);
		refused(SYNDROME_NAK_REMOTE_ACCESS, at(0));
	}
	rdma(OPCODE_RC_WRITE_ONLY, at(1), 0x10000, 1, 1); /* in ERR */
	silence();
}

static void lengths(void **state)
{
	static const struct {
		uint8_t opcode;
		uint32_t length, total;
	} bad[] = {
		{ OPCODE_RC_SEND_FIRST, MTU - 4, 0 },
		{ OPCODE_RC_SEND_FIRST, MTU + 4, 0 },
		{ OPCODE_RC_SEND_FIRST, 0, 0 },
		{ OPCODE_RC_SEND_ONLY, MTU + 1, 0 },
		{ OPCODE_RC_WRITE_FIRST, MTU - 1, MTU + 1 },
		{ OPCODE_RC_WRITE_FIRST, MTU, MTU },
		{ OPCODE_RC_WRITE_FIRST, MTU, 0 },
		{ OPCODE_RC_WRITE_ONLY, 8, 9 },
		{ OPCODE_RC_WRITE_ONLY, 8, 7 },
		{ OPCODE_RC_WRITE_ONLY, 8, 0 },
		{ OPCODE_RC_WRITE_ONLY, 0, 8 },
		{ OPCODE_RC_WRITE_ONLY, MTU + 4, MTU + 4 },
		{ OPCODE_RC_WRITE_ONLY_IMM, 8, 9 },
		{ OPCODE_RC_READ_REQUEST, 0, 0x80000001 },
		{ OPCODE_RC_WRITE_FIRST, MTU, 0x80000001 },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct rvt_wc wc;

		create_qp(RVT_QPT_RC, ALL, true);
		receive(1000, 1);
		rdma(bad[i].opcode, at(0), 0x10000, bad[i].total, bad[i].length);
		refused(SYNDROME_NAK_INVALID_REQUEST, at(0));
		assert_int_equal(rvt_poll_cq(w.cq, 1, &wc), 1);
	}
	/* LAST of a wrong length, empty or longer than was announced. */
	for (uint32_t i = 0; i < 3; i++) {
		create_qp(RVT_QPT_RC, ALL, true);
		rdma(OPCODE_RC_WRITE_FIRST, at(0), 0x10000, MTU + 8, MTU);
		request(OPCODE_RC_WRITE_LAST, at(1), i * 7);
		refused(SYNDROME_NAK_INVALID_REQUEST, at(1));
		assert_int_equal(w.mr->references, 1);
	}
}

static void sequences(void **state)
{
	static const uint8_t opcodes[] = {
		OPCODE_RC_SEND_FIRST,	OPCODE_RC_SEND_MIDDLE,	  OPCODE_RC_SEND_LAST,
		OPCODE_RC_SEND_ONLY,	OPCODE_RC_SEND_LAST_IMM,  OPCODE_RC_WRITE_FIRST,
		OPCODE_RC_WRITE_MIDDLE, OPCODE_RC_WRITE_LAST,	  OPCODE_RC_WRITE_ONLY,
		OPCODE_RC_READ_REQUEST, OPCODE_RC_WRITE_LAST_IMM,
	};

	(void)state;
	for (unsigned first = 0; first < 3; first++) {
		for (unsigned i = 0; i < sizeof(opcodes); i++) {
			const struct opcode_info *info = opcode_info(opcodes[i]);
			bool goes_on = info->flags & (OPCODE_MIDDLE | OPCODE_LAST);
			bool legal = first == 0 ? !goes_on
						: goes_on && info->operation ==
								     (first == 1 ? OPERATION_SEND
										 : OPERATION_WRITE);
			bool part = info->flags & (OPCODE_FIRST | OPCODE_MIDDLE);
			uint32_t psn = first ? 1 : 0, length = part ? MTU : 8;

			create_qp(RVT_QPT_RC, ALL, true);
			rvt_cq_clean(w.cq, w.qp->number);
			receive(10 * MTU, 1);
			if (first == 1)
				request(OPCODE_RC_SEND_FIRST, at(0), MTU);
			if (first == 2)
				rdma(OPCODE_RC_WRITE_FIRST, at(0), 0x10000,
				     part ? 4 * MTU : MTU + 8, MTU);
			w.seen = w.count;
			if (opcodes[i] == OPCODE_RC_READ_REQUEST)
				length = 0;
			rdma(opcodes[i], at(psn), 0x10000,
			     opcodes[i] == OPCODE_RC_WRITE_FIRST ? 2 * MTU : 8, length);
			if (legal) {
				assert_int_equal(w.qp->state, RVT_QPS_RTS);
				w.seen = w.count;
			} else {
				refused(SYNDROME_NAK_INVALID_REQUEST, at(psn));
			}
			rvt_cq_clean(w.cq, w.qp->number);
		}
	}
}

static void resources(void **state)
{
	(void)state;
	w.room = 1;
	for (uint32_t i = 0; i < 3; i++)
		rdma(OPCODE_RC_READ_REQUEST, at(2 * i), 0x10000, 2 * MTU, 0);
	rdma(OPCODE_RC_READ_REQUEST, at(6), 0x10000, 1, 0);
	assert_int_equal(w.qp->state, RVT_QPS_RTS); /* the NAK is to come */
	w.room = 100;
	run();
	for (uint32_t i = 0; i < 3; i++) {
		next(OPCODE_RC_READ_RESPONSE_FIRST, at(2 * i));
		next(OPCODE_RC_READ_RESPONSE_LAST, at(2 * i + 1));
	}
	refused(SYNDROME_NAK_INVALID_REQUEST, at(6));
	w.dest_rd_atomic = 0;
	create_qp(RVT_QPT_RC, ALL, true);
	rdma(OPCODE_RC_READ_REQUEST, at(0), 0x10000, 1, 0);
	refused(SYNDROME_NAK_INVALID_REQUEST, at(0));
}

/* A late copy of an old READ must not cost a new one its place. */
static void late_copy_gives_way(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		rdma(OPCODE_RC_READ_REQUEST, at(i), 0x10000 + i, 1, 0);
	w.seen = w.count;
	w.room = 0;
	rdma(OPCODE_RC_READ_REQUEST, at(0), 0x10000, 1, 0);
	rdma(OPCODE_RC_READ_REQUEST, at(3), 0x10003, 1, 0);
	w.room = 10;
	run();
	data(OPCODE_RC_READ_RESPONSE_ONLY, at(3), 3, 1);
	silence();
	/* Oldest first, also when asked in another order. */
	w.room = 0;
	rdma(OPCODE_RC_READ_REQUEST, at(2), 0x10002, 1, 0);
	rdma(OPCODE_RC_READ_REQUEST, at(1), 0x10001, 1, 0);
	w.room = 10;
	run();
	data(OPCODE_RC_READ_RESPONSE_ONLY, at(1), 1, 1);
	data(OPCODE_RC_READ_RESPONSE_ONLY, at(2), 2, 1);
	silence();
}

static void receives_that_fail(void **state)
{
	(void)state;
	receive(MTU + 8, 1);
	receive(100, 2);
	request(OPCODE_RC_SEND_FIRST, at(0), MTU);
	request(OPCODE_RC_SEND_LAST, at(1), 9);
	refused(SYNDROME_NAK_INVALID_REQUEST, at(1));
	completion(1, RVT_WC_LOC_LEN_ERR);
	completion(2, RVT_WC_WR_FLUSH_ERR);

	create_qp(RVT_QPT_RC, ALL, true);
	receive(100, 3);
	restore(); /* the key that was posted is gone */
	request(OPCODE_RC_SEND_ONLY, at(0), 9);
	refused(SYNDROME_NAK_REMOTE_OPERATIONAL, at(0));
	completion(3, RVT_WC_LOC_PROT_ERR);

	create_qp(RVT_QPT_RC, ALL, true);
	receive(1000, 4);
	request(OPCODE_RC_SEND_FIRST, at(0), MTU);
	restore();
	request(OPCODE_RC_SEND_LAST, at(1), 9);
	refused(SYNDROME_NAK_REMOTE_OPERATIONAL, at(1));
	completion(4, RVT_WC_LOC_PROT_ERR);

	create_qp(RVT_QPT_RC, ALL, true);
	receive(1000, 5);
	request(OPCODE_RC_SEND_ONLY_INV, at(0), 9);
	refused(SYNDROME_NAK_REMOTE_ACCESS, at(0));
	completion(5, RVT_WC_LOC_ACCESS_ERR);
	no_completion();
}

static void region_changes_under_write(void **state)
{
	(void)state;
	for (unsigned how = 0; how < 6; how++) {
		rdma(OPCODE_RC_WRITE_FIRST, at(0), 0x10000, 2 * MTU, MTU);
		change(how);
		memset(w.memory + MTU, 0x77, MTU);
		request(OPCODE_RC_WRITE_LAST, at(1), MTU);
		refused(SYNDROME_NAK_REMOTE_ACCESS, at(1));
		assert_int_equal(w.memory[MTU], 0x77);
		restore();
		create_qp(RVT_QPT_RC, ALL, true);
	}
}

/* The NAK leaves before the QP goes to error, however full the link is. */
static void nak_waits_for_link(void **state)
{
	(void)state;
	receive(4, 1);
	w.room = 0;
	request(OPCODE_RC_SEND_ONLY, at(0), 8);
	no_completion();
	request(OPCODE_RC_SEND_ONLY, at(0), 4); /* too late */
	request(OPCODE_RC_SEND_ONLY, at(1), 4);
	assert_int_equal(w.qp->state, RVT_QPS_RTS);
	w.room = 10;
	run();
	refused(SYNDROME_NAK_INVALID_REQUEST, at(0));
	completion(1, RVT_WC_LOC_LEN_ERR);
	no_completion();
}

static void established(void **state)
{
	(void)state;
	create_qp(RVT_QPT_RC, ALL, false);
	rdma(OPCODE_RC_READ_REQUEST, at(0), 0x10000, 1, 0);
	rdma(OPCODE_RC_READ_REQUEST, at(1), 0x10000, 1, 0);
	next(OPCODE_RC_READ_RESPONSE_ONLY, at(0));
	next(OPCODE_RC_READ_RESPONSE_ONLY, at(1));
	assert_int_equal(w.events[RVT_EVENT_COMM_EST], 1);
}

static void unreliable(void **state)
{
	(void)state;
	create_qp(RVT_QPT_UC, ALL, true);
	receive(3 * MTU, 1);
	receive(3 * MTU, 2);
	request(OPCODE_RC_SEND_FIRST, at(0), MTU);
	request(OPCODE_RC_SEND_LAST, at(2), 8); /* the middle was lost */
	no_completion();
	request(OPCODE_RC_SEND_ONLY, at(3), 8);
	assert_int_equal(completion(1, RVT_WC_SUCCESS).byte_len, 8);
	request(OPCODE_RC_SEND_ONLY, at(3), 8); /* copies */
	request(OPCODE_RC_SEND_ONLY, at(2), 8);
	no_completion();
	request(OPCODE_RC_SEND_FIRST, at(4), MTU);
	request(OPCODE_RC_SEND_FIRST, at(5), MTU); /* instead of the rest */
	request(OPCODE_RC_SEND_LAST, at(6), 7);
	assert_int_equal(completion(2, RVT_WC_SUCCESS).byte_len, MTU + 7);
	request(OPCODE_RC_SEND_ONLY, at(7), 8); /* no receive */
	receive(4, 3);
	request(OPCODE_RC_SEND_ONLY, at(8), 8); /* too long */
	request(OPCODE_RC_SEND_ONLY, at(9), 4);
	assert_int_equal(completion(3, RVT_WC_SUCCESS).byte_len, 4);
	rdma(OPCODE_RC_WRITE_ONLY, at(10), 0, 4, 4); /* bad address */
	rdma(OPCODE_RC_WRITE_ONLY, at(11), 0x10000, 4, 4);
	assert_memory_equal(w.memory, w.memory + 32768, 4);
	rdma(OPCODE_RC_READ_REQUEST, at(12), 0x10000, 4, 0);
	silence();
	no_completion();
	assert_int_equal(w.qp->state, RVT_QPS_RTS);
}

static void datagrams(void **state)
{
	struct packet packet = { .opcode = OPCODE_UD_SEND_ONLY_IMM, .solicited = true };
	struct rvt_ah_attr attr = { .is_global = true, .dgid = ipv4(2), .port_num = 1 };
	struct rvt_sge sge = { 0x10000, 9, w.mr->key };
	struct rvt_send_wr wr = {
		.wr_id = 5,
		.opcode = RVT_WR_SEND_WITH_IMM,
		.send_flags = RVT_SEND_SIGNALED | RVT_SEND_SOLICITED,
		.sg_list = &sge,
		.num_sge = 1,
		.imm_data = 0x55,
		.remote_qpn = PEER_QPN,
		.remote_qkey = 0x80000000u,
	};
	const struct packet *sent;
	struct rvt_wc wc;

	(void)state;
	create_qp(RVT_QPT_UD, 0, true);
	packet.deth.qkey = QKEY;
	packet.deth.src_qpn = 0x765;
	packet.immediate = 0x99;
	deliver(&packet, w.memory, 10); /* no receive */
	receive(49, 1);
	receive(50, 2);
	packet.deth.qkey ^= 1;
	deliver(&packet, w.memory, 9);
	packet.deth.qkey ^= 1;
	deliver(&packet, w.memory + 32768, 10); /* does not fit, and the receive stays */
	no_completion();
	deliver(&packet, w.memory + 32768, 9);
	wc = completion(1, RVT_WC_SUCCESS);
	assert_int_equal(wc.byte_len, 49);
	assert_int_equal(wc.src_qp, 0x765);
	assert_int_equal(wc.wc_flags, RVT_WC_GRH | RVT_WC_WITH_IMM);
	assert_int_equal(wc.imm_data, 0x99);
	assert_true(wc.solicited);
	assert_int_equal(w.memory[20], 0x45);
	assert_memory_equal(w.memory + 40, w.memory + 32768, 9);
	assert_int_equal(w.counters[RVT_COUNT_drop_qkey], 1);
	assert_int_equal(w.counters[RVT_COUNT_drop_receive], 2);

	assert_int_equal(rvt_create_ah(w.pd, &attr, &wr.ah), 0);
	assert_int_equal(rvt_post_send(w.qp, &wr), 0);
	w.room = 0;
	rvt_send_pending(w.qp);
	run();
	no_completion();
	w.room = 10;
	run();
	completion(5, RVT_WC_SUCCESS);
	sent = next(OPCODE_UD_SEND_ONLY_IMM, 0);
	assert_int_equal(sent->deth.qkey, QKEY);
	assert_int_equal(sent->deth.src_qpn, w.qp->number);
	assert_int_equal(sent->immediate, 0x55);
	assert_true(sent->solicited);
	assert_memory_equal(sent->payload, w.memory, 9);
	sge.lkey ^= 1;
	assert_int_equal(rvt_post_send(w.qp, &wr), 0);
	rvt_send_pending(w.qp);
	run();
	completion(5, RVT_WC_LOC_PROT_ERR);
	assert_int_equal(w.qp->state, RVT_QPS_SQE);
	assert_int_equal(rvt_destroy_ah(wr.ah), 0);
}

/* Whatever comes, it is dropped, refused or right. */
static void anything(void **state)
{
	struct random random;

	(void)state;
	random_seed(&random, 12345);
	for (unsigned i = 0; i < 30000; i++) {
		struct packet packet = {
			.opcode = (uint8_t)random_below(&random, 0x20),
			.psn = psn_add(to_roce_qp(w.qp)->responder.psn,
				       random_below(&random, 4) ? 0
								: random_below(&random, 12) - 8),
			.ack_req = random_below(&random, 2),
		};
		uint32_t length = 0;
		const struct opcode_info *info = opcode_info(packet.opcode);
		struct rvt_wc wc;

		if (info->operation == OPERATION_NONE)
			continue;
		packet.reth.va = 0x10000 + random_below(&random, MEMORY);
		packet.reth.length = random_below(&random, 1024);
		packet.reth.rkey = w.mr->key ^ !random_below(&random, 20);
		packet.atomic.va = packet.reth.va & ~7ull;
		packet.atomic.rkey = packet.reth.rkey;
		packet.atomic.swap_add = i;
		if (info->flags & OPCODE_HAS_PAYLOAD)
			length = random_below(&random, 3) ? MTU : random_below(&random, 300);
		if (random_below(&random, 2) && (info->flags & OPCODE_ONLY))
			packet.reth.length = length;
		if (rvt_rq_count(&w.qp->rq) < 10 && random_below(&random, 2))
			receive(random_below(&random, 4096), i);
		w.room = random_below(&random, 10);
		deliver(&packet, w.memory, length);
		if (!random_below(&random, 100))
			restore();
		w.room = 30;
		flush();
		while (rvt_poll_cq(w.cq, 1, &wc) == 1)
			;
		w.count = w.seen = 0;
		if (w.qp->state == RVT_QPS_ERR)
			create_qp(RVT_QPT_RC, ALL, true);
	}
}

static void ring_is_resized(void **state)
{
	struct rvt_qp_attr attr = { .qp_state = RVT_QPS_SQD };

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		rdma(OPCODE_RC_READ_REQUEST, at(i), 0x10000 + i, 1, 0);
	w.seen = w.count;
	modify(&attr, RVT_QPS_SQD, 0);
	attr.max_dest_rd_atomic = 2;
	modify(&attr, RVT_QPS_SQD, RVT_QP_MAX_DEST_RD_ATOMIC);
	rdma(OPCODE_RC_READ_REQUEST, at(0), 0x10000, 1, 0); /* no longer remembered */
	silence();
	attr.max_dest_rd_atomic = 5;
	modify(&attr, RVT_QPS_SQD, RVT_QP_MAX_DEST_RD_ATOMIC);
	for (uint32_t i = 3; i < 6; i++)
		rdma(OPCODE_RC_READ_REQUEST, at(i), 0x10000 + i, 1, 0);
	w.seen = w.count;
	for (uint32_t i = 1; i < 6; i++) {
		rdma(OPCODE_RC_READ_REQUEST, at(i), 0x10000 + i, 1, 0);
		data(OPCODE_RC_READ_RESPONSE_ONLY, at(i), i, 1);
	}
	silence();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sends),
		TEST(writes),
		TEST(zero_length_needs_no_key),
		TEST(receiver_not_ready),
		TEST(one_nak_for_a_gap),
		TEST(answers_in_order),
		TEST(read_again),
		TEST(read_interrupted),
		TEST(region_changes_under_read),
		TEST(region_changes_before_read_again),
		TEST(atomics),
		TEST(rights),
		TEST(ranges),
		TEST(lengths),
		TEST(sequences),
		TEST(resources),
		TEST(late_copy_gives_way),
		TEST(receives_that_fail),
		TEST(region_changes_under_write),
		TEST(nak_waits_for_link),
		TEST(established),
		TEST(unreliable),
		TEST(datagrams),
		TEST(anything),
		TEST(ring_is_resized),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
