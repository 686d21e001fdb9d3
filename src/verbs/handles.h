/* SPDX-License-Identifier: Apache-2.0 */
/* handles.h - memory of objects that programs hold pointers to: recognised when dead, reused late
 */
#ifndef VERBS_HANDLES_H
#define VERBS_HANDLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum handle_kind {
	HANDLE_CONTEXT,
	HANDLE_PD,
	HANDLE_MR,
	HANDLE_MW,
	HANDLE_DM,
	HANDLE_AH,
	HANDLE_CHANNEL,
	HANDLE_CQ,
	HANDLE_SRQ,
	HANDLE_QP,
	HANDLE_XRCD,
	HANDLE_KINDS,
};

struct handle {
	uint32_t mark; /* says alive, and which kind */
	struct handle *next;
};

#define HANDLE_MARK(kind) (0xadbe0000u + (kind))

/**
 * handle_new() - a zeroed object of @size bytes with its struct handle at @offset; the same for all
 * of a kind. NULL without memory. It is alive from handle_publish() on.
 */
void *handle_new(enum handle_kind kind, size_t size, size_t offset);
static inline void handle_publish(struct handle *handle, enum handle_kind kind)
{
	__atomic_store_n(&handle->mark, HANDLE_MARK(kind), __ATOMIC_RELEASE);
}
/** handle_retire() - true for exactly one caller: the object is dead to all others, its memory
 * still the caller's. */
bool handle_retire(struct handle *handle, enum handle_kind kind);
/** handle_free() - give a retired or never published object back; it is reused after those freed
 * before it. */
void handle_free(struct handle *handle, enum handle_kind kind);
static inline bool handle_ok(const struct handle *handle, enum handle_kind kind)
{
	return __atomic_load_n(&handle->mark, __ATOMIC_ACQUIRE) == HANDLE_MARK(kind);
}
/** handles_before_fork(), handles_after_fork() - nobody is in the middle of it. */
void handles_before_fork(void);
void handles_after_fork(void);

#define HANDLE_NEW(type, kind) ((type *)handle_new(kind, sizeof(type), offsetof(type, handle)))

#endif
