/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.c - where programs that are compiled already expect things; compiling this is the test
 *
 * The inline functions of <infiniband/verbs.h> are in every program, so these places can never
 * change. The numbers are for 64-bit machines.
 */
#include "verbs/objects.h"

#ifdef __LP64__
# define AT(type, member, place) \
  _Static_assert(offsetof(struct type, member) == (place), #type "." #member)
# define SIZE(type, size) _Static_assert(sizeof(struct type) == (size), "size of " # type)

/* Programs hold the address of the context and walk backwards from it. */
SIZE(ibv_context, 328);
AT(ibv_context, device, 0);
AT(ibv_context, ops, 8);
AT(ibv_context, cmd_fd, 264);
AT(ibv_context, async_fd, 268);
AT(ibv_context, num_comp_vectors, 272);
AT(ibv_context, mutex, 280);
AT(ibv_context, abi_compat, 320);
SIZE(ibv_context_ops, 256);
AT(ibv_context_ops, poll_cq, 88);
AT(ibv_context_ops, post_send, 200);
_Static_assert(offsetof(struct verbs_context, context) + sizeof(struct ibv_context) ==
		       sizeof(struct verbs_context),
	       "the public context ends the structure");
_Static_assert(offsetof(struct verbs_context, sz) + sizeof(size_t) ==
		       offsetof(struct verbs_context, context),
	       "the size is right before it");
_Static_assert(sizeof(struct verbs_context) >= 648, "no operation that programs know is missing");

SIZE(ibv_device, 664);
AT(ibv_device, name, 24);
AT(ibv_device, dev_name, 88);
AT(ibv_device, dev_path, 152);
AT(ibv_device, ibdev_path, 408);
/* Provider libraries read on behind it, to see whether the device is theirs. */
AT(verbs_device, provider_ops, 664);
_Static_assert(sizeof(struct verbs_device) >= 664 + 48, "they read this far");

/* Ours begin with theirs. */
AT(verbs_device, ibv, 0);
AT(verbs_pd, ibv, 0);
AT(verbs_mr, ibv, 0);
AT(verbs_ah, ibv, 0);
AT(verbs_channel, ibv, 0);
AT(verbs_cq, ex, 0);

/* What programs allocate, or read through pointers that we give them. */
SIZE(ibv_wc, 48);
SIZE(ibv_send_wr, 128);
SIZE(ibv_recv_wr, 32);
SIZE(ibv_sge, 16);
SIZE(ibv_qp_attr, 144);
SIZE(ibv_qp_init_attr_ex, 136);
SIZE(ibv_cq_init_attr_ex, 56);
SIZE(ibv_device_attr, 232);
SIZE(ibv_device_attr_ex, 400);
SIZE(ibv_gid_entry, 32);
SIZE(ibv_qp, 160);
SIZE(ibv_cq, 128);
SIZE(ibv_cq_ex, 288);
SIZE(ibv_srq, 128);
SIZE(ibv_mr, 48);
SIZE(ibv_pd, 16);
SIZE(ibv_ah, 24);
SIZE(ibv_mw, 32);
SIZE(ibv_dm, 32);
SIZE(ibv_comp_channel, 16);
_Static_assert(sizeof(struct ibv_qp_ex) >= 352, "no operation that programs know is missing");
_Static_assert(sizeof(struct ibv_port_attr) >= 52, "no attribute that programs know is missing");
#endif

int main(void)
{
	return 0;
}
