/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interpose.c - the functions of the C library that take a path, in front of the C library's own
 *
 * Exported without a version, so they also serve references that have one. Any program and any
 * library calls them at any time, also before our constructors and in forked children: a path that
 * is not ours goes on at once, without locks or allocation.
 */

/* The plain and the "64" names are defined here side by side: no header may rename them. */
#undef _FILE_OFFSET_BITS
#undef _FORTIFY_SOURCE

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "facade/paths.h"

#define EXPORT __attribute__((visibility("default")))

/* What no public header declares: the names of programs built for older versions of the C library,
 * and with its checks of buffer sizes. */
EXPORT int __xstat(int version, const char *path, struct stat *status);
EXPORT int __xstat64(int version, const char *path, struct stat64 *status);
EXPORT int __lxstat(int version, const char *path, struct stat *status);
EXPORT int __lxstat64(int version, const char *path, struct stat64 *status);
EXPORT int __fxstatat(int version, int fd, const char *path, struct stat *status, int flags);
EXPORT int __fxstatat64(int version, int fd, const char *path, struct stat64 *status, int flags);
EXPORT int __open_2(const char *path, int flags);
EXPORT int __open64_2(const char *path, int flags);
EXPORT int __openat_2(int fd, const char *path, int flags);
EXPORT int __openat64_2(int fd, const char *path, int flags);
EXPORT char *__realpath_chk(const char *path, char *resolved, size_t size);
EXPORT ssize_t __readlink_chk(const char *path, char *buffer, size_t length, size_t size);
EXPORT ssize_t __readlinkat_chk(int fd, const char *path, char *buffer, size_t length, size_t size);

static void *find_next(void **cache, const char *name)
{
	void *function = __atomic_load_n(cache, __ATOMIC_RELAXED);

	if (!function) {
		function = dlsym(RTLD_NEXT, name);
		__atomic_store_n(cache, function, __ATOMIC_RELAXED);
	}
	return function;
}

/* Calls the same function further down; @failure and ENOSYS if the C library has none. */
#define NEXT(failure, name, ...)                                 \
 ({                                                              \
static void *cache;                                                   \
__typeof__(&name) next = (__typeof__(&name))find_next(&cache, #name); \
next ? next(__VA_ARGS__) : (errno = ENOSYS, failure);                 \
 })

/* The attributes of our devices are read-only; their stand-ins would be writable by root. */
static bool refuses(const char *path, bool writes)
{
	if (!writes || strncmp(path, "/sys/", 5) != 0)
		return false;
	errno = EACCES;
	return true;
}

static bool writes(int flags)
{
	return (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC));
}

#define MODE(flags) \
 ({ \
mode_t given = 0; \
if (((flags)&O_CREAT) || ((flags)&O_TMPFILE) == O_TMPFILE) { \
va_list arguments; \
va_start(arguments, flags); \
given = va_arg(arguments, mode_t); \
va_end(arguments); \
} \
given; \
 })

#define DEFINE_OPEN(name)                          \
 EXPORT int name(const char *path, int flags, ...) \
 {                                                 \
  mode_t mode = MODE(flags);                       \
  char buffer[FACADE_PATH];                        \
  const char *at = facade_path(path, buffer);      \
                                                   \
  if (at != path && refuses(path, writes(flags)))  \
   return -1;                                      \
  return NEXT(-1, name, at, flags, mode);          \
 }

#define DEFINE_OPENAT(name)                                \
 EXPORT int name(int fd, const char *path, int flags, ...) \
 {                                                         \
  mode_t mode = MODE(flags);                               \
  char buffer[FACADE_PATH];                                \
  const char *at = facade_path(path, buffer);              \
                                                           \
  if (at != path && refuses(path, writes(flags)))          \
   return -1;                                              \
  return NEXT(-1, name, fd, at, flags, mode);              \
 }

#define DEFINE_OPEN_CHECKED(name)                 \
 EXPORT int name(const char *path, int flags)     \
 {                                                \
  char buffer[FACADE_PATH];                       \
  const char *at = facade_path(path, buffer);     \
                                                  \
  if (at != path && refuses(path, writes(flags))) \
   return -1;                                     \
  return NEXT(-1, name, at, flags);               \
 }

#define DEFINE_OPENAT_CHECKED(name)                   \
 EXPORT int name(int fd, const char *path, int flags) \
 {                                                    \
  char buffer[FACADE_PATH];                           \
  const char *at = facade_path(path, buffer);         \
                                                      \
  if (at != path && refuses(path, writes(flags)))     \
   return -1;                                         \
  return NEXT(-1, name, fd, at, flags);               \
 }

#define DEFINE_FOPEN(name)                                              \
 EXPORT FILE *name(const char *path, const char *mode)                  \
 {                                                                      \
  char buffer[FACADE_PATH];                                             \
  const char *at = facade_path(path, buffer);                           \
                                                                        \
  if (at != path && refuses(path, mode[0] != 'r' || strchr(mode, '+'))) \
   return NULL;                                                         \
  return NEXT(NULL, name, at, mode);                                    \
 }

/* The functions that only look: the path is replaced, and that is all. */
#define DEFINE(type, failure, name, parameters, ...) \
 EXPORT type name parameters                         \
 {                                                   \
  char buffer[FACADE_PATH];                          \
  const char *at = facade_path(path, buffer);        \
                                                     \
  return NEXT(failure, name, __VA_ARGS__);           \
 }

DEFINE_OPEN(open)
DEFINE_OPEN(open64)
DEFINE_OPENAT(openat)
DEFINE_OPENAT(openat64)
DEFINE_OPEN_CHECKED(__open_2)
DEFINE_OPEN_CHECKED(__open64_2)
DEFINE_OPENAT_CHECKED(__openat_2)
DEFINE_OPENAT_CHECKED(__openat64_2)
DEFINE_FOPEN(fopen)
DEFINE_FOPEN(fopen64)

DEFINE(DIR *, NULL, opendir, (const char *path), at)
DEFINE(int, -1, scandir,
       (const char *path, struct dirent ***list, int (*filter)(const struct dirent *),
	int (*compare)(const struct dirent **, const struct dirent **)),
       at, list, filter, compare)
DEFINE(int, -1, scandir64,
       (const char *path, struct dirent64 ***list, int (*filter)(const struct dirent64 *),
	int (*compare)(const struct dirent64 **, const struct dirent64 **)),
       at, list, filter, compare)
DEFINE(int, -1, chdir, (const char *path), at)

DEFINE(int, -1, access, (const char *path, int mode), at, mode)
DEFINE(int, -1, faccessat, (int fd, const char *path, int mode, int flags), fd, at, mode, flags)
DEFINE(int, -1, euidaccess, (const char *path, int mode), at, mode)
DEFINE(int, -1, eaccess, (const char *path, int mode), at, mode)

DEFINE(int, -1, stat, (const char *path, struct stat *status), at, status)
DEFINE(int, -1, stat64, (const char *path, struct stat64 *status), at, status)
DEFINE(int, -1, __xstat, (int version, const char *path, struct stat *status), version, at, status)
DEFINE(int, -1, __xstat64, (int version, const char *path, struct stat64 *status), version, at,
       status)

/* The stand-in of a device node is a link to one, which must not be seen. */
static bool is_node(const char *path, const char *at)
{
	return at != path && path[1] == 'd';
}

#define DEFINE_LSTAT(name, follow, type)                                        \
 EXPORT int name(const char *path, type *status)                                \
 {                                                                              \
  char buffer[FACADE_PATH];                                                     \
  const char *at = facade_path(path, buffer);                                   \
                                                                                \
  return is_node(path, at) ? follow(path, status) : NEXT(-1, name, at, status); \
 }

#define DEFINE_LXSTAT(name, follow, type)                                                         \
 EXPORT int name(int version, const char *path, type *status)                                     \
 {                                                                                                \
  char buffer[FACADE_PATH];                                                                       \
  const char *at = facade_path(path, buffer);                                                     \
                                                                                                  \
  return is_node(path, at) ? follow(version, path, status) : NEXT(-1, name, version, at, status); \
 }

DEFINE_LSTAT(lstat, stat, struct stat)
DEFINE_LSTAT(lstat64, stat64, struct stat64)
DEFINE_LXSTAT(__lxstat, __xstat, struct stat)
DEFINE_LXSTAT(__lxstat64, __xstat64, struct stat64)

#define FLAGS (is_node(path, at) ? flags & ~AT_SYMLINK_NOFOLLOW : flags)

DEFINE(int, -1, fstatat, (int fd, const char *path, struct stat *status, int flags), fd, at, status,
       FLAGS)
DEFINE(int, -1, fstatat64, (int fd, const char *path, struct stat64 *status, int flags), fd, at,
       status, FLAGS)
DEFINE(int, -1, __fxstatat, (int version, int fd, const char *path, struct stat *status, int flags),
       version, fd, at, status, FLAGS)
DEFINE(int, -1, __fxstatat64,
       (int version, int fd, const char *path, struct stat64 *status, int flags), version, fd, at,
       status, FLAGS)
DEFINE(int, -1, statx,
       (int fd, const char *path, int flags, unsigned int mask, struct statx *status), fd, at,
       FLAGS, mask, status)

DEFINE(ssize_t, -1, readlink, (const char *path, char *buffer_, size_t length), at, buffer_, length)
DEFINE(ssize_t, -1, readlinkat, (int fd, const char *path, char *buffer_, size_t length), fd, at,
       buffer_, length)
DEFINE(ssize_t, -1, __readlink_chk, (const char *path, char *buffer_, size_t length, size_t size),
       at, buffer_, length, size)
DEFINE(ssize_t, -1, __readlinkat_chk,
       (int fd, const char *path, char *buffer_, size_t length, size_t size), fd, at, buffer_,
       length, size)

/* ls -l asks for these. */
DEFINE(ssize_t, -1, getxattr, (const char *path, const char *name, void *value, size_t size), at,
       name, value, size)
DEFINE(ssize_t, -1, lgetxattr, (const char *path, const char *name, void *value, size_t size), at,
       name, value, size)

#define DEFINE_REALPATH(name, parameters, ...) \
 EXPORT char *name parameters                  \
 {                                             \
  char buffer[FACADE_PATH];                    \
  const char *at = facade_path(path, buffer);  \
  char *found = NEXT(NULL, name, __VA_ARGS__); \
                                               \
  if (found && at != path)                     \
   facade_original(found);                     \
  return found;                                \
 }

DEFINE_REALPATH(realpath, (const char *path, char *resolved), at, resolved)
DEFINE_REALPATH(__realpath_chk, (const char *path, char *resolved, size_t size), at, resolved, size)
DEFINE_REALPATH(canonicalize_file_name, (const char *path), at)
