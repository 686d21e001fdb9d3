/* SPDX-License-Identifier: Apache-2.0 */
/*
 * devices.h - what the facade must know of the devices
 *
 * Some programs look at /sys/class/infiniband and /dev/infiniband instead of asking the library:
 * UCX wants a character device of the device's name, NCCL and UCX the types and interfaces of the
 * GIDs, test suites the name of the network interface. The facade answers for these paths.
 */
#ifndef FACADE_DEVICES_H
#define FACADE_DEVICES_H

#include <stdbool.h>
#include <stdint.h>

#define FACADE_DEVICES 16
#define FACADE_GIDS    64

/* One device with one port. A list is compared bytewise with the one before: no stray bytes. */
struct facade_device {
	char name[64];	    /* /sys/class/infiniband/<name> */
	char char_name[64]; /* /dev/infiniband/<char_name> */
	char ifname[16];
	uint8_t node_guid[8];
	uint32_t up;
	uint32_t gid_count;	       /* size of the table */
	uint8_t gids[FACADE_GIDS][16]; /* all zero: empty */
};

/**
 * facade_set_devices() - @list fills @out with at most @max devices and returns how many; 0 or
 * negative: there are none, and the real paths show.
 *
 * Called at most once a second, from whichever thread asks for one of the paths. @out is zeroed.
 * @list may use the file system, but gets the real files. NULL: there is no list, which is what
 * holds before the first call.
 */
void facade_set_devices(int (*list)(struct facade_device *out, int max));

#endif
