/* SPDX-License-Identifier: Apache-2.0 */
/* paths.c - which paths are ours, and the directory in which their stand-ins are */

#include "facade/paths.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int (*list_devices)(struct facade_device *out, int max);

/* The tree that was right a moment ago. Whoever cannot have the lock at once does without. */
static struct {
	pthread_mutex_t lock;
	time_t until;
	pid_t process; /* a child may be in another network namespace */
	char root[FACADE_PATH];
} recent = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* This thread is asking for the devices: it needs the real files. The model needs no allocation. */
static __thread bool asking __attribute__((tls_model("initial-exec")));

void facade_set_devices(int (*list)(struct facade_device *out, int max))
{
	__atomic_store_n(&list_devices, list, __ATOMIC_RELEASE);
}

bool facade_claims(const char *path)
{
	static const char *const ours[] = { "/sys/class/infiniband", "/sys/class/infiniband_verbs",
					    "/dev/infiniband" };

	if (!path || path[0] != '/' || (path[1] != 's' && path[1] != 'd'))
		return false;
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		size_t length = strlen(ours[i]);

		if (!strncmp(path, ours[i], length) &&
		    (path[length] == '/' || path[length] == '\0'))
			return true;
	}
	return false;
}

/* The runtime directory, made if it is not there. Nobody else may own it: we read what is in it. */
static int private_directory(char *path, size_t size)
{
	const char *given = secure_getenv("ADVERB_RUNTIME_DIR");
	const char *session = secure_getenv("XDG_RUNTIME_DIR");
	char wanted[FACADE_PATH], real[PATH_MAX];
	struct stat status;
	int n;

	if (given && *given)
		n = snprintf(wanted, sizeof(wanted), "%s", given);
	else if (session && *session)
		n = snprintf(wanted, sizeof(wanted), "%s/adverb", session);
	else
		n = snprintf(wanted, sizeof(wanted), "/tmp/adverb-%u", (unsigned)geteuid());
	if (n < 0 || (size_t)n >= sizeof(wanted))
		return -ENAMETOOLONG;
	if (mkdir(wanted, 0700) && errno != EEXIST)
		return -errno;
	if (lstat(wanted, &status))
		return -errno;
	if (!S_ISDIR(status.st_mode) || status.st_uid != geteuid() || (status.st_mode & 022))
		return -EPERM;
	if (!realpath(wanted, real))
		return -errno;
	if (strlen(real) >= size)
		return -ENAMETOOLONG;
	strcpy(path, real);
	return 0;
}

static bool make_root(char *root, size_t size)
{
	int (*list)(struct facade_device *, int) = __atomic_load_n(&list_devices, __ATOMIC_ACQUIRE);
	struct facade_device *devices;
	char directory[FACADE_PATH];
	bool made = false;
	int count;

	if (!list)
		return false;
	devices = calloc(FACADE_DEVICES, sizeof(*devices));
	if (!devices)
		return false;
	count = list(devices, FACADE_DEVICES);
	if (count > 0 && count <= FACADE_DEVICES &&
	    !private_directory(directory, sizeof(directory)))
		made = !facade_tree(directory, devices, count, root, size);
	free(devices);
	return made;
}

static bool find_root(char *root, size_t size)
{
	bool locked = !pthread_mutex_trylock(&recent.lock);
	struct timespec now;
	bool found = false;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (locked && recent.process == getpid() && now.tv_sec < recent.until) {
		found = true;
		strcpy(root, recent.root);
	}
	if (!found) {
		found = make_root(root, size);
		if (locked && found) {
			strcpy(recent.root, root);
			recent.process = getpid();
			recent.until = now.tv_sec + 2;
		}
	}
	if (locked)
		pthread_mutex_unlock(&recent.lock);
	return found;
}

static bool turned_off(void)
{
	const char *value = secure_getenv("ADVERB_FACADE");

	return value && !strcmp(value, "0");
}

const char *facade_path(const char *path, char buffer[FACADE_PATH])
{
	int error = errno;
	size_t length;

	if (!facade_claims(path) || asking || turned_off())
		return path;
	asking = true;
	if (find_root(buffer, FACADE_PATH)) {
		length = strlen(buffer);
		if (length + strlen(path) < FACADE_PATH) {
			strcpy(buffer + length, path);
			path = buffer;
		}
	}
	asking = false;
	errno = error;
	return path;
}

void facade_original(char *path)
{
	char root[FACADE_PATH];
	size_t length;
	int error = errno;

	asking = true;
	if (find_root(root, sizeof(root))) {
		length = strlen(root);
		if (!strncmp(path, root, length) && path[length] == '/')
			memmove(path, path + length, strlen(path + length) + 1);
	}
	asking = false;
	errno = error;
}
