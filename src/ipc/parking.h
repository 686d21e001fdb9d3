/* SPDX-License-Identifier: Apache-2.0 */
/* parking.h - the sockets of all slots, which lie in the queue of a socket pair and are never taken
 * out */
#ifndef IPC_PARKING_H
#define IPC_PARKING_H

#include "base/report.h"

/**
 * ipc_parking_peek() - a copy of the socket that lies at @slot; the queue stays as it is.
 * @lock: an opening of the slots file; where to look is set on the pair, which all processes share,
 * so they take turns by a lock of one byte in there. Return: a descriptor (close on exec), or
 * -EINVAL when it is no such queue.
 */
int ipc_parking_peek(int parking, int lock, unsigned slot) MUST_USE;

#endif
