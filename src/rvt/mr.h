/* SPDX-License-Identifier: Apache-2.0 */
/* mr.h - memory regions: registration, keys, access checks, and quiescing before the memory goes
 * back */
#ifndef RVT_MR_H
#define RVT_MR_H

#include "rvt/device.h"

/*
 * A key is the restrack id of the region (24 bits, its index) << 8 | a variant byte. lkey == rkey.
 *
 * A region lives while the program holds it or a work request, an active message or a responder
 * resource refers to it. rvt_dereg_mr() makes it invalid at once: nobody copies to or from an
 * invalid region, since every copy checks (sge.h), so the memory may go as soon as the call
 * returns; the id comes back with the last reference.
 */
struct rvt_mr {
	struct restrack_entry res;
	struct rvt_device *device;
	struct rvt_context *context;
	struct rvt_pd *pd;
	uint64_t address; /* in this process */
	uint64_t iova;	  /* what SGEs and peers call the first byte */
	uint64_t length;
	uint32_t access; /* enum rvt_access */
	uint32_t key;
	uint32_t references; /* 1 of the program + 1 each of WQEs, messages, resources */
	/* Changes with every registration, re-registration and invalidation: unequal = not the same
	 * memory. */
	uint32_t generation;
	bool valid;
	bool null;	  /* reads give zeros, writes go nowhere; lkey only */
	bool window;	  /* is the first member of a struct rvt_mw */
	uint32_t windows; /* bound to it */
	void *owner;
};

/**
 * rvt_reg_mr() - register @length bytes at @address, called @iova by SGEs and peers.
 * ibv_reg_mr(3). -EINVAL bad flags or a range that wraps, -EFAULT not mapped so, -ENOMEM. Length 0
 * is allowed. Memory is touched where it lies, so ON_DEMAND only leaves out the look whether it is
 * mapped; with it all of UINT64_MAX bytes at 0 are one region.
 */
int rvt_reg_mr(struct rvt_pd *pd, uint64_t address, uint64_t length, uint64_t iova, uint32_t access,
	       struct rvt_mr **ret) MUST_USE;
int rvt_alloc_null_mr(struct rvt_pd *pd, struct rvt_mr **ret) MUST_USE;

enum rvt_rereg {
	RVT_REREG_TRANSLATION = 1,
	RVT_REREG_PD = 2,
	RVT_REREG_ACCESS = 4
};
/** rvt_rereg_mr() - ibv_rereg_mr(3): keys stay, the generation changes. An error leaves the region
 * as it was; -EINVAL also for a PD of another context. */
int rvt_rereg_mr(struct rvt_mr *mr, uint32_t flags, struct rvt_pd *pd, uint64_t address,
		 uint64_t length, uint32_t access) MUST_USE;
/** rvt_dereg_mr() - always succeeds for a live region (0); see above. Memory windows bound to it:
 * -EBUSY. */
int rvt_dereg_mr(struct rvt_mr *mr) MUST_USE;

/* The keys of windows are those of ids from here on. */
#define RVT_FIRST_MW (1u << 20)

void rvt_get_mr(struct rvt_mr *mr);
/** rvt_put_mr() - the last reference frees an invalid region and returns its id. NULL is allowed.
 */
void rvt_put_mr(struct rvt_mr *mr);

/**
 * rvt_lkey_ok() - may a work request of @pd use this local memory? @write: it will be written.
 * On RVT_OK *ret is the region, referenced (caller puts), and *address the first byte in this
 * process. A zero length is not for here: skip such SGEs unchecked (IBTA 10.3.7; hardware does).
 */
enum rvt_verdict rvt_lkey_ok(struct rvt_pd *pd, const struct rvt_sge *sge, bool write,
			     struct rvt_mr **ret, uint64_t *address);
/**
 * rvt_rkey_ok() - may a peer of a QP of @pd access this? @access: one RVT_ACCESS_REMOTE_* bit.
 * Checked in the hardware's order: key, PD, rights, range. Same results as rvt_lkey_ok().
 */
enum rvt_verdict rvt_rkey_ok(struct rvt_pd *pd, uint32_t rkey, uint64_t va, uint64_t length,
			     uint32_t access, struct rvt_mr **ret, uint64_t *address);
/** rvt_find_mr() - the valid region or bound window with exactly this key, or NULL. Not referenced.
 */
struct rvt_mr *rvt_find_mr(struct rvt_device *device, uint32_t key);
/** rvt_find_mr_by_id() - the valid region of @pd with this restrack id, or NULL. */
struct rvt_mr *rvt_find_mr_by_id(struct rvt_pd *pd, uint32_t id);
/** rvt_mr_inside() - does the region hold this range, as it names it? */
bool rvt_mr_inside(const struct rvt_mr *mr, uint64_t address, uint64_t length);

#endif
