/* SPDX-License-Identifier: Apache-2.0 */
/* device.h - everything one process knows of verbs objects; ports, limits, and what it asks of
 * others */
#ifndef RVT_DEVICE_H
#define RVT_DEVICE_H

#include "base/allocator.h"
#include "base/deadlines.h"
#include "base/list.h"
#include "base/random.h"
#include "base/table.h"
#include "restrack/restrack.h"
#include "rvt/types.h"
#include "rvt/verdict.h"

struct rvt_cq;
struct rvt_qp;
struct rvt_srq;

#define RVT_GID_TABLE 64
#define RVT_PORT_NAME 64
#define RVT_MAX_PORTS 16

/* One network interface = one RDMA device with one port, as programs see it. Filled by runtime. */
struct rvt_port {
	char name[RVT_PORT_NAME]; /* of the device: adverb_lo */
	char ifname[16];
	uint32_t index;	    /* of the device in this process' list */
	uint64_t guid;	    /* big-endian bytes in memory */
	uint32_t interface; /* number of the network interface; 0: it is gone */
	uint32_t netdev_mtu;
	enum rvt_mtu active_mtu, max_mtu;
	bool up;
	struct gid gids[RVT_GID_TABLE]; /* zero = empty slot */
};

/** rvt_port_gid() - the GID at @index, or NULL when empty or out of range. */
const struct gid *rvt_port_gid(const struct rvt_port *port, unsigned index);

/* User memory: supplied by runtime, which survives pages that are not there. All return 0 or
 * -EFAULT. */
struct rvt_memory_ops {
	int (*read)(void *to, uint64_t from, size_t length);
	int (*write)(uint64_t to, const void *from, size_t length);
	/* 8 bytes, aligned, with CPU atomics; *original is the value before. */
	int (*compare_swap)(uint64_t address, uint64_t compare, uint64_t swap, uint64_t *original);
	int (*fetch_add)(uint64_t address, uint64_t add, uint64_t *original);
	/* Is the whole range mapped with read (and, if asked, write) access? For registration. */
	int (*probe)(uint64_t address, uint64_t length, bool write);
};

/* What a protocol engine does for the queue pairs; see roce/engine.h. All are called with the lane
 * locked. */
struct rvt_transport_ops {
	size_t qp_size; /* struct that starts with struct rvt_qp */
	/* Fresh private state: at creation and at every RESET. */
	int (*qp_init)(struct rvt_qp *qp);
	/* Stop: no timer, queue or list of the engine refers to the QP afterwards. RESET and
	 * destroy. */
	void (*qp_stop)(struct rvt_qp *qp);
	/* Destroy, after qp_stop: free what qp_init allocated. */
	void (*qp_deinit)(struct rvt_qp *qp);
	/* Attributes were applied (mask says which); the state is already the new one. */
	void (*qp_modified)(struct rvt_qp *qp, enum rvt_qp_state old, uint32_t mask);
	/* The QP goes to ERR: drop what is half done; rvt flushes the queues itself afterwards. */
	void (*qp_error)(struct rvt_qp *qp);
	/* The send queue has something new (or the QP left SQD). Called once per post_send list. */
	void (*send)(struct rvt_qp *qp);
	void (*retry_expired)(struct rvt_qp *qp);
	void (*rnr_expired)(struct rvt_qp *qp);
};

/* Who is told. All are called with the lane locked and may not call back into rvt. */
struct rvt_observer {
	/* @cq had one event coming and its armed condition was met: wake the completion channel. */
	void (*cq_event)(void *context, struct rvt_cq *cq);
	/* An asynchronous event; exactly one of the objects, or none for port events. */
	void (*async_event)(void *context, enum rvt_event event, struct rvt_qp *qp,
			    struct rvt_cq *cq, struct rvt_srq *srq);
	/* A refusal or drop, with the object (may be NULL) and the values compared. */
	void (*cause)(void *context, enum rvt_verdict verdict, struct restrack_entry *object,
		      uint64_t value1, uint64_t value2);
	void *context;
};

/* The host's side of multicast groups: so that packets for @mgid that arrive on @interface come to
 * us. With the lane locked; join() returns 0 or a negative errno. */
struct rvt_mcast_ops {
	int (*join)(void *context, uint32_t interface, const struct gid *mgid);
	void (*leave)(void *context, uint32_t interface, const struct gid *mgid);
	void *context;
};

struct rvt_limits {
	uint32_t max_qp, max_qp_wr, max_sge, max_sge_rd, max_cq, max_cqe, max_mr, max_mw, max_pd,
		max_srq, max_srq_wr, max_srq_sge, max_ah, max_inline, max_rd_atomic,
		max_dest_rd_atomic, max_mcast_grp, max_mcast_qp_attach;
	uint64_t max_mr_size;
};
extern const struct rvt_limits rvt_limits;

enum rvt_counter {
#define COUNTER(name, sentence) RVT_COUNT_##name,
#include "rvt/counters.def"
#undef COUNTER
	RVT_COUNTERS,
};
/** rvt_counter_name() - as `rdma statistic` would print it. */
const char *rvt_counter_name(enum rvt_counter counter);

struct rvt_device {
	const struct allocator *allocator;
	struct restrack_root *restrack;
	const struct rvt_memory_ops *memory;
	const struct rvt_transport_ops *transport;
	const struct rvt_observer *observer;
	void *engine; /* the transport's own */
	struct random random;
	uint64_t now_ns; /* monotonic; the caller sets it before it calls in */
	struct deadlines deadlines;
	struct table qps; /* QPN -> struct rvt_qp: whom packets find */
	struct list_node qp_list;
	struct list_node xrc_domains;
	struct list_node groups; /* rvt_mcast.node */
	uint32_t group_count;
	const struct rvt_mcast_ops *mcast; /* may be NULL */
	uint64_t *counters; /* RVT_COUNTERS of them, in the ledger: readable from outside */
	uint32_t first_qpn, qpn_count;
	uint32_t mr_generation;
};

struct rvt_device_config {
	const struct allocator *allocator;
	struct restrack_root *restrack;
	const struct rvt_memory_ops *memory;
	const struct rvt_transport_ops *transport;
	const struct rvt_observer *observer;
	const struct rvt_mcast_ops *mcast; /* NULL: packets come without asking */
	uint64_t *counters;
	uint64_t seed;
	uint32_t first_qpn, qpn_count; /* the process' slot */
};

/** rvt_device_init() - every op must be there (asserted). -ENOMEM */
int rvt_device_init(struct rvt_device *device, const struct rvt_device_config *config) MUST_USE;
/** rvt_device_deinit() - counts and destroys what is left (rvt_free_all_qps()); returns the number
 * of leaks. */
unsigned rvt_device_deinit(struct rvt_device *device);

static inline void rvt_count(struct rvt_device *device, enum rvt_counter counter)
{
	__atomic_store_n(&device->counters[counter], device->counters[counter] + 1,
			 __ATOMIC_RELAXED);
}

/** rvt_refuse() - tell the observer and return the verdict's negative errno. */
int rvt_refuse(struct rvt_device *device, enum rvt_verdict verdict, struct restrack_entry *object,
	       uint64_t value1, uint64_t value2);

/* One opening of a device. */
struct rvt_context {
	struct restrack_entry res;
	struct rvt_device *device;
	struct rvt_port *port;
	void *owner; /* the front's context */
};
int rvt_context_open(struct rvt_device *device, struct rvt_port *port,
		     struct rvt_context **ret) MUST_USE;
/** rvt_context_objects() - how many there are in it. */
unsigned rvt_context_objects(struct rvt_context *context);
/** rvt_context_close() - destroys what the program left in it, QPs first. Return: how many objects
 * that were. */
unsigned rvt_context_close(struct rvt_context *context);

/* Protection domains. */
struct rvt_pd {
	struct restrack_entry res;
	struct rvt_context *context;
	uint32_t users; /* MRs, QPs, SRQs, AHs */
	void *owner;
};
int rvt_alloc_pd(struct rvt_context *context, struct rvt_pd **ret) MUST_USE;
/** rvt_dealloc_pd() - -EBUSY with users. */
int rvt_dealloc_pd(struct rvt_pd *pd) MUST_USE;
/** rvt_find_pd() - the PD of @context with this restrack id, or NULL. */
struct rvt_pd *rvt_find_pd(struct rvt_context *context, uint32_t id);
/** rvt_use_pd() - one user more (1) or less (-1). */
void rvt_use_pd(struct rvt_pd *pd, int delta);

/* Address handles. */
struct rvt_ah {
	struct restrack_entry res;
	struct rvt_device *device;
	struct rvt_pd *pd; /* NULL once destroyed */
	struct rvt_ah_attr attr;
	uint32_t references; /* 1 of the program + 1 each of posted sends */
	void *owner;
};
/** rvt_check_ah_attr() - is_global, family, GID index; fills attr->sgid. 0 or a negative errno,
 * cause told. */
int rvt_check_ah_attr(struct rvt_device *device, const struct rvt_port *port,
		      struct rvt_ah_attr *attr) MUST_USE;
int rvt_create_ah(struct rvt_pd *pd, const struct rvt_ah_attr *attr, struct rvt_ah **ret) MUST_USE;
/** rvt_destroy_ah() - 0; sends that were posted with it keep the address until they end. */
int rvt_destroy_ah(struct rvt_ah *ah) MUST_USE;
void rvt_get_ah(struct rvt_ah *ah);
void rvt_put_ah(struct rvt_ah *ah);

#endif
