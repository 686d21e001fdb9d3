/* SPDX-License-Identifier: Apache-2.0 */
/* buffers.c - buffers that the library allocates for a program: ordinary memory, on pages of its
 * own */

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "verbs/abi.h"

struct ibv_buf {
	struct ibv_pd *pd;
	char *base;
	size_t size;
};

void *ibv_alloc_buf(struct ibv_pd *pd, size_t size, struct ibv_buf **buf)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct ibv_buf *made;
	size_t rounded;
	void *base;
	int error;

	if (!pd || !buf || !size || __builtin_add_overflow(size, page - 1, &rounded)) {
		errno = EINVAL;
		return NULL;
	}
	rounded -= rounded % page;

	made = malloc(sizeof(*made));
	if (!made)
		return NULL;
	error = posix_memalign(&base, page, rounded);
	if (error) {
		free(made);
		errno = error;
		return NULL;
	}
	made->pd = pd;
	made->base = base;
	made->size = size;
	*buf = made;
	return base;
}

void ibv_free_buf(struct ibv_buf *buf)
{
	if (!buf)
		return;
	free(buf->base);
	free(buf);
}

struct ibv_mr *ibv_reg_buf_mr(struct ibv_pd *pd, struct ibv_buf *buf, void *addr, size_t length,
			      int access)
{
	size_t offset;

	if (!buf || pd != buf->pd || (uintptr_t)addr < (uintptr_t)buf->base)
		goto invalid;
	offset = (size_t)((uintptr_t)addr - (uintptr_t)buf->base);
	if (offset > buf->size || length > buf->size - offset)
		goto invalid;
	return ibv_reg_mr(pd, addr, length, access);

invalid:
	errno = EINVAL;
	return NULL;
}
