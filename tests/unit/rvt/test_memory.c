/* SPDX-License-Identifier: Apache-2.0 */
/* test_memory.c - regions, keys, access checks, scatter and gather */
#include "../seed.h"
#include "world.h"

#define WRITE_ALL                                                             \
 (RVT_ACCESS_LOCAL_WRITE | RVT_ACCESS_REMOTE_WRITE | RVT_ACCESS_REMOTE_READ | \
  RVT_ACCESS_REMOTE_ATOMIC)

static uint8_t buffer[4096];

static uint64_t at(unsigned offset)
{
	return (uintptr_t)buffer + offset;
}

static int reg(uint64_t address, uint64_t length, uint32_t access, struct rvt_mr **ret)
{
	return rvt_reg_mr(w.pd, address, length, address, access, ret);
}

static void test_access_flags(void **state)
{
	static const struct {
		uint32_t access;
		enum rvt_verdict verdict;
	} cases[] = {
		{ 0, RVT_OK },
		{ RVT_ACCESS_LOCAL_WRITE, RVT_OK },
		{ RVT_ACCESS_REMOTE_READ, RVT_OK },
		{ RVT_ACCESS_MW_BIND, RVT_OK },
		{ RVT_ACCESS_HUGETLB, RVT_OK },
		{ WRITE_ALL, RVT_OK },
		{ RVT_ACCESS_REMOTE_WRITE, RVT_BAD_ACCESS_FLAGS },
		{ RVT_ACCESS_REMOTE_ATOMIC, RVT_BAD_ACCESS_FLAGS },
		{ RVT_ACCESS_REMOTE_ATOMIC | RVT_ACCESS_REMOTE_READ, RVT_BAD_ACCESS_FLAGS },
		{ RVT_ACCESS_LOCAL_WRITE | RVT_ACCESS_REMOTE_WRITE, RVT_OK },
		{ RVT_ACCESS_LOCAL_WRITE | RVT_ACCESS_REMOTE_ATOMIC, RVT_OK },
		{ RVT_ACCESS_ON_DEMAND, RVT_OK },
		{ RVT_ACCESS_ON_DEMAND | RVT_ACCESS_LOCAL_WRITE, RVT_OK },
		{ 1u << 8, RVT_OK }, /* flush, to be seen by all */
		{ 1u << 9, RVT_NO_PERSISTENCE },
		{ 1u << 10, RVT_BAD_ACCESS_FLAGS },
		{ 1u << 19, RVT_BAD_ACCESS_FLAGS },
		{ 1u << 30, RVT_BAD_ACCESS_FLAGS },
		{ 1u << 31, RVT_BAD_ACCESS_FLAGS },
		{ 1u << 20, RVT_OK }, /* relaxed ordering */
		{ 1u << 29 | RVT_ACCESS_LOCAL_WRITE, RVT_OK },
		{ 1u << 20 | RVT_ACCESS_REMOTE_WRITE, RVT_BAD_ACCESS_FLAGS },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rvt_mr *mr = NULL;
		int err = reg(at(0), 100, cases[i].access, &mr);

		if (cases[i].verdict != RVT_OK) {
			world_refused(err, cases[i].verdict);
			assert_null(mr);
			continue;
		}
		assert_int_equal(err, 0);
		assert_int_equal(mr->access,
				 cases[i].access & ~(uint32_t)RVT_ACCESS_OPTIONAL_RANGE);
		if (!(cases[i].access & RVT_ACCESS_ON_DEMAND))
			assert_int_equal(w.probe_write,
					 (cases[i].access & RVT_ACCESS_LOCAL_WRITE) != 0);
		assert_int_equal(rvt_dereg_mr(mr), 0);
	}
	assert_int_equal(w.pd->users, 0);
}

static void test_ranges(void **state)
{
	struct rvt_mr *mr;

	(void)state;
	world_refused(reg(UINT64_MAX - 10, 12, 0, &mr), RVT_BAD_ARGUMENT);
	world_refused(reg(UINT64_MAX, UINT64_MAX, 0, &mr), RVT_BAD_ARGUMENT);
	world_refused(reg(0, rvt_limits.max_mr_size + 1, 0, &mr), RVT_BAD_ARGUMENT);
	world_refused(rvt_reg_mr(w.pd, at(0), 12, UINT64_MAX - 10, 0, &mr), RVT_BAD_ARGUMENT);
	assert_int_equal(w.probes, 0);
	w.probe_fails = true;
	world_refused(reg(at(0), 12, RVT_ACCESS_LOCAL_WRITE, &mr), RVT_MAPPING);
	assert_int_equal(w.value1, at(0));
	assert_int_equal(w.value2, 12);
	/* Nothing needs to be mapped for nothing. */
	assert_int_equal(reg(at(0), 0, 0, &mr), 0);
	assert_int_equal(w.probes, 1);
	assert_int_equal(rvt_dereg_mr(mr), 0);
	/* On demand, nothing needs to be there yet, and everything can be named. */
	assert_int_equal(reg(at(0), 12, RVT_ACCESS_ON_DEMAND, &mr), 0);
	assert_int_equal(rvt_dereg_mr(mr), 0);
	assert_int_equal(reg(0, UINT64_MAX, RVT_ACCESS_ON_DEMAND, &mr), 0);
	assert_true(rvt_mr_inside(mr, at(0), 12) && rvt_mr_inside(mr, 0, UINT64_MAX));
	assert_int_equal(rvt_dereg_mr(mr), 0);
	world_refused(reg(1, UINT64_MAX, RVT_ACCESS_ON_DEMAND, &mr), RVT_BAD_ARGUMENT);
	assert_int_equal(w.probes, 1);
	w.probe_fails = false;
	/* Up to the last byte but one: the end itself can be named. */
	assert_int_equal(reg(UINT64_MAX - 12, 12, 0, &mr), 0);
	assert_int_equal(rvt_dereg_mr(mr), 0);
	assert_int_equal(w.pd->users, 0);
}

static void test_keys(void **state)
{
	enum {
		COUNT = 3000
	};
	uint32_t *seen = calloc(COUNT, sizeof(*seen));
	bool variants = false;

	(void)state;
	for (unsigned i = 0; i < COUNT; i++) {
		struct rvt_mr *mr = world_region(buffer, 10, 0);

		seen[i] = mr->key;
		assert_int_not_equal(mr->key, 0);
		assert_int_equal(mr->key >> 8, mr->res.id);
		assert_in_range(mr->res.id, 1, rvt_limits.max_mr);
		assert_ptr_equal(rvt_find_mr(&w.device, mr->key), mr);
		assert_null(rvt_find_mr(&w.device, mr->key ^ 1));
		assert_null(rvt_find_mr(&w.device, mr->key ^ 0x100));
		/* An id that came back would make an old key dangerous. */
		if (i) {
			assert_int_not_equal(seen[i] >> 8, seen[i - 1] >> 8);
			variants |= (uint8_t)seen[i] != (uint8_t)seen[0];
			assert_null(rvt_find_mr(&w.device, seen[i - 1]));
		}
		if (i > 100)
			assert_int_not_equal(seen[i] >> 8, seen[i - 100] >> 8);
		assert_int_equal(rvt_dereg_mr(mr), 0);
	}
	assert_true(variants);
	free(seen);
	for (uint32_t key = 0; key < 512; key++)
		assert_null(rvt_find_mr(&w.device, key));
	assert_null(rvt_find_mr(&w.device, UINT32_MAX));
}

static void test_key_space_exhausted(void **state)
{
	struct rvt_mr *mr[3];

	(void)state;
	assert_int_equal(restrack_set_range(&w.restrack, RESTRACK_MR, 1, 2, 0), 0);
	mr[0] = world_region(buffer, 10, 0);
	mr[1] = world_region(buffer, 10, 0);
	world_refused(reg(at(0), 10, 0, &mr[2]), RVT_NO_MEMORY);
	assert_int_equal(rvt_dereg_mr(mr[0]), 0);
	mr[2] = world_region(buffer, 10, 0);
	assert_int_equal(rvt_dereg_mr(mr[1]), 0);
	assert_int_equal(rvt_dereg_mr(mr[2]), 0);
}

static enum rvt_verdict lkey(struct rvt_pd *pd, uint32_t key, uint64_t address, uint32_t length,
			     bool write, uint64_t *real)
{
	struct rvt_sge sge = { .addr = address, .length = length, .lkey = key };
	struct rvt_mr *mr = NULL;
	enum rvt_verdict verdict = rvt_lkey_ok(pd, &sge, write, &mr, real);

	assert_int_equal(mr != NULL, verdict == RVT_OK);
	rvt_put_mr(mr);
	return verdict;
}

static enum rvt_verdict rkey(struct rvt_pd *pd, uint32_t key, uint64_t address, uint64_t length,
			     uint32_t access, uint64_t *real)
{
	struct rvt_mr *mr = NULL;
	enum rvt_verdict verdict = rvt_rkey_ok(pd, key, address, length, access, &mr, real);

	assert_int_equal(mr != NULL, verdict == RVT_OK);
	rvt_put_mr(mr);
	return verdict;
}

/* A region of 100 bytes that is called @iova: every range that fits, and none else. */
static void check_range_edges(uint64_t iova)
{
	static const struct {
		int64_t offset;
		uint32_t length;
		bool fits;
	} cases[] = {
		{ 0, 1, true },		 { 0, 100, true },	    { 99, 1, true },
		{ 40, 60, true },	 { 0, 101, false },	    { 1, 100, false },
		{ 100, 1, false },	 { -1, 1, false },	    { -1, 101, false },
		{ 99, 2, false },	 { 50, UINT32_MAX, false }, { -1, UINT32_MAX, false },
		{ INT64_MAX, 1, false },
	};
	struct rvt_mr *mr;

	assert_int_equal(rvt_reg_mr(w.pd, at(0), 100, iova, WRITE_ALL, &mr), 0);
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t va = iova + (uint64_t)cases[i].offset, real = 0;

		assert_int_equal(lkey(w.pd, mr->key, va, cases[i].length, true, &real),
				 cases[i].fits ? RVT_OK : RVT_LKEY_RANGE);
		if (cases[i].fits)
			assert_int_equal(real, at((unsigned)cases[i].offset));
		real = 0;
		assert_int_equal(
			rkey(w.pd, mr->key, va, cases[i].length, RVT_ACCESS_REMOTE_WRITE, &real),
			cases[i].fits ? RVT_OK : RVT_RKEY_RANGE);
		if (cases[i].fits)
			assert_int_equal(real, at((unsigned)cases[i].offset));
	}
	/* Lengths that only a peer can name. */
	assert_int_equal(
		rkey(w.pd, mr->key, iova, UINT64_MAX, RVT_ACCESS_REMOTE_WRITE, &(uint64_t){ 0 }),
		RVT_RKEY_RANGE);
	assert_int_equal(rkey(w.pd, mr->key, iova + 1, UINT64_MAX, RVT_ACCESS_REMOTE_WRITE,
			      &(uint64_t){ 0 }),
			 RVT_RKEY_RANGE);
	assert_int_equal(rvt_dereg_mr(mr), 0);
}

static void test_range_edges(void **state)
{
	(void)state;
	check_range_edges(at(0));
	check_range_edges(0);
	check_range_edges(1);
	check_range_edges(UINT64_MAX - 100);
	check_range_edges(UINT64_C(1) << 63);
}

static void test_check_order(void **state)
{
	struct rvt_mr *mr = world_region(buffer, 100, RVT_ACCESS_REMOTE_READ);
	uint32_t key = mr->key;
	struct rvt_pd *other;
	uint64_t real;

	(void)state;
	assert_int_equal(rvt_alloc_pd(w.context, &other), 0);
	/* Everything is wrong; one after another is put right. */
	assert_int_equal(rkey(other, key + 1, at(99), 50, RVT_ACCESS_REMOTE_WRITE, &real),
			 RVT_RKEY_UNKNOWN);
	assert_int_equal(rkey(other, key, at(99), 50, RVT_ACCESS_REMOTE_WRITE, &real), RVT_RKEY_PD);
	assert_int_equal(rkey(w.pd, key, at(99), 50, RVT_ACCESS_REMOTE_WRITE, &real),
			 RVT_RKEY_ACCESS);
	assert_int_equal(rkey(w.pd, key, at(99), 50, RVT_ACCESS_REMOTE_ATOMIC, &real),
			 RVT_RKEY_ACCESS);
	assert_int_equal(rkey(w.pd, key, at(99), 50, RVT_ACCESS_REMOTE_READ, &real),
			 RVT_RKEY_RANGE);
	assert_int_equal(rkey(w.pd, key, at(50), 50, RVT_ACCESS_REMOTE_READ, &real), RVT_OK);

	assert_int_equal(lkey(other, key + 1, at(99), 50, true, &real), RVT_LKEY_UNKNOWN);
	assert_int_equal(lkey(other, 0, at(99), 50, true, &real), RVT_LKEY_UNKNOWN);
	assert_int_equal(lkey(other, key, at(99), 50, true, &real), RVT_LKEY_PD);
	assert_int_equal(lkey(w.pd, key, at(99), 50, true, &real), RVT_LKEY_ACCESS);
	assert_int_equal(lkey(w.pd, key, at(99), 50, false, &real), RVT_LKEY_RANGE);
	/* Local reading is always allowed. */
	assert_int_equal(lkey(w.pd, key, at(50), 50, false, &real), RVT_OK);
	assert_int_equal(rvt_dereg_mr(mr), 0);
	assert_int_equal(lkey(w.pd, key, at(50), 50, false, &real), RVT_LKEY_UNKNOWN);
	assert_int_equal(rkey(w.pd, key, at(50), 50, RVT_ACCESS_REMOTE_READ, &real),
			 RVT_RKEY_UNKNOWN);
}

static void test_zero_based(void **state)
{
	struct rvt_mr *mr;
	uint64_t real;

	(void)state;
	assert_int_equal(reg(at(16), 100, RVT_ACCESS_ZERO_BASED | RVT_ACCESS_LOCAL_WRITE, &mr), 0);
	assert_int_equal(lkey(w.pd, mr->key, 99, 1, true, &real), RVT_OK);
	assert_int_equal(real, at(16 + 99));
	assert_int_equal(lkey(w.pd, mr->key, at(16), 1, true, &real), RVT_LKEY_RANGE);
	assert_int_equal(world_attribute(&mr->res, RESTRACK_MR_IOVA), 0);
	assert_int_equal(rvt_dereg_mr(mr), 0);
}

static void test_ledger(void **state)
{
	struct rvt_mr *mr;
	struct ledger_record record;
	uint32_t id;

	(void)state;
	assert_int_equal(rvt_reg_mr(w.pd, at(0), 100, 0x1000, WRITE_ALL, &mr), 0);
	assert_true(world_record(RESTRACK_MR, mr->res.id, &record));
	assert_int_equal(record.state, LEDGER_LIVE);
	assert_int_equal(record.context, w.context->res.id);
	assert_int_equal(record.created_ns, 1000);
	assert_int_equal(record.pid, 77);
	assert_int_equal(record.attributes[RESTRACK_MR_LKEY], mr->key);
	assert_int_equal(record.attributes[RESTRACK_MR_RKEY], mr->key);
	assert_int_equal(record.attributes[RESTRACK_MR_LENGTH], 100);
	assert_int_equal(record.attributes[RESTRACK_MR_IOVA], 0x1000);
	assert_int_equal(record.attributes[RESTRACK_MR_PDN], w.pd->res.id);
	assert_int_equal(record.attributes[RESTRACK_MR_ACCESS], WRITE_ALL);
	assert_int_equal(world_attribute(&w.pd->res, RESTRACK_PD_USERS), 1);
	/* A work request holds the region: going, but not gone, and its id is nobody else's. */
	id = mr->res.id;
	rvt_get_mr(mr);
	assert_int_equal(rvt_dereg_mr(mr), 0);
	assert_true(world_record(RESTRACK_MR, id, &record));
	assert_int_equal(record.state, LEDGER_DELETING);
	assert_int_equal(world_attribute(&w.pd->res, RESTRACK_PD_USERS), 0);
	rvt_put_mr(mr);
	assert_false(world_record(RESTRACK_MR, id, &record));
}

static void test_rereg(void **state)
{
	struct rvt_mr *mr = world_region(buffer, 100, RVT_ACCESS_LOCAL_WRITE);
	uint32_t key = mr->key, generation = mr->generation;
	struct rvt_context *context;
	struct rvt_pd *other, *foreign;
	uint64_t real;

	(void)state;
	assert_int_equal(rvt_alloc_pd(w.context, &other), 0);
	assert_int_equal(rvt_context_open(&w.device, &w.port, &context), 0);
	assert_int_equal(rvt_alloc_pd(context, &foreign), 0);

	/* What is refused changes nothing. */
	world_refused(rvt_rereg_mr(mr, 0, NULL, 0, 0, 0), RVT_BAD_ARGUMENT);
	world_refused(rvt_rereg_mr(mr, 8 | RVT_REREG_PD, other, 0, 0, 0), RVT_BAD_ARGUMENT);
	world_refused(rvt_rereg_mr(mr, RVT_REREG_PD, NULL, 0, 0, 0), RVT_BAD_ARGUMENT);
	world_refused(rvt_rereg_mr(mr, RVT_REREG_PD, foreign, 0, 0, 0), RVT_BAD_ARGUMENT);
	world_refused(rvt_rereg_mr(mr, RVT_REREG_PD | RVT_REREG_ACCESS, other, 0, 0, 1u << 10),
		      RVT_BAD_ACCESS_FLAGS);
	world_refused(rvt_rereg_mr(mr, RVT_REREG_TRANSLATION, NULL, UINT64_MAX, 2, 0),
		      RVT_BAD_ARGUMENT);
	w.probe_fails = true;
	world_refused(rvt_rereg_mr(mr, 7, other, at(200), 50, 0), RVT_MAPPING);
	w.probe_fails = false;
	assert_int_equal(mr->generation, generation);
	assert_int_equal(lkey(w.pd, key, at(0), 100, true, &real), RVT_OK);

	assert_int_equal(rvt_rereg_mr(mr, RVT_REREG_TRANSLATION, NULL, at(200), 50, 0), 0);
	assert_int_not_equal(mr->generation, generation);
	assert_int_equal(mr->key, key);
	assert_int_equal(lkey(w.pd, key, at(0), 10, true, &real), RVT_LKEY_RANGE);
	assert_int_equal(lkey(w.pd, key, at(200), 50, true, &real), RVT_OK);
	assert_int_equal(world_attribute(&mr->res, RESTRACK_MR_LENGTH), 50);

	generation = mr->generation;
	assert_int_equal(rvt_rereg_mr(mr, RVT_REREG_PD, other, 0, 0, 0), 0);
	assert_int_not_equal(mr->generation, generation);
	assert_int_equal(lkey(w.pd, key, at(200), 50, true, &real), RVT_LKEY_PD);
	assert_int_equal(lkey(other, key, at(200), 50, true, &real), RVT_OK);
	assert_int_equal(w.pd->users, 0);
	assert_int_equal(other->users, 1);
	assert_int_equal(world_attribute(&mr->res, RESTRACK_MR_PDN), other->res.id);

	generation = mr->generation;
	assert_int_equal(rvt_rereg_mr(mr, RVT_REREG_ACCESS, NULL, 0, 0, RVT_ACCESS_REMOTE_READ), 0);
	assert_int_not_equal(mr->generation, generation);
	assert_int_equal(lkey(other, key, at(200), 50, true, &real), RVT_LKEY_ACCESS);
	assert_int_equal(rkey(other, key, at(200), 50, RVT_ACCESS_REMOTE_READ, &real), RVT_OK);

	assert_int_equal(rvt_dereg_mr(mr), 0);
	assert_int_equal(other->users, 0);
	rvt_context_close(context);
}

static void test_null_region(void **state)
{
	struct rvt_mr *mr;
	struct rvt_segment segment;
	struct rvt_sge_list list = { .segments = &segment };
	struct rvt_sge sge = { .addr = 0xdead0000, .length = 16 };
	uint8_t bytes[16], zero[16] = { 0 };
	uint32_t bad;
	uint64_t real;

	(void)state;
	assert_int_equal(rvt_alloc_null_mr(w.pd, &mr), 0);
	sge.lkey = mr->key;
	assert_int_equal(rvt_sge_list_set(&list, w.pd, &sge, 1, true, &bad), RVT_OK);
	memset(bytes, 7, sizeof(bytes));
	assert_int_equal(rvt_copy_to_sge(&w.device, &list, 0, bytes, 16), RVT_OK);
	assert_int_equal(rvt_copy_from_sge(&w.device, &list, 0, bytes, 16), RVT_OK);
	assert_memory_equal(bytes, zero, 16);
	rvt_sge_list_put(&list);
	assert_int_equal(rkey(w.pd, mr->key, 0, 1, RVT_ACCESS_LOCAL_WRITE, &real),
			 RVT_RKEY_UNKNOWN);
	world_refused(rvt_rereg_mr(mr, RVT_REREG_ACCESS, NULL, 0, 0, 0), RVT_BAD_ARGUMENT);
	assert_int_equal(world_attribute(&mr->res, RESTRACK_MR_RKEY), 0);
	assert_int_equal(rvt_dereg_mr(mr), 0);
}

static enum rvt_verdict bind(struct rvt_qp *qp, struct rvt_mw *mw, struct rvt_mr *region,
			     unsigned offset, uint64_t length, uint32_t access, uint32_t key)
{
	struct rvt_swqe wqe = { .opcode = RVT_WR_BIND_MW,
				.bind = { mw, region, at(offset), length, access, key } };

	return rvt_execute_local(qp, &wqe);
}

/* What a window does to its region, and that it is one for peers only. */
static void test_windows(void **state)
{
	struct rvt_mr *region = world_region(buffer, 100, WRITE_ALL | RVT_ACCESS_MW_BIND);
	struct rvt_mr *plain = world_region(buffer, 100, WRITE_ALL), *mr;
	struct rvt_cq *cq;
	struct rvt_qp *qp;
	struct rvt_mw *mw;
	uint64_t real;
	uint32_t key;

	(void)state;
	assert_int_equal(rvt_create_cq(w.context, 16, &cq), 0);
	qp = world_qp(cq, NULL);
	world_refused(rvt_alloc_mw(w.pd, (enum rvt_mw_type)0, &mw), RVT_BAD_ARGUMENT);
	world_refused(rvt_alloc_mw(w.pd, (enum rvt_mw_type)3, &mw), RVT_BAD_ARGUMENT);
	assert_int_equal(rvt_alloc_mw(w.pd, RVT_MW_TYPE_2, &mw), 0);
	key = mw->mr.key;
	assert_true(mw->mr.res.id >= RVT_FIRST_MW);
	assert_null(rvt_find_mr(&w.device, key));

	assert_int_equal(bind(qp, mw, plain, 10, 20, RVT_ACCESS_REMOTE_READ, key),
			 RVT_BIND_REFUSED);
	assert_int_equal(bind(qp, mw, region, 90, 20, RVT_ACCESS_REMOTE_READ, key),
			 RVT_BIND_REFUSED);
	assert_int_equal(bind(qp, mw, region, 10, 20, RVT_ACCESS_REMOTE_READ, key), RVT_OK);
	assert_int_equal(rkey(w.pd, key, at(10), 20, RVT_ACCESS_REMOTE_READ, &real), RVT_OK);
	assert_int_equal(real, at(10));
	assert_int_equal(rkey(w.pd, key, at(9), 20, RVT_ACCESS_REMOTE_READ, &real), RVT_RKEY_RANGE);
	assert_int_equal(rkey(w.pd, key, at(10), 20, RVT_ACCESS_REMOTE_WRITE, &real),
			 RVT_RKEY_ACCESS);
	assert_int_equal(lkey(w.pd, key, at(10), 20, false, &real), RVT_LKEY_UNKNOWN);
	world_refused(rvt_dereg_mr(region), RVT_IN_USE);
	world_refused(rvt_rereg_mr(region, RVT_REREG_ACCESS, NULL, 0, 0, 0), RVT_IN_USE);

	/* An access in progress sees the window end. */
	assert_int_equal(rvt_rkey_ok(w.pd, key, at(10), 20, RVT_ACCESS_REMOTE_READ, &mr, &real),
			 RVT_OK);
	assert_true(rvt_invalidate_window(qp, key));
	assert_false(mr->valid);
	rvt_put_mr(mr);
	assert_false(rvt_invalidate_window(qp, key));
	assert_false(rvt_invalidate_window(qp, plain->key));
	assert_int_equal(rkey(w.pd, key, at(10), 20, RVT_ACCESS_REMOTE_READ, &real),
			 RVT_RKEY_UNKNOWN);
	/* Bound again, and left with its QP. */
	assert_int_equal(bind(qp, mw, region, 0, 100, RVT_ACCESS_REMOTE_WRITE, key), RVT_OK);
	assert_int_equal(rvt_destroy_qp(qp), 0);
	assert_int_equal(rkey(w.pd, key, at(0), 1, RVT_ACCESS_REMOTE_WRITE, &real),
			 RVT_RKEY_UNKNOWN);
	assert_int_equal(rvt_dereg_mr(region), 0);
	assert_int_equal(rvt_dealloc_mw(mw), 0);
}

static void test_sge_list(void **state)
{
	struct rvt_mr *a = world_region(buffer, 100, RVT_ACCESS_LOCAL_WRITE);
	struct rvt_mr *b = world_region(buffer + 100, 100, 0);
	struct rvt_segment segments[4];
	struct rvt_sge_list list = { .segments = segments };
	struct rvt_sge sges[4] = { { at(10), 20, a->key },
				   { 0xbad, 0, 0xbad }, /* of no length: not looked at */
				   { at(100), 100, b->key },
				   { at(0), 5, a->key } };
	uint32_t bad = 99;

	(void)state;
	assert_int_equal(rvt_sge_list_set(&list, w.pd, sges, 4, false, &bad), RVT_OK);
	assert_int_equal(list.count, 3);
	assert_int_equal(list.length, 125);
	assert_int_equal(a->references, 3);
	assert_int_equal(b->references, 2);
	rvt_sge_list_put(&list);
	rvt_sge_list_put(&list);
	assert_int_equal(list.count, 0);
	assert_int_equal(list.length, 0);
	assert_int_equal(a->references, 1);
	assert_int_equal(b->references, 1);

	/* The third is read-only. */
	assert_int_equal(rvt_sge_list_set(&list, w.pd, sges, 4, true, &bad), RVT_LKEY_ACCESS);
	assert_int_equal(bad, 2);
	assert_int_equal(list.count, 0);
	assert_int_equal(a->references, 1);
	sges[3].lkey++;
	assert_int_equal(rvt_sge_list_set(&list, w.pd, sges, 4, false, &bad), RVT_LKEY_UNKNOWN);
	assert_int_equal(bad, 3);
	assert_int_equal(a->references, 1);
	assert_int_equal(b->references, 1);
	assert_int_equal(rvt_sge_list_set(&list, w.pd, sges, 0, false, &bad), RVT_OK);
	assert_int_equal(list.length, 0);
	assert_int_equal(rvt_sge_list_set(&list, w.pd, &sges[1], 1, false, &bad), RVT_OK);
	assert_int_equal(list.count, 0);
}

static void test_message_length(void **state)
{
	struct rvt_segment segments[4];
	struct rvt_sge_list list = { .segments = segments };
	struct rvt_sge sges[4];
	struct rvt_mr *mr;
	uint32_t bad;

	(void)state;
	/* Nobody touches it. */
	assert_int_equal(reg(0x10000, UINT64_C(1) << 33, 0, &mr), 0);
	for (unsigned i = 0; i < 4; i++)
		sges[i] = (struct rvt_sge){ 0x10000, 1u << 30, mr->key };
	assert_int_equal(rvt_sge_list_set(&list, w.pd, sges, 2, false, &bad), RVT_OK);
	assert_int_equal(list.length, RVT_MAX_MESSAGE);
	rvt_sge_list_put(&list);
	sges[2].length = 1;
	assert_int_equal(rvt_sge_list_set(&list, w.pd, sges, 3, false, &bad), RVT_SEND_TOO_LONG);
	assert_int_equal(bad, 2);
	/* The second one takes the sum exactly to 2^32. */
	sges[0].length = sges[1].length = 1u << 31;
	assert_int_equal(rvt_sge_list_set(&list, w.pd, sges, 2, false, &bad), RVT_SEND_TOO_LONG);
	assert_int_equal(bad, 1);
	/* Far beyond: the sum must not wrap to something small. */
	for (unsigned i = 0; i < 4; i++)
		sges[i].length = UINT32_MAX;
	assert_int_equal(rvt_sge_list_set(&list, w.pd, sges, 4, false, &bad), RVT_SEND_TOO_LONG);
	assert_int_equal(mr->references, 1);
}

static void test_gone(void **state)
{
	static uint8_t other[100];
	struct rvt_mr *mr = world_region(buffer, 100, RVT_ACCESS_LOCAL_WRITE);
	struct rvt_segment segment;
	struct rvt_sge_list list = { .segments = &segment };
	struct rvt_sge sge = { at(0), 100, mr->key };
	uint8_t bytes[100];
	uint32_t bad;

	(void)state;
	memset(buffer, 1, 100);
	memset(bytes, 2, 100);
	assert_int_equal(rvt_sge_list_set(&list, w.pd, &sge, 1, true, &bad), RVT_OK);
	assert_int_equal(rvt_rereg_mr(mr, RVT_REREG_TRANSLATION, NULL, (uintptr_t)other, 100, 0),
			 0);
	assert_int_equal(rvt_copy_to_sge(&w.device, &list, 0, bytes, 100), RVT_MR_GONE);
	assert_int_equal(rvt_copy_from_sge(&w.device, &list, 0, bytes, 100), RVT_MR_GONE);
	rvt_sge_list_put(&list);
	sge.addr = (uintptr_t)other;
	assert_int_equal(rvt_sge_list_set(&list, w.pd, &sge, 1, true, &bad), RVT_OK);
	assert_int_equal(rvt_dereg_mr(mr), 0);
	assert_int_equal(rvt_copy_to_sge(&w.device, &list, 0, bytes, 100), RVT_MR_GONE);
	/* The PD may go while a work request still refers to the region. */
	assert_int_equal(rvt_dealloc_pd(w.pd), 0);
	w.pd = NULL;
	assert_int_equal(rvt_copy_from_sge(&w.device, &list, 0, bytes, 100), RVT_MR_GONE);
	assert_int_equal(buffer[0], 1);
	assert_int_equal(other[0], 0);
	rvt_sge_list_put(&list);
}

static void test_fault(void **state)
{
	struct rvt_mr *mr = world_region(buffer, 300, RVT_ACCESS_LOCAL_WRITE);
	struct rvt_segment segments[3];
	struct rvt_sge_list list = { .segments = segments };
	struct rvt_sge sges[3] = { { at(0), 10, mr->key },
				   { at(100), 10, mr->key },
				   { at(200), 10, mr->key } };
	uint8_t bytes[30];
	uint32_t bad;

	(void)state;
	assert_int_equal(rvt_sge_list_set(&list, w.pd, sges, 3, true, &bad), RVT_OK);
	memset(buffer, 0, 300);
	memset(bytes, 5, 30);
	w.bad_from = at(105);
	w.bad_to = at(106);
	assert_int_equal(rvt_copy_to_sge(&w.device, &list, 0, bytes, 30), RVT_MEMORY_FAULT);
	assert_int_equal(buffer[9], 5);
	assert_int_equal(buffer[200], 0);
	assert_int_equal(rvt_copy_from_sge(&w.device, &list, 0, bytes, 30), RVT_MEMORY_FAULT);
	assert_int_equal(rvt_copy_from_sge(&w.device, &list, 15, bytes, 1), RVT_MEMORY_FAULT);
	assert_int_equal(rvt_copy_from_sge(&w.device, &list, 0, bytes, 15), RVT_OK);
	assert_int_equal(rvt_copy_to_sge(&w.device, &list, 16, bytes, 14), RVT_OK);
	rvt_sge_list_put(&list);
}

/* Any cut of memory into segments, and any range of it, against one run of bytes. */
static void test_copy_by_chance(void **state)
{
	struct rvt_mr *mr = world_region(buffer, sizeof(buffer), RVT_ACCESS_LOCAL_WRITE);
	struct rvt_segment segments[RVT_MAX_SGE];
	struct rvt_sge_list list = { .segments = segments };
	static uint8_t model[sizeof(buffer)], piece[sizeof(buffer)];
	struct random r;

	(void)state;
	seed(&r);
	for (unsigned round = 0; round < 3000; round++) {
		struct rvt_sge sges[RVT_MAX_SGE];
		uint32_t count = 1 + random_below(&r, RVT_MAX_SGE), bad, offset, length, place = 0;

		/* Pieces that do not overlap, with gaps between them, some empty. */
		for (uint32_t i = 0; i < count; i++) {
			uint32_t size = random_below(&r, 4) ? random_below(&r, 60) : 0;

			sges[i] = (struct rvt_sge){ at(place), size, mr->key };
			place += size + random_below(&r, 60);
		}
		assert_int_equal(rvt_sge_list_set(&list, w.pd, sges, count, true, &bad), RVT_OK);
		for (uint32_t i = 0; i < sizeof(buffer); i++)
			buffer[i] = (uint8_t)random_next(&r);
		place = 0;
		for (uint32_t i = 0; i < count; i++) {
			memcpy(model + place, (void *)(uintptr_t)sges[i].addr, sges[i].length);
			place += sges[i].length;
		}
		assert_int_equal(place, list.length);
		for (unsigned n = 0; n < 8; n++) {
			offset = random_below(&r, list.length + 1);
			length = random_below(&r, list.length - offset + 1);
			if (n & 1) {
				for (uint32_t i = 0; i < length; i++)
					model[offset + i] = piece[i] = (uint8_t)random_next(&r);
				assert_int_equal(
					rvt_copy_to_sge(&w.device, &list, offset, piece, length),
					RVT_OK);
			}
			memset(piece, 0, sizeof(piece));
			assert_int_equal(rvt_copy_from_sge(&w.device, &list, offset, piece, length),
					 RVT_OK);
			assert_memory_equal(piece, model + offset, length);
			assert_int_equal(piece[length], 0);
		}
		assert_int_equal(rvt_copy_from_sge(&w.device, &list, 0, piece, list.length),
				 RVT_OK);
		assert_memory_equal(piece, model, list.length);
		rvt_sge_list_put(&list);
	}
	assert_int_equal(mr->references, 1);
}

static int fail_reg(void **object)
{
	struct rvt_mr *mr;
	int err = reg(at(0), 100, 0, &mr);

	*object = err ? NULL : mr;
	return err;
}

static int fail_null(void **object)
{
	struct rvt_mr *mr;
	int err = rvt_alloc_null_mr(w.pd, &mr);

	*object = err ? NULL : mr;
	return err;
}

static int fail_window(void **object)
{
	struct rvt_mw *mw;
	int err = rvt_alloc_mw(w.pd, RVT_MW_TYPE_1, &mw);

	*object = err ? NULL : mw;
	return err;
}

static void fail_dealloc(void *object)
{
	assert_int_equal(rvt_dealloc_mw(object), 0);
}

static void fail_dereg(void *object)
{
	assert_int_equal(rvt_dereg_mr(object), 0);
}

static void test_allocations(void **state)
{
	(void)state;
	world_fail_allocations(fail_reg, fail_dereg);
	world_fail_allocations(fail_null, fail_dereg);
	world_fail_allocations(fail_window, fail_dealloc);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, world_open, world_close)
	const struct CMUnitTest tests[] = {
		TEST(test_access_flags),	TEST(test_ranges),	TEST(test_keys),
		TEST(test_key_space_exhausted), TEST(test_range_edges), TEST(test_check_order),
		TEST(test_zero_based),		TEST(test_ledger),	TEST(test_rereg),
		TEST(test_null_region),		TEST(test_windows),	TEST(test_sge_list),
		TEST(test_message_length),	TEST(test_gone),	TEST(test_fault),
		TEST(test_copy_by_chance),	TEST(test_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
