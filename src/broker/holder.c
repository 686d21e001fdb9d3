/* SPDX-License-Identifier: Apache-2.0 */
/* holder.c - who has the port? Read from /proc, as far as it shows */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker/broker.h"

struct socket_entry {
	unsigned long inode;
	unsigned uid;
	bool found;
};

/* The socket that is bound to UDP port 4791. */
static void find_socket(const char *table, struct socket_entry *entry)
{
	char line[512];
	FILE *file = fopen(table, "re");

	while (file && !entry->found && fgets(line, sizeof(line), file)) {
		unsigned port;

		/* sl local:port remote:port st tx:rx tr:when retrnsmt uid timeout inode */
		if (sscanf(line, " %*d: %*[0-9A-Fa-f]:%x %*s %*s %*s %*s %*s %u %*s %lu", &port,
			   &entry->uid, &entry->inode) == 3 &&
		    port == 4791)
			entry->found = true;
	}
	if (file)
		fclose(file);
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
	struct socket_entry entry = { 0 };
	struct dirent *e;
	DIR *dir;

	find_socket("/proc/net/udp6", &entry);
	if (!entry.found)
		find_socket("/proc/net/udp", &entry);
	/* A socket that no process has is the kernel's; but others' processes do not show theirs.
	 */
	if (access("/sys/module/rdma_rxe", F_OK) == 0)
		snprintf(to, size, "the kernel's rdma_rxe (delete its link, or unload it)");
	else if (entry.found && entry.uid != geteuid())
		snprintf(to, size, "a program of user %u", entry.uid);
	else
		snprintf(to, size, "another program");
	dir = entry.found && entry.inode ? opendir("/proc") : NULL;
	while (dir && (e = readdir(dir))) {
		if (e->d_name[0] >= '0' && e->d_name[0] <= '9' &&
		    has_socket(e->d_name, entry.inode)) {
			name_of(e->d_name, to, size);
			break;
		}
	}
	if (dir)
		closedir(dir);
}
