/* SPDX-License-Identifier: Apache-2.0 */
/* start.h - start the broker from within somebody else's program (private to ipc/) */
#ifndef IPC_START_H
#define IPC_START_H

#include <stddef.h>

#include "base/report.h"

/**
 * ipc_start_broker() - start adverbd; it may not listen yet on return, and leaves if there is
 * another. The program notices nothing: no SIGCHLD, no child that its wait() could meet, no fork
 * handlers, no descriptor that stays open. It is found in $ADVERB_BROKER, or beside this library:
 * ../adverbd in a build directory, ../../libexec/adverb/adverbd where it is installed. 0 or a
 * negative errno with a sentence.
 */
int ipc_start_broker(char *why, size_t size) MUST_USE;

#endif
