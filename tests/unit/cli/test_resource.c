/* SPDX-License-Identifier: Apache-2.0 */
/* test_resource.c - what `adverb resource` and `adverb status` print of hand-made ledgers */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cli/cli.h"
#include "cli/resource.h"
#include "cli/status.h"

/* In the program these come from other files. */
static char complaint[256];

void complain(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(complaint, sizeof(complaint), format, arguments);
	va_end(arguments);
}

int resource_source_open(struct resource_source *source)
{
	(void)source;
	return 0;
}

void resource_source_close(struct resource_source *source)
{
	(void)source;
}

static void *allocate(void *context, size_t size)
{
	(void)context;
	return calloc(1, size);
}

static void release(void *context, void *memory)
{
	(void)context;
	free(memory);
}

static const struct allocator heap = { .allocate = allocate, .release = release };

static void *make_ledger(uint32_t pid, const char *comm)
{
	struct ledger_identity identity = { .pid = pid, .slot = 4, .comm = comm };
	void *ledger = mmap(NULL, ledger_size(), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_ptr_not_equal(ledger, MAP_FAILED);
	assert_int_equal(ledger_format(ledger, ledger_size(), &identity), 0);
	return ledger;
}

/* Client 0 has one of everything on adverb_lo; client 1 a UD queue pair on adverb_eth0. */
struct world {
	struct restrack_root roots[2];
	struct restrack_entry context, pd, cq, mr, srq, qps[3], other_context, other_pd, ud, gsi;
	struct resource_client clients[3];
	struct resource_source source;
};

static void add(struct world *w, int root, struct restrack_entry *entry, enum restrack_type type,
		const struct restrack_entry *parent, uint32_t id)
{
	restrack_new(entry, type);
	if (parent)
		restrack_parent_name(entry, parent);
	assert_int_equal(restrack_take_id(&w->roots[root], entry, id), 0);
}

static void publish(struct world *w, int root, struct restrack_entry *entry)
{
	assert_int_equal(restrack_add(&w->roots[root], entry), 0);
}

static void add_first(struct world *w)
{
	add(w, 0, &w->context, RESTRACK_CTX, NULL, 25);
	publish(w, 0, &w->context);
	add(w, 0, &w->pd, RESTRACK_PD, &w->context, 7);
	restrack_set(&w->pd, RESTRACK_PD_USERS, 2);
	publish(w, 0, &w->pd);
	add(w, 0, &w->cq, RESTRACK_CQ, &w->context, 17);
	restrack_set(&w->cq, RESTRACK_CQ_CQE, 511);
	restrack_set(&w->cq, RESTRACK_CQ_USERS, 2);
	publish(w, 0, &w->cq);
	add(w, 0, &w->mr, RESTRACK_MR, &w->pd, 18);
	restrack_set(&w->mr, RESTRACK_MR_RKEY, 0x14ad);
	restrack_set(&w->mr, RESTRACK_MR_LKEY, 0x14ad);
	restrack_set(&w->mr, RESTRACK_MR_LENGTH, 0xfffffffffffffff1);
	restrack_set(&w->mr, RESTRACK_MR_PDN, 7);
	publish(w, 0, &w->mr);
	add(w, 0, &w->srq, RESTRACK_SRQ, &w->pd, 2);
	restrack_set(&w->srq, RESTRACK_SRQ_PDN, 7);
	publish(w, 0, &w->srq);
	for (uint32_t i = 0; i < 3; i++) {
		static const uint32_t numbers[] = { 63, 64, 70 };

		add(w, 0, &w->qps[i], RESTRACK_QP, &w->pd, numbers[i]);
		restrack_set(&w->qps[i], RESTRACK_QP_TYPE, 2);
		restrack_set(&w->qps[i], RESTRACK_QP_STATE, 3 + i);
		restrack_set(&w->qps[i], RESTRACK_QP_RQPN, 90 + i);
		restrack_set(&w->qps[i], RESTRACK_QP_RQ_PSN, 318016);
		restrack_set(&w->qps[i], RESTRACK_QP_SQ_PSN, 6938534);
		restrack_set(&w->qps[i], RESTRACK_QP_PDN, 7);
		restrack_set(&w->qps[i], RESTRACK_QP_SRQN, 2);
		publish(w, 0, &w->qps[i]);
	}
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	void *ledgers[2] = { make_ledger(328, "ibv_rc_pingpong"), make_ledger(9, "other") };

	for (int i = 0; i < 2; i++)
		assert_int_equal(restrack_init(&w->roots[i], &heap, ledgers[i]), 0);
	ledger_set_port(ledgers[0], 0, "adverb_lo", "lo", 1, 0, true);
	ledger_set_port(ledgers[1], 0, "adverb_eth0", "eth0", 2, 0, false);
	ledger_set_port(ledgers[1], 3, "adverb_lo", "lo", 1, 0, true);
	for (int i = 0; i < 2; i++) {
		ledger_name_counter(ledgers[i], 0, "sent_pkts");
		ledger_name_counter(ledgers[i], 1, "rcvd_pkts");
		ledger_counters(ledgers[i])[0] = 10;
	}
	add_first(w);
	add(w, 1, &w->other_context, RESTRACK_CTX, NULL, 1);
	publish(w, 1, &w->other_context);
	add(w, 1, &w->other_pd, RESTRACK_PD, &w->other_context, 1);
	publish(w, 1, &w->other_pd);
	add(w, 1, &w->ud, RESTRACK_QP, &w->other_pd, 100);
	restrack_set(&w->ud, RESTRACK_QP_TYPE, 4);
	restrack_set(&w->ud, RESTRACK_QP_PDN, 1);
	publish(w, 1, &w->ud);
	restrack_new(&w->gsi, RESTRACK_QP);
	restrack_set_name(&w->gsi, "gsi");
	restrack_set_port(&w->gsi, 3);
	assert_int_equal(restrack_take_id(&w->roots[1], &w->gsi, 1), 0);
	restrack_set(&w->gsi, RESTRACK_QP_TYPE, 4);
	restrack_set(&w->gsi, RESTRACK_QP_STATE, 3);
	publish(w, 1, &w->gsi);

	for (uint32_t i = 0; i < 2; i++) {
		w->clients[i].has_ledger = true;
		w->clients[i].slot = 3 + i;
		w->clients[i].mapping = ledgers[i];
		assert_int_equal(
			ledger_reader_open(&w->clients[i].reader, ledgers[i], ledger_size()), 0);
	}
	w->clients[0].pid = 328;
	strcpy(w->clients[0].comm, "ibv_rc_pingpong");
	/* In a container, where it calls itself 9. */
	w->clients[1].pid = 4009;
	strcpy(w->clients[1].comm, "other");
	w->clients[2].pid = 5;
	strcpy(w->clients[2].comm, "mute");
	w->source = (struct resource_source){
		.broker_pid = 99, .slots = 64, .slots_used = 3, .clients = w->clients, .count = 3
	};
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	for (int i = 0; i < 2; i++) {
		restrack_clean(&w->roots[i]);
		munmap(w->clients[i].mapping, ledger_size());
	}
	free(w);
	return 0;
}

static char output[8192];

static int run(struct world *w, const char *words)
{
	struct resource_options options;
	char copy[256], *argv[16];
	int argc = 0, ret;
	FILE *out;

	snprintf(copy, sizeof(copy), "%s", words);
	for (char *word = strtok(copy, " "); word && argc < 16; word = strtok(NULL, " "))
		argv[argc++] = word;
	complaint[0] = 0;
	memset(output, 0, sizeof(output));
	argc = resource_take_options(argc, argv, &options);
	if (argc < 0)
		return EXIT_USAGE;
	out = fmemopen(output, sizeof(output), "w");
	assert_non_null(out);
	ret = resource_print(out, &w->source, argc, argv, &options);
	fclose(out);
	return ret;
}

static void expect(void **state, const char *words, const char *text)
{
	assert_int_equal(run(*state, words), EXIT_DONE);
	assert_string_equal(output, text);
}

static void test_summary(void **state)
{
	const char *both = "0: adverb_lo: pd 1 cq 1 qp 4 cm_id 0 mr 1 ctx 1 srq 1 \n"
			   "1: adverb_eth0: pd 1 cq 0 qp 1 cm_id 0 mr 0 ctx 1 srq 0 \n";

	expect(state, "", both);
	expect(state, "show", both);
	expect(state, "show adverb_eth0",
	       "1: adverb_eth0: pd 1 cq 0 qp 1 cm_id 0 mr 0 ctx 1 srq 0 \n");
	expect(state, "show adverb_lo -j",
	       "[{\"ifindex\":0,\"ifname\":\"adverb_lo\",\"pd\":1,\"cq\":1,\"qp\":4,\"cm_id\":0,"
	       "\"mr\":1,\"ctx\":1,\"srq\":1}]\n");
}

static void test_types(void **state)
{
	expect(state, "show qp",
	       "link adverb_lo/1 lqpn 1 type GSI state RTS sq-psn 0 comm [gsi] \n"
	       "link adverb_lo/1 lqpn 63 rqpn 90 type RC state RTS rq-psn 318016 sq-psn 6938534 "
	       "path-mig-state MIGRATED pdn 7 pid 328 comm ibv_rc_pingpong \n"
	       "link adverb_lo/1 lqpn 64 rqpn 91 type RC state SQD rq-psn 318016 sq-psn 6938534 "
	       "path-mig-state MIGRATED pdn 7 pid 328 comm ibv_rc_pingpong \n"
	       "link adverb_lo/1 lqpn 70 rqpn 92 type RC state SQE rq-psn 318016 sq-psn 6938534 "
	       "path-mig-state MIGRATED pdn 7 pid 328 comm ibv_rc_pingpong \n"
	       "link adverb_eth0/1 lqpn 100 type UD state RESET sq-psn 0 pdn 1 pid 4009 comm other \n");
	expect(state, "show cq",
	       "dev adverb_lo cqn 17 cqe 511 users 2 adaptive-moderation off ctxn 25 pid 328 comm "
	       "ibv_rc_pingpong \n");
	expect(state, "show mr",
	       "dev adverb_lo mrn 18 rkey 0x14ad lkey 0x14ad mrlen 18446744073709551601 pdn 7 pid 328 "
	       "comm ibv_rc_pingpong \n");
	expect(state, "show pd dev adverb_lo",
	       "dev adverb_lo pdn 7 local_dma_lkey 0x0 users 2 ctxn 25 pid 328 comm "
	       "ibv_rc_pingpong \n");
	expect(state, "show ctx pid 328", "dev adverb_lo ctxn 25 pid 328 comm ibv_rc_pingpong \n");
	expect(state, "show srq",
	       "dev adverb_lo srqn 2 type BASIC lqpn 63-64,70 pdn 7 pid 328 comm ibv_rc_pingpong \n");
	expect(state, "show cm_id", "");
}

static void test_json(void **state)
{
	expect(state, "show qp lqpn 63 -j",
	       "[{\"ifindex\":0,\"ifname\":\"adverb_lo\",\"port\":1,\"lqpn\":63,\"rqpn\":90,"
	       "\"type\":\"RC\",\"state\":\"RTS\",\"rq-psn\":318016,\"sq-psn\":6938534,"
	       "\"path-mig-state\":\"MIGRATED\",\"pdn\":7,\"pid\":328,"
	       "\"comm\":\"ibv_rc_pingpong\"}]\n");
	expect(state, "-j show mr",
	       "[{\"ifindex\":0,\"ifname\":\"adverb_lo\",\"mrn\":18,\"rkey\":\"14ad\","
	       "\"lkey\":\"14ad\",\"mrlen\":18446744073709551601,\"pdn\":7,\"pid\":328,"
	       "\"comm\":\"ibv_rc_pingpong\"}]\n");
	expect(state, "show srq --json",
	       "[{\"ifindex\":0,\"ifname\":\"adverb_lo\",\"srqn\":2,\"type\":\"BASIC\","
	       "\"lqpn\":[\"63-64\",\"70\"],\"pdn\":7,\"pid\":328,\"comm\":\"ibv_rc_pingpong\"}]\n");
	expect(state, "show cm_id -j", "[]\n");
	expect(state, "show cq -jp",
	       "[{\n\t\t\"ifindex\":\t0,\n\t\t\"ifname\":\t\"adverb_lo\",\n\t\t\"cqn\":\t17,\n"
	       "\t\t\"cqe\":\t511,\n\t\t\"users\":\t2,\n\t\t\"adaptive-moderation\":\tfalse,\n"
	       "\t\t\"ctxn\":\t25,\n\t\t\"pid\":\t328,\n\t\t\"comm\":\t\"ibv_rc_pingpong\"\n\t}]\n");
}

static void test_details(void **state)
{
	assert_int_equal(run(*state, "show qp lqpn 63 -d"), EXIT_DONE);
	assert_non_null(strstr(output, "\n    drv_send-cqn 0 drv_recv-cqn 0 drv_srqn 2 "));
	assert_int_equal(run(*state, "show mr -dj"), EXIT_DONE);
	assert_non_null(strstr(output, "\"drv_iova\":\"0\""));
}

static unsigned lines(void **state, const char *words)
{
	unsigned count = 0;

	assert_int_equal(run(*state, words), EXIT_DONE);
	for (const char *at = output; *at; at++)
		count += *at == '\n';
	return count;
}

static void test_filters(void **state)
{
	assert_int_equal(lines(state, "show qp lqpn 63,70"), 2);
	assert_int_equal(lines(state, "show qp lqpn 60-99"), 3);
	assert_int_equal(lines(state, "show qp lqpn 1,60-64 pid 328"), 2);
	assert_int_equal(lines(state, "show qp state rts,sqd"), 3);
	assert_int_equal(lines(state, "show qp state rt"), 0);
	assert_int_equal(lines(state, "show qp rqpn 0-1000"), 3);
	assert_int_equal(lines(state, "show qp type UD link adverb_eth0/1"), 1);
	assert_int_equal(lines(state, "show qp type UD link adverb_lo"), 0);
	assert_int_equal(lines(state, "show srq lqpn 64"), 1);
	assert_int_equal(lines(state, "show srq lqpn 65-69"), 0);
	assert_int_equal(lines(state, "show mr rkey 0x14ad"), 1);
	assert_int_equal(lines(state, "show mr rkey 14ad"), 1);
	assert_int_equal(lines(state, "show mr rkey 14"), 0);
}

static void test_usage(void **state)
{
	static const char *const wrong[] = {
		"show qp lqpn",	     "show qp lqpn x",	      "show qp lqpn 5-",
		"show qp lqpn 5,,6", "show qp lqpn 6-5",      "show qp lqpn 5,",
		"show qp mrn 5",     "show qp dev adverb_lo", "show mr link a/1",
		"show qp link a/2",  "show nothing at all",   "show -x",
		"show qp --nothing", "show qp | 1",	      "show -",
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(run(*state, wrong[i]), EXIT_USAGE);
		assert_string_not_equal(complaint, "");
		assert_string_equal(output, "");
	}
}

static void test_hidden_while_deleted(void **state)
{
	struct world *w = *state;

	assert_int_equal(restrack_begin_del(&w->mr), 0);
	expect(state, "show mr", "");
	restrack_abort_del(&w->mr);
	assert_int_equal(lines(state, "show mr"), 1);
}

static void test_nobody(void **state)
{
	struct world none = { .source = { .count = 0 } };

	(void)state;
	assert_int_equal(run(&none, "show"), EXIT_DONE);
	assert_string_equal(output, "");
	assert_int_equal(run(&none, "show qp -j"), EXIT_DONE);
	assert_string_equal(output, "[]\n");
}

static void print_status(struct world *w, const struct resource_options *options)
{
	struct resource_set set;
	FILE *out;

	memset(output, 0, sizeof(output));
	out = fmemopen(output, sizeof(output), "w");
	assert_non_null(out);
	if (w) {
		assert_int_equal(resource_collect(&set, &w->source), 0);
		assert_true(status_print(out, &set, options));
		resource_release(&set);
	} else {
		assert_true(status_print_nothing(out, options));
	}
	fclose(out);
}

static void test_status(void **state)
{
	struct resource_options options = { 0 };

	print_status(*state, &options);
	assert_string_equal(output, "broker pid 99 slots 3 of 64 in use\n"
				    "clients 3\n"
				    "  pid 328 comm ibv_rc_pingpong slot 3 qp 3 mr 1 cq 1\n"
				    "  pid 4009 comm other slot 4 qp 2 mr 0 cq 0\n"
				    "  pid 5 comm mute slot 0 (its ledger cannot be read)\n"
				    "devices 2\n"
				    "  adverb_lo netdev lo state ACTIVE qp 4\n"
				    "  adverb_eth0 netdev eth0 state DOWN qp 1\n"
				    "counters\n"
				    "  sent_pkts 20\n");
	options.details = true;
	print_status(*state, &options);
	assert_non_null(strstr(output, "cq 1\n    sent_pkts 10\n"));
	print_status(NULL, &options);
	assert_non_null(strstr(output, "no broker is running"));
}

static void test_status_json(void **state)
{
	struct resource_options options = { .json = true };
	cJSON *json;

	print_status(*state, &options);
	json = cJSON_Parse(output);
	assert_non_null(json);
	assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(json, "clients")), 3);
	assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(json, "devices")), 2);
	assert_int_equal(
		cJSON_GetObjectItem(cJSON_GetObjectItem(json, "counters"), "sent_pkts")->valueint,
		20);
	cJSON_Delete(json);
	print_status(NULL, &options);
	assert_string_equal(output,
			    "{\"broker\":null,\"clients\":[],\"devices\":[],\"counters\":{}}\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_summary),
		TEST(test_types),
		TEST(test_json),
		TEST(test_details),
		TEST(test_filters),
		TEST(test_usage),
		TEST(test_hidden_while_deleted),
		cmocka_unit_test(test_nobody),
		TEST(test_status),
		TEST(test_status_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
