/* SPDX-License-Identifier: Apache-2.0 */
/* directory.c - the runtime directory, and only if it is private */
#include "ipc/directory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int check(const char *path, int create, char *why, size_t size)
{
	struct stat st;

	if (lstat(path, &st)) {
		snprintf(why, size, "no runtime directory %s: %s", path, strerror(errno));
		return -errno;
	}
	if (!S_ISDIR(st.st_mode)) {
		snprintf(why, size, "%s is not a directory", path);
		return -EPERM;
	}
	/* The superuser may look at others' brokers, but has one of its own for itself. */
	if (st.st_uid != geteuid() && (create || geteuid() != 0)) {
		snprintf(
			why, size,
			"the runtime directory %s belongs to user %u, not to user %u; set ADVERB_RUNTIME_DIR",
			path, (unsigned)st.st_uid, (unsigned)geteuid());
		return -EPERM;
	}
	if (st.st_mode & 077) {
		snprintf(why, size,
			 "the runtime directory %s is open to others (mode %04o); it must be 0700",
			 path, (unsigned)st.st_mode & 07777);
		return -EPERM;
	}
	return 0;
}

static int choose(char *to, size_t size)
{
	const char *own = secure_getenv("ADVERB_RUNTIME_DIR"),
		   *xdg = secure_getenv("XDG_RUNTIME_DIR");
	int n;

	if (own && *own)
		n = snprintf(to, size, "%s", own);
	else if (xdg && *xdg == '/' && access(xdg, W_OK) == 0)
		n = snprintf(to, size, "%s/adverb", xdg);
	else
		n = snprintf(to, size, "/tmp/adverb-%u", (unsigned)geteuid());
	return n > 0 && (size_t)n < size ? 0 : -ENAMETOOLONG;
}

int ipc_paths_find(struct ipc_paths *paths, int create, char *why, size_t size)
{
	unsigned long long ns;
	struct stat st;
	int err;

	if (choose(paths->directory, sizeof(paths->directory))) {
		snprintf(
			why, size,
			"the name of the runtime directory is too long for a socket; set ADVERB_RUNTIME_DIR");
		return -ENAMETOOLONG;
	}
	if (create && mkdir(paths->directory, 0700) && errno != EEXIST) {
		err = -errno;
		snprintf(why, size, "cannot make the runtime directory %s: %s", paths->directory,
			 strerror(errno));
		return err;
	}
	err = check(paths->directory, create, why, size);
	if (err)
		return err;
	/* A thread may have left its program's namespace, and the broker starts in the thread's. */
	ns = stat("/proc/thread-self/ns/net", &st) ? 0 : (unsigned long long)st.st_ino;
	snprintf(paths->socket, sizeof(paths->socket), "%s/broker-%llu.sock", paths->directory, ns);
	snprintf(paths->lock, sizeof(paths->lock), "%s/broker-%llu.lock", paths->directory, ns);
	snprintf(paths->slots, sizeof(paths->slots), "%s/broker-%llu.slots", paths->directory, ns);
	return 0;
}
