/* SPDX-License-Identifier: Apache-2.0 */
/*
 * descriptors.c - close() and its like in front of the C library's: a program that closes "all from
 * 3 up" keeps its device, and nothing of the device's ends up in a file that gets the same number
 *
 * Programs call these between vfork() and exec(), where memory is the parent's and locks may be
 * held by threads that are not there: nothing here takes a lock, allocates or looks up a symbol.
 */
#include "base/descriptors.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "verbs/descriptors.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int close_range(unsigned int first, unsigned int last, int flags);
EXPORT void closefrom(int first);

/* The C library's, which is where a thread can be cancelled. */
static int (*next_close)(int fd);
static int (*next_dup2)(int from, int to);
static int (*next_dup3)(int from, int to, int flags);
static pid_t lender;

__attribute__((constructor)) static void find_next(void)
{
	lender = getpid();
	*(void **)&next_close = dlsym(RTLD_NEXT, "close");
	*(void **)&next_dup2 = dlsym(RTLD_NEXT, "dup2");
	*(void **)&next_dup3 = dlsym(RTLD_NEXT, "dup3");
}

static int real_close(int fd)
{
	return next_close ? next_close(fd) : (int)syscall(SYS_close, (long)fd);
}

int verbs_lend(int fd)
{
	__atomic_store_n(&lender, getpid(), __ATOMIC_RELAXED);
	return descriptors_lend(fd);
}

void verbs_close_lent(int fd)
{
	if (descriptors_take_back(fd))
		real_close(fd);
}

/* The child of a vfork() closes and replaces its own descriptors, but in its parent's memory. */
static bool in_child(void)
{
	return getpid() != __atomic_load_n(&lender, __ATOMIC_RELAXED);
}

static void forget(unsigned first, unsigned last)
{
	if (!in_child())
		descriptors_forget_lent(first, last);
}

EXPORT int close(int fd)
{
	if (descriptors_is_own(fd) && !in_child()) {
		errno = EBADF;
		return -1;
	}
	if (descriptors_is_lent(fd))
		forget((unsigned)fd, (unsigned)fd);
	return real_close(fd);
}

static int close_some(unsigned first, unsigned last, unsigned flags)
{
	return first > last ? 0 : (int)syscall(SYS_close_range, first, last, flags);
}

EXPORT int close_range(unsigned int first, unsigned int last, int flags)
{
	int own, err = 0;

	/* Ours are closed on exec already; nonsense is for the kernel to refuse. */
	if (flags & CLOSE_RANGE_CLOEXEC || first > last)
		return (int)syscall(SYS_close_range, first, last, (unsigned)flags);
	forget(first, last);
	while (!err && (own = descriptors_next_own(first)) >= 0 && (unsigned)own <= last) {
		err = close_some(first, (unsigned)own - 1, (unsigned)flags);
		first = (unsigned)own + 1;
	}
	return err ? err : close_some(first, last, (unsigned)flags);
}

EXPORT void closefrom(int first)
{
	unsigned from = first < 0 ? 0 : (unsigned)first;
	struct rlimit limit;

	if (!close_range(from, ~0u, 0) || getrlimit(RLIMIT_NOFILE, &limit))
		return;
	for (unsigned fd = from; fd < limit.rlim_cur; fd++)
		close((int)fd);
}

/* What becomes of the number that a copy is to get. */
static int taken(int from, int to)
{
	if (from == to)
		return 0;
	if (descriptors_is_own(to) && !in_child()) {
		errno = EBUSY;
		return -1;
	}
	if (descriptors_is_lent(to))
		forget((unsigned)to, (unsigned)to);
	return 0;
}

EXPORT int dup2(int from, int to)
{
	if (taken(from, to))
		return -1;
	return next_dup2 ? next_dup2(from, to) : (int)syscall(SYS_dup2, (long)from, (long)to);
}

EXPORT int dup3(int from, int to, int flags)
{
	if (taken(from, to))
		return -1;
	return next_dup3 ? next_dup3(from, to, flags)
			 : (int)syscall(SYS_dup3, (long)from, (long)to, (long)flags);
}
