/* SPDX-License-Identifier: Apache-2.0 */
/* mr.c - memory regions */
#include "rvt/mr.h"

#include <errno.h>

#define KNOWN_ACCESS                                                                             \
 (RVT_ACCESS_LOCAL_WRITE | RVT_ACCESS_REMOTE_WRITE | RVT_ACCESS_REMOTE_READ |                    \
  RVT_ACCESS_REMOTE_ATOMIC | RVT_ACCESS_MW_BIND | RVT_ACCESS_ZERO_BASED | RVT_ACCESS_ON_DEMAND | \
  RVT_ACCESS_HUGETLB | RVT_ACCESS_FLUSH_GLOBAL)

static int check_access(struct rvt_device *device, uint32_t *access)
{
	*access &= ~(uint32_t)RVT_ACCESS_OPTIONAL_RANGE;
	/* Would need memory that outlives the power. */
	if (*access & RVT_ACCESS_FLUSH_PERSISTENT)
		return rvt_refuse(device, RVT_NO_PERSISTENCE, NULL, *access, 0);
	if (*access & ~(uint32_t)KNOWN_ACCESS)
		return rvt_refuse(device, RVT_BAD_ACCESS_FLAGS, NULL, *access, 0);
	if (*access & (RVT_ACCESS_REMOTE_WRITE | RVT_ACCESS_REMOTE_ATOMIC) &&
	    !(*access & RVT_ACCESS_LOCAL_WRITE))
		return rvt_refuse(device, RVT_BAD_ACCESS_FLAGS, NULL, *access, 0);
	return 0;
}

static int check_range(struct rvt_device *device, uint64_t address, uint64_t length, uint64_t iova,
		       uint32_t access)
{
	uint64_t end;

	/* Everything that the process has, now or later. */
	if (access & RVT_ACCESS_ON_DEMAND && !address && !iova && length == UINT64_MAX)
		return 0;
	if (length > rvt_limits.max_mr_size || __builtin_add_overflow(address, length, &end) ||
	    __builtin_add_overflow(iova, length, &end))
		return rvt_refuse(device, RVT_BAD_ARGUMENT, NULL, length, rvt_limits.max_mr_size);
	/* On demand: what is not there when it is used fails then. */
	if (length && !(access & RVT_ACCESS_ON_DEMAND) &&
	    device->memory->probe(address, length, access & RVT_ACCESS_LOCAL_WRITE))
		return rvt_refuse(device, RVT_MAPPING, NULL, address, length);
	return 0;
}

static void publish(struct rvt_mr *mr)
{
	restrack_set(&mr->res, RESTRACK_MR_RKEY, mr->null ? 0 : mr->key);
	restrack_set(&mr->res, RESTRACK_MR_LKEY, mr->key);
	restrack_set(&mr->res, RESTRACK_MR_LENGTH, mr->length);
	restrack_set(&mr->res, RESTRACK_MR_IOVA, mr->iova);
	restrack_set(&mr->res, RESTRACK_MR_PDN, mr->pd->res.id);
	restrack_set(&mr->res, RESTRACK_MR_ACCESS, mr->access);
	restrack_set(&mr->res, RESTRACK_MR_GENERATION, mr->generation);
}

/* A region that is tracked and has a key; valid from here on. */
static int create(struct rvt_pd *pd, const struct rvt_mr *template, struct rvt_mr **ret)
{
	struct rvt_device *device = pd->context->device;
	struct rvt_mr *mr = allocator_get(device->allocator, sizeof(*mr));

	if (!mr)
		return rvt_refuse(device, RVT_NO_MEMORY, NULL, 0, 0);
	*mr = *template;
	mr->device = device;
	mr->context = pd->context;
	mr->pd = pd;
	mr->references = 1;
	restrack_new(&mr->res, RESTRACK_MR);
	restrack_parent_name(&mr->res, &pd->context->res);
	if (restrack_reserve(device->restrack, &mr->res)) {
		allocator_put(device->allocator, mr);
		return rvt_refuse(device, RVT_NO_MEMORY, NULL, 0, 0);
	}
	mr->key = mr->res.id << 8 | (uint32_t)(random_next(&device->random) & 0xff);
	mr->generation = ++device->mr_generation;
	mr->valid = true;
	publish(mr);
	ASSERT(!restrack_add(device->restrack, &mr->res));
	rvt_use_pd(pd, 1);
	*ret = mr;
	return 0;
}

int rvt_reg_mr(struct rvt_pd *pd, uint64_t address, uint64_t length, uint64_t iova, uint32_t access,
	       struct rvt_mr **ret)
{
	struct rvt_device *device = pd->context->device;
	struct rvt_mr template = { .address = address, .length = length, .iova = iova };
	int err = check_access(device, &access);

	if (!err && access & RVT_ACCESS_ZERO_BASED)
		template.iova = iova = 0;
	if (!err)
		err = check_range(device, address, length, iova, access);
	if (err)
		return err;
	template.access = access;
	return create(pd, &template, ret);
}

int rvt_alloc_null_mr(struct rvt_pd *pd, struct rvt_mr **ret)
{
	struct rvt_mr template = { .length = UINT64_MAX,
				   .access = RVT_ACCESS_LOCAL_WRITE,
				   .null = true };

	return create(pd, &template, ret);
}

int rvt_rereg_mr(struct rvt_mr *mr, uint32_t flags, struct rvt_pd *pd, uint64_t address,
		 uint64_t length, uint32_t access)
{
	uint32_t new_access = flags & RVT_REREG_ACCESS ? access : mr->access;
	int err;

	if (mr->null || !mr->valid || !flags ||
	    flags & ~(uint32_t)(RVT_REREG_TRANSLATION | RVT_REREG_PD | RVT_REREG_ACCESS))
		return rvt_refuse(mr->device, RVT_BAD_ARGUMENT, &mr->res, flags, 7);
	/* A region goes with its context, and so must the PD that it uses. */
	if (flags & RVT_REREG_PD && (!pd || pd->context != mr->context))
		return rvt_refuse(mr->device, RVT_BAD_ARGUMENT, &mr->res, flags, 7);
	/* What is bound was checked against the region as it is. */
	if (mr->windows)
		return rvt_refuse(mr->device, RVT_IN_USE, &mr->res, mr->windows, 0);
	err = check_access(mr->device, &new_access);
	if (!err && flags & (RVT_REREG_TRANSLATION | RVT_REREG_ACCESS)) {
		bool moved = flags & RVT_REREG_TRANSLATION;

		err = check_range(mr->device, moved ? address : mr->address,
				  moved ? length : mr->length, moved ? address : mr->iova,
				  new_access);
	}
	if (err)
		return err;
	if (flags & RVT_REREG_TRANSLATION) {
		mr->address = mr->iova = address;
		mr->length = length;
	}
	if (flags & RVT_REREG_PD) {
		rvt_use_pd(mr->pd, -1);
		rvt_use_pd(pd, 1);
		mr->pd = pd;
	}
	mr->access = new_access;
	/* What was checked against the region as it was is checked no more. */
	mr->generation = ++mr->device->mr_generation;
	publish(mr);
	return 0;
}

int rvt_dereg_mr(struct rvt_mr *mr)
{
	ASSERT(mr->valid);
	if (mr->windows)
		return rvt_refuse(mr->device, RVT_IN_USE, &mr->res, mr->windows, 0);
	ASSERT(!restrack_begin_del(&mr->res));
	mr->valid = false;
	mr->generation = ++mr->device->mr_generation;
	/* From here on the PD may go; work requests that still refer to the region only learn that
	 * it is invalid. */
	rvt_use_pd(mr->pd, -1);
	mr->pd = NULL;
	mr->context = NULL;
	mr->owner = NULL;
	rvt_put_mr(mr);
	return 0;
}

void rvt_get_mr(struct rvt_mr *mr)
{
	mr->references++;
}

void rvt_put_mr(struct rvt_mr *mr)
{
	if (!mr)
		return;
	ASSERT(mr->references);
	if (--mr->references)
		return;
	ASSERT(!mr->valid);
	ASSERT(!restrack_commit_del(&mr->res));
	allocator_put(mr->device->allocator, mr);
}

struct rvt_mr *rvt_find_mr(struct rvt_device *device, uint32_t key)
{
	enum restrack_type type = key >> 8 < RVT_FIRST_MW ? RESTRACK_MR : RESTRACK_MW;
	struct restrack_entry *e = table_find(&device->restrack->tables[type], key >> 8);
	struct rvt_mr *mr;

	if (!e)
		return NULL;
	mr = container_of(e, struct rvt_mr, res);
	return mr->valid && mr->key == key ? mr : NULL;
}

struct rvt_mr *rvt_find_mr_by_id(struct rvt_pd *pd, uint32_t id)
{
	struct restrack_entry *e =
		table_find(&pd->context->device->restrack->tables[RESTRACK_MR], id);
	struct rvt_mr *mr = e ? container_of(e, struct rvt_mr, res) : NULL;

	return mr && mr->valid && !mr->null && mr->pd == pd ? mr : NULL;
}

bool rvt_mr_inside(const struct rvt_mr *mr, uint64_t address, uint64_t length)
{
	return address >= mr->iova && length <= mr->length &&
	       address - mr->iova <= mr->length - length;
}

enum rvt_verdict rvt_lkey_ok(struct rvt_pd *pd, const struct rvt_sge *sge, bool write,
			     struct rvt_mr **ret, uint64_t *address)
{
	struct rvt_mr *mr = rvt_find_mr(pd->context->device, sge->lkey);

	if (!mr || mr->window)
		return RVT_LKEY_UNKNOWN;
	if (mr->pd != pd)
		return RVT_LKEY_PD;
	if (write && !(mr->access & RVT_ACCESS_LOCAL_WRITE))
		return RVT_LKEY_ACCESS;
	if (!mr->null && !rvt_mr_inside(mr, sge->addr, sge->length))
		return RVT_LKEY_RANGE;
	rvt_get_mr(mr);
	*ret = mr;
	*address = mr->address + (sge->addr - mr->iova);
	return RVT_OK;
}

enum rvt_verdict rvt_rkey_ok(struct rvt_pd *pd, uint32_t rkey, uint64_t va, uint64_t length,
			     uint32_t access, struct rvt_mr **ret, uint64_t *address)
{
	struct rvt_mr *mr = rvt_find_mr(pd->context->device, rkey);

	if (!mr || mr->null)
		return RVT_RKEY_UNKNOWN;
	if (mr->pd != pd)
		return RVT_RKEY_PD;
	if ((mr->access & access) != access)
		return RVT_RKEY_ACCESS;
	if (!rvt_mr_inside(mr, va, length))
		return RVT_RKEY_RANGE;
	rvt_get_mr(mr);
	*ret = mr;
	*address = mr->address + (va - mr->iova);
	return RVT_OK;
}
