/* SPDX-License-Identifier: Apache-2.0 */
/* handles.c - free lists, one of each kind, first in first out */
#include "verbs/handles.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct {
	struct handle *first, **end;
	size_t size, offset;
} kinds[HANDLE_KINDS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *handle_new(enum handle_kind kind, size_t size, size_t offset)
{
	struct handle *handle;
	char *object = NULL;
	size_t keep;

	pthread_mutex_lock(&lock);
	kinds[kind].size = size;
	kinds[kind].offset = offset;
	handle = kinds[kind].first;
	if (handle) {
		kinds[kind].first = handle->next;
		if (!handle->next)
			kinds[kind].end = NULL;
		object = (char *)handle - offset;
	}
	pthread_mutex_unlock(&lock);
	if (!object)
		return calloc(1, size);
	/*
	 * All but contexts begin with the pointer to their context, and the inline functions of the
	 * interface go through it before we see the call: a program that still uses the old object
	 * must find one there.
	 */
	keep = kind == HANDLE_CONTEXT ? 0 : sizeof(void *);
	memset(object + keep, 0, size - keep);
	return object;
}

bool handle_retire(struct handle *handle, enum handle_kind kind)
{
	uint32_t mark = HANDLE_MARK(kind);

	return __atomic_compare_exchange_n(&handle->mark, &mark, 0, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

void handle_free(struct handle *handle, enum handle_kind kind)
{
	pthread_mutex_lock(&lock);
	__atomic_store_n(&handle->mark, 0, __ATOMIC_RELAXED);
	handle->next = NULL;
	if (kinds[kind].end)
		*kinds[kind].end = handle;
	else
		kinds[kind].first = handle;
	kinds[kind].end = &handle->next;
	pthread_mutex_unlock(&lock);
}

void handles_before_fork(void)
{
	pthread_mutex_lock(&lock);
}

void handles_after_fork(void)
{
	pthread_mutex_unlock(&lock);
}
