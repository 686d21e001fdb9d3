/* SPDX-License-Identifier: Apache-2.0 */
/*
 * objects.h - what the program holds pointers to, and how a call gets from there into the lane
 *
 * Each object begins with the structure of the public interface. Its memory never goes back to the
 * heap: handles.c keeps it for the next object of the kind, so that the use of a destroyed handle
 * is seen and refused instead of being somebody else's memory.
 */
#ifndef VERBS_OBJECTS_H
#define VERBS_OBJECTS_H

#include <errno.h>

#include "base/list.h"
#include "runtime/lane.h"
#include "rvt/mw.h"
#include "rvt/xrcd.h"
#include "verbs/abi.h"
#include "verbs/handles.h"

/* The public structure, and behind it what provider libraries look at to tell their own devices
 * from others. */
struct verbs_device {
	struct ibv_device ibv;
	const void *provider_ops;
	uint64_t provider_private[5];
	struct rvt_port *port;
};

struct verbs_event {
	struct list_node node;
	struct ibv_async_event ibv;
};

struct verbs_device_context {
	struct handle handle;
	struct lane_stamp stamp;
	struct rvt_context *rvt;   /* shared with those that imported it: */
	struct list_node siblings; /* a ring; under the lane's lock */
	struct list_node events;   /* verbs_event; under event_lock */
	pthread_mutex_t event_lock;
	struct verbs_context verbs; /* last: ends in the public structure */
};

struct verbs_pd {
	struct ibv_pd ibv;
	struct handle handle;
	struct rvt_pd *rvt;
	struct verbs_pd *parent; /* a parent domain stands for this one */
	unsigned children;
	bool imported;
};

struct verbs_mr {
	struct ibv_mr ibv;
	struct handle handle;
	struct rvt_mr *rvt;
	struct verbs_dm_memory *dm; /* that it lies in, or NULL */
	void *mapping;		    /* of a dma-buf, made for it, or NULL */
	size_t mapping_size;
	bool imported;
};

struct verbs_dm {
	struct ibv_dm ibv;
	struct handle handle;
	struct verbs_dm_memory *memory;
	bool imported;
};

struct verbs_mw {
	struct ibv_mw ibv;
	struct handle handle;
	struct rvt_mw *rvt;
};

struct verbs_ah {
	struct ibv_ah ibv;
	struct handle handle;
	struct rvt_ah *rvt;
};

struct verbs_channel {
	struct ibv_comp_channel ibv;
	struct handle handle;
	struct lane_stamp stamp;
	pthread_mutex_t lock;
	struct list_node ready; /* verbs_cq.node: with undelivered events */
};

struct verbs_cq {
	struct ibv_cq_ex ex;
	struct handle handle;
	struct rvt_cq *rvt;
	struct verbs_channel *channel;
	struct list_node node;
	uint32_t pending;	  /* completion events not read yet; under channel->lock */
	uint32_t comp_delivered;  /* read by the program; under ex.mutex */
	uint32_t async_delivered; /* under ex.mutex */
	struct rvt_wc current;	  /* of start_poll()..end_poll() */
	uint64_t wallclock_offset_ns;
};

struct verbs_xrcd {
	struct ibv_xrcd ibv;
	struct handle handle;
	struct rvt_xrcd *rvt;
};

struct verbs_srq {
	struct ibv_srq ibv;
	struct handle handle;
	struct rvt_srq *rvt;
	uint32_t async_delivered;
};

/* A work request of ibv_wr_start() .. ibv_wr_complete(). */
struct verbs_batch_wr {
	struct rvt_send_wr wr;
	struct ibv_ah *ah; /* of UD */
	struct ibv_mw *mw; /* to bind */
	struct ibv_mw_bind_info info;
	uint32_t first_sge; /* in verbs_batch.sges */
	size_t inline_at;   /* in verbs_batch.bytes */
};

struct verbs_batch {
	struct verbs_batch_wr *wrs;
	struct rvt_sge *sges;
	uint8_t *bytes;
	uint32_t count, capacity, sge_count, sge_capacity;
	size_t bytes_used, bytes_capacity;
	int error; /* positive errno of the first mistake */
	bool open;
};

struct verbs_qp {
	struct ibv_qp_ex ex;
	uint64_t newer[8]; /* fields that newer headers append to ibv_qp_ex */
	struct handle handle;
	struct rvt_qp *rvt;
	struct list_node
		openers; /* a ring: all that stand for the same rvt; under the lane's lock */
	bool extended;	 /* created for the ibv_wr_* functions */
	bool signal_all;
	uint64_t send_ops; /* which of them */
	uint32_t async_delivered;
	struct rvt_qp_init init;
	pthread_mutex_t batch_lock;
	struct verbs_batch batch;
};

static inline struct verbs_device_context *to_context(struct ibv_context *context)
{
	return container_of(context, struct verbs_device_context, verbs.context);
}

/** enter() - NULL for a context that is no more or was inherited over fork(); else the lane is
 * locked. */
static inline struct rvt_device *enter(struct ibv_context *context)
{
	struct rvt_device *device;

	if (!context || !handle_ok(&to_context(context)->handle, HANDLE_CONTEXT))
		return NULL;
	device = lane_enter(to_context(context)->stamp);
	/* Another thread may have closed it meanwhile. */
	if (device && !handle_ok(&to_context(context)->handle, HANDLE_CONTEXT)) {
		lane_leave();
		return NULL;
	}
	return device;
}

#define TO_OBJECT(kind, KIND)                                            \
 static inline struct verbs_##kind *to_##kind(struct ibv_##kind *p)      \
 {                                                                       \
  struct verbs_##kind *object = (struct verbs_##kind *)(void *)p;        \
  return p && handle_ok(&object->handle, HANDLE_##KIND) ? object : NULL; \
 }
/* The handle may have become that of another object, with another context, before the lock was
 * ours. */
#define ENTER_OBJECT(kind)                                                         \
 static inline int enter_##kind(struct verbs_##kind *object, struct ibv_##kind *p) \
 {                                                                                 \
  if (!enter(p->context))                                                          \
   return -ENODEV;                                                                 \
  if (to_##kind(p) == object && object->rvt &&                                     \
      handle_ok(&to_context(p->context)->handle, HANDLE_CONTEXT))                  \
   return 0;                                                                       \
  lane_leave();                                                                    \
  return -EINVAL;                                                                  \
 }
/* to_pd() and its like: NULL when the handle is not a living object. */
TO_OBJECT(pd, PD)
TO_OBJECT(mr, MR)
TO_OBJECT(dm, DM)
TO_OBJECT(mw, MW)
TO_OBJECT(ah, AH)
TO_OBJECT(cq, CQ)
TO_OBJECT(srq, SRQ)
TO_OBJECT(qp, QP)
TO_OBJECT(xrcd, XRCD)
/* enter_pd() and its like: 0 with the lane locked and the object still there, whatever other
 * threads did since to_pd(); else a negative errno. */
ENTER_OBJECT(pd)
ENTER_OBJECT(mr)
ENTER_OBJECT(mw)
ENTER_OBJECT(ah)
ENTER_OBJECT(cq)
ENTER_OBJECT(srq)
ENTER_OBJECT(qp)
ENTER_OBJECT(xrcd)
#undef TO_OBJECT
#undef ENTER_OBJECT

static inline struct verbs_channel *to_channel(struct ibv_comp_channel *p)
{
	struct verbs_channel *object = (struct verbs_channel *)(void *)p;

	return p && handle_ok(&object->handle, HANDLE_CHANNEL) ? object : NULL;
}

/** fail() - NULL and errno, from a negative errno. */
static inline void *fail(int error)
{
	errno = -error;
	return NULL;
}

/* The tables that open_device() fills the context from; each in the file of its object. */
struct ibv_cq_ex *verbs_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr);
int verbs_poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc);
int verbs_req_notify_cq(struct ibv_cq *cq, int solicited_only);
int verbs_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);
void verbs_cq_extend(struct verbs_cq *cq, uint64_t wc_flags);
struct ibv_qp *verbs_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);
/** verbs_unsupported() - EOPNOTSUPP, and with ADVERB_LOG=warn the reason. */
int verbs_unsupported(const char *what, const char *why);
/** verbs_fill_unsupported() - the functions of the table that only say so. */
void verbs_fill_unsupported(struct verbs_context *v);
#define VERBS_MAX_DM (64u << 20) /* bytes of device memory of one process */
struct ibv_dm *verbs_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr);
int verbs_free_dm(struct ibv_dm *dm);
struct ibv_mr *verbs_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t offset, size_t length,
			       unsigned int access);
/** verbs_dm_region_gone() - one of its regions was deregistered. Entered. */
void verbs_dm_region_gone(struct verbs_dm_memory *memory);
/** verbs_dm_before_fork(), verbs_dm_after_fork() - nobody is in the middle of it. */
void verbs_dm_before_fork(void);
void verbs_dm_after_fork(void);
/** verbs_move_up() - a descriptor that is not one of the standard ones; the old one is closed. Or a
 * negative errno. */
int verbs_move_up(int fd);
/** verbs_make_command_fd() - a descriptor by which ibv_import_device() finds @context. */
int verbs_make_command_fd(struct verbs_device_context *context);
/** verbs_join_context() - a new context that shares the objects of @original; @cmd_fd is its own
 * from then on. NULL and errno. */
struct ibv_context *verbs_join_context(struct verbs_device_context *original, int cmd_fd);
struct ibv_qp *verbs_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr);
struct ibv_xrcd *verbs_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr);
int verbs_close_xrcd(struct ibv_xrcd *xrcd);
/** verbs_leave_targets() - a context ends: its handles of XRC_RECV queue pairs that others hold
 * too. Entered. */
void verbs_leave_targets(struct rvt_context *context);
int verbs_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int verbs_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
void verbs_qp_extend(struct verbs_qp *qp);
void verbs_batch_free(struct verbs_batch *batch);
struct ibv_srq *verbs_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr);
int verbs_get_srq_num(struct ibv_srq *srq, uint32_t *number);
int verbs_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
struct ibv_mr *verbs_alloc_null_mr(struct ibv_pd *pd);
int verbs_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		    struct ibv_sge *list, uint32_t count);
struct ibv_pd *verbs_alloc_parent_domain(struct ibv_context *context,
					 struct ibv_parent_domain_init_attr *attr);
struct ibv_td *verbs_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr);
int verbs_dealloc_td(struct ibv_td *td);
struct ibv_mw *verbs_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int verbs_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);
int verbs_dealloc_mw(struct ibv_mw *mw);
/** verbs_to_rvt_bind() - false when the window or region is none. */
bool verbs_to_rvt_bind(struct rvt_bind *to, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info);
int verbs_query_device_ex(struct ibv_context *context,
			  const struct ibv_query_device_ex_input *input,
			  struct ibv_device_attr_ex *attr, size_t size);
int verbs_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr,
		     size_t size);

/* attributes.c: between the two vocabularies. */
void verbs_to_rvt_ah(struct rvt_ah_attr *to, const struct ibv_ah_attr *from);
void verbs_from_rvt_ah(struct ibv_ah_attr *to, const struct rvt_ah_attr *from);
void verbs_to_rvt_qp_attr(struct rvt_qp_attr *to, const struct ibv_qp_attr *from);
void verbs_from_rvt_qp_attr(struct ibv_qp_attr *to, const struct rvt_qp_attr *from);
void verbs_from_rvt_wc(struct ibv_wc *to, const struct rvt_wc *from);

/* device.c */
/** verbs_devices_before_fork(), verbs_devices_after_fork() - the locks of this layer that a child
 * needs. */
void verbs_devices_before_fork(void);
void verbs_devices_after_fork(void);

/* events.c */
extern const struct lane_events verbs_events;
int verbs_events_open(struct verbs_device_context *context); /* async_fd; 0 or a negative errno */
void verbs_events_close(struct verbs_device_context *context);
/** verbs_drop_events() - undelivered asynchronous events of an object that goes; then waits for
 * acknowledgements. */
void verbs_drop_events(struct ibv_context *context, void *object);
void verbs_wait_acknowledged(pthread_mutex_t *mutex, pthread_cond_t *cond,
			     const uint32_t *delivered, const uint32_t *completed);
/** verbs_channel_leave() - a CQ that goes takes its undelivered completion events along. */
void verbs_channel_leave(struct verbs_cq *cq);
int verbs_make_eventfd(void);

#endif
