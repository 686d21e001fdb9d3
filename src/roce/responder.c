/* SPDX-License-Identifier: Apache-2.0 */
/*
 * responder.c - RC and UC requests: checked in the order that decides which refusal wins (IBTA
 * 9.7.4), then carried out
 *
 * A check that fails gives a verdict; nothing has changed then but a receive that was taken. What
 * becomes of it differs: RC tells the peer and goes to error, UC drops the message.
 */
#include "roce/qp.h"
#include "rvt/mw.h"
#include "rvt/xrcd.h"
#include "wire/opcode.h"
#include "wire/psn.h"
#include "wire/syndrome.h"

#define STORE_TRIES  64
#define UC_LATE_PSNS 4096 /* UC: so far behind, a packet is a late one and not a new beginning */

/* A verdict with the values that it compared. */
struct refusal {
	enum rvt_verdict verdict;
	uint64_t value1, value2;
};

static bool refused(struct refusal *refusal, enum rvt_verdict verdict, uint64_t value1,
		    uint64_t value2)
{
	*refusal = (struct refusal){ verdict, value1, value2 };
	return false;
}

static void forget_message(struct roce_qp *qp)
{
	struct roce_responder *r = &qp->responder;

	rvt_put_mr(r->mr);
	r->mr = NULL;
	r->in_message = false;
	r->offset = 0;
}

static bool is_atomic(const struct packet *packet)
{
	return packet->info->operation == OPERATION_CMP_SWAP ||
	       packet->info->operation == OPERATION_FETCH_ADD;
}

static bool takes_receive(const struct packet *packet)
{
	uint16_t flags = packet->info->flags;

	if (packet->info->operation == OPERATION_SEND)
		return flags & OPCODE_BEGINS;
	return packet->info->operation == OPERATION_WRITE && (flags & OPCODE_HAS_IMM);
}

/* May this packet follow the one before it? */
static bool check_sequence(struct roce_qp *qp, const struct packet *packet, struct refusal *refusal)
{
	const struct roce_responder *r = &qp->responder;
	bool goes_on = packet->info->flags & (OPCODE_MIDDLE | OPCODE_LAST);

	if (packet->info->operation == OPERATION_NONE)
		return refused(refusal, RVT_OPCODE_UNSUPPORTED, packet->opcode, 0);
	if (goes_on != r->in_message ||
	    (goes_on && packet->info->operation != opcode_info(r->last_opcode)->operation))
		return refused(refusal, RVT_OPCODE_SEQUENCE, packet->opcode, r->last_opcode);
	return true;
}

static uint32_t flush_access(const struct packet *packet)
{
	return (packet->feth.placement & FETH_GLOBAL ? RVT_ACCESS_FLUSH_GLOBAL : 0u) |
	       (packet->feth.placement & FETH_PERSISTENT ? RVT_ACCESS_FLUSH_PERSISTENT : 0u);
}

/* XRC: the queue that is named must be there, and the same one through the message. */
static bool check_srq(struct roce_qp *qp, const struct packet *packet, struct refusal *refusal)
{
	struct roce_responder *r = &qp->responder;

	if (qp->rvt.type != RVT_QPT_XRC_TGT)
		return true;
	if ((r->in_message && packet->srqn != r->srqn) || !rvt_xrc_target(&qp->rvt, packet->srqn))
		return refused(refusal, RVT_XRC_SRQ, packet->srqn, r->srqn);
	r->srqn = packet->srqn;
	return true;
}

static bool check_access(struct roce_qp *qp, const struct packet *packet, struct refusal *refusal)
{
	uint32_t access = qp->rvt.attr.qp_access_flags, needed = 0;

	switch (packet->info->operation) {
	case OPERATION_SEND:
		break;
	case OPERATION_WRITE:
	case OPERATION_ATOMIC_WRITE:
		needed = RVT_ACCESS_REMOTE_WRITE;
		break;
	case OPERATION_FLUSH:
		needed = flush_access(packet);
		break;
	case OPERATION_READ_REQUEST:
		needed = RVT_ACCESS_REMOTE_READ;
		break;
	case OPERATION_CMP_SWAP:
	case OPERATION_FETCH_ADD:
		needed = RVT_ACCESS_REMOTE_ATOMIC;
		break;
	default:
		return refused(refusal, RVT_OPCODE_UNSUPPORTED, packet->opcode, 0);
	}
	if ((access & needed) != needed)
		return refused(refusal, RVT_QP_ACCESS, packet->opcode, access);
	return true;
}

/* Take the receive that the packet needs. */
static bool check_receive(struct roce_qp *qp, const struct packet *packet, struct refusal *refusal)
{
	enum rvt_verdict verdict;

	if (!takes_receive(packet) || qp->rvt.receive.taken)
		return true;
	verdict = rvt_get_rwqe(&qp->rvt);
	if (verdict == RVT_OK)
		return true;
	return refused(refusal, verdict, packet->psn, 0);
}

/* Is the payload as long as the opcode and what was announced say? */
static bool check_length(struct roce_qp *qp, const struct packet *packet, struct refusal *refusal)
{
	const struct roce_responder *r = &qp->responder;
	uint32_t payload = packet->payload_length, mtu = qp->rvt.mtu;
	uint16_t flags = packet->info->flags;
	bool write = packet->info->operation == OPERATION_WRITE;
	uint32_t offset = flags & OPCODE_BEGINS ? 0 : r->offset;
	uint32_t total = flags & OPCODE_BEGINS ? packet->reth.length : r->length;

	if ((flags & OPCODE_HAS_RETH) && packet->reth.length > RVT_MAX_MESSAGE)
		return refused(refusal, RVT_PACKET_LENGTH, packet->reth.length, RVT_MAX_MESSAGE);
	if ((flags & (OPCODE_FIRST | OPCODE_MIDDLE)) && (payload != mtu || packet->pad))
		return refused(refusal, RVT_PACKET_LENGTH, payload, mtu);
	if (payload > mtu || ((flags & OPCODE_LAST) && !payload))
		return refused(refusal, RVT_PACKET_LENGTH, payload, mtu);
	if (write && (flags & OPCODE_ENDS) && offset + payload != total)
		return refused(refusal, RVT_PACKET_LENGTH, payload, total - offset);
	/* Something must be left for the LAST. */
	if (write && !(flags & OPCODE_ENDS) && (uint64_t)offset + payload >= total)
		return refused(refusal, RVT_PACKET_LENGTH, payload, total - offset);
	if (packet->info->operation == OPERATION_ATOMIC_WRITE &&
	    (payload != 8 || packet->reth.length != 8))
		return refused(refusal, RVT_PACKET_LENGTH, payload, 8);
	if (packet->info->operation == OPERATION_SEND &&
	    (uint64_t)offset + payload > qp->rvt.receive.list.length)
		return refused(refusal, RVT_RECV_TOO_SHORT, (uint64_t)offset + payload,
			       qp->rvt.receive.list.length);
	return true;
}

static bool check_rkey(struct roce_qp *qp, const struct packet *packet, uint32_t access,
		       struct rvt_mr **mr, uint64_t *address, struct refusal *refusal)
{
	bool atomic = is_atomic(packet);
	uint32_t rkey = atomic ? packet->atomic.rkey : packet->reth.rkey;
	uint64_t va = atomic ? packet->atomic.va : packet->reth.va;
	uint32_t length = atomic ? 8 : packet->reth.length;
	enum rvt_verdict verdict = rvt_qp_rkey_ok(&qp->rvt, rkey, va, length, access, mr, address);

	switch (verdict) {
	case RVT_OK:
		return true;
	case RVT_RKEY_RANGE:
		return refused(refusal, verdict, va, length);
	case RVT_RKEY_PD:
		return refused(refusal, verdict, rkey, qp->rvt.pd->res.id);
	default:
		return refused(refusal, verdict, rkey, access);
	}
}

/* The region of a WRITE: looked up at its beginning, still the same later? */
static bool check_write_memory(struct roce_qp *qp, const struct packet *packet,
			       struct refusal *refusal)
{
	struct roce_responder *r = &qp->responder;

	if (packet->info->flags & OPCODE_BEGINS) {
		r->offset = 0;
		r->length = packet->reth.length;
		r->va = packet->reth.va;
		r->rkey = packet->reth.rkey;
		/* Of zero bytes nothing is checked (IBTA C9-88). */
		if (!r->length)
			return true;
		if (!check_rkey(qp, packet, RVT_ACCESS_REMOTE_WRITE, &r->mr, &r->address, refusal))
			return false;
		r->generation = r->mr->generation;
		return true;
	}
	if (!r->mr || !r->mr->valid || r->mr->generation != r->generation)
		return refused(refusal, RVT_RKEY_CHANGED, r->rkey, 0);
	return true;
}

static bool place(struct roce_qp *qp, const struct packet *packet, struct refusal *refusal)
{
	struct roce_responder *r = &qp->responder;
	struct rvt_device *device = qp->rvt.device;
	uint32_t length = packet->payload_length;
	enum rvt_verdict verdict = RVT_OK;

	if (packet->info->flags & OPCODE_BEGINS)
		r->offset = 0;
	if (length && packet->info->operation == OPERATION_SEND) {
		verdict = rvt_copy_to_sge(device, &qp->rvt.receive.list, r->offset, packet->payload,
					  length);
		if (verdict != RVT_OK)
			return refused(refusal, verdict, r->offset, length);
	} else if (length) {
		if (device->memory->write(r->address + r->offset, packet->payload, length))
			return refused(refusal, RVT_REMOTE_MEMORY_FAULT, r->va + r->offset, length);
	}
	/* Who sees a byte of the next packet sees all of this one: programs poll for the last. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	r->offset += length;
	return true;
}

/* The message is complete: tell the program, if it has a receive for it. */
static void complete_receive(struct roce_qp *qp, const struct packet *packet)
{
	struct rvt_wc wc = {
		.opcode = packet->info->operation == OPERATION_SEND ? RVT_WC_RECV
								    : RVT_WC_RECV_RDMA_WITH_IMM,
		.byte_len = qp->responder.offset,
		.src_qp = qp->rvt.attr.dest_qp_num,
		.solicited = packet->solicited,
	};

	if (packet->info->flags & OPCODE_HAS_IMM) {
		wc.wc_flags = RVT_WC_WITH_IMM;
		wc.imm_data = packet->immediate;
	}
	if (packet->info->flags & OPCODE_HAS_IETH) {
		wc.wc_flags = RVT_WC_WITH_INV;
		wc.imm_data = packet->ieth;
	}
	rvt_recv_complete(&qp->rvt, &wc);
}

/* SEND or WRITE. May end with the QP in error: the completion queue may be full. */
static bool execute_message(struct roce_qp *qp, const struct packet *packet,
			    struct refusal *refusal)
{
	struct roce_responder *r = &qp->responder;
	bool receive =
		packet->info->operation == OPERATION_SEND || (packet->info->flags & OPCODE_HAS_IMM);

	if (packet->info->operation == OPERATION_WRITE && !check_write_memory(qp, packet, refusal))
		return false;
	if (!place(qp, packet, refusal))
		return false;
	if ((packet->info->flags & OPCODE_HAS_IETH) &&
	    !rvt_invalidate_window(&qp->rvt, packet->ieth))
		return refused(refusal, RVT_INVALIDATE_REFUSED, packet->ieth, 0);
	r->psn = psn_add(packet->psn, 1);
	r->last_opcode = packet->opcode;
	if (!(packet->info->flags & OPCODE_ENDS)) {
		r->in_message = true;
	} else {
		uint32_t bytes = r->offset;

		forget_message(qp);
		r->offset = bytes;
		r->msn = psn_add(r->msn, 1);
	}
	if (rvt_reliable(qp->rvt.type) && packet->ack_req) {
		r->ack_owed = true;
		if (packet->info->flags & OPCODE_BEGINS && packet->info->flags & OPCODE_ENDS &&
		    !qp->flow.trusted)
			roce_owe_ack_soon(qp);
		else
			roce_owe_ack(qp);
	}
	if ((packet->info->flags & OPCODE_ENDS) && receive)
		complete_receive(qp, packet);
	return true;
}

/* A new READ or atomic is carried out: remember it, answer it in its turn. */
static void accept_resource(struct roce_qp *qp, struct roce_resource *resource, uint32_t psns)
{
	struct roce_responder *r = &qp->responder;

	resource->first_psn = r->psn;
	resource->last_psn = psn_add(r->psn, psns - 1);
	resource->srqn = r->srqn;
	resource->ack_before = r->ack_owed;
	r->ack_owed = false;
	r->psn = psn_add(r->psn, psns);
	r->msn = psn_add(r->msn, 1);
	roce_resource_activate(qp, resource, resource->first_psn);
}

static bool no_resource(const struct roce_qp *qp, struct refusal *refusal)
{
	return refused(refusal, RVT_NO_RESPONDER_RESOURCE, qp->rvt.attr.max_dest_rd_atomic, 0);
}

static bool execute_read(struct roce_qp *qp, const struct packet *packet, struct refusal *refusal)
{
	uint32_t length = packet->reth.length, mtu = qp->rvt.mtu;
	struct roce_resource *resource;
	struct rvt_mr *mr = NULL;
	uint64_t address = 0;

	if (length && !check_rkey(qp, packet, RVT_ACCESS_REMOTE_READ, &mr, &address, refusal))
		return false;
	resource = roce_resource_claim(qp);
	if (!resource) {
		rvt_put_mr(mr);
		return no_resource(qp, refusal);
	}
	resource->kind = ROCE_RESOURCE_READ;
	resource->va = packet->reth.va;
	resource->rkey = packet->reth.rkey;
	resource->length = length;
	resource->mr = mr;
	resource->address = address;
	resource->generation = mr ? mr->generation : 0;
	accept_resource(qp, resource, length ? (length - 1) / mtu + 1 : 1);
	return true;
}

static bool execute_atomic(struct roce_qp *qp, const struct packet *packet, struct refusal *refusal)
{
	const struct rvt_memory_ops *memory = qp->rvt.device->memory;
	struct roce_resource *resource;
	uint64_t address, original = 0;
	struct rvt_mr *mr;
	int error;

	if (packet->atomic.va & 7)
		return refused(refusal, RVT_ATOMIC_MISALIGNED, packet->atomic.va, 0);
	if (!check_rkey(qp, packet, RVT_ACCESS_REMOTE_ATOMIC, &mr, &address, refusal))
		return false;
	/* The address that the peer uses and the real one may differ in alignment. */
	if (address & 7) {
		rvt_put_mr(mr);
		return refused(refusal, RVT_ATOMIC_MISALIGNED, address, 0);
	}
	resource = roce_resource_claim(qp);
	if (!resource) {
		rvt_put_mr(mr);
		return no_resource(qp, refusal);
	}
	if (packet->info->operation == OPERATION_CMP_SWAP)
		error = memory->compare_swap(address, packet->atomic.compare,
					     packet->atomic.swap_add, &original);
	else
		error = memory->fetch_add(address, packet->atomic.swap_add, &original);
	rvt_put_mr(mr);
	if (error)
		return refused(refusal, RVT_REMOTE_MEMORY_FAULT, packet->atomic.va, 8);
	resource->kind = ROCE_RESOURCE_ATOMIC;
	resource->va = packet->atomic.va;
	resource->rkey = packet->atomic.rkey;
	resource->original = original;
	accept_resource(qp, resource, 1);
	return true;
}

/* Eight bytes at once, for all who look. */
static int store(const struct rvt_memory_ops *memory, uint64_t address, uint64_t value)
{
	uint64_t expected, original = 0;

	for (unsigned i = 0; i < STORE_TRIES; i++) {
		expected = original;
		if (memory->compare_swap(address, expected, value, &original))
			return -1;
		if (original == expected)
			return 0;
	}
	/* Somebody writes there all the time: whoever looks cannot tell ours from theirs. */
	return memory->write(address, &value, sizeof(value));
}

static bool execute_atomic_write(struct roce_qp *qp, const struct packet *packet,
				 struct refusal *refusal)
{
	struct roce_resource *resource;
	uint64_t address, value;
	struct rvt_mr *mr;
	int error;

	if (packet->reth.va & 7)
		return refused(refusal, RVT_ATOMIC_MISALIGNED, packet->reth.va, 0);
	if (!check_rkey(qp, packet, RVT_ACCESS_REMOTE_WRITE, &mr, &address, refusal))
		return false;
	rvt_put_mr(mr);
	if (address & 7)
		return refused(refusal, RVT_ATOMIC_MISALIGNED, address, 0);
	resource = roce_resource_claim(qp);
	if (!resource)
		return no_resource(qp, refusal);
	memcpy(&value, packet->payload, sizeof(value));
	error = store(qp->rvt.device->memory, address, value);
	if (error)
		return refused(refusal, RVT_REMOTE_MEMORY_FAULT, packet->reth.va, 8);
	resource->kind = ROCE_RESOURCE_ATOMIC_WRITE;
	resource->va = packet->reth.va;
	resource->rkey = packet->reth.rkey;
	accept_resource(qp, resource, 1);
	return true;
}

/*
 * What was placed before is where every thread of this process sees it, but for the order in which
 * processors see it. Asked again it is done again: that cannot be told apart.
 */
static bool execute_flush(struct roce_qp *qp, const struct packet *packet, struct refusal *refusal)
{
	struct roce_resource *resource;
	struct packet named = *packet;
	uint64_t address;
	struct rvt_mr *mr;

	if (!packet->feth.placement || packet->feth.placement & ~(FETH_GLOBAL | FETH_PERSISTENT) ||
	    packet->feth.selectivity > FETH_REGION)
		return refused(refusal, RVT_FLUSH_PLACEMENT, packet->feth.placement,
			       packet->feth.selectivity);
	if (packet->feth.selectivity == FETH_REGION) {
		const struct rvt_mr *region = rvt_find_mr(qp->rvt.device, packet->reth.rkey);

		named.reth.va = region ? region->iova : 0;
		named.reth.length = 0;
	}
	if (!check_rkey(qp, &named, flush_access(packet), &mr, &address, refusal))
		return false;
	rvt_put_mr(mr);
	resource = roce_resource_claim(qp);
	if (!resource)
		return no_resource(qp, refusal);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	resource->kind = ROCE_RESOURCE_FLUSH;
	resource->va = packet->reth.va;
	resource->rkey = packet->reth.rkey;
	resource->length = packet->reth.length;
	accept_resource(qp, resource, 1);
	return true;
}

/* Is there room to remember a READ or atomic? Before memory is looked at: this refusal wins. */
static bool check_resource(struct roce_qp *qp, const struct packet *packet, struct refusal *refusal)
{
	const struct roce_responder *r = &qp->responder;
	const struct roce_resource *oldest;

	if (packet->info->operation != OPERATION_READ_REQUEST &&
	    packet->info->operation != OPERATION_ATOMIC_WRITE &&
	    packet->info->operation != OPERATION_FLUSH && !is_atomic(packet))
		return true;
	if (!r->resource_count)
		return no_resource(qp, refusal);
	oldest = &r->resources[r->resource_head];
	if (oldest->active && !oldest->replay)
		return no_resource(qp, refusal);
	return true;
}

static void established(struct roce_qp *qp)
{
	if (qp->responder.comm_est)
		return;
	qp->responder.comm_est = true;
	if (qp->rvt.state == RVT_QPS_RTR)
		rvt_comm_est(&qp->rvt);
}

/* All checks in order, then the execution. Return: false when refused. */
static bool process(struct roce_qp *qp, const struct packet *packet, struct refusal *refusal)
{
	if (!check_sequence(qp, packet, refusal))
		return false;
	established(qp);
	if (!check_srq(qp, packet, refusal) || !check_access(qp, packet, refusal) ||
	    !check_resource(qp, packet, refusal) || !check_receive(qp, packet, refusal) ||
	    !check_length(qp, packet, refusal))
		return false;
	switch (packet->info->operation) {
	case OPERATION_READ_REQUEST:
		return execute_read(qp, packet, refusal);
	case OPERATION_CMP_SWAP:
	case OPERATION_FETCH_ADD:
		return execute_atomic(qp, packet, refusal);
	case OPERATION_FLUSH:
		return execute_flush(qp, packet, refusal);
	case OPERATION_ATOMIC_WRITE:
		return execute_atomic_write(qp, packet, refusal);
	default:
		return execute_message(qp, packet, refusal);
	}
}

/* RC: the peer learns of the refusal, and the QP is in error once it knows. */
static void refuse_request(struct roce_qp *qp, const struct refusal *refusal)
{
	roce_tell(qp->engine, refusal->verdict, &qp->rvt.res, refusal->value1, refusal->value2);
	if (refusal->verdict == RVT_NO_RECEIVE) {
		roce_responder_nak(qp, SYNDROME_RNR | (qp->rvt.attr.min_rnr_timer & 0x1f), RVT_OK);
		return;
	}
	forget_message(qp);
	roce_responder_nak(qp, rvt_verdict_row(refusal->verdict)->nak, refusal->verdict);
}

/* A request that was seen before is never executed again, and never refused. */
static void duplicate(struct roce_qp *qp, const struct packet *packet)
{
	struct roce_responder *r = &qp->responder;
	struct roce_resource *resource;

	rvt_count(qp->rvt.device, RVT_COUNT_duplicate_request);
	if (packet->info->operation == OPERATION_SEND ||
	    packet->info->operation == OPERATION_WRITE) {
		if (!packet->ack_req)
			return;
		r->ack_owed = true;
		roce_owe_ack(qp);
		/* The peer went back: it may need to hear of a gap again. */
		if (!r->nak_pending)
			r->nak_sent = false;
		return;
	}
	resource = roce_resource_find(qp, packet);
	if (!resource) {
		roce_drop(qp->engine, RVT_COUNT_drop_stale, RVT_DROP_STALE_DUPLICATE, qp,
			  packet->psn, 0);
		return;
	}
	rvt_put_mr(resource->mr);
	resource->mr = NULL;
	resource->replay = true;
	roce_resource_activate(qp, resource, packet->psn);
}

static void receive_rc(struct roce_qp *qp, const struct packet *packet)
{
	struct roce_responder *r = &qp->responder;
	int32_t ahead = psn_compare(packet->psn, r->psn);
	struct refusal refusal;

	/* The end is near: only the NAK is still to be sent. */
	if (r->nak_pending && r->fatal != RVT_OK)
		return;
	if (ahead < 0) {
		duplicate(qp, packet);
		return;
	}
	if (ahead > 0) {
		rvt_count(qp->rvt.device, RVT_COUNT_out_of_seq_request);
		roce_tell(qp->engine, RVT_DROP_OUT_OF_SEQUENCE, &qp->rvt.res, packet->psn, r->psn);
		if (!r->nak_sent)
			roce_responder_nak(qp, SYNDROME_NAK_SEQUENCE, RVT_OK);
		return;
	}
	r->nak_sent = false;
	r->nak_pending = false;
	if (!process(qp, packet, &refusal))
		refuse_request(qp, &refusal);
}

/* UC: what cannot be used is dropped to the end of the message; a receive that was taken stays so,
 * for the next. */
static void abandon(struct roce_qp *qp)
{
	forget_message(qp);
	qp->responder.uc_drop = true;
}

static bool is_local_error(enum rvt_verdict verdict)
{
	return (verdict >= RVT_LKEY_UNKNOWN && verdict <= RVT_MEMORY_FAULT) ||
	       verdict == RVT_BAD_RECV_WQE;
}

static void drop_message(struct roce_qp *qp, const struct packet *packet,
			 const struct refusal *refusal)
{
	struct roce_engine *engine = qp->engine;

	qp->responder.psn = psn_add(packet->psn, 1);
	if (is_local_error(refusal->verdict)) {
		roce_tell(engine, refusal->verdict, &qp->rvt.res, refusal->value1, refusal->value2);
		forget_message(qp);
		rvt_recv_fail(&qp->rvt, refusal->verdict);
		rvt_error_qp(&qp->rvt, refusal->verdict);
		return;
	}
	if (refusal->verdict == RVT_NO_RECEIVE) {
		roce_drop(engine, RVT_COUNT_drop_receive, RVT_DROP_UD_NO_RECEIVE, qp, 0, 0);
	} else {
		roce_tell(engine, refusal->verdict, &qp->rvt.res, refusal->value1, refusal->value2);
		roce_drop(engine, RVT_COUNT_drop_receive, RVT_DROP_UC_BROKEN, qp, packet->psn, 0);
	}
	abandon(qp);
}

static void receive_uc(struct roce_qp *qp, const struct packet *packet)
{
	struct roce_responder *r = &qp->responder;
	int32_t ahead = psn_compare(packet->psn, r->psn);
	struct refusal refusal;

	if (ahead < 0 && ahead >= -UC_LATE_PSNS) {
		rvt_count(qp->rvt.device, RVT_COUNT_duplicate_request);
		return;
	}
	if (ahead) {
		rvt_count(qp->rvt.device, RVT_COUNT_out_of_seq_request);
		roce_tell(qp->engine, RVT_DROP_OUT_OF_SEQUENCE, &qp->rvt.res, packet->psn, r->psn);
		abandon(qp);
	}
	if (packet->info->flags & OPCODE_BEGINS) {
		/* Also one that comes before the end of the last: that one lost its rest. */
		if (r->in_message)
			abandon(qp);
		r->uc_drop = false;
	}
	if (r->uc_drop) {
		r->psn = psn_add(packet->psn, 1);
		roce_drop(qp->engine, RVT_COUNT_drop_receive, RVT_DROP_UC_BROKEN, qp, packet->psn,
			  0);
		return;
	}
	if (!process(qp, packet, &refusal))
		drop_message(qp, packet, &refusal);
}

void roce_responder_receive(struct roce_qp *qp, const struct packet *packet)
{
	if (qp->rvt.type == RVT_QPT_UC)
		receive_uc(qp, packet);
	else
		receive_rc(qp, packet);
}
