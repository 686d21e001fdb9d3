/* SPDX-License-Identifier: Apache-2.0 */
/* transmit.c - a packet, written where the link will send it from */
#include <errno.h>

#include "roce/qp.h"
#include "wire/icrc.h"

int roce_packet_start(struct roce_engine *engine, const struct roce_flow *flow,
		      struct packet *headers, uint32_t payload_length, struct roce_outgoing *out)
{
	size_t header_length = packet_headers_length(headers->opcode);

	headers->migrated = true;
	headers->pad = (uint8_t)(-payload_length & 3);
	*out = (struct roce_outgoing){
		.engine = engine,
		.flow = flow,
		.length = header_length + payload_length + headers->pad + ICRC_LENGTH,
		.payload_length = payload_length,
	};
	ASSERT(out->length <= ROCE_MAX_PACKET);
	out->packet = engine->transmit->reserve(engine->link, flow, headers->dest_qpn, out->length,
						&out->ipv4_id);
	if (!out->packet) {
		engine->link_full = true;
		return -EAGAIN;
	}
	(void)packet_write_headers(headers, out->packet);
	out->payload = out->packet + header_length;
	return 0;
}

void roce_packet_finish(struct roce_outgoing *out)
{
	struct roce_engine *engine = out->engine;
	uint8_t *tail = out->payload + out->payload_length;
	uint8_t *icrc = out->packet + out->length - ICRC_LENGTH;

	while (tail < icrc)
		*tail++ = 0;
	if (out->flow->trusted) {
		memset(icrc, 0, ICRC_LENGTH);
	} else {
		struct icrc_route route = {
			.source = out->flow->source,
			.destination = out->flow->destination,
			.source_port = out->flow->source_port,
			.destination_port = ROCE_UDP_PORT,
		};

		icrc_write(icrc, icrc_compute(&route, out->ipv4_id, out->packet,
					      out->length - ICRC_LENGTH));
	}
	engine->transmit->commit(engine->link);
	rvt_count(engine->device, RVT_COUNT_sent_pkts);
}

void roce_packet_cancel(struct roce_outgoing *out)
{
	out->engine->transmit->cancel(out->engine->link);
}
