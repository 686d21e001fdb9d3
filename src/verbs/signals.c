/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signals.c - sigaction(), signal() and the masks in front of the C library's
 *
 * The runtime catches faults in its accesses to the program's memory. A program that sets its own
 * handler for them must not take that away; it is called for its own faults.
 */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/lane.h"

#define EXPORT __attribute__((visibility("default")))

static int (*next_pthread_sigmask)(int how, const sigset_t *set, sigset_t *old);

/* They are called between fork() and exec(), where looking up a symbol may wait for ever. */
__attribute__((constructor)) static void find_next(void)
{
	*(void **)&next_pthread_sigmask = dlsym(RTLD_NEXT, "pthread_sigmask");
}

EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	sigset_t without;

	set = lane_fault_mask(how, set, &without);
	if (next_pthread_sigmask)
		return next_pthread_sigmask(how, set, old);
	return syscall(SYS_rt_sigprocmask, (long)how, set, old, (long)(_NSIG / 8)) ? errno : 0;
}

EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	int err = pthread_sigmask(how, set, old);

	if (!err)
		return 0;
	errno = err;
	return -1;
}

EXPORT int sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
	return lane_fault_sigaction(number, action, old);
}

EXPORT sighandler_t signal(int number, sighandler_t handler)
{
	static sighandler_t (*next)(int, sighandler_t);
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART }, old;

	if (number == SIGSEGV || number == SIGBUS) {
		sigemptyset(&action.sa_mask);
		sigaddset(&action.sa_mask, number);
		if (lane_fault_sigaction(number, &action, &old))
			return SIG_ERR;
		return old.sa_handler;
	}
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "signal");
	if (!next) {
		errno = ENOSYS;
		return SIG_ERR;
	}
	return next(number, handler);
}
