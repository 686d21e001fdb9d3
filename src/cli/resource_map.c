/* SPDX-License-Identifier: Apache-2.0 */
/* resource_map.c - other processes' ledgers in this one's memory */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "cli/resource_source.h"

int resource_client_map(struct resource_client *client, int fd)
{
	struct stat status;
	void *mapping;
	int seals, ret;

	if (fstat(fd, &status))
		return -errno;
	/* Only a seal promises that reading a page will not end in SIGBUS. */
	seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0 || !(seals & F_SEAL_SHRINK) || status.st_size < (off_t)ledger_size())
		return -EINVAL;
	mapping = mmap(NULL, ledger_size(), PROT_READ, MAP_SHARED, fd, 0);
	if (mapping == MAP_FAILED)
		return -errno;
	ret = ledger_reader_open(&client->reader, mapping, ledger_size());
	if (ret) {
		munmap(mapping, ledger_size());
		return ret;
	}
	client->mapping = mapping;
	client->mapping_size = ledger_size();
	client->has_ledger = true;
	return 0;
}

void resource_source_close(struct resource_source *source)
{
	for (unsigned i = 0; i < source->count; i++) {
		if (source->clients[i].mapping)
			munmap(source->clients[i].mapping, source->clients[i].mapping_size);
	}
	free(source->clients);
	memset(source, 0, sizeof(*source));
}
