/* SPDX-License-Identifier: Apache-2.0 */
/*
 * newer.h - functions of libibverbs.so.1 that the oldest supported <infiniband/verbs.h> does not
 * declare
 *
 * Programs built against newer headers import them (IBVERBS_1.15 and later); connection managers
 * and old tools import the ones that no public header ever declared. Include it through verbs/abi.h
 * only.
 */
#ifndef VERBS_NEWER_H
#define VERBS_NEWER_H

#include <infiniband/sa.h>
#include <infiniband/verbs.h>

#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>
#include <stddef.h>
#include <stdint.h>

struct ibv_buf;

/**
 * ibv_alloc_buf() - memory for a program's buffer, as the device of @pd likes it; free with
 * ibv_free_buf().
 *
 * Returns the address and stores a handle in @buf, or NULL with errno. The PD must outlive the
 * buffer.
 */
void *ibv_alloc_buf(struct ibv_pd *pd, size_t size, struct ibv_buf **buf);

/** ibv_free_buf() - give back what ibv_alloc_buf() returned. */
void ibv_free_buf(struct ibv_buf *buf);

/** ibv_reg_buf_mr() - register a part of @buf; EINVAL for another PD or a range outside the buffer.
 */
struct ibv_mr *ibv_reg_buf_mr(struct ibv_pd *pd, struct ibv_buf *buf, void *addr, size_t length,
			      int access);

/** ibv_query_port_speed() - the speed in units of 100 Mb/s. Returns 0 or a positive errno value. */
int ibv_query_port_speed(struct ibv_context *context, uint32_t port_num, uint64_t *port_speed);

/**
 * ibv_copy_ah_attr_from_kern() and its like - between the structures of the kernel's interface and
 * the library's. librdmacm imports them.
 */
void ibv_copy_ah_attr_from_kern(struct ibv_ah_attr *dst, struct ib_uverbs_ah_attr *src);
void ibv_copy_qp_attr_from_kern(struct ibv_qp_attr *dst, struct ib_uverbs_qp_attr *src);
void ibv_copy_path_rec_from_kern(struct ibv_sa_path_rec *dst, struct ib_user_path_rec *src);
void ibv_copy_path_rec_to_kern(struct ib_user_path_rec *dst, struct ibv_sa_path_rec *src);

/** ibv_get_sysfs_path() - where the sysfs tree that programs should read is mounted. */
const char *ibv_get_sysfs_path(void);

/**
 * ibv_read_sysfs_file() - read @dir/@file into @buf, without the final newline, and end it with a
 * zero byte.
 *
 * Returns the length, or -1 with errno.
 */
int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size);

/** ibv_dontfork_range(), ibv_dofork_range() - nothing is pinned here, so both do nothing and return
 * 0. */
int ibv_dontfork_range(void *base, size_t size);
int ibv_dofork_range(void *base, size_t size);

#endif
