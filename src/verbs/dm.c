/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dm.c - device memory: the device is this process, and so is its memory
 *
 * It has a lock of its own and works in a forked child too, which has the memory but not the
 * device.
 */
#include <stdlib.h>
#include <string.h>

#include "verbs/objects.h"

#define LONGEST_ALIGNMENT 12 /* log2 */
#define UNIT		  4u /* of offsets and lengths, as adapters have it */

/* What the handles of one allocation share. */
struct verbs_dm_memory {
	struct list_node node; /* of memories */
	struct rvt_context *context;
	uint32_t handle;
	uint32_t handles; /* the one of ibv_alloc_dm() and those of ibv_import_dm() */
	uint32_t regions;
	size_t length;
	uint8_t *bytes;
};

/* Guards all of the following. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct list_node memories = { &memories, &memories };
static size_t used;
static uint32_t last_handle;

static bool inside(const struct verbs_dm *dm, uint64_t offset, size_t length)
{
	return offset <= dm->memory->length && length <= dm->memory->length - offset &&
	       offset % UNIT == 0 && length % UNIT == 0;
}

static int copy_to(struct ibv_dm *ibv, uint64_t offset, const void *from, size_t length)
{
	struct verbs_dm *dm = to_dm(ibv);

	if (!dm || !inside(dm, offset, length))
		return EINVAL;
	return -lane_memory.read(dm->memory->bytes + offset, (uintptr_t)from, length);
}

static int copy_from(void *to, struct ibv_dm *ibv, uint64_t offset, size_t length)
{
	struct verbs_dm *dm = to_dm(ibv);

	if (!dm || !inside(dm, offset, length))
		return EINVAL;
	return -lane_memory.write((uintptr_t)to, dm->memory->bytes + offset, length);
}

static struct verbs_dm_memory *allocate(const struct ibv_alloc_dm_attr *attr)
{
	struct verbs_dm_memory *memory = calloc(1, sizeof(*memory));
	uint32_t alignment = attr->log_align_req < 6 ? 6 : attr->log_align_req;
	void *bytes;

	if (!memory || posix_memalign(&bytes, (size_t)1 << alignment, attr->length)) {
		free(memory);
		return NULL;
	}
	memset(bytes, 0, attr->length);
	memory->bytes = bytes;
	memory->length = attr->length;
	return memory;
}

static void init_handle(struct verbs_dm *dm, struct ibv_context *context)
{
	dm->ibv.context = context;
	dm->ibv.memcpy_to_dm = copy_to;
	dm->ibv.memcpy_from_dm = copy_from;
	dm->ibv.comp_mask = IBV_DM_MASK_HANDLE;
	dm->ibv.handle = dm->memory->handle;
	dm->memory->handles++;
}

struct ibv_dm *verbs_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr)
{
	struct verbs_dm *dm;
	int err = 0;

	if (!context || !handle_ok(&to_context(context)->handle, HANDLE_CONTEXT) || !attr ||
	    !attr->length || attr->comp_mask || attr->log_align_req > LONGEST_ALIGNMENT)
		return fail(-EINVAL);
	if (attr->length > VERBS_MAX_DM)
		return fail(-ENOMEM);
	dm = HANDLE_NEW(struct verbs_dm, HANDLE_DM);
	if (!dm)
		return fail(-ENOMEM);
	dm->memory = allocate(attr);
	if (!dm->memory) {
		handle_free(&dm->handle, HANDLE_DM);
		return fail(-ENOMEM);
	}
	pthread_mutex_lock(&lock);
	if (attr->length > VERBS_MAX_DM - used) {
		err = -ENOMEM;
	} else {
		used += attr->length;
		dm->memory->handle = ++last_handle;
		dm->memory->context = to_context(context)->rvt;
		list_append(&memories, &dm->memory->node);
		init_handle(dm, context);
	}
	pthread_mutex_unlock(&lock);
	if (err) {
		free(dm->memory->bytes);
		free(dm->memory);
		handle_free(&dm->handle, HANDLE_DM);
		return fail(err);
	}
	handle_publish(&dm->handle, HANDLE_DM);
	return &dm->ibv;
}

/* One handle less; the memory goes with the last. Locked. */
static void release(struct verbs_dm_memory *memory)
{
	if (--memory->handles)
		return;
	used -= memory->length;
	list_unlink(&memory->node);
	free(memory->bytes);
	free(memory);
}

static int end(struct ibv_dm *ibv, bool imported)
{
	struct verbs_dm *dm = to_dm(ibv);
	int err = 0;

	if (!dm || dm->imported != imported)
		return EINVAL;
	pthread_mutex_lock(&lock);
	if (dm->memory->regions && dm->memory->handles == 1)
		err = EBUSY;
	else if (!handle_retire(&dm->handle, HANDLE_DM))
		err = EINVAL;
	else
		release(dm->memory);
	pthread_mutex_unlock(&lock);
	if (!err)
		handle_free(&dm->handle, HANDLE_DM);
	return err;
}

int verbs_free_dm(struct ibv_dm *ibv)
{
	return end(ibv, false);
}

struct ibv_dm *ibv_import_dm(struct ibv_context *context, uint32_t number)
{
	struct verbs_dm *dm;

	if (!context || !handle_ok(&to_context(context)->handle, HANDLE_CONTEXT))
		return fail(-EINVAL);
	dm = HANDLE_NEW(struct verbs_dm, HANDLE_DM);
	if (!dm)
		return fail(-ENOMEM);
	pthread_mutex_lock(&lock);
	list_for_each(node, &memories) {
		struct verbs_dm_memory *memory = list_entry(node, struct verbs_dm_memory, node);

		if (memory->handle == number && memory->context == to_context(context)->rvt)
			dm->memory = memory;
	}
	if (dm->memory)
		init_handle(dm, context);
	pthread_mutex_unlock(&lock);
	if (!dm->memory) {
		handle_free(&dm->handle, HANDLE_DM);
		return fail(-ENOENT);
	}
	dm->imported = true;
	handle_publish(&dm->handle, HANDLE_DM);
	return &dm->ibv;
}

void ibv_unimport_dm(struct ibv_dm *dm)
{
	(void)end(dm, true);
}

#define DM_ACCESS                                                             \
 (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
  IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED |     \
  IBV_ACCESS_OPTIONAL_RANGE)

struct ibv_mr *verbs_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *ibv, uint64_t offset,
			       size_t length, unsigned int access)
{
	struct verbs_dm *dm = to_dm(ibv);
	struct ibv_mr *mr;

	if (!dm || !to_pd(pd) || pd->context != ibv->context || !inside(dm, offset, length) ||
	    access & ~(unsigned)DM_ACCESS || !(access & IBV_ACCESS_ZERO_BASED))
		return fail(-EINVAL);
	mr = ibv_reg_mr(pd, dm->memory->bytes + offset, length, (int)access);
	if (!mr)
		return NULL;
	/* Where the device has it is nothing to the program. */
	mr->addr = NULL;
	pthread_mutex_lock(&lock);
	dm->memory->regions++;
	pthread_mutex_unlock(&lock);
	to_mr(mr)->dm = dm->memory;
	return mr;
}

void verbs_dm_region_gone(struct verbs_dm_memory *memory)
{
	pthread_mutex_lock(&lock);
	memory->regions--;
	pthread_mutex_unlock(&lock);
}

void verbs_dm_before_fork(void)
{
	pthread_mutex_lock(&lock);
}

void verbs_dm_after_fork(void)
{
	pthread_mutex_unlock(&lock);
}
