/* SPDX-License-Identifier: Apache-2.0 */
/* allocator.h - where memory comes from, passed to the layers that may not call malloc */
#ifndef BASE_ALLOCATOR_H
#define BASE_ALLOCATOR_H

#include <stddef.h>

struct allocator {
	void *(*allocate)(void *context, size_t size); /* zeroed and max-aligned, or NULL */
	void (*release)(void *context, void *memory);  /* NULL is allowed */
	void *context;
};

static inline void *allocator_get(const struct allocator *a, size_t size)
{
	return a->allocate(a->context, size);
}

static inline void allocator_put(const struct allocator *a, void *memory)
{
	a->release(a->context, memory);
}

#endif
