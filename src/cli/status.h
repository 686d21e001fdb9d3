/* SPDX-License-Identifier: Apache-2.0 */
/* status.h - what `adverb status` says */
#ifndef CLI_STATUS_H
#define CLI_STATUS_H

#include "cli/resource.h"

/** status_print() - everything about a running broker. false: out of memory or @out failed. */
bool status_print(FILE *out, const struct resource_set *set,
		  const struct resource_options *options);
/** status_print_nothing() - no broker runs. */
bool status_print_nothing(FILE *out, const struct resource_options *options);

#endif
