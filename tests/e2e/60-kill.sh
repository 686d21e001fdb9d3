#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kill -9 of the broker and of clients during traffic: nothing lost, slots come back, numbers are kept.
. "${0%/*}/lib.sh"

rounds=${E2E_KILLS:-100}
seed=${ADVERB_SEED:-$(date +%s)}
echo "# seed $seed"

# random LIMIT: sets $number to 0 .. LIMIT - 1, the same for the same seed
random() {
	seed=$(((seed * 1103515245 + 12345) % 2147483648))
	number=$((seed / 65536 % $1))
}

broker_pid() { $as_user "$adverb" status 2>/dev/null | sed -n 's/^broker pid \([0-9]*\).*/\1/p'; }

# A pair that runs all the while: nothing that happens to the others may end it.
new_port
# shellcheck disable=SC2086
$as_user "$adverb" run -- ibv_rc_pingpong -d adverb_lo -g 0 -n 100000000 -p $next_port >"$work/long_s" 2>&1 &
long_server=$!
started=$long_server
wait_listening $next_port $long_server || not_ok "long pair" "no server: $(cat "$work/long_s")"
# shellcheck disable=SC2086
$as_user "$adverb" run -- ibv_rc_pingpong -d adverb_lo -g 0 -n 100000000 -p $next_port 127.0.0.1 >"$work/long_c" 2>&1 &
long_client=$!
started="$started $long_client"
sleep 1

killed_brokers=0 killed_clients=0 round=0 died=0 last=
while [ $round -lt "$rounds" ]; do
	round=$((round + 1))
	new_port
	# shellcheck disable=SC2086
	$as_user "$adverb" run -- ibv_rc_pingpong -d adverb_lo -g 0 -n 100000000 -p $next_port >"$work/s" 2>&1 &
	server=$!
	wait_listening $next_port $server
	# shellcheck disable=SC2086
	$as_user "$adverb" run -- ibv_rc_pingpong -d adverb_lo -g 0 -n 100000000 -p $next_port 127.0.0.1 >"$work/c" 2>&1 &
	client=$!
	started="$long_server $long_client $server $client"
	random 10
	sleep 0.0$number
	random 2
	if [ $number = 0 ]; then
		pid=$(broker_pid)
		if [ -n "$pid" ]; then
			kill -9 "$pid" && killed_brokers=$((killed_brokers + 1))
		fi
		random 10
		sleep 0.0$number
	fi
	for pid in $server $client; do
		kill -0 "$pid" 2>/dev/null || { wait "$pid"; status=$?; died=$((died + 1)); last="exit $status: $(cat "$work/s" "$work/c" | tail -3 | tr '\n' ' ')"; }
	done
	kill -9 $client 2>/dev/null && killed_clients=$((killed_clients + 1))
	kill -9 $server 2>/dev/null && killed_clients=$((killed_clients + 1))
	wait $client $server 2>/dev/null
	started="$long_server $long_client"
	if ! kill -0 $long_server 2>/dev/null || ! kill -0 $long_client 2>/dev/null; then
		not_ok "a connected pair survives" "it ended in round $round: $(cat "$work/long_s" "$work/long_c" | tail -3 | tr '\n' ' ')"
		break
	fi
done
echo "# $killed_brokers brokers, $killed_clients clients killed"
[ $round = "$rounds" ] && [ $killed_brokers -gt $((rounds / 5)) ] && ok "$rounds rounds of kill -9"
[ $killed_brokers -gt $((rounds / 5)) ] || not_ok "brokers were killed" "only $killed_brokers"

if [ $died = 0 ]; then ok "none ended by itself"; else not_ok "none ended by itself" "$died did: $last"; fi

# Numbers are kept, and there is room: new pairs connect, and only the living are listed.
pair "a new pair afterwards" 30 ibv_rc_pingpong -d adverb_lo -g 0 -n 200
sleep 3
listed=$($as_user "$adverb" resource show qp 2>/dev/null | grep -c lqpn)
if [ "$listed" = 2 ]; then ok "slots of the killed are reclaimed"; else not_ok "slots of the killed are reclaimed" "$listed QPs listed, 2 live"; fi
kill $long_server $long_client 2>/dev/null
wait $long_server $long_client 2>/dev/null
started=
i=0
while [ -n "$(broker_pid)" ] && [ $i -lt 50 ]; do
	i=$((i + 1))
	sleep 0.2
done
if [ -z "$(broker_pid)" ]; then ok "the broker leaves after its last client"; else not_ok "the broker leaves after its last client" "pid $(broker_pid) is there"; fi
finish
