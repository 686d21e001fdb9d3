/* SPDX-License-Identifier: Apache-2.0 */
/* port_events.c - prints the asynchronous events of a device's port as they come; ends after the
 * given number */
#include "program.h"

int main(int argc, char **argv)
{
	struct ibv_context *context = open_first();
	struct ibv_async_event event;

	MUST(context);
	printf("ready\n");
	fflush(stdout);
	for (int left = argc > 1 ? atoi(argv[1]) : 1; left; left--) {
		MUST(!ibv_get_async_event(context, &event));
		printf("%s\n", ibv_event_type_str(event.event_type));
		fflush(stdout);
		ibv_ack_async_event(&event);
	}
	return ibv_close_device(context);
}
