#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Two network namespaces joined by veth: two brokers, real addresses, IPv4 and IPv6.
. "${0%/*}/lib.sh"

if [ "$E2E_INSIDE" = host ]; then
	skip "network namespaces" "this machine does not let us make any"
	finish
fi
# We are in one namespace of our own; the peer's lives as long as this process does.
unshare -n sleep 600 &
holder=$!
started=$holder
E2E_AT_EXIT="kill $holder"
sleep 0.3
peer="nsenter -t $holder -n"
if ! ip link add veth0 type veth peer name veth1 netns $holder 2>"$work/ip"; then
	skip "network namespaces" "no veth: $(cat "$work/ip")"
	finish
fi
ip addr add 10.77.0.1/24 dev veth0
ip -6 addr add fd77::1/64 dev veth0 nodad
ip link set veth0 mtu 4200 up
$peer ip link set lo up
$peer ip addr add 10.77.0.2/24 dev veth1
$peer ip -6 addr add fd77::2/64 dev veth1 nodad
$peer ip link set veth1 mtu 4200 up
sleep 0.5

# The same device name on both sides, as on two equal machines.
export ADVERB_DEVICES=net0=veth0
in_client="$peer env ADVERB_DEVICES=net0=veth1"
in_server=
address=10.77.0.1
gid6() { $as_user "$adverb" run -- ibv_devinfo -v 2>/dev/null | awk '/GID\[/ && /fd77/ { gsub(/[^0-9]/, "", $2); print $2; exit }'; }
six=$(gid6)
for type in rc uc ud srq; do
	pair "$type over veth, IPv4" 60 ibv_${type}_pingpong -d net0 -g 0 -n 300
	[ -z "$six" ] || pair "$type over veth, IPv6" 60 ibv_${type}_pingpong -d net0 -g "$six" -n 300
done
for mtu in 256 1024 4096; do
	pair "rc over veth, MTU $mtu, validated" 60 ibv_rc_pingpong -d net0 -g 0 -m $mtu -s 100000 -c -n 20
done
if have ib_write_bw; then
	for op in send write read; do
		pair "ib_${op}_bw over veth" 60 ib_${op}_bw -d net0 -F -n 500
		pair "ib_${op}_lat over veth" 60 ib_${op}_lat -d net0 -F -n 500
	done
	pair "ib_atomic_bw over veth" 60 ib_atomic_bw -d net0 -F -n 300
	pair "ib_write_bw UC over veth" 60 ib_write_bw -d net0 -F -c UC -n 300
	pair "ib_send_bw UC over veth" 60 ib_send_bw -d net0 -F -c UC -n 300
	pair "ib_send_bw UD over veth" 60 ib_send_bw -d net0 -F -c UD -s 1024 -n 300
	[ -z "$six" ] || pair "ib_write_bw over veth, IPv6" 60 ib_write_bw -d net0 -F -x "$six" -n 500
	[ -z "$six" ] || pair "ib_send_bw over fd77::1, IPv6 all the way" 60 ib_send_bw -d net0 -F -x "$six" -n 300
fi
# An MTU of 1500 carries RoCE packets of 1024 bytes.
ip link set veth0 mtu 1500
$peer ip link set veth1 mtu 1500
pair "rc over an Ethernet MTU of 1500" 60 ibv_rc_pingpong -d net0 -g 0 -m 1024 -s 50000 -c -n 50
finish
