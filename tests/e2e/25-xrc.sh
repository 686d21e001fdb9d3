#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# XRC: the pingpong program and perftest, unmodified, between two processes over adverb_lo.
. "${0%/*}/lib.sh"

d="-d adverb_lo"
if have ibv_xsrq_pingpong; then
	pp="ibv_xsrq_pingpong $d"
	pair "xsrq IPv4" 60 $pp -g 0 -n 300
	pair "xsrq IPv6, events (-e)" 60 $pp -g 1 -e -n 300
	pair "xsrq 64 KiB, MTU 4096" 60 $pp -g 0 -m 4096 -s 65536 -n 100
else
	skip "ibv_xsrq_pingpong" "not installed"
fi
# perftest keeps its domains in files of fixed names, which may be somebody else's.
domains="/tmp/xrc_domain /tmp/xrc_domain_client /tmp/xrc_domain_server"
# shellcheck disable=SC2086
rm -f $domains 2>/dev/null
remove_domains() { rm -f $domains; }
E2E_AT_EXIT=remove_domains
if ! have ib_send_bw; then
	skip "perftest with XRC" "not installed"
elif [ -n "$(ls /tmp/xrc_domain* 2>/dev/null)" ]; then
	skip "perftest with XRC" "/tmp/xrc_domain_* belong to somebody else"
else
	for op in send write read; do
		pair "ib_${op}_bw XRC" 60 ib_${op}_bw $d -F -c XRC -n 500
		pair "ib_${op}_lat XRC" 60 ib_${op}_lat $d -F -c XRC -n 200
	done
	pair "ib_atomic_bw XRC" 60 ib_atomic_bw $d -F -c XRC -n 200
	pair "ib_send_bw XRC, 4 QPs" 60 ib_send_bw $d -F -c XRC -q 4 -n 300
	pair "ib_write_bw XRC, all sizes" 60 ib_write_bw $d -F -c XRC -a -n 50
fi
finish
