#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# UCX and libfabric, unmodified: they find the device, and UCX moves data over it.
. "${0%/*}/lib.sh"

if have fi_info; then
	if $as_user "$adverb" run -- fi_info -p verbs 2>/dev/null | grep -q 'domain: adverb_lo'; then ok "fi_info lists the device"; else not_ok "fi_info lists the device" "it does not"; fi
else
	skip "fi_info" "not installed"
fi
have ucx_perftest || { skip "ucx" "not installed"; finish; }
if $as_user "$adverb" run -- ucx_info -d 2>/dev/null | grep -q 'Device: adverb_lo:1'; then ok "ucx_info lists the device"; else not_ok "ucx_info lists the device" "it does not"; fi
export UCX_NET_DEVICES=adverb_lo:1 UCX_WARN_UNUSED_ENV_VARS=n
for tls in ud_verbs rc,ud; do
	export UCX_TLS=$tls
	for test in tag_bw tag_lat ucp_put_bw ucp_get; do
		new_port
		$as_user timeout 60 "$adverb" run -- ucx_perftest -p $next_port >"$work/server" 2>&1 &
		server=$!
		started=$server
		wait_listening $next_port $server
		if $as_user timeout 60 "$adverb" run -- ucx_perftest 127.0.0.1 -p $next_port -t $test -s 20000 -n 1000 >"$work/client" 2>&1 &&
			grep -q Final "$work/client"; then
			ok "ucx_perftest $test over $tls"
		else
			not_ok "ucx_perftest $test over $tls" "$(tail -3 "$work/client" | tr '\n' ' ')"
		fi
		kill $server 2>/dev/null
		wait $server 2>/dev/null
		started=
	done
done
finish
