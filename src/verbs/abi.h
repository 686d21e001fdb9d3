/* SPDX-License-Identifier: Apache-2.0 */
/*
 * abi.h - the way to include <infiniband/verbs.h> in this folder
 *
 * The library is compiled with hidden visibility. Here every function that the public headers
 * declare gets default visibility, so its definition is exported by merely existing; its version
 * comes from symbols.list. The macros that the header lays over some functions, for programs, are
 * taken away: we define those functions.
 */
#ifndef VERBS_ABI_H
#define VERBS_ABI_H

#pragma GCC visibility push(default)
#include <infiniband/verbs.h>
#undef ibv_get_device_list
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova
#include "verbs/newer.h"
#pragma GCC visibility pop

#include "verbs/versions.h"

#endif
