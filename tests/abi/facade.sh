#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# facade.sh BUILD - what programs see under /sys/class/infiniband and /dev/infiniband
set -u
adverb=$(cd "$1" && pwd)/adverb || exit 2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
export ADVERB_DEVICES=first=lo XDG_RUNTIME_DIR="$work"
unset LD_PRELOAD LD_LIBRARY_PATH ADVERB_LOG ADVERB_RUNTIME_DIR ADVERB_FACADE
class=/sys/class/infiniband
failures=0

# expect NAME WANTED COMMAND...
expect() {
	local name=$1 wanted=$2 found
	shift 2
	found=$("$adverb" run -- "$@" 2>&1)
	if [ "$wanted" = "$found" ]; then
		echo "ok $name"
	else
		failures=$((failures + 1))
		echo "not ok $name: wanted \"$wanted\", found \"$found\""
	fi
}

expect "list" first ls $class
expect "list of the device's interfaces" lo ls $class/first/device/net/
expect "long list" 1 sh -c "ls -l $class | grep -c ' first\$'"
expect "pattern" $class/first/ports/1 bash -c "echo $class/*/ports/*"
expect "file" "RoCE v2" cat $class/first/ports/1/gid_attrs/types/0
expect "interface of a GID" lo cat $class/first/ports/1/gid_attrs/ndevs/0
expect "GID" 0000:0000:0000:0000:0000:ffff:7f00:0001 cat $class/first/ports/1/gids/0
expect "type of an empty entry" "" sh -c "test ! -e $class/first/ports/1/gid_attrs/types/63"
expect "whole path" $class/first realpath $class/first
expect "file of the interface" "$(cat /sys/class/net/lo/mtu)" cat $class/first/device/net/lo/mtu
expect "read-only" refused sh -c "2>/dev/null echo x >$class/first/fw_ver || echo refused"
expect "changing directory" first sh -c "cd $class/first && cat node_desc"
expect "character device" "character special file" stat -c %F /dev/infiniband/uverbs0
expect "device can be used" yes bash -c "[ -r /dev/infiniband/uverbs0 -a -w /dev/infiniband/uverbs0 ] && echo yes"
expect "device of the name" first cat /sys/class/infiniband_verbs/uverbs0/ibdev
expect "other paths" "$(ls /sys/class/net)" ls /sys/class/net
expect "what is not there" gone sh -c "test -e $class/other || echo gone"
expect "null paths" "14 14 14" python3 -c '
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def error(f, *a):
    ctypes.set_errno(0)
    f(*a)
    return ctypes.get_errno()
b = ctypes.create_string_buffer(4096)
print(error(libc.open, None, 0), error(libc.stat, None, b), error(libc.access, None, 0))'
expect "child processes" first sh -c "sh -c 'sh -c \"ls $class\"'"
expect "other functions" "first True True" python3 -c "
import os
fd = os.open('$class', os.O_RDONLY | os.O_DIRECTORY)
print(*os.listdir(fd), os.path.isdir('$class/first'), os.access('first', os.R_OK, dir_fd=fd))"
ADVERB_FACADE=0 expect "turned off" "$(ls $class 2>&1)" ls $class
expect "the tree is shared" 1 sh -c "ls -d $work/adverb/facade-* | wc -l"
exit $((failures > 0))
