/* SPDX-License-Identifier: Apache-2.0 */
/* world.h - a device without a wire: memory that can fail, and an observer that remembers */
#ifndef UNIT_RVT_WORLD_H
#define UNIT_RVT_WORLD_H

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

#include "restrack/ledger.h"
#include "rvt/cq.h"
#include "rvt/device.h"
#include "rvt/mw.h"
#include "rvt/qp.h"
#include "rvt/sge.h"
#include "rvt/srq.h"

#define WORLD_FIRST_QPN 4096u
#define WORLD_QPNS	4096u

struct world {
	struct restrack_root restrack;
	struct rvt_device device;
	struct rvt_port port;
	void *ledger;
	uint64_t counters[RVT_COUNTERS];
	struct rvt_context *context; /* NULL in an empty world, as pd */
	struct rvt_pd *pd;

	/* The allocator: how much is out, and how many more succeed (-1: all). */
	long allocations, fail_after;

	/* User memory: touching [bad_from, bad_to) fails; probe has its own switch and remembers.
	 */
	uint64_t bad_from, bad_to;
	bool probe_fails;
	unsigned probes;
	bool probe_write;

	/* The observer. */
	unsigned causes[RVT_VERDICT_COUNT];
	enum rvt_verdict cause; /* the last one, with its values */
	const struct restrack_entry *cause_object;
	uint64_t value1, value2;
	unsigned cq_events;
	const struct rvt_cq *cq_event_cq;
	unsigned events[256]; /* enum rvt_event */
	const void *event_object;

	/* The transport. */
	int qp_init_error;
	unsigned qp_inits, qp_stops, qp_deinits, sends;
};

extern struct world w;

/** world_open() - setup: a device, a context and a PD in it. world_empty(): the device alone. */
int world_open(void **state);
int world_empty(void **state);
/** world_close() - teardown: everything ends, and nothing may have leaked. */
int world_close(void **state);

/** world_config() - a device in this world. */
struct rvt_device_config world_config(void);

/**
 * world_fail_allocations() - call @create with its first, second ... allocation failing until it
 * succeeds: each failure is -ENOMEM, told, and changes nothing. Then the same with warm tables,
 * where not a byte may be kept.
 */
void world_fail_allocations(int (*create)(void **object), void (*destroy)(void *object));

/** world_refused() - @err and the last cause are those of @verdict. */
#define world_refused(err, verdict)                             \
 do {                                                           \
  int refused_ = (err);                                         \
  assert_int_equal(w.cause, verdict);                           \
  assert_int_equal(refused_, -rvt_verdict_row(verdict)->error); \
  assert_int_not_equal(refused_, 0);                            \
 } while (0)

/** world_record() - the ledger's record of an object, as others read it; false: not there. */
bool world_record(enum restrack_type type, uint32_t id, struct ledger_record *record);
/** world_attribute() - one attribute out of it; the object must be there. */
uint64_t world_attribute(const struct restrack_entry *entry, unsigned attribute);

/** world_region() - register @length bytes at @memory under its own address. */
struct rvt_mr *world_region(void *memory, uint64_t length, uint32_t access);
/** world_qp() - an RC queue pair of the world's PD. */
struct rvt_qp *world_qp(struct rvt_cq *cq, struct rvt_srq *srq);

#endif
