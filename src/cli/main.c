/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - the adverb command: a table of subcommands */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

static const struct command commands[] = {
	{ "run", "run a program with adverb's RDMA devices", run_main },
	{ "env", "print the environment that run gives, for a shell", env_main },
	{ "resource", "show the RDMA resources of this host and who made them", resource_main },
	{ "status", "show the broker, its devices and the programs on them", status_main },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

void complain(const char *format, ...)
{
	va_list arguments;

	fputs("adverb: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < COUNT(commands); i++) {
		if (commands[i].run && !strcmp(commands[i].name, name))
			return &commands[i];
	}
	return NULL;
}

static void print_usage(FILE *out)
{
	fputs("usage: adverb COMMAND [ARGUMENT...]\n\n"
	      "An RDMA device in software: runs unmodified RDMA programs without RDMA hardware.\n\n",
	      out);
	for (size_t i = 0; i < COUNT(commands); i++) {
		if (commands[i].run)
			fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].help);
	}
	fprintf(out, "  %-10s %s\n", "help", "explain a command");
	fputs("\n\"adverb COMMAND --help\" says more. The manual page is adverb(1).\n", out);
}

static int help(int argc, char **argv)
{
	char option[] = "--help";
	const struct command *command;
	char *arguments[3];

	if (argc < 2) {
		print_usage(stdout);
		return EXIT_DONE;
	}
	command = find_command(argv[1]);
	if (!command) {
		complain("no such command: %s (try \"adverb help\")", argv[1]);
		return EXIT_USAGE;
	}
	arguments[0] = argv[1];
	arguments[1] = option;
	arguments[2] = NULL;
	return command->run(2, arguments);
}

int main(int argc, char **argv)
{
	const struct command *command;

	if (argc < 2) {
		print_usage(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("adverb " ADVERB_VERSION);
		return EXIT_DONE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		print_usage(stdout);
		return EXIT_DONE;
	}
	if (!strcmp(argv[1], "help"))
		return help(argc - 1, argv + 1);

	command = find_command(argv[1]);
	if (!command) {
		complain("no such command: %s (try \"adverb help\")", argv[1]);
		return EXIT_USAGE;
	}
	return command->run(argc - 1, argv + 1);
}
