/* SPDX-License-Identifier: Apache-2.0 */
/*
 * versions.c - the ways in which programs get at the library at run time, under `adverb run`
 *
 *   versions PATH    PATH: the library that must answer
 *
 * Not linked with the library: everything comes through dlopen(), dlsym() and dlvsym().
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *expected_file;
static int failures;

static void check(bool good, const char *what, const char *name)
{
	if (good)
		return;
	failures++;
	printf("not ok: %s: %s\n", name, what);
}

static bool is_ours(const void *address)
{
	char *file, *expected = realpath(expected_file, NULL);
	Dl_info info;
	bool same;

	if (!expected || !dladdr(address, &info))
		return false;
	file = realpath(info.dli_fname, NULL);
	same = file && !strcmp(file, expected);
	free(file);
	free(expected);
	return same;
}

static void *version(void *library, const char *name, const char *node)
{
	void *symbol = dlvsym(library, name, node);

	if (!symbol) {
		printf("not ok: %s@%s is missing\n", name, node);
		failures++;
	} else if (!is_ours(symbol)) {
		printf("not ok: %s@%s is another library's\n", name, node);
		failures++;
	}
	return symbol;
}

static void check_library(const char *name)
{
	static const struct {
		const char *name, *node;
	} present[] = {
		{ "ibv_get_device_list", "IBVERBS_1.1" },
		{ "ibv_get_device_list", "IBVERBS_1.0" },
		{ "ibv_create_qp", "IBVERBS_1.1" },
		{ "ibv_create_qp", "IBVERBS_1.0" },
		{ "ibv_create_comp_channel", "IBVERBS_1.0" },
		{ "ibv_reg_mr_iova2", "IBVERBS_1.8" },
		{ "ibv_query_ece", "IBVERBS_1.10" },
		{ "_ibv_query_gid_ex", "IBVERBS_1.11" },
		{ "ibv_reg_dmabuf_mr", "IBVERBS_1.12" },
		{ "ibv_query_qp_data_in_order", "IBVERBS_1.14" },
		{ "ibv_alloc_buf", "IBVERBS_1.17" },
		{ "ibv_create_comp_cntr", "IBVERBS_1.18" },
		{ "ibv_query_gid_type", "IBVERBS_PRIVATE_25" },
		{ "ibv_query_gid_type", "IBVERBS_PRIVATE_33" },
		{ "ibv_query_gid_type", "IBVERBS_PRIVATE_34" },
		{ "ibv_query_gid_type", "IBVERBS_PRIVATE_57" },
		{ "ibv_query_gid_type", "IBVERBS_PRIVATE_59" },
		{ "ibv_query_gid_type", "IBVERBS_PRIVATE_64" },
		{ "ibv_query_gid_type", "IBVERBS_PRIVATE_65" },
		{ "verbs_register_driver_34", "IBVERBS_PRIVATE_34" },
		{ "verbs_register_driver_65", "IBVERBS_PRIVATE_65" },
		{ "verbs_allow_disassociate_destroy", "IBVERBS_PRIVATE_34" },
	};
	void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	void *plain, *newest, *oldest;

	check(library != NULL, "cannot be opened", name);
	if (!library)
		return;
	for (size_t i = 0; i < sizeof(present) / sizeof(present[0]); i++)
		version(library, present[i].name, present[i].node);

	plain = dlsym(library, "ibv_create_qp");
	newest = dlvsym(library, "ibv_create_qp", "IBVERBS_1.1");
	oldest = dlvsym(library, "ibv_create_qp", "IBVERBS_1.0");
	check(plain == newest, "the default of ibv_create_qp is not 1.1", name);
	check(oldest != newest, "ibv_create_qp has one body for two interfaces", name);
	check(!dlvsym(library, "ibv_create_qp", "IBVERBS_1.5"), "has what never was", name);
	check(!dlclose(library), "cannot be closed", name);
}

/* Each way of saying no. */
static void check_stubs(void *library)
{
	void *(*pointer)(void *) =
		(void *(*)(void *))version(library, "ibv_alloc_pd", "IBVERBS_1.0");
	int (*code)(void *) =
		(int (*)(void *))version(library, "ibv_cmd_destroy_qp", "IBVERBS_PRIVATE_34");
	void (*nothing)(void *) = (void (*)(void *))version(library, "verbs_register_driver_34",
							    "IBVERBS_PRIVATE_34");
	int (*newer)(void *, void *) = (int (*)(void *, void *))version(
		library, "_ibv_query_comp_cntr_caps", "IBVERBS_1.18");

	if (pointer) {
		errno = 0;
		check(!pointer(NULL) && errno == EOPNOTSUPP, "not EOPNOTSUPP", "ibv_alloc_pd@1.0");
	}
	if (code)
		check(code(NULL) == EOPNOTSUPP, "not EOPNOTSUPP", "ibv_cmd_destroy_qp");
	if (nothing)
		nothing(NULL);
	if (newer)
		check(newer(NULL, NULL) == EOPNOTSUPP, "not EOPNOTSUPP",
		      "_ibv_query_comp_cntr_caps");
}

static void check_list(void *library)
{
	void **(*get)(int *) =
		(void **(*)(int *))version(library, "ibv_get_device_list", "IBVERBS_1.1");
	void (*release)(void **) =
		(void (*)(void **))version(library, "ibv_free_device_list", "IBVERBS_1.1");
	int count = -1, again = -1;
	void **first, **second;

	if (!get || !release)
		return;
	first = get(&count);
	second = get(&again);
	check(first && second, "no list", "ibv_get_device_list");
	if (first && second) {
		check(count == again && count >= 0, "the count changes", "ibv_get_device_list");
		check(count <= 0 || first[0] == second[0], "pointers change",
		      "ibv_get_device_list");
		check(!first[count], "no NULL at the end", "ibv_get_device_list");
		release(first);
		release(second);
	}
}

int main(int argc, char **argv)
{
	void *library;

	if (argc != 2)
		return 2;
	expected_file = argv[1];
	check_library("libibverbs.so"); /* first: some programs try it first */
	check_library("libibverbs.so.1");
	library = dlopen("libibverbs.so.1", RTLD_NOW);
	if (library) {
		check_stubs(library);
		check_list(library);
	}
	return failures ? 1 : 0;
}
