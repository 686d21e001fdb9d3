/* SPDX-License-Identifier: Apache-2.0 */
/* xrcd.c - XRC domains, which are shared by the file that they are opened with */
#include <fcntl.h>
#include <sys/stat.h>

#include "verbs/objects.h"

struct ibv_xrcd *verbs_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr)
{
	const uint32_t needed = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
	struct rvt_inode inode = { 0 };
	struct verbs_xrcd *xrcd;
	struct stat status;
	int err;

	if (!attr || attr->comp_mask != needed || attr->oflags & ~(O_CREAT | O_EXCL))
		return fail(-EINVAL);
	if (attr->fd != -1) {
		if (fstat(attr->fd, &status))
			return fail(-errno);
		inode = (struct rvt_inode){ status.st_dev, status.st_ino };
	}
	xrcd = HANDLE_NEW(struct verbs_xrcd, HANDLE_XRCD);
	if (!xrcd)
		return fail(-ENOMEM);
	xrcd->ibv.context = context;
	if (!enter(context)) {
		err = -ENODEV;
	} else {
		err = rvt_open_xrcd(to_context(context)->rvt, attr->fd == -1 ? NULL : &inode,
				    attr->oflags & O_CREAT, attr->oflags & O_EXCL, &xrcd->rvt);
		lane_leave();
	}
	if (err) {
		handle_free(&xrcd->handle, HANDLE_XRCD);
		return fail(err);
	}
	handle_publish(&xrcd->handle, HANDLE_XRCD);
	return &xrcd->ibv;
}

int verbs_close_xrcd(struct ibv_xrcd *ibv)
{
	struct verbs_xrcd *xrcd = to_xrcd(ibv);
	int err;

	if (!xrcd)
		return EINVAL;
	err = enter_xrcd(xrcd, ibv);
	if (err)
		return -err;
	err = rvt_close_xrcd(xrcd->rvt);
	if (!err && !handle_retire(&xrcd->handle, HANDLE_XRCD))
		err = -EINVAL;
	lane_leave();
	if (!err)
		handle_free(&xrcd->handle, HANDLE_XRCD);
	return -err;
}
