/* SPDX-License-Identifier: Apache-2.0 */
/*
 * response.c - what the responder sends: READ responses, atomic results, ACKs and NAKs
 *
 * They leave in the order of the requests. READs and atomics are answered from the ring, oldest
 * first; an ACK or NAK for what came later waits for them.
 */
#include "roce/qp.h"
#include "wire/opcode.h"
#include "wire/psn.h"
#include "wire/syndrome.h"

static void response_headers(const struct roce_qp *qp, struct packet *headers, uint8_t opcode,
			     uint32_t psn, uint8_t syndrome)
{
	*headers = (struct packet){
		.opcode = opcode | qp->transport,
		.pkey = 0xffff,
		.dest_qpn = qp->rvt.attr.dest_qp_num,
		.psn = psn,
		.aeth = { .syndrome = syndrome, .msn = qp->responder.msn },
	};
}

/* Return: false when the link is full. */
static bool send_acknowledge(struct roce_qp *qp, uint8_t syndrome, uint32_t psn)
{
	struct roce_outgoing out;
	struct packet headers;

	response_headers(qp, &headers, OPCODE_RC_ACKNOWLEDGE, psn, syndrome);
	if (roce_packet_start(qp->engine, &qp->flow, &headers, 0, &out))
		return false;
	roce_packet_finish(&out);
	return true;
}

/* The NAK that is pending, when its turn came. Return: false when the link is full. */
static bool send_nak(struct roce_qp *qp)
{
	struct roce_responder *r = &qp->responder;

	if (!send_acknowledge(qp, r->nak_syndrome, r->nak_psn))
		return false;
	if (syndrome_is_rnr(r->nak_syndrome))
		rvt_count(qp->rvt.device, RVT_COUNT_send_rnr_err);
	r->nak_pending = false;
	r->ack_owed = false; /* the NAK says as much */
	if (r->fatal != RVT_OK) {
		rvt_recv_fail(&qp->rvt, r->fatal);
		rvt_error_qp(&qp->rvt, r->fatal);
	}
	return true;
}

void roce_responder_nak(struct roce_qp *qp, uint8_t syndrome, enum rvt_verdict fatal)
{
	struct roce_responder *r = &qp->responder;

	r->nak_sent = true;
	r->nak_pending = true;
	r->nak_syndrome = syndrome;
	r->nak_psn = r->psn;
	r->fatal = fatal;
	if (r->active || !send_nak(qp))
		roce_qp_ready(qp);
}

bool roce_responder_ack(struct roce_qp *qp)
{
	struct roce_responder *r = &qp->responder;

	if (!r->ack_owed || r->active || r->nak_pending)
		return true;
	if (!send_acknowledge(qp, SYNDROME_ACK, psn_add(r->psn, PSN_MASK)))
		return false;
	r->ack_owed = false;
	return true;
}

bool roce_responder_pending(const struct roce_qp *qp)
{
	return qp->responder.active || qp->responder.nak_pending;
}

/* The answer cannot be given. The NAK takes its place; all that waits behind it is void. */
static bool refuse(struct roce_qp *qp, struct roce_resource *resource, enum rvt_verdict verdict,
		   uint64_t value)
{
	uint8_t syndrome = rvt_verdict_row(verdict)->nak;
	bool replay = resource->replay;

	if (!send_acknowledge(qp, syndrome ? syndrome : SYNDROME_NAK_REMOTE_ACCESS, resource->psn))
		return false;
	roce_tell(qp->engine, verdict, &qp->rvt.res, value, resource->length);
	resource->kind = ROCE_RESOURCE_FREE;
	roce_resource_finish(qp, resource);
	/*
	 * A request that comes again may be a late copy of one that was answered long ago, whose
	 * memory the program took back since: that is no error. The requester knows whether it
	 * still waits; if so, the NAK ends its work request.
	 */
	if (!replay)
		rvt_error_qp(&qp->rvt, verdict);
	return true;
}

/* Is the memory of a READ what it was when the request was accepted? */
static enum rvt_verdict check_memory(struct roce_qp *qp, struct roce_resource *resource)
{
	if (!resource->length)
		return RVT_OK;
	if (!resource->mr)
		return roce_recheck_mr(qp, resource);
	if (!resource->mr->valid || resource->mr->generation != resource->generation)
		return RVT_RKEY_CHANGED;
	return RVT_OK;
}

static uint8_t read_opcode(bool first, bool last)
{
	if (first)
		return last ? OPCODE_RC_READ_RESPONSE_ONLY : OPCODE_RC_READ_RESPONSE_FIRST;
	return last ? OPCODE_RC_READ_RESPONSE_LAST : OPCODE_RC_READ_RESPONSE_MIDDLE;
}

/* One packet of a READ. Return: false when the link is full. */
static bool send_read(struct roce_qp *qp, struct roce_resource *resource)
{
	uint32_t offset = psn_distance(resource->first_psn, resource->psn) << qp->mtu_shift;
	uint32_t length = resource->length - offset;
	bool last = resource->psn == resource->last_psn;
	enum rvt_verdict verdict = check_memory(qp, resource);
	struct roce_outgoing out;
	struct packet headers;

	if (verdict != RVT_OK)
		return refuse(qp, resource, verdict, resource->rkey);
	if (length > qp->rvt.mtu)
		length = qp->rvt.mtu;
	response_headers(qp, &headers, read_opcode(resource->psn == resource->start_psn, last),
			 resource->psn, SYNDROME_ACK);
	if (roce_packet_start(qp->engine, &qp->flow, &headers, length, &out))
		return false;
	if (length &&
	    qp->rvt.device->memory->read(out.payload, resource->address + offset, length)) {
		roce_packet_cancel(&out);
		return refuse(qp, resource, RVT_REMOTE_MEMORY_FAULT, resource->va + offset);
	}
	roce_packet_finish(&out);
	resource->psn = psn_add(resource->psn, 1);
	if (last)
		roce_resource_finish(qp, resource);
	return true;
}

static bool send_atomic(struct roce_qp *qp, struct roce_resource *resource)
{
	struct roce_outgoing out;
	struct packet headers;

	response_headers(qp, &headers, OPCODE_RC_ATOMIC_ACK, resource->first_psn, SYNDROME_ACK);
	headers.atomic_ack = resource->original;
	if (roce_packet_start(qp->engine, &qp->flow, &headers, 0, &out))
		return false;
	roce_packet_finish(&out);
	roce_resource_finish(qp, resource);
	return true;
}

/* An ATOMIC WRITE or FLUSH brings nothing back. */
static bool send_written(struct roce_qp *qp, struct roce_resource *resource)
{
	struct roce_outgoing out;
	struct packet headers;

	response_headers(qp, &headers, OPCODE_RC_READ_RESPONSE_ONLY, resource->first_psn,
			 SYNDROME_ACK);
	if (roce_packet_start(qp->engine, &qp->flow, &headers, 0, &out))
		return false;
	roce_packet_finish(&out);
	roce_resource_finish(qp, resource);
	return true;
}

static bool send_response(struct roce_qp *qp, struct roce_resource *resource)
{
	/* A response acknowledges what was before it, but there are requesters that overlook it. */
	if (resource->ack_before) {
		uint32_t psn = psn_add(resource->first_psn, PSN_MASK);

		if (!send_acknowledge(qp, SYNDROME_ACK, psn))
			return false;
		resource->ack_before = false;
	}
	if (resource->kind == ROCE_RESOURCE_ATOMIC)
		return send_atomic(qp, resource);
	if (resource->kind == ROCE_RESOURCE_ATOMIC_WRITE || resource->kind == ROCE_RESOURCE_FLUSH)
		return send_written(qp, resource);
	return send_read(qp, resource);
}

unsigned roce_responder_run(struct roce_qp *qp, unsigned budget)
{
	struct roce_responder *r = &qp->responder;
	unsigned sent = 0;

	while (sent < budget) {
		struct roce_resource *resource = roce_resource_first(qp);

		if (resource) {
			if (!send_response(qp, resource))
				return sent;
		} else if (r->nak_pending) {
			if (!send_nak(qp))
				return sent;
		} else {
			break;
		}
		sent++;
	}
	if (r->ack_owed && !roce_responder_pending(qp))
		roce_owe_ack(qp);
	return sent;
}
