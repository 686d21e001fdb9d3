/* SPDX-License-Identifier: Apache-2.0 */
/* sge.c - scatter and gather */
#include "rvt/sge.h"

#include <errno.h>
#include <string.h>

enum rvt_verdict rvt_sge_list_set(struct rvt_sge_list *list, struct rvt_pd *pd,
				  const struct rvt_sge *sges, uint32_t count, bool write,
				  uint32_t *bad)
{
	uint64_t total = 0;

	list->count = 0;
	list->length = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct rvt_segment *segment = &list->segments[list->count];
		enum rvt_verdict verdict;

		if (!sges[i].length)
			continue;
		*bad = i;
		total += sges[i].length;
		verdict = total > RVT_MAX_MESSAGE ? RVT_SEND_TOO_LONG
						  : rvt_lkey_ok(pd, &sges[i], write, &segment->mr,
								&segment->address);
		if (verdict != RVT_OK) {
			rvt_sge_list_put(list);
			return verdict;
		}
		segment->length = sges[i].length;
		segment->generation = segment->mr->generation;
		list->count++;
	}
	list->length = (uint32_t)total;
	return RVT_OK;
}

void rvt_sge_list_put(struct rvt_sge_list *list)
{
	for (uint32_t i = 0; i < list->count; i++)
		rvt_put_mr(list->segments[i].mr);
	list->count = 0;
	list->length = 0;
}

/* One piece inside of one segment. */
static enum rvt_verdict copy_piece(struct rvt_device *device, const struct rvt_segment *segment,
				   uint32_t offset, void *out, const void *in, uint32_t length)
{
	const struct rvt_mr *mr = segment->mr;
	uint64_t address = segment->address + offset;

	if (!mr->valid || mr->generation != segment->generation)
		return RVT_MR_GONE;
	if (mr->null) {
		if (out)
			memset(out, 0, length);
		return RVT_OK;
	}
	if (out ? device->memory->read(out, address, length)
		: device->memory->write(address, in, length))
		return RVT_MEMORY_FAULT;
	return RVT_OK;
}

static enum rvt_verdict copy(struct rvt_device *device, const struct rvt_sge_list *list,
			     uint32_t offset, uint8_t *out, const uint8_t *in, uint32_t length)
{
	const struct rvt_segment *segment = list->segments;

	ASSERT((uint64_t)offset + length <= list->length);
	if (!length)
		return RVT_OK;
	while (offset >= segment->length) {
		offset -= segment->length;
		segment++;
	}
	for (;;) {
		uint32_t room = segment->length - offset, piece = room < length ? room : length;
		enum rvt_verdict verdict = copy_piece(device, segment, offset, out, in, piece);

		length -= piece;
		if (verdict != RVT_OK || !length)
			return verdict;
		if (out)
			out += piece;
		else
			in += piece;
		offset = 0;
		segment++;
	}
}

enum rvt_verdict rvt_copy_from_sge(struct rvt_device *device, const struct rvt_sge_list *list,
				   uint32_t offset, void *to, uint32_t length)
{
	return copy(device, list, offset, to, NULL, length);
}

enum rvt_verdict rvt_copy_to_sge(struct rvt_device *device, const struct rvt_sge_list *list,
				 uint32_t offset, const void *from, uint32_t length)
{
	return copy(device, list, offset, NULL, from, length);
}
