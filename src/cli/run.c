/* SPDX-License-Identifier: Apache-2.0 */
/* run.c - adverb run: start a program so that it finds adverb's devices */

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

static void run_usage(FILE *out)
{
	fputs("usage: adverb run [-d DEVICES] [--log WHAT] [--] PROGRAM [ARGUMENT...]\n\n"
	      "Run PROGRAM, and whatever it starts, with adverb's RDMA devices instead of the host's.\n\n"
	      "  -d, --devices DEVICES  the devices to show, as in ADVERB_DEVICES\n"
	      "      --log WHAT         what the library reports on stderr, as in ADVERB_LOG\n"
	      "  -h, --help             this text\n\n"
	      "The exit code is PROGRAM's; or 125 when adverb itself fails, 126 when PROGRAM cannot be run\n"
	      "or cannot get the library, 127 when it is not found.\n",
	      out);
}

static int cannot_run(const char *program, int error)
{
	if (error == ENOENT) {
		complain("%s: not found", program);
		return EXIT_NOT_FOUND;
	}
	complain("%s: %s", program, strerror(error));
	return EXIT_NOT_EXECUTABLE;
}

/* Running it anyway would show it the host's devices, or none, and nobody would know why. */
static bool refuse(const char *program, const struct target *target)
{
	if (target->fixed) {
		complain("%s: statically linked: it cannot load adverb's library", program);
		return true;
	}
	if (target->privileged) {
		complain("%s: changes its privileges when it starts (set-user-ID, set-group-ID or "
			 "file capabilities): the loader would ignore adverb's library",
			 program);
		return true;
	}
	if (target->foreign)
		complain("warning: %s is built for another machine type than adverb's library",
			 program);
	return false;
}

int run_main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "devices", required_argument, NULL, 'd' },
		{ "log", required_argument, NULL, 'l' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	char directory[PATH_MAX], path[PATH_MAX];
	struct launch launch = { .library_directory = directory };
	struct target target;
	char **environment;
	int option, error;

	/* "+": the program's options are its own. */
	while ((option = getopt_long(argc, argv, "+d:h", options, NULL)) != -1) {
		switch (option) {
		case 'd':
			launch.devices = optarg;
			break;
		case 'l':
			launch.log = optarg;
			break;
		case 'h':
			run_usage(stdout);
			return EXIT_DONE;
		default:
			run_usage(stderr);
			return EXIT_LAUNCHER;
		}
	}
	if (optind == argc) {
		complain("run: which program?");
		run_usage(stderr);
		return EXIT_LAUNCHER;
	}
	argv += optind;

	error = library_directory(directory, sizeof(directory));
	if (error) {
		complain("cannot use libibverbs.so.1 beside this program: %s", strerror(-error));
		return EXIT_LAUNCHER;
	}
	error = target_find(argv[0], getenv("PATH"), path, sizeof(path));
	if (error)
		return cannot_run(argv[0], -error);
	target_inspect(path, &target);
	if (refuse(argv[0], &target))
		return EXIT_NOT_EXECUTABLE;

	launch.sanitizer = target.sanitizer;
	environment = environment_compose(environ, &launch);
	if (!environment) {
		complain("out of memory");
		return EXIT_LAUNCHER;
	}
	execve(path, argv, environment);
	if (errno == ENOEXEC) {
		/* A script without a first line that names its interpreter: as the shell does. */
		execvpe(path, argv, environment);
	}
	error = errno;
	environment_free(environment);
	return cannot_run(argv[0], error);
}
