/* SPDX-License-Identifier: Apache-2.0 */
/* holder.c - who has the port? Read from /proc, as far as it shows */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker/broker.h"

/* The inode of a socket that is bound to UDP port 4791, 0 for none (or one of the kernel's own). */
static unsigned long find_inode(const char *table, bool *found)
{
	char line[512];
	unsigned long result = 0;
	FILE *file = fopen(table, "re");

	while (file && fgets(line, sizeof(line), file)) {
		unsigned port;
		unsigned long inode;

		/* sl local:port remote:port st tx:rx tr:when retrnsmt uid timeout inode */
		if (sscanf(line, " %*d: %*[0-9A-Fa-f]:%x %*s %*s %*s %*s %*s %*s %*s %lu", &port,
			   &inode) != 2 ||
		    port != 4791)
			continue;
		*found = true;
		if (inode)
			result = inode;
	}
	if (file)
		fclose(file);
	return result;
}

static bool has_socket(const char *pid, unsigned long inode)
{
	char path[64], link[64], wanted[64];
	struct dirent *e;
	bool found = false;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%.20s/fd", pid);
	snprintf(wanted, sizeof(wanted), "socket:[%lu]", inode);
	dir = opendir(path);
	while (dir && !found && (e = readdir(dir))) {
		char name[64];
		ssize_t n;

		snprintf(name, sizeof(name), "/proc/%.20s/fd/%.20s", pid, e->d_name);
		n = readlink(name, link, sizeof(link) - 1);
		link[n > 0 ? n : 0] = 0;
		found = !strcmp(link, wanted);
	}
	if (dir)
		closedir(dir);
	return found;
}

static void name_of(const char *pid, char *to, size_t size)
{
	char path[64], comm[32] = "?";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%.20s/comm", pid);
	file = fopen(path, "re");
	if (file) {
		if (fgets(comm, sizeof(comm), file))
			comm[strcspn(comm, "\n")] = 0;
		fclose(file);
	}
	snprintf(to, size, "process %.20s (%s)", pid, comm);
}

void port_holder(char *to, size_t size)
{
	bool found = false;
	unsigned long inode = find_inode("/proc/net/udp6", &found);
	struct dirent *e;
	DIR *dir;

	if (!inode)
		inode = find_inode("/proc/net/udp", &found);
	snprintf(to, size, "another program");
	if (access("/sys/module/rdma_rxe", F_OK) == 0 && !inode) {
		snprintf(to, size, "the kernel's rdma_rxe (remove its link, or unload the module)");
		return;
	}
	if (!inode) {
		if (found)
			snprintf(to, size, "the kernel");
		return;
	}
	dir = opendir("/proc");
	while (dir && (e = readdir(dir))) {
		if (e->d_name[0] >= '0' && e->d_name[0] <= '9' && has_socket(e->d_name, inode)) {
			name_of(e->d_name, to, size);
			break;
		}
	}
	if (dir)
		closedir(dir);
}
