/* SPDX-License-Identifier: Apache-2.0 */
/* packet.c - headers to numbers and back */
#include "wire/packet.h"

#include "base/bytes.h"

#define MAX_PAYLOAD 4096

static uint8_t *write_bth(const struct packet *p, uint8_t *to)
{
	to[0] = p->opcode;
	to[1] = (uint8_t)((p->solicited ? 0x80 : 0) | (p->migrated ? 0x40 : 0) | (p->pad & 3) << 4);
	put_be16(to + 2, p->pkey);
	to[4] = (uint8_t)((p->fecn ? 0x80 : 0) | (p->becn ? 0x40 : 0));
	put_be24(to + 5, p->dest_qpn);
	to[8] = p->ack_req ? 0x80 : 0;
	put_be24(to + 9, p->psn);
	return to + BTH_LENGTH;
}

static void read_bth(struct packet *p, const uint8_t *from)
{
	p->opcode = from[0];
	p->solicited = from[1] & 0x80;
	p->migrated = from[1] & 0x40;
	p->pad = from[1] >> 4 & 3;
	p->pkey = get_be16(from + 2);
	p->fecn = from[4] & 0x80;
	p->becn = from[4] & 0x40;
	p->dest_qpn = get_be24(from + 5);
	p->ack_req = from[8] & 0x80;
	p->psn = get_be24(from + 9);
}

size_t packet_headers_length(uint8_t opcode)
{
	return opcode_info(opcode)->header_length;
}

size_t packet_write_headers(const struct packet *p, uint8_t *to)
{
	const struct opcode_info *info = opcode_info(p->opcode);
	uint8_t *at = write_bth(p, to);

	if (info->flags & OPCODE_HAS_XRCETH) {
		at[0] = 0;
		put_be24(at + 1, p->srqn);
		at += XRCETH_LENGTH;
	}
	if (info->flags & OPCODE_HAS_DETH) {
		put_be32(at, p->deth.qkey);
		at[4] = 0;
		put_be24(at + 5, p->deth.src_qpn);
		at += DETH_LENGTH;
	}
	if (info->flags & OPCODE_HAS_FETH) {
		put_be32(at, (p->feth.selectivity & 3u) << 4 | (p->feth.placement & 15u));
		at += FETH_LENGTH;
	}
	if (info->flags & OPCODE_HAS_RETH) {
		put_be64(at, p->reth.va);
		put_be32(at + 8, p->reth.rkey);
		put_be32(at + 12, p->reth.length);
		at += RETH_LENGTH;
	}
	if (info->flags & OPCODE_HAS_ATOMIC) {
		put_be64(at, p->atomic.va);
		put_be32(at + 8, p->atomic.rkey);
		put_be64(at + 12, p->atomic.swap_add);
		put_be64(at + 20, p->atomic.compare);
		at += ATOMIC_ETH_LENGTH;
	}
	if (info->flags & OPCODE_HAS_AETH) {
		at[0] = p->aeth.syndrome;
		put_be24(at + 1, p->aeth.msn);
		at += AETH_LENGTH;
	}
	if (info->flags & OPCODE_HAS_ATOMIC_ACK) {
		put_be64(at, p->atomic_ack);
		at += ATOMIC_ACK_LENGTH;
	}
	if (info->flags & OPCODE_HAS_IMM) {
		memcpy(at, &p->immediate, IMM_LENGTH);
		at += IMM_LENGTH;
	}
	if (info->flags & OPCODE_HAS_IETH) {
		put_be32(at, p->ieth);
		at += IETH_LENGTH;
	}
	if (info->operation == OPERATION_CNP) {
		memset(at, 0, CNP_LENGTH);
		at += CNP_LENGTH;
	}
	return (size_t)(at - to);
}

static void read_extensions(struct packet *p, const uint8_t *at)
{
	unsigned flags = p->info->flags;

	if (flags & OPCODE_HAS_XRCETH) {
		p->srqn = get_be24(at + 1);
		at += XRCETH_LENGTH;
	}
	if (flags & OPCODE_HAS_DETH) {
		p->deth.qkey = get_be32(at);
		p->deth.src_qpn = get_be24(at + 5);
		at += DETH_LENGTH;
	}
	if (flags & OPCODE_HAS_FETH) {
		p->feth.placement = at[3] & 15;
		p->feth.selectivity = at[3] >> 4 & 3;
		at += FETH_LENGTH;
	}
	if (flags & OPCODE_HAS_RETH) {
		p->reth.va = get_be64(at);
		p->reth.rkey = get_be32(at + 8);
		p->reth.length = get_be32(at + 12);
		at += RETH_LENGTH;
	}
	if (flags & OPCODE_HAS_ATOMIC) {
		p->atomic.va = get_be64(at);
		p->atomic.rkey = get_be32(at + 8);
		p->atomic.swap_add = get_be64(at + 12);
		p->atomic.compare = get_be64(at + 20);
		at += ATOMIC_ETH_LENGTH;
	}
	if (flags & OPCODE_HAS_AETH) {
		p->aeth.syndrome = at[0];
		p->aeth.msn = get_be24(at + 1);
		at += AETH_LENGTH;
	}
	if (flags & OPCODE_HAS_ATOMIC_ACK) {
		p->atomic_ack = get_be64(at);
		at += ATOMIC_ACK_LENGTH;
	}
	if (flags & OPCODE_HAS_IMM) {
		memcpy(&p->immediate, at, IMM_LENGTH);
		at += IMM_LENGTH;
	}
	if (flags & OPCODE_HAS_IETH)
		p->ieth = get_be32(at);
}

enum packet_flaw packet_parse(struct packet *p, const uint8_t *data, size_t length)
{
	size_t rest;

	if (length < BTH_LENGTH + ICRC_LENGTH)
		return PACKET_SHORT;
	read_bth(p, data);
	p->info = opcode_info(p->opcode);
	if (p->info->operation == OPERATION_NONE)
		return PACKET_OPCODE;
	if (data[1] & 0x0f)
		return PACKET_VERSION;
	if (length < p->info->header_length + (size_t)ICRC_LENGTH)
		return PACKET_SHORT;
	rest = length - p->info->header_length - ICRC_LENGTH;
	if (rest % 4 || p->pad > rest)
		return PACKET_PAD;
	if (rest && !(p->info->flags & OPCODE_HAS_PAYLOAD))
		return PACKET_PAYLOAD;
	if (rest > MAX_PAYLOAD)
		return PACKET_LONG;
	read_extensions(p, data + BTH_LENGTH);
	p->payload = data + p->info->header_length;
	p->payload_length = (uint32_t)(rest - p->pad);
	return PACKET_GOOD;
}

const char *packet_flaw_name(enum packet_flaw flaw)
{
	static const char *const names[] = {
		[PACKET_GOOD] = "good",
		[PACKET_SHORT] = "shorter than its headers",
		[PACKET_OPCODE] = "unknown opcode",
		[PACKET_VERSION] = "unknown transport header version",
		[PACKET_PAD] = "wrong pad or length",
		[PACKET_PAYLOAD] = "payload where none belongs",
		[PACKET_LONG] = "payload longer than any MTU",
	};

	return (unsigned)flaw < sizeof(names) / sizeof(names[0]) ? names[flaw] : "?";
}
