/* SPDX-License-Identifier: Apache-2.0 */
/* log.c - words for people, on stderr, only when asked */
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/lane.h"

static int wanted_level(void)
{
	static _Atomic int level = -1;
	int l = atomic_load_explicit(&level, memory_order_relaxed);
	static const char *const names[] = { "none", "error", "warn", "info", "debug" };
	const char *text;

	if (l >= 0)
		return l;
	/* Unasked, only why nothing can go on: a program says no more than "no device". */
	l = LANE_LOG_ERROR;
	text = getenv("ADVERB_LOG");
	if (text && *text) {
		l = LANE_LOG_WARN;
		for (int i = 0; i < 5; i++) {
			if (!strcmp(text, names[i]))
				l = i;
		}
	}
	atomic_store_explicit(&level, l, memory_order_relaxed);
	return l;
}

bool lane_logs(enum lane_log_level level)
{
	return (int)level <= wanted_level();
}

void lane_log(enum lane_log_level level, const char *format, ...)
{
	struct lane_quiet quiet;
	char line[512];
	va_list arguments;
	int used, n;

	if (!lane_logs(level))
		return;
	used = snprintf(line, sizeof(line), "adverb[%d]: ", (int)getpid());
	va_start(arguments, format);
	n = vsnprintf(line + used, sizeof(line) - (size_t)used - 1, format, arguments);
	va_end(arguments);
	if (n < 0)
		return;
	used += n;
	if (used > (int)sizeof(line) - 2)
		used = (int)sizeof(line) - 2;
	line[used++] = '\n';
	/* One write: lines of several processes do not mix. */
	lane_quiet_begin(&quiet);
	n = (int)write(STDERR_FILENO, line, (size_t)used);
	lane_quiet_end(&quiet);
	(void)n; /* perhaps nobody reads it */
}
