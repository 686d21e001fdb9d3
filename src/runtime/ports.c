/* SPDX-License-Identifier: Apache-2.0 */
/* ports.c - which interfaces are devices, in which order, under which names, with which addresses
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "restrack/ledger.h"
#include "runtime/lane.h"
#include "runtime/private.h"
#include "wire/mtu.h"

#define MAX_ADDRESSES RVT_GID_TABLE

/* An interface as found now. */
struct found {
	char name[IFNAMSIZ];
	char device[RVT_PORT_NAME]; /* empty: the default name */
	bool up, loopback, default_route, has_mac;
	uint8_t mac[6];
	uint32_t mtu, index;
	struct gid gids[MAX_ADDRESSES];
	unsigned gid_count;
};

#define MAX_FOUND 64

static struct rvt_port *all_ports[RVT_MAX_PORTS];
static unsigned port_count;
static pthread_mutex_t ports_lock = PTHREAD_MUTEX_INITIALIZER;

static struct found *find(struct found *all, unsigned *count, const char *name)
{
	for (unsigned i = 0; i < *count; i++) {
		if (!strcmp(all[i].name, name))
			return &all[i];
	}
	if (*count == MAX_FOUND)
		return NULL;
	memset(&all[*count], 0, sizeof(all[0]));
	snprintf(all[*count].name, sizeof(all[0].name), "%s", name);
	return &all[(*count)++];
}

static void add_gid(struct found *f, const struct gid *gid)
{
	for (unsigned i = 0; i < f->gid_count; i++) {
		if (gid_equal(&f->gids[i], gid))
			return;
	}
	if (f->gid_count < MAX_ADDRESSES)
		f->gids[f->gid_count++] = *gid;
}

static void add_address(struct found *f, const struct sockaddr *address)
{
	struct gid gid;

	if (address->sa_family == AF_INET) {
		const struct sockaddr_in *v4 = (const void *)address;

		memset(&gid, 0, sizeof(gid));
		gid.raw[10] = gid.raw[11] = 0xff;
		memcpy(gid.raw + 12, &v4->sin_addr, 4);
		/* IPv4 first: programs that know one index use 0 and expect it reachable. */
		if (f->gid_count && !gid_is_ipv4(&f->gids[0]) && f->gid_count < MAX_ADDRESSES) {
			memmove(&f->gids[1], &f->gids[0], f->gid_count * sizeof(gid));
			f->gids[0] = gid;
			f->gid_count++;
			return;
		}
		add_gid(f, &gid);
	} else if (address->sa_family == AF_INET6) {
		const struct sockaddr_in6 *v6 = (const void *)address;

		memcpy(gid.raw, &v6->sin6_addr, 16);
		add_gid(f, &gid);
	} else if (address->sa_family == AF_PACKET) {
		const struct sockaddr_ll *ll = (const void *)address;
		static const uint8_t none[6];

		if (ll->sll_halen == 6 && memcmp(ll->sll_addr, none, 6)) {
			memcpy(f->mac, ll->sll_addr, 6);
			f->has_mac = true;
		}
	}
}

static void mark_default_route(struct found *all, unsigned count)
{
	FILE *file = fopen("/proc/net/route", "re");
	char line[256], name[32];
	unsigned destination;

	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%31s %x", name, &destination) != 2 || destination)
			continue;
		for (unsigned i = 0; i < count; i++) {
			if (!strcmp(all[i].name, name))
				all[i].default_route = true;
		}
	}
	fclose(file);
}

static void read_mtu(struct found *f, int fd)
{
	struct ifreq request;

	f->mtu = 1500;
	memset(&request, 0, sizeof(request));
	memcpy(request.ifr_name, f->name, sizeof(f->name));
	if (ioctl(fd, SIOCGIFMTU, &request) == 0 && request.ifr_mtu > 0)
		f->mtu = (uint32_t)request.ifr_mtu;
	if (ioctl(fd, SIOCGIFINDEX, &request) == 0 && request.ifr_ifindex > 0)
		f->index = (uint32_t)request.ifr_ifindex;
}

/* Return: false when we cannot look; then nothing is known to have changed. */
static bool find_interfaces(struct found *all, unsigned *ret)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifaddrs *list, *a;
	unsigned count = 0;

	if (fd < 0)
		return false;
	if (getifaddrs(&list)) {
		close(fd);
		return false;
	}
	for (a = list; a; a = a->ifa_next) {
		struct found *f = a->ifa_name ? find(all, &count, a->ifa_name) : NULL;

		if (!f)
			continue;
		f->up = (a->ifa_flags & IFF_UP) && (a->ifa_flags & IFF_RUNNING);
		f->loopback = a->ifa_flags & IFF_LOOPBACK;
		if (a->ifa_addr)
			add_address(f, a->ifa_addr);
	}
	freeifaddrs(list);
	for (unsigned i = 0; i < count; i++)
		read_mtu(&all[i], fd);
	close(fd);
	mark_default_route(all, count);
	*ret = count;
	return true;
}

static int rank(const struct found *f)
{
	return f->default_route ? 0 : f->loopback ? 2 : 1;
}

/* What ADVERB_DEVICES asks for, "name=interface" or "interface" separated by commas; without it,
 * all with addresses. */
static unsigned choose(struct found *all, unsigned count, struct found *chosen)
{
	const char *text = getenv("ADVERB_DEVICES");
	unsigned n = 0;

	if (!text || !*text) {
		for (int r = 0; r < 3; r++) {
			for (unsigned i = 0; i < count && n < RVT_MAX_PORTS; i++) {
				if (all[i].gid_count && all[i].up && rank(&all[i]) == r)
					chosen[n++] = all[i];
			}
		}
		return n;
	}
	while (*text && n < RVT_MAX_PORTS) {
		size_t length = strcspn(text, ",");
		char item[RVT_PORT_NAME + IFNAMSIZ + 2];
		char *interface, *equals;
		unsigned i;

		snprintf(item, sizeof(item), "%.*s", (int)length, text);
		text += length + (text[length] == ',');
		if (!*item)
			continue;
		equals = strchr(item, '=');
		interface = equals ? equals + 1 : item;
		if (equals)
			*equals = 0;
		for (i = 0; i < count && strcmp(all[i].name, interface) != 0; i++)
			;
		if (i == count) {
			lane_log(LANE_LOG_ERROR, "ADVERB_DEVICES: there is no interface %s",
				 interface);
			continue;
		}
		if (equals && (!*item || strlen(item) >= RVT_PORT_NAME || strchr(item, '/'))) {
			lane_log(LANE_LOG_ERROR, "ADVERB_DEVICES: \"%s\" cannot be a device name",
				 item);
			continue;
		}
		chosen[n] = all[i];
		if (equals)
			snprintf(chosen[n].device, sizeof(chosen[n].device), "%s", item);
		n++;
	}
	return n;
}

static uint64_t mix(uint64_t hash, const void *data, size_t length)
{
	const uint8_t *p = data;

	while (length--)
		hash = (hash ^ *p++) * 0x100000001b3u;
	return hash;
}

/* EUI-64 of the MAC; an interface without one gets a number that is the same in all processes of
 * the namespace. */
static uint64_t guid_of(const struct found *f, const char *device)
{
	uint8_t guid[8];
	uint64_t value;

	if (f->has_mac && !f->device[0]) {
		guid[0] = f->mac[0] ^ 2;
		guid[1] = f->mac[1];
		guid[2] = f->mac[2];
		guid[3] = 0xff;
		guid[4] = 0xfe;
		guid[5] = f->mac[3];
		guid[6] = f->mac[4];
		guid[7] = f->mac[5];
	} else {
		char host[64] = "";
		uint64_t hash;

		gethostname(host, sizeof(host) - 1);
		hash = mix(0xcbf29ce484222325u, host, strlen(host));
		hash = mix(hash, device, strlen(device));
		memcpy(guid, &hash, sizeof(guid));
		guid[0] = 0x02;
	}
	memcpy(&value, guid, sizeof(value));
	return value;
}

/* An address keeps its index while it is there; others fill the holes. Return: something changed.
 */
static bool update_gids(struct rvt_port *port, const struct found *f)
{
	bool changed = false;

	for (unsigned i = 0; i < RVT_GID_TABLE; i++) {
		bool still = false;

		for (unsigned j = 0; j < f->gid_count; j++)
			still |= gid_equal(&port->gids[i], &f->gids[j]);
		if (!still && !gid_is_zero(&port->gids[i])) {
			memset(&port->gids[i], 0, sizeof(port->gids[i]));
			changed = true;
		}
	}
	for (unsigned j = 0; j < f->gid_count; j++) {
		unsigned hole = RVT_GID_TABLE, i;

		for (i = 0; i < RVT_GID_TABLE && !gid_equal(&port->gids[i], &f->gids[j]); i++) {
			if (hole == RVT_GID_TABLE && gid_is_zero(&port->gids[i]))
				hole = i;
		}
		if (i == RVT_GID_TABLE && hole < RVT_GID_TABLE) {
			port->gids[hole] = f->gids[j];
			changed = true;
		}
	}
	return changed;
}

/* Contexts of the device learn what changed, with the lane locked; without a lane there are none.
 */
static void tell(struct lane *lane, struct rvt_port *port, enum rvt_event event)
{
	struct restrack_entry *e;

	if (!lane)
		return;
	lane_log(LANE_LOG_INFO, "%s: %s", port->name,
		 event == RVT_EVENT_PORT_ACTIVE ? "up"
		 : event == RVT_EVENT_PORT_ERR	? "down"
						: "addresses changed");
	for (uint32_t id = 0; (e = restrack_next(&lane->restrack, RESTRACK_CTX, &id)); id++) {
		struct rvt_context *context = container_of(e, struct rvt_context, res);

		if (context->port == port)
			lane->events.asynchronous(context, event, NULL, NULL, NULL);
	}
	ledger_set_port(lane->ledger, port->index, port->name, port->ifname,
			lane_interface_index(port), port->guid, port->up);
}

static void update_port(struct lane *lane, struct rvt_port *port, const struct found *f)
{
	bool new = !port->max_mtu, was_up = port->up;

	port->netdev_mtu = f->mtu;
	port->interface = f->index;
	port->max_mtu = RVT_MTU_4096;
	port->active_mtu = (enum rvt_mtu)mtu_from_netdev(f->mtu);
	port->up = f->up;
	if (update_gids(port, f) && !new)
		tell(lane, port, RVT_EVENT_GID_CHANGE);
	if (!new &&was_up != port->up) {
		if (!port->up && lane)
			rvt_count(&lane->device, RVT_COUNT_link_downed);
		tell(lane, port, port->up ? RVT_EVENT_PORT_ACTIVE : RVT_EVENT_PORT_ERR);
	}
}

static struct rvt_port *port_of(const struct found *f)
{
	char device[RVT_PORT_NAME];
	struct rvt_port *port;

	if (f->device[0])
		snprintf(device, sizeof(device), "%s", f->device);
	else
		snprintf(device, sizeof(device), "adverb_%s", f->name);
	for (unsigned i = 0; i < port_count; i++) {
		if (!strcmp(all_ports[i]->name, device))
			return all_ports[i];
	}
	if (port_count == RVT_MAX_PORTS)
		return NULL;
	port = calloc(1, sizeof(*port));
	if (!port)
		return NULL;
	memcpy(port->name, device, sizeof(device));
	memcpy(port->ifname, f->name, sizeof(port->ifname));
	port->index = port_count;
	port->guid = guid_of(f, device);
	all_ports[port_count++] = port;
	return port;
}

/* All that were there when we could look. */
static unsigned ports_as_known(struct rvt_port *ports[RVT_MAX_PORTS])
{
	unsigned n = 0;

	for (unsigned i = 0; i < port_count; i++) {
		if (all_ports[i]->interface)
			ports[n++] = all_ports[i];
	}
	return n;
}

unsigned lane_ports(struct rvt_port *ports[RVT_MAX_PORTS])
{
	static struct found all[MAX_FOUND], chosen[RVT_MAX_PORTS];
	bool there[RVT_MAX_PORTS] = { false };
	struct lane *lane;
	unsigned count, n = 0;
	int cancel_state;

	/* A cancelled thread would leave this locked. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	pthread_mutex_lock(&ports_lock);
	if (!find_interfaces(all, &count)) {
		n = ports_as_known(ports);
		goto unlock;
	}
	count = choose(all, count, chosen);
	/* The engine looks at addresses, too. */
	lane = lane_lock_if_running();
	for (unsigned i = 0; i < count; i++) {
		struct rvt_port *port = port_of(&chosen[i]);

		if (!port)
			continue;
		update_port(lane, port, &chosen[i]);
		there[port->index] = true;
		ports[n++] = port;
	}
	/* An interface that went away leaves a device that is down and has no address. */
	for (unsigned i = 0; i < port_count; i++) {
		static const struct found gone = { .mtu = 1500 };

		if (!there[i])
			update_port(lane, all_ports[i], &gone);
	}
	if (lane)
		lane_leave();
unlock:
	pthread_mutex_unlock(&ports_lock);
	pthread_setcancelstate(cancel_state, NULL);
	return n;
}

unsigned lane_interface_index(const struct rvt_port *port)
{
	return if_nametoindex(port->ifname);
}

unsigned ports_interface_of(void *context, const struct gid *address)
{
	(void)context;
	for (unsigned i = 0; i < port_count; i++) {
		for (unsigned j = 0; j < RVT_GID_TABLE; j++) {
			if (gid_equal(&all_ports[i]->gids[j], address))
				return if_nametoindex(all_ports[i]->ifname);
		}
	}
	return 0;
}

void ports_before_fork(void)
{
	pthread_mutex_lock(&ports_lock);
}

void ports_after_fork(void)
{
	pthread_mutex_unlock(&ports_lock);
}
