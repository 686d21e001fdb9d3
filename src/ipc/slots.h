/* SPDX-License-Identifier: Apache-2.0 */
/* slots.h - a QP number is a slot (7 bits) and an index in it (17 bits); each process has a slot of
 * its own */
#ifndef IPC_SLOTS_H
#define IPC_SLOTS_H

#define SLOT_SHIFT     17
#define SLOT_COUNT     128
#define SLOT_GSI       0 /* QP 0 and 1, and whatever is no RoCE packet at all */
#define SLOT_FIRST     1 /* of those that programs get */
#define SLOT_LAST      126
#define SLOT_MULTICAST 127 /* QP 0xffffff */

#endif
