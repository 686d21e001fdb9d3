/* SPDX-License-Identifier: Apache-2.0 */
/* device.c - the list of devices: one for each network interface */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/objects.h"

/*
 * Programs compare these pointers from one call to the next and use them after the list is freed,
 * so a device once listed stays for the life of the process.
 */
static struct verbs_device *devices[RVT_MAX_PORTS];
static pthread_mutex_t devices_lock = PTHREAD_MUTEX_INITIALIZER;

/* What libraries of other providers compare with their own: an address that is nobody else's. */
static const char provider_cookie[64];

static struct verbs_device *device_of(struct rvt_port *port)
{
	struct verbs_device *device = devices[port->index];

	if (device)
		return device;
	device = calloc(1, sizeof(*device));
	if (!device)
		return NULL;
	device->ibv.node_type = IBV_NODE_CA;
	device->ibv.transport_type = IBV_TRANSPORT_IB;
	snprintf(device->ibv.name, sizeof(device->ibv.name), "%s", port->name);
	snprintf(device->ibv.dev_name, sizeof(device->ibv.dev_name), "uverbs%u", port->index);
	snprintf(device->ibv.dev_path, sizeof(device->ibv.dev_path),
		 "/sys/class/infiniband_verbs/uverbs%u", port->index);
	snprintf(device->ibv.ibdev_path, sizeof(device->ibv.ibdev_path), "/sys/class/infiniband/%s",
		 port->name);
	device->provider_ops = provider_cookie;
	device->port = port;
	devices[port->index] = device;
	return device;
}

struct ibv_device **ibv_get_device_list(int *num_devices)
{
	struct rvt_port *ports[RVT_MAX_PORTS];
	unsigned count = lane_ports(ports), n = 0;
	struct ibv_device **list = calloc(count + 1, sizeof(struct ibv_device *));

	if (num_devices)
		*num_devices = 0;
	if (!list)
		return fail(-ENOMEM);
	pthread_mutex_lock(&devices_lock);
	for (unsigned i = 0; i < count; i++) {
		struct verbs_device *device = device_of(ports[i]);

		if (device)
			list[n++] = &device->ibv;
	}
	pthread_mutex_unlock(&devices_lock);
	if (num_devices)
		*num_devices = (int)n;
	return list;
}

void verbs_devices_before_fork(void)
{
	pthread_mutex_lock(&devices_lock);
}

void verbs_devices_after_fork(void)
{
	pthread_mutex_unlock(&devices_lock);
}

void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

__be64 ibv_get_device_guid(struct ibv_device *device)
{
	return ((struct verbs_device *)(void *)device)->port->guid;
}

int ibv_get_device_index(struct ibv_device *device)
{
	return (int)((struct verbs_device *)(void *)device)->port->index;
}
