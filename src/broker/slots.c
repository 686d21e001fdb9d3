/* SPDX-License-Identifier: Apache-2.0 */
/* slots.c - which slots are free: locks of bytes in a file, which end with the process that has
 * them */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "broker/broker.h"

/* Packets that were on their way to the last owner are gone by then. */
#define QUARANTINE_MS 2000

int slots_open(struct slots *s, const char *path)
{
	*s = (struct slots){ .next = SLOT_FIRST };
	snprintf(s->path, sizeof(s->path), "%s", path);
	s->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	/* A broker before us gave the low ones; their numbers should not come back at once. */
	s->next = SLOT_FIRST + (unsigned)getpid() % (SLOT_LAST - SLOT_FIRST + 1);
	return s->fd < 0 ? -errno : 0;
}

bool slots_used(const struct slots *s, unsigned slot)
{
	struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)slot, .l_len = 1
	};

	/* When it cannot be asked, it is not ours to give. */
	return fcntl(s->fd, F_OFD_GETLK, &lock) || lock.l_type != F_UNLCK;
}

unsigned slots_count(const struct slots *s)
{
	unsigned count = 0;

	for (unsigned i = SLOT_FIRST; i <= SLOT_LAST; i++)
		count += slots_used(s, i);
	return count;
}

/* A lock belongs to the opening of the file, and that to whoever has a descriptor of it. */
static int lock_slot(const struct slots *s, unsigned slot)
{
	struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)slot, .l_len = 1
	};
	int fd = open(s->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return -errno;
	if (fcntl(fd, F_OFD_SETLK, &lock)) {
		int err = errno == EACCES ? -EAGAIN : -errno;

		close(fd);
		return err;
	}
	return fd;
}

static bool rests(const struct slots *s, unsigned slot, uint64_t now_ms)
{
	return s->freed_ms[slot] && now_ms - s->freed_ms[slot] < QUARANTINE_MS;
}

int slots_take(struct slots *s, uint64_t now_ms, unsigned *slot, int *lock)
{
	const unsigned count = SLOT_LAST - SLOT_FIRST + 1;
	bool resting = false;

	for (unsigned i = 0; i < count; i++) {
		unsigned candidate = SLOT_FIRST + (s->next - SLOT_FIRST + i) % count;
		int fd;

		if (rests(s, candidate, now_ms)) {
			resting = true;
			continue;
		}
		fd = lock_slot(s, candidate);
		if (fd == -EAGAIN)
			continue;
		if (fd < 0)
			return fd;
		s->next = candidate + 1 > SLOT_LAST ? SLOT_FIRST : candidate + 1;
		*slot = candidate;
		*lock = fd;
		return 0;
	}
	return resting ? -EBUSY : -EUSERS;
}

void slots_freed(struct slots *s, unsigned slot, uint64_t now_ms)
{
	s->freed_ms[slot] = now_ms ? now_ms : 1;
}
