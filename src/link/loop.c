/* SPDX-License-Identifier: Apache-2.0 */
/* loop.c - packets of a process to itself: a ring of bytes in memory */
#include <errno.h>
#include <stdlib.h>

#include "link/private.h"

#define SKIP UINT32_MAX

static size_t room_for(size_t length)
{
	return (sizeof(struct loop_header) + length + 63) & ~(size_t)63;
}

int loop_init(struct loop *loop)
{
	loop->memory = aligned_alloc(64, LOOP_SIZE);
	loop->head = loop->tail = loop->used = 0;
	return loop->memory ? 0 : -ENOMEM;
}

uint8_t *loop_reserve(struct loop *loop, struct link_way *way, uint8_t traffic_class, size_t length)
{
	size_t room = room_for(length);
	size_t to_end = LOOP_SIZE - loop->head;
	struct loop_header *header;

	if (to_end < room) {
		/* The rest of the ring stays empty: a packet is never split. */
		if (loop->used + to_end + room > LOOP_SIZE)
			return NULL;
		header = (struct loop_header *)(void *)(loop->memory + loop->head);
		header->size = SKIP;
		header->room = (uint32_t)to_end;
		loop->used += to_end;
		loop->head = 0;
	} else if (loop->used + room > LOOP_SIZE) {
		return NULL;
	}
	header = (struct loop_header *)(void *)(loop->memory + loop->head);
	header->size = (uint32_t)length;
	header->room = (uint32_t)room;
	header->way = way;
	header->traffic_class = traffic_class;
	return (uint8_t *)(header + 1);
}

void loop_commit(struct loop *loop)
{
	struct loop_header *header = (struct loop_header *)(void *)(loop->memory + loop->head);

	loop->used += header->room;
	loop->head = (loop->head + header->room) % LOOP_SIZE;
}

struct loop_header *loop_peek(struct loop *loop)
{
	struct loop_header *header;

	while (loop->used) {
		header = (struct loop_header *)(void *)(loop->memory + loop->tail);
		if (header->size != SKIP)
			return header;
		loop_drop(loop);
	}
	return NULL;
}

void loop_drop(struct loop *loop)
{
	struct loop_header *header = (struct loop_header *)(void *)(loop->memory + loop->tail);

	loop->used -= header->room;
	loop->tail = (loop->tail + header->room) % LOOP_SIZE;
}
