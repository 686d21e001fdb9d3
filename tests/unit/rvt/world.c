/* SPDX-License-Identifier: Apache-2.0 */
/* world.c - see world.h */
#include "world.h"

#include <sys/mman.h>

struct world w;

static void *allocate(void *context, size_t size)
{
	(void)context;
	if (!w.fail_after)
		return NULL;
	if (w.fail_after > 0)
		w.fail_after--;
	w.allocations++;
	return calloc(1, size ? size : 1);
}

static void release(void *context, void *memory)
{
	(void)context;
	if (memory)
		w.allocations--;
	free(memory);
}

static const struct allocator heap = { allocate, release, NULL };

static bool bad(uint64_t address, uint64_t length)
{
	return address < w.bad_to && w.bad_from < address + length;
}

static int memory_read(void *to, uint64_t from, size_t length)
{
	if (bad(from, length))
		return -EFAULT;
	memcpy(to, (const void *)(uintptr_t)from, length);
	return 0;
}

static int memory_write(uint64_t to, const void *from, size_t length)
{
	if (bad(to, length))
		return -EFAULT;
	memcpy((void *)(uintptr_t)to, from, length);
	return 0;
}

static int memory_swap(uint64_t address, uint64_t compare, uint64_t swap, uint64_t *original)
{
	uint64_t *word = (uint64_t *)(uintptr_t)address;

	if (bad(address, sizeof(*word)))
		return -EFAULT;
	*original = *word;
	if (*word == compare)
		*word = swap;
	return 0;
}

static int memory_add(uint64_t address, uint64_t add, uint64_t *original)
{
	uint64_t *word = (uint64_t *)(uintptr_t)address;

	if (bad(address, sizeof(*word)))
		return -EFAULT;
	*original = *word;
	*word += add;
	return 0;
}

static int memory_probe(uint64_t address, uint64_t length, bool write)
{
	(void)address, (void)length;
	w.probes++;
	w.probe_write = write;
	return w.probe_fails ? -EFAULT : 0;
}

static const struct rvt_memory_ops memory_ops = { memory_read, memory_write, memory_swap,
						  memory_add, memory_probe };

static int qp_init(struct rvt_qp *qp)
{
	(void)qp;
	w.qp_inits++;
	return w.qp_init_error;
}

static void qp_stop(struct rvt_qp *qp)
{
	(void)qp;
	w.qp_stops++;
}

static void qp_deinit(struct rvt_qp *qp)
{
	(void)qp;
	w.qp_deinits++;
}

static void qp_modified(struct rvt_qp *qp, enum rvt_qp_state old, uint32_t mask)
{
	(void)qp, (void)old, (void)mask;
}

static void qp_nothing(struct rvt_qp *qp)
{
	(void)qp;
}

static void qp_send(struct rvt_qp *qp)
{
	(void)qp;
	w.sends++;
}

static const struct rvt_transport_ops transport_ops = {
	.qp_size = sizeof(struct rvt_qp),
	.qp_init = qp_init,
	.qp_stop = qp_stop,
	.qp_deinit = qp_deinit,
	.qp_modified = qp_modified,
	.qp_error = qp_nothing,
	.send = qp_send,
	.retry_expired = qp_nothing,
	.rnr_expired = qp_nothing,
};

static void cq_event(void *context, struct rvt_cq *cq)
{
	assert_ptr_equal(context, &w);
	w.cq_events++;
	w.cq_event_cq = cq;
}

static void async_event(void *context, enum rvt_event event, struct rvt_qp *qp, struct rvt_cq *cq,
			struct rvt_srq *srq)
{
	assert_ptr_equal(context, &w);
	assert_int_equal((qp != NULL) + (cq != NULL) + (srq != NULL), 1);
	w.events[event]++;
	w.event_object = qp ? (const void *)qp : cq ? (const void *)cq : srq;
}

static void cause(void *context, enum rvt_verdict verdict, struct restrack_entry *object,
		  uint64_t value1, uint64_t value2)
{
	assert_ptr_equal(context, &w);
	w.causes[verdict]++;
	w.cause = verdict;
	w.cause_object = object;
	w.value1 = value1;
	w.value2 = value2;
}

static const struct rvt_observer observer = { cq_event, async_event, cause, &w };

struct rvt_device_config world_config(void)
{
	return (struct rvt_device_config){
		.allocator = &heap,
		.restrack = &w.restrack,
		.memory = &memory_ops,
		.transport = &transport_ops,
		.observer = &observer,
		.counters = w.counters,
		.seed = 1,
		.first_qpn = WORLD_FIRST_QPN,
		.qpn_count = WORLD_QPNS,
	};
}

int world_empty(void **state)
{
	struct ledger_identity identity = { .pid = 77, .slot = 1, .comm = "unit" };
	struct rvt_device_config config = world_config();

	(void)state;
	w = (struct world){ .fail_after = -1 };
	w.ledger = mmap(NULL, ledger_size(), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_ptr_not_equal(w.ledger, MAP_FAILED);
	assert_int_equal(ledger_format(w.ledger, ledger_size(), &identity), 0);
	assert_int_equal(restrack_init(&w.restrack, &heap, w.ledger), 0);
	assert_int_equal(rvt_device_init(&w.device, &config), 0);
	restrack_set_clock(&w.restrack, &w.device.now_ns);
	w.device.now_ns = 1000;
	w.port = (struct rvt_port){ .name = "adverb_unit", .active_mtu = RVT_MTU_1024, .up = true };
	w.port.gids[0] = (struct gid){ { [10] = 0xff, 0xff, 127, 0, 0, 1 } };
	w.port.gids[2] = (struct gid){ { 0xfe, 0x80, [15] = 1 } };
	return 0;
}

int world_open(void **state)
{
	assert_int_equal(world_empty(state), 0);
	assert_int_equal(rvt_context_open(&w.device, &w.port, &w.context), 0);
	assert_int_equal(rvt_alloc_pd(w.context, &w.pd), 0);
	return 0;
}

int world_close(void **state)
{
	(void)state;
	w.fail_after = -1;
	rvt_device_deinit(&w.device);
	assert_int_equal(restrack_clean(&w.restrack), 0);
	assert_int_equal(w.allocations, 0);
	munmap(w.ledger, ledger_size());
	return 0;
}

static uint32_t objects(void)
{
	uint32_t count = 0;

	for (int type = 0; type < RESTRACK_TYPES; type++)
		count += restrack_count(&w.restrack, (enum restrack_type)type, NULL);
	return count;
}

static unsigned fail_until_done(int (*create)(void **object), void (*destroy)(void *object),
				bool warm)
{
	for (unsigned n = 0;; n++) {
		uint32_t count = objects(), users = w.pd ? w.pd->users : 0;
		long before = w.allocations;
		void *object = NULL;
		int err;

		w.cause = RVT_OK;
		w.fail_after = n;
		err = create(&object);
		w.fail_after = -1;
		if (!err) {
			assert_non_null(object);
			destroy(object);
		} else {
			assert_int_equal(err, -ENOMEM);
			assert_int_equal(w.cause, RVT_NO_MEMORY);
		}
		assert_int_equal(objects(), count);
		assert_int_equal(w.pd ? w.pd->users : 0, users);
		if (warm)
			assert_int_equal(w.allocations, before);
		if (!err)
			return n;
	}
}

void world_fail_allocations(int (*create)(void **object), void (*destroy)(void *object))
{
	assert_int_not_equal(fail_until_done(create, destroy, false), 0);
	assert_int_not_equal(fail_until_done(create, destroy, true), 0);
}

bool world_record(enum restrack_type type, uint32_t id, struct ledger_record *record)
{
	struct ledger_reader reader;
	uint32_t cursor = 0;

	assert_int_equal(ledger_reader_open(&reader, w.ledger, ledger_size()), 0);
	while (ledger_reader_next(&reader, &cursor, record)) {
		if (record->type == type && record->id == id)
			return true;
	}
	return false;
}

uint64_t world_attribute(const struct restrack_entry *entry, unsigned attribute)
{
	struct ledger_record record;

	assert_true(world_record(entry->type, entry->id, &record));
	return record.attributes[attribute];
}

struct rvt_mr *world_region(void *memory, uint64_t length, uint32_t access)
{
	uint64_t address = (uintptr_t)memory;
	struct rvt_mr *mr;

	assert_int_equal(rvt_reg_mr(w.pd, address, length, address, access, &mr), 0);
	return mr;
}

struct rvt_qp *world_qp(struct rvt_cq *cq, struct rvt_srq *srq)
{
	struct rvt_qp_init init = {
		.type = RVT_QPT_RC,
		.send_cq = cq,
		.recv_cq = cq,
		.srq = srq,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 2, .max_recv_sge = 2 }
	};
	struct rvt_qp *qp;

	assert_int_equal(rvt_create_qp(w.pd, &init, &qp), 0);
	return qp;
}
