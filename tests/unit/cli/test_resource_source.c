/* SPDX-License-Identifier: Apache-2.0 */
/* test_resource_source.c - the list of clients, from a broker that is played here */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/resource_source.h"
#include "ipc/directory.h"
#include "ipc/messages.h"

static char directory[] = "/tmp/adverb-test-XXXXXX";
static struct ipc_paths paths;

static int setup(void **state)
{
	char why[256];

	(void)state;
	assert_non_null(mkdtemp(directory));
	assert_int_equal(setenv("ADVERB_RUNTIME_DIR", directory, 1), 0);
	assert_int_equal(ipc_paths_find(&paths, 1, why, sizeof(why)), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(paths.socket);
	return rmdir(directory);
}

static int make_ledger(void)
{
	struct ledger_identity identity = { .pid = 12, .comm = "prog" };
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *ledger;

	if (fd < 0 || ftruncate(fd, (off_t)ledger_size()) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK))
		abort();
	ledger = mmap(NULL, ledger_size(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ledger == MAP_FAILED || ledger_format(ledger, ledger_size(), &identity))
		abort();
	munmap(ledger, ledger_size());
	return fd;
}

struct broker {
	int listener;
	bool dies; /* in the middle of its answer */
};

static void answer(int fd, enum ipc_type type, uint32_t pid, const char *comm, int ledger)
{
	struct ipc_message m;

	ipc_message_init(&m, type);
	m.pid = pid;
	m.slot = 7;
	m.slots_used = 2;
	snprintf(m.comm, sizeof(m.comm), "%s", comm);
	if (ipc_send(fd, &m, &ledger, ledger >= 0))
		abort();
}

static void *play(void *argument)
{
	struct broker *broker = argument;
	int fds[IPC_MAX_FDS], fd = accept(broker->listener, NULL, NULL), ledger = make_ledger();
	struct ipc_message m;
	unsigned count;

	if (fd < 0 || ipc_receive(fd, &m, fds, &count) || m.type != IPC_LIST)
		abort();
	answer(fd, IPC_STATUS, 99, "", -1);
	answer(fd, IPC_CLIENT, 4012, "a\x1b[2Jb", ledger);
	if (!broker->dies) {
		answer(fd, IPC_CLIENT, 4013, "mute", -1);
		answer(fd, IPC_CLIENT, 4014, "liar", fd);
		answer(fd, IPC_END, 0, "", -1);
	}
	close(ledger);
	close(fd);
	return NULL;
}

static int ask(bool dies, struct resource_source *source)
{
	struct broker broker = { .listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0),
				 .dies = dies };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	pthread_t thread;
	int ret;

	unlink(paths.socket);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", paths.socket);
	assert_int_equal(bind(broker.listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(broker.listener, 1), 0);
	assert_int_equal(pthread_create(&thread, NULL, play, &broker), 0);
	ret = resource_source_open(source);
	pthread_join(thread, NULL);
	close(broker.listener);
	return ret;
}

static void test_list(void **state)
{
	struct resource_source source;

	(void)state;
	assert_int_equal(ask(false, &source), 0);
	assert_int_equal(source.broker_pid, 99);
	assert_int_equal(source.slots_used, 2);
	assert_int_equal(source.count, 3);
	assert_int_equal(source.clients[0].pid, 4012);
	assert_int_equal(source.clients[0].slot, 7);
	assert_string_equal(source.clients[0].comm, "a?[2Jb");
	assert_true(source.clients[0].has_ledger);
	assert_int_equal(source.clients[0].reader.header.pid, 12);
	assert_string_equal(source.clients[1].comm, "mute");
	assert_false(source.clients[1].has_ledger);
	assert_false(source.clients[2].has_ledger);
	resource_source_close(&source);
}

static void test_nobody(void **state)
{
	struct resource_source source;

	(void)state;
	assert_int_equal(ask(true, &source), -ENOENT);
	assert_int_equal(source.count, 0);
	/* The socket's file is there, nobody listens. */
	assert_int_equal(resource_source_open(&source), -ENOENT);
	unlink(paths.socket);
	assert_int_equal(resource_source_open(&source), -ENOENT);
	assert_int_equal(source.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_nobody),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
