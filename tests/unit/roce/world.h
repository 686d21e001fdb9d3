/* SPDX-License-Identifier: Apache-2.0 */
/* world.h - one queue pair, a link that keeps what was sent, and a peer that is played by the test
 */
#ifndef TEST_ROCE_WORLD_H
#define TEST_ROCE_WORLD_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
/* clang-format on */

#include <errno.h>

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
	struct rvt_xrcd *xrcd; /* of a target of XRC */
	struct rvt_qp *qp;
	struct rvt_mr *mr;
	uint64_t counters[RVT_COUNTERS];
	struct sent *sent;
	unsigned count, seen; /* packets sent, and those that the test has looked at */
	unsigned room;	      /* that the link still takes */
	bool trusted;
	bool self;   /* the QP is connected to itself */
	bool unread; /* the peer has not read what was sent */
	uint8_t *memory;
	unsigned events;
	enum rvt_verdict cause;
} w;

static inline void *allocate(void *context, size_t size)
{
	(void)context;
	return calloc(1, size);
}

static inline void release(void *context, void *memory)
{
	(void)context;
	free(memory);
}

static const struct allocator heap = { allocate, release, NULL };

static inline int memory_read(void *to, uint64_t from, size_t length)
{
	memcpy(to, (const void *)(uintptr_t)from, length);
	return 0;
}

static inline int memory_write(uint64_t to, const void *from, size_t length)
{
	memcpy((void *)(uintptr_t)to, from, length);
	return 0;
}

static inline int memory_swap(uint64_t address, uint64_t compare, uint64_t swap, uint64_t *original)
{
	uint64_t *word = (uint64_t *)(uintptr_t)address;

	*original = *word;
	if (*word == compare)
		*word = swap;
	return 0;
}

static inline int memory_add(uint64_t address, uint64_t add, uint64_t *original)
{
	uint64_t *word = (uint64_t *)(uintptr_t)address;

	*original = *word;
	*word += add;
	return 0;
}

static inline int memory_probe(uint64_t address, uint64_t length, bool write)
{
	(void)address, (void)length, (void)write;
	return 0;
}

static const struct rvt_memory_ops memory_ops = { memory_read, memory_write, memory_swap,
						  memory_add, memory_probe };

static inline void cq_event(void *context, struct rvt_cq *cq)
{
	(void)context, (void)cq;
}

static inline void async_event(void *context, enum rvt_event event, struct rvt_qp *qp,
			       struct rvt_cq *cq, struct rvt_srq *srq)
{
	(void)context, (void)qp, (void)cq, (void)srq;
	w.events |= 1u << event;
}

static inline void cause(void *context, enum rvt_verdict verdict, struct restrack_entry *object,
			 uint64_t value1, uint64_t value2)
{
	(void)context, (void)object, (void)value1, (void)value2;
	w.cause = verdict;
}

static const struct rvt_observer observer = { cq_event, async_event, cause, NULL };

static inline int resolve(void *context, struct roce_flow *flow, uint32_t source,
			  uint32_t destination)
{
	(void)context, (void)source, (void)destination;
	flow->source_port = 0xc123;
	flow->trusted = w.trusted;
	return 0;
}

static inline uint8_t *reserve(void *context, const struct roce_flow *flow, uint32_t qpn,
			       size_t length, uint16_t *ipv4_id)
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

static inline void commit(void *context)
{
	struct sent *sent = &w.sent[w.count];

	(void)context;
	assert_int_equal(packet_parse(&sent->packet, sent->bytes, sent->length), 0);
	w.count++;
	w.room--;
}

static inline void cancel(void *context)
{
	(void)context;
}

static inline bool unread(void *context, const struct roce_flow *flow)
{
	(void)context, (void)flow;
	return w.unread;
}

static const struct roce_transmit_ops transmit_ops = { resolve, reserve, commit, cancel, unread };

static inline struct gid ipv4(uint8_t last)
{
	struct gid gid = { { [10] = 0xff, [11] = 0xff, [12] = 10, [15] = last } };

	return gid;
}

static inline void modify(struct rvt_qp_attr *attr, enum rvt_qp_state state, uint32_t mask)
{
	attr->qp_state = state;
	assert_int_equal(rvt_modify_qp(w.qp, attr, RVT_QP_STATE | mask), 0);
	assert_int_equal(w.qp->state, state);
}

static inline void connect_qp(enum rvt_qp_type type, uint8_t rnr_retry)
{
	struct rvt_qp_init init = {
		.type = type,
		.send_cq = w.cq,
		.recv_cq = w.cq,
		.cap = { 128, 16, 4, 4, 64 },
		.xrcd = w.xrcd,
		.context = w.context,
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
	bool rc = rvt_reliable(type), target = type == RVT_QPT_XRC_TGT;

	assert_int_equal(rvt_create_qp(target ? NULL : w.pd, &init, &w.qp), 0);
	if (target)
		attr.qp_access_flags =
			RVT_ACCESS_REMOTE_WRITE | RVT_ACCESS_REMOTE_READ | RVT_ACCESS_REMOTE_ATOMIC;
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

static inline int setup(void **state)
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

static inline int teardown(void **state)
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

static inline void run(void)
{
	for (unsigned i = 0; roce_engine_run(&w.engine, 64); i++)
		assert_true(i < 1000);
}

static inline void post_flags(enum rvt_opcode opcode, uint32_t length, uint64_t id, uint32_t flags)
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

static inline void post(enum rvt_opcode opcode, uint32_t length, uint64_t id)
{
	post_flags(opcode, length, id, 0);
}

static inline uint32_t at(uint32_t offset)
{
	return (START_PSN + offset) & 0xffffff;
}

/* The next packet that was sent. */
static inline const struct packet *next(uint8_t opcode, uint32_t psn, uint32_t length)
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

static inline void silence(void)
{
	assert_int_equal(w.seen, w.count);
}

static inline void deliver(struct packet *packet, const void *payload, uint32_t length)
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

static inline void answer(uint8_t syndrome, uint32_t psn)
{
	struct packet packet = { .opcode = OPCODE_RC_ACKNOWLEDGE, .psn = psn };

	packet.aeth.syndrome = syndrome;
	deliver(&packet, NULL, 0);
}

static inline void ack(uint32_t psn)
{
	answer(SYNDROME_ACK, psn);
}

static inline void read_data(uint8_t opcode, uint32_t psn, uint8_t fill, uint32_t length)
{
	struct packet packet = { .opcode = opcode, .psn = psn };
	uint8_t data[MTU];

	memset(data, fill, sizeof(data));
	packet.aeth.syndrome = SYNDROME_ACK;
	deliver(&packet, data, length);
}

static inline void pass(uint64_t ns)
{
	w.device.now_ns += ns;
	deadlines_expire(&w.device.deadlines, w.device.now_ns);
	run();
}

static inline void completion(uint64_t id, enum rvt_wc_status status)
{
	struct rvt_wc wc;

	assert_int_equal(rvt_poll_cq(w.cq, 1, &wc), 1);
	assert_int_equal(wc.wr_id, id);
	assert_int_equal(wc.status, status);
}

static inline void no_completion(void)
{
	assert_int_equal(rvt_cq_entries(w.cq), 0);
}

#endif
