/* SPDX-License-Identifier: Apache-2.0 */
/* hostile.c - a program that does everything wrong: it gets errors, never a signal */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "program.h"

#define ALL                                                                   \
 (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
  IBV_ACCESS_REMOTE_ATOMIC)

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;

static char *map(size_t size)
{
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	MUST(p != MAP_FAILED);
	memset(p, 1, size);
	return p;
}

static void drain(void)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(cq, 1, &wc) > 0)
		;
}

/* Returns the status of a write from @from to @to. */
static int write_once(struct ibv_mr *from, struct ibv_mr *to, uint32_t length)
{
	struct ibv_qp *a = make_qp(pd, cq, IBV_QPT_RC), *b = make_qp(pd, cq, IBV_QPT_RC);
	int status;

	MUST(a && b && !connect_pair(a, b) && !post_write(a, from, to, length));
	status = wait_status(cq, 10);
	MUST(!ibv_destroy_qp(a) && !ibv_destroy_qp(b));
	drain();
	return status;
}

static void unmapped_memory(void)
{
	size_t size = 1 << 20;
	char *good = map(size), *gone = map(size);
	struct ibv_mr *a = ibv_reg_mr(pd, good, size, ALL), *b = ibv_reg_mr(pd, gone, size, ALL);

	MUST(a && b);
	munmap(gone, size);
	CHECK(write_once(b, a, 100000) == IBV_WC_LOC_PROT_ERR, "unmapped source: LOC_PROT_ERR");
	CHECK(write_once(a, b, 100000) == IBV_WC_REM_ACCESS_ERR, "unmapped target: REM_ACCESS_ERR");
	CHECK(!ibv_dereg_mr(b), "a region without memory is deregistered");
	gone = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(!ibv_reg_mr(pd, gone, size, ALL) && errno == EFAULT,
	      "read-only memory for writing: EFAULT");
	munmap(gone, size);
	CHECK(!ibv_reg_mr(pd, (void *)16, 4096, ALL) && errno == EFAULT,
	      "registration of nothing: EFAULT");
	CHECK(!ibv_reg_mr(pd, (void *)~0xffful, 1 << 20, ALL), "registration that wraps");
	MUST(!ibv_dereg_mr(a));
	munmap(good, size);
}

static void truncated_file(void)
{
	int fd = memfd_create("t", 0);
	char *good = map(65536), *file;
	struct ibv_mr *a, *b;

	MUST(fd >= 0 && !ftruncate(fd, 65536));
	file = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(file != MAP_FAILED);
	a = ibv_reg_mr(pd, good, 65536, ALL);
	b = ibv_reg_mr(pd, file, 65536, ALL);
	MUST(a && b && !ftruncate(fd, 4096));
	CHECK(write_once(a, b, 65536) == IBV_WC_REM_ACCESS_ERR,
	      "a truncated file (SIGBUS): REM_ACCESS_ERR");
	MUST(!ibv_dereg_mr(a) && !ibv_dereg_mr(b));
	close(fd);
}

static void wrong_arguments(void)
{
	struct ibv_qp_attr attr = { 0 };
	struct ibv_qp_init_attr init = { 0 };
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_SEND };
	struct ibv_recv_wr *bad_recv, recv = { .num_sge = 1, .sg_list = (void *)8 };
	struct ibv_qp *qp = make_qp(pd, cq, IBV_QPT_RC);
	struct ibv_wc wc;

	MUST(qp);
	CHECK(!ibv_open_device(NULL), "open_device(NULL)");
	CHECK(ibv_close_device(NULL), "close_device(NULL)");
	CHECK(!ibv_alloc_pd(NULL), "alloc_pd(NULL)");
	CHECK(ibv_dealloc_pd(NULL) == EINVAL, "dealloc_pd(NULL)");
	CHECK(ibv_dereg_mr(NULL) == EINVAL, "dereg_mr(NULL)");
	CHECK(!ibv_create_cq(context, 0, NULL, NULL, 0) && errno == EINVAL,
	      "create_cq of 0 entries");
	CHECK(!ibv_create_cq(context, 1 << 30, NULL, NULL, 0) && errno == EINVAL,
	      "create_cq of 2^30 entries");
	CHECK(!ibv_create_cq(context, 1, NULL, NULL, 9999) && errno == EINVAL,
	      "create_cq, vector 9999");
	CHECK(!ibv_create_qp(pd, NULL), "create_qp(NULL)");
	CHECK(!ibv_create_qp(pd, &init) && errno, "create_qp of zeroes");
	CHECK(ibv_modify_qp(qp, NULL, 0) == EINVAL, "modify_qp(NULL)");
	attr.qp_state = IBV_QPS_RTS;
	CHECK(ibv_modify_qp(qp, &attr, IBV_QP_STATE) == EINVAL, "RESET to RTS");
	CHECK(ibv_modify_qp(qp, &attr, -1) != 0, "all mask bits");
	CHECK(ibv_post_send(qp, &wr, &bad) == EINVAL && bad == &wr, "post_send in RESET");
	MUST(!to_init(qp));
	CHECK(ibv_post_recv(qp, &recv, &bad_recv) && bad_recv == &recv,
	      "post_recv with a wild SGE list");
	CHECK(ibv_post_recv(qp, (void *)16, &bad_recv), "post_recv of a wild pointer");
	CHECK(ibv_poll_cq(cq, 1, NULL) < 0 && ibv_poll_cq(cq, -1, &wc) < 0, "poll_cq into nothing");
	recv = (struct ibv_recv_wr){ .wr_id = 7 };
	attr.qp_state = IBV_QPS_ERR;
	MUST(!ibv_post_recv(qp, &recv, &bad_recv) && !ibv_post_recv(qp, &recv, &bad_recv));
	MUST(!ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	CHECK(ibv_poll_cq(cq, 1, (void *)16) < 0, "poll_cq into a wild pointer");
	CHECK(ibv_poll_cq(cq, 1, &wc) == 1 && wc.wr_id == 7, "and the next completion comes");
	attr.qp_state = IBV_QPS_RTS;
	CHECK(ibv_get_cq_event(NULL, NULL, NULL) == -1, "get_cq_event(NULL)");
	CHECK(!ibv_create_ah(pd, NULL), "create_ah(NULL)");
	MUST(!ibv_destroy_qp(qp));
	CHECK(ibv_destroy_qp(qp) == EINVAL, "destroy_qp twice");
	CHECK(ibv_post_send(qp, &wr, &bad) == EINVAL, "post_send on a destroyed QP");
	CHECK(ibv_modify_qp(qp, &attr, IBV_QP_STATE) == EINVAL, "modify_qp on a destroyed QP");
}

/* Never connected: there is no MTU that a message could be cut by. */
static void error_without_path(void)
{
	struct ibv_qp *qp = make_qp(pd, cq, IBV_QPT_RC);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	char *memory = map(4096);
	struct ibv_mr *mr = ibv_reg_mr(pd, memory, 4096, ALL);

	MUST(qp && mr && !to_init(qp) && !ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	CHECK(!post_write(qp, mr, mr, 4096) && wait_status(cq, 5) == IBV_WC_WR_FLUSH_ERR,
	      "a send on a queue pair that went from INIT to ERR is flushed");
	MUST(!ibv_destroy_qp(qp) && !ibv_dereg_mr(mr));
	munmap(memory, 4096);
}

static void busy_objects(void)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(context);
	struct ibv_cq *c = ibv_create_cq(context, 16, NULL, channel, 0);
	struct ibv_pd *p = ibv_alloc_pd(context);
	struct ibv_qp *qp;

	MUST(channel && c && p && (qp = make_qp(p, c, IBV_QPT_UD)));
	CHECK(ibv_dealloc_pd(p) == EBUSY, "dealloc_pd in use: EBUSY");
	CHECK(ibv_destroy_cq(c) == EBUSY, "destroy_cq in use: EBUSY");
	CHECK(ibv_destroy_comp_channel(channel) == EBUSY, "destroy_comp_channel in use: EBUSY");
	MUST(!ibv_destroy_qp(qp));
	CHECK(!ibv_destroy_cq(c) && !ibv_dealloc_pd(p) && !ibv_destroy_comp_channel(channel),
	      "then in order");
}

static void overrun(void)
{
	struct ibv_cq *small = ibv_create_cq(context, 1, NULL, NULL, 0);
	char *memory = map(4096);
	struct ibv_mr *mr = ibv_reg_mr(pd, memory, 4096, ALL);
	struct ibv_qp_init_attr init = { .send_cq = small,
					 .recv_cq = cq,
					 .cap = { 1024, 1, 1, 1, 0 },
					 .qp_type = IBV_QPT_RC,
					 .sq_sig_all = 1 };
	struct ibv_qp *a = ibv_create_qp(pd, &init), *b = make_qp(pd, cq, IBV_QPT_RC);
	struct ibv_async_event event;
	int n = small->cqe + 16;

	MUST(small && mr && a && b && !connect_pair(a, b));
	for (int i = 0; i < n && !post_write(a, mr, mr, 8); i++)
		ibv_poll_cq(cq, 0, NULL);
	/* Another CQ makes the device go on. */
	for (int i = 0; i < 1000; i++)
		drain();
	fcntl(context->async_fd, F_SETFL, O_NONBLOCK);
	MUST(!ibv_get_async_event(context, &event));
	while (event.event_type != IBV_EVENT_CQ_ERR) {
		ibv_ack_async_event(&event);
		MUST(!ibv_get_async_event(context, &event));
	}
	CHECK(event.element.cq == small, "an overrun CQ raises CQ_ERR");
	ibv_ack_async_event(&event);
	while (!ibv_get_async_event(context, &event))
		ibv_ack_async_event(&event);
	CHECK(!ibv_destroy_qp(a) && !ibv_destroy_qp(b) && !ibv_destroy_cq(small),
	      "and is destroyed");
	MUST(!ibv_dereg_mr(mr));
	drain();
}

static volatile sig_atomic_t own_faults;
static void *volatile own_address;

static void own_handler(int signal, siginfo_t *info, void *ucontext)
{
	(void)signal;
	(void)ucontext;
	own_faults++;
	MUST(info->si_addr == own_address);
	mprotect(own_address, 4096, PROT_READ | PROT_WRITE);
}

static void own_fault_handler(void)
{
	struct sigaction action = { .sa_sigaction = own_handler, .sa_flags = SA_SIGINFO };
	size_t size = 65536;
	char *good = map(size), *gone = map(size), *mine = map(4096);
	struct ibv_mr *a = ibv_reg_mr(pd, good, size, ALL), *b = ibv_reg_mr(pd, gone, size, ALL);

	MUST(a && b && !sigaction(SIGSEGV, &action, NULL));
	munmap(gone, size);
	CHECK(write_once(a, b, 5000) == IBV_WC_REM_ACCESS_ERR && !own_faults,
	      "the program's SIGSEGV handler, set later, hides nothing from the device");
	own_address = mine;
	mprotect(mine, 4096, PROT_NONE);
	*(volatile char *)mine = 1;
	CHECK(own_faults == 1, "and gets the program's own faults");
	signal(SIGSEGV, SIG_DFL);
	MUST(!ibv_dereg_mr(a) && !ibv_dereg_mr(b));
}

static void forked(void)
{
	char *memory = map(4096);
	struct ibv_mr *mr = ibv_reg_mr(pd, memory, 4096, ALL);
	struct ibv_qp *qp = make_qp(pd, cq, IBV_QPT_RC);
	struct ibv_wc wc;
	int status;
	pid_t pid;

	MUST(mr && qp);
	pid = fork();
	if (!pid) {
		struct ibv_context *own;

		alarm(20);
		if (ibv_poll_cq(cq, 1, &wc) >= 0 || !ibv_destroy_qp(qp))
			_exit(1);
		own = open_first();
		if (!own)
			_exit(2);
		context = own;
		pd = ibv_alloc_pd(own);
		cq = ibv_create_cq(own, 64, NULL, NULL, 0);
		mr = pd ? ibv_reg_mr(pd, memory, 4096, ALL) : NULL;
		if (!cq || !mr || write_once(mr, mr, 100) != IBV_WC_SUCCESS)
			_exit(3);
		_exit(0);
	}
	MUST(waitpid(pid, &status, 0) == pid);
	CHECK(status == 0,
	      "a forked child gets errors for the parent's objects and a device of its own");
	CHECK(write_once(mr, mr, 100) == IBV_WC_SUCCESS, "the parent goes on");
	MUST(!ibv_destroy_qp(qp) && !ibv_dereg_mr(mr));
}

static void no_descriptors(void)
{
	struct rlimit limit, none;
	struct ibv_port_attr port;
	union ibv_gid gid;
	int opened = 0, devices = 0;

	MUST(!getrlimit(RLIMIT_NOFILE, &limit));
	none = limit;
	none.rlim_cur = 3;
	MUST(!setrlimit(RLIMIT_NOFILE, &none));
	ibv_free_device_list(ibv_get_device_list(&devices));
	CHECK(devices > 0 && !ibv_query_port(context, 1, &port) && port.state == IBV_PORT_ACTIVE &&
		      !ibv_query_gid(context, 1, 0, &gid) && gid.global.interface_id,
	      "a list of devices made without descriptors leaves the ports as they are");
	CHECK(!ibv_create_comp_channel(context) && errno == EMFILE, "no descriptors: EMFILE");
	opened += ibv_open_device(context->device) != NULL;
	CHECK(!opened && errno == EMFILE, "open_device without descriptors: EMFILE");
	MUST(!setrlimit(RLIMIT_NOFILE, &limit));
}

/* Before there is a device in this process. */
static void file_limit(void)
{
	struct rlimit limit, small;
	struct ibv_context *none;
	int error;

	MUST(!getrlimit(RLIMIT_FSIZE, &limit));
	small = limit;
	small.rlim_cur = 0;
	MUST(!setrlimit(RLIMIT_FSIZE, &small));
	none = open_first();
	error = errno;
	MUST(!setrlimit(RLIMIT_FSIZE, &limit));
	CHECK(!none && error == EFBIG, "open_device under a limit of file sizes: EFBIG");
}

int main(void)
{
	file_limit();
	MUST((context = open_first()));
	MUST((pd = ibv_alloc_pd(context)) && (cq = ibv_create_cq(context, 256, NULL, NULL, 0)));
	unmapped_memory();
	truncated_file();
	wrong_arguments();
	error_without_path();
	busy_objects();
	overrun();
	own_fault_handler();
	forked();
	no_descriptors();
	return failures != 0;
}
