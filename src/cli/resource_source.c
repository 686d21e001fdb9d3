/* SPDX-License-Identifier: Apache-2.0 */
/* resource_source.c - ask the broker who its clients are */
#include "cli/resource_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/client.h"

struct answer {
	struct resource_source *source;
	int error;
};

static void on_status(void *context, const struct ipc_status *status)
{
	struct answer *answer = context;

	answer->source->broker_pid = status->pid;
	answer->source->slots = status->slots;
	answer->source->slots_used = status->slots_used;
}

/* A program may call itself anything, and this goes to a terminal. */
static void copy_comm(char *to, size_t size, const char *from)
{
	size_t n = 0;

	for (; from && from[n] && n + 1 < size; n++)
		to[n] = from[n] < 0x20 || from[n] > 0x7e ? '?' : from[n];
	to[n] = 0;
}

static void on_client(void *context, const struct ipc_client_info *info)
{
	struct answer *answer = context;
	struct resource_source *source = answer->source;
	struct resource_client *client;

	client = reallocarray(source->clients, source->count + 1, sizeof(*client));
	if (!client) {
		answer->error = -ENOMEM;
		return;
	}
	source->clients = client;
	client += source->count++;
	memset(client, 0, sizeof(*client));
	client->pid = info->pid;
	client->slot = info->slot;
	copy_comm(client->comm, sizeof(client->comm), info->comm);
	/* Without one it is listed all the same. */
	if (info->ledger >= 0)
		(void)resource_client_map(client, info->ledger);
}

int resource_source_open(struct resource_source *source)
{
	struct answer answer = { .source = source };
	int ret;

	memset(source, 0, sizeof(*source));
	ret = ipc_broker_list(on_status, on_client, &answer);
	if (!ret)
		ret = answer.error;
	if (ret)
		resource_source_close(source);
	return ret;
}
