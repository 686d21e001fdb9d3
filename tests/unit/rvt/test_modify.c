/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_modify.c - the whole table of transitions and attributes, each bit of it
 *
 * The table is written here once more, from the specification (IBTA 11.2.5.2) and in words, so that
 * a slip in the one that ships does not pass for the rule.
 */
#include "rvt/xrcd.h"
#include "world.h"

#define TYPES 5
#define BITS  26

static const enum rvt_qp_type types[TYPES] = { RVT_QPT_RC, RVT_QPT_UC, RVT_QPT_UD, RVT_QPT_XRC_INI,
					       RVT_QPT_XRC_TGT };
/* As the table calls them. */
static const char *const type_names[TYPES] = { "RC", "UC", "UD", "INI", "TGT" };

static const struct {
	const char *name;
	uint32_t bit;
} names[] = {
	{ "cur", RVT_QP_CUR_STATE },
	{ "notify", RVT_QP_EN_SQD_ASYNC_NOTIFY },
	{ "access", RVT_QP_ACCESS_FLAGS },
	{ "pkey", RVT_QP_PKEY_INDEX },
	{ "port", RVT_QP_PORT },
	{ "qkey", RVT_QP_QKEY },
	{ "av", RVT_QP_AV },
	{ "mtu", RVT_QP_PATH_MTU },
	{ "timeout", RVT_QP_TIMEOUT },
	{ "retry", RVT_QP_RETRY_CNT },
	{ "rnr", RVT_QP_RNR_RETRY },
	{ "rqpsn", RVT_QP_RQ_PSN },
	{ "rd", RVT_QP_MAX_QP_RD_ATOMIC },
	{ "alt", RVT_QP_ALT_PATH },
	{ "minrnr", RVT_QP_MIN_RNR_TIMER },
	{ "sqpsn", RVT_QP_SQ_PSN },
	{ "destrd", RVT_QP_MAX_DEST_RD_ATOMIC },
	{ "migration", RVT_QP_PATH_MIG_STATE },
	{ "destqp", RVT_QP_DEST_QPN },
};

static const struct {
	enum rvt_qp_state from, to;
	const char *types, *required, *optional;
} table[] = {
	{ RVT_QPS_RESET, RVT_QPS_INIT, "RC UC INI TGT", "pkey port access", "" },
	{ RVT_QPS_RESET, RVT_QPS_INIT, "UD", "pkey port qkey", "" },
	{ RVT_QPS_INIT, RVT_QPS_INIT, "RC UC INI TGT", "", "pkey port access" },
	{ RVT_QPS_INIT, RVT_QPS_INIT, "UD", "", "pkey port qkey" },
	{ RVT_QPS_INIT, RVT_QPS_RTR, "RC TGT", "av mtu destqp rqpsn destrd minrnr",
	  "alt access pkey" },
	{ RVT_QPS_INIT, RVT_QPS_RTR, "UC INI", "av mtu destqp rqpsn", "alt access pkey" },
	{ RVT_QPS_INIT, RVT_QPS_RTR, "UD", "", "pkey qkey" },
	{ RVT_QPS_RTR, RVT_QPS_RTS, "RC", "timeout retry rnr sqpsn rd",
	  "cur alt access minrnr migration" },
	{ RVT_QPS_RTR, RVT_QPS_RTS, "INI", "timeout retry rnr sqpsn rd",
	  "cur alt access migration" },
	{ RVT_QPS_RTR, RVT_QPS_RTS, "TGT", "timeout sqpsn", "cur alt access minrnr migration" },
	{ RVT_QPS_RTR, RVT_QPS_RTS, "UC", "sqpsn", "cur alt access migration" },
	{ RVT_QPS_RTR, RVT_QPS_RTS, "UD", "sqpsn", "cur qkey" },
	{ RVT_QPS_RTS, RVT_QPS_RTS, "RC TGT", "", "cur access alt migration minrnr" },
	{ RVT_QPS_RTS, RVT_QPS_RTS, "UC INI", "", "cur access alt migration" },
	{ RVT_QPS_RTS, RVT_QPS_RTS, "UD", "", "cur qkey" },
	{ RVT_QPS_RTS, RVT_QPS_SQD, "RC UC UD INI TGT", "", "notify" },
	{ RVT_QPS_SQD, RVT_QPS_SQD, "RC", "",
	  "port av timeout retry rnr rd destrd alt access pkey minrnr migration" },
	{ RVT_QPS_SQD, RVT_QPS_SQD, "INI", "",
	  "port av timeout retry rnr rd alt access pkey migration" },
	{ RVT_QPS_SQD, RVT_QPS_SQD, "TGT", "",
	  "port av timeout destrd alt access pkey minrnr migration" },
	{ RVT_QPS_SQD, RVT_QPS_SQD, "UC", "", "av alt access pkey migration" },
	{ RVT_QPS_SQD, RVT_QPS_SQD, "UD", "", "pkey qkey" },
	{ RVT_QPS_SQD, RVT_QPS_RTS, "RC TGT", "", "cur alt access minrnr migration" },
	{ RVT_QPS_SQD, RVT_QPS_RTS, "UC INI", "", "cur alt access migration" },
	{ RVT_QPS_SQD, RVT_QPS_RTS, "UD", "", "cur qkey" },
	{ RVT_QPS_SQE, RVT_QPS_RTS, "UD", "", "cur qkey" },
	{ RVT_QPS_SQE, RVT_QPS_RTS, "UC", "", "cur access" },
	{ RVT_QPS_SQE, RVT_QPS_RTS, "RC INI TGT", "", "" },
};

static struct rvt_cq *cq;
static struct rvt_xrcd *xrcd;

static bool has_word(const char *text, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = text; (at = strstr(at, word)); at += length) {
		if ((at == text || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
			return true;
	}
	return false;
}

static uint32_t mask_of(const char *text)
{
	uint32_t mask = 0;

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (has_word(text, names[i].name))
			mask |= names[i].bit;
	}
	return mask;
}

/* What the other side of XRC would need, and this one overlooks. */
static uint32_t overlooked(enum rvt_qp_type type)
{
	return type == RVT_QPT_XRC_INI ? RVT_QP_MAX_DEST_RD_ATOMIC | RVT_QP_MIN_RNR_TIMER
	       : type == RVT_QPT_XRC_TGT
		       ? RVT_QP_MAX_QP_RD_ATOMIC | RVT_QP_RETRY_CNT | RVT_QP_RNR_RETRY
		       : 0u;
}

static bool find_cell(unsigned type, enum rvt_qp_state from, enum rvt_qp_state to,
		      uint32_t *required, uint32_t *optional)
{
	*required = *optional = 0;
	if (to == RVT_QPS_RESET)
		return true;
	if (to == RVT_QPS_ERR)
		return from != RVT_QPS_RESET;
	for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (table[i].from != from || table[i].to != to ||
		    !has_word(table[i].types, type_names[type]))
			continue;
		*required = mask_of(table[i].required);
		*optional = mask_of(table[i].optional);
		return true;
	}
	return false;
}

static struct rvt_qp *qp_in(unsigned type, enum rvt_qp_state state)
{
	bool target = types[type] == RVT_QPT_XRC_TGT;
	struct rvt_qp_init init = { .type = types[type],
				    .send_cq = cq,
				    .recv_cq = cq,
				    .xrcd = xrcd,
				    .context = w.context,
				    .cap = { 4, 4, 1, 1, 0 } };
	struct rvt_qp *qp;

	assert_int_equal(rvt_create_qp(target ? NULL : w.pd, &init, &qp), 0);
	qp->state = state;
	qp->mtu = 256;
	return qp;
}

static struct rvt_qp_attr good(enum rvt_qp_state from, enum rvt_qp_state to)
{
	return (struct rvt_qp_attr){
		.qp_state = to,
		.cur_qp_state = from,
		.path_mtu = RVT_MTU_256,
		.port_num = 1,
		.qkey = 0x1234,
		.rq_psn = 0x1000005,
		.sq_psn = 0x2000006,
		.dest_qp_num = 0x123456,
		.qp_access_flags = RVT_ACCESS_REMOTE_READ,
		.ah_attr = { .is_global = true, .dgid = w.port.gids[0], .port_num = 1 },
		.timeout = 31,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.min_rnr_timer = 31,
		.max_rd_atomic = 1,
		.max_dest_rd_atomic = 1,
	};
}

/* One modify on a fresh queue pair; refused, nothing of it has changed. */
static void expect(unsigned type, enum rvt_qp_state from, enum rvt_qp_state to, uint32_t mask,
		   enum rvt_verdict verdict, uint32_t value)
{
	struct rvt_qp *qp = qp_in(type, from);
	struct rvt_qp_attr attr = good(from, to), before, after;
	int err;

	memset(&before, 0, sizeof(before));
	memset(&after, 0, sizeof(after));
	rvt_query_qp(qp, &before);
	w.cause = RVT_OK;
	err = rvt_modify_qp(qp, &attr, mask);
	if (verdict == RVT_OK) {
		if (err)
			fail_msg("%s %u to %u, mask 0x%x: %d, cause %u value 0x%llx",
				 type_names[type], from, to, mask, err, w.cause,
				 (unsigned long long)w.value1);
		assert_int_equal(qp->state, to);
	} else {
		rvt_query_qp(qp, &after);
		if (!err || w.cause != verdict || (value && w.value1 != value))
			fail_msg("%s %u to %u, mask 0x%x: %d, cause %u value 0x%llx, not %u 0x%x",
				 type_names[type], from, to, mask, err, w.cause,
				 (unsigned long long)w.value1, verdict, value);
		assert_int_equal(err, -rvt_verdict_row(verdict)->error);
		assert_memory_equal(&before, &after, sizeof(before));
	}
	assert_int_equal(rvt_destroy_qp(qp), 0);
}

static void every_bit(unsigned type, enum rvt_qp_state from, enum rvt_qp_state to,
		      uint32_t required, uint32_t optional)
{
	for (unsigned i = 0; i < BITS; i++) {
		uint32_t bit = 1u << i, whole = RVT_QP_STATE | required;

		if (bit == RVT_QP_STATE)
			continue;
		if (required & bit)
			expect(type, from, to, whole & ~bit, RVT_ATTRIBUTE_MISSING, bit);
		else if (overlooked(types[type]) & bit)
			expect(type, from, to, whole | bit, RVT_OK, 0);
		else if (bit == RVT_QP_ALT_PATH && optional & bit)
			expect(type, from, to, whole | bit, RVT_ATTRIBUTE_VALUE,
			       bit); /* InfiniBand's alone */
		else if (optional & bit)
			expect(type, from, to, whole | bit, RVT_OK, 0);
		else if ((1u << 21 | 1u << 22 | 1u << 23 | 1u << 24) & bit)
			expect(type, from, to, whole | bit, RVT_ATTRIBUTE_UNKNOWN, bit);
		else
			expect(type, from, to, whole | bit, RVT_ATTRIBUTE_FOREIGN, bit);
	}
}

static void the_whole_table(void **state)
{
	unsigned cells = 0;

	(void)state;
	for (unsigned type = 0; type < TYPES; type++) {
		for (enum rvt_qp_state from = RVT_QPS_RESET; from < RVT_QPS_COUNT; from++) {
			for (enum rvt_qp_state to = RVT_QPS_RESET; to < RVT_QPS_COUNT; to++) {
				uint32_t required, optional;

				if (!find_cell(type, from, to, &required, &optional)) {
					expect(type, from, to, RVT_QP_STATE, RVT_TRANSITION, 0);
					continue;
				}
				cells++;
				expect(type, from, to, RVT_QP_STATE | required, RVT_OK, 0);
				every_bit(type, from, to, required, optional);
			}
		}
	}
	/* Of each type: 7 to RESET, 6 to ERR, and nine of the table. */
	assert_int_equal(cells, TYPES * (7 + 6 + 9));
}

static void values_have_limits(void **state)
{
	static const struct {
		uint32_t bit;
		uint32_t value;
		bool allowed;
	} cases[] = {
		{ RVT_QP_TIMEOUT, 0, true },
		{ RVT_QP_TIMEOUT, 32, false },
		{ RVT_QP_RETRY_CNT, 0, true },
		{ RVT_QP_RETRY_CNT, 8, false },
		{ RVT_QP_RNR_RETRY, 0, true },
		{ RVT_QP_RNR_RETRY, 8, false },
		{ RVT_QP_MIN_RNR_TIMER, 0, true },
		{ RVT_QP_MIN_RNR_TIMER, 32, false },
		{ RVT_QP_PORT, 0, false },
		{ RVT_QP_PORT, 2, false },
		{ RVT_QP_PKEY_INDEX, 1, false },
		{ RVT_QP_MAX_QP_RD_ATOMIC, 0, true },
		{ RVT_QP_MAX_QP_RD_ATOMIC, 128, true },
		{ RVT_QP_MAX_QP_RD_ATOMIC, 129, false },
		{ RVT_QP_MAX_DEST_RD_ATOMIC, 129, false },
		{ RVT_QP_ACCESS_FLAGS, 1u << 15, false },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rvt_qp *qp = qp_in(0, RVT_QPS_SQD);
		struct rvt_qp_attr attr = good(RVT_QPS_SQD, RVT_QPS_SQD);
		int err;

		switch (cases[i].bit) {
		case RVT_QP_TIMEOUT:
			attr.timeout = (uint8_t)cases[i].value;
			break;
		case RVT_QP_RETRY_CNT:
			attr.retry_cnt = (uint8_t)cases[i].value;
			break;
		case RVT_QP_RNR_RETRY:
			attr.rnr_retry = (uint8_t)cases[i].value;
			break;
		case RVT_QP_MIN_RNR_TIMER:
			attr.min_rnr_timer = (uint8_t)cases[i].value;
			break;
		case RVT_QP_PORT:
			attr.port_num = (uint8_t)cases[i].value;
			break;
		case RVT_QP_PKEY_INDEX:
			attr.pkey_index = (uint16_t)cases[i].value;
			break;
		case RVT_QP_MAX_QP_RD_ATOMIC:
			attr.max_rd_atomic = (uint8_t)cases[i].value;
			break;
		case RVT_QP_MAX_DEST_RD_ATOMIC:
			attr.max_dest_rd_atomic = (uint8_t)cases[i].value;
			break;
		default:
			attr.qp_access_flags = cases[i].value;
			break;
		}
		err = rvt_modify_qp(qp, &attr, RVT_QP_STATE | cases[i].bit);
		if (cases[i].allowed)
			assert_int_equal(err, 0);
		else
			world_refused(err, RVT_ATTRIBUTE_VALUE);
		if (!cases[i].allowed)
			assert_int_equal(w.value1, cases[i].bit);
		assert_int_equal(rvt_destroy_qp(qp), 0);
	}
}

static void numbers_are_cut_to_24_bits(void **state)
{
	struct rvt_qp *qp = qp_in(0, RVT_QPS_INIT);
	struct rvt_qp_attr attr = good(RVT_QPS_INIT, RVT_QPS_RTR), now;

	(void)state;
	assert_int_equal(rvt_modify_qp(qp, &attr,
				       RVT_QP_STATE | RVT_QP_AV | RVT_QP_PATH_MTU |
					       RVT_QP_DEST_QPN | RVT_QP_RQ_PSN |
					       RVT_QP_MAX_DEST_RD_ATOMIC | RVT_QP_MIN_RNR_TIMER),
			 0);
	attr.qp_state = RVT_QPS_RTS;
	assert_int_equal(rvt_modify_qp(qp, &attr,
				       RVT_QP_STATE | RVT_QP_TIMEOUT | RVT_QP_RETRY_CNT |
					       RVT_QP_RNR_RETRY | RVT_QP_SQ_PSN |
					       RVT_QP_MAX_QP_RD_ATOMIC),
			 0);
	rvt_query_qp(qp, &now);
	assert_int_equal(now.rq_psn, 5);
	assert_int_equal(now.sq_psn, 6);
	assert_int_equal(now.dest_qp_num, 0x123456);
	assert_int_equal(now.timeout, 31);
	/* Where it says it is must be where it is. */
	attr.cur_qp_state = RVT_QPS_SQD;
	world_refused(rvt_modify_qp(qp, &attr, RVT_QP_STATE | RVT_QP_CUR_STATE),
		      RVT_ATTRIBUTE_VALUE);
	assert_int_equal(rvt_destroy_qp(qp), 0);
}

static void reset_forgets_everything(void **state)
{
	struct rvt_qp *qp = qp_in(0, RVT_QPS_RTS);
	struct rvt_qp_attr attr = good(RVT_QPS_RTS, RVT_QPS_RESET), now;

	(void)state;
	qp->attr = good(RVT_QPS_RTS, RVT_QPS_RTS);
	assert_int_equal(rvt_modify_qp(qp, &attr, RVT_QP_STATE), 0);
	rvt_query_qp(qp, &now);
	assert_int_equal(now.qp_state, RVT_QPS_RESET);
	assert_int_equal(now.dest_qp_num | now.timeout | now.qp_access_flags | now.rq_psn |
				 now.max_rd_atomic,
			 0);
	assert_int_equal(rvt_destroy_qp(qp), 0);
}

static int open_world(void **state)
{
	int err = world_open(state);

	if (!err)
		err = rvt_create_cq(w.context, 16, &cq);
	return err ? err : rvt_open_xrcd(w.context, NULL, true, false, &xrcd);
}

static int close_world(void **state)
{
	assert_int_equal(rvt_close_xrcd(xrcd), 0);
	assert_int_equal(rvt_destroy_cq(cq), 0);
	return world_close(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_whole_table),
		TEST(values_have_limits),
		TEST(numbers_are_cut_to_24_bits),
		TEST(reset_forgets_everything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
