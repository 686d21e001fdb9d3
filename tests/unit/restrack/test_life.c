/* SPDX-License-Identifier: Apache-2.0 */
/* test_life.c - ids, look-ups, references and deletion of tracked objects */

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "restrack/ledger.h"
#include "restrack/restrack.h"

static long allocations, fail_after = -1;

static void *allocate(void *context, size_t size)
{
	(void)context;
	if (fail_after >= 0 && fail_after-- == 0)
		return NULL;
	allocations++;
	return calloc(1, size);
}

static void release(void *context, void *memory)
{
	(void)context;
	if (memory)
		allocations--;
	free(memory);
}

static const struct allocator heap = { .allocate = allocate, .release = release };

struct fixture {
	struct restrack_root root;
	void *ledger;
	uint64_t now;
};

static int setup(void **state)
{
	struct ledger_identity identity = { .pid = 77,
					    .slot = 3,
					    .comm = "a_program_with_a_long_name" };
	struct fixture *f = calloc(1, sizeof(*f));

	allocations = 0;
	fail_after = -1;
	f->ledger = mmap(NULL, ledger_size(), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_ptr_not_equal(f->ledger, MAP_FAILED);
	assert_int_equal(ledger_format(f->ledger, ledger_size(), &identity), 0);
	assert_int_equal(restrack_init(&f->root, &heap, f->ledger), 0);
	f->now = 1000;
	restrack_set_clock(&f->root, &f->now);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	restrack_clean(&f->root);
	assert_int_equal(allocations, 0);
	munmap(f->ledger, ledger_size());
	free(f);
	return 0;
}

static unsigned records(struct fixture *f, enum ledger_state state, struct ledger_record *last)
{
	struct ledger_reader reader;
	struct ledger_record record;
	uint32_t cursor = 0;
	unsigned count = 0;

	assert_int_equal(ledger_reader_open(&reader, f->ledger, ledger_size()), 0);
	while (ledger_reader_next(&reader, &cursor, &record)) {
		if (record.state != state)
			continue;
		count++;
		if (last)
			*last = record;
	}
	return count;
}

static void test_publish(void **state)
{
	struct fixture *f = *state;
	struct restrack_entry context, pd, qp;
	struct ledger_record record;

	restrack_new(&context, RESTRACK_CTX);
	restrack_set_port(&context, 2);
	assert_int_equal(restrack_add(&f->root, &context), 0);
	restrack_new(&pd, RESTRACK_PD);
	restrack_parent_name(&pd, &context);
	assert_int_equal(restrack_add(&f->root, &pd), 0);

	restrack_new(&qp, RESTRACK_QP);
	restrack_parent_name(&qp, &pd);
	assert_int_equal(restrack_take_id(&f->root, &qp, 500), 0);
	restrack_set(&qp, RESTRACK_QP_RQPN, 12);
	assert_null(restrack_get_byid(&f->root, RESTRACK_QP, 500));
	assert_int_equal(records(f, LEDGER_LIVE, NULL), 2);
	f->now = 4321;
	assert_int_equal(restrack_add(&f->root, &qp), 0);
	restrack_adjust(&qp, RESTRACK_QP_RETRIES, 5);
	restrack_adjust(&qp, RESTRACK_QP_RETRIES, -2);

	assert_int_equal(records(f, LEDGER_LIVE, &record), 3);
	assert_int_equal(record.type, RESTRACK_QP);
	assert_int_equal(record.id, 500);
	assert_int_equal(record.context, context.id);
	assert_int_equal(record.port, 2);
	assert_int_equal(record.pid, 77);
	assert_int_equal(record.flags, 0);
	assert_int_equal(record.created_ns, 4321);
	assert_string_equal(record.name, "a_program_with_");
	assert_int_equal(record.attributes[RESTRACK_QP_RQPN], 12);
	assert_int_equal(record.attributes[RESTRACK_QP_RETRIES], 3);

	assert_int_equal(restrack_count(&f->root, RESTRACK_QP, NULL), 1);
	assert_int_equal(restrack_count(&f->root, RESTRACK_QP, &context), 1);
	assert_int_equal(restrack_count(&f->root, RESTRACK_QP, &qp), 1);
	assert_int_equal(restrack_count(&f->root, RESTRACK_PD, &context), 1);
	assert_int_equal(restrack_count(&f->root, RESTRACK_MR, NULL), 0);
	assert_int_equal(restrack_del(&qp), 0);
	assert_int_equal(restrack_del(&pd), 0);
	assert_int_equal(restrack_del(&context), 0);
	assert_int_equal(records(f, LEDGER_LIVE, NULL), 0);
	assert_int_equal(restrack_clean(&f->root), 0);
}

static void test_owner(void **state)
{
	struct fixture *f = *state;
	struct restrack_entry gsi, made_for, child;
	struct ledger_record record;

	restrack_new(&gsi, RESTRACK_QP);
	restrack_set_name(&gsi, "gsi");
	assert_int_equal(restrack_take_id(&f->root, &gsi, 1), 0);
	assert_int_equal(restrack_add(&f->root, &gsi), 0);
	records(f, LEDGER_LIVE, &record);
	assert_int_equal(record.flags, LEDGER_LIBRARY);
	assert_int_equal(record.pid, 0);
	assert_string_equal(record.name, "gsi");

	restrack_new(&made_for, RESTRACK_CM_ID);
	restrack_attach_task(&made_for, 9, "other");
	restrack_new(&child, RESTRACK_AH);
	restrack_parent_name(&child, &made_for);
	assert_int_equal(restrack_add(&f->root, &child), 0);
	records(f, LEDGER_LIVE, &record);
	assert_int_equal(record.pid, 9);
	assert_string_equal(record.name, "other");
	assert_int_equal(restrack_clean(&f->root), 2);
	assert_int_equal(records(f, LEDGER_LIVE, NULL), 0);
}

static void test_id_back_only_after_commit(void **state)
{
	struct fixture *f = *state;
	struct restrack_entry a, b, c, d;

	assert_int_equal(restrack_set_range(&f->root, RESTRACK_QP, 100, 2, 7), 0);
	restrack_new(&a, RESTRACK_QP);
	restrack_new(&b, RESTRACK_QP);
	restrack_new(&c, RESTRACK_QP);
	restrack_new(&d, RESTRACK_QP);
	assert_int_equal(restrack_add(&f->root, &a), 0);
	assert_int_equal(a.id, 101);
	assert_int_equal(restrack_add(&f->root, &b), 0);
	assert_int_equal(b.id, 100);
	assert_int_equal(restrack_add(&f->root, &c), -ENOSPC);
	assert_int_equal(c.state, RESTRACK_NEW);

	assert_int_equal(restrack_begin_del(&a), 0);
	assert_int_equal(restrack_begin_del(&a), -ENOENT);
	assert_int_equal(restrack_add(&f->root, &c), -ENOSPC);
	assert_int_equal(restrack_take_id(&f->root, &c, 101), -EBUSY);
	assert_int_equal(restrack_take_id(&f->root, &c, 102), -ERANGE);
	assert_int_equal(records(f, LEDGER_DELETING, NULL), 1);
	assert_int_equal(restrack_commit_del(&a), 0);
	assert_int_equal(restrack_commit_del(&a), -EINVAL);
	assert_int_equal(restrack_add(&f->root, &c), 0);
	assert_int_equal(c.id, 101);

	/* A reservation that comes to nothing. */
	assert_int_equal(restrack_del(&c), 0);
	assert_int_equal(restrack_reserve(&f->root, &d), 0);
	assert_int_equal(d.id, 101);
	assert_int_equal(restrack_del(&d), 0);
	assert_int_equal(restrack_del(&d), 0);
	assert_int_equal(restrack_del(&b), 0);
	assert_int_equal(restrack_clean(&f->root), 0);
}

static void test_references(void **state)
{
	struct fixture *f = *state;
	struct restrack_entry mr, *found;

	restrack_new(&mr, RESTRACK_MR);
	assert_int_equal(restrack_get(&mr), -ENOENT);
	assert_int_equal(restrack_add(&f->root, &mr), 0);
	assert_false(restrack_sync(&mr));
	found = restrack_get_byid(&f->root, RESTRACK_MR, mr.id);
	assert_ptr_equal(found, &mr);
	assert_int_equal(restrack_get(&mr), 0);
	assert_true(restrack_sync(&mr));
	assert_false(restrack_put(&mr));
	assert_true(restrack_sync(&mr));

	assert_int_equal(restrack_del(&mr), -EBUSY);
	assert_int_equal(mr.state, RESTRACK_DELETING);
	assert_true(restrack_sync(&mr));
	assert_int_equal(restrack_get(&mr), -ENOENT);
	assert_null(restrack_get_byid(&f->root, RESTRACK_MR, mr.id));
	assert_int_equal(restrack_count(&f->root, RESTRACK_MR, NULL), 0);
	assert_int_equal(restrack_commit_del(&mr), -EBUSY);
	assert_true(restrack_put(&mr));
	assert_false(restrack_sync(&mr));
	assert_int_equal(restrack_commit_del(&mr), 0);
	assert_null(restrack_get_byid(&f->root, (enum restrack_type)99, 1));
}

static void test_abort(void **state)
{
	struct fixture *f = *state;
	struct restrack_entry cq;
	struct ledger_record record;
	uint32_t id = 0;

	restrack_new(&cq, RESTRACK_CQ);
	assert_int_equal(restrack_add(&f->root, &cq), 0);
	assert_int_equal(restrack_get(&cq), 0);
	f->now = 9999;
	assert_int_equal(restrack_begin_del(&cq), 0);
	assert_null(restrack_next(&f->root, RESTRACK_CQ, &id));
	restrack_abort_del(&cq);
	id = 0;
	assert_ptr_equal(restrack_next(&f->root, RESTRACK_CQ, &id), &cq);
	assert_int_equal(id, cq.id);
	assert_int_equal(records(f, LEDGER_LIVE, &record), 1);
	assert_int_equal(record.created_ns, 1000);
	assert_false(restrack_put(&cq));
	assert_int_equal(restrack_del(&cq), 0);
}

static void test_leaks(void **state)
{
	struct fixture *f = *state;
	struct restrack_entry kept, dying, reserved;

	restrack_new(&kept, RESTRACK_PD);
	restrack_new(&dying, RESTRACK_PD);
	restrack_new(&reserved, RESTRACK_PD);
	assert_int_equal(restrack_add(&f->root, &kept), 0);
	assert_int_equal(restrack_add(&f->root, &dying), 0);
	assert_int_equal(restrack_reserve(&f->root, &reserved), 0);
	assert_int_equal(restrack_begin_del(&dying), 0);
	assert_int_equal(restrack_clean(&f->root), 2);
	assert_int_equal(records(f, LEDGER_LIVE, NULL), 0);
	assert_int_equal(records(f, LEDGER_DELETING, NULL), 0);
}

static void test_without_ledger(void **state)
{
	struct restrack_root root;
	struct restrack_entry qp;

	(void)state;
	assert_int_equal(restrack_init(&root, &heap, NULL), 0);
	restrack_new(&qp, RESTRACK_QP);
	assert_int_equal(restrack_add(&root, &qp), 0);
	restrack_set(&qp, RESTRACK_QP_STATE, 1);
	restrack_adjust(&qp, RESTRACK_QP_SENDS, 1);
	assert_int_equal(restrack_begin_del(&qp), 0);
	restrack_abort_del(&qp);
	assert_int_equal(restrack_del(&qp), 0);
	assert_int_equal(restrack_clean(&root), 0);
}

static void test_no_memory(void **state)
{
	struct fixture *f = *state;
	struct restrack_root root;
	struct restrack_entry pd;
	int ret = -ENOMEM;

	for (long n = 0; ret; n++) {
		fail_after = n;
		ret = restrack_init(&root, &heap, NULL);
		if (ret)
			assert_int_equal(ret, -ENOMEM);
	}
	fail_after = -1;
	restrack_clean(&root);

	restrack_new(&pd, RESTRACK_PD);
	ret = -ENOMEM;
	for (long n = 0; ret; n++) {
		fail_after = n;
		ret = restrack_add(&f->root, &pd);
		if (ret) {
			assert_int_equal(ret, -ENOMEM);
			assert_int_equal(pd.state, RESTRACK_NEW);
			assert_int_equal(f->root.tables[RESTRACK_PD].used, 0);
		}
	}
	fail_after = -1;
	assert_int_equal(restrack_del(&pd), 0);
}

static void test_full_ledger(void **state)
{
	struct fixture *f = *state;
	struct restrack_entry a, b;

	restrack_new(&a, RESTRACK_PD);
	restrack_new(&b, RESTRACK_PD);
	assert_int_equal(restrack_add(&f->root, &a), 0);
	f->root.records_used = LEDGER_CAPACITY;
	assert_int_equal(restrack_add(&f->root, &b), -ENOMEM);
	assert_int_equal(f->root.tables[RESTRACK_PD].used, 1);
	f->root.records_used = 1;
	assert_int_equal(restrack_del(&a), 0);
	assert_int_equal(restrack_add(&f->root, &b), 0);
	assert_int_equal(f->root.records_used, 1);
}

/* At every moment each live object is found under its id, and no id means two objects. */
static void test_churn(void **state)
{
	enum {
		IDS = 8,
		STEPS = 20000
	};
	struct fixture *f = *state;
	struct restrack_entry entries[IDS + 2];
	uint64_t seed = 42;

	assert_int_equal(restrack_set_range(&f->root, RESTRACK_QP, 16, IDS, 3), 0);
	for (int i = 0; i < IDS + 2; i++)
		restrack_new(&entries[i], RESTRACK_QP);
	for (int step = 0; step < STEPS; step++) {
		struct restrack_entry *e;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		e = &entries[(seed >> 33) % (IDS + 2)];
		switch (e->state) {
		case RESTRACK_NEW: {
			int ret = restrack_add(&f->root, e);

			if (ret)
				assert_int_equal(f->root.tables[RESTRACK_QP].used, IDS);
			break;
		}
		case RESTRACK_TRACKED:
			assert_int_equal(restrack_begin_del(e), 0);
			break;
		default:
			if (seed >> 63)
				restrack_abort_del(e);
			else
				assert_int_equal(restrack_commit_del(e), 0);
		}
		for (int i = 0; i < IDS + 2; i++) {
			if (entries[i].state != RESTRACK_TRACKED)
				continue;
			assert_ptr_equal(restrack_get_byid(&f->root, RESTRACK_QP, entries[i].id),
					 &entries[i]);
			restrack_put(&entries[i]);
		}
	}
}

static void test_type_names(void **state)
{
	(void)state;
	for (int i = 0; i < RESTRACK_TYPES; i++)
		assert_true(strlen(restrack_type_name((enum restrack_type)i)) > 1);
	assert_string_equal(restrack_type_name((enum restrack_type)RESTRACK_TYPES), "?");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_publish),
		TEST(test_owner),
		TEST(test_id_back_only_after_commit),
		TEST(test_references),
		TEST(test_abort),
		TEST(test_leaks),
		cmocka_unit_test(test_without_ledger),
		TEST(test_no_memory),
		TEST(test_full_ledger),
		TEST(test_churn),
		cmocka_unit_test(test_type_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
