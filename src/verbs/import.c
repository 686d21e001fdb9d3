/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import.c - further handles for a context, a PD and a region that this process has already
 *
 * The command descriptor of a context is a small file that says whose it is: a copy of it is known
 * by its inode. What another process sent cannot be imported, since its objects live in that
 * process' memory.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "verbs/objects.h"

/* What lies in the file, which nobody can change: only who made it knows the secret. */
struct identity {
	char what[16];
	uint64_t secret;
	pid_t pid;
	struct verbs_device_context *context;
};

static uint64_t our_secret(void)
{
	static _Atomic uint64_t secret;
	static _Atomic pid_t made_by;

	if (made_by != getpid()) {
		uint64_t fresh = 0;

		/* Without chance nothing is recognised. */
		if (getrandom(&fresh, sizeof(fresh), GRND_NONBLOCK) != sizeof(fresh))
			return 0;
		secret = fresh;
		made_by = getpid();
	}
	return secret;
}

int verbs_make_command_fd(struct verbs_device_context *context)
{
	struct identity identity = {
		"adverb-context",
		our_secret(),
		getpid(),
		context,
	};
	struct lane_quiet quiet;
	int fd = memfd_create("adverb-context", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -errno;
	fd = verbs_move_up(fd);
	if (fd < 0)
		return fd;
	lane_quiet_begin(&quiet);
	/* Without the bytes it serves as well, but cannot be imported. */
	if (write(fd, &identity, sizeof(identity)) == sizeof(identity))
		(void)fcntl(fd, F_ADD_SEALS,
			    F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
	lane_quiet_end(&quiet);
	return fd;
}

struct ibv_context *ibv_import_device(int cmd_fd)
{
	struct identity identity;
	struct stat status;

	memset(&identity, 0, sizeof(identity));
	if (fstat(cmd_fd, &status))
		return fail(-EBADF);
	if (!S_ISREG(status.st_mode) ||
	    pread(cmd_fd, &identity, sizeof(identity), 0) != sizeof(identity) ||
	    memcmp(identity.what, "adverb-context", 15) != 0)
		return fail(-EINVAL);
	if (identity.pid != getpid() || !identity.secret || identity.secret != our_secret()) {
		lane_log(
			LANE_LOG_WARN,
			"ibv_import_device: the context belongs to process %d, whose memory and queue "
			"pairs cannot be shared; only a context of this process can be imported",
			(int)identity.pid);
		return fail(-EOPNOTSUPP);
	}
	if (!handle_ok(&identity.context->handle, HANDLE_CONTEXT))
		return fail(-EINVAL);
	return verbs_join_context(identity.context, cmd_fd);
}

struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t handle)
{
	struct verbs_pd *pd = HANDLE_NEW(struct verbs_pd, HANDLE_PD);
	struct rvt_device *device;

	if (!pd)
		return fail(-ENOMEM);
	device = enter(context);
	if (device) {
		struct rvt_pd *rvt = rvt_find_pd(to_context(context)->rvt, handle);

		if (rvt && rvt->owner) {
			pd->parent = rvt->owner;
			pd->rvt = rvt;
			pd->imported = true;
			pd->ibv.context = context;
			pd->ibv.handle = handle;
			/* While there are such handles the PD cannot go. */
			__atomic_add_fetch(&pd->parent->children, 1, __ATOMIC_ACQ_REL);
		}
		lane_leave();
	}
	if (!pd->rvt) {
		handle_free(&pd->handle, HANDLE_PD);
		return fail(device ? -ENOENT : -ENODEV);
	}
	handle_publish(&pd->handle, HANDLE_PD);
	return &pd->ibv;
}

void ibv_unimport_pd(struct ibv_pd *ibv)
{
	struct verbs_pd *pd = to_pd(ibv);

	if (!pd || !pd->imported || !handle_retire(&pd->handle, HANDLE_PD))
		return;
	__atomic_sub_fetch(&pd->parent->children, 1, __ATOMIC_ACQ_REL);
	handle_free(&pd->handle, HANDLE_PD);
}

struct ibv_mr *ibv_import_mr(struct ibv_pd *ibv, uint32_t handle)
{
	struct verbs_pd *pd = to_pd(ibv);
	struct verbs_mr *mr;

	if (!pd)
		return fail(-EINVAL);
	mr = HANDLE_NEW(struct verbs_mr, HANDLE_MR);
	if (!mr)
		return fail(-ENOMEM);
	if (!enter_pd(pd, ibv)) {
		struct rvt_mr *rvt = rvt_find_mr_by_id(pd->rvt, handle);

		if (rvt) {
			/* It stays, invalid, when it is deregistered meanwhile. */
			rvt_get_mr(rvt);
			mr->rvt = rvt;
			mr->imported = true;
			mr->ibv.context = ibv->context;
			mr->ibv.pd = ibv;
			mr->ibv.length = rvt->length;
			mr->ibv.handle = handle;
			mr->ibv.lkey = mr->ibv.rkey = rvt->key;
		}
		lane_leave();
	}
	if (!mr->rvt) {
		handle_free(&mr->handle, HANDLE_MR);
		return fail(-ENOENT);
	}
	handle_publish(&mr->handle, HANDLE_MR);
	return &mr->ibv;
}

void ibv_unimport_mr(struct ibv_mr *ibv)
{
	struct verbs_mr *mr = to_mr(ibv);

	if (!mr || !mr->imported || enter_mr(mr, ibv))
		return;
	if (handle_retire(&mr->handle, HANDLE_MR)) {
		rvt_put_mr(mr->rvt);
		handle_free(&mr->handle, HANDLE_MR);
	}
	lane_leave();
}
