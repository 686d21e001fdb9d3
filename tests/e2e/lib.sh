# SPDX-License-Identifier: Apache-2.0
# lib.sh - for the scripts here: their own network namespace, pairs of programs, results
#
# A script sources this file first. It is then started again in a network namespace of its own where that is
# possible, so that UDP port 4791 and the broker of the host are left alone. Results go to stdout, one line each:
# "ok NAME", "not ok NAME - WHY", "skip NAME - WHY". Everything started is ended by pid.
# Environment: ADVERB_BUILD, the build directory.
# shellcheck shell=sh

set -u

: "${ADVERB_BUILD:?the build directory}"
ADVERB_BUILD=$(cd "$ADVERB_BUILD" && pwd)
adverb=$ADVERB_BUILD/adverb
script=${0##*/}

if [ -z "${E2E_INSIDE:-}" ]; then
	export E2E_INSIDE=host
	if [ "$(id -u)" = 0 ] && unshare -n true 2>/dev/null; then
		E2E_INSIDE=netns exec unshare -n "$0" "$@"
	elif unshare -rn true 2>/dev/null; then
		E2E_INSIDE=userns exec unshare -rn "$0" "$@"
	fi
fi
if [ "$E2E_INSIDE" != host ]; then
	ip link set lo up || exit 1
fi

work=$(mktemp -d) || exit 1
mkdir -m 700 "$work/run"
export XDG_RUNTIME_DIR="$work/run"
unset ADVERB_RUNTIME_DIR
export ADVERB_DEVICES=lo
failures=0
# The command prefix that makes a program an ordinary user's; empty when we are one.
as_user=
if [ "$(id -u)" = 0 ] && [ "$E2E_INSIDE" != userns ] && [ -z "${E2E_ROOT:-}" ]; then
	as_user="setpriv --reuid=65534 --regid=65534 --clear-groups --"
	chown 65534:65534 "$work/run" && chmod 711 "$work"
	# A build in root's own home is none of that user's business.
	if ! $as_user test -x "$adverb"; then
		mkdir -p "$work/build/tests"
		cp -r "$ADVERB_BUILD/adverb" "$ADVERB_BUILD/adverbd" "$ADVERB_BUILD/lib" "$work/build" &&
			cp -r "$ADVERB_BUILD/tests/e2e" "$work/build/tests" && chmod -R a+rX "$work/build"
		ADVERB_BUILD=$work/build
		adverb=$ADVERB_BUILD/adverb
	fi
fi

started=
cleanup() {
	for pid in $started; do
		kill -9 "$pid" 2>/dev/null
	done
	[ -z "${E2E_AT_EXIT:-}" ] || $E2E_AT_EXIT
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

ok() { echo "ok $script: $1"; }
skip() { echo "skip $script: $1 - $2"; }
not_ok() {
	failures=$((failures + 1))
	echo "not ok $script: $1 - $2"
}

have() { command -v "$1" >/dev/null 2>&1; }

next_port=$((18000 + $$ % 10000))
new_port() { next_port=$((next_port + 1)); }

# listening PORT: is somebody listening on this TCP port? (of the namespace that $in_server enters)
listening() {
	${in_server:-} cat /proc/net/tcp /proc/net/tcp6 2>/dev/null |
		grep -qE ":$(printf %04X "$1") 0{8,32}:0000 0A"
}

# wait_listening PORT PID: until then, at most 10 s; fails when the process ends first.
wait_listening() {
	waited=0
	while ! listening "$1"; do
		waited=$((waited + 1))
		if [ $waited -gt 200 ] || ! kill -0 "$2" 2>/dev/null; then
			return 1
		fi
		sleep 0.05
	done
}

# pair NAME SECONDS PROGRAM ARGS...: server and client with the same arguments, "-p PORT" is added; the client also
# gets $address (default 127.0.0.1). in_server and in_client are command prefixes.
pair() {
	pair_name=$1 pair_limit=$2
	shift 2
	new_port
	# shellcheck disable=SC2086
	${in_server:-} $as_user timeout -k 1 "$pair_limit" "$adverb" run -- "$@" -p $next_port \
		>"$work/server" 2>&1 &
	pair_server=$!
	started=$pair_server
	if ! wait_listening $next_port $pair_server; then
		not_ok "$pair_name" "the server did not listen: $(tail -3 "$work/server" | tr '\n' ' ')"
		kill $pair_server 2>/dev/null
		wait $pair_server 2>/dev/null
		started=
		return 1
	fi
	# shellcheck disable=SC2086
	${in_client:-} $as_user timeout -k 1 "$pair_limit" "$adverb" run -- "$@" -p $next_port \
		"${address:-127.0.0.1}" >"$work/client" 2>&1
	pair_client_status=$?
	wait $pair_server
	pair_server_status=$?
	started=
	if [ $pair_client_status != 0 ] || [ $pair_server_status != 0 ]; then
		not_ok "$pair_name" "exit $pair_server_status (server), $pair_client_status (client): $(tail -4 "$work/client" |
			tr '\n' ' ')| $(tail -3 "$work/server" | tr '\n' ' ')"
		return 1
	fi
	ok "$pair_name"
}

finish() {
	[ $failures = 0 ]
	exit $?
}
