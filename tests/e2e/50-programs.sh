#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs of our own, and many at once: quantities, mistakes, concurrency.
. "${0%/*}/lib.sh"

own() {
	# shellcheck disable=SC2086
	$as_user timeout -k 1 "$2" "$adverb" run -- "$ADVERB_BUILD/tests/e2e/$1" $3 >"$work/out" 2>"$work/err"
	status=$?
	sed "s/^ok /ok $script: $1: /; s/^not ok /not ok $script: $1: /" "$work/out"
	failures=$((failures + $(grep -c '^not ok' "$work/out")))
	if [ $status != 0 ] && ! grep -q '^not ok' "$work/out"; then
		not_ok "$1" "exit $status: $(tail -3 "$work/err" | tr '\n' ' ')"
	fi
}

own e2e-hostile 120 ""
own e2e-rude 120 ""
ADVERB_LOG=warn own e2e-refused 30 ""
reasons=$(grep -c ': not supported: ' "$work/err")
if [ "$reasons" -ge 9 ]; then ok "refusals say why"; else not_ok "refusals say why" "$reasons reasons"; fi
own e2e-xrc 60 ""
own e2e-many 300 "${E2E_CYCLES:-10000}"

# The port tells of its interface.
if [ "$E2E_INSIDE" = host ]; then
	skip "port events" "no network namespace of our own"
else
	# shellcheck disable=SC2086
	$as_user timeout 20 "$adverb" run -- "$ADVERB_BUILD/tests/e2e/e2e-port_events" 3 >"$work/events" 2>&1 &
	watcher=$!
	started=$watcher
	waited=0
	while ! grep -q ready "$work/events" 2>/dev/null && [ $waited -lt 50 ]; do
		waited=$((waited + 1))
		sleep 0.1
	done
	ip addr add 127.99.0.1/32 dev lo
	sleep 0.3
	ip link set lo down
	sleep 0.3
	ip link set lo up
	ip addr del 127.99.0.1/32 dev lo
	wait $watcher
	started=
	if grep -q 'GID table change' "$work/events" && grep -q 'port error' "$work/events"; then
		ok "port events"
	else
		not_ok "port events" "$(tr '\n' ' ' <"$work/events")"
	fi
fi

# 16 processes at once: 8 pairs.
pids=
n=0
while [ $n -lt 8 ]; do
	new_port
	# shellcheck disable=SC2086
	$as_user timeout 120 "$adverb" run -- ibv_rc_pingpong -d adverb_lo -g 0 -n 500 -p $next_port >"$work/s$n" 2>&1 &
	server=$!
	pids="$pids $server"
	started="$started $server"
	wait_listening $next_port $server
	# shellcheck disable=SC2086
	$as_user timeout 120 "$adverb" run -- ibv_rc_pingpong -d adverb_lo -g 0 -n 500 -p $next_port 127.0.0.1 >"$work/c$n" 2>&1 &
	pids="$pids $!"
	started="$started $!"
	n=$((n + 1))
done
bad=0
for pid in $pids; do
	wait "$pid" || bad=$((bad + 1))
done
started=
if [ $bad = 0 ]; then ok "16 processes at once"; else not_ok "16 processes at once" "$bad failed: $(cat "$work"/c[0-7] | tail -3 | tr '\n' ' ')"; fi
finish
