/* SPDX-License-Identifier: Apache-2.0 */
/* report.h - how an impossible state ends the process */
#ifndef BASE_REPORT_H
#define BASE_REPORT_H

/**
 * report_fatal() - say what can never be true and abort.
 *
 * For broken invariants of our own code only; input from a peer, a program or a file is never
 * asserted. The message goes to stderr: the process cannot go on.
 */
_Noreturn void report_fatal(const char *file, int line, const char *condition);

/** ASSERT() - on in every build: wrong memory is worse than a core file. */
#define ASSERT(condition)                        \
 do {                                            \
  if (__builtin_expect(!(condition), 0))         \
   report_fatal(__FILE__, __LINE__, #condition); \
 } while (0)

#define MUST_USE __attribute__((warn_unused_result))

#endif
