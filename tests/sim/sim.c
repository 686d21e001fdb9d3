/* SPDX-License-Identifier: Apache-2.0 */
/* sim.c - hosts, network, clock */
#include "sim.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "wire/icrc.h"

#define MAX_PACKETS   65536
#define QUEUE_PACKETS 48 /* that a host has room for while it does not run */

struct sim_packet {
	uint64_t at_ns, order;
	struct gid source, destination;
	uint16_t source_port;
	uint8_t traffic_class, hop_limit;
	uint32_t flow_label;
	bool unread; /* lies before a host that is stalled */
	size_t length;
	uint8_t data[ROCE_MAX_PACKET];
};

struct sim sim;

/* On its way: a heap, earliest first. */
static struct sim_packet *heap[MAX_PACKETS];
static unsigned heap_count;
static struct sim_packet *unused[MAX_PACKETS];
static unsigned unused_count;
static uint64_t packet_order;

void sim_fail(const char *file, int line, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	printf("# %s:%d: ", file, line);
	vprintf(format, arguments);
	va_end(arguments);
	if (sim.cause)
		printf("\n# the last cause: %s (%llu, %llu)", rvt_verdict_row(sim.cause)->name,
		       (unsigned long long)sim.cause_values[0],
		       (unsigned long long)sim.cause_values[1]);
	printf("\n# scenario %s, at %llu ns; again with: ADVERB_SEED=%llu\nnot ok - %s\n",
	       sim.scenario, (unsigned long long)sim.now_ns, (unsigned long long)sim.seed,
	       sim.scenario);
	fflush(stdout);
	abort();
}

/* Memory. */

void *sim_allocate(size_t size)
{
	void *memory = calloc(1, size ? size : 1);

	SIM_CHECK(memory, "out of memory");
	sim.allocations++;
	return memory;
}

void sim_release(void *memory)
{
	if (memory)
		sim.allocations--;
	free(memory);
}

static void *allocate(void *context, size_t size)
{
	(void)context;
	return sim_allocate(size);
}

static void release(void *context, void *memory)
{
	(void)context;
	sim_release(memory);
}

static const struct allocator allocator = { allocate, release, NULL };

static bool mapped(uint64_t address, uint64_t length)
{
	return address >= sim.hole_end || address + length <= sim.hole_begin;
}

static int memory_read(void *to, uint64_t from, size_t length)
{
	if (!mapped(from, length))
		return -EFAULT;
	memcpy(to, (const void *)(uintptr_t)from, length);
	return 0;
}

static int memory_write(uint64_t to, const void *from, size_t length)
{
	if (!mapped(to, length))
		return -EFAULT;
	memcpy((void *)(uintptr_t)to, from, length);
	return 0;
}

static int memory_swap(uint64_t address, uint64_t compare, uint64_t swap, uint64_t *original)
{
	uint64_t *word = (uint64_t *)(uintptr_t)address;

	if (!mapped(address, 8))
		return -EFAULT;
	*original = *word;
	if (*word == compare)
		*word = swap;
	return 0;
}

static int memory_add(uint64_t address, uint64_t add, uint64_t *original)
{
	uint64_t *word = (uint64_t *)(uintptr_t)address;

	if (!mapped(address, 8))
		return -EFAULT;
	*original = *word;
	*word += add;
	return 0;
}

static int memory_probe(uint64_t address, uint64_t length, bool write)
{
	(void)write;
	return mapped(address, length) ? 0 : -EFAULT;
}

static const struct rvt_memory_ops memory_ops = { memory_read, memory_write, memory_swap,
						  memory_add, memory_probe };

static uint64_t next_word(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state;
}

void sim_fill(void *to, uint32_t length, uint64_t seed)
{
	uint8_t *at = to;
	uint64_t state = seed ^ 0x9e3779b97f4a7c15ull, word;

	for (; length >= 8; at += 8, length -= 8) {
		word = next_word(&state);
		memcpy(at, &word, 8);
	}
	word = next_word(&state);
	memcpy(at, &word, length);
}

bool sim_same(const void *from, uint32_t length, uint64_t seed)
{
	const uint8_t *at = from;
	uint64_t state = seed ^ 0x9e3779b97f4a7c15ull, word;

	for (; length >= 8; at += 8, length -= 8) {
		word = next_word(&state);
		if (memcmp(at, &word, 8) != 0)
			return false;
	}
	word = next_word(&state);
	return memcmp(at, &word, length) == 0;
}

/* Observers. */

static void cq_event(void *context, struct rvt_cq *cq)
{
	(void)context, (void)cq;
}

static void async_event(void *context, enum rvt_event event, struct rvt_qp *qp, struct rvt_cq *cq,
			struct rvt_srq *srq)
{
	struct rvt_device *device = qp ? qp->device : cq ? cq->device : srq->device;

	(void)context;
	container_of(device, struct sim_host, device)->events[event]++;
}

static void cause(void *context, enum rvt_verdict verdict, struct restrack_entry *object,
		  uint64_t value1, uint64_t value2)
{
	(void)context, (void)object;
	sim.causes[verdict]++;
	if (rvt_verdict_row(verdict)->status != RVT_WC_SUCCESS) {
		sim.cause = verdict;
		sim.cause_values[0] = value1;
		sim.cause_values[1] = value2;
	}
}

static const struct rvt_observer observer = { cq_event, async_event, cause, NULL };

/* Network. */

static bool earlier(const struct sim_packet *a, const struct sim_packet *b)
{
	return a->at_ns < b->at_ns || (a->at_ns == b->at_ns && a->order < b->order);
}

static void heap_push(struct sim_packet *packet)
{
	unsigned i = heap_count++;

	SIM_CHECK(heap_count <= MAX_PACKETS, "the network is full");
	packet->order = packet_order++;
	for (; i && earlier(packet, heap[(i - 1) / 2]); i = (i - 1) / 2)
		heap[i] = heap[(i - 1) / 2];
	heap[i] = packet;
}

static struct sim_packet *heap_pop(void)
{
	struct sim_packet *top = heap[0], *last = heap[--heap_count];
	unsigned i = 0, child;

	while ((child = 2 * i + 1) < heap_count) {
		if (child + 1 < heap_count && earlier(heap[child + 1], heap[child]))
			child++;
		if (!earlier(heap[child], last))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = last;
	return top;
}

static struct sim_packet *packet_get(void)
{
	if (unused_count)
		return unused[--unused_count];
	return malloc(sizeof(struct sim_packet));
}

static void packet_put(struct sim_packet *packet)
{
	unused[unused_count++] = packet;
}

static int resolve(void *context, struct roce_flow *flow, uint32_t source, uint32_t destination)
{
	(void)context;
	flow->source_port = (uint16_t)(0xc000 | ((source ^ destination) & 0x3fff));
	flow->trusted = false;
	return 0;
}

static uint8_t *reserve(void *context, const struct roce_flow *flow, uint32_t qpn, size_t length,
			uint16_t *ipv4_id)
{
	struct sim_host *host = context;

	(void)qpn;
	SIM_CHECK(!host->open, "a packet is still open");
	SIM_CHECK(length <= ROCE_MAX_PACKET, "packet of %zu bytes", length);
	if (sim_chance(sim.faults.full))
		return NULL;
	host->open = packet_get();
	host->open->length = length;
	host->open->unread = false;
	host->open_flow = *flow;
	*ipv4_id = 0;
	return host->open->data;
}

/*
 * Over IPv4 the check cannot find every damage, since the identification is not known (icrc.h):
 * what it does not find does not happen here. Over IPv6 worse may come.
 */
static void damage(struct sim_packet *packet)
{
	const struct icrc_route route = { packet->source, packet->destination, packet->source_port,
					  ROCE_UDP_PORT };
	uint32_t bit = sim_random((uint32_t)packet->length * 8);

	packet->data[bit / 8] ^= (uint8_t)(1u << (bit % 8));
	if (gid_is_ipv4(&packet->source)) {
		if (icrc_check(&route, packet->data, packet->length, NULL)) {
			packet->data[bit / 8] ^= (uint8_t)(1u << (bit % 8));
			sim.stats.hidden++;
		}
		return;
	}
	if (sim_chance(200))
		packet->length = sim_random((uint32_t)packet->length);
	else if (sim_chance(200))
		sim_fill(packet->data, (uint32_t)packet->length, random_next(&sim.random));
}

static void travel(struct sim_packet *packet)
{
	const struct sim_faults *faults = &sim.faults;

	sim.stats.sent++;
	if (sim.now_ns < sim.apart_until_ns || sim_chance(faults->loss)) {
		sim.stats.lost++;
		packet_put(packet);
		return;
	}
	packet->at_ns = sim.now_ns + faults->latency_ns;
	if (sim_chance(faults->late)) {
		sim.stats.late++;
		packet->at_ns += sim_random(faults->late_ns);
	}
	if (sim_chance(faults->damage)) {
		sim.stats.damaged++;
		damage(packet);
	}
	heap_push(packet);
}

static void commit(void *context)
{
	struct sim_host *host = context;
	struct sim_packet *packet = host->open;
	const struct roce_flow *flow = &host->open_flow;

	host->open = NULL;
	packet->source = flow->source;
	packet->destination = flow->destination;
	packet->source_port = flow->source_port;
	packet->traffic_class = flow->traffic_class;
	packet->hop_limit = flow->hop_limit;
	packet->flow_label = flow->flow_label;
	if (sim_chance(sim.faults.copy)) {
		struct sim_packet *copy = packet_get();

		*copy = *packet;
		copy->at_ns = sim.now_ns + sim.faults.latency_ns + sim_random(sim.faults.late_ns);
		sim.stats.copied++;
		heap_push(copy);
	}
	travel(packet);
}

static void cancel(void *context)
{
	struct sim_host *host = context;

	packet_put(host->open);
	host->open = NULL;
}

static struct sim_host *host_of(const struct gid *address)
{
	for (unsigned i = 0; i < sim.host_count; i++) {
		if (gid_equal(&sim.hosts[i].port.gids[0], address))
			return &sim.hosts[i];
	}
	return NULL;
}

static bool unread(void *context, const struct roce_flow *flow)
{
	const struct sim_host *host = host_of(&flow->destination);

	(void)context;
	return host && host->unread;
}

static const struct roce_transmit_ops transmit_ops = { resolve, reserve, commit, cancel, unread };

static bool stalled(const struct sim_host *host)
{
	return host->stalled_until_ns > sim.now_ns;
}

/* Is the packet kept, or lost, since the host does not run now? */
static bool waits(struct sim_host *host, struct sim_packet *packet)
{
	if (packet->unread) {
		host->unread--;
		packet->unread = false;
	} else if (!stalled(host) && sim_chance(sim.faults.stall)) {
		host->stalled_until_ns =
			sim.now_ns + random_next(&sim.random) % sim.faults.stall_ns;
		sim.stats.stalls++;
	}
	if (!stalled(host))
		return false;
	if (host->unread == QUEUE_PACKETS) {
		sim.stats.lost++;
		packet_put(packet);
		return true;
	}
	host->unread++;
	packet->unread = true;
	packet->at_ns = host->stalled_until_ns;
	heap_push(packet);
	return true;
}

static void give(struct sim_host *host, const struct sim_packet *packet)
{
	struct roce_datagram datagram = {
		.source = packet->source,
		.destination = packet->destination,
		.source_port = packet->source_port,
		.traffic_class = packet->traffic_class,
		.hop_limit = packet->hop_limit,
		.flow_label = packet->flow_label,
		.data = packet->data,
		.length = packet->length,
		.interface = host->port.interface,
	};

	roce_receive(&host->engine, &datagram);
}

static void deliver(struct sim_packet *packet)
{
	struct sim_host *host = host_of(&packet->destination);

	if (host && waits(host, packet))
		return;
	if (host)
		give(host, packet);
	/* Every host hears what goes to a group, the sender's too. */
	for (unsigned i = 0; gid_is_multicast(&packet->destination) && i < sim.host_count; i++) {
		if (sim_chance(sim.faults.loss))
			sim.stats.lost++;
		else
			give(&sim.hosts[i], packet);
	}
	sim.stats.delivered++;
	packet_put(packet);
}

/* Hosts. */

static void host_begin(struct sim_host *host, unsigned index)
{
	bool ipv4 = sim.seed & 1;
	struct gid gid = { { 0xfd, [15] = (uint8_t)(index + 1) } };
	struct rvt_device_config config = {
		.allocator = &allocator,
		.restrack = &host->restrack,
		.memory = &memory_ops,
		.transport = &roce_transport_ops,
		.observer = &observer,
		.counters = host->counters,
		.seed = random_next(&sim.random),
		.first_qpn = (index + 1) << 17,
		.qpn_count = 1 << 17,
	};
	struct roce_config roce = { &host->device, &transmit_ops, host };

	if (ipv4)
		gid = (struct gid){
			{ [10] = 0xff, [11] = 0xff, [12] = 10, [15] = (uint8_t)(index + 1) }
		};
	memset(host, 0, sizeof(*host));
	host->index = index;
	host->port = (struct rvt_port){ .name = "sim", .interface = 3 + index, .up = true };
	host->port.active_mtu = host->port.max_mtu = RVT_MTU_4096;
	host->port.gids[0] = gid;
	SIM_CHECK(!restrack_init(&host->restrack, &allocator, NULL), "restrack_init");
	SIM_CHECK(!rvt_device_init(&host->device, &config), "rvt_device_init");
	host->device.now_ns = sim.now_ns;
	roce_engine_init(&host->engine, &roce);
	SIM_CHECK(!rvt_context_open(&host->device, &host->port, &host->context), "context");
	SIM_CHECK(!rvt_alloc_pd(host->context, &host->pd), "pd");
}

void sim_begin(const char *scenario, uint64_t seed, unsigned hosts)
{
	sim.scenario = scenario;
	sim.seed = seed;
	random_seed(&sim.random, seed * 7919 + 1);
	sim.now_ns = 1000 * SIM_MS;
	sim.faults = (struct sim_faults){ 0 };
	sim.host_count = hosts;
	sim.hole_begin = sim.hole_end = 0;
	sim.wake_ns = NEVER;
	sim.apart_until_ns = 0;
	sim.cause = RVT_OK;
	sim.allocations = 0;
	for (unsigned i = 0; i < hosts; i++)
		host_begin(&sim.hosts[i], i);
}

void sim_end(void)
{
	while (heap_count)
		packet_put(heap_pop());
	for (unsigned i = 0; i < sim.host_count; i++) {
		struct sim_host *host = &sim.hosts[i];

		SIM_CHECK(!rvt_dealloc_pd(host->pd), "something still uses the PD");
		rvt_context_close(host->context);
		SIM_CHECK(deadlines_next(&host->device.deadlines) == NEVER, "a timer is left");
		roce_engine_deinit(&host->engine);
		SIM_CHECK(!rvt_device_deinit(&host->device), "objects leaked");
		SIM_CHECK(!restrack_clean(&host->restrack), "entries leaked");
	}
	SIM_CHECK(!sim.allocations, "%lld allocations leaked", (long long)sim.allocations);
}

static void host_work(struct sim_host *host)
{
	for (unsigned rounds = 0; roce_engine_run(&host->engine, 1 + sim_random(64)); rounds++)
		SIM_CHECK(rounds < 100000, "the engine never rests");
	if (!list_empty(&host->engine.blocked))
		sim_wake(SIM_US);
	/* As a program that polls would, or at once; sometimes more input comes first. */
	if (sim_chance(500) ? roce_engine_acks_due(&host->engine) : !sim_chance(300))
		roce_engine_flush_acks(&host->engine);
	if (roce_engine_owes_acks(&host->engine))
		sim_wake(2 * SIM_US);
}

void sim_wake(uint64_t ns)
{
	if (sim.now_ns + ns < sim.wake_ns)
		sim.wake_ns = sim.now_ns + ns;
}

static void hosts_work(void)
{
	for (unsigned i = 0; i < sim.host_count; i++) {
		sim.hosts[i].device.now_ns = sim.now_ns;
		if (!stalled(&sim.hosts[i]))
			host_work(&sim.hosts[i]);
	}
}

/* On to whatever happens next. */
static void advance(void)
{
	uint64_t next = sim.wake_ns;

	if (heap_count && heap[0]->at_ns < next)
		next = heap[0]->at_ns;
	for (unsigned i = 0; i < sim.host_count; i++) {
		uint64_t due = deadlines_next(&sim.hosts[i].device.deadlines);

		if (stalled(&sim.hosts[i]))
			due = sim.hosts[i].stalled_until_ns;
		if (due < next)
			next = due;
	}
	SIM_CHECK(next != NEVER, "nothing can happen any more");
	if (next > sim.now_ns)
		sim.now_ns = next;
	if (sim.wake_ns <= sim.now_ns)
		sim.wake_ns = NEVER;
	for (unsigned i = 0; i < sim.host_count; i++) {
		struct rvt_device *device = &sim.hosts[i].device;

		device->now_ns = sim.now_ns;
		if (!stalled(&sim.hosts[i]))
			deadlines_expire(&device->deadlines, sim.now_ns);
	}
	for (unsigned burst = 1 + sim_random(32); burst; burst--) {
		if (!heap_count || heap[0]->at_ns > sim.now_ns)
			break;
		deliver(heap_pop());
	}
}

void sim_run(bool (*program)(void), uint64_t limit_ns)
{
	uint64_t limit = sim.now_ns + limit_ns;

	while (!program()) {
		hosts_work();
		SIM_CHECK(sim.now_ns < limit, "it takes too long");
		advance();
	}
}

bool sim_idle(void)
{
	return !heap_count;
}

void sim_drain(void)
{
	while (heap_count) {
		hosts_work();
		advance();
	}
}

/* Objects. */

struct rvt_qp *sim_create_qp(struct sim_host *host, const struct sim_qp_options *options)
{
	struct rvt_qp_init init = {
		.type = options->type,
		.send_cq = options->send_cq,
		.recv_cq = options->recv_cq,
		.srq = options->srq,
		.xrcd = options->xrcd,
		.context = host->context,
		.cap = { options->depth, options->srq ? 0 : options->recv_depth, 4, 4, 64 },
	};
	struct rvt_qp *qp;

	SIM_CHECK(!rvt_create_qp(options->xrcd ? NULL : host->pd, &init, &qp), "rvt_create_qp");
	return qp;
}

static void modify(struct rvt_qp *qp, struct rvt_qp_attr *attr, enum rvt_qp_state state,
		   uint32_t mask)
{
	attr->qp_state = state;
	SIM_CHECK(!rvt_modify_qp(qp, attr, RVT_QP_STATE | mask), "to state %u", state);
}

void sim_connect(struct sim_host *host, struct rvt_qp *qp, const struct sim_qp_options *options,
		 struct sim_host *peer_host, struct rvt_qp *peer, uint32_t psn, uint32_t peer_psn)
{
	struct rvt_qp_attr attr = {
		.port_num = 1,
		.path_mtu = options->mtu,
		.rq_psn = peer_psn,
		.sq_psn = psn,
		.qkey = options->qkey,
		.qp_access_flags =
			RVT_ACCESS_REMOTE_WRITE | RVT_ACCESS_REMOTE_READ | RVT_ACCESS_REMOTE_ATOMIC,
		.max_rd_atomic = options->max_rd_atomic,
		.max_dest_rd_atomic = options->max_dest_rd_atomic,
		.min_rnr_timer = (uint8_t)(1 + sim_random(12)),
		.timeout = options->timeout,
		.retry_cnt = options->retry_cnt,
		.rnr_retry = options->rnr_retry,
	};

	(void)host;
	if (options->type == RVT_QPT_UD) {
		modify(qp, &attr, RVT_QPS_INIT, RVT_QP_PKEY_INDEX | RVT_QP_PORT | RVT_QP_QKEY);
		modify(qp, &attr, RVT_QPS_RTR, 0);
		modify(qp, &attr, RVT_QPS_RTS, RVT_QP_SQ_PSN);
		return;
	}
	attr.dest_qp_num = peer->number;
	attr.ah_attr.is_global = true;
	attr.ah_attr.port_num = 1;
	attr.ah_attr.dgid = peer_host->port.gids[0];
	modify(qp, &attr, RVT_QPS_INIT, RVT_QP_PKEY_INDEX | RVT_QP_PORT | RVT_QP_ACCESS_FLAGS);
	if (options->type == RVT_QPT_UC) {
		modify(qp, &attr, RVT_QPS_RTR,
		       RVT_QP_AV | RVT_QP_PATH_MTU | RVT_QP_DEST_QPN | RVT_QP_RQ_PSN);
		modify(qp, &attr, RVT_QPS_RTS, RVT_QP_SQ_PSN);
		return;
	}
	modify(qp, &attr, RVT_QPS_RTR,
	       RVT_QP_AV | RVT_QP_PATH_MTU | RVT_QP_DEST_QPN | RVT_QP_RQ_PSN |
		       RVT_QP_MAX_DEST_RD_ATOMIC | RVT_QP_MIN_RNR_TIMER);
	modify(qp, &attr, RVT_QPS_RTS,
	       RVT_QP_SQ_PSN | RVT_QP_TIMEOUT | RVT_QP_RETRY_CNT | RVT_QP_RNR_RETRY |
		       RVT_QP_MAX_QP_RD_ATOMIC);
}

struct rvt_mr *sim_reg(struct sim_host *host, void *memory, uint64_t length, uint64_t iova,
		       uint32_t access)
{
	struct rvt_mr *mr;

	SIM_CHECK(!rvt_reg_mr(host->pd, (uintptr_t)memory, length, iova, access, &mr), "reg_mr");
	return mr;
}
