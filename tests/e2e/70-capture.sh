#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is on the wire: tshark finds no malformed packet, and every ICRC is what zlib's CRC says it must be.
. "${0%/*}/lib.sh"

for tool in tcpdump tshark python3; do
	have $tool || { skip capture "$tool is not installed"; finish; }
done
if [ "$E2E_INSIDE" = host ]; then
	skip capture "no network namespace of our own"
	finish
fi
# Single packets, as a network card would send them: a capture on lo shows trains unsegmented.
export ADVERB_GSO=0
tcpdump -i lo -s 0 -B 65536 -w "$work/rc.pcap" udp port 4791 >"$work/tcpdump" 2>&1 &
dump=$!
started=$dump
i=0
while ! grep -q 'listening on' "$work/tcpdump"; do
	i=$((i + 1))
	[ $i -gt 100 ] && break
	kill -0 $dump 2>/dev/null || { skip capture "tcpdump: $(cat "$work/tcpdump")"; finish; }
	sleep 0.1
done
keep=$dump
for gid in 0 1; do
	for type in rc uc; do
		pair "ibv_${type}_pingpong, GID $gid" 60 ibv_${type}_pingpong -d adverb_lo -g $gid -s 1500 -m 1024 -n 20
	done
	pair "ibv_ud_pingpong, GID $gid" 60 ibv_ud_pingpong -d adverb_lo -g $gid -s 1000 -n 20
done
if have ib_write_bw; then
	for op in write read send; do
		pair "ib_${op}_bw" 60 ib_${op}_bw -d adverb_lo -F -s 10001 -n 20
	done
	pair ib_atomic_bw 60 ib_atomic_bw -d adverb_lo -F -n 20
fi
sleep 1
kill -INT $keep
wait $keep
started=

packets=$(tshark -r "$work/rc.pcap" -Y infiniband.bth -T fields -e frame.number 2>/dev/null | wc -l)
malformed=$(tshark -r "$work/rc.pcap" -Y '_ws.malformed || (udp.port == 4791 && !infiniband)' 2>/dev/null | wc -l)
if [ "$packets" -gt 200 ] && [ "$malformed" = 0 ]; then
	ok "tshark dissects $packets packets, none malformed"
else
	not_ok "tshark dissects all packets" "$packets packets, $malformed malformed"
fi
if python3 "${0%/*}/icrc.py" "$work/rc.pcap" >"$work/icrc" 2>&1; then
	ok "$(tail -1 "$work/icrc")"
else
	not_ok "every ICRC equals an independent computation" "$(tail -3 "$work/icrc" | tr '\n' ' ')"
fi
finish
