#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every verb from any thread: two processes, six threads each; plain, and with the sanitizers in program and library.
# Environment: E2E_TSAN, E2E_ASAN, build directories with -fsanitize=thread and -fsanitize=address,undefined.
# The build directories with sanitizers may be in a private home: no ordinary user is needed for this.
E2E_ROOT=1
. "${0%/*}/lib.sh"

seconds=${E2E_STRESS:-4}

# result NAME: what the program said
result() {
	failures=$((failures + $(grep -c '^not ok' "$work/out")))
	sed -n "s/^not ok /not ok $script: $1: /p" "$work/out"
	if grep -qE 'WARNING: ThreadSanitizer|ERROR: AddressSanitizer|runtime error|LeakSanitizer' "$work/err"; then
		not_ok "$1" "$(grep -hE 'SUMMARY|runtime error' "$work/err" | sort | uniq -c | head -3 | tr '\n' ' ')"
	elif [ $status != 0 ]; then
		not_ok "$1" "exit $status: $(tail -3 "$work/err" | tr '\n' ' ')"
	else
		ok "$1: $(sed -n 's/^# //p' "$work/out" | head -1)"
	fi
}

# shellcheck disable=SC2086
$as_user timeout 60 "$adverb" run -- "$ADVERB_BUILD/tests/e2e/e2e-stress" "$seconds" >"$work/out" 2>"$work/err"
status=$?
result "threads"

# sanitized NAME BUILD PRELOAD_FIRST [COMMAND...]: the broker is started before and by somebody else, since the child that
# would start it shares its parent's memory, which the thread sanitizer does not understand.
sanitized() {
	name=$1 build=$2 first=$3
	shift 3
	if [ ! -e "$build/lib/libibverbs.so.1" ]; then
		skip "$name" "not built"
		return
	fi
	# shellcheck disable=SC2086
	$as_user "$adverb" run -- "$ADVERB_BUILD/tests/e2e/e2e-port_events" 120 >"$work/keeper" 2>&1 &
	started=$!
	waited=0
	while ! grep -q ready "$work/keeper" && [ $waited -lt 50 ]; do
		waited=$((waited + 1))
		sleep 0.1
	done
	TSAN_OPTIONS="halt_on_error=0:second_deadlock_stack=1" ASAN_OPTIONS=detect_leaks=1 \
		UBSAN_OPTIONS=print_stacktrace=1 timeout 100 "$@" env ADVERB_BROKER="$ADVERB_BUILD/adverbd" \
		LD_LIBRARY_PATH="$build/lib" LD_PRELOAD="$first $build/lib/libibverbs.so.1" \
		"$build/tests/e2e/e2e-stress" "$seconds" >"$work/out" 2>"$work/err"
	status=$?
	kill $started 2>/dev/null
	wait $started 2>/dev/null
	started=
	result "$name"
}

if [ -n "${E2E_TSAN:-}" ]; then
	sanitized "threads under the thread sanitizer" "$E2E_TSAN" "" setarch -R
fi
if [ -n "${E2E_ASAN:-}" ]; then
	sanitized "threads under the address sanitizer" "$E2E_ASAN" "$(gcc -print-file-name=libasan.so)"
fi
finish
