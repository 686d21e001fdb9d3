#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# perftest, unmodified, between two processes over adverb_lo.
. "${0%/*}/lib.sh"

have ib_write_bw || { skip perftest "not installed"; finish; }
d="-d adverb_lo -F"
for op in send write read; do
	for kind in bw lat; do
		pair "ib_${op}_$kind all sizes (-a)" 120 ib_${op}_$kind $d -a -n 50
		[ $op = send ] && pair "ib_${op}_$kind events (-e)" 60 ib_${op}_$kind $d -e -n 200
	done
	pair "ib_${op}_bw both ways (-b)" 60 ib_${op}_bw $d -b -n 500
	pair "ib_${op}_bw 16 QPs (-q 16)" 60 ib_${op}_bw $d -q 16 -n 200

done
for kind in bw lat; do
	for type in FETCH_AND_ADD CMP_AND_SWAP; do
		pair "ib_atomic_$kind $type" 60 ib_atomic_$kind $d -A $type -n 500
	done
done
pair "ib_atomic_bw 16 QPs" 60 ib_atomic_bw $d -q 16 -n 200
for op in send write; do
	pair "ib_${op}_bw UC" 60 ib_${op}_bw $d -c UC -n 500
	pair "ib_${op}_lat UC" 60 ib_${op}_lat $d -c UC -n 500
done
pair "ib_send_bw UD" 60 ib_send_bw $d -c UD -s 1024 -n 500
pair "ib_send_lat UD" 60 ib_send_lat $d -c UD -s 1024 -n 500
pair "ib_send_bw SRQ, receive size" 60 ib_send_bw $d --use-srq -q 4 -r 64 -n 400
pair "ib_send_lat SRQ" 60 ib_send_lat $d --use-srq -n 400
pair "ib_write_bw IPv6 GID (-x 1)" 60 ib_write_bw $d -x 1 -n 500
for mtu in 256 1024 4096; do
	pair "ib_write_bw MTU $mtu" 60 ib_write_bw $d -m $mtu -n 300
done
pair "ib_write_bw new posting (--use_old_post_send)" 60 ib_write_bw $d --use_old_post_send -n 300
finish
