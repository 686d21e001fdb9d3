#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rdma-core's own Python tests, those that are not about one vendor's devices. A test that skips itself wants
# what this device refuses: so each module has a number of tests that must pass, or what is broken could hide.
# What does not pass, of those that need no connection manager: dma-buf (10, want a GPU's /dev/dri), raw packets (10) and
# tag matching (4), which are no business of a RoCE device in software, CUDA (1); three want huge pages of the machine.
# Environment: PYVERBS_TESTS, the directory of the tests (where Debian's rdma-core has them, if unset);
# E2E_PYVERBS, the modules to run, each with that number: "NAME:LEAST".
. "${0%/*}/lib.sh"

: "${PYVERBS_TESTS:=/usr/share/doc/rdma-core/tests}"
: "${E2E_PYVERBS:=addr:3 atomic:9 cq:4 cq_events:2 cqex:5 device:22 fork:1 mr:17 odp:15 parent_domain:5 pd:4 qp:21
	qpex:20 relaxed_ordering:3 shared_pd:1 srq:0}"
python=/usr/bin/python3

if ! $python -c 'import pyverbs.device' 2>/dev/null; then
	skip pyverbs "no python3-pyverbs"
	finish
fi
if [ ! -e "$PYVERBS_TESTS/run_tests.py" ]; then
	skip pyverbs "no tests in $PYVERBS_TESTS"
	finish
fi
# Debian compresses the larger ones. Readable by the ordinary user that runs them.
cp -r "$PYVERBS_TESTS" "$work/tests"
gzip -dqf "$work"/tests/*.gz 2>/dev/null
chmod -R a+rX "$work/tests"
cd "$work/tests" || exit 1

for module in $E2E_PYVERBS; do
	least=${module#*:} module=${module%:*}
	# Newer rdma-core has more modules.
	[ -e "test_$module.py" ] || continue
	# shellcheck disable=SC2086
	$as_user timeout -k 1 60 "$adverb" run -- $python -B run_tests.py -v --dev adverb_lo --port 1 --gid 0 \
		"tests.test_$module" >"$work/out" 2>&1
	status=$?
	ran=$(sed -n 's/^Ran \([0-9]*\) tests\{0,1\} in .*/\1/p' "$work/out")
	skipped=$(sed -n 's/^OK.*skipped=\([0-9]*\).*/\1/p' "$work/out")
	# A process that talks to itself and sleeps in between: 7 s when acknowledgements wait for timers, else 0.1 s.
	if [ "$module" = cq_events ] && grep -qE '^Ran .* in ([4-9]|[0-9]{2,})\.' "$work/out"; then
		not_ok "pyverbs $module: time" "$(grep '^Ran' "$work/out")"
	fi
	passed=$((${ran:-0} - ${skipped:-0}))
	if [ $status = 0 ] && [ $passed -ge "$least" ]; then
		ok "pyverbs $module: $passed passed ${skipped:-0} skipped"
	elif [ $status = 0 ]; then
		not_ok "pyverbs $module" "$passed passed, not $least: $(grep -oE "skipped '.*'" "$work/out" |
			sort | uniq -c | sort -rn | head -3 | tr '\n' ' ')"
	else
		not_ok "pyverbs $module" "exit $status: $(grep -E '^(FAIL|ERROR):' "$work/out" | cut -d' ' -f2 | tr '\n' ' ')$(
			grep -E '^[A-Za-z_.]*(Error|Exception):' "$work/out" | sort | uniq -c | head -3 | tr '\n' ' ')"
	fi
done
finish
