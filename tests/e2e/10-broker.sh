#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The broker: started by whoever comes first, clear about what is in its way, gone after its last client.
. "${0%/*}/lib.sh"

brokers() { for d in /proc/[0-9]*; do [ "$(cat "$d/comm" 2>/dev/null)" = adverbd ] && [ "$(readlink "$d/ns/net")" = "$(readlink /proc/self/ns/net)" ] && echo "${d#/proc/}"; done; }

# Thirty at once, and no broker yet.
pids=
n=0
while [ $n -lt 30 ]; do
	# shellcheck disable=SC2086
	$as_user "$adverb" run -- ibv_devinfo -d adverb_lo >"$work/out$n" 2>&1 &
	pids="$pids $!"
	n=$((n + 1))
done
bad=0
for pid in $pids; do wait "$pid" || bad=$((bad + 1)); done
if [ $bad = 0 ]; then ok "thirty programs start at once"; else not_ok "thirty programs start at once" "$bad failed: $(cat "$work"/out* | grep -i fail | head -2)"; fi
count=$(brokers | wc -l)
if [ "$count" = 1 ]; then ok "they share one broker"; else not_ok "they share one broker" "$count run"; fi

wait_gone() {
	waited=0
	while [ -n "$(brokers)" ] && [ $waited -lt 50 ]; do
		waited=$((waited + 1))
		sleep 0.2
	done
	[ -z "$(brokers)" ]
}
if wait_gone; then ok "it leaves by itself"; else not_ok "it leaves by itself" "still there"; fi
if [ -z "$($as_user find "$work/run/adverb" -name '*.sock')" ]; then ok "and takes its socket along"; else not_ok "and takes its socket along" "$(ls "$work/run/adverb")"; fi

# Somebody else has the port.
if have python3; then
	python3 -c 'import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("0.0.0.0", 4791))
time.sleep(60)' &
	thief=$!
	started=$thief
	i=0
	while ! grep -q ' 00000000:12B7 ' /proc/net/udp && [ $i -lt 200 ]; do
		i=$((i + 1))
		sleep 0.05
	done
	# shellcheck disable=SC2086
	if $as_user env ADVERB_LOG=error "$adverb" run -- ibv_devinfo -d adverb_lo >"$work/out" 2>&1; then
		not_ok "port 4791 is taken" "it worked all the same"
	elif grep -q '4791.*taken by' "$work/out"; then
		ok "port 4791 is taken: the program is told so"
		if [ -n "$as_user" ] || grep -q "process $thief (python3)" "$work/out"; then
			ok "and by whom, where /proc shows it"
		else
			not_ok "and by whom, where /proc shows it" "$(cat "$work/out")"
		fi
	else
		not_ok "port 4791 is taken" "$(cat "$work/out")"
	fi
	kill $thief
	wait $thief 2>/dev/null
	started=
fi
wait_gone

# A runtime directory that is not private.
mkdir "$work/open"
chmod 755 "$work/open"
[ -z "$as_user" ] || chown 65534:65534 "$work/open"
# shellcheck disable=SC2086
if $as_user env ADVERB_LOG=error ADVERB_RUNTIME_DIR="$work/open" "$adverb" run -- ibv_devinfo -d adverb_lo >"$work/out" 2>&1; then
	not_ok "an open runtime directory is refused" "it was used"
elif grep -q 'must be 0700' "$work/out"; then
	ok "an open runtime directory is refused"
else
	not_ok "an open runtime directory is refused" "$(cat "$work/out")"
fi
mode=$(stat -c %a "$work/run/adverb")
if [ "$mode" = 700 ]; then ok "our own has mode 0700"; else not_ok "our own has mode 0700" "$mode"; fi

# As root too, where we are root.
if [ -n "$as_user" ]; then
	mkdir -m 700 "$work/root"
	if ADVERB_RUNTIME_DIR="$work/root" "$adverb" run -- ibv_devinfo -d adverb_lo >"$work/out" 2>&1; then
		ok "works as root"
	else
		not_ok "works as root" "$(tail -2 "$work/out")"
	fi
fi

# What one sees of it.
$as_user "$adverb" run -- ibv_rc_pingpong -d adverb_lo -g 0 -p 18999 >"$work/out" 2>&1 &
waiting=$!
started=$waiting
wait_listening 18999 $waiting
if $as_user "$adverb" resource show qp | grep -q 'link adverb_lo/1 lqpn [0-9]* .*type RC state INIT.*comm ibv_rc_pingpong'; then
	ok "adverb resource show qp"
else
	not_ok "adverb resource show qp" "$($as_user "$adverb" resource show qp 2>&1)"
fi
if $as_user "$adverb" resource show mr -j | grep -q '"mrlen":4096'; then ok "adverb resource show mr -j"; else not_ok "adverb resource show mr -j" "$($as_user "$adverb" resource show mr -j)"; fi
kill $waiting
wait $waiting 2>/dev/null
started=
finish
