/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork.c - fork support that has nothing to do
 *
 * A NIC reads memory by physical address, so a copy-on-write after fork() hides a program's writes
 * from it. This device reads memory as the program does.
 */

#include "verbs/abi.h"

int ibv_fork_init(void)
{
	return 0;
}

enum ibv_fork_status ibv_is_fork_initialized(void)
{
	return IBV_FORK_UNNEEDED;
}

int ibv_dontfork_range(void *base, size_t size)
{
	(void)base;
	(void)size;
	return 0;
}

int ibv_dofork_range(void *base, size_t size)
{
	(void)base;
	(void)size;
	return 0;
}
