/* SPDX-License-Identifier: Apache-2.0 */
/*
 * multicast.c - UD queue pairs in multicast groups
 *
 *   rules GID_INDEX GROUP           what may be attached, and what is refused
 *   local GID_INDEX GROUP           senders and members in two processes of this host
 *   listen GID_INDEX GROUP COUNT    a member: "ready", then receives so many, or sleeps with 0
 *   send GID_INDEX GROUP COUNT      not a member
 *
 * GROUP is an address, 239.1.2.3 or ff0e::1.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <sys/wait.h>

#include "program.h"

#define QKEY	 0x11111111u
#define GRH	 40
#define LENGTH	 1000
#define RECEIVES 64
#define SLOT	 2048

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_ah *ah;
static union ibv_gid group, own;
static int gid_index;

struct end {
	struct ibv_qp *qp;
	struct ibv_cq *cq, *send_cq;
	struct ibv_mr *mr;
	uint8_t *memory;
	unsigned times[RECEIVES]; /* that each message came */
	unsigned got, wrong;
};

static void parse_group(const char *text)
{
	memset(&group, 0, sizeof(group));
	if (inet_pton(AF_INET6, text, group.raw) == 1)
		return;
	MUST(inet_pton(AF_INET, text, group.raw + 12) == 1);
	group.raw[10] = group.raw[11] = 0xff;
}

static void open_device(void)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1 };

	context = open_first();
	MUST(context);
	pd = ibv_alloc_pd(context);
	MUST(pd && !ibv_query_gid(context, 1, gid_index, &own));
	attr.grh.dgid = group;
	attr.grh.sgid_index = (uint8_t)gid_index;
	attr.grh.hop_limit = 7;
	ah = ibv_create_ah(pd, &attr);
	MUST(ah);
}

static void post(struct end *end, unsigned index)
{
	struct ibv_sge sge = { (uintptr_t)(end->memory + index * SLOT), SLOT, end->mr->lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = index, .sg_list = &sge, .num_sge = 1 };

	MUST(!ibv_post_recv(end->qp, &wr, &bad));
}

static struct ibv_qp *create_qp(const struct end *end, int block_self)
{
	struct ibv_qp_init_attr_ex init = {
		.send_cq = end->send_cq,
		.recv_cq = end->cq,
		.cap = { RECEIVES, RECEIVES, 1, 1, 0 },
		.qp_type = IBV_QPT_UD,
		.comp_mask = IBV_QP_INIT_ATTR_PD | (block_self ? IBV_QP_INIT_ATTR_CREATE_FLAGS : 0),
		.pd = pd,
		.create_flags = block_self ? IBV_QP_CREATE_BLOCK_SELF_MCAST_LB : 0
	};

	return ibv_create_qp_ex(context, &init);
}

static void end_open(struct end *end, uint32_t qkey, int block_self)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = qkey };

	memset(end, 0, sizeof(*end));
	end->cq = ibv_create_cq(context, RECEIVES, NULL, NULL, 0);
	end->send_cq = ibv_create_cq(context, RECEIVES, NULL, NULL, 0);
	end->memory = calloc(RECEIVES + 1, SLOT);
	MUST(end->cq && end->send_cq && end->memory);
	end->mr = ibv_reg_mr(pd, end->memory, (RECEIVES + 1) * SLOT, IBV_ACCESS_LOCAL_WRITE);
	end->qp = create_qp(end, block_self);
	MUST(end->mr && end->qp);
	MUST(!ibv_modify_qp(end->qp, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY));
	attr.qp_state = IBV_QPS_RTR;
	MUST(!ibv_modify_qp(end->qp, &attr, IBV_QP_STATE));
	attr.qp_state = IBV_QPS_RTS;
	MUST(!ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN));
	for (unsigned i = 0; i < RECEIVES; i++)
		post(end, i);
}

static void end_close(struct end *end)
{
	MUST(!ibv_destroy_qp(end->qp) && !ibv_destroy_cq(end->cq) &&
	     !ibv_destroy_cq(end->send_cq) && !ibv_dereg_mr(end->mr));
	free(end->memory);
}

static void send_one(struct end *end, unsigned number)
{
	uint8_t *data = end->memory + RECEIVES * SLOT;
	struct ibv_sge sge = { (uintptr_t)data, LENGTH, end->mr->lkey };
	struct ibv_send_wr *bad, wr = { .wr_id = 1000,
					.sg_list = &sge,
					.num_sge = 1,
					.opcode = IBV_WR_SEND_WITH_IMM,
					.send_flags = IBV_SEND_SIGNALED,
					.imm_data = htonl(number),
					.wr.ud = { ah, 0xffffff, QKEY } };

	for (unsigned i = 0; i < LENGTH; i++)
		data[i] = (uint8_t)(number * 7 + i);
	MUST(!ibv_post_send(end->qp, &wr, &bad));
	MUST(wait_status(end->send_cq, 5) == IBV_WC_SUCCESS);
}

static int right(const uint8_t *area, const struct ibv_wc *wc)
{
	unsigned number = ntohl(wc->imm_data);
	int v4 = group.raw[0] != 0xff;

	if (wc->status || wc->byte_len != LENGTH + GRH || number >= RECEIVES ||
	    !(wc->wc_flags & IBV_WC_GRH))
		return 0;
	for (unsigned i = 0; i < LENGTH; i++) {
		if (area[GRH + i] != (uint8_t)(number * 7 + i))
			return 0;
	}
	/* The header shows the group, and how far it had to go. */
	if (v4)
		return area[20] == 0x45 && area[28] == 7 && !memcmp(area + 36, group.raw + 12, 4);
	return area[0] >> 4 == 6 && area[7] == 7 && !memcmp(area + 24, group.raw, 16);
}

/* Receive until nothing came for @quiet_ms, or @want messages are there. */
static void receive(struct end *end, unsigned want, int quiet_ms)
{
	for (int quiet = 0; quiet < quiet_ms && (!want || end->got < want);) {
		struct ibv_ah_attr attr;
		struct ibv_wc wc;
		int n = ibv_poll_cq(end->cq, 1, &wc);
		uint8_t *area;

		MUST(n >= 0);
		if (!n) {
			poll(NULL, 0, 1);
			quiet++;
			continue;
		}
		quiet = 0;
		area = end->memory + wc.wr_id * SLOT;
		if (right(area, &wc)) {
			end->times[ntohl(wc.imm_data)]++;
			/* There is no way back to a group from its members' own address. */
			if (!ibv_init_ah_from_wc(context, 1, &wc, (struct ibv_grh *)(void *)area,
						 &attr))
				end->wrong++;
		} else {
			end->wrong++;
		}
		end->got++;
		post(end, (unsigned)wc.wr_id);
	}
}

/* Messages first .. first + count - 1 came once, and nothing else since the last time. */
static int once(struct end *end, unsigned first, unsigned count)
{
	int good;

	receive(end, count, 3000);
	receive(end, 0, 100);
	good = end->got == count && !end->wrong;
	for (unsigned i = 0; i < RECEIVES; i++)
		good &= end->times[i] == (i >= first && i < first + count);
	if (!good)
		printf("# QP 0x%x: %u messages, %u of them wrong\n", end->qp->qp_num, end->got,
		       end->wrong);
	memset(end->times, 0, sizeof(end->times));
	end->got = end->wrong = 0;
	return good;
}

static void rules(void)
{
	struct ibv_qp_init_attr rc = { .cap = { 1, 1, 1, 1, 0 }, .qp_type = IBV_QPT_RC };
	struct ibv_device_attr device;
	union ibv_gid other = group;
	struct ibv_qp *connected;
	struct end a, b;
	unsigned i;
	int err = 0;

	open_device();
	end_open(&a, QKEY, 0);
	end_open(&b, QKEY, 0);
	rc.send_cq = rc.recv_cq = a.cq;
	connected = ibv_create_qp(pd, &rc);
	MUST(connected && !ibv_query_device(context, &device));
	CHECK(ibv_attach_mcast(connected, &group, 0) == EINVAL, "RC cannot attach");
	CHECK(ibv_attach_mcast(a.qp, &own, 0) == EINVAL, "an address of a port is no group");
	CHECK(ibv_detach_mcast(a.qp, &group, 0) == EINVAL, "detach without attach");
	CHECK(!ibv_attach_mcast(a.qp, &group, 0), "attach");
	CHECK(!ibv_attach_mcast(a.qp, &group, 0), "attach again");
	CHECK(ibv_detach_mcast(b.qp, &group, 0) == EINVAL, "detach of another QP");
	CHECK(ibv_destroy_qp(a.qp) == EBUSY, "destroy while attached");
	CHECK(!ibv_detach_mcast(a.qp, &group, 0), "detach");
	CHECK(ibv_detach_mcast(a.qp, &group, 0) == EINVAL, "detach again");
	CHECK(device.max_mcast_grp > 0 && device.max_mcast_qp_attach > 0 &&
		      device.max_total_mcast_qp_attach >= device.max_mcast_qp_attach,
	      "limits are told");
	for (i = 0; !err && i < 1000; i++) {
		other.raw[15] = (uint8_t)(i + 1);
		err = ibv_attach_mcast(a.qp, &other, 0);
	}
	CHECK(err == ENOMEM && (int)i - 1 == device.max_mcast_grp, "as many groups as promised");
	while (--i) {
		other.raw[15] = (uint8_t)i;
		MUST(!ibv_detach_mcast(a.qp, &other, 0));
	}
	MUST(!ibv_attach_mcast(a.qp, &group, 0));
	MUST(!ibv_destroy_qp(connected));
	end_close(&b);
	/* Left to the context to end: the group is left all the same. */
	CHECK(!ibv_close_device(context), "close while attached");
}

/* The other process: one member. Commands come as bytes, results go back. */
static void serve(int in, int out)
{
	struct end end;
	char byte;

	open_device();
	end_open(&end, QKEY, 0);
	MUST(!ibv_attach_mcast(end.qp, &group, 0));
	MUST(write(out, "r", 1) == 1);
	while (read(in, &byte, 1) == 1) {
		if (byte == 'd') {
			MUST(!ibv_detach_mcast(end.qp, &group, 0));
			byte = 'r';
		} else {
			byte = once(&end, byte == 'n' ? 0 : 1, byte == 'n' ? 0 : 20) ? 'y' : 'n';
		}
		MUST(write(out, &byte, 1) == 1);
	}
	exit(failures != 0);
}

static char ask(int to, int from, char what)
{
	char answer = 0;

	if (what)
		MUST(write(to, &what, 1) == 1);
	MUST(read(from, &answer, 1) == 1);
	return answer;
}

static void send_twenty(struct end *end)
{
	for (unsigned i = 1; i <= 20; i++)
		send_one(end, i);
}

static void local(void)
{
	struct end a, b, sender, stranger;
	int to[2], from[2];
	pid_t child;

	MUST(!pipe(to) && !pipe(from));
	child = fork();
	MUST(child >= 0);
	if (!child) {
		close(to[1]);
		serve(to[0], from[1]);
	}
	close(to[0]);
	open_device();
	end_open(&a, QKEY, 0);
	end_open(&b, QKEY, 1);
	end_open(&sender, QKEY, 0);
	end_open(&stranger, QKEY + 1, 0);
	MUST(!ibv_attach_mcast(a.qp, &group, 0) && !ibv_attach_mcast(b.qp, &group, 0));
	MUST(!ibv_attach_mcast(a.qp, &group, 0) && !ibv_attach_mcast(stranger.qp, &group, 0));
	MUST(ask(to[1], from[0], 0) == 'r');
	send_twenty(&sender);
	CHECK(once(&a, 1, 20), "a member gets each message once");
	CHECK(once(&b, 1, 20), "so does another in the process");
	CHECK(ask(to[1], from[0], 'g') == 'y', "and one in another process");
	CHECK(once(&sender, 0, 0), "the sender, not attached, gets none");
	CHECK(once(&stranger, 0, 0), "nor does a QP with another Q_Key");
	send_twenty(&b);
	CHECK(once(&a, 1, 20), "from a member to others");
	CHECK(once(&b, 0, 0), "which does not hear itself, as it asked for");
	CHECK(ask(to[1], from[0], 'g') == 'y', "and the other process");
	MUST(!ibv_detach_mcast(a.qp, &group, 0) && !ibv_attach_mcast(sender.qp, &group, 0));
	send_twenty(&sender);
	CHECK(once(&a, 0, 0), "none after detach");
	CHECK(once(&b, 1, 20), "the others go on");
	CHECK(once(&sender, 1, 20), "a sender that is attached hears itself");
	CHECK(ask(to[1], from[0], 'g') == 'y', "and so does the other process");
	MUST(!ibv_detach_mcast(b.qp, &group, 0) && !ibv_detach_mcast(stranger.qp, &group, 0));
	MUST(!ibv_detach_mcast(sender.qp, &group, 0));
	MUST(ask(to[1], from[0], 'd') == 'r');
	send_twenty(&sender);
	CHECK(once(&a, 0, 0) && once(&b, 0, 0) && once(&sender, 0, 0),
	      "none when all are detached");
	CHECK(ask(to[1], from[0], 'n') == 'y', "nor in the other process");
	end_close(&a);
	end_close(&b);
	end_close(&stranger);
	end_close(&sender);
	close(to[1]);
	MUST(waitpid(child, NULL, 0) == child);
}

static void listen_to(unsigned count)
{
	struct end end;

	open_device();
	end_open(&end, QKEY, 0);
	MUST(!ibv_attach_mcast(end.qp, &group, 0));
	printf("ready\n");
	fflush(stdout);
	if (!count)
		sleep(600);
	CHECK(once(&end, 1, count), "received each once");
}

int main(int argc, char **argv)
{
	unsigned count = argc > 4 ? (unsigned)atoi(argv[4]) : 0;
	struct end end;

	MUST(argc >= 4 && count < RECEIVES);
	gid_index = atoi(argv[2]);
	parse_group(argv[3]);
	if (!strcmp(argv[1], "rules")) {
		rules();
	} else if (!strcmp(argv[1], "local")) {
		local();
	} else if (!strcmp(argv[1], "listen")) {
		listen_to(count);
	} else {
		open_device();
		end_open(&end, QKEY, 0);
		for (unsigned i = 1; i <= count; i++)
			send_one(&end, i);
	}
	return failures != 0;
}
