#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Slots: who gets which, what kill -9 of anybody does to them, and what the broker takes from strangers.
. "${0%/*}/lib.sh"

program=$ADVERB_BUILD/tests/e2e/e2e-broker
export ADVERB_BROKER="$ADVERB_BUILD/adverbd"

for scenario in $("$program"); do
	# shellcheck disable=SC2086
	result=$($as_user timeout -k 1 60 "$program" "$scenario" 2>&1)
	case $result in
	ok) ok "$scenario" ;;
	*) not_ok "$scenario" "${result#not ok - }" ;;
	esac
done

# One runtime directory, two network namespaces: each has its broker, and its port.
sleep 3
# shellcheck disable=SC2086
$as_user "$program" hold >"$work/held" 2>&1 &
started=$!
i=0
while [ ! -s "$work/held" ] && [ $i -lt 100 ]; do
	i=$((i + 1))
	sleep 0.05
done
if [ "$(id -u)" != 0 ] || ! unshare -n true 2>/dev/null; then
	skip "two network namespaces" "cannot make one here"
else
	# shellcheck disable=SC2086
	result=$(unshare -n sh -c "ip link set lo up; exec $as_user timeout -k 1 60 '$program' start" 2>&1)
	if [ "$result" = ok ] && [ "$(cat "$work/held")" = holding ]; then
		ok "two network namespaces"
	else
		not_ok "two network namespaces" "$result, $(cat "$work/held")"
	fi
fi
finish
