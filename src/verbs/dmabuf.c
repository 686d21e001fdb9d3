/* SPDX-License-Identifier: Apache-2.0 */
/* dmabuf.c - regions of a dma-buf, which is mapped for the purpose: the device works with the
 * processor */
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "verbs/objects.h"

#define DMA_BUF_MAGIC 0x444d4142 /* statfs() of one */

static struct ibv_mr *refuse(int err, const char *why)
{
	lane_log(LANE_LOG_WARN, "ibv_reg_dmabuf_mr: %s", why);
	return fail(err);
}

struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
				 int fd, int access)
{
	const int remote =
		IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_LOCAL_WRITE;
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t before = offset % page;
	struct statfs status;
	struct ibv_mr *mr;
	uint8_t *mapping;
	size_t size;
	int err;

	if (!to_pd(pd) || !length || __builtin_add_overflow(length, before, &size))
		return fail(-EINVAL);
	if (fstatfs(fd, &status))
		return fail(-EBADF);
	if ((uint32_t)status.f_type != DMA_BUF_MAGIC)
		return refuse(-EINVAL, "the descriptor is no dma-buf");
	/* Keys and ranges are looked at before the mapping, and that by the exporter. */
	mapping = mmap(NULL, size, PROT_READ | (access & remote ? PROT_WRITE : 0), MAP_SHARED, fd,
		       (off_t)(offset - before));
	if (mapping == MAP_FAILED)
		return refuse(
			-EOPNOTSUPP,
			"whoever exports the dma-buf does not let it be mapped, so no processor "
			"can reach it");
	mr = ibv_reg_mr_iova2(pd, mapping + before, length, iova, (unsigned)access);
	if (!mr) {
		err = errno;
		munmap(mapping, size);
		errno = err;
		return NULL;
	}
	mr->addr = NULL;
	to_mr(mr)->mapping = mapping;
	to_mr(mr)->mapping_size = size;
	return mr;
}
