/* SPDX-License-Identifier: Apache-2.0 */
/* device.c - the limits, and the beginning and end of everything */
#include "rvt/device.h"

#include <errno.h>

#include "rvt/mr.h"
#include "rvt/qp.h"

const struct rvt_limits rvt_limits = {
	.max_qp = 65536,
	.max_qp_wr = 32768,
	.max_sge = RVT_MAX_SGE,
	.max_sge_rd = RVT_MAX_SGE,
	.max_cq = 65536,
	.max_cqe = 4194303,
	.max_mr = 524287,
	.max_mw = 524287,
	.max_pd = 65536,
	.max_srq = 65536,
	.max_srq_wr = 32768,
	.max_srq_sge = RVT_MAX_SGE,
	.max_ah = 65536,
	.max_inline = RVT_MAX_INLINE,
	.max_rd_atomic = 128,
	.max_dest_rd_atomic = 128,
	.max_mcast_grp = 20, /* that one socket of Linux may join (igmp_max_memberships) */
	.max_mcast_qp_attach = 256,
	.max_mr_size = UINT64_C(1) << 63,
};

const struct gid *rvt_port_gid(const struct rvt_port *port, unsigned index)
{
	if (index >= RVT_GID_TABLE || gid_is_zero(&port->gids[index]))
		return NULL;
	return &port->gids[index];
}

/* Ids begin at a random place, so that numbers of an earlier run are wrong now and not somebody
 * else's. */
static int set_ranges(struct rvt_device *device)
{
	const struct {
		enum restrack_type type;
		uint32_t first, count;
	} ranges[] = {
		{ RESTRACK_PD, 1, rvt_limits.max_pd },
		{ RESTRACK_CQ, 1, rvt_limits.max_cq },
		{ RESTRACK_MR, 1, rvt_limits.max_mr },
		{ RESTRACK_SRQ, 1, rvt_limits.max_srq },
		{ RESTRACK_AH, 1, rvt_limits.max_ah },
		{ RESTRACK_MW, RVT_FIRST_MW, rvt_limits.max_mw },
	};

	for (unsigned i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		uint32_t start = ranges[i].type == RESTRACK_MR || ranges[i].type == RESTRACK_MW
					 ? random_below(&device->random, ranges[i].count)
					 : 0;
		int err = restrack_set_range(device->restrack, ranges[i].type, ranges[i].first,
					     ranges[i].count, start);

		if (err)
			return err;
	}
	/* All of a slot's numbers; max_qp says how many of them at a time. */
	return restrack_set_range(device->restrack, RESTRACK_QP, device->first_qpn,
				  device->qpn_count, 0);
}

int rvt_device_init(struct rvt_device *device, const struct rvt_device_config *config)
{
	const struct rvt_transport_ops *t = config->transport;
	const struct rvt_memory_ops *m = config->memory;
	int err;

	ASSERT(config->allocator && config->restrack && config->counters);
	ASSERT(m && m->read && m->write && m->compare_swap && m->fetch_add && m->probe);
	ASSERT(t && t->qp_size >= sizeof(struct rvt_qp) && t->qp_init && t->qp_stop &&
	       t->qp_deinit);
	ASSERT(t->qp_modified && t->qp_error && t->send && t->retry_expired && t->rnr_expired);
	ASSERT(config->observer && config->observer->cq_event && config->observer->async_event &&
	       config->observer->cause);
	*device = (struct rvt_device){
		.allocator = config->allocator,
		.restrack = config->restrack,
		.memory = config->memory,
		.transport = config->transport,
		.observer = config->observer,
		.mcast = config->mcast,
		.counters = config->counters,
		.first_qpn = config->first_qpn,
		.qpn_count = config->qpn_count,
	};
	random_seed(&device->random, config->seed);
	list_init(&device->qp_list);
	list_init(&device->groups);
	list_init(&device->xrc_domains);
	err = set_ranges(device);
	if (err)
		return err;
	return table_init(&device->qps, device->allocator, device->first_qpn, device->qpn_count,
			  random_below(&device->random, device->qpn_count ? device->qpn_count : 1));
}

unsigned rvt_device_deinit(struct rvt_device *device)
{
	unsigned leaks = rvt_free_all_qps(device);
	uint32_t id = 0;
	struct restrack_entry *e;

	while ((e = restrack_next(device->restrack, RESTRACK_CTX, &id))) {
		rvt_context_close(container_of(e, struct rvt_context, res));
		leaks++;
		id++;
	}
	table_deinit(&device->qps);
	return leaks;
}
