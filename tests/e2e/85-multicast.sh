#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# UD multicast: within a host, between hosts, and what a killed member leaves behind.
. "${0%/*}/lib.sh"

program=$ADVERB_BUILD/tests/e2e/e2e-multicast

# run NAME COMMAND...: the lines that the program says become results
run() {
	name=$1
	shift
	timeout -k 1 60 "$@" >"$work/out" 2>&1
	status=$?
	while read -r result text; do
		case $result in
		ok) ok "$name: $text" ;;
		not) not_ok "$name" "$text" ;;
		esac
	done <"$work/out"
	[ $status = 0 ] || not_ok "$name" "exit $status: $(tail -3 "$work/out" | tr '\n' ' ')"
}

# listener OUTPUT PREFIX ARGS...: a member in the background; $listener is its pid
listener() {
	output=$1 prefix=$2
	shift 2
	rm -f "$output"
	# shellcheck disable=SC2086
	$prefix $as_user "$adverb" run -- "$program" listen "$@" >"$output" 2>&1 &
	listener=$!
	started="$started $listener"
	tenths=0
	while ! grep -qs ready "$output" && [ $tenths -lt 100 ]; do
		sleep 0.1
		tenths=$((tenths + 1))
	done
}

# joined HEX: is anybody of this namespace in that group?
joined() { grep -qi "$1" /proc/net/igmp /proc/net/igmp6; }

# left NAME HEX: within a while nobody is
left() {
	tenths=0
	while joined "$2" && [ $tenths -lt 50 ]; do
		sleep 0.1
		tenths=$((tenths + 1))
	done
	if joined "$2"; then not_ok "$1" "the host is still in $2"; else ok "$1"; fi
}

# shellcheck disable=SC2086
run "rules" $as_user "$adverb" run -- "$program" rules 0 239.1.2.3
left "a closed device leaves its groups" 030201EF
# shellcheck disable=SC2086
run "one host, IPv4" $as_user "$adverb" run -- "$program" local 0 239.1.2.3
left "detaching leaves the group" 030201EF

# The sockets outlive their owners, so the broker has to see to it. The other member keeps them open.
if [ "$E2E_INSIDE" != host ]; then
	listener "$work/b" "" 0 239.1.2.5 0
	other=$listener
	listener "$work/a" "" 0 239.1.2.4 0
	if joined 040201EF; then ok "a member joins"; else not_ok "a member joins" "$(cat "$work/a")"; fi
	kill -9 "$listener"
	wait "$listener" 2>/dev/null
	left "a killed member leaves nothing behind" 040201EF
	# Now nobody is there to see it: the next broker, which gets the sockets from the other member, does.
	listener "$work/a" "" 0 239.1.2.4 0
	# shellcheck disable=SC2086
	broker=$($as_user "$adverb" status 2>/dev/null | sed -n 's/^broker pid \([0-9]*\).*/\1/p')
	kill -9 "$broker" "$listener"
	wait "$listener" 2>/dev/null
	left "nor does one that was killed with the broker" 040201EF
	if joined 050201EF; then ok "others stay in theirs"; else not_ok "others stay in theirs" "left"; fi
	kill -9 "$other"
	wait "$other" 2>/dev/null
	started=
fi

if have ib_send_bw; then
	group=0:0:0:0:0:0:0:0:0:0:255:255:239:1:1:1
	pair "ib_send_bw to a group" 60 ib_send_bw -d adverb_lo -F -c UD -g -M $group -s 1024 -n 1000
	pair "ib_send_lat to a group" 60 ib_send_lat -d adverb_lo -F -c UD -g -M $group -s 64 -n 1000
fi

if [ "$E2E_INSIDE" = host ]; then
	skip "multicast between namespaces" "this machine does not let us make any"
	finish
fi
unshare -n sleep 600 &
holder=$!
started=$holder
E2E_AT_EXIT="kill $holder"
sleep 0.3
peer="nsenter -t $holder -n env ADVERB_DEVICES=net0=veth1"
if ! ip link add veth0 type veth peer name veth1 netns $holder 2>"$work/ip"; then
	skip "multicast between namespaces" "no veth: $(cat "$work/ip")"
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
export ADVERB_DEVICES=net0=veth0
# shellcheck disable=SC2086
six=$($as_user "$adverb" run -- ibv_devinfo -v 2>/dev/null |
	awk '/GID\[/ && /fd77/ { gsub(/[^0-9]/, "", $2); print $2; exit }')

# shellcheck disable=SC2086
run "an interface, IPv6" $as_user "$adverb" run -- "$program" local "${six:-0}" ff0e::77

# A process that is in another group is not bothered with it.
started=$holder
listener "$work/a" "" "${six:-0}" ff0e::77 0
one=$listener
listener "$work/b" "" "${six:-0}" ff0e::78 0
# shellcheck disable=SC2086
$as_user "$adverb" run -- "$program" send "${six:-0}" ff0e::77 10 >"$work/send" 2>&1
sleep 0.2
# shellcheck disable=SC2086
$as_user "$adverb" status >"$work/status" 2>&1
if grep -q 'rcvd_pkts 10$' "$work/status" && ! grep -q drop_no_qp "$work/status"; then
	ok "members of other groups hear nothing"
else
	not_ok "members of other groups hear nothing" "$(tr '\n' ' ' <"$work/status")"
fi
kill -9 "$one" "$listener"
wait "$one" "$listener" 2>/dev/null

# across GID_INDEX GROUP: members on both sides, the sender on each in turn
across() {
	for from in "" "$peer"; do
		started=$holder
		listener "$work/here" "" "$1" "$2" 30
		here=$listener
		listener "$work/there1" "$peer" "$1" "$2" 30
		there1=$listener
		listener "$work/there2" "$peer" "$1" "$2" 30
		there2=$listener
		# shellcheck disable=SC2086
		$from $as_user timeout -k 1 30 "$adverb" run -- "$program" send "$1" "$2" 30 >"$work/send" 2>&1
		status=$?
		name="between hosts, $2, from $([ -n "$from" ] && echo the other || echo this one)"
		for pid in $here $there1 $there2; do
			wait "$pid" || status=$?
		done
		if [ $status = 0 ]; then
			ok "$name"
		else
			not_ok "$name" "$(cat "$work/here" "$work/there1" "$work/there2" "$work/send" | tr '\n' ' ')"
		fi
	done
}
across 0 239.1.2.3
across 0 224.0.0.77
across "${six:-0}" ff0e::77
across "${six:-0}" ff02::77
finish
