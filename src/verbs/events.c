/* SPDX-License-Identifier: Apache-2.0 */
/* events.c - completion channels and asynchronous events: descriptors that programs can poll */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "verbs/descriptors.h"
#include "verbs/objects.h"

int verbs_make_eventfd(void)
{
	/* A semaphore: the descriptor is readable once for each event. */
	int fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);

	return fd < 0 ? -errno : verbs_move_up(fd);
}

int verbs_move_up(int fd)
{
	int high;

	if (fd > STDERR_FILENO)
		return verbs_lend(fd);
	/* The program closed its standard descriptors; what it writes there later is not for us. */
	high = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (high < 0)
		high = -errno;
	close(fd);
	return verbs_lend(high);
}

static void raise_fd(int fd)
{
	uint64_t one = 1;

	/* The program closed it: what has the number now may be a file of its own. */
	if (!descriptors_is_lent(fd))
		return;

	if (write(fd, &one, sizeof(one)) < 0)
		return; /* only a full counter, which is readable anyway */
}

/*
 * Take one count off, blocking as read() does if the program left it so. @work: the device goes on
 * in the caller meanwhile, which is the fastest way to a completion; a thread that waits for
 * asynchronous events, as many programs have, would only be in the way of the others.
 */
static int take(int fd, bool work)
{
	uint64_t count;
	int flags = descriptors_is_lent(fd) ? fcntl(fd, F_GETFL) : -1;

	if (flags < 0)
		return -EBADF;
	if (work && !(flags & O_NONBLOCK)) {
		int err = lane_wait(fd);

		if (err)
			return err;
	}
	return read(fd, &count, sizeof(count)) == sizeof(count) ? 0 : -errno;
}

/*
 * Take a count off without waiting, whatever the program made of the descriptor: a thread that
 * reads it may be faster. By syscall(), because a thread with a lock must not be cancelled in here.
 */
static void take_back(int fd)
{
	uint64_t count;
	struct iovec iov = { &count, sizeof(count) };

	if (!descriptors_is_lent(fd))
		return;

	if (syscall(SYS_preadv2, (long)fd, &iov, 1l, -1l, -1l, (long)RWF_NOWAIT) < 0)
		return;
}

/* Completion channels. */

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct verbs_channel *channel;

	if (!context || !handle_ok(&to_context(context)->handle, HANDLE_CONTEXT))
		return fail(-EINVAL);
	channel = HANDLE_NEW(struct verbs_channel, HANDLE_CHANNEL);
	if (!channel)
		return fail(-ENOMEM);
	channel->ibv.context = context;
	channel->stamp = to_context(context)->stamp;
	channel->ibv.fd = verbs_make_eventfd();
	if (channel->ibv.fd < 0) {
		int err = channel->ibv.fd;

		handle_free(&channel->handle, HANDLE_CHANNEL);
		return fail(err);
	}
	pthread_mutex_init(&channel->lock, NULL);
	list_init(&channel->ready);
	handle_publish(&channel->handle, HANDLE_CHANNEL);
	return &channel->ibv;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *ibv)
{
	struct verbs_channel *channel = to_channel(ibv);

	if (!channel)
		return EINVAL;
	pthread_mutex_lock(&channel->lock);
	if (ibv->refcnt) {
		pthread_mutex_unlock(&channel->lock);
		return EBUSY;
	}
	if (!handle_retire(&channel->handle, HANDLE_CHANNEL)) {
		pthread_mutex_unlock(&channel->lock);
		return EINVAL;
	}
	pthread_mutex_unlock(&channel->lock);
	verbs_close_lent(ibv->fd);
	pthread_mutex_destroy(&channel->lock);
	handle_free(&channel->handle, HANDLE_CHANNEL);
	return 0;
}

static void on_completion(struct rvt_cq *rvt)
{
	struct verbs_cq *cq = rvt->owner;
	struct verbs_channel *channel = cq ? cq->channel : NULL;

	if (!channel)
		return;
	pthread_mutex_lock(&channel->lock);
	if (!cq->pending++)
		list_append(&channel->ready, &cq->node);
	pthread_mutex_unlock(&channel->lock);
	raise_fd(channel->ibv.fd);
}

void verbs_channel_leave(struct verbs_cq *cq)
{
	struct verbs_channel *channel = cq->channel;

	if (!channel)
		return;
	pthread_mutex_lock(&channel->lock);
	if (cq->pending)
		list_unlink(&cq->node);
	for (; cq->pending; cq->pending--)
		take_back(channel->ibv.fd);
	channel->ibv.refcnt--;
	pthread_mutex_unlock(&channel->lock);
}

int ibv_get_cq_event(struct ibv_comp_channel *ibv, struct ibv_cq **ret, void **cq_context)
{
	struct verbs_channel *channel = to_channel(ibv);
	struct verbs_cq *cq;
	int err;

	if (!channel || !ret || !cq_context) {
		errno = EINVAL;
		return -1;
	}
	/* The descriptor of a parent is shared with it: its events are not ours to take. */
	if (!lane_present(channel->stamp)) {
		errno = ENODEV;
		return -1;
	}
	for (;;) {
		err = take(ibv->fd, true);
		if (err) {
			errno = -err;
			return -1;
		}
		pthread_mutex_lock(&channel->lock);
		if (!list_empty(&channel->ready)) {
			cq = list_entry(channel->ready.next, struct verbs_cq, node);
			list_unlink(&cq->node);
			/* Others have their turn before its next one. */
			if (--cq->pending)
				list_append(&channel->ready, &cq->node);
			pthread_mutex_lock(&cq->ex.mutex);
			cq->comp_delivered++;
			pthread_mutex_unlock(&cq->ex.mutex);
			*ret = ibv_cq_ex_to_cq(&cq->ex);
			*cq_context = cq->ex.cq_context;
			pthread_mutex_unlock(&channel->lock);
			return 0;
		}
		/* Its CQ was destroyed between the two steps. */
		pthread_mutex_unlock(&channel->lock);
	}
}

void ibv_ack_cq_events(struct ibv_cq *ibv, unsigned int count)
{
	if (!to_cq(ibv))
		return;
	pthread_mutex_lock(&ibv->mutex);
	ibv->comp_events_completed += count;
	pthread_cond_broadcast(&ibv->cond);
	pthread_mutex_unlock(&ibv->mutex);
}

/* Asynchronous events. */

int verbs_events_open(struct verbs_device_context *context)
{
	int fd = verbs_make_eventfd();

	if (fd < 0)
		return fd;
	context->verbs.context.async_fd = fd;
	list_init(&context->events);
	pthread_mutex_init(&context->event_lock, NULL);
	return 0;
}

void verbs_events_close(struct verbs_device_context *context)
{
	list_for_each_safe(node, &context->events) {
		list_unlink(node);
		free(list_entry(node, struct verbs_event, node));
	}
	verbs_close_lent(context->verbs.context.async_fd);
	pthread_mutex_destroy(&context->event_lock);
}

static void append(struct verbs_device_context *context, const struct ibv_async_event *ibv)
{
	struct verbs_event *event;

	/* Closed, while objects that were made by it live on in another that shares them. */
	if (!handle_ok(&context->handle, HANDLE_CONTEXT))
		return;
	event = calloc(1, sizeof(*event));
	if (!event) {
		lane_log(LANE_LOG_ERROR, "no memory for an asynchronous event: %s",
			 ibv_event_type_str(ibv->event_type));
		return;
	}
	event->ibv = *ibv;
	pthread_mutex_lock(&context->event_lock);
	list_append(&context->events, &event->node);
	pthread_mutex_unlock(&context->event_lock);
	raise_fd(context->verbs.context.async_fd);
}

static void tell_qp(struct verbs_qp *qp, struct ibv_async_event *event)
{
	event->element.qp = &qp->ex.qp_base;
	append(to_context(qp->ex.qp_base.context), event);
}

static void tell_port(struct verbs_device_context *context, struct ibv_async_event *event)
{
	event->element.port_num = 1;
	append(context, event);
	list_for_each(node, &context->siblings)
		append(list_entry(node, struct verbs_device_context, siblings), event);
}

static void on_async(struct rvt_context *rvt, enum rvt_event type, struct rvt_qp *qp,
		     struct rvt_cq *cq, struct rvt_srq *srq)
{
	struct ibv_async_event event = { .event_type = (enum ibv_event_type)type };

	/* An object that is just being made, or destroyed, has no events. */
	if (!rvt->owner || (qp && !qp->owner) || (cq && !cq->owner) || (srq && !srq->owner))
		return;
	if (qp) {
		struct verbs_qp *first = qp->owner;

		tell_qp(first, &event);
		/* All who opened it hear of it. */
		list_for_each(node, &first->openers)
			tell_qp(list_entry(node, struct verbs_qp, openers), &event);
	} else if (cq) {
		event.element.cq = ibv_cq_ex_to_cq(&((struct verbs_cq *)cq->owner)->ex);
		append(to_context(event.element.cq->context), &event);
	} else if (srq) {
		event.element.srq = &((struct verbs_srq *)srq->owner)->ibv;
		append(to_context(event.element.srq->context), &event);
	} else {
		tell_port(rvt->owner, &event);
	}
}

const struct lane_events verbs_events = {
	.completion = on_completion,
	.asynchronous = on_async,
};

/* Where the interface counts the events of an object; NULL for events of a port or device. */
static uint32_t *counters_of(const struct ibv_async_event *event, pthread_mutex_t **mutex,
			     pthread_cond_t **cond, uint32_t **completed)
{
	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR: {
		struct verbs_cq *cq = to_cq(event->element.cq);

		if (!cq)
			return NULL;
		*mutex = &cq->ex.mutex;
		*cond = &cq->ex.cond;
		*completed = &cq->ex.async_events_completed;
		return &cq->async_delivered;
	}
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED: {
		struct verbs_srq *srq = to_srq(event->element.srq);

		if (!srq)
			return NULL;
		*mutex = &srq->ibv.mutex;
		*cond = &srq->ibv.cond;
		*completed = &srq->ibv.events_completed;
		return &srq->async_delivered;
	}
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED: {
		struct verbs_qp *qp = to_qp(event->element.qp);

		if (!qp)
			return NULL;
		*mutex = &qp->ex.qp_base.mutex;
		*cond = &qp->ex.qp_base.cond;
		*completed = &qp->ex.qp_base.events_completed;
		return &qp->async_delivered;
	}
	default:
		return NULL;
	}
}

int ibv_get_async_event(struct ibv_context *ibv, struct ibv_async_event *ret)
{
	struct verbs_device_context *context;
	uint32_t *delivered, *completed;
	pthread_mutex_t *mutex;
	pthread_cond_t *cond;
	int err;

	if (!ibv || !ret || !handle_ok(&to_context(ibv)->handle, HANDLE_CONTEXT)) {
		errno = EINVAL;
		return -1;
	}
	context = to_context(ibv);
	if (!lane_present(context->stamp)) {
		errno = ENODEV;
		return -1;
	}
	for (;;) {
		struct verbs_event *event = NULL;

		err = take(ibv->async_fd, false);
		if (err) {
			errno = -err;
			return -1;
		}
		pthread_mutex_lock(&context->event_lock);
		if (!list_empty(&context->events)) {
			event = list_entry(context->events.next, struct verbs_event, node);
			list_unlink(&event->node);
			delivered = counters_of(&event->ibv, &mutex, &cond, &completed);
			if (delivered) {
				pthread_mutex_lock(mutex);
				(*delivered)++;
				pthread_mutex_unlock(mutex);
			}
		}
		pthread_mutex_unlock(&context->event_lock);
		if (event) {
			*ret = event->ibv;
			free(event);
			return 0;
		}
	}
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	uint32_t *delivered, *completed;
	pthread_mutex_t *mutex;
	pthread_cond_t *cond;

	if (!event)
		return;
	delivered = counters_of(event, &mutex, &cond, &completed);
	if (!delivered)
		return;
	pthread_mutex_lock(mutex);
	(*completed)++;
	pthread_cond_broadcast(cond);
	pthread_mutex_unlock(mutex);
}

void verbs_drop_events(struct ibv_context *ibv, void *object)
{
	struct verbs_device_context *context = to_context(ibv);

	pthread_mutex_lock(&context->event_lock);
	list_for_each_safe(node, &context->events) {
		struct verbs_event *event = list_entry(node, struct verbs_event, node);

		/* The members of the element are pointers that share one place. */
		if ((void *)event->ibv.element.qp != object)
			continue;
		list_unlink(node);
		free(event);
		take_back(ibv->async_fd);
	}
	pthread_mutex_unlock(&context->event_lock);
}

static void unlock(void *mutex)
{
	pthread_mutex_unlock(mutex);
}

void verbs_wait_acknowledged(pthread_mutex_t *mutex, pthread_cond_t *cond,
			     const uint32_t *delivered, const uint32_t *completed)
{
	pthread_mutex_lock(mutex);
	/* A thread that is cancelled here must not keep the others from acknowledging. */
	pthread_cleanup_push(unlock, mutex);
	while ((int32_t)(*delivered - *completed) > 0)
		pthread_cond_wait(cond, mutex);
	pthread_cleanup_pop(1);
}
