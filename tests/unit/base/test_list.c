/* SPDX-License-Identifier: Apache-2.0 */
/* test_list.c - lists keep the order of appending, and nodes move between them */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/list.h"
#include "unit/seed.h"

#include <cmocka.h>

#define LISTS 3
#define ITEMS 20

struct item {
	int number;
	struct list_node node;
};

static void empty(void **state)
{
	struct list_node head;
	int seen = 0;

	(void)state;
	list_init(&head);
	assert_true(list_empty(&head));
	list_for_each(node, &head)
		seen++;
	list_for_each_safe(node, &head)
		seen++;
	assert_int_equal(seen, 0);
	/* Unlinking what is on no list, as often as you like. */
	list_unlink(&head);
	list_unlink(&head);
	assert_true(list_empty(&head));
}

static void unlinked_in_the_loop(void **state)
{
	struct item items[ITEMS];
	struct list_node head;
	int seen = 0, left = 0;

	(void)state;
	list_init(&head);
	for (int i = 0; i < ITEMS; i++) {
		items[i].number = i;
		list_append(&head, &items[i].node);
	}
	list_for_each_safe(node, &head) {
		assert_int_equal(list_entry(node, struct item, node)->number, seen);
		if (seen++ % 3)
			list_unlink(node);
	}
	assert_int_equal(seen, ITEMS);
	list_for_each(node, &head)
		assert_int_equal(list_entry(node, struct item, node)->number, 3 * left++);
	assert_int_equal(left, (ITEMS + 2) / 3);
}

/* What the lists should hold. */
struct model {
	int count;
	int numbers[ITEMS];
};

static void take_out(struct model *models, int number)
{
	for (int i = 0; i < LISTS; i++) {
		struct model *m = &models[i];

		for (int at = 0; at < m->count; at++) {
			if (m->numbers[at] != number)
				continue;
			m->count--;
			memmove(&m->numbers[at], &m->numbers[at + 1],
				(size_t)(m->count - at) * sizeof(m->numbers[0]));
			return;
		}
	}
}

static void equal(const struct list_node *head, const struct model *m)
{
	int at = 0;

	assert_int_equal(list_empty(head), m->count == 0);
	for (const struct list_node *node = head->next; node != head; node = node->next) {
		assert_true(at < m->count);
		assert_int_equal(list_entry(node, struct item, node)->number, m->numbers[at++]);
		assert_ptr_equal(node->next->prev, node);
	}
	assert_int_equal(at, m->count);
}

static void equals_arrays(void **state)
{
	struct list_node heads[LISTS];
	struct item items[ITEMS];
	struct model models[LISTS] = { 0 };
	struct random random;

	(void)state;
	seed(&random);
	for (int i = 0; i < LISTS; i++)
		list_init(&heads[i]);
	for (int i = 0; i < ITEMS; i++) {
		items[i].number = i;
		list_init(&items[i].node);
	}
	for (int step = 0; step < 20000; step++) {
		int number = (int)random_below(&random, ITEMS);
		unsigned to = random_below(&random, LISTS + 1);

		list_unlink(&items[number].node);
		take_out(models, number);
		if (to < LISTS) {
			list_append(&heads[to], &items[number].node);
			models[to].numbers[models[to].count++] = number;
		}
		for (int i = 0; i < LISTS; i++)
			equal(&heads[i], &models[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty),
		cmocka_unit_test(unlinked_in_the_loop),
		cmocka_unit_test(equals_arrays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
