/* SPDX-License-Identifier: Apache-2.0 */
/* xrc.c - XRC domains and shared target queue pairs, as one program sees them */
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>

#include "program.h"

static struct ibv_xrcd *open_domain(struct ibv_context *context, int fd, int flags)
{
	struct ibv_xrcd_init_attr attr = { .comp_mask = IBV_XRCD_INIT_ATTR_FD |
							IBV_XRCD_INIT_ATTR_OFLAGS,
					   .fd = fd,
					   .oflags = flags };

	errno = 0;
	return ibv_open_xrcd(context, &attr);
}

static struct ibv_srq *make_srq(struct ibv_pd *pd, struct ibv_xrcd *xrcd, struct ibv_cq *cq)
{
	struct ibv_srq_init_attr_ex attr = { .attr = { .max_wr = 16, .max_sge = 1 },
					     .comp_mask =
						     IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
						     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
					     .srq_type = IBV_SRQT_XRC,
					     .pd = pd,
					     .xrcd = xrcd,
					     .cq = cq };

	return ibv_create_srq_ex(pd->context, &attr);
}

static struct ibv_qp *make_target(struct ibv_xrcd *xrcd)
{
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_XRC_RECV,
					    .comp_mask = IBV_QP_INIT_ATTR_XRCD,
					    .xrcd = xrcd };

	return ibv_create_qp_ex(xrcd->context, &attr);
}

static struct ibv_qp *open_target(struct ibv_xrcd *xrcd, uint32_t number)
{
	struct ibv_qp_open_attr attr = { .comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
						      IBV_QP_OPEN_ATTR_TYPE,
					 .qp_num = number,
					 .xrcd = xrcd,
					 .qp_type = IBV_QPT_XRC_RECV };

	errno = 0;
	return ibv_open_qp(xrcd->context, &attr);
}

static bool event(struct ibv_context *context, enum ibv_event_type type, struct ibv_qp *qp)
{
	struct pollfd p = { .fd = context->async_fd, .events = POLLIN };
	struct ibv_async_event e;
	bool good;

	if (poll(&p, 1, 2000) != 1 || ibv_get_async_event(context, &e))
		return false;
	good = e.event_type == type && e.element.qp == qp;
	ibv_ack_async_event(&e);
	return good;
}

static void domains(struct ibv_context *context, int fd, int other)
{
	struct ibv_xrcd_init_attr half = { .comp_mask = IBV_XRCD_INIT_ATTR_FD, .fd = -1 };
	struct ibv_xrcd *a, *b;

	CHECK(!ibv_open_xrcd(context, &half) && errno == EINVAL, "a domain needs fd and flags");
	CHECK(!open_domain(context, -1, 0) && errno == EINVAL, "without a file and O_CREAT");
	CHECK(!open_domain(context, 4000, O_CREAT) && errno == EBADF, "with a file that is none");
	CHECK(!open_domain(context, fd, 0) && errno == EAGAIN, "without a domain of the file");
	a = open_domain(context, fd, O_CREAT | O_EXCL);
	CHECK(a, "a new domain");
	CHECK(!open_domain(context, fd, O_CREAT | O_EXCL) && errno == EINVAL, "not new any more");
	CHECK(!open_domain(context, other, 0) && errno == EAGAIN, "another file");
	b = open_domain(context, fd, 0);
	CHECK(b && b != a, "the same domain again");
	MUST(a && b && !ibv_close_xrcd(a) && !ibv_close_xrcd(b));
	CHECK(!open_domain(context, fd, 0) && errno == EAGAIN, "it ended");
}

/* One message through a target that two contexts share; then each of them goes. */
static void shared(struct ibv_context *context, struct ibv_context *second, int fd)
{
	struct ibv_xrcd *here = open_domain(context, fd, O_CREAT);
	struct ibv_xrcd *there = open_domain(second, fd, 0);
	struct ibv_pd *pd = ibv_alloc_pd(context), *far_pd = ibv_alloc_pd(second);
	struct ibv_cq *cq = ibv_create_cq(context, 16, NULL, NULL, 0);
	struct ibv_cq *far_cq = ibv_create_cq(second, 16, NULL, NULL, 0);
	static char memory[8192];
	struct ibv_mr *from = ibv_reg_mr(pd, memory, 4096, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_mr *to = ibv_reg_mr(far_pd, memory + 4096, 4096, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge sge = { (uintptr_t)(memory + 4096), 4096, to ? to->lkey : 0 };
	struct ibv_recv_wr *bad_receive, receive = { .wr_id = 7, .sg_list = &sge, .num_sge = 1 };
	struct ibv_send_wr *bad, wr = { .wr_id = 8, .sg_list = &sge, .num_sge = 1 };
	struct ibv_qp *sender, *target, *opened;
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;
	struct ibv_srq *srq, *plain;
	uint32_t number = 0;
	struct ibv_wc wc = { 0 };
	union ibv_gid gid;

	MUST(here && there && pd && far_pd && cq && far_cq && from && to);
	srq = make_srq(far_pd, there, far_cq);
	plain = ibv_create_srq(pd, &(struct ibv_srq_init_attr){ .attr = { 4, 1, 0 } });
	MUST(srq && plain && !ibv_query_gid(context, 1, 0, &gid));
	CHECK(!ibv_get_srq_num(srq, &number) && number, "an XRC SRQ has a number");
	CHECK(ibv_get_srq_num(plain, &number) == EOPNOTSUPP, "another has none");
	CHECK(!make_srq(pd, there, cq) && errno == EINVAL, "an SRQ is of one context");
	MUST(!ibv_destroy_srq(plain));

	sender = make_qp(pd, cq, IBV_QPT_XRC_SEND);
	target = make_target(here);
	MUST(sender && target && !to_init(sender) && !to_init(target));
	CHECK(!to_rts(sender, &gid, target->qp_num, 14) &&
		      !to_rts(target, &gid, sender->qp_num, 14),
	      "both sides take the attributes of RC");
	CHECK(ibv_post_send(target, &wr, &bad) == EINVAL && bad == &wr, "a target sends nothing");
	CHECK(ibv_post_recv(sender, &receive, &bad_receive) == EINVAL &&
		      ibv_post_recv(target, &receive, &bad_receive) == EINVAL,
	      "neither has a receive queue");
	CHECK(!open_target(here, target->qp_num ^ 0x800000) && errno == EINVAL,
	      "a QP of another process");
	CHECK(!open_target(here, sender->qp_num) && errno == EINVAL, "a QP that is no target");
	opened = open_target(there, target->qp_num);
	CHECK(opened && opened->qp_num == target->qp_num && opened->state == IBV_QPS_RTS,
	      "a target is opened from another context");
	MUST(opened);

	memset(memory, 'x', 4096);
	MUST(!ibv_post_srq_recv(srq, &receive, &bad_receive));
	sge = (struct ibv_sge){ (uintptr_t)memory, 4096, from->lkey };
	wr.opcode = IBV_WR_SEND;
	wr.qp_type.xrc.remote_srqn = number;
	CHECK(!ibv_post_send(sender, &wr, &bad) && wait_status(cq, 5) == IBV_WC_SUCCESS, "sent");
	for (int i = 0; i < 1000000 && !ibv_poll_cq(far_cq, 1, &wc); i++)
		;
	CHECK(wc.wr_id == 7 && wc.qp_num == target->qp_num && wc.byte_len == 4096 &&
		      !memcmp(memory, memory + 4096, 4096),
	      "received in the other context, on the SRQ's own CQ");

	CHECK(ibv_close_xrcd(here) == EBUSY && ibv_close_xrcd(there) == EBUSY, "both are in use");
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_ERR };
	CHECK(!ibv_modify_qp(opened, &attr, IBV_QP_STATE), "who opened it may modify it");
	CHECK(event(context, IBV_EVENT_QP_LAST_WQE_REACHED, target) &&
		      event(second, IBV_EVENT_QP_LAST_WQE_REACHED, opened),
	      "an event comes to both");
	/* The context that it was made in goes, with all that is in it. */
	MUST(!ibv_destroy_qp(sender) && !ibv_dereg_mr(from) && !ibv_destroy_cq(cq));
	number = target->qp_num;
	CHECK(!ibv_close_device(context), "the first context ends");
	CHECK(!ibv_query_qp(opened, &attr, IBV_QP_STATE, &init) && attr.qp_state == IBV_QPS_ERR &&
		      init.qp_type == IBV_QPT_XRC_RECV,
	      "the target lives on");
	attr.qp_state = IBV_QPS_RESET;
	CHECK(!ibv_modify_qp(opened, &attr, IBV_QP_STATE) && !to_init(opened), "and can be used");
	CHECK(ibv_close_xrcd(there) == EBUSY, "its domain is in use");
	MUST(!ibv_destroy_srq(srq));
	CHECK(ibv_close_xrcd(there) == EBUSY, "by the handle too");
	CHECK(!ibv_destroy_qp(opened) && !open_target(there, number) && errno == EINVAL,
	      "it goes with the last handle");
	CHECK(!ibv_close_xrcd(there), "then so may the domain");
}

/* What a program leaves open is no trouble. */
static void left_open(int fd)
{
	struct ibv_context *context = open_first();
	struct ibv_xrcd *a = context ? open_domain(context, fd, O_CREAT) : NULL;
	struct ibv_xrcd *b = a ? open_domain(context, fd, 0) : NULL;
	struct ibv_qp *target = a ? make_target(a) : NULL;

	MUST(b && target && open_target(b, target->qp_num));
	CHECK(!ibv_close_device(context), "closed with everything open");
}

int main(void)
{
	struct ibv_context *context = open_first(), *second = open_first();
	char name[] = "/tmp/xrc-e2e-XXXXXX", other_name[] = "/tmp/xrc-e2e-XXXXXX";
	int fd = mkstemp(name), other = mkstemp(other_name);
	struct ibv_device_attr attr;

	MUST(context && second && fd >= 0 && other >= 0);
	unlink(name);
	unlink(other_name);
	CHECK(!ibv_query_device(context, &attr) && attr.device_cap_flags & IBV_DEVICE_XRC,
	      "the device can XRC");
	domains(context, fd, other);
	shared(context, second, fd);
	left_open(fd);
	MUST(!ibv_close_device(second));
	return failures != 0;
}
