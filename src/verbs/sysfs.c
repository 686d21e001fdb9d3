/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sysfs.c - reading attributes of the device as files
 *
 * The files need not exist: open() is the facade's, which answers for the paths of our devices.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "verbs/abi.h"

const char *ibv_get_sysfs_path(void)
{
	const char *path = secure_getenv("SYSFS_PATH");

	return path && *path ? path : "/sys";
}

int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size)
{
	char path[PATH_MAX];
	ssize_t length;
	int fd, n, error;

	if (!size) {
		errno = EINVAL;
		return -1;
	}
	n = snprintf(path, sizeof(path), "%s/%s", dir, file);
	if (n < 0 || (size_t)n >= sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	do {
		length = read(fd, buf, size);
	} while (length < 0 && errno == EINTR);
	error = errno;
	close(fd);
	if (length < 0) {
		errno = error;
		return -1;
	}

	if (length > 0 && (buf[length - 1] == '\n' || (size_t)length == size))
		length--;
	if (size > 0)
		buf[length] = '\0';
	return (int)length;
}
