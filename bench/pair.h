/* SPDX-License-Identifier: Apache-2.0 */
/* pair.h - two processes that measure together: forked, pinned to different processors, able to
 * meet */
#ifndef BENCH_PAIR_H
#define BENCH_PAIR_H

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static inline double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

_Noreturn static inline void die(const char *what)
{
	perror(what);
	exit(1);
}

static inline void pin(int which)
{
	cpu_set_t allowed, one;
	int seen = 0;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return;
	CPU_ZERO(&one);
	for (int i = 0; i < CPU_SETSIZE; i++) {
		if (CPU_ISSET(i, &allowed) && seen++ == which)
			CPU_SET(i, &one);
	}
	/* With one processor only both stay where they are. */
	if (CPU_COUNT(&one))
		(void)sched_setaffinity(0, sizeof(one), &one);
}

struct pair {
	int fd;	    /* a stream to the other process */
	int second; /* which of the two we are */
	pid_t child;
};

static inline struct pair pair_start(void)
{
	struct pair p = { 0 };
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds))
		die("socketpair");
	p.child = fork();
	if (p.child < 0)
		die("fork");
	p.second = p.child == 0;
	p.fd = fds[p.second];
	close(fds[!p.second]);
	pin(p.second);
	return p;
}

static inline void pair_exchange(struct pair *p, const void *mine, void *theirs, size_t size)
{
	if (write(p->fd, mine, size) != (ssize_t)size ||
	    recv(p->fd, theirs, size, MSG_WAITALL) != (ssize_t)size)
		die("the other process");
}

static inline void pair_meet(struct pair *p)
{
	char mine = 0, theirs;

	pair_exchange(p, &mine, &theirs, 1);
}

/* The first process waits for the second and gives its status. */
static inline int pair_end(struct pair *p)
{
	int status = 0;

	if (p->second)
		exit(0);
	waitpid(p->child, &status, 0);
	return status ? 1 : 0;
}

#endif
