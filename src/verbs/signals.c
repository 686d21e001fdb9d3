/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signals.c - sigaction() and signal() in front of the C library's
 *
 * The runtime catches faults in its accesses to the program's memory. A program that sets its own
 * handler for them must not take that away; it is called for its own faults.
 */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "runtime/lane.h"

#define EXPORT __attribute__((visibility("default")))

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
