/* SPDX-License-Identifier: Apache-2.0 */
/* descriptors.h - descriptors that the program knows: of channels, contexts and their events */
#ifndef VERBS_DESCRIPTORS_H
#define VERBS_DESCRIPTORS_H

/** verbs_lend() - the program gets to know @fd, and may close it. Return: @fd */
int verbs_lend(int fd);
/** verbs_close_lent() - closes it, unless the program did: then the number may be its own file. */
void verbs_close_lent(int fd);

#endif
