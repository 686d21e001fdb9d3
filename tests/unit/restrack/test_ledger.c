/* SPDX-License-Identifier: Apache-2.0 */
/* test_ledger.c - readers of a ledger that is written, and of one that is garbage */

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "restrack/ledger.h"
#include "restrack/restrack.h"

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

static const struct allocator heap = { .allocate = allocate, .release = release };

static const struct ledger_identity identity = {
	.pid = 5, .slot = 9, .start_time = 123, .now_ns = 456, .comm = "prog"
};

static int setup(void **state)
{
	*state = mmap(NULL, ledger_size(), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_ptr_not_equal(*state, MAP_FAILED);
	assert_int_equal(ledger_format(*state, ledger_size(), &identity), 0);
	return 0;
}

static int teardown(void **state)
{
	munmap(*state, ledger_size());
	return 0;
}

static void test_header(void **state)
{
	struct ledger_reader reader;
	uint64_t nothing[16] = { 0 };

	assert_int_equal(ledger_format(nothing, sizeof(nothing), &identity), -EINVAL);
	assert_int_equal(ledger_reader_open(&reader, nothing, sizeof(nothing)), -EINVAL);
	assert_int_equal(ledger_reader_open(&reader, NULL, ledger_size()), -EINVAL);
	ledger_set_slot(*state, 11);
	assert_int_equal(ledger_reader_open(&reader, *state, ledger_size()), 0);
	assert_int_equal(reader.header.pid, 5);
	assert_int_equal(reader.header.slot, 11);
	assert_int_equal(reader.header.start_time, 123);
	assert_string_equal(reader.header.comm, "prog");
	((struct ledger_header *)*state)->version++;
	assert_int_equal(ledger_reader_open(&reader, *state, ledger_size()), -EINVAL);
}

static void test_ports_and_counters(void **state)
{
	struct ledger_reader reader;
	struct ledger_port port;
	char name[LEDGER_COUNTER_NAME];
	uint64_t value;

	ledger_set_port(*state, 1, "adverb_lo", "lo\x1b[2J", 1, 0x42, true);
	ledger_set_port(*state, LEDGER_PORTS, "outside", "lo", 1, 0, true);
	ledger_name_counter(*state, 0, "sent_pkts");
	ledger_name_counter(*state, 1, "rcvd_pkts");
	ledger_name_counter(*state, LEDGER_COUNTERS, "outside");
	ledger_counters(*state)[1] = 17;
	assert_int_equal(ledger_reader_open(&reader, *state, ledger_size()), 0);
	assert_false(ledger_reader_port(&reader, 0, &port));
	assert_false(ledger_reader_port(&reader, LEDGER_PORTS, &port));
	assert_true(ledger_reader_port(&reader, 1, &port));
	assert_string_equal(port.name, "adverb_lo");
	assert_string_equal(port.ifname, "lo?[2J");
	assert_int_equal(port.ifindex, 1);
	assert_int_equal(port.guid, 0x42);
	assert_int_equal(port.up, 1);
	assert_true(ledger_reader_counter(&reader, 1, name, &value));
	assert_string_equal(name, "rcvd_pkts");
	assert_int_equal(value, 17);
	assert_false(ledger_reader_counter(&reader, 2, name, &value));
}

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static void read_everything(const void *memory)
{
	struct ledger_reader reader;
	struct ledger_record record;
	struct ledger_port port;
	char name[LEDGER_COUNTER_NAME];
	uint32_t cursor = 0;
	uint64_t value;

	if (ledger_reader_open(&reader, memory, ledger_size()))
		return;
	assert_non_null(memchr(reader.header.comm, 0, sizeof(reader.header.comm)));
	while (ledger_reader_next(&reader, &cursor, &record)) {
		assert_true(record.state == LEDGER_LIVE || record.state == LEDGER_DELETING);
		assert_true(record.type < RESTRACK_TYPES);
		assert_non_null(memchr(record.name, 0, sizeof(record.name)));
		assert_in_range(cursor, 1, LEDGER_CAPACITY);
	}
	for (uint32_t i = 0; i < LEDGER_PORTS + 2; i++) {
		if (ledger_reader_port(&reader, i, &port))
			assert_non_null(memchr(port.name, 0, sizeof(port.name)));
	}
	for (unsigned i = 0; i < LEDGER_COUNTERS + 2; i++)
		ledger_reader_counter(&reader, i, name, &value);
	cursor = UINT32_MAX;
	assert_false(ledger_reader_next(&reader, &cursor, &record));
}

/* The first pages and some records are noise; the header is good often enough to get past it. */
static void test_hostile(void **state)
{
	const size_t noisy = LEDGER_RECORDS_AT + 64 * sizeof(struct ledger_record);
	struct ledger_header *header = *state;
	struct ledger_header good = *header;
	uint64_t seed = 0x1234567, *words = *state;

	for (int round = 0; round < 300; round++) {
		for (size_t i = 0; i < noisy / sizeof(*words); i++)
			words[i] = next_random(&seed);
		if (round % 4) {
			uint32_t used = header->records_used;

			header->magic = good.magic;
			header->version = good.version;
			header->record_size = good.record_size;
			header->capacity = good.capacity;
			/* Mostly small, to keep this quick; sometimes beyond the end. */
			header->records_used = round % 100 == 1 ? used | 0x80000000u : used % 80;
		}
		if (round % 2) {
			struct ledger_record *records =
				(struct ledger_record *)(void *)((uint8_t *)*state +
								 LEDGER_RECORDS_AT);

			for (int i = 0; i < 64; i++) {
				records[i].sequence &= ~1u;
				records[i].state %= 5;
				records[i].type %= RESTRACK_TYPES + 1;
			}
		}
		read_everything(*state);
	}
}

static void test_writer_that_stopped(void **state)
{
	struct restrack_root root;
	struct restrack_entry a, b;
	struct ledger_reader reader;
	struct ledger_record record;
	uint32_t cursor = 0;

	assert_int_equal(restrack_init(&root, &heap, *state), 0);
	restrack_new(&a, RESTRACK_PD);
	restrack_new(&b, RESTRACK_PD);
	assert_int_equal(restrack_add(&root, &a), 0);
	assert_int_equal(restrack_add(&root, &b), 0);
	a.record->sequence |= 1;
	assert_int_equal(ledger_reader_open(&reader, *state, ledger_size()), 0);
	assert_true(ledger_reader_next(&reader, &cursor, &record));
	assert_int_equal(record.id, b.id);
	assert_false(ledger_reader_next(&reader, &cursor, &record));
	restrack_clean(&root);
}

struct race {
	void *ledger;
	int stop;
};

/* The type follows from the id here, and so does the attribute that is set before publishing. */
static void *writer(void *argument)
{
	struct race *race = argument;
	struct restrack_root root;
	struct restrack_entry entries[16];
	uint64_t seed = 99;

	if (restrack_init(&root, &heap, race->ledger))
		return NULL;
	for (int i = 0; i < 16; i++)
		restrack_new(&entries[i], RESTRACK_PD);
	while (!__atomic_load_n(&race->stop, __ATOMIC_RELAXED)) {
		uint64_t r = next_random(&seed);
		struct restrack_entry *e = &entries[r % 16];
		uint32_t id = (uint32_t)(r >> 8) % 1000 + 1;

		if (e->state == RESTRACK_TRACKED) {
			if (restrack_del(e))
				abort();
			continue;
		}
		restrack_new(e, id % 2 ? RESTRACK_CQ : RESTRACK_PD);
		if (restrack_take_id(&root, e, id))
			continue;
		restrack_set(e, 0, id * 3);
		restrack_set(e, 1, id * 5);
		if (restrack_add(&root, e))
			abort();
	}
	for (int i = 0; i < 16; i++) {
		if (entries[i].state != RESTRACK_NEW && restrack_del(&entries[i]))
			abort();
	}
	return (void *)(uintptr_t)restrack_clean(&root);
}

static void test_concurrent(void **state)
{
	struct race race = { .ledger = *state };
	struct ledger_reader reader;
	struct ledger_record record;
	time_t deadline = time(NULL) + 60;
	unsigned long seen = 0;
	pthread_t thread;
	void *leaks;

	assert_int_equal(ledger_reader_open(&reader, *state, ledger_size()), 0);
	assert_int_equal(pthread_create(&thread, NULL, writer, &race), 0);
	/* Ended by what was seen: a busy machine may take its time to start the writer. */
	while (seen < 100000 && time(NULL) < deadline) {
		uint32_t cursor = 0;

		while (ledger_reader_next(&reader, &cursor, &record)) {
			seen++;
			assert_int_equal(record.type, record.id % 2 ? RESTRACK_CQ : RESTRACK_PD);
			assert_int_equal(record.attributes[0], record.id * 3);
			assert_int_equal(record.attributes[1], record.id * 5);
			assert_int_equal(record.pid, 5);
			assert_string_equal(record.name, "prog");
		}
	}
	__atomic_store_n(&race.stop, 1, __ATOMIC_RELAXED);
	pthread_join(thread, &leaks);
	assert_null(leaks);
	assert_true(seen > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_header),     TEST(test_ports_and_counters),
		TEST(test_hostile),    TEST(test_writer_that_stopped),
		TEST(test_concurrent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
