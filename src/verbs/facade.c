/* SPDX-License-Identifier: Apache-2.0 */
/* facade.c - tell the facade which devices there are */
#include <stdio.h>
#include <string.h>

#include "facade/devices.h"
#include "runtime/lane.h"

_Static_assert(FACADE_GIDS >= RVT_GID_TABLE && FACADE_DEVICES >= RVT_MAX_PORTS,
	       "the facade has room for every device");

/* The names are those of ibv_get_device_list(). */
static int list_devices(struct facade_device *out, int max)
{
	struct rvt_port *ports[RVT_MAX_PORTS];
	unsigned count = lane_ports(ports);
	int n = 0;

	for (unsigned i = 0; i < count && n < max; i++, n++) {
		const struct rvt_port *port = ports[i];
		struct facade_device *device = &out[n];

		snprintf(device->name, sizeof(device->name), "%s", port->name);
		snprintf(device->char_name, sizeof(device->char_name), "uverbs%u", port->index);
		snprintf(device->ifname, sizeof(device->ifname), "%s", port->ifname);
		memcpy(device->node_guid, &port->guid, sizeof(device->node_guid));
		device->up = port->up;
		device->gid_count = RVT_GID_TABLE;
		for (unsigned g = 0; g < RVT_GID_TABLE; g++)
			memcpy(device->gids[g], port->gids[g].raw, sizeof(device->gids[g]));
	}
	return n;
}

/* Nothing but a pointer is set here: the library sits in every child process. */
__attribute__((constructor)) static void offer_devices(void)
{
	facade_set_devices(list_devices);
}
