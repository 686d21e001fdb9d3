/* SPDX-License-Identifier: Apache-2.0 */
/* list.h - intrusive doubly linked lists */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list_node {
	struct list_node *prev, *next;
};

#define container_of(pointer, type, member) \
 ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

/** list_init() - an empty list head, or a node that is on no list (list_unlink() of it is
 * harmless). */
static inline void list_init(struct list_node *n)
{
	n->prev = n->next = n;
}

static inline bool list_empty(const struct list_node *head)
{
	return head->next == head;
}

/** list_append() - put @n, which is on no list, at the end. */
static inline void list_append(struct list_node *head, struct list_node *n)
{
	n->prev = head->prev;
	n->next = head;
	head->prev->next = n;
	head->prev = n;
}

/** list_unlink() - take @n out of whatever list it is on; it may be put on another afterwards. */
static inline void list_unlink(struct list_node *n)
{
	n->prev->next = n->next;
	n->next->prev = n->prev;
	list_init(n);
}

#define list_entry(node, type, member) container_of(node, type, member)

#define list_for_each(node, head) \
 for (struct list_node *node = (head)->next; node != (head); node = node->next)

/** list_for_each_safe() - @node may be unlinked in the body. */
#define list_for_each_safe(node, head)                                                  \
 for (struct list_node *node = (head)->next, *node##_next = node->next; node != (head); \
      node = node##_next, node##_next = node->next)

#endif
