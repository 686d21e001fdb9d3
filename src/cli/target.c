/* SPDX-License-Identifier: Apache-2.0 */
/* target.c - what a program's file says about getting a library into it */

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cli/cli.h"

/* A file in memory; it may be anything, so nothing is taken from it without asking for its range.
 */
struct image {
	const uint8_t *bytes;
	size_t size;
};

static const void *image_at(const struct image *image, uint64_t offset, uint64_t size)
{
	if (offset > image->size || size > image->size - offset)
		return NULL;
	return image->bytes + offset;
}

static bool read_program_header(const struct image *image, const Elf64_Ehdr *header, size_t index,
				Elf64_Phdr *out)
{
	uint64_t offset;
	const void *at;

	if (__builtin_add_overflow(header->e_phoff, (uint64_t)index * sizeof(*out), &offset))
		return false;
	at = image_at(image, offset, sizeof(*out));
	if (!at)
		return false;
	memcpy(out, at, sizeof(*out));
	return true;
}

/* Where the file has the bytes that the program will see at @address. */
static bool find_address(const struct image *image, const Elf64_Ehdr *header, uint64_t address,
			 uint64_t *offset)
{
	Elf64_Phdr segment;

	for (size_t i = 0; i < header->e_phnum && read_program_header(image, header, i, &segment);
	     i++) {
		if (segment.p_type != PT_LOAD || address < segment.p_vaddr)
			continue;
		if (address - segment.p_vaddr < segment.p_filesz)
			return !__builtin_add_overflow(segment.p_offset, address - segment.p_vaddr,
						       offset);
	}
	return false;
}

static bool is_sanitizer(const char *name)
{
	return strstr(name, "libasan.so") || strstr(name, "libclang_rt.asan");
}

static void inspect_dynamic(const struct image *image, const Elf64_Ehdr *header,
			    const Elf64_Phdr *dynamic, struct target *target, bool *library)
{
	uint64_t count = dynamic->p_filesz / sizeof(Elf64_Dyn);
	const uint8_t *entries = image_at(image, dynamic->p_offset, dynamic->p_filesz);
	uint64_t strings = 0, strings_size = 0, offset;
	const char *table;
	Elf64_Dyn entry;

	if (!entries)
		return;
	for (uint64_t i = 0; i < count; i++) {
		memcpy(&entry, entries + i * sizeof(entry), sizeof(entry));
		if (entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_STRTAB)
			strings = entry.d_un.d_ptr;
		else if (entry.d_tag == DT_STRSZ)
			strings_size = entry.d_un.d_val;
		else if (entry.d_tag == DT_SONAME)
			*library = true;
	}
	if (!strings_size || !find_address(image, header, strings, &offset))
		return;
	table = image_at(image, offset, strings_size);
	if (!table || table[strings_size - 1] != '\0')
		return;
	for (uint64_t i = 0; i < count; i++) {
		memcpy(&entry, entries + i * sizeof(entry), sizeof(entry));
		if (entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_NEEDED && entry.d_un.d_val < strings_size &&
		    is_sanitizer(table + entry.d_un.d_val))
			target->sanitizer = true;
	}
}

static uint16_t own_machine(void)
{
	Elf64_Ehdr header = { 0 };
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		if (read(fd, &header, sizeof(header)) != (ssize_t)sizeof(header))
			header.e_machine = EM_NONE;
		close(fd);
	}
	return header.e_machine;
}

static void inspect_elf(const struct image *image, struct target *target)
{
	const uint8_t data = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
	bool loader = false, library = false;
	Elf64_Phdr segment;
	Elf64_Ehdr header;
	const void *at = image_at(image, 0, sizeof(header));

	if (!at)
		return;
	memcpy(&header, at, sizeof(header));
	if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != data ||
	    header.e_machine != own_machine()) {
		target->foreign = true;
		return;
	}
	for (size_t i = 0; i < header.e_phnum && read_program_header(image, &header, i, &segment);
	     i++) {
		if (segment.p_type == PT_INTERP)
			loader = true;
		else if (segment.p_type == PT_DYNAMIC)
			inspect_dynamic(image, &header, &segment, target, &library);
	}
	/* The loader has none either, but when run as a program it loads libraries. */
	if (!loader && !library)
		target->fixed = true;
}

static bool read_interpreter(const struct image *image, char *path, size_t size)
{
	size_t at = 2, length = 0;

	while (at < image->size && (image->bytes[at] == ' ' || image->bytes[at] == '\t'))
		at++;
	while (at < image->size && length + 1 < size && !strchr(" \t\r\n", image->bytes[at]))
		path[length++] = (char)image->bytes[at++];
	path[length] = '\0';
	return length > 0;
}

static bool gains_privileges(int fd, const struct stat *status)
{
	if ((status->st_mode & S_ISUID) && status->st_uid != geteuid())
		return true;
	if ((status->st_mode & S_ISGID) && status->st_gid != getegid())
		return true;
	return geteuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0;
}

static void inspect(const char *path, struct target *target, int scripts_left)
{
	char interpreter[PATH_MAX];
	struct image image;
	bool script = false;
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *bytes;

	if (fd < 0)
		return;
	if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_size < 4)
		goto out;
	bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		goto out;
	image.bytes = bytes;
	image.size = (size_t)status.st_size;
	if (!memcmp(image.bytes, ELFMAG, SELFMAG)) {
		/* The bits of a script do not count; its interpreter's do. */
		target->privileged = gains_privileges(fd, &status);
		inspect_elf(&image, target);
	} else if (!memcmp(image.bytes, "#!", 2)) {
		script = read_interpreter(&image, interpreter, sizeof(interpreter));
	}
	munmap(bytes, (size_t)status.st_size);
out:
	close(fd);
	if (script && scripts_left > 0)
		inspect(interpreter, target, scripts_left - 1);
}

void target_inspect(const char *path, struct target *target)
{
	memset(target, 0, sizeof(*target));
	inspect(path, target, 4);
}

static int check(const char *path)
{
	struct stat status;

	if (stat(path, &status) < 0)
		return errno == ENOTDIR ? -ENOENT : -errno;
	if (!S_ISREG(status.st_mode) || access(path, X_OK) < 0)
		return -EACCES;
	return 0;
}

int target_find(const char *program, const char *search_path, char *path, size_t size)
{
	int verdict = -ENOENT;

	if (!*program)
		return -ENOENT;
	if (strchr(program, '/')) {
		if (strlen(program) >= size)
			return -ENAMETOOLONG;
		strcpy(path, program);
		return check(path);
	}
	if (!search_path)
		search_path = "/usr/local/bin:/bin:/usr/bin";
	for (const char *part = search_path;; part++) {
		size_t length = strcspn(part, ":");
		int n = length ? snprintf(path, size, "%.*s/%s", (int)length, part, program)
			       : snprintf(path, size, "./%s", program);

		if (n > 0 && (size_t)n < size) {
			int error = check(path);

			if (!error)
				return 0;
			if (error == -EACCES)
				verdict = error;
		}
		part += length;
		if (!*part)
			return verdict;
	}
}
