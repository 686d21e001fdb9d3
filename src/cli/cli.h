/* SPDX-License-Identifier: Apache-2.0 */
/* cli.h - what the subcommands of adverb share */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Exit codes. A command that runs a program uses the codes of env(1) and nohup(1), so that they
 * cannot be mistaken for the program's.
 */
enum {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_LAUNCHER = 125,
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127,
};

/** struct command - a row of the table in main.c; a row whose function is not linked in is not
 * shown. */
struct command {
	const char *name;
	const char *help; /* one line */
	/* argv[0] is the subcommand's name. Returns the exit code of the process. */
	int (*run)(int argc, char **argv);
};

int run_main(int argc, char **argv);
int env_main(int argc, char **argv);

/* In resource*.c; weak, so that the launcher links without them. */
int resource_main(int argc, char **argv) __attribute__((weak));
int status_main(int argc, char **argv) __attribute__((weak));

/** complain() - "adverb: message" on stderr. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/**
 * library_directory() - the absolute directory of libibverbs.so.1, found relative to this program.
 *
 * Works in the build tree and installed. Returns 0 or a negative errno value; -ENOENT when the
 * library is not there.
 */
int library_directory(char *path, size_t size);

/** struct launch - how a program is to be started. */
struct launch {
	const char *library_directory;
	const char *devices; /* NULL: as the environment says */
	const char *log;     /* NULL: as the environment says */
	bool sanitizer;	     /* the program has AddressSanitizer's shared runtime */
};

/**
 * environment_compose() - a copy of @old in which a program finds our library first.
 *
 * Values that are there already stay, behind ours; composing twice changes nothing more. Returns an
 * array to free with environment_free(), or NULL when memory ran out.
 */
char **environment_compose(char *const *old, const struct launch *launch);

void environment_free(char **environment);

/** environment_get() - the value of @name in @environment, or NULL. */
const char *environment_get(char *const *environment, const char *name);

/** struct target - what the file of a program tells about the ways to get a library into it. */
struct target {
	bool privileged; /* it would gain rights by set-user-ID, set-group-ID or file capabilities:
			    the loader ignores our variables */
	bool fixed;	 /* statically linked: no loader */
	bool foreign;	 /* another word size or machine */
	bool sanitizer;	 /* needs AddressSanitizer's shared runtime */
};

/**
 * target_find() - the file that execvp(3) would run for @program, searched in @search_path (as
 * PATH).
 *
 * Returns 0 or a negative errno value: -ENOENT or -EACCES.
 */
int target_find(const char *program, const char *search_path, char *path, size_t size);

/**
 * target_inspect() - look into the file; for a script, into its interpreter's.
 *
 * Whatever cannot be read or understood counts as an ordinary program.
 */
void target_inspect(const char *path, struct target *target);

#endif
