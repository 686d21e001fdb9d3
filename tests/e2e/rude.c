/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rude.c - a program whose threads, signals and descriptors get in the device's way: nothing hangs,
 * nothing of the program's is touched
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "program.h"

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_comp_channel *channel;
static struct ibv_cq *cq, *quiet;
static struct ibv_mr *mr;
static struct ibv_qp *qps[2];
static char memory[65536];

static void setup(void)
{
	MUST((context = open_first()));
	MUST((pd = ibv_alloc_pd(context)));
	MUST((channel = ibv_create_comp_channel(context)));
	MUST((cq = ibv_create_cq(context, 256, NULL, NULL, 0)));
	MUST((quiet = ibv_create_cq(context, 256, NULL, channel, 0)));
	MUST((mr = ibv_reg_mr(pd, memory, sizeof(memory),
			      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)));
	for (int i = 0; i < 2; i++)
		MUST((qps[i] = make_qp(pd, cq, IBV_QPT_RC)));
	MUST(!connect_pair(qps[0], qps[1]));
}

/* Still alive? All that is left of earlier work may come first. */
static bool works(void)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(cq, 1, &wc) > 0)
		;
	return !post_write(qps[0], mr, mr, 100) && wait_status(cq, 5) == IBV_WC_SUCCESS;
}

/* Threads that are cancelled. */

static void *poll_forever(void *argument)
{
	struct ibv_wc wc;

	(void)argument;
	for (;;) {
		post_write(qps[0], mr, mr, 5000);
		ibv_poll_cq(cq, 1, &wc);
		pthread_testcancel();
	}
	return NULL;
}

static void *wait_forever(void *argument)
{
	struct ibv_cq *from;
	void *cq_context;

	(void)argument;
	for (;;) {
		ibv_get_cq_event(channel, &from, &cq_context);
		pthread_testcancel();
	}
	return NULL;
}

static void *wait_async_forever(void *argument)
{
	struct ibv_async_event event;

	(void)argument;
	for (;;) {
		if (!ibv_get_async_event(context, &event))
			ibv_ack_async_event(&event);
		pthread_testcancel();
	}
	return NULL;
}

static void cancelled(void *(*run)(void *), const char *name)
{
	for (unsigned i = 0; i < 150; i++) {
		pthread_t thread;

		MUST(!pthread_create(&thread, NULL, run, NULL));
		usleep(200 + i * 13 % 1500);
		MUST(!pthread_cancel(thread) && !pthread_join(thread, NULL));
	}
	CHECK(works(), name);
}

/* An object that waits to be acknowledged, and is used meanwhile. */

static void *destroy_cq(void *argument)
{
	return (void *)(intptr_t)ibv_destroy_cq(argument);
}

static void half_destroyed(void)
{
	struct ibv_cq *going = ibv_create_cq(context, 64, NULL, channel, 0), *from;
	struct ibv_qp *a = make_qp(pd, going, IBV_QPT_RC), *b = make_qp(pd, going, IBV_QPT_RC);
	void *result, *cq_context;
	pthread_t thread;
	struct ibv_wc wc;

	MUST(going && a && b && !connect_pair(a, b));
	MUST(!ibv_req_notify_cq(going, 0) && !post_write(a, mr, mr, 8));
	MUST(!ibv_get_cq_event(channel, &from, &cq_context) && from == going);
	MUST(!ibv_destroy_qp(a) && !ibv_destroy_qp(b));
	MUST(!pthread_create(&thread, NULL, destroy_cq, going));
	while (ibv_poll_cq(going, 1, &wc) >= 0)
		usleep(1000);
	CHECK(ibv_req_notify_cq(going, 0) == EINVAL && ibv_resize_cq(going, 100) == EINVAL &&
		      !make_qp(pd, going, IBV_QPT_RC) && ibv_destroy_cq(going) == EINVAL,
	      "a CQ that waits for its acknowledgement is no CQ any more");
	ibv_ack_cq_events(from, 1);
	MUST(!pthread_join(thread, &result));
	CHECK(!result && works(), "and is destroyed once");
}

/* What is left in a closed context, with another that was opened after it. */
static void closed_context(void)
{
	struct ibv_context *old = open_first(), *next;
	struct ibv_pd *p = ibv_alloc_pd(old);
	struct ibv_cq *c = ibv_create_cq(old, 16, NULL, NULL, 0);
	struct ibv_mr *m = ibv_reg_mr(p, memory, 4096, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_qp *qp = make_qp(p, c, IBV_QPT_RC);
	struct ibv_send_wr *bad, wr = { 0 };
	struct ibv_wc wc;

	MUST(old && p && c && m && qp && !ibv_close_device(old));
	MUST((next = open_first()));
	CHECK(ibv_poll_cq(c, 1, &wc) < 0 && ibv_req_notify_cq(c, 0) &&
		      ibv_post_send(qp, &wr, &bad) && !ibv_reg_mr(p, memory, 4096, 0) &&
		      !make_qp(p, c, IBV_QPT_UD),
	      "what was left in a closed context is refused");
	CHECK(ibv_destroy_qp(qp) && ibv_destroy_cq(c) && ibv_dereg_mr(m) && ibv_dealloc_pd(p),
	      "and not destroyed again");
	MUST(!ibv_close_device(next));
}

/* exit() in a signal handler: Ctrl-C of many programs. */

static void leave(int number)
{
	(void)number;
	exit(0);
}

static void exit_in_handler(void)
{
	int hanging = 0;

	for (int i = 0; i < 40; i++) {
		struct itimerval soon = { .it_value = { .tv_usec = 3000 + 137 * i } };
		pid_t child = fork();
		int status = -1, waited = 0;

		MUST(child >= 0);
		if (!child) {
			setup();
			signal(SIGALRM, leave);
			setitimer(ITIMER_REAL, &soon, NULL);
			poll_forever(NULL);
		}
		while (waitpid(child, &status, WNOHANG) != child && waited++ < 500)
			usleep(10000);
		if (waited > 500) {
			kill(child, SIGKILL);
			waitpid(child, &status, 0);
			hanging++;
		}
		MUST(hanging < 3);
	}
	CHECK(!hanging, "exit() in a signal handler ends the program");
}

static bool descriptor_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* Everything from 3 up is closed, and other files get the numbers. Return: 0 if all went well. */
static int closes(int how)
{
	int file, pair[2], n = 0;
	struct ibv_qp *far;
	union ibv_gid gid;
	struct stat status;
	char byte;

	setup();
	/* Of another process, which does not exist: a socket is made to send there. */
	far = make_qp(pd, quiet, IBV_QPT_RC);
	MUST(far && !to_init(far) && !ibv_query_gid(context, 1, 0, &gid));
	MUST(!to_rts(far, &gid, (far->qp_num + (1 << 17)) & 0xffffff, 10));
	MUST(!ibv_req_notify_cq(quiet, 0) && !post_write(far, mr, mr, 100));
	if (how == 0)
		close_range(3, ~0u, 0);
	else if (how == 1)
		closefrom(3);
	else
		for (int fd = 3; fd < 1024; fd++)
			close(fd);
	MUST((file = memfd_create("mine", 0)) >= 0 && !socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	for (int fd = 3; fd < 200; fd++) {
		if (fd != file && fd != pair[0] && fd != pair[1])
			n += dup2(fd % 2 ? file : pair[1], fd) == fd;
	}
	MUST(n > 100 && write(pair[0], "m", 1) == 1);
	for (int i = 0; i < 2000; i++) {
		post_write(far, mr, mr, 100);
		ibv_req_notify_cq(cq, 0);
		if (!works())
			return 2;
	}
	usleep(50000);
	if (fstat(file, &status) || status.st_size || recv(pair[0], &byte, 1, MSG_DONTWAIT) >= 0 ||
	    recv(pair[1], &byte, 1, MSG_DONTWAIT) != 1)
		return 3;
	ibv_destroy_cq(quiet);
	ibv_destroy_comp_channel(channel);
	ibv_close_device(context);
	for (int fd = 3; fd < 200; fd += 2) {
		if (fd != pair[0] && fd != pair[1] && !descriptor_open(fd))
			return 4;
	}
	return 0;
}

/* Between vfork() and exec() numbers are the child's, whoever has them in the parent. */
static void closes_in_vfork(void)
{
	struct ibv_cq *from;
	void *cq_context;
	int status;
	pid_t child = vfork();

	if (!child) {
		for (int fd = 3; fd < 100; fd++) {
			if (dup2(STDOUT_FILENO, fd) != fd)
				_exit(1);
		}
		for (int fd = 3; fd < 100; fd++) {
			if (close(fd))
				_exit(2);
		}
		close_range(3, ~0u, 0);
		_exit(0);
	}
	MUST(child > 0 && waitpid(child, &status, 0) == child);
	CHECK(!status && works(), "a child of vfork() replaces and closes what numbers it likes");
	MUST(!ibv_req_notify_cq(quiet, 0));
	for (int i = 0; i < 2; i++)
		MUST(!ibv_destroy_qp(qps[i]) && (qps[i] = make_qp(pd, quiet, IBV_QPT_RC)));
	MUST(!connect_pair(qps[0], qps[1]) && !post_write(qps[0], mr, mr, 8));
	alarm(20);
	CHECK(!ibv_get_cq_event(channel, &from, &cq_context) && from == quiet,
	      "and the parent gets its events");
	ibv_ack_cq_events(from, 1);
}

static bool child_closes(int how)
{
	pid_t child = fork();
	int status;

	if (!child) {
		alarm(20);
		_exit(closes(how));
	}
	MUST(child > 0 && waitpid(child, &status, 0) == child);
	if (status)
		printf("# status %x\n", (unsigned)status);
	return !status;
}

/* A target that does not call the device: the engine thread meets what the program left. */

enum manners {
	UNMAPPED, /* the region's memory is gone */
	BLOCKED,  /* and the thread that polls has all signals blocked */
	JUMPED,	  /* a signal handler jumped out of ibv_get_cq_event() */
};

static sigjmp_buf outside;

static void jump(int number)
{
	(void)number;
	siglongjmp(outside, 1);
}

struct place {
	uint32_t qpn, rkey;
	uint64_t address;
};

static void join(int fd, struct ibv_qp *qp, struct ibv_mr *region, struct place *other)
{
	struct place own = { qp->qp_num, region->rkey, (uintptr_t)region->addr };
	union ibv_gid gid;
	char byte;

	MUST(write(fd, &own, sizeof(own)) == sizeof(own));
	MUST(read(fd, other, sizeof(*other)) == sizeof(*other));
	MUST(!ibv_query_gid(context, 1, 0, &gid) && !to_init(qp));
	MUST(!to_rts(qp, &gid, other->qpn, 14));
	MUST(write(fd, "r", 1) == 1 && read(fd, &byte, 1) == 1);
}

static int initiator(int fd)
{
	struct ibv_mr far = { 0 };
	struct place other;
	struct ibv_qp *qp;

	setup();
	MUST((qp = make_qp(pd, cq, IBV_QPT_RC)));
	join(fd, qp, mr, &other);
	far.addr = (void *)(uintptr_t)other.address;
	far.rkey = other.rkey;
	MUST(!post_write(qp, mr, &far, 3000));
	return wait_status(cq, 10) & 0xff;
}

/* Return: the status of a write to the target, or -1 when that did not survive. */
static int target(enum manners manners, int fd)
{
	void *gone = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct itimerval soon = { .it_value = { .tv_usec = 200000 } };
	struct ibv_mr *region;
	struct place other;
	struct ibv_qp *qp;
	struct ibv_cq *from;
	struct ibv_wc wc;
	void *cq_context;
	sigset_t all;

	setup();
	MUST((qp = make_qp(pd, cq, IBV_QPT_RC)));
	MUST((region = ibv_reg_mr(pd, gone, 65536,
				  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)));
	if (manners == JUMPED) {
		signal(SIGALRM, jump);
		if (!sigsetjmp(outside, 1)) {
			setitimer(ITIMER_REAL, &soon, NULL);
			ibv_get_cq_event(channel, &from, &cq_context);
		}
		signal(SIGALRM, SIG_DFL);
	} else {
		munmap(gone, 65536);
	}
	if (manners == BLOCKED) {
		sigfillset(&all);
		MUST(!pthread_sigmask(SIG_SETMASK, &all, NULL));
	}
	alarm(20);
	join(fd, qp, region, &other);
	for (char byte; recv(fd, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;) {
		if (manners == BLOCKED)
			ibv_poll_cq(cq, 1, &wc);
		usleep(1000);
	}
	return 0;
}

static int written(enum manners manners)
{
	int pair[2], status, ended;
	pid_t here, there;

	MUST(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	there = fork();
	if (!there) {
		close(pair[1]);
		_exit(target(manners, pair[0]));
	}
	close(pair[0]);
	here = fork();
	if (!here)
		_exit(initiator(pair[1]));
	close(pair[1]);
	MUST(waitpid(here, &status, 0) == here && waitpid(there, &ended, 0) == there);
	return ended || !WIFEXITED(status) ? -1 : WEXITSTATUS(status);
}

/* fork() in a signal handler, as system() there does. */

static volatile sig_atomic_t forks;

static void fork_in_handler(int number)
{
	pid_t child = fork();

	(void)number;
	if (!child)
		_exit(0);
	if (child > 0 && waitpid(child, NULL, 0) == child)
		forks++;
}

static int forking(void)
{
	struct itimerval often = { { 0, 3000 }, { 0, 3000 } };
	struct sigaction action = { .sa_handler = fork_in_handler, .sa_flags = SA_RESTART };
	struct ibv_wc wc;

	setup();
	MUST(!sigaction(SIGALRM, &action, NULL) && !setitimer(ITIMER_REAL, &often, NULL));
	while (forks < 100) {
		post_write(qps[0], mr, mr, 1000);
		ibv_poll_cq(cq, 1, &wc);
	}
	often = (struct itimerval){ 0 };
	MUST(!setitimer(ITIMER_REAL, &often, NULL));
	return works() ? 0 : 2;
}

static bool forks_in_handler(void)
{
	int status = -1, waited = 0;
	pid_t child = fork();

	MUST(child >= 0);
	if (!child)
		_exit(forking());
	while (waitpid(child, &status, WNOHANG) != child && waited++ < 2000)
		usleep(10000);
	if (waited > 2000) {
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
	}
	return !status;
}

static void stuck(int number)
{
	static const char text[] = "not ok rude to its end - it hangs\n";

	(void)number;
	(void)!write(STDOUT_FILENO, text, sizeof(text) - 1);
	_exit(1);
}

int main(void)
{
	signal(SIGALRM, stuck);
	alarm(100);
	setup();
	cancelled(poll_forever, "threads cancelled while they post and poll");
	cancelled(wait_forever, "threads cancelled while they wait for completion events");
	cancelled(wait_async_forever, "threads cancelled while they wait for asynchronous events");
	half_destroyed();
	closed_context();
	exit_in_handler();
	CHECK(written(UNMAPPED) == IBV_WC_REM_ACCESS_ERR,
	      "a target that unmapped its memory and does nothing");
	CHECK(written(BLOCKED) == IBV_WC_REM_ACCESS_ERR, "one that polls with all signals blocked");
	CHECK(written(JUMPED) == IBV_WC_SUCCESS, "one whose signal handler jumped out of a wait");
	CHECK(child_closes(0), "close_range() of everything closes and touches only the program's");
	CHECK(child_closes(1), "closefrom()");
	CHECK(child_closes(2), "close() of every number");
	CHECK(forks_in_handler(), "fork() in a signal handler");
	closes_in_vfork();
	return failures != 0;
}
