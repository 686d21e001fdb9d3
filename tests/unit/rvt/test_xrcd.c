/* SPDX-License-Identifier: Apache-2.0 */
/* test_xrcd.c - XRC: domains and who may share them, the two kinds of queue pairs, named queues */
#include "rvt/xrcd.h"
#include "world.h"

#define CREATE	  1u
#define EXCLUSIVE 2u

static const struct rvt_inode file = { 8, 1234 };

static int open_in(struct rvt_context *context, const struct rvt_inode *inode, unsigned flags,
		   struct rvt_xrcd **ret)
{
	return rvt_open_xrcd(context, inode, flags & CREATE, flags & EXCLUSIVE, ret);
}

static struct rvt_xrcd *opened(const struct rvt_inode *inode, unsigned flags)
{
	struct rvt_xrcd *xrcd;

	assert_int_equal(open_in(w.context, inode, flags, &xrcd), 0);
	return xrcd;
}

static struct rvt_cq *new_cq(struct rvt_context *context)
{
	struct rvt_cq *cq;

	assert_int_equal(rvt_create_cq(context, 64, &cq), 0);
	return cq;
}

static struct rvt_srq *new_srq(struct rvt_xrcd *xrcd, struct rvt_cq *cq)
{
	uint32_t max_wr = 8, max_sge = 1;
	struct rvt_srq *srq;

	assert_int_equal(rvt_create_xrc_srq(w.pd, xrcd, cq, &max_wr, &max_sge, &srq), 0);
	return srq;
}

static struct rvt_qp *new_target(struct rvt_xrcd *xrcd)
{
	struct rvt_qp_init init = { .type = RVT_QPT_XRC_TGT, .xrcd = xrcd, .context = w.context };
	struct rvt_qp *qp;

	assert_int_equal(rvt_create_qp(NULL, &init, &qp), 0);
	return qp;
}

static struct rvt_qp *new_initiator(struct rvt_cq *cq)
{
	struct rvt_qp_init init = { .type = RVT_QPT_XRC_INI,
				    .send_cq = cq,
				    .cap = { 4, 4, 2, 2, 0 } };
	struct rvt_qp *qp;

	assert_int_equal(rvt_create_qp(w.pd, &init, &qp), 0);
	return qp;
}

static void test_open_flags(void **state)
{
	const struct rvt_inode other = { 8, 1235 }, elsewhere = { 9, 1234 };
	struct rvt_xrcd *first, *second, *third;
	struct rvt_context *far;
	struct rvt_port port = w.port;

	(void)state;
	/* Without a file: always a new one, which needs O_CREAT. */
	world_refused(open_in(w.context, NULL, 0, &first), RVT_XRCD_NO_FILE);
	assert_int_equal(rvt_verdict_row(RVT_XRCD_NO_FILE)->error, EINVAL);
	world_refused(open_in(w.context, NULL, EXCLUSIVE, &first), RVT_XRCD_NO_FILE);
	first = opened(NULL, CREATE);
	second = opened(NULL, CREATE | EXCLUSIVE);
	assert_ptr_not_equal(first->domain, second->domain);
	assert_int_equal(rvt_close_xrcd(first), 0);
	assert_int_equal(rvt_close_xrcd(second), 0);

	/* With one: there must be one, or it must be made. */
	world_refused(open_in(w.context, &file, 0, &first), RVT_XRCD_NONE);
	assert_int_equal(rvt_verdict_row(RVT_XRCD_NONE)->error, EAGAIN);
	first = opened(&file, CREATE | EXCLUSIVE);
	world_refused(open_in(w.context, &file, CREATE | EXCLUSIVE, &second), RVT_XRCD_EXISTS);
	assert_int_equal(rvt_verdict_row(RVT_XRCD_EXISTS)->error, EINVAL);
	second = opened(&file, CREATE);
	third = opened(&file, 0);
	assert_ptr_equal(second->domain, first->domain);
	assert_ptr_equal(third->domain, first->domain);
	assert_int_not_equal(first->res.id, second->res.id);

	/* It is named by device and inode number, and belongs to one device. */
	world_refused(open_in(w.context, &other, 0, &third), RVT_XRCD_NONE);
	world_refused(open_in(w.context, &elsewhere, 0, &third), RVT_XRCD_NONE);
	port.index = 1;
	assert_int_equal(rvt_context_open(&w.device, &port, &far), 0);
	world_refused(open_in(far, &file, 0, &third), RVT_XRCD_NONE);
	rvt_context_close(far);

	/* The last opening ends it. */
	assert_int_equal(rvt_close_xrcd(first), 0);
	first = opened(&file, 0);
	assert_ptr_equal(first->domain, second->domain);
	assert_int_equal(rvt_close_xrcd(first), 0);
	assert_int_equal(rvt_close_xrcd(second), 0);
	assert_int_equal(rvt_close_xrcd(third), 0);
	assert_true(list_empty(&w.device.xrc_domains));
	world_refused(open_in(w.context, &file, 0, &first), RVT_XRCD_NONE);
}

static void test_users(void **state)
{
	struct rvt_xrcd *first = opened(&file, CREATE), *second = opened(&file, 0);
	struct rvt_cq *cq = new_cq(w.context);
	struct rvt_srq *srq = new_srq(first, cq);
	struct rvt_qp *target;

	(void)state;
	world_refused(rvt_close_xrcd(first), RVT_IN_USE);
	world_refused(rvt_destroy_cq(cq), RVT_IN_USE);
	world_refused(rvt_dealloc_pd(w.pd), RVT_IN_USE);
	/* Whose opening is not in use may go. */
	assert_int_equal(rvt_close_xrcd(second), 0);
	second = opened(&file, 0);
	target = new_target(second);
	world_refused(rvt_close_xrcd(second), RVT_IN_USE);
	/* A target that serves a queue does not hold it. */
	assert_true(rvt_xrc_target(target, srq->res.id));
	assert_int_equal(rvt_destroy_srq(srq), 0);
	assert_int_equal(rvt_destroy_cq(cq), 0);
	assert_int_equal(rvt_close_xrcd(first), 0);
	assert_int_equal(rvt_destroy_qp(target), 0);
	assert_int_equal(rvt_close_xrcd(second), 0);
	world_refused(open_in(w.context, &file, 0, &first), RVT_XRCD_NONE);
}

/* What a program leaves behind ends with its context; world_close() looks for leaks. */
static void test_left_behind(void **state)
{
	struct rvt_xrcd *xrcd = opened(&file, CREATE), *again = opened(&file, 0);
	struct rvt_srq *srq = new_srq(xrcd, new_cq(w.context));

	(void)state;
	assert_true(rvt_xrc_target(new_target(again), srq->res.id));
	(void)new_initiator(srq->cq);
	rvt_context_close(w.context);
	assert_int_equal(restrack_count(&w.restrack, RESTRACK_XRCD, NULL), 0);
	assert_true(list_empty(&w.device.xrc_domains));
}

static int make(void **object)
{
	return open_in(w.context, &file, CREATE, (struct rvt_xrcd **)object);
}

static void unmake(void *object)
{
	assert_int_equal(rvt_close_xrcd(object), 0);
	assert_true(list_empty(&w.device.xrc_domains));
}

static void test_out_of_memory(void **state)
{
	(void)state;
	world_fail_allocations(make, unmake);
	assert_true(list_empty(&w.device.xrc_domains));
}

static void test_creation(void **state)
{
	struct rvt_xrcd *xrcd = opened(NULL, CREATE), *far_xrcd;
	struct rvt_cq *cq = new_cq(w.context), *far_cq;
	struct rvt_srq *srq = new_srq(xrcd, cq), *refused;
	uint32_t max_wr = 8, max_sge = 1;
	struct rvt_qp_init rc = { .type = RVT_QPT_RC, .send_cq = cq, .recv_cq = cq, .srq = srq };
	struct rvt_qp_init ini = { .type = RVT_QPT_XRC_INI };
	struct rvt_qp_init tgt = { .type = RVT_QPT_XRC_TGT, .context = w.context };
	struct rvt_context *far;
	struct rvt_qp *qp;

	(void)state;
	assert_int_equal(world_attribute(&srq->res, RESTRACK_SRQ_TYPE), 1);
	assert_int_equal(world_attribute(&srq->res, RESTRACK_SRQ_CQN), cq->res.id);
	/* All of an SRQ is of one context. */
	assert_int_equal(rvt_context_open(&w.device, &w.port, &far), 0);
	far_cq = new_cq(far);
	assert_int_equal(open_in(far, NULL, CREATE, &far_xrcd), 0);
	world_refused(rvt_create_xrc_srq(w.pd, xrcd, far_cq, &max_wr, &max_sge, &refused),
		      RVT_BAD_ARGUMENT);
	world_refused(rvt_create_xrc_srq(w.pd, far_xrcd, cq, &max_wr, &max_sge, &refused),
		      RVT_BAD_ARGUMENT);
	/* Only requests of XRC name it. */
	world_refused(rvt_create_qp(w.pd, &rc, &qp), RVT_BAD_ARGUMENT);
	/* An initiator needs a CQ for what it sends, a target a domain and no PD. */
	world_refused(rvt_create_qp(w.pd, &ini, &qp), RVT_BAD_ARGUMENT);
	world_refused(rvt_create_qp(NULL, &tgt, &qp), RVT_BAD_ARGUMENT);
	tgt.xrcd = far_xrcd;
	world_refused(rvt_create_qp(NULL, &tgt, &qp), RVT_BAD_ARGUMENT);
	tgt.xrcd = xrcd;
	world_refused(rvt_create_qp(w.pd, &tgt, &qp), RVT_BAD_ARGUMENT);
	rvt_context_close(far);

	qp = new_initiator(cq);
	assert_int_equal(qp->cap.max_recv_wr + qp->cap.max_recv_sge, 0);
	assert_int_equal(world_attribute(&qp->res, RESTRACK_QP_TYPE), 9);
	assert_int_equal(world_attribute(&qp->res, RESTRACK_QP_SEND_CQN), cq->res.id);
	assert_int_equal(world_attribute(&qp->res, RESTRACK_QP_RECV_CQN), 0);
	/* What is asked for queues that a target does not have is of no interest. */
	tgt.cap = (struct rvt_qp_cap){ UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX };
	assert_int_equal(rvt_create_qp(NULL, &tgt, &qp), 0);
	assert_int_equal(tgt.cap.max_send_wr + tgt.cap.max_recv_wr + tgt.cap.max_inline_data, 0);
	assert_int_equal(world_attribute(&qp->res, RESTRACK_QP_TYPE), 10);
	assert_int_equal(world_attribute(&qp->res, RESTRACK_QP_PDN), 0);
}

static struct rvt_qp_attr attributes(enum rvt_qp_state to)
{
	return (struct rvt_qp_attr){
		.qp_state = to,
		.port_num = 1,
		.path_mtu = RVT_MTU_1024,
		.dest_qp_num = 5,
		.ah_attr = { .is_global = true,
			     .port_num = 1,
			     .dgid = { { [10] = 0xff, 0xff, 127, 0, 0, 1 } } },
		.max_rd_atomic = 1,
		.max_dest_rd_atomic = 1,
	};
}

static int modify(struct rvt_qp *qp, enum rvt_qp_state to, uint32_t mask)
{
	struct rvt_qp_attr attr = attributes(to);

	return rvt_modify_qp(qp, &attr, mask | RVT_QP_STATE);
}

#define TO_INIT (RVT_QP_PKEY_INDEX | RVT_QP_PORT | RVT_QP_ACCESS_FLAGS)
#define TO_RTR	(RVT_QP_AV | RVT_QP_PATH_MTU | RVT_QP_DEST_QPN | RVT_QP_RQ_PSN)
#define ANSWERS (RVT_QP_MAX_DEST_RD_ATOMIC | RVT_QP_MIN_RNR_TIMER)
#define RETRIES (RVT_QP_RETRY_CNT | RVT_QP_RNR_RETRY | RVT_QP_MAX_QP_RD_ATOMIC)
#define TO_RTS	(RVT_QP_TIMEOUT | RVT_QP_SQ_PSN)

/* Every bit of @required is missed, and one that is not allowed is refused. */
static void needs(struct rvt_qp *qp, enum rvt_qp_state to, uint32_t required, uint32_t foreign)
{
	for (uint32_t bits = required; bits; bits &= bits - 1) {
		uint32_t bit = bits & -bits;

		world_refused(modify(qp, to, required & ~bit), RVT_ATTRIBUTE_MISSING);
		assert_int_equal(w.value1, bit);
	}
	world_refused(modify(qp, to, required | foreign), RVT_ATTRIBUTE_FOREIGN);
}

static void reset(struct rvt_qp *qp)
{
	assert_int_equal(modify(qp, RVT_QPS_RESET, 0), 0);
	assert_int_equal(qp->state, RVT_QPS_RESET);
}

/* With the masks of RC, as programs do. */
static void as_rc(struct rvt_qp *qp)
{
	assert_int_equal(modify(qp, RVT_QPS_INIT, TO_INIT), 0);
	assert_int_equal(modify(qp, RVT_QPS_RTR, TO_RTR | ANSWERS), 0);
	assert_int_equal(modify(qp, RVT_QPS_RTS, TO_RTS | RETRIES), 0);
	assert_int_equal(qp->state, RVT_QPS_RTS);
}

static void test_states(void **state)
{
	struct rvt_qp *ini = new_initiator(new_cq(w.context));
	struct rvt_qp *tgt = new_target(opened(NULL, CREATE));

	(void)state;
	needs(ini, RVT_QPS_INIT, TO_INIT, RVT_QP_QKEY);
	needs(tgt, RVT_QPS_INIT, TO_INIT, RVT_QP_QKEY);
	assert_int_equal(modify(ini, RVT_QPS_INIT, TO_INIT), 0);
	assert_int_equal(modify(tgt, RVT_QPS_INIT, TO_INIT), 0);
	needs(ini, RVT_QPS_RTR, TO_RTR, RVT_QP_TIMEOUT);
	needs(tgt, RVT_QPS_RTR, TO_RTR | ANSWERS, RVT_QP_TIMEOUT);
	/* What is the other side's is not looked at, wherever it stands. */
	assert_int_equal(modify(ini, RVT_QPS_RTR, TO_RTR), 0);
	assert_int_equal(modify(tgt, RVT_QPS_RTR, TO_RTR | ANSWERS | RETRIES), 0);
	needs(ini, RVT_QPS_RTS, TO_RTS | RETRIES, RVT_QP_DEST_QPN);
	needs(tgt, RVT_QPS_RTS, TO_RTS, RVT_QP_DEST_QPN);
	assert_int_equal(modify(ini, RVT_QPS_RTS, TO_RTS | RETRIES | ANSWERS), 0);
	assert_int_equal(modify(tgt, RVT_QPS_RTS, TO_RTS), 0);
	assert_int_equal(modify(tgt, RVT_QPS_RTS, RVT_QP_MIN_RNR_TIMER), 0);
	world_refused(modify(ini, RVT_QPS_RTS, RVT_QP_TIMEOUT), RVT_ATTRIBUTE_FOREIGN);
	reset(ini);
	reset(tgt);
	as_rc(ini);
	as_rc(tgt);
	/* And what is not looked at is not taken over. */
	assert_int_equal(ini->attr.max_dest_rd_atomic, 0);
	assert_int_equal(tgt->attr.max_rd_atomic, 0);
	assert_int_equal(modify(tgt, RVT_QPS_SQD, 0), 0);
	assert_int_equal(modify(tgt, RVT_QPS_ERR, 0), 0);
	assert_int_equal(w.events[RVT_EVENT_QP_LAST_WQE_REACHED], 1);
}

static void test_wrong_side(void **state)
{
	struct rvt_qp *ini = new_initiator(new_cq(w.context));
	struct rvt_qp *tgt = new_target(opened(NULL, CREATE));
	struct rvt_recv_wr receive = { .wr_id = 1 };
	struct rvt_send_wr send = { .opcode = RVT_WR_SEND };

	(void)state;
	for (unsigned round = 0; round < 2; round++) {
		world_refused(rvt_post_recv(ini, &receive), RVT_POST_WRONG_SIDE);
		world_refused(rvt_post_recv(tgt, &receive), RVT_POST_WRONG_SIDE);
		world_refused(rvt_post_send(tgt, &send), RVT_POST_WRONG_SIDE);
		if (!round) {
			as_rc(ini);
			as_rc(tgt);
		}
	}
	assert_int_equal(rvt_post_send(ini, &send), 0);
}

static uint8_t memory[4096];

static void post(struct rvt_srq *srq, struct rvt_mr *mr, uint64_t id)
{
	struct rvt_sge sge = { (uintptr_t)memory, 64, mr->key };
	struct rvt_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 };

	assert_int_equal(rvt_post_srq_recv(srq, &wr), 0);
}

static void finish(struct rvt_qp *target)
{
	struct rvt_wc wc = { .opcode = RVT_WC_RECV };

	rvt_recv_complete(target, &wc);
}

static void completed(struct rvt_cq *cq, uint64_t id, enum rvt_wc_status status, uint32_t number)
{
	struct rvt_wc wc;

	assert_int_equal(rvt_poll_cq(cq, 1, &wc), 1);
	assert_int_equal(wc.wr_id, id);
	assert_int_equal(wc.status, status);
	assert_int_equal(wc.qp_num, number);
}

static void test_named_queues(void **state)
{
	struct rvt_xrcd *xrcd = opened(NULL, CREATE), *other = opened(NULL, CREATE);
	struct rvt_cq *cqs[2] = { new_cq(w.context), new_cq(w.context) };
	struct rvt_srq *srqs[2] = { new_srq(xrcd, cqs[0]), new_srq(xrcd, cqs[1]) };
	struct rvt_srq *foreign = new_srq(other, cqs[0]), *plain;
	struct rvt_mr *mr = world_region(memory, sizeof(memory), RVT_ACCESS_LOCAL_WRITE);
	struct rvt_qp *tgt = new_target(xrcd);
	uint32_t max_wr = 8, max_sge = 1, number = tgt->number;

	(void)state;
	as_rc(tgt);
	assert_int_equal(rvt_create_srq(w.pd, &max_wr, &max_sge, 0, &plain), 0);
	assert_false(rvt_xrc_target(tgt, foreign->res.id));
	assert_false(rvt_xrc_target(tgt, plain->res.id));
	assert_false(rvt_xrc_target(tgt, 0));
	assert_false(rvt_xrc_target(tgt, 0xffffff));
	for (uint64_t id = 0; id < 8; id++)
		post(srqs[id & 1], mr, id);
	for (uint64_t id = 0; id < 4; id++) {
		assert_true(rvt_xrc_target(tgt, srqs[id & 1]->res.id));
		assert_int_equal(rvt_get_rwqe(tgt), RVT_OK);
		/* A replayed request may name another in between. */
		assert_true(rvt_xrc_target(tgt, srqs[!(id & 1)]->res.id));
		finish(tgt);
	}
	completed(cqs[0], 0, RVT_WC_SUCCESS, number);
	completed(cqs[1], 1, RVT_WC_SUCCESS, number);
	/* In error, what was taken ends where it came from; what is posted stays. */
	assert_true(rvt_xrc_target(tgt, srqs[1]->res.id));
	assert_int_equal(rvt_get_rwqe(tgt), RVT_OK);
	assert_true(rvt_xrc_target(tgt, srqs[0]->res.id));
	rvt_error_qp(tgt, RVT_XRC_SRQ);
	assert_int_equal(w.events[RVT_EVENT_QP_REQ_ERR], 1);
	assert_int_equal(w.events[RVT_EVENT_QP_LAST_WQE_REACHED], 1);
	assert_int_equal(rvt_rq_count(&srqs[0]->rq), 2);
	assert_int_equal(rvt_rq_count(&srqs[1]->rq), 1);
	/* The queues' users poll on when the target is gone: all their completions are there. */
	reset(tgt);
	assert_true(rvt_xrc_target(tgt, srqs[0]->res.id));
	assert_int_equal(rvt_destroy_qp(tgt), 0);
	completed(cqs[0], 2, RVT_WC_SUCCESS, number);
	completed(cqs[1], 3, RVT_WC_SUCCESS, number);
	completed(cqs[1], 5, RVT_WC_WR_FLUSH_ERR, number);
	assert_int_equal(rvt_cq_entries(cqs[0]) + rvt_cq_entries(cqs[1]), 0);
}

/* A queue ends in the middle of a message: its receive goes with it, and holds nothing. */
static void test_queue_ends(void **state)
{
	struct rvt_xrcd *xrcd = opened(NULL, CREATE);
	struct rvt_cq *cq = new_cq(w.context);
	struct rvt_srq *srq = new_srq(xrcd, cq), *stays = new_srq(xrcd, cq);
	struct rvt_mr *mr = world_region(memory, sizeof(memory), RVT_ACCESS_LOCAL_WRITE);
	struct rvt_qp *tgt = new_target(xrcd);
	uint32_t number = srq->res.id;

	(void)state;
	as_rc(tgt);
	post(srq, mr, 1);
	post(stays, mr, 2);
	assert_true(rvt_xrc_target(tgt, number));
	assert_int_equal(rvt_get_rwqe(tgt), RVT_OK);
	assert_int_equal(rvt_destroy_srq(srq), 0);
	assert_int_equal(rvt_dereg_mr(mr), 0);
	assert_false(tgt->receive.taken);
	assert_false(rvt_xrc_target(tgt, number));
	rvt_error_qp(tgt, RVT_XRC_SRQ);
	assert_int_equal(rvt_cq_entries(cq), 0);
	/* Of another queue it keeps what it took. */
	assert_int_equal(modify(tgt, RVT_QPS_RESET, 0), 0);
	as_rc(tgt);
	mr = world_region(memory, sizeof(memory), RVT_ACCESS_LOCAL_WRITE);
	srq = new_srq(xrcd, cq);
	post(srq, mr, 3);
	assert_true(rvt_xrc_target(tgt, srq->res.id));
	assert_int_equal(rvt_get_rwqe(tgt), RVT_OK);
	assert_int_equal(rvt_destroy_srq(stays), 0);
	finish(tgt);
	completed(cq, 3, RVT_WC_SUCCESS, tgt->number);
}

/* A target that two contexts share outlives the one that it was made in. */
static void test_moves(void **state)
{
	struct rvt_xrcd *first = opened(&file, CREATE), *second;
	struct rvt_qp *tgt = new_target(first);
	struct ledger_record record;
	struct rvt_context *far;

	(void)state;
	assert_int_equal(rvt_context_open(&w.device, &w.port, &far), 0);
	assert_int_equal(open_in(far, &file, 0, &second), 0);
	rvt_use_xrcd(second, 1);
	rvt_move_target(tgt, second);
	assert_int_equal(first->users, 0);
	assert_int_equal(second->users, 1);
	assert_true(world_record(RESTRACK_QP, tgt->number, &record));
	assert_int_equal(record.context, far->res.id);
	rvt_context_close(w.context);
	assert_ptr_equal(rvt_find_qp(&w.device, tgt->number), tgt);
	as_rc(tgt);
	rvt_context_close(far);
	assert_null(rvt_find_qp(&w.device, record.id));
	assert_true(list_empty(&w.device.xrc_domains));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_open, world_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_moves),	TEST(test_open_flags),	  TEST(test_users),
		TEST(test_left_behind), TEST(test_out_of_memory), TEST(test_creation),
		TEST(test_states),	TEST(test_wrong_side),	  TEST(test_named_queues),
		TEST(test_queue_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
