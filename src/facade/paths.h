/* SPDX-License-Identifier: Apache-2.0 */
/* paths.h - which paths are ours, and where the files are that stand for them */
#ifndef FACADE_PATHS_H
#define FACADE_PATHS_H

#include <stdbool.h>
#include <stddef.h>

#include "facade/devices.h"

#define FACADE_PATH 1024

/* Not our attributes' business: the C library declares its path arguments as never NULL, programs
 * pass NULL all the same. */
bool facade_claims(const char *path);

/**
 * facade_path() - the file that stands for @path.
 *
 * Returns @path itself unless it is ours, there are devices, and their tree could be made; then
 * @buffer with the other path. Leaves errno alone. Safe in a forked child; takes no lock that
 * another thread may hold for long.
 */
const char *facade_path(const char *path, char buffer[FACADE_PATH]);

/** facade_original() - undo facade_path() in @path, in place, if it points into the tree. */
void facade_original(char *path);

/**
 * facade_tree() - make sure that the tree of files for these devices exists in @directory, which is
 * private to this user.
 *
 * Writes its path to @root. The tree is complete or absent; processes with the same devices share
 * it. Returns 0 or a negative errno value.
 */
int facade_tree(const char *directory, const struct facade_device *devices, int count, char *root,
		size_t size);

#endif
