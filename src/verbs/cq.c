/* SPDX-License-Identifier: Apache-2.0 */
/* cq.c - completion queues: creation, polling, arming */
#include <stdlib.h>
#include <time.h>

#include "verbs/objects.h"

static uint64_t wallclock_offset_ns(void)
{
	struct timespec wall, steady;

	clock_gettime(CLOCK_MONOTONIC, &steady);
	clock_gettime(CLOCK_REALTIME, &wall);
	return (uint64_t)(wall.tv_sec - steady.tv_sec) * 1000000000u +
	       (uint64_t)(wall.tv_nsec - steady.tv_nsec);
}

static struct verbs_cq *create(struct ibv_context *context, uint32_t cqe, void *cq_context,
			       struct ibv_comp_channel *ibv_channel, uint32_t vector,
			       bool ignore_overrun)
{
	struct verbs_channel *channel = NULL;
	struct verbs_cq *cq;
	int err;

	if (!context || vector >= (uint32_t)context->num_comp_vectors)
		return fail(-EINVAL);
	if (ibv_channel) {
		channel = to_channel(ibv_channel);
		if (!channel || ibv_channel->context != context)
			return fail(-EINVAL);
	}
	cq = HANDLE_NEW(struct verbs_cq, HANDLE_CQ);
	if (!cq)
		return fail(-ENOMEM);
	cq->ex.context = context;
	cq->ex.cq_context = cq_context;
	cq->ex.channel = ibv_channel;
	cq->channel = channel;
	cq->wallclock_offset_ns = wallclock_offset_ns();
	list_init(&cq->node);
	pthread_mutex_init(&cq->ex.mutex, NULL);
	pthread_cond_init(&cq->ex.cond, NULL);
	if (!enter(context)) {
		err = -ENODEV;
	} else {
		err = rvt_create_cq(to_context(context)->rvt, cqe, &cq->rvt);
		if (!err) {
			cq->rvt->owner = cq;
			cq->rvt->ignore_overrun = ignore_overrun;
			cq->ex.cqe = (int)cq->rvt->cqe;
			cq->ex.handle = cq->rvt->res.id;
		}
		lane_leave();
	}
	if (err) {
		handle_free(&cq->handle, HANDLE_CQ);
		return fail(err);
	}
	if (channel) {
		pthread_mutex_lock(&channel->lock);
		channel->ibv.refcnt++;
		pthread_mutex_unlock(&channel->lock);
	}
	handle_publish(&cq->handle, HANDLE_CQ);
	return cq;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
			     struct ibv_comp_channel *channel, int comp_vector)
{
	struct verbs_cq *cq;

	if (cqe < 1 || comp_vector < 0)
		return fail(-EINVAL);
	cq = create(context, (uint32_t)cqe, cq_context, channel, (uint32_t)comp_vector, false);
	return cq ? ibv_cq_ex_to_cq(&cq->ex) : NULL;
}

/* What a completion here can tell. */
#define WC_FLAGS                                                                                 \
 (IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM | IBV_WC_EX_WITH_QP_NUM | IBV_WC_EX_WITH_SRC_QP | \
  IBV_WC_EX_WITH_SLID | IBV_WC_EX_WITH_SL | IBV_WC_EX_WITH_DLID_PATH_BITS |                      \
  IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)

struct ibv_cq_ex *verbs_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
	uint32_t flags = 0;
	struct verbs_cq *cq;

	if (!attr)
		return fail(-EINVAL);
	if (attr->comp_mask & ~(uint32_t)(IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD) ||
	    attr->wc_flags & ~(uint64_t)WC_FLAGS)
		return fail(-verbs_unsupported(
			"ibv_create_cq_ex",
			"wc_flags or comp_mask has what only adapters tell: VLANs, flow "
			"tags, tag matching"));
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS)
		flags = attr->flags;
	if (flags &
	    ~(uint32_t)(IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN))
		return fail(-EOPNOTSUPP);
	cq = create(context, attr->cqe, attr->cq_context, attr->channel, attr->comp_vector,
		    flags & IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN);
	if (!cq)
		return NULL;
	verbs_cq_extend(cq, attr->wc_flags);
	return &cq->ex;
}

int ibv_resize_cq(struct ibv_cq *ibv, int cqe)
{
	struct verbs_cq *cq = to_cq(ibv);
	int err;

	if (!cq || cqe < 1)
		return EINVAL;
	err = enter_cq(cq, ibv);
	if (err)
		return -err;
	err = rvt_resize_cq(cq->rvt, (uint32_t)cqe);
	if (!err)
		ibv->cqe = (int)cq->rvt->cqe;
	lane_leave();
	return -err;
}

int ibv_destroy_cq(struct ibv_cq *ibv)
{
	struct verbs_cq *cq = to_cq(ibv);
	int err;

	if (!cq)
		return EINVAL;
	err = enter_cq(cq, ibv);
	if (err)
		return -err;
	if (cq->rvt->users) {
		err = -EBUSY;
	} else {
		/* No event of it begins after this; those that were read must be acknowledged
		 * first. */
		cq->rvt->owner = NULL;
		err = rvt_destroy_cq(cq->rvt);
		if (!err)
			cq->rvt = NULL;
	}
	lane_leave();
	if (err)
		return -err;
	verbs_drop_events(ibv->context, ibv);
	verbs_channel_leave(cq);
	verbs_wait_acknowledged(&cq->ex.mutex, &cq->ex.cond, &cq->comp_delivered,
				&cq->ex.comp_events_completed);
	verbs_wait_acknowledged(&cq->ex.mutex, &cq->ex.cond, &cq->async_delivered,
				&cq->ex.async_events_completed);
	if (handle_retire(&cq->handle, HANDLE_CQ))
		handle_free(&cq->handle, HANDLE_CQ);
	return 0;
}

#define POLL_BATCH 16

int verbs_poll_cq(struct ibv_cq *ibv, int count, struct ibv_wc *wc)
{
	struct verbs_cq *cq = to_cq(ibv);
	struct rvt_wc batch[POLL_BATCH];
	struct ibv_wc told[POLL_BATCH];
	int done = 0, err;

	if (!cq || count < 0 || (count && !wc))
		return -EINVAL;
	err = enter_cq(cq, ibv);
	if (err)
		return err;
	lane_poll_begin();
	if (!rvt_cq_entries(cq->rvt))
		lane_progress(cq->rvt);
	while (done < count) {
		uint32_t want = count - done < POLL_BATCH ? (uint32_t)(count - done) : POLL_BATCH;
		int n = rvt_poll_cq(cq->rvt, want, batch);

		if (n < 0 && !done)
			done = n;
		if (n <= 0)
			break;
		for (int i = 0; i < n; i++)
			verbs_from_rvt_wc(&told[i], &batch[i]);
		/* The device is locked: a wild pointer must not end us here. */
		err = lane_memory.write((uintptr_t)&wc[done], told, (size_t)n * sizeof(*told));
		if (err) {
			done = done ? done : err;
			break;
		}
		done += n;
		if ((uint32_t)n < want)
			break;
	}
	lane_leave();
	if (!done)
		lane_idle();
	return done;
}

int verbs_req_notify_cq(struct ibv_cq *ibv, int solicited_only)
{
	struct verbs_cq *cq = to_cq(ibv);
	int err;

	if (!cq)
		return EINVAL;
	err = enter_cq(cq, ibv);
	if (err)
		return -err;
	rvt_arm_cq(cq->rvt, solicited_only != 0);
	/* The program is about to sleep: what it left to its next call goes out now. */
	lane_settle();
	lane_leave();
	return 0;
}

int verbs_modify_cq(struct ibv_cq *ibv, struct ibv_modify_cq_attr *attr)
{
	/* Moderation delays events to save interrupts; here is none to save, and an early event is
	 * allowed. */
	if (!to_cq(ibv) || !attr || attr->attr_mask & ~(uint32_t)IBV_CQ_ATTR_MODERATE)
		return EINVAL;
	return 0;
}
