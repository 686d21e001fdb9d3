/* SPDX-License-Identifier: Apache-2.0 */
/* link.c - making and ending a link */
#include <errno.h>
#include <stdlib.h>

#include "link/private.h"

int link_open(struct link **ret, const struct link_config *config)
{
	struct link *link = calloc(1, sizeof(*link));

	if (!link)
		return -ENOMEM;
	link->config = *config;
	link->arena = malloc(ARENA_SIZE);
	if (!link->arena || loop_init(&link->loop) || receiver_init(&link->receiver)) {
		link_close(link);
		return -ENOMEM;
	}
	*ret = link;
	return 0;
}

void link_close(struct link *link)
{
	if (!link)
		return;
	ways_free(link);
	free(link->arena);
	free(link->loop.memory);
	free(link->receiver.memory);
	free(link);
}

void link_rebind(struct link *link, int socket)
{
	link->config.socket = socket;
}
