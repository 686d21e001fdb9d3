/* SPDX-License-Identifier: Apache-2.0 */
/* report.c - the last words of a process whose own invariants are broken */
#include "base/report.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void say(const char *text)
{
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		return;
}

_Noreturn void report_fatal(const char *file, int line, const char *condition)
{
	char digits[16];
	int at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + line % 10);
		line /= 10;
	} while (line > 0 && at > 1);
	say("adverb: broken invariant, please report: ");
	say(file);
	say(":");
	if (write(STDERR_FILENO, digits + at, sizeof(digits) - (size_t)at) < 0)
		abort();
	say(": ");
	say(condition);
	say("\n");
	abort();
}
