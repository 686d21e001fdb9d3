/* SPDX-License-Identifier: Apache-2.0 */
/* deadlines.c - a pairing heap; previous is the left sibling, or the parent for a first child */
#include "base/deadlines.h"

#include <stddef.h>

void deadline_init(struct deadline *d, void (*expired)(struct deadline *d))
{
	*d = (struct deadline){ .at_ns = NEVER, .expired = expired };
}

/* The earlier of two trees takes the other as its first child. */
static struct deadline *merge(struct deadline *a, struct deadline *b)
{
	if (!a)
		return b;
	if (!b)
		return a;
	if (b->at_ns < a->at_ns) {
		struct deadline *t = a;

		a = b;
		b = t;
	}
	b->sibling = a->child;
	if (b->sibling)
		b->sibling->previous = b;
	b->previous = a;
	a->child = b;
	a->sibling = a->previous = NULL;
	return a;
}

/* Merge a list of siblings in pairs from the left, then all from the right: this is what makes it
 * fast. */
static struct deadline *merge_siblings(struct deadline *first)
{
	struct deadline *pairs = NULL, *root = NULL;

	while (first) {
		struct deadline *a = first, *b = a->sibling;

		first = b ? b->sibling : NULL;
		a->sibling = a->previous = NULL;
		if (b)
			b->sibling = b->previous = NULL;
		a = merge(a, b);
		a->sibling = pairs;
		pairs = a;
	}
	while (pairs) {
		struct deadline *next = pairs->sibling;

		pairs->sibling = NULL;
		root = merge(root, pairs);
		pairs = next;
	}
	return root;
}

void deadline_disarm(struct deadlines *all, struct deadline *d)
{
	struct deadline *rest;

	if (!deadline_armed(d))
		return;
	rest = merge_siblings(d->child);
	if (all->root == d) {
		all->root = rest;
	} else {
		if (d->previous->child == d)
			d->previous->child = d->sibling;
		else
			d->previous->sibling = d->sibling;
		if (d->sibling)
			d->sibling->previous = d->previous;
		all->root = merge(all->root, rest);
	}
	d->child = d->sibling = d->previous = NULL;
	d->at_ns = NEVER;
}

void deadline_arm(struct deadlines *all, struct deadline *d, uint64_t at_ns)
{
	deadline_disarm(all, d);
	if (at_ns == NEVER)
		return;
	d->at_ns = at_ns;
	all->root = merge(all->root, d);
}

uint64_t deadlines_next(const struct deadlines *all)
{
	return all->root ? all->root->at_ns : NEVER;
}

void deadlines_expire(struct deadlines *all, uint64_t now_ns)
{
	while (all->root && all->root->at_ns <= now_ns) {
		struct deadline *d = all->root;

		deadline_disarm(all, d);
		d->expired(d);
	}
}
