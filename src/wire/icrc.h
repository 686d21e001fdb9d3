/* SPDX-License-Identifier: Apache-2.0 */
/*
 * icrc.h - the invariant CRC of RoCEv2 (IBTA A17.3.3)
 *
 * It covers the IP header, and with it the IPv4 identification, which a UDP socket cannot see on
 * receive. The CRC is linear: the difference between the ICRC that came and the one computed with
 * another identification shows the difference of the identifications, if nothing else differs.
 * icrc_check() accepts exactly the packets that are right for some identification, with or without
 * the don't-fragment bit. That is 2^17 of the 2^32 differences: of random corruptions one in 2^15
 * passes, where a full check lets one in 2^32 pass. Of single bits every flip is found but two, in
 * a packet long enough to have them: bit 3 of byte 173 and bit 6 of byte 1834, counted from the
 * BTH. They look like another identification, so no check can tell that does not know the right
 * one. Over IPv6 nothing is hidden and the check is whole. Between two sockets (adverb to adverb)
 * the UDP checksum is there besides.
 */
#ifndef WIRE_ICRC_H
#define WIRE_ICRC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/gid.h"

/* What the ICRC covers outside of the UDP payload. The rest of those headers is masked or follows.
 */
struct icrc_route {
	struct gid source, destination; /* of one family */
	uint16_t source_port, destination_port;
};

/**
 * icrc_compute() - @payload: BTH to pad, @length bytes. @ipv4_id: the identification it will have;
 * DF is set. Return: the ICRC; icrc_write() puts it in place.
 */
uint32_t icrc_compute(const struct icrc_route *route, uint16_t ipv4_id, const uint8_t *payload,
		      size_t length);
/** icrc_write() - least significant byte first. */
void icrc_write(uint8_t *to, uint32_t icrc);

/**
 * icrc_check() - is the ICRC at the end of @data (@length bytes with it) right for some
 * identification? Total: what is too short or too long for a packet is not right.
 * @hint: what was learnt from earlier packets of this sender, to guess the next; -1 at first. May
 * be NULL.
 */
bool icrc_check(const struct icrc_route *route, const uint8_t *data, size_t length, int32_t *hint);

#endif
