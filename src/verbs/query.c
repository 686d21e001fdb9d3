/* SPDX-License-Identifier: Apache-2.0 */
/* query.c - questions that are answered from other answers of the interface */

#include <errno.h>
#include <string.h>

#include "verbs/abi.h"

/* The numbers that sysfs readers expect; enum ibv_gid_type counts otherwise. */
enum {
	GID_TYPE_IB_OR_ROCE_V1 = 0,
	GID_TYPE_ROCE_V2 = 1,
};

static int query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned int index,
			  int *type)
{
	struct ibv_gid_entry entry;
	int error = _ibv_query_gid_ex(context, port_num, index, &entry, 0, sizeof(entry));

	if (error == ENODATA) {
		/* An empty entry is no error: callers walk the whole table. */
		*type = GID_TYPE_IB_OR_ROCE_V1;
		return 0;
	}
	if (error) {
		errno = error;
		return -1;
	}
	*type = entry.gid_type == IBV_GID_TYPE_ROCE_V2 ? GID_TYPE_ROCE_V2 : GID_TYPE_IB_OR_ROCE_V1;
	return 0;
}
VERBS_VERSIONS_ibv_query_gid_type(query_gid_type);

int ibv_query_port_speed(struct ibv_context *context, uint32_t port_num, uint64_t *port_speed)
{
	struct ibv_port_attr attr;
	uint64_t lane, lanes;
	int error;

	if (port_num > UINT8_MAX)
		return EINVAL;
	error = ___ibv_query_port(context, (uint8_t)port_num, &attr);
	if (error)
		return error;

	switch (attr.active_speed) {
	case 1:
		lane = 25;
		break;
	case 2:
		lane = 50;
		break;
	case 4:
	case 8:
		lane = 100;
		break;
	case 16:
		lane = 140;
		break;
	case 32:
		lane = 250;
		break;
	case 64:
		lane = 500;
		break;
	case 128:
		lane = 1000;
		break;
	default:
		lane = 0;
		break;
	}
	switch (attr.active_width) {
	case 1:
		lanes = 1;
		break;
	case 2:
		lanes = 4;
		break;
	case 4:
		lanes = 8;
		break;
	case 8:
		lanes = 12;
		break;
	case 16:
		lanes = 2;
		break;
	default:
		lanes = 0;
		break;
	}
	*port_speed = lane * lanes;
	return 0;
}

int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	(void)qp;
	memset(ece, 0, sizeof(*ece));
	return 0;
}

int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	(void)qp;
	/* Vendor 0 is a peer without enhancements: that is what we are. */
	return ece->vendor_id ? EOPNOTSUPP : 0;
}

int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
	(void)qp;
	(void)op;
	(void)flags;
	return 0;
}
