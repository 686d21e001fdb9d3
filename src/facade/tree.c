/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree.c - the plain files that stand for those of /sys/class/infiniband and /dev/infiniband
 *
 * Real files in a real directory: listing, seeking, descriptors and child processes then need no
 * thought. The name of the tree is a hash of what is in it, so trees are never changed, and two
 * processes that make the same one do not disturb each other.
 */

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "facade/paths.h"

/* Raise it when the files change: old trees may still be there. */
#define TREE_EDITION 1

/* Errors stick: the first one is what facade_tree() returns. */
struct tree {
	int root;
	int error;
};

static void make_parents(struct tree *tree, const char *path)
{
	char parent[FACADE_PATH];

	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		size_t length = (size_t)(slash - path);

		memcpy(parent, path, length);
		parent[length] = '\0';
		if (mkdirat(tree->root, parent, 0755) && errno != EEXIST)
			tree->error = -errno;
	}
}

static void put(struct tree *tree, const char *directory, const char *name, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

static void put(struct tree *tree, const char *directory, const char *name, const char *format, ...)
{
	char path[FACADE_PATH], content[256];
	va_list arguments;
	int fd, n;

	if (tree->error)
		return;
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	make_parents(tree, path);
	va_start(arguments, format);
	n = vsnprintf(content, sizeof(content), format, arguments);
	va_end(arguments);
	fd = openat(tree->root, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	if (fd < 0) {
		tree->error = -errno;
		return;
	}
	if (n < 0 || (size_t)n >= sizeof(content) || write(fd, content, (size_t)n) != n)
		tree->error = -EIO;
	close(fd);
}

static void put_link(struct tree *tree, const char *directory, const char *name, const char *target)
{
	char path[FACADE_PATH];

	if (tree->error)
		return;
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	make_parents(tree, path);
	if (symlinkat(target, tree->root, path))
		tree->error = -errno;
}

/* What stands behind the device: the interface, and where in the machine it is. */
static void put_parent(struct tree *tree, const char *base, const struct facade_device *device)
{
	static const char *const places[] = { "numa_node", "local_cpus", "local_cpulist" };
	char directory[256], name[128], target[128];

	snprintf(directory, sizeof(directory), "%s/device", base);
	put(tree, directory, "vendor", "0xffff\n");
	put(tree, directory, "device", "0x0001\n");
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(target, sizeof(target), "/sys/class/net/%s/device/%s", device->ifname,
			 places[i]);
		if (!access(target, R_OK))
			put_link(tree, directory, places[i], target);
		else if (i == 0)
			put(tree, directory, places[i], "-1\n");
	}
	snprintf(name, sizeof(name), "net/%s", device->ifname);
	snprintf(target, sizeof(target), "/sys/class/net/%s", device->ifname);
	put_link(tree, directory, name, target);
}

static void put_port(struct tree *tree, const char *base, const struct facade_device *device)
{
	static const uint8_t empty[16];
	char directory[256], name[64];

	snprintf(directory, sizeof(directory), "%s/ports/1", base);
	put(tree, directory, "link_layer", "Ethernet\n");
	put(tree, directory, "state", device->up ? "4: ACTIVE\n" : "1: DOWN\n");
	put(tree, directory, "phys_state", device->up ? "5: LinkUp\n" : "3: Disabled\n");
	put(tree, directory, "rate", "25 Gb/sec (1X EDR)\n");
	put(tree, directory, "cap_mask", "0x00010000\n");
	put(tree, directory, "lid", "0x0\n");
	put(tree, directory, "lid_mask_count", "0\n");
	put(tree, directory, "sm_lid", "0x0\n");
	put(tree, directory, "sm_sl", "0\n");
	put(tree, directory, "pkeys/0", "0xffff\n");
	for (unsigned i = 0; i < device->gid_count && i < FACADE_GIDS; i++) {
		const uint8_t *g = device->gids[i];

		snprintf(name, sizeof(name), "gids/%u", i);
		put(tree, directory, name,
		    "%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x\n",
		    g[0], g[1], g[2], g[3], g[4], g[5], g[6], g[7], g[8], g[9], g[10], g[11], g[12],
		    g[13], g[14], g[15]);
		if (!memcmp(g, empty, sizeof(empty)))
			continue;
		snprintf(name, sizeof(name), "gid_attrs/types/%u", i);
		put(tree, directory, name, "RoCE v2\n");
		snprintf(name, sizeof(name), "gid_attrs/ndevs/%u", i);
		put(tree, directory, name, "%s\n", device->ifname);
	}
}

static void put_device(struct tree *tree, const struct facade_device *device, int index)
{
	const uint8_t *g = device->node_guid;
	char base[128];

	snprintf(base, sizeof(base), "sys/class/infiniband/%s", device->name);
	put(tree, base, "node_type", "1: CA\n");
	put(tree, base, "node_desc", "%s\n", device->name);
	put(tree, base, "node_guid", "%02x%02x:%02x%02x:%02x%02x:%02x%02x\n", g[0], g[1], g[2],
	    g[3], g[4], g[5], g[6], g[7]);
	put(tree, base, "sys_image_guid", "%02x%02x:%02x%02x:%02x%02x:%02x%02x\n", g[0], g[1], g[2],
	    g[3], g[4], g[5], g[6], g[7]);
	put(tree, base, "fw_ver", "%s\n", ADVERB_VERSION);
	put(tree, base, "board_id", "adverb\n");
	put_parent(tree, base, device);
	put_port(tree, base, device);

	snprintf(base, sizeof(base), "sys/class/infiniband_verbs/%s", device->char_name);
	put(tree, base, "ibdev", "%s\n", device->name);
	put(tree, base, "abi_version", "1\n");
	put(tree, base, "dev", "231:%d\n", 192 + index);
	put_parent(tree, base, device);

	put_link(tree, "dev/infiniband", device->char_name, "/dev/null");
}

static uint64_t mix(uint64_t hash, const void *data, size_t length)
{
	const uint8_t *p = data;

	while (length--)
		hash = (hash ^ *p++) * 0x100000001b3u;
	return hash;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
	(void)status;
	(void)type;
	(void)place;
	remove(path);
	return 0;
}

int facade_tree(const char *directory, const struct facade_device *devices, int count, char *root,
		size_t size)
{
	uint64_t hash =
		mix(0xcbf29ce484222325u + TREE_EDITION, ADVERB_VERSION, sizeof(ADVERB_VERSION));
	struct tree tree = { .error = 0 };
	char building[FACADE_PATH];
	struct stat status;

	hash = mix(hash, devices, (size_t)count * sizeof(*devices));
	if (snprintf(root, size, "%s/facade-%016llx", directory, (unsigned long long)hash) >=
	    (int)size)
		return -ENAMETOOLONG;
	if (!stat(root, &status))
		return 0;

	if (snprintf(building, sizeof(building), "%s/facade-new.XXXXXX", directory) >=
	    (int)sizeof(building))
		return -ENAMETOOLONG;
	if (!mkdtemp(building))
		return -errno;
	tree.root = open(building, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (tree.root < 0) {
		tree.error = -errno;
	} else {
		put(&tree, "sys/class/infiniband_verbs", "abi_version", "6\n");
		for (int i = 0; i < count; i++)
			put_device(&tree, &devices[i], i);
		close(tree.root);
	}
	/* Someone else may have been faster, which is as good. */
	if (!tree.error && rename(building, root) && errno != EEXIST && errno != ENOTEMPTY)
		tree.error = -errno;
	if (!stat(building, &status))
		nftw(building, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	return tree.error;
}
