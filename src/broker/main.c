/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - adverbd: owns what is one per host, and is on nobody's way */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "broker/broker.h"

static const char usage[] =
	"Usage: adverbd [--foreground]\n"
	"\n"
	"The broker of adverb: gives programs their part of UDP port 4791 and knows who they are.\n"
	"Programs start it themselves; it leaves two seconds after the last of them.\n"
	"\n"
	"  --foreground  stay, and say on stderr what is wrong\n"
	"  --help, --version\n"
	"\n"
	"ADVERB_RUNTIME_DIR, XDG_RUNTIME_DIR: where its socket is; see adverb(1).\n";

static bool chatty(void)
{
	const char *level = getenv("ADVERB_LOG");

	return level && *level && strcmp(level, "none") != 0;
}

/* Nothing of the program that started us is kept: directory, terminal, and in the end no output. */
static int detach(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return -errno;
	/* Fails for the leader of a group, as a shell's job is, which then forks. */
	if (setsid() < 0) {
		switch (fork()) {
		case -1:
			return -errno;
		case 0:
			setsid();
			break;
		default:
			_exit(0);
		}
	}
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	if (!chatty())
		dup2(null, STDERR_FILENO);
	close(null);
	return chdir("/") ? -errno : 0;
}

/* Who reads the program's stderr waits for its end, and we may live longer. */
static void fall_silent(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null >= 0 && null != STDERR_FILENO) {
		dup2(null, STDERR_FILENO);
		close(null);
	}
}

static void prepare(void)
{
	struct rlimit files;
	sigset_t none;

	for (int signal_number = 1; signal_number < NSIG; signal_number++)
		signal(signal_number, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	/* Blocked by who started us, for the moments before exec. */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	umask(077);
	/* 128 sockets, twice that in flight while they are parked, and a few for each client. */
	if (!getrlimit(RLIMIT_NOFILE, &files) && files.rlim_cur < files.rlim_max) {
		files.rlim_cur = files.rlim_max < 65536 ? files.rlim_max : 65536;
		setrlimit(RLIMIT_NOFILE, &files);
	}
}

int main(int argc, char **argv)
{
	static struct server server;
	bool foreground = argc == 2 && !strcmp(argv[1], "--foreground");
	char why[256];
	int err, null;

	if (argc == 2 && !strcmp(argv[1], "--version")) {
		puts("adverbd " ADVERB_VERSION);
		return 0;
	}
	if (argc == 2 && !strcmp(argv[1], "--help")) {
		fputs(usage, stdout);
		return 0;
	}
	if (argc > 1 && !foreground) {
		fputs(usage, stderr);
		return 2;
	}
	/* Sockets must not become 0, 1 or 2, which the program may have closed. */
	while ((null = open("/dev/null", O_RDWR)) >= 0 && null <= STDERR_FILENO)
		;
	close_range(STDERR_FILENO + 1, ~0u, 0);
	prepare();
	err = foreground ? 0 : detach();
	if (!err)
		err = server_open(&server, why, sizeof(why));
	if (err == -EALREADY && !foreground)
		return 0;
	if (err) {
		if (foreground || chatty())
			fprintf(stderr, "adverbd: %s\n", why);
		return 1;
	}
	if (!foreground)
		fall_silent();
	server_run(&server);
	server_close(&server);
	return 0;
}
