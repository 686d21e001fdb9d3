/* SPDX-License-Identifier: Apache-2.0 */
/* resource_source.h - who uses adverb on this host: the broker's clients and their ledgers */
#ifndef CLI_RESOURCE_SOURCE_H
#define CLI_RESOURCE_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "restrack/ledger.h"

struct resource_client {
	uint32_t pid; /* as this process would call it; 0: not known */
	uint32_t slot;
	char comm[16];
	bool has_ledger; /* reader is open */
	struct ledger_reader reader;
	void *mapping; /* unmapped by resource_source_close() */
	size_t mapping_size;
};

struct resource_source {
	uint32_t broker_pid;
	uint32_t slots, slots_used; /* in this network namespace */
	struct resource_client *clients;
	unsigned count;
};

/**
 * resource_source_open() - ask the broker. Starts none.
 *
 * A client whose ledger cannot be used (gone, not sealed, another version) is listed without.
 * Return: 0; -ENOENT: no broker runs; another negative errno.
 */
int resource_source_open(struct resource_source *source);
/**
 * resource_client_map() - read the ledger behind @fd, which stays the caller's.
 * -EINVAL: not a ledger, or a file that could be cut off under the reader's feet.
 */
int resource_client_map(struct resource_client *client, int fd);
void resource_source_close(struct resource_source *source);

#endif
