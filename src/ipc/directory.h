/* SPDX-License-Identifier: Apache-2.0 */
/* directory.h - where the broker and its clients meet: files in a private directory, named by
 * network namespace */
#ifndef IPC_DIRECTORY_H
#define IPC_DIRECTORY_H

#include <stddef.h>

#include "base/report.h"

struct ipc_paths {
	char directory[80];
	char socket[108]; /* what a unix socket address holds */
	char lock[108];	  /* held by the broker */
	char slots[108];  /* byte N is locked by the process that has slot N */
};

/**
 * ipc_paths_find() - $ADVERB_RUNTIME_DIR, else $XDG_RUNTIME_DIR/adverb, else /tmp/adverb-UID;
 * created with mode 0700 if it is not there (@create). Return: 0 or a negative errno with a
 * sentence in @why: -EPERM when the directory is somebody else's, a link, or open to others.
 */
int ipc_paths_find(struct ipc_paths *paths, int create, char *why, size_t size) MUST_USE;

#endif
