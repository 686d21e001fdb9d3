/* SPDX-License-Identifier: Apache-2.0 */
/*
 * descriptors.h - which file descriptors of this process are the library's
 *
 * A program may close numbers that it never opened: "all from 3 up" is a habit. What it then opens
 * gets the same numbers, and packets must not go there. The library keeps book here of what is its
 * own; its functions in front of close() and the like look it up. Async-signal-safe, without locks.
 *
 * Own descriptors are nobody else's business. Lent ones (of completion channels and contexts) the
 * program knows and may close.
 */
#ifndef BASE_DESCRIPTORS_H
#define BASE_DESCRIPTORS_H

#include <stdbool.h>

/** descriptors_own() - @fd is the library's from now on; negative numbers and those above 2^20 are
 * ignored. Return: @fd */
int descriptors_own(int fd);
/** descriptors_disown() - before the library closes it itself. Return: @fd */
int descriptors_disown(int fd);
bool descriptors_is_own(int fd);
/** descriptors_next_own() - the first of ours that is @from or higher, or -1. */
int descriptors_next_own(unsigned from);

/** descriptors_lend() - the program gets @fd to know. Return: @fd */
int descriptors_lend(int fd);
/** descriptors_take_back() - Return: false when the program closed or replaced it: the number is
 * not ours to touch. */
bool descriptors_take_back(int fd);
bool descriptors_is_lent(int fd);
/** descriptors_forget_lent() - the program closed those from @first to @last. */
void descriptors_forget_lent(unsigned first, unsigned last);

#endif
