/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork.c - fork support that has nothing to do
 *
 * A NIC reads memory by physical address, so a copy-on-write after fork() hides a program's writes
 * from it. This device reads memory as the program does.
 */
#include <pthread.h>

#include "verbs/objects.h"

/* A child may be made while another thread is in here. */

static void before_fork(void)
{
	verbs_devices_before_fork();
	handles_before_fork();
	verbs_dm_before_fork();
}

static void after_fork(void)
{
	verbs_dm_after_fork();
	handles_after_fork();
	verbs_devices_after_fork();
}

__attribute__((constructor)) static void handle_fork(void)
{
	(void)pthread_atfork(before_fork, after_fork, after_fork);
}

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
