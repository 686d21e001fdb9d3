/* SPDX-License-Identifier: Apache-2.0 */
/* context.c - an opened device, and what is asked of it */
#include <arpa/inet.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "verbs/descriptors.h"
#include "verbs/objects.h"

#define VENDOR_PART 1

/* Slots of the table that old programs call without asking whether they are there. */
static int query_device_op(struct ibv_context *context, struct ibv_device_attr *attr)
{
	return ibv_query_device(context, attr);
}

static int query_port_op(struct ibv_context *context, uint8_t port,
			 struct _compat_ibv_port_attr *attr)
{
	return ibv_query_port(context, port, attr);
}

/* The clock of completion timestamps. */
static int query_rt_values(struct ibv_context *context, struct ibv_values_ex *values)
{
	uint32_t asked;

	if (!context || !values)
		return EINVAL;
	asked = values->comp_mask;
	values->comp_mask = 0;
	if (asked & IBV_VALUES_MASK_RAW_CLOCK) {
		if (clock_gettime(CLOCK_MONOTONIC, &values->raw_clock))
			return errno;
		values->comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
	}
	return 0;
}

static void fill_tables(struct verbs_context *v)
{
	v->sz = sizeof(*v);
	v->context.abi_compat = __VERBS_ABI_IS_EXTENDED;
	v->context.ops._compat_query_device = query_device_op;
	v->context.ops._compat_query_port = query_port_op;
	v->context.ops.alloc_mw = verbs_alloc_mw;
	v->context.ops.bind_mw = verbs_bind_mw;
	v->context.ops.dealloc_mw = verbs_dealloc_mw;
	v->context.ops.poll_cq = verbs_poll_cq;
	v->context.ops.req_notify_cq = verbs_req_notify_cq;
	v->context.ops.post_srq_recv = verbs_post_srq_recv;
	v->context.ops.post_send = verbs_post_send;
	v->context.ops.post_recv = verbs_post_recv;
	verbs_fill_unsupported(v);
	v->query_rt_values = query_rt_values;
	v->query_port = verbs_query_port;
	v->advise_mr = verbs_advise_mr;
	v->alloc_null_mr = verbs_alloc_null_mr;
	v->alloc_parent_domain = verbs_alloc_parent_domain;
	v->alloc_td = verbs_alloc_td;
	v->dealloc_td = verbs_dealloc_td;
	v->modify_cq = verbs_modify_cq;
	v->create_cq_ex = verbs_create_cq_ex;
	v->query_device_ex = verbs_query_device_ex;
	v->create_qp_ex = verbs_create_qp_ex;
	v->get_srq_num = verbs_get_srq_num;
	v->create_srq_ex = verbs_create_srq_ex;
	v->alloc_dm = verbs_alloc_dm;
	v->free_dm = verbs_free_dm;
	v->reg_dm_mr = verbs_reg_dm_mr;
	v->open_xrcd = verbs_open_xrcd;
	v->close_xrcd = verbs_close_xrcd;
	v->open_qp = verbs_open_qp;
}

/* All but what it opens or joins. */
static int make_context(struct ibv_device *ibv, struct verbs_device_context **ret)
{
	struct verbs_device_context *context =
		HANDLE_NEW(struct verbs_device_context, HANDLE_CONTEXT);
	int err;

	if (!context)
		return -ENOMEM;
	context->stamp = lane_stamp();
	list_init(&context->siblings);
	fill_tables(&context->verbs);
	context->verbs.context.device = ibv;
	context->verbs.context.num_comp_vectors = (int)sysconf(_SC_NPROCESSORS_ONLN);
	if (context->verbs.context.num_comp_vectors < 1)
		context->verbs.context.num_comp_vectors = 1;
	context->verbs.context.cmd_fd = -1;
	context->verbs.context.async_fd = -1;
	pthread_mutex_init(&context->verbs.context.mutex, NULL);
	err = verbs_events_open(context);
	if (err)
		handle_free(&context->handle, HANDLE_CONTEXT);
	*ret = context;
	return err;
}

static void *unmake_context(struct verbs_device_context *context, int err)
{
	verbs_events_close(context);
	handle_free(&context->handle, HANDLE_CONTEXT);
	return fail(err);
}

struct ibv_context *ibv_open_device(struct ibv_device *ibv)
{
	struct verbs_device *device = (struct verbs_device *)(void *)ibv;
	struct verbs_device_context *context;
	struct rvt_device *rvt;
	char why[256];
	int err;

	if (!ibv)
		return fail(-EINVAL);
	err = lane_start(&verbs_events, why, sizeof(why));
	if (err) {
		lane_log(LANE_LOG_ERROR, "cannot open %s: %s", ibv->name, why);
		return fail(err);
	}
	err = make_context(ibv, &context);
	if (err)
		return fail(err);
	/* Programs look at cmd_fd, dup it and close on exec; nothing is ever said over it. */
	context->verbs.context.cmd_fd = verbs_make_command_fd(context);
	if (context->verbs.context.cmd_fd < 0)
		return unmake_context(context, context->verbs.context.cmd_fd);
	rvt = lane_enter(context->stamp);
	err = rvt ? rvt_context_open(rvt, device->port, &context->rvt) : -ENODEV;
	if (!err)
		context->rvt->owner = context;
	if (rvt)
		lane_leave();
	if (err) {
		verbs_close_lent(context->verbs.context.cmd_fd);
		return unmake_context(context, err);
	}
	handle_publish(&context->handle, HANDLE_CONTEXT);
	return &context->verbs.context;
}

struct ibv_context *verbs_join_context(struct verbs_device_context *original, int cmd_fd)
{
	struct verbs_device_context *context;
	int err = make_context(original->verbs.context.device, &context);

	if (err)
		return fail(err);
	if (!enter(&original->verbs.context))
		return unmake_context(context, -ENODEV);
	context->rvt = original->rvt;
	list_append(&original->siblings, &context->siblings);
	lane_leave();
	/* It is ours to close from here on. */
	context->verbs.context.cmd_fd = verbs_lend(cmd_fd);
	handle_publish(&context->handle, HANDLE_CONTEXT);
	return &context->verbs.context;
}

/* What was made goes with the last of those that share it. Return: how many objects may still point
 * to @context. Entered. */
static unsigned leave_context(struct verbs_device_context *context)
{
	if (list_empty(&context->siblings)) {
		lane_settle();
		verbs_leave_targets(context->rvt);
		return rvt_context_close(context->rvt);
	}
	context->rvt->owner =
		list_entry(context->siblings.next, struct verbs_device_context, siblings);
	list_unlink(&context->siblings);
	return rvt_context_objects(context->rvt);
}

int ibv_close_device(struct ibv_context *ibv)
{
	struct verbs_device_context *context;
	unsigned left = 0;

	if (!ibv) {
		errno = EINVAL;
		return -1;
	}
	context = to_context(ibv);
	if (!handle_retire(&context->handle, HANDLE_CONTEXT)) {
		errno = EINVAL;
		return -1;
	}
	if (lane_enter(context->stamp)) {
		left = leave_context(context);
		lane_leave();
	}
	verbs_close_lent(ibv->cmd_fd);
	verbs_events_close(context);
	pthread_mutex_destroy(&ibv->mutex);
	/* What the program did not destroy goes on pointing here, and must not find another
	 * context. */
	if (!left)
		handle_free(&context->handle, HANDLE_CONTEXT);
	return 0;
}

static struct rvt_port *port_of(struct ibv_context *context)
{
	return ((struct verbs_device *)(void *)context->device)->port;
}

/* The port as it is at one moment: the engine thread and other callers write it when interfaces
 * change. */
static struct rvt_port port_now(struct ibv_context *context)
{
	bool entered = enter(context) != NULL;
	struct rvt_port port = *port_of(context);

	if (entered)
		lane_leave();
	return port;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	const struct rvt_limits *l = &rvt_limits;

	if (!context || !attr)
		return EINVAL;
	memset(attr, 0, sizeof(*attr));
	memcpy(attr->fw_ver, ADVERB_VERSION, sizeof(ADVERB_VERSION));
	attr->node_guid = port_of(context)->guid;
	attr->sys_image_guid = port_of(context)->guid;
	attr->max_mr_size = l->max_mr_size;
	attr->page_size_cap = 0xfffff000u;
	attr->vendor_id = 0xffffff;
	attr->vendor_part_id = VENDOR_PART;
	attr->max_qp = (int)l->max_qp;
	attr->max_qp_wr = (int)l->max_qp_wr;
	attr->device_cap_flags =
		IBV_DEVICE_BAD_PKEY_CNTR | IBV_DEVICE_BAD_QKEY_CNTR | IBV_DEVICE_PORT_ACTIVE_EVENT |
		IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_SRQ_RESIZE |
		IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_XRC;
	attr->max_sge = (int)l->max_sge;
	attr->max_sge_rd = (int)l->max_sge_rd;
	attr->max_cq = (int)l->max_cq;
	attr->max_cqe = (int)l->max_cqe;
	attr->max_mr = (int)l->max_mr;
	attr->max_mw = (int)l->max_mw;
	attr->max_pd = (int)l->max_pd;
	attr->max_qp_rd_atom = (int)l->max_dest_rd_atomic;
	attr->max_res_rd_atom = (int)(l->max_qp * l->max_dest_rd_atomic);
	attr->max_qp_init_rd_atom = (int)l->max_rd_atomic;
	attr->atomic_cap = IBV_ATOMIC_HCA;
	attr->max_mcast_grp = (int)l->max_mcast_grp;
	attr->max_mcast_qp_attach = (int)l->max_mcast_qp_attach;
	attr->max_total_mcast_qp_attach = (int)(l->max_mcast_grp * l->max_mcast_qp_attach);
	attr->max_ah = (int)l->max_ah;
	attr->max_srq = (int)l->max_srq;
	attr->max_srq_wr = (int)l->max_srq_wr;
	attr->max_srq_sge = (int)l->max_srq_sge;
	attr->max_pkeys = 1;
	attr->local_ca_ack_delay = 15;
	attr->phys_port_cnt = 1;
	return 0;
}

#define ODP_UD (IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_SRQ_RECV)

int verbs_query_device_ex(struct ibv_context *context,
			  const struct ibv_query_device_ex_input *input,
			  struct ibv_device_attr_ex *attr, size_t size)
{
	struct ibv_device_attr_ex all;
	int err;

	if (input && input->comp_mask)
		return EINVAL;
	if (!attr || size < sizeof(attr->orig_attr))
		return EINVAL;
	memset(&all, 0, sizeof(all));
	err = ibv_query_device(context, &all.orig_attr);
	if (err)
		return err;
	/* Completion times are nanoseconds of the monotonic clock. */
	all.completion_timestamp_mask = UINT64_MAX;
	all.hca_core_clock = 1000000;
	all.device_cap_flags_ex = all.orig_attr.device_cap_flags;
	/* FLUSH_GLOBAL and ATOMIC_WRITE, of newer headers. */
	all.device_cap_flags_ex |= UINT64_C(1) << 38 | UINT64_C(1) << 40;
	all.odp_caps.general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT;
	all.odp_caps.per_transport_caps.rc_odp_caps =
		ODP_UD | IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC;
	all.odp_caps.per_transport_caps.uc_odp_caps = ODP_UD | IBV_ODP_SUPPORT_WRITE;
	all.odp_caps.per_transport_caps.ud_odp_caps = ODP_UD;
	all.xrc_odp_caps = all.odp_caps.per_transport_caps.rc_odp_caps;
	all.max_dm_size = VERBS_MAX_DM;
	all.phys_port_cnt_ex = all.orig_attr.phys_port_cnt;
	memset(attr, 0, size);
	memcpy(attr, &all, size < sizeof(all) ? size : sizeof(all));
	return 0;
}

int verbs_query_port(struct ibv_context *context, uint8_t number, struct ibv_port_attr *attr,
		     size_t size)
{
	struct ibv_port_attr all;
	struct rvt_port port;

	if (!context || !attr || number != 1)
		return EINVAL;
	port = port_now(context);
	memset(&all, 0, sizeof(all));
	all.state = port.up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
	all.max_mtu = (enum ibv_mtu)port.max_mtu;
	all.active_mtu = (enum ibv_mtu)port.active_mtu;
	all.gid_tbl_len = RVT_GID_TABLE;
	all.port_cap_flags = 0x04010000; /* CM_SUP, IP_BASED_GIDS */
	all.max_msg_sz = RVT_MAX_MESSAGE;
	all.pkey_tbl_len = 1;
	all.max_vl_num = 1;
	all.active_width = 1;  /* one lane */
	all.active_speed = 32; /* of 25 Gb/s */
	all.phys_state = port.up ? 5 : 3;
	all.link_layer = IBV_LINK_LAYER_ETHERNET;
	all.flags = IBV_QPF_GRH_REQUIRED;
	memset(attr, 0, size);
	memcpy(attr, &all, size < sizeof(all) ? size : sizeof(all));
	return 0;
}

int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attr)
{
	/* The structure of the exported function ends with these bytes; the inline one passes its
	 * size. */
	return verbs_query_port(context, port, (struct ibv_port_attr *)(void *)attr,
				offsetof(struct ibv_port_attr, flags) + 2);
}

int ibv_query_gid(struct ibv_context *context, uint8_t number, int index, union ibv_gid *gid)
{
	struct rvt_port port;

	if (!context || !gid || number != 1 || index < 0 || index >= RVT_GID_TABLE) {
		errno = EINVAL;
		return -1;
	}
	port = port_now(context);
	memcpy(gid->raw, port.gids[index].raw, sizeof(gid->raw));
	return 0;
}

static void fill_gid_entry(const struct rvt_port *port, unsigned index, unsigned ifindex,
			   struct ibv_gid_entry *entry)
{
	memset(entry, 0, sizeof(*entry));
	memcpy(entry->gid.raw, port->gids[index].raw, sizeof(entry->gid.raw));
	entry->gid_index = index;
	entry->port_num = 1;
	entry->gid_type = IBV_GID_TYPE_ROCE_V2;
	entry->ndev_ifindex = ifindex;
}

int _ibv_query_gid_ex(struct ibv_context *context, uint32_t number, uint32_t index,
		      struct ibv_gid_entry *entry, uint32_t flags, size_t size)
{
	struct ibv_gid_entry all;
	struct rvt_port port;

	if (!context || !entry || number != 1 || index >= RVT_GID_TABLE)
		return EINVAL;
	if (flags)
		return EOPNOTSUPP;
	port = port_now(context);
	if (gid_is_zero(&port.gids[index]))
		return ENODATA;
	fill_gid_entry(&port, index, lane_interface_index(&port), &all);
	memset(entry, 0, size);
	memcpy(entry, &all, size < sizeof(all) ? size : sizeof(all));
	return 0;
}

ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries, size_t max,
			     uint32_t flags, size_t size)
{
	struct rvt_port port;
	unsigned ifindex;
	size_t n = 0;

	if (!context || (!entries && max))
		return -EINVAL;
	if (flags)
		return -EOPNOTSUPP;
	port = port_now(context);
	ifindex = lane_interface_index(&port);
	for (unsigned i = 0; i < RVT_GID_TABLE; i++) {
		struct ibv_gid_entry all;

		if (gid_is_zero(&port.gids[i]))
			continue;
		if (n == max)
			return -EINVAL;
		fill_gid_entry(&port, i, ifindex, &all);
		memset((char *)entries + n * size, 0, size);
		memcpy((char *)entries + n * size, &all, size < sizeof(all) ? size : sizeof(all));
		n++;
	}
	return (ssize_t)n;
}

int ibv_query_pkey(struct ibv_context *context, uint8_t number, int index, __be16 *pkey)
{
	if (!context || !pkey || number != 1 || index) {
		errno = EINVAL;
		return -1;
	}
	*pkey = htons(0xffff);
	return 0;
}

int ibv_get_pkey_index(struct ibv_context *context, uint8_t number, __be16 pkey)
{
	__be16 only;

	if (ibv_query_pkey(context, number, 0, &only))
		return -1;
	if (pkey != only) {
		errno = ENOENT;
		return -1;
	}
	return 0;
}
