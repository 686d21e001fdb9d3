/* SPDX-License-Identifier: Apache-2.0 */
/* start.c - a child that nobody but us sees */
#include "ipc/start.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK (64 * 1024)

extern char **environ;

static int find_broker(char path[PATH_MAX], char *why, size_t size)
{
	static const char *const places[] = { "/../adverbd", "/../../libexec/adverb/adverbd",
					      "/../../../libexec/adverb/adverbd", "/adverbd" };
	/* A program with more rights than its user does not let the user choose what it starts. */
	const char *own = secure_getenv("ADVERB_BROKER");
	char directory[PATH_MAX], *slash;
	Dl_info info;

	if (own && *own) {
		snprintf(path, PATH_MAX, "%s", own);
		return 0;
	}
	if (!dladdr((void *)(uintptr_t)find_broker, &info) || !info.dli_fname ||
	    !realpath(info.dli_fname, directory)) {
		snprintf(
			why, size,
			"cannot tell where this library lies; set ADVERB_BROKER to the path of adverbd");
		return -ENOENT;
	}
	slash = strrchr(directory, '/');
	if (slash)
		*slash = 0;
	for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path, PATH_MAX, "%.3900s%s", directory, places[i]);
		if (access(path, X_OK) == 0)
			return 0;
	}
	snprintf(why, size, "adverbd is not where it belongs beside %.120s; set ADVERB_BROKER",
		 directory);
	return -ENOENT;
}

/* The program's environment without what makes programs load this library. Freed by the caller. */
static char **clean_environment(void)
{
	size_t n = 0, kept = 0;
	char **copy;

	while (environ && environ[n])
		n++;
	copy = calloc(n + 1, sizeof(*copy));
	for (size_t i = 0; copy && i < n; i++) {
		if (strncmp(environ[i], "LD_PRELOAD=", 11) &&
		    strncmp(environ[i], "LD_LIBRARY_PATH=", 16))
			copy[kept++] = environ[i];
	}
	return copy;
}

struct launch {
	const char *path;
	char **environment;
	char *inner_stack;
	int error;
};

/* These run in the program's memory, on stacks of their own: system calls only, signals blocked. */
static int broker_main(void *argument)
{
	struct launch *launch = argument;
	char *arguments[] = { (char *)(uintptr_t) "adverbd", NULL };

	syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, 0);
	execve(launch->path, arguments, launch->environment);
	launch->error = errno;
	_exit(127);
}

/*
 * Exec makes any child one that sends SIGCHLD and that wait() sees, so the broker must not be the
 * program's child: this one is, never calls exec, and is gone when the broker runs.
 */
static int middle_main(void *argument)
{
	struct launch *launch = argument;

	if (clone(broker_main, launch->inner_stack, CLONE_VM | CLONE_VFORK, launch) < 0)
		launch->error = errno;
	_exit(0);
}

int ipc_start_broker(char *why, size_t size)
{
	char path[PATH_MAX];
	struct launch launch = { .path = path };
	sigset_t all, before;
	int err = find_broker(path, why, size), status;
	char *stacks;
	pid_t pid;

	if (err)
		return err;
	launch.environment = clean_environment();
	stacks = mmap(NULL, 2 * STACK, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (!launch.environment || stacks == MAP_FAILED) {
		free(launch.environment);
		if (stacks != MAP_FAILED)
			munmap(stacks, 2 * STACK);
		snprintf(why, size, "out of memory");
		return -ENOMEM;
	}
	launch.inner_stack = stacks + STACK;
	/* No handler of the program may run in the children, which share its memory; the broker
	 * unblocks them. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	/* No exit signal: wait() of the program does not see it, ours asks for it by __WCLONE. */
	pid = clone(middle_main, stacks + 2 * STACK, CLONE_VM | CLONE_VFORK, &launch);
	err = pid < 0 ? -errno : 0;
	while (!err && waitpid(pid, &status, __WCLONE) < 0 && errno == EINTR)
		;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!err)
		err = -launch.error;
	munmap(stacks, 2 * STACK);
	free(launch.environment);
	if (err)
		snprintf(why, size, "cannot start %.180s: %s", path, strerror(-err));
	return err;
}
