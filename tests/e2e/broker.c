/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker.c - clients of the broker that do nothing but that: e2e-broker SCENARIO
 *
 * Prints one line, "ok", "skip - why" or "not ok - why". Needs a network namespace of its own and
 * ADVERB_BROKER.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ipc/client.h"
#include "ipc/directory.h"
#include "ipc/messages.h"
#include "ipc/slots.h"

static char why[256];

_Noreturn __attribute__((format(printf, 1, 2))) static void fail(const char *format, ...)
{
	va_list arguments;

	printf("not ok - ");
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	printf("\n");
	fflush(stdout);
	_exit(1);
}

#define CHECK(condition, ...) \
 do {                         \
  if (!(condition))           \
   fail(__VA_ARGS__);         \
 } while (0)

static void pause_ms(long ms)
{
	poll(NULL, 0, (int)ms);
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int new_ledger(int seals)
{
	int fd = memfd_create("ledger", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	CHECK(fd >= 0 && !ftruncate(fd, 4096) && !fcntl(fd, F_ADD_SEALS, seals), "no memfd");
	return fd;
}

static struct ipc_hello hello_of(int ledger)
{
	return (struct ipc_hello){ .ledger = ledger };
}

static void connect_to(struct ipc_connection *c)
{
	struct ipc_hello hello = hello_of(new_ledger(F_SEAL_SHRINK | F_SEAL_GROW));
	int err = ipc_broker_connect(c, &hello, why, sizeof(why));

	CHECK(!err, "connect: %d %s", err, why);
	CHECK(c->slot >= SLOT_FIRST && c->slot <= SLOT_LAST, "slot %u", c->slot);
	close(hello.ledger);
}

static void reconnect(struct ipc_connection *c)
{
	struct ipc_hello hello = hello_of(new_ledger(F_SEAL_SHRINK | F_SEAL_GROW));
	uint32_t slot = c->slot;
	int err = ipc_broker_reconnect(c, &hello, why, sizeof(why));

	CHECK(!err, "reconnect: %d %s", err, why);
	CHECK(c->slot == slot, "the slot was %u and is %u", slot, c->slot);
	close(hello.ledger);
}

static struct ipc_status last;
static unsigned listed;
static uint32_t listed_pids[512];

static void on_status(void *context, const struct ipc_status *status)
{
	(void)context;
	last = *status;
	listed = 0;
}

static void on_client(void *context, const struct ipc_client_info *info)
{
	(void)context;
	CHECK(info->ledger >= 0, "client %u has no ledger", info->pid);
	CHECK((fcntl(info->ledger, F_GETFL) & O_ACCMODE) == O_RDONLY, "a ledger is writable");
	if (listed < 512)
		listed_pids[listed++] = info->pid;
}

static int list(void)
{
	return ipc_broker_list(on_status, on_client, NULL);
}

static bool is_listed(pid_t pid)
{
	for (unsigned i = 0; i < listed; i++) {
		if (listed_pids[i] == (uint32_t)pid)
			return true;
	}
	return false;
}

/* A socket for packets to port 4791. */
static int sender(void)
{
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0), off = 0;

	CHECK(fd >= 0 && !setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)), "socket");
	return fd;
}

static int send_to(int fd, const char *address, uint32_t qpn, uint32_t value)
{
	struct sockaddr_in6 to = { .sin6_family = AF_INET6, .sin6_port = htons(4791) };
	uint8_t packet[20] = { 0x64, 0, 0xff, 0xff };

	packet[5] = (uint8_t)(qpn >> 16);
	packet[6] = (uint8_t)(qpn >> 8);
	packet[7] = (uint8_t)qpn;
	memcpy(packet + 12, &value, sizeof(value));
	inet_pton(AF_INET6, address, &to.sin6_addr);
	return sendto(fd, packet, sizeof(packet), 0, (struct sockaddr *)&to, sizeof(to)) ==
	       sizeof(packet);
}

static int64_t receive(int socket)
{
	uint8_t packet[64];
	struct pollfd p = { .fd = socket, .events = POLLIN };
	uint32_t value;

	if (poll(&p, 1, 1000) != 1 || recv(socket, packet, sizeof(packet), 0) != 20)
		return -1;
	memcpy(&value, packet + 12, sizeof(value));
	return value;
}

/* What is sent to a client's slot, and only that, arrives. */
static void check_traffic(const struct ipc_connection *c, uint32_t value)
{
	int fd = sender();
	uint32_t qpn = c->slot << SLOT_SHIFT;

	CHECK(send_to(fd, "::ffff:127.0.0.1", qpn, value), "sending");
	CHECK(send_to(fd, "::ffff:127.0.0.1", qpn ^ 1u << SLOT_SHIFT, 0), "sending");
	CHECK(send_to(fd, "::1", qpn | 0x1ffff, value + 1), "sending");
	CHECK(send_to(fd, "::ffff:127.0.0.1", 0xffffff, 0), "sending");
	CHECK(receive(c->socket) == value, "IPv4 does not arrive");
	CHECK(receive(c->socket) == value + 1, "IPv6 does not arrive");
	CHECK(recv(c->socket, &value, 4, MSG_DONTWAIT) < 0, "somebody else's packet arrived");
	close(fd);
}

/* An IPv4 packet tells where it was sent to as a mapped address, without IP_PKTINFO. */
static void check_destination(const struct ipc_connection *c)
{
	char byte, control[256];
	struct iovec iov = { &byte, 1 };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	struct pollfd p = { .fd = c->socket, .events = POLLIN };
	char text[INET6_ADDRSTRLEN] = "nothing";
	int fd = sender();

	CHECK(send_to(fd, "::ffff:127.0.0.77", c->slot << SLOT_SHIFT, 0), "sending");
	close(fd);
	CHECK(poll(&p, 1, 1000) == 1 && recvmsg(c->socket, &m, 0) == 1, "it does not arrive");
	for (struct cmsghdr *h = CMSG_FIRSTHDR(&m); h; h = CMSG_NXTHDR(&m, h)) {
		if (h->cmsg_level == IPPROTO_IPV6 && h->cmsg_type == IPV6_PKTINFO)
			inet_ntop(AF_INET6, CMSG_DATA(h), text, sizeof(text));
	}
	CHECK(!strcmp(text, "::ffff:127.0.0.77"), "sent to %s", text);
}

/* A child, which writes a word when it is ready. It ends with us. */
static pid_t spawn(void (*child)(int ready), uint32_t *word)
{
	int pipes[2];
	pid_t pid;

	CHECK(!pipe(pipes), "pipe");
	fflush(stdout);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(pipes[0]);
		child(pipes[1]);
		_exit(0);
	}
	close(pipes[1]);
	CHECK(read(pipes[0], word, sizeof(*word)) == sizeof(*word), "a child did not start");
	close(pipes[0]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void tell(int fd, uint32_t word)
{
	CHECK(write(fd, &word, sizeof(word)) == sizeof(word), "a pipe broke");
}

/* A client that comes back to every new broker. */
static void faithful(int ready)
{
	struct ipc_connection c;

	connect_to(&c);
	tell(ready, c.slot);
	for (;;) {
		struct pollfd p = { .fd = c.fd, .events = POLLIN };

		poll(&p, 1, -1);
		if (!ipc_broker_alive(&c))
			reconnect(&c);
	}
}

/* One that does not. */
static void idle(int ready)
{
	struct ipc_connection c;

	connect_to(&c);
	tell(ready, c.slot);
	for (;;)
		pause();
}

/* Also when nobody has waited for it yet. */
static bool is_dead(uint32_t pid)
{
	char path[32], program[8];

	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	return readlink(path, program, sizeof(program)) < 0 && errno == ENOENT;
}

static void kill_broker(void)
{
	CHECK(!list(), "no broker to kill");
	CHECK(!kill((pid_t)last.pid, SIGKILL), "cannot kill the broker");
	for (int i = 0; i < 200 && !is_dead(last.pid); i++)
		pause_ms(10);
}

static atomic_int signals;

static void count_signal(int number)
{
	(void)number;
	atomic_fetch_add(&signals, 1);
}

static void scenario_start(void)
{
	struct ipc_connection c;
	int fds[4];

	signal(SIGCHLD, count_signal);
	CHECK(list() == -ENOENT, "a broker was there before");
	connect_to(&c);
	check_traffic(&c, 7);
	check_destination(&c);
	fds[0] = c.fd;
	fds[1] = c.socket;
	fds[2] = c.parking;
	fds[3] = c.lock;
	for (int i = 0; i < 4; i++) {
		CHECK(fds[i] >= 64, "descriptor %d is a low number", fds[i]);
		CHECK(fcntl(fds[i], F_GETFD) & FD_CLOEXEC, "descriptor %d stays open", fds[i]);
	}
	pause_ms(100);
	CHECK(!signals, "the program got SIGCHLD");
	CHECK(waitpid(-1, NULL, WNOHANG | __WALL) < 0 && errno == ECHILD, "there is a child");
	CHECK(ipc_broker_alive(&c), "the broker is gone");
	CHECK(!list() && last.clients == 1 && last.slots_used == 1 && is_listed(getpid()),
	      "listed: %u clients, %u slots", last.clients, last.slots_used);
	ipc_disconnect(&c);
}

static void scenario_two(void)
{
	struct ipc_connection c;
	uint32_t slot;
	pid_t pid;

	connect_to(&c);
	pid = spawn(idle, &slot);
	CHECK(slot != c.slot, "both have slot %u", slot);
	check_traffic(&c, 1);
	CHECK(!list() && last.clients == 2 && is_listed(pid), "not both are listed");
	end(pid);
}

static void scenario_race(void)
{
	enum {
		COUNT = 100
	};
	int gate[2], answers[2];
	bool seen[SLOT_COUNT] = { false };

	CHECK(!pipe(gate) && !pipe(answers), "pipe");
	for (int i = 0; i < COUNT; i++) {
		if (!fork()) {
			struct ipc_connection c;
			char byte;

			prctl(PR_SET_PDEATHSIG, SIGKILL);
			close(gate[1]);
			if (read(gate[0], &byte, 1) == 0) {
				connect_to(&c);
				tell(answers[1], c.slot);
			}
			for (;;)
				pause();
		}
	}
	close(gate[1]);
	close(answers[1]);
	for (int i = 0; i < COUNT; i++) {
		struct pollfd p = { .fd = answers[0], .events = POLLIN };
		uint32_t slot;

		CHECK(poll(&p, 1, 10000) == 1 && read(answers[0], &slot, 4) == 4,
		      "only %d have a slot", i);
		CHECK(slot < SLOT_COUNT && !seen[slot], "slot %u twice", slot);
		seen[slot] = true;
	}
	CHECK(!list() && last.clients == COUNT && last.slots_used == COUNT,
	      "%u clients, %u slots are listed", last.clients, last.slots_used);
}

static void scenario_taken(void)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_port = htons(4791) };
	struct ipc_hello hello = hello_of(new_ledger(F_SEAL_SHRINK | F_SEAL_GROW));
	struct ipc_connection c;
	int fd = sender(), err;
	int64_t begin = now_ms();
	char pid[16];

	CHECK(!bind(fd, (struct sockaddr *)&any, sizeof(any)), "bind: %s", strerror(errno));
	err = ipc_broker_connect(&c, &hello, why, sizeof(why));
	CHECK(err == -EADDRINUSE, "%d %s", err, why);
	snprintf(pid, sizeof(pid), " %d ", getpid());
	CHECK(strstr(why, "4791") && strstr(why, pid), "it does not say who: %s", why);
	CHECK(now_ms() - begin < 2000, "it takes %d ms", (int)(now_ms() - begin));
	CHECK(c.fd < 0 && c.socket < 0, "something is open");
}

static void scenario_modes(void)
{
	struct ipc_hello hello = hello_of(new_ledger(F_SEAL_SHRINK | F_SEAL_GROW));
	char directory[] = "/tmp/adverb-test-XXXXXX", path[64], link[64];
	struct ipc_connection c;
	int err[3];

	CHECK(mkdtemp(directory), "mkdtemp");
	snprintf(path, sizeof(path), "%s/open", directory);
	snprintf(link, sizeof(link), "%s/link", directory);
	CHECK(!mkdir(path, 0755) && !chmod(path, 0755) && !symlink(directory, link), "mkdir");
	setenv("ADVERB_RUNTIME_DIR", path, 1);
	err[0] = ipc_broker_connect(&c, &hello, why, sizeof(why));
	setenv("ADVERB_RUNTIME_DIR", link, 1);
	err[1] = ipc_broker_connect(&c, &hello, why, sizeof(why));
	CHECK(geteuid() || (!chmod(path, 0700) && !chown(path, 65534, 65534)), "chown");
	setenv("ADVERB_RUNTIME_DIR", geteuid() ? "/" : path, 1);
	err[2] = ipc_broker_connect(&c, &hello, why, sizeof(why));
	unlink(link);
	rmdir(path);
	rmdir(directory);
	CHECK(err[0] == -EPERM, "mode 0755: %d", err[0]);
	CHECK(err[1] == -EPERM, "a link: %d", err[1]);
	CHECK(err[2] == -EPERM, "somebody else's: %d", err[2]);
}

/* Numbered packets to a slot, all the while. */
struct stream {
	uint32_t qpn;
	int socket;
	atomic_uint sent, received; /* received in order, until one is missing */
	atomic_bool stop;
};

static void *stream_main(void *argument)
{
	struct stream *s = argument;
	int fd = sender();

	while (!s->stop) {
		if (send_to(fd, "::ffff:127.0.0.1", s->qpn, s->sent))
			atomic_fetch_add(&s->sent, 1);
		usleep(200);
	}
	close(fd);
	return NULL;
}

static void *sink_main(void *argument)
{
	struct stream *s = argument;

	while (receive(s->socket) == s->received)
		atomic_fetch_add(&s->received, 1);
	return NULL;
}

static void scenario_broker_dies(void)
{
	struct ipc_connection c, joined;
	struct stream stream = { 0 };
	uint32_t slot, first_broker;
	pthread_t thread, sink;
	pid_t pid;

	connect_to(&c);
	pid = spawn(faithful, &slot);
	stream.qpn = c.slot << SLOT_SHIFT | 5;
	stream.socket = c.socket;
	CHECK(!pthread_create(&thread, NULL, stream_main, &stream) &&
		      !pthread_create(&sink, NULL, sink_main, &stream),
	      "thread");
	for (int round = 0; round < 5; round++) {
		pause_ms(50);
		kill_broker();
		first_broker = last.pid;
		/* Without any broker too. */
		pause_ms(50);
		reconnect(&c);
		CHECK(!list() && last.pid != first_broker, "it is the same broker");
		for (int i = 0; i < 50 && !is_listed(pid); i++) {
			pause_ms(50);
			CHECK(!list(), "the new broker is gone");
		}
		CHECK(is_listed(pid), "the other did not come back");
		connect_to(&joined);
		CHECK(joined.slot != c.slot && joined.slot != slot, "a slot in use was given");
		check_traffic(&joined, 100);
		ipc_disconnect(&joined);
	}
	stream.stop = true;
	pthread_join(thread, NULL);
	pthread_join(sink, NULL);
	CHECK(stream.received == stream.sent, "packet %u of %u is lost", stream.received,
	      stream.sent);
	CHECK(stream.sent > 500, "only %u packets", stream.sent);
	end(pid);
}

static void scenario_new_client_first(void)
{
	struct ipc_connection joined;
	uint32_t slot;
	pid_t pid = spawn(faithful, &slot);

	/* The newcomer starts the broker, which has no sockets until the other comes. */
	kill(pid, SIGSTOP);
	kill_broker();
	if (!fork()) {
		pause_ms(500);
		kill(pid, SIGCONT);
		_exit(0);
	}
	connect_to(&joined);
	CHECK(joined.slot != slot, "a slot in use was given");
	check_traffic(&joined, 3);
	end(pid);
}

static void scenario_both_die(void)
{
	struct ipc_connection c;
	uint32_t slot;
	pid_t pid;

	connect_to(&c);
	pid = spawn(idle, &slot);
	kill_broker();
	end(pid);
	reconnect(&c);
	CHECK(!list() && last.clients == 1 && last.slots_used == 1, "%u clients, %u slots",
	      last.clients, last.slots_used);
	check_traffic(&c, 9);
}

static void scenario_client_dies(void)
{
	struct ipc_connection c, next;
	uint32_t slot;
	pid_t pid;

	connect_to(&c);
	for (int i = 0; i < 130; i++) {
		pid = spawn(idle, &slot);
		CHECK(slot != c.slot, "a slot in use was given");
		end(pid);
	}
	for (int i = 0; i < 100; i++) {
		CHECK(!list(), "no broker");
		if (last.slots_used == 1)
			break;
		pause_ms(20);
	}
	CHECK(last.slots_used == 1 && last.clients == 1, "%u slots are still in use",
	      last.slots_used - 1);
	connect_to(&next);
	CHECK(next.slot != slot, "slot %u came back at once", slot);
	check_traffic(&next, 11);
}

static void scenario_leaves(void)
{
	struct ipc_connection c;
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_port = htons(4791) };
	struct ipc_paths paths;
	int64_t begin;
	int fd;

	connect_to(&c);
	CHECK(!list(), "no broker");
	CHECK(!ipc_paths_find(&paths, 0, why, sizeof(why)), "%s", why);
	ipc_disconnect(&c);
	begin = now_ms();
	/* The port is free long before: another user's broker may want it. */
	pause_ms(400);
	fd = sender();
	CHECK(!bind(fd, (struct sockaddr *)&any, sizeof(any)), "port 4791: %s", strerror(errno));
	close(fd);
	CHECK(!is_dead(last.pid), "it left at once");
	while (!is_dead(last.pid) && now_ms() - begin < 5000)
		pause_ms(20);
	CHECK(now_ms() - begin < 5000, "it stays");
	CHECK(now_ms() - begin > 1500, "it left after %d ms", (int)(now_ms() - begin));
	pause_ms(20);
	CHECK(access(paths.socket, F_OK) && list() == -ENOENT, "its socket is there");
}

static void scenario_full(void)
{
	static struct ipc_connection c[SLOT_COUNT];
	bool seen[SLOT_COUNT] = { false };
	struct ipc_hello extra = hello_of(-1);
	int64_t begin;
	uint32_t slot;
	int err;

	connect_to(&c[0]);
	seen[c[0].slot] = true;
	for (int i = 1; i < 126; i++) {
		err = ipc_broker_connect(&c[i], &extra, why, sizeof(why));
		CHECK(!err, "slot %d: %d %s", i, err, why);
		CHECK(!seen[c[i].slot], "slot %u twice", c[i].slot);
		seen[c[i].slot] = true;
	}
	err = ipc_broker_connect(&c[126], &extra, why, sizeof(why));
	CHECK(err == -EUSERS, "one too many: %d %s", err, why);
	CHECK(!list() && last.slots_used == 126 && last.clients == 1, "%u slots, %u clients",
	      last.slots_used, last.clients);
	slot = c[60].slot;
	begin = now_ms();
	ipc_disconnect(&c[60]);
	err = ipc_broker_connect(&c[60], &extra, why, sizeof(why));
	CHECK(!err && c[60].slot == slot, "the freed one: %d %s", err, why);
	CHECK(now_ms() - begin > 1900, "it came back after %d ms", (int)(now_ms() - begin));
	check_traffic(&c[60], 12);
}

static void scenario_strays(void)
{
	struct ipc_connection c;
	int fd = sender();

	connect_to(&c);
	for (unsigned slot = 0; slot < SLOT_COUNT; slot++) {
		if (slot != c.slot)
			CHECK(send_to(fd, "::1", slot << SLOT_SHIFT, 0), "sending");
	}
	for (int i = 0; i < 50; i++) {
		CHECK(!list(), "no broker");
		if (last.strays == SLOT_COUNT - 1)
			break;
		pause_ms(20);
	}
	CHECK(last.strays == SLOT_COUNT - 1, "%lu counted", (unsigned long)last.strays);
	check_traffic(&c, 1);
}

/* Says @length bytes to the broker, with a descriptor where @fd >= 0; gets an answer or the end. */
static void say(const void *bytes, size_t length, int fd)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct ipc_paths paths;
	int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct iovec iov = { (void *)(uintptr_t)bytes, length };
	union {
		char bytes[CMSG_SPACE(sizeof(int) * 8)];
		struct cmsghdr align;
	} control = { 0 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct pollfd p = { .fd = s, .events = POLLIN };
	char answer[1024];

	CHECK(!ipc_paths_find(&paths, 0, why, sizeof(why)), "%s", why);
	memcpy(address.sun_path, paths.socket, sizeof(address.sun_path));
	CHECK(!connect(s, (struct sockaddr *)&address, sizeof(address)), "connect");
	if (fd >= 0) {
		m.msg_control = control.bytes;
		m.msg_controllen = sizeof(control.bytes);
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(sizeof(int) * 8);
		for (unsigned i = 0; i < 8; i++)
			memcpy(CMSG_DATA(&control.align) + i * sizeof(int), &fd, sizeof(fd));
	}
	(void)!sendmsg(s, &m, MSG_NOSIGNAL);
	CHECK(poll(&p, 1, 3000) == 1, "the broker says nothing");
	(void)!recv(s, answer, sizeof(answer), 0);
	CHECK(recv(s, answer, sizeof(answer), 0) <= 0, "the broker goes on talking");
	close(s);
}

static void scenario_hostile(void)
{
	struct ipc_hello bad = hello_of(new_ledger(F_SEAL_SHRINK));
	struct ipc_connection c, other;
	uint8_t junk[2048];
	struct ipc_message m;
	int err;

	connect_to(&c);
	err = ipc_broker_connect(&other, &bad, why, sizeof(why));
	CHECK(err == -EINVAL, "a ledger that can grow: %d %s", err, why);
	bad.ledger = open("/dev/null", O_RDWR | O_CLOEXEC);
	err = ipc_broker_connect(&other, &bad, why, sizeof(why));
	CHECK(err == -EINVAL, "/dev/null as ledger: %d %s", err, why);
	srand(1);
	for (int round = 0; round < 200; round++) {
		for (size_t i = 0; i < sizeof(junk); i++)
			junk[i] = (uint8_t)rand();
		ipc_message_init(&m, (enum ipc_type)(round % 10));
		m.flags = (uint32_t)round / 10 % 4;
		m.slot = round % 3 ? (uint32_t)rand() : c.slot;
		if (round % 10 == IPC_LIST)
			m.version++;
		say(round % 2 ? (void *)&m : junk,
		    round % 2 ? sizeof(m) : (size_t)rand() % sizeof(junk) + 1,
		    round % 4 < 2 ? STDERR_FILENO : -1);
	}
	CHECK(!list() && last.clients == 1 && last.slots_used == 1, "the broker lost count");
	CHECK(ipc_broker_alive(&c), "the broker let go of a client");
	check_traffic(&c, 5);
}

static void scenario_stopped(void)
{
	struct ipc_hello hello = hello_of(new_ledger(F_SEAL_SHRINK | F_SEAL_GROW));
	struct ipc_connection c, other;
	int64_t begin, took;
	int err;

	connect_to(&c);
	CHECK(!list(), "no broker");
	kill((pid_t)last.pid, SIGSTOP);
	begin = now_ms();
	err = ipc_broker_connect(&other, &hello, why, sizeof(why));
	took = now_ms() - begin;
	for (uint32_t i = 0; i < 10; i++) {
		int fd = sender();

		send_to(fd, "::1", c.slot << SLOT_SHIFT, i);
		if (receive(c.socket) != i)
			took = 100000;
		close(fd);
	}
	kill((pid_t)last.pid, SIGCONT);
	CHECK(err == -ETIMEDOUT, "%d %s", err, why);
	CHECK(took > 4000 && took < 8000, "it took %d ms, or traffic stood", (int)took);
	/* The one that gave up left nothing behind. */
	pause_ms(300);
	CHECK(!list() && last.clients == 1 && last.slots_used == 1, "%u clients, %u slots",
	      last.clients, last.slots_used);
}

/* For scripts: a client until it is killed. */
static void hold(void)
{
	struct ipc_connection c;

	connect_to(&c);
	printf("holding\n");
	fflush(stdout);
	for (;;)
		pause();
}

static const struct scenario {
	const char *name;
	void (*run)(void);
} scenarios[] = {
	{ "start", scenario_start },
	{ "two", scenario_two },
	{ "race", scenario_race },
	{ "taken", scenario_taken },
	{ "modes", scenario_modes },
	{ "broker-dies", scenario_broker_dies },
	{ "new-client-first", scenario_new_client_first },
	{ "both-die", scenario_both_die },
	{ "client-dies", scenario_client_dies },
	{ "leaves", scenario_leaves },
	{ "full", scenario_full },
	{ "strays", scenario_strays },
	{ "hostile", scenario_hostile },
	{ "stopped", scenario_stopped },
};

int main(int argc, char **argv)
{
	int64_t begin = now_ms();

	if (argc == 2 && !strcmp(argv[1], "hold"))
		hold();
	for (size_t i = 0; argc == 2 && i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
		if (!strcmp(argv[1], scenarios[i].name)) {
			/* The broker of the scenario before leaves first. */
			while (list() != -ENOENT && now_ms() - begin < 8000)
				pause_ms(2200);
			scenarios[i].run();
			printf("ok\n");
			fflush(stdout);
			return 0;
		}
	}
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		printf("%s\n", scenarios[i].name);
	return argc == 1 ? 0 : 2;
}
