#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A peer that does not get to run for a while is waited for; one that is gone is not.
. "${0%/*}/lib.sh"

# start PROGRAM ARGS...: server and client in the background, traffic between them.
start() {
	new_port
	# shellcheck disable=SC2086
	$as_user "$adverb" run -- "$@" -p $next_port >"$work/server" 2>&1 &
	server=$!
	started=$server
	wait_listening $next_port $server || return 1
	# shellcheck disable=SC2086
	$as_user "$adverb" run -- "$@" -p $next_port 127.0.0.1 >"$work/client" 2>&1 &
	client=$!
	started="$server $client"
	sleep 1
	kill -0 $client && kill -0 $server
}

# ends PID SECONDS: $status is its exit status; 137 when it had to be killed after that long.
ends() {
	tenths=0
	while [ $tenths -lt "$2"0 ] && grep -qs "^State:.[^Z]" "/proc/$1/status"; do
		sleep 0.1
		tenths=$((tenths + 1))
	done
	[ $tenths -lt "$2"0 ] || kill -9 "$1" 2>/dev/null
	wait "$1"
	status=$?
}

# stopped NAME WHO PROGRAM ARGS...: WHO (server or client) is stopped for longer than all retries take.
stopped() {
	name=$1 who=$2
	shift 2
	start "$@" || { not_ok "$name" "did not start: $(tail -3 "$work/server" "$work/client" | tr '\n' ' ')"; return; }
	if [ "$who" = server ]; then victim=$server; else victim=$client; fi
	kill -STOP $victim
	sleep 2
	kill -CONT $victim
	ends $client 20
	client_status=$status
	ends $server 20
	if [ $client_status = 0 ] && [ $status = 0 ]; then
		ok "$name"
	else
		not_ok "$name" "exit $status (server), $client_status (client): $(tail -2 "$work/client" | tr '\n' ' ')"
	fi
	started=
}

stopped "RC write, the server stopped for 2 s" server ib_write_bw -d adverb_lo -D 4
stopped "RC read, the server stopped for 2 s" server ib_read_bw -d adverb_lo -D 4
stopped "RC send, the client stopped for 2 s" client ib_send_bw -d adverb_lo -D 4
stopped "ping-pong with events, the server stopped for 2 s" server ibv_rc_pingpong -d adverb_lo -g 0 -e -n 100000

# gone NAME SECONDS WANTED PROGRAM ARGS...: the server is killed; the client ends by itself, with WANTED in what it says.
gone() {
	name=$1 limit=$2 wanted=$3
	shift 3
	start "$@" || { not_ok "$name" "did not start: $(tail -3 "$work/server" "$work/client" | tr '\n' ' ')"; return; }
	kill -9 $server
	wait $server 2>/dev/null
	ends $client "$limit"
	if [ $status = 137 ]; then
		not_ok "$name" "the client still ran after $limit s"
	elif grep -q "$wanted" "$work/client"; then
		ok "$name"
	else
		not_ok "$name" "exit $status: $(tail -3 "$work/client" | tr '\n' ' ')"
	fi
	started=
}

gone "RC send to a killed server fails" 10 "transport retry counter exceeded" ibv_rc_pingpong -d adverb_lo -g 0 -n 100000000
finish
