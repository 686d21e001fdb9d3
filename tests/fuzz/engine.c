/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.c - packets, timers and verbs in any order against live queue pairs
 *
 * The input is a program of one-byte commands with their operands. A packet is built so that it
 * comes far: for a queue pair that exists, near its PSN, with a key that is known; the input may
 * change each of that. The rules that must hold: nothing outside the registered memory is written,
 * a packet changes the state of no other queue pair than the one it names, nothing leaks.
 */
#include <sys/types.h>

#include "fuzz.h"
#include "roce/qp.h"
#include "rvt/mcast.h"
#include "rvt/mw.h"
#include "rvt/xrcd.h"
#include "wire/opcode.h"
#include "wire/psn.h"

#define QPS	6
#define MEMORY	16384u
#define GUARD	4096u
#define MARK	0xa5
#define DEPTH	8
#define PACKETS 512 /* that the link takes for one command */
#define MS	1000000ull

static struct {
	struct restrack_root restrack;
	struct rvt_device device;
	struct roce_engine engine;
	struct rvt_port port;
	struct rvt_context *context;
	struct rvt_pd *pd;
	struct rvt_cq *cq;
	struct rvt_srq *srq, *xrc_srq;
	struct rvt_xrcd *xrcd;
	struct rvt_ah *ah;
	struct rvt_mr *mr;
	struct rvt_mw *mw;
	struct rvt_qp *qps[QPS];
	uint64_t counters[RVT_COUNTERS];
	uint8_t memory[GUARD + MEMORY + GUARD];
	uint8_t packet[ROCE_MAX_PACKET];
	unsigned room;
	bool unread;
	long allocations;
	unsigned fail_in; /* the so manieth allocation fails; 0: none does */
} w;

static const enum rvt_qp_type types[QPS] = { RVT_QPT_RC, RVT_QPT_RC,	  RVT_QPT_UC,
					     RVT_QPT_UD, RVT_QPT_XRC_INI, RVT_QPT_XRC_TGT };

static void *allocate(void *context, size_t size)
{
	void *memory;

	(void)context;
	if (w.fail_in && !--w.fail_in)
		return NULL;
	memory = calloc(1, size);
	w.allocations += memory != NULL;
	return memory;
}

static void release(void *context, void *memory)
{
	(void)context;
	w.allocations -= memory != NULL;
	free(memory);
}

static const struct allocator heap = { allocate, release, NULL };

static void inside(uint64_t address, size_t length)
{
	uint64_t begin = (uintptr_t)w.memory + GUARD;

	FUZZ_CHECK(address >= begin && length <= MEMORY && address - begin <= MEMORY - length);
}

static int memory_read(void *to, uint64_t from, size_t length)
{
	inside(from, length);
	memcpy(to, (const void *)(uintptr_t)from, length);
	return 0;
}

static int memory_write(uint64_t to, const void *from, size_t length)
{
	inside(to, length);
	memcpy((void *)(uintptr_t)to, from, length);
	return 0;
}

static int memory_swap(uint64_t address, uint64_t compare, uint64_t swap, uint64_t *original)
{
	uint64_t *word = (uint64_t *)(uintptr_t)address;

	inside(address, 8);
	FUZZ_CHECK(address % 8 == 0);
	*original = *word;
	if (*word == compare)
		*word = swap;
	return 0;
}

static int memory_add(uint64_t address, uint64_t add, uint64_t *original)
{
	uint64_t *word = (uint64_t *)(uintptr_t)address;

	inside(address, 8);
	FUZZ_CHECK(address % 8 == 0);
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
	FUZZ_CHECK(event != RVT_EVENT_NONE && event != RVT_EVENT_QP_FATAL);
}

static void cause(void *context, enum rvt_verdict verdict, struct restrack_entry *object,
		  uint64_t value1, uint64_t value2)
{
	(void)context, (void)object, (void)value1, (void)value2;
	FUZZ_CHECK(verdict != RVT_OK && verdict < RVT_VERDICT_COUNT);
}

static const struct rvt_observer observer = { cq_event, async_event, cause, NULL };

static int resolve(void *context, struct roce_flow *flow, uint32_t source, uint32_t destination)
{
	(void)context, (void)source, (void)destination;
	flow->source_port = 0xc000;
	flow->trusted = true;
	return 0;
}

static uint8_t *reserve(void *context, const struct roce_flow *flow, uint32_t qpn, size_t length,
			uint16_t *ipv4_id)
{
	(void)context, (void)flow, (void)qpn;
	FUZZ_CHECK(length <= sizeof(w.packet));
	*ipv4_id = 0;
	return w.room ? w.packet : NULL;
}

static void commit(void *context)
{
	(void)context;
	w.room--;
}

static void cancel(void *context)
{
	(void)context;
}

static bool unread(void *context, const struct roce_flow *flow)
{
	(void)context, (void)flow;
	return w.unread;
}

static const struct roce_transmit_ops transmit_ops = { resolve, reserve, commit, cancel, unread };

static struct gid ipv4(uint8_t last)
{
	return (struct gid){ { [10] = 0xff, [11] = 0xff, [12] = 10, [15] = last } };
}

static const struct gid group = { { [10] = 0xff, 0xff, 239, 0, 0, 1 } };

static void run(unsigned room)
{
	w.room = room;
	for (unsigned i = 0; i < 64 && roce_engine_run(&w.engine, 64); i++)
		;
	if (roce_engine_acks_due(&w.engine))
		roce_engine_flush_acks(&w.engine);
}

static int to_state(struct rvt_qp *qp, struct rvt_qp_attr *attr, enum rvt_qp_state state,
		    uint32_t mask)
{
	attr->qp_state = state;
	return rvt_modify_qp(qp, attr, RVT_QP_STATE | mask);
}

/* RESET to RTS. What fails for want of memory leaves the queue pair where it came. */
static void connect_qp(struct rvt_qp *qp, uint8_t variant)
{
	bool rc = rvt_reliable(qp->type); /* either side of XRC takes the attributes of both */
	struct rvt_qp_attr attr = {
		.port_num = 1,
		.path_mtu = variant & 1 ? RVT_MTU_256 : RVT_MTU_1024,
		.dest_qp_num = 0x40000 + variant,
		.rq_psn = variant & 2 ? 0xfffffe : 100,
		.sq_psn = variant & 4 ? 0xffffff : 200,
		.qkey = 0x1234,
		.qp_access_flags = 0x30f,
		.ah_attr = { .is_global = true, .dgid = ipv4(2), .port_num = 1 },
		.max_rd_atomic = 3,
		.max_dest_rd_atomic = 3,
		.min_rnr_timer = 1,
		.timeout = 10,
		.retry_cnt = 3,
		.rnr_retry = variant & 8 ? 7 : 2,
	};

	if (qp->type == RVT_QPT_UD) {
		if (to_state(qp, &attr, RVT_QPS_INIT,
			     RVT_QP_PKEY_INDEX | RVT_QP_PORT | RVT_QP_QKEY) ||
		    to_state(qp, &attr, RVT_QPS_RTR, 0) ||
		    to_state(qp, &attr, RVT_QPS_RTS, RVT_QP_SQ_PSN))
			return;
		return;
	}
	if (to_state(qp, &attr, RVT_QPS_INIT,
		     RVT_QP_PKEY_INDEX | RVT_QP_PORT | RVT_QP_ACCESS_FLAGS) ||
	    to_state(qp, &attr, RVT_QPS_RTR,
		     RVT_QP_AV | RVT_QP_PATH_MTU | RVT_QP_DEST_QPN | RVT_QP_RQ_PSN |
			     (rc ? RVT_QP_MAX_DEST_RD_ATOMIC | RVT_QP_MIN_RNR_TIMER : 0u)))
		return;
	if (to_state(qp, &attr, RVT_QPS_RTS,
		     RVT_QP_SQ_PSN | (rc ? RVT_QP_TIMEOUT | RVT_QP_RETRY_CNT | RVT_QP_RNR_RETRY |
						      RVT_QP_MAX_QP_RD_ATOMIC
					 : 0u)))
		return;
}

static struct rvt_mr *reg(void)
{
	struct rvt_mr *mr = NULL;

	if (rvt_reg_mr(w.pd, (uintptr_t)w.memory + GUARD, MEMORY, 0x10000,
		       0x10f | RVT_ACCESS_MW_BIND, &mr))
		return NULL;
	return mr;
}

static void begin(void)
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
	struct rvt_ah_attr ah = { .is_global = true, .dgid = ipv4(2), .port_num = 1 };
	uint32_t srq_wr = DEPTH, srq_sge = 2;

	memset(&w, 0, sizeof(w));
	memset(w.memory, MARK, sizeof(w.memory));
	w.port = (struct rvt_port){ .name = "fuzz", .interface = 2, .up = true };
	w.port.active_mtu = w.port.max_mtu = RVT_MTU_4096;
	w.port.gids[0] = ipv4(1);
	FUZZ_CHECK(!restrack_init(&w.restrack, &heap, NULL));
	FUZZ_CHECK(!rvt_device_init(&w.device, &config));
	roce_engine_init(&w.engine, &roce);
	w.device.now_ns = 1000 * MS;
	FUZZ_CHECK(!rvt_context_open(&w.device, &w.port, &w.context));
	FUZZ_CHECK(!rvt_alloc_pd(w.context, &w.pd));
	FUZZ_CHECK(!rvt_create_cq(w.context, 64, &w.cq));
	FUZZ_CHECK(!rvt_create_srq(w.pd, &srq_wr, &srq_sge, 2, &w.srq));
	FUZZ_CHECK(!rvt_open_xrcd(w.context, NULL, true, false, &w.xrcd));
	FUZZ_CHECK(!rvt_create_xrc_srq(w.pd, w.xrcd, w.cq, &srq_wr, &srq_sge, &w.xrc_srq));
	FUZZ_CHECK(!rvt_create_ah(w.pd, &ah, &w.ah));
	FUZZ_CHECK(!rvt_alloc_mw(w.pd, RVT_MW_TYPE_2, &w.mw));
	w.mr = reg();
	for (unsigned i = 0; i < QPS; i++) {
		struct rvt_qp_init init = {
			.type = types[i],
			.send_cq = w.cq,
			.recv_cq = w.cq,
			.srq = i == 1 ? w.srq : NULL,
			.cap = { DEPTH, i == 1 ? 0 : DEPTH, 2, 2, 64 },
		};

		init.xrcd = w.xrcd;
		init.context = w.context;
		FUZZ_CHECK(!rvt_create_qp(types[i] == RVT_QPT_XRC_TGT ? NULL : w.pd, &init,
					  &w.qps[i]));
		connect_qp(w.qps[i], 0);
		FUZZ_CHECK(!rvt_attach_mcast(w.qps[i], &group) == (types[i] == RVT_QPT_UD));
	}
}

static void end(void)
{
	w.fail_in = 0;
	for (unsigned i = 0; i < QPS; i++) {
		rvt_leave_mcast(w.qps[i]);
		FUZZ_CHECK(!rvt_destroy_qp(w.qps[i]));
	}
	FUZZ_CHECK(!rvt_dealloc_mw(w.mw));
	if (w.mr)
		FUZZ_CHECK(!rvt_dereg_mr(w.mr));
	FUZZ_CHECK(!rvt_destroy_ah(w.ah));
	FUZZ_CHECK(!rvt_destroy_srq(w.srq));
	if (w.xrc_srq)
		FUZZ_CHECK(!rvt_destroy_srq(w.xrc_srq));
	FUZZ_CHECK(!rvt_close_xrcd(w.xrcd));
	FUZZ_CHECK(!rvt_destroy_cq(w.cq));
	FUZZ_CHECK(!rvt_dealloc_pd(w.pd));
	rvt_context_close(w.context);
	FUZZ_CHECK(deadlines_next(&w.device.deadlines) == UINT64_MAX);
	roce_engine_deinit(&w.engine);
	FUZZ_CHECK(!rvt_device_deinit(&w.device));
	FUZZ_CHECK(!restrack_clean(&w.restrack));
	FUZZ_CHECK(!w.allocations);
	for (unsigned i = 0; i < GUARD; i++)
		FUZZ_CHECK(w.memory[i] == MARK && w.memory[GUARD + MEMORY + i] == MARK);
}

/* A PSN that may mean something to the queue pair, or any. */
static uint32_t some_psn(struct input *in, const struct rvt_qp *rvt)
{
	const struct roce_qp *qp = container_of(rvt, struct roce_qp, rvt);
	uint8_t how = take(in);
	uint32_t delta = (uint32_t)(int32_t)(int8_t)take(in);

	switch (how & 3) {
	case 0:
		return psn_add(qp->responder.psn, how & 4 ? delta & PSN_MASK : 0);
	case 1:
		return psn_add(qp->requester.una, how & 4 ? delta & PSN_MASK : 0);
	case 2:
		return psn_add(qp->requester.max_psn, delta & PSN_MASK);
	default:
		return take32(in) & PSN_MASK;
	}
}

static uint32_t some_key(struct input *in)
{
	uint8_t how = take(in);

	if (how & 0x80)
		return take32(in);
	if (how & 0x40)
		return w.mw->mr.key;
	return w.mr ? w.mr->key : 0;
}

static uint64_t some_address(struct input *in)
{
	uint8_t how = take(in);

	if (how & 0x80)
		return take64(in);
	return 0x10000 + (how & 0x40 ? MEMORY - (how & 0x3f) : (how & 0x3fu) * 8);
}

static uint32_t some_length(struct input *in)
{
	uint8_t how = take(in);

	switch (how >> 6) {
	case 0:
		return how;
	case 1:
		return (how & 0x3fu) * 256;
	case 2:
		return 256 + (how & 0x3fu) - 0x20;
	default:
		return take32(in);
	}
}

/* What the queue pairs were before a packet came. */
static void states(enum rvt_qp_state *to)
{
	for (unsigned i = 0; i < QPS; i++)
		to[i] = w.qps[i]->state;
}

static void give(const uint8_t *bytes, size_t length, uint8_t from, bool to_group)
{
	struct roce_datagram datagram = {
		.source = ipv4(from),
		.destination = to_group ? group : ipv4(1),
		.interface = w.port.interface,
		.source_port = 0xc000,
		.trusted = true,
		.data = bytes,
		.length = length,
	};
	uint8_t *exact = malloc(length ? length : 1);

	FUZZ_CHECK(exact);
	memcpy(exact, bytes, length);
	datagram.data = exact;
	w.room = PACKETS;
	roce_receive(&w.engine, &datagram);
	free(exact);
}

static void packet_comes(struct input *in)
{
	uint8_t bytes[ROCE_MAX_PACKET] = { 0 };
	uint8_t shape = take(in), target = take(in) % QPS;
	const struct rvt_qp *qp = w.qps[target];
	bool to_group = types[target] == RVT_QPT_UD && shape & 32;
	enum rvt_qp_state before[QPS], after[QPS];
	struct packet packet = {
		.opcode = take(in),
		.dest_qpn = qp->number,
		.pkey = 0xffff,
		.solicited = shape & 1,
		.ack_req = shape & 2,
	};
	size_t length, payload;

	if (shape & 4) /* of the kind of this queue pair */
		packet.opcode = (uint8_t)((packet.opcode & 0x1f) |
					  (types[target] == RVT_QPT_UC	 ? OPCODE_UC
					   : types[target] == RVT_QPT_UD ? OPCODE_UD
					   : target >= 4		 ? OPCODE_XRC
									 : 0));
	packet.srqn = shape & 1 || !w.xrc_srq ? take(in) : w.xrc_srq->res.id;
	if (to_group)
		packet.dest_qpn = 0xffffff;
	packet.psn = some_psn(in, qp);
	packet.reth.va = packet.atomic.va = some_address(in);
	packet.reth.rkey = packet.atomic.rkey = packet.ieth = some_key(in);
	payload = some_length(in) % 4100;
	packet.reth.length = shape & 8 ? some_length(in) : (uint32_t)payload;
	packet.aeth.syndrome = take(in);
	packet.feth.placement = shape & 3;
	packet.feth.selectivity = shape >> 4 & 3;
	packet.deth.qkey = shape & 16 ? 0x1234 : 0x80010000;
	packet.pad = (uint8_t)(-payload & 3);
	length = packet_write_headers(&packet, bytes);
	if (!length)
		length = BTH_LENGTH;
	if (!(opcode_info(packet.opcode)->flags & OPCODE_HAS_PAYLOAD) && !(shape & 32)) {
		payload = 0;
		bytes[1] &= (uint8_t)~0x30;
		length += ICRC_LENGTH;
	} else {
		length += payload + packet.pad + ICRC_LENGTH;
	}
	/* A byte that is not as it should be. */
	if (shape & 64)
		bytes[take(in) % 40] = take(in);
	if (shape & 128)
		length = take16(in) % (length + 1);
	if (length > sizeof(bytes))
		length = sizeof(bytes);
	states(before);
	give(bytes, length, shape & 64 && take(in) == 1 ? 3 : 2, to_group);
	states(after);
	for (unsigned i = 0; i < QPS; i++)
		FUZZ_CHECK(i == target || before[i] == after[i] || shape & 64);
}

static void post_send(struct input *in)
{
	struct rvt_qp *qp = w.qps[take(in) % QPS];
	uint8_t flags = take(in);
	struct rvt_sge sge = { some_address(in), some_length(in), some_key(in) };
	uint8_t inline_data[64] = { 0 };
	struct rvt_send_wr wr = {
		.wr_id = 1,
		.opcode = (enum rvt_opcode)(take(in) & 15),
		.send_flags = flags & 15,
		.sg_list = &sge,
		.num_sge = flags >> 4 & 1,
		.invalidate_rkey = some_key(in),
		.remote_addr = take(in) & 0xf8,
		.rkey = 5,
		.ah = w.ah,
		.remote_qpn = 7,
		.flush = { 8, flags & 3, flags >> 7 },
	};

	if (wr.send_flags & RVT_SEND_INLINE) {
		/* Such bytes are the program's own: the front hands over a pointer that is good. */
		sge = (struct rvt_sge){ (uintptr_t)w.memory + GUARD, sizeof(inline_data), 0 };
	}
	if (wr.opcode == RVT_WR_BIND_MW) {
		if (!w.mr)
			return;
		wr.bind = (struct rvt_bind){ .mw = w.mw,
					     .region = w.mr,
					     .address = some_address(in),
					     .length = some_length(in),
					     .access = take(in),
					     .key = (w.mw->mr.key & ~0xffu) | take(in) };
	}
	if (!rvt_post_send(qp, &wr))
		rvt_send_pending(qp);
}

static void post_recv(struct input *in)
{
	unsigned which = take(in) % QPS;
	struct rvt_sge sge = { some_address(in), some_length(in), some_key(in) };
	struct rvt_recv_wr wr = { .wr_id = 2, .sg_list = &sge, .num_sge = take(in) & 1 };
	int err;

	if (which == 1)
		err = rvt_post_srq_recv(w.srq, &wr);
	else if (which == 5 && w.xrc_srq)
		err = rvt_post_srq_recv(w.xrc_srq, &wr);
	else
		err = rvt_post_recv(w.qps[which], &wr);
	FUZZ_CHECK(err <= 0);
}

static void change_qp(struct input *in)
{
	struct rvt_qp *qp = w.qps[take(in) % QPS];
	struct rvt_qp_attr attr = { .qp_access_flags = take(in),
				    .max_dest_rd_atomic = take(in) & 7 };
	int err;

	switch (take(in) % 6) {
	case 0:
		err = to_state(qp, &attr, RVT_QPS_ERR, 0);
		break;
	case 1:
		err = to_state(qp, &attr, RVT_QPS_RESET, 0);
		FUZZ_CHECK(!err);
		connect_qp(qp, take(in));
		break;
	case 2:
		err = to_state(qp, &attr, RVT_QPS_SQD, 0);
		break;
	case 3:
		err = to_state(qp, &attr, RVT_QPS_RTS, 0);
		break;
	case 4:
		err = to_state(qp, &attr, RVT_QPS_RTS, RVT_QP_ACCESS_FLAGS);
		break;
	default:
		err = to_state(qp, &attr, RVT_QPS_SQD, RVT_QP_MAX_DEST_RD_ATOMIC);
		break;
	}
	FUZZ_CHECK(err <= 0);
}

static void change_memory(struct input *in)
{
	uint8_t how = take(in);

	/* The queue that XRC requests name goes, perhaps in the middle of a message, or comes
	 * again. */
	if (how == 0xff) {
		uint32_t max_wr = DEPTH, max_sge = 2;

		if (w.xrc_srq && !rvt_destroy_srq(w.xrc_srq))
			w.xrc_srq = NULL;
		else if (rvt_create_xrc_srq(w.pd, w.xrcd, w.cq, &max_wr, &max_sge, &w.xrc_srq))
			w.xrc_srq = NULL;
		return;
	}
	if (!w.mr) {
		w.mr = reg();
	} else if (how & 1) {
		if (!rvt_dereg_mr(w.mr))
			w.mr = NULL;
	} else if (rvt_rereg_mr(w.mr, how >> 1 & 7, w.pd, (uintptr_t)w.memory + GUARD + 64,
				MEMORY - 128, how >> 4 & 15)) {
		return;
	}
}

static void poll(void)
{
	struct rvt_wc wc[16];
	int n = rvt_poll_cq(w.cq, 16, wc);

	for (int i = 0; i < n; i++)
		FUZZ_CHECK(wc[i].wr_id == 1 || wc[i].wr_id == 2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };

	begin();
	while (in.left) {
		uint8_t command = take(&in);

		switch (command % 11) {
		case 0:
		case 1:
		case 2:
		case 3:
			packet_comes(&in);
			break;
		case 4:
			post_send(&in);
			break;
		case 5:
			post_recv(&in);
			break;
		case 6:
			change_qp(&in);
			break;
		case 7:
			change_memory(&in);
			break;
		case 8:
			w.device.now_ns += 1ull << (take(&in) % 32);
			w.room = PACKETS;
			w.unread = command & 0x80;
			deadlines_expire(&w.device.deadlines, w.device.now_ns);
			break;
		case 9:
			poll();
			break;
		default:
			w.fail_in = command & 0x40 ? take(&in) % 16 : 0;
			break;
		}
		/* Now and then the link is full. */
		run(command & 0x80 ? take(&in) % 8 : PACKETS);
	}
	end();
	return 0;
}
