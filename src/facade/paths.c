/* SPDX-License-Identifier: Apache-2.0 */
/* paths.c - which paths are ours, and the directory in which their stand-ins are */

#include "facade/paths.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ipc/directory.h"

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

/* Where the broker's socket is too. Nobody else can write to it: we trust what is in it. */
static bool private_directory(char *path, size_t size)
{
	struct ipc_paths paths;
	char real[PATH_MAX], why[128];

	if (ipc_paths_find(&paths, 1, why, sizeof(why)) || !realpath(paths.directory, real) ||
	    strlen(real) >= size)
		return false;
	strcpy(path, real);
	return true;
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
	if (count > 0 && count <= FACADE_DEVICES && private_directory(directory, sizeof(directory)))
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
