/* SPDX-License-Identifier: Apache-2.0 */
/* sge.h - checked pieces of local memory, and copying in and out of them at any offset */
#ifndef RVT_SGE_H
#define RVT_SGE_H

#include "rvt/mr.h"

/* A checked SGE: holds a reference on its region. */
struct rvt_segment {
	struct rvt_mr *mr;
	uint64_t address; /* in this process */
	uint32_t length;
	uint32_t generation; /* of the region when it was checked: a re-registered region is not
				what was checked */
};

/* Segments seen as one run of bytes. */
struct rvt_sge_list {
	struct rvt_segment *segments;
	uint32_t count;
	uint32_t length; /* their sum */
};

/**
 * rvt_sge_list_set() - check @count SGEs and fill @list->segments (room for @count); zero lengths
 * are skipped. On an error nothing is referenced and values are told to the caller in @bad (the
 * SGE's index). SEND_TOO_LONG when the sum passes RVT_MAX_MESSAGE.
 */
enum rvt_verdict rvt_sge_list_set(struct rvt_sge_list *list, struct rvt_pd *pd,
				  const struct rvt_sge *sges, uint32_t count, bool write,
				  uint32_t *bad);
/** rvt_sge_list_put() - release the regions; the list is empty afterwards. Harmless on an empty
 * list. */
void rvt_sge_list_put(struct rvt_sge_list *list);

/**
 * rvt_copy_from_sge() - gather: @length bytes at @offset of @list to @to. The range lies inside
 * (asserted). RVT_OK; MR_GONE when a region was deregistered or re-registered; MEMORY_FAULT when it
 * is not mapped. On an error @to holds anything.
 */
enum rvt_verdict rvt_copy_from_sge(struct rvt_device *device, const struct rvt_sge_list *list,
				   uint32_t offset, void *to, uint32_t length);
/** rvt_copy_to_sge() - scatter, likewise. Bytes before the fault are written. */
enum rvt_verdict rvt_copy_to_sge(struct rvt_device *device, const struct rvt_sge_list *list,
				 uint32_t offset, const void *from, uint32_t length);

#endif
