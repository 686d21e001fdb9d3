/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fault.c - touching the program's memory, which may be gone
 *
 * A program may unmap what it registered. Every access here runs with a landing place for SIGSEGV
 * and SIGBUS; a fault anywhere else is the program's own and goes to the handler that it set.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/lane.h"

static _Thread_local sigjmp_buf *volatile landing __attribute__((tls_model("initial-exec")));

/* The kernel ends a process whose fault is blocked, whatever handler there is. */
static _Thread_local bool unblocked __attribute__((tls_model("initial-exec")));

static struct sigaction host_segv, host_bus;
static bool installed;
static pthread_mutex_t host_lock = PTHREAD_MUTEX_INITIALIZER;

static int real_sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
	static int (*real)(int, const struct sigaction *, struct sigaction *);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "sigaction");
	if (!real) {
		errno = ENOSYS;
		return -1;
	}
	return real(signal, action, old);
}

static void real_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	(void)syscall(SYS_rt_sigprocmask, (long)how, set, old, (long)(_NSIG / 8));
}

static __attribute__((noinline, cold)) void unblock(void)
{
	sigset_t faults;

	sigemptyset(&faults);
	sigaddset(&faults, SIGSEGV);
	sigaddset(&faults, SIGBUS);
	real_sigmask(SIG_UNBLOCK, &faults, NULL);
	unblocked = true;
}

static inline void unblock_faults(void)
{
	if (__builtin_expect(!unblocked, 0))
		unblock();
}

const sigset_t *lane_fault_mask(int how, const sigset_t *set, sigset_t *without)
{
	if (!set || how == SIG_UNBLOCK || !__atomic_load_n(&installed, __ATOMIC_ACQUIRE))
		return set;
	*without = *set;
	sigdelset(without, SIGSEGV);
	sigdelset(without, SIGBUS);
	return without;
}

static const int writing_signals[] = { SIGXFSZ, SIGPIPE };

void lane_quiet_begin(struct lane_quiet *quiet)
{
	sigset_t pending, blocked;

	sigemptyset(&pending);
	sigemptyset(&blocked);
	sigemptyset(&quiet->before);
	sigemptyset(&quiet->own);
	sigpending(&pending);
	for (unsigned i = 0; i < sizeof(writing_signals) / sizeof(writing_signals[0]); i++) {
		sigaddset(&blocked, writing_signals[i]);
		if (sigismember(&pending, writing_signals[i]) != 1)
			sigaddset(&quiet->own, writing_signals[i]);
	}
	pthread_sigmask(SIG_BLOCK, &blocked, &quiet->before);
}

void lane_quiet_end(const struct lane_quiet *quiet)
{
	int error = errno;

	while (sigtimedwait(&quiet->own, NULL, &(struct timespec){ 0, 0 }) > 0)
		;
	pthread_sigmask(SIG_SETMASK, &quiet->before, NULL);
	errno = error;
}

static void chain(int signal, siginfo_t *info, void *context)
{
	struct sigaction host = signal == SIGSEGV ? host_segv : host_bus;
	struct sigaction standard = { .sa_handler = SIG_DFL };
	sigset_t before;

	if (!(host.sa_flags & SA_SIGINFO) &&
	    (host.sa_handler == SIG_DFL || host.sa_handler == SIG_IGN)) {
		/* As without us: on return the same instruction faults again and ends the process;
		 * a signal that was sent by kill() does not come again by itself. */
		real_sigaction(signal, &standard, NULL);
		if (info->si_code <= 0)
			raise(signal);
		return;
	}
	if (host.sa_flags & (int)SA_RESETHAND) {
		if (signal == SIGSEGV)
			host_segv = standard;
		else
			host_bus = standard;
	}
	if (!(host.sa_flags & SA_NODEFER))
		sigaddset(&host.sa_mask, signal);
	sigemptyset(&before);
	real_sigmask(SIG_BLOCK, &host.sa_mask, &before);
	if (host.sa_flags & SA_SIGINFO)
		host.sa_sigaction(signal, info, context);
	else
		host.sa_handler(signal);
	real_sigmask(SIG_SETMASK, &before, NULL);
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
	sigjmp_buf *place = landing;

	/* Only a real fault lands; a signal that somebody sent meanwhile is the program's. */
	if (place && info->si_code > 0) {
		landing = NULL;
		siglongjmp(*place, 1);
	}
	chain(signal, info, context);
}

void lane_fault_init(void)
{
	struct sigaction action = { .sa_sigaction = on_fault,
				    .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK };

	pthread_mutex_lock(&host_lock);
	if (!installed) {
		sigemptyset(&action.sa_mask);
		installed = true;
		real_sigaction(SIGSEGV, &action, &host_segv);
		real_sigaction(SIGBUS, &action, &host_bus);
	}
	pthread_mutex_unlock(&host_lock);
}

int lane_fault_sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
	struct sigaction *host = signal == SIGSEGV ? &host_segv : &host_bus;

	if ((signal != SIGSEGV && signal != SIGBUS) ||
	    !__atomic_load_n(&installed, __ATOMIC_ACQUIRE))
		return real_sigaction(signal, action, old);
	/* sigaction() is async-signal-safe: no lock; programs do not race with themselves here. */
	if (old)
		*old = *host;
	if (action)
		*host = *action;
	return 0;
}

/* The value of sigsetjmp() is 0 when the access may be tried; without saving the mask it is some 10
 * ns. */
#define GUARDED(statement) \
 ({ \
sigjmp_buf place; \
int error = 0; \
if (sigsetjmp(place, 0) == 0) { \
landing = &place; \
__asm__ volatile("" ::: "memory"); \
statement; \
__asm__ volatile("" ::: "memory"); \
landing = NULL; \
} else { \
error = -EFAULT; \
} \
error; \
 })

static void *pointer(uint64_t address)
{
	return (void *)(uintptr_t)address;
}

/* The copies are not inlined: a fault in them must not meet half-changed registers of the caller.
 */
static __attribute__((noinline)) int guarded_read(void *to, uint64_t from, size_t length)
{
	unblock_faults();
	return GUARDED(memcpy(to, pointer(from), length));
}

static __attribute__((noinline)) int guarded_write(uint64_t to, const void *from, size_t length)
{
	unblock_faults();
	return GUARDED(memcpy(pointer(to), from, length));
}

static __attribute__((noinline)) int guarded_compare_swap(uint64_t address, uint64_t compare,
							  uint64_t swap, uint64_t *original)
{
	unblock_faults();
	return GUARDED({
		uint64_t expected = compare;

		__atomic_compare_exchange_n((uint64_t *)pointer(address), &expected, swap, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
		*original = expected;
	});
}

static __attribute__((noinline)) int guarded_fetch_add(uint64_t address, uint64_t add,
						       uint64_t *original)
{
	unblock_faults();
	return GUARDED(*original = __atomic_fetch_add((uint64_t *)pointer(address), add,
						      __ATOMIC_SEQ_CST));
}

static __attribute__((noinline)) int touch(uint64_t address, bool write)
{
	/* Writing means adding nothing, atomically: nobody can see it but the page tables. */
	if (write)
		return GUARDED(
			(void)__atomic_fetch_or((uint8_t *)pointer(address), 0, __ATOMIC_RELAXED));
	return GUARDED((void)*(volatile uint8_t *)pointer(address));
}

/*
 * All of it mapped, and the first and last byte with the right kind of access: enough to tell a
 * wrong address from a right one at registration, without bringing in every page. What lies between
 * is guarded when it is used.
 */
static int probe(uint64_t address, uint64_t length, bool write)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t first = address & ~(page - 1);
	uint64_t last;

	if (!length)
		return 0;
	if (__builtin_add_overflow(address, length - 1, &last) || last > UINT64_MAX - page)
		return -EFAULT;
	if (msync(pointer(first), (last & ~(page - 1)) + page - first, MS_ASYNC))
		return -EFAULT;
	unblock_faults();
	if (touch(address, write) || touch(last, write))
		return -EFAULT;
	return 0;
}

const struct rvt_memory_ops lane_memory = {
	.read = guarded_read,
	.write = guarded_write,
	.compare_swap = guarded_compare_swap,
	.fetch_add = guarded_fetch_add,
	.probe = probe,
};
