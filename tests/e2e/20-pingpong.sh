#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The pingpong programs of ibverbs-utils, unmodified, between two processes over adverb_lo.
. "${0%/*}/lib.sh"

for type in rc uc ud srq; do
	have ibv_${type}_pingpong || { skip "ibv_${type}_pingpong" "not installed"; continue; }
	pp="ibv_${type}_pingpong -d adverb_lo"
	pair "$type defaults, IPv4" 60 $pp -g 0 -n 500
	pair "$type IPv6" 60 $pp -g 1 -n 500
	pair "$type events (-e)" 60 $pp -g 0 -e -n 300
	pair "$type validated data (-c)" 60 $pp -g 0 -c -n 200
	pair "$type 1 byte" 60 $pp -g 0 -s 1 -n 200
done

for type in rc srq; do
	for mtu in 256 512 1024 2048 4096; do
		pair "$type MTU $mtu, 65537 bytes, validated" 60 ibv_${type}_pingpong -d adverb_lo -g 0 -m $mtu -s 65537 -c -n 20
	done
	pair "$type 1 MiB" 60 ibv_${type}_pingpong -d adverb_lo -g 0 -m 4096 -s 1048576 -c -n 10
done
pair "uc MTU 256, validated" 60 ibv_uc_pingpong -d adverb_lo -g 0 -m 256 -s 4000 -c -n 50
pair "ud 2048 bytes" 60 ibv_ud_pingpong -d adverb_lo -g 0 -s 2048 -c -n 100
pair "rc timestamps (-t)" 60 ibv_rc_pingpong -d adverb_lo -g 0 -t -n 200
pair "rc ibv_wr_* (-N)" 60 ibv_rc_pingpong -d adverb_lo -g 0 -N -n 200
pair "rc on demand (-o)" 60 ibv_rc_pingpong -d adverb_lo -g 0 -o -n 200
pair "rc on demand, prefetched (-o -P)" 60 ibv_rc_pingpong -d adverb_lo -g 0 -o -P -n 200
pair "rc device memory (-j)" 60 ibv_rc_pingpong -d adverb_lo -g 0 -j -n 200
pair "rc IPv6, 4096" 60 ibv_rc_pingpong -d adverb_lo -g 1 -m 4096 -s 100000 -c -n 20
finish
