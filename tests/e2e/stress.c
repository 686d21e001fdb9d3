/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stress.c - every verb from any thread: two processes whose threads share queue pairs, completion
 * queues and a shared receive queue, while others make, break and destroy objects of their own
 *
 * Usage: e2e-stress SECONDS [SEED]. Each send is completed exactly once, each message arrives
 * whole, everything can be destroyed at the end. Meant to run under the thread sanitizer too.
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "program.h"

#define QPS	 4
#define SENDERS	 2
#define SLOTS	 8 /* sends of one thread that may be on their way */
#define RECEIVES 64
#define LONGEST	 5000
#define HEADER	 16

struct side {
	uint32_t qpn[QPS], rkey;
	uint64_t address;
};

/* A send on its way: whoever polls its completion frees it. */
struct slot {
	_Atomic int busy;
	struct ibv_mr *mr;
	uint8_t *bytes;
};

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_comp_channel *channel;
static struct ibv_cq *cqs[2];
static struct ibv_srq *srq;
static struct ibv_qp *qps[QPS];
static struct ibv_mr *receive_mr, *target_mr;
static uint8_t *receive_memory, *target;
static struct side mine, theirs;
static struct slot slots[SENDERS][SLOTS];
static _Atomic int stop;
static _Atomic long sent, received, wrong, made, events, children;

static unsigned next_random(unsigned *state)
{
	*state = *state * 1103515245u + 12345u;
	return *state >> 8;
}

static void bad(const char *what)
{
	if (atomic_fetch_add(&wrong, 1) < 10)
		printf("# wrong: %s\n", what);
}

/* A message says how long it is and what it is filled with. */
static void fill(uint8_t *bytes, uint32_t length, uint32_t seed)
{
	memcpy(bytes, &length, 4);
	memcpy(bytes + 4, &seed, 4);
	memset(bytes + 8, (int)(seed & 0xff), length - 8);
}

static bool whole(const uint8_t *bytes, uint32_t length)
{
	uint32_t said, seed;

	memcpy(&said, bytes, 4);
	memcpy(&seed, bytes + 4, 4);
	if (said != length)
		return false;
	for (uint32_t i = 8; i < length; i++) {
		if (bytes[i] != (uint8_t)seed)
			return false;
	}
	return true;
}

/* Receive buffers are numbered: of QP 0 and 1 in their own queues, the others' in the SRQ. */
static int post_receive(uint64_t number)
{
	struct ibv_sge sge = { (uintptr_t)receive_memory + number * LONGEST, LONGEST,
			       receive_mr->lkey };
	struct ibv_recv_wr *refused, wr = { .wr_id = number, .sg_list = &sge, .num_sge = 1 };

	if (number >= 2 * RECEIVES)
		return ibv_post_srq_recv(srq, &wr, &refused);
	return ibv_post_recv(qps[number / RECEIVES], &wr, &refused);
}

static void completed(const struct ibv_wc *wc)
{
	if (wc->status != IBV_WC_SUCCESS) {
		/* Receives end with the queue pairs. */
		if (!(stop && wc->status == IBV_WC_WR_FLUSH_ERR)) {
			printf("# %s, vendor error %u\n", ibv_wc_status_str(wc->status),
			       wc->vendor_err);
			bad("a completion failed");
		}
		return;
	}
	if (wc->opcode & IBV_WC_RECV) {
		if (!whole(receive_memory + wc->wr_id * LONGEST, wc->byte_len))
			bad("a message did not come whole");
		atomic_fetch_add(&received, 1);
		if (post_receive(wc->wr_id))
			bad("a receive could not be posted");
		return;
	}
	struct slot *slot = (struct slot *)(uintptr_t)wc->wr_id;

	if (atomic_exchange(&slot->busy, 0) != 1)
		bad("a send completed twice");
	atomic_fetch_add(&sent, 1);
}

static int poll_some(unsigned which)
{
	struct ibv_wc wc[8];
	int n = ibv_poll_cq(cqs[which % 2], 8, wc);

	if (n < 0)
		bad("poll");
	for (int i = 0; i < n; i++)
		completed(&wc[i]);
	return n;
}

static void send_something(struct slot *slot, unsigned *state)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_SEND, IBV_WR_SEND, IBV_WR_RDMA_WRITE,
						      IBV_WR_RDMA_READ,
						      IBV_WR_ATOMIC_FETCH_AND_ADD };
	enum ibv_wr_opcode opcode = opcodes[next_random(state) % 5];
	uint32_t length = HEADER + next_random(state) % (LONGEST - HEADER);
	struct ibv_sge sge = { (uintptr_t)slot->bytes, length, slot->mr->lkey };
	struct ibv_send_wr *refused, wr = { .wr_id = (uintptr_t)slot,
					    .sg_list = &sge,
					    .num_sge = 1,
					    .opcode = opcode,
					    .send_flags = IBV_SEND_SIGNALED };
	int err;

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		sge.length = 8;
		wr.wr.atomic.remote_addr = theirs.address;
		wr.wr.atomic.rkey = theirs.rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		fill(slot->bytes, length, next_random(state));
		wr.wr.rdma.remote_addr = theirs.address + 64;
		wr.wr.rdma.rkey = theirs.rkey;
	}
	atomic_store(&slot->busy, 1);
	err = ibv_post_send(qps[next_random(state) % QPS], &wr, &refused);
	if (err) {
		atomic_store(&slot->busy, 0);
		if (err != ENOMEM)
			bad("post");
	}
}

static void *sender(void *argument)
{
	struct slot *own = argument;
	unsigned state = (unsigned)(own - slots[0]) + 7;

	while (!stop) {
		struct slot *slot = &own[next_random(&state) % SLOTS];

		if (!atomic_load(&slot->busy))
			send_something(slot, &state);
		poll_some(next_random(&state));
	}
	return NULL;
}

/* Sleeps for events of the first CQ. */
static void *listener(void *argument)
{
	struct ibv_cq *cq;
	void *cq_context;

	(void)argument;
	while (!stop) {
		struct pollfd fd = { channel->fd, POLLIN, 0 };

		if (ibv_req_notify_cq(cqs[0], 0))
			bad("req_notify");
		poll_some(0);
		if (poll(&fd, 1, 20) <= 0)
			continue;
		if (ibv_get_cq_event(channel, &cq, &cq_context)) {
			bad("get_cq_event");
			continue;
		}
		atomic_fetch_add(&events, 1);
		ibv_ack_cq_events(cq, 1);
	}
	return NULL;
}

static void *asker(void *argument)
{
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;
	struct ibv_port_attr port;
	struct ibv_device_attr device;
	unsigned state = 99;

	(void)argument;
	while (!stop) {
		if (ibv_query_qp(qps[next_random(&state) % QPS], &attr, IBV_QP_STATE, &init) ||
		    attr.qp_state != IBV_QPS_RTS)
			bad("query_qp");
		if (ibv_query_port(context, 1, &port) || ibv_query_device(context, &device))
			bad("query");
		poll_some(next_random(&state));
		usleep(200);
	}
	return NULL;
}

/* Objects of one thread: made, used, broken in the middle of it, destroyed. */
static void *builder(void *argument)
{
	unsigned state = (unsigned)(uintptr_t)argument;
	uint8_t *memory = calloc(2, 65536);

	while (!stop && memory) {
		struct ibv_cq *cq = ibv_create_cq(context, 64, NULL, NULL, 0);
		struct ibv_mr *from = ibv_reg_mr(pd, memory, 65536, IBV_ACCESS_LOCAL_WRITE);
		struct ibv_mr *to = ibv_reg_mr(pd, memory + 65536, 65536,
					       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
		struct ibv_qp *a = cq ? make_qp(pd, cq, IBV_QPT_RC) : NULL;
		struct ibv_qp *b = cq ? make_qp(pd, cq, IBV_QPT_RC) : NULL;
		struct ibv_qp_attr error = { .qp_state = IBV_QPS_ERR };
		struct ibv_wc wc[16];
		int posted = 0, done = 0;

		if (!cq || !from || !to || !a || !b || connect_pair(a, b)) {
			bad("making objects");
			break;
		}
		for (; posted < 8; posted++) {
			if (post_write(a, from, to, next_random(&state) % 65536))
				break;
		}
		switch (next_random(&state) % 4) {
		case 0: /* all of it arrives */
			while (done < posted && !stop) {
				int n = ibv_poll_cq(cq, 16, wc);

				for (int i = 0; i < n; i++) {
					if (wc[i].status != IBV_WC_SUCCESS)
						bad("a write of a pair of our own");
				}
				done += n > 0 ? n : 0;
			}
			break;
		case 1: /* each completes, in whatever way */
			if (ibv_modify_qp(a, &error, IBV_QP_STATE))
				bad("to error");
			while (done < posted && !stop) {
				int n = ibv_poll_cq(cq, 16, wc);

				done += n > 0 ? n : 0;
			}
			break;
		case 2: /* the memory goes first */
			if (ibv_dereg_mr(from) || ibv_dereg_mr(to))
				bad("dereg_mr");
			from = to = NULL;
			memset(memory, 0, 65536);
			break;
		default: /* destroyed at once */
			break;
		}
		if (ibv_destroy_qp(a) || ibv_destroy_qp(b) || ibv_destroy_cq(cq))
			bad("destroy");
		if ((from && ibv_dereg_mr(from)) || (to && ibv_dereg_mr(to)))
			bad("dereg_mr");
		atomic_fetch_add(&made, 1);
	}
	free(memory);
	return NULL;
}

/* Children that are made while all others are in the middle of something: each has a device of its
 * own. */
static void *parent(void *argument)
{
	(void)argument;
	while (!stop) {
		pid_t pid = fork();
		int status = 0;

		if (!pid) {
			struct ibv_context *own;
			struct ibv_pd *domain;

			alarm(20);
			own = open_first();
			domain = own ? ibv_alloc_pd(own) : NULL;
			_exit(!domain || ibv_dealloc_pd(domain) || ibv_close_device(own));
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			bad("a child");
		atomic_fetch_add(&children, 1);
		usleep(300000);
	}
	return NULL;
}

static void exchange(int fd, const void *out, void *in, size_t size)
{
	MUST(write(fd, out, size) == (ssize_t)size);
	MUST(recv(fd, in, size, MSG_WAITALL) == (ssize_t)size);
}

static void setup(int fd)
{
	union ibv_gid gid;
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 2 * RECEIVES, .max_sge = 1 } };

	MUST((context = open_first()));
	MUST((pd = ibv_alloc_pd(context)));
	MUST((channel = ibv_create_comp_channel(context)));
	MUST((cqs[0] = ibv_create_cq(context, 1024, NULL, channel, 0)));
	MUST((cqs[1] = ibv_create_cq(context, 1024, NULL, NULL, 0)));
	MUST((srq = ibv_create_srq(pd, &srq_attr)));
	receive_memory = calloc(QPS * RECEIVES, LONGEST);
	target = calloc(1, LONGEST + 64);
	MUST(receive_memory && target);
	MUST((receive_mr = ibv_reg_mr(pd, receive_memory, QPS * RECEIVES * LONGEST,
				      IBV_ACCESS_LOCAL_WRITE)));
	MUST((target_mr = ibv_reg_mr(pd, target, LONGEST + 64,
				     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
					     IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)));
	for (int i = 0; i < QPS; i++) {
		struct ibv_qp_init_attr init = { .send_cq = cqs[i % 2],
						 .recv_cq = cqs[i / 2],
						 .srq = i >= 2 ? srq : NULL,
						 .cap = { 16, RECEIVES, 1, 1, 0 },
						 .qp_type = IBV_QPT_RC };

		MUST((qps[i] = ibv_create_qp(pd, &init)) && !to_init(qps[i]));
		mine.qpn[i] = qps[i]->qp_num;
	}
	for (uint64_t i = 0; i < QPS * RECEIVES; i++)
		MUST(!post_receive(i));
	for (int t = 0; t < SENDERS; t++) {
		for (int i = 0; i < SLOTS; i++) {
			struct slot *slot = &slots[t][i];

			MUST((slot->bytes = calloc(1, LONGEST)));
			MUST((slot->mr = ibv_reg_mr(pd, slot->bytes, LONGEST,
						    IBV_ACCESS_LOCAL_WRITE)));
		}
	}
	mine.rkey = target_mr->rkey;
	mine.address = (uintptr_t)target;
	exchange(fd, &mine, &theirs, sizeof(mine));
	MUST(!ibv_query_gid(context, 1, 0, &gid));
	for (int i = 0; i < QPS; i++)
		MUST(!to_rts(qps[i], &gid, theirs.qpn[i], 14));
	exchange(fd, "r", &(char){ 0 }, 1);
}

static int busy(void)
{
	int n = 0;

	for (int t = 0; t < SENDERS; t++) {
		for (int i = 0; i < SLOTS; i++)
			n += atomic_load(&slots[t][i].busy);
	}
	return n;
}

static void teardown(void)
{
	for (int i = 0; i < QPS; i++)
		CHECK(!ibv_destroy_qp(qps[i]), "the queue pair goes");
	CHECK(!ibv_destroy_srq(srq) && !ibv_destroy_cq(cqs[0]) && !ibv_destroy_cq(cqs[1]) &&
		      !ibv_destroy_comp_channel(channel),
	      "the queues go");
	for (int t = 0; t < SENDERS; t++) {
		for (int i = 0; i < SLOTS; i++) {
			MUST(!ibv_dereg_mr(slots[t][i].mr));
			free(slots[t][i].bytes);
		}
	}
	CHECK(!ibv_dereg_mr(receive_mr) && !ibv_dereg_mr(target_mr) && !ibv_dealloc_pd(pd) &&
		      !ibv_close_device(context),
	      "the rest goes");
	free(receive_memory);
	free(target);
}

static int side(int fd, unsigned seconds)
{
	pthread_t threads[SENDERS + 5];
	int count = 0;
	time_t end;

	setup(fd);
	for (int t = 0; t < SENDERS; t++)
		MUST(!pthread_create(&threads[count++], NULL, sender, slots[t]));
	MUST(!pthread_create(&threads[count++], NULL, listener, NULL));
	MUST(!pthread_create(&threads[count++], NULL, asker, NULL));
	MUST(!pthread_create(&threads[count++], NULL, builder, (void *)(uintptr_t)1));
	MUST(!pthread_create(&threads[count++], NULL, builder, (void *)(uintptr_t)2));
	/* The thread sanitizer does not follow a process with threads into its children. */
#ifndef __SANITIZE_THREAD__
	MUST(!pthread_create(&threads[count++], NULL, parent, NULL));
#endif
	sleep(seconds);
	stop = 1;
	for (int i = 0; i < count; i++)
		MUST(!pthread_join(threads[i], NULL));
	for (end = time(NULL) + 20; busy() && time(NULL) < end;) {
		poll_some(0);
		poll_some(1);
	}
	CHECK(!busy(), "every send completed once");
	/* The other side may still wait for acknowledgements and messages of ours. */
	MUST(write(fd, "d", 1) == 1);
	for (char c = 0; recv(fd, &c, 1, MSG_DONTWAIT) != 1;) {
		poll_some(0);
		poll_some(1);
	}
	CHECK(!wrong, "messages came whole, verbs did as they should");
	CHECK(sent > 0 && received > 0 && made > 0 && events > 0, "everybody had his turn");
	printf("# %ld sends, %ld messages, %ld pairs made, %ld events, %ld children\n", sent,
	       received, made, events, children);
	teardown();
	return failures != 0;
}

int main(int argc, char **argv)
{
	unsigned seconds = argc > 1 ? (unsigned)atoi(argv[1]) : 3;
	int fds[2], status, here;
	pid_t child;

	MUST(!socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
	child = fork();
	MUST(child >= 0);
	here = side(fds[child == 0], seconds);
	if (!child) {
		fflush(stdout);
		_exit(here);
	}
	MUST(waitpid(child, &status, 0) == child);
	CHECK(status == 0, "the other process says the same");
	return here || status;
}
