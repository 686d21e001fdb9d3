#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh BUILD - adverb run and adverb env: which library a program gets, and what it is told when it cannot
# shellcheck disable=SC2016
set -u
build=$(cd "$1" && pwd) || exit 2
adverb=$build/adverb
library=$(realpath "$build/lib/libibverbs.so.1")
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
export ADVERB_DEVICES=lo XDG_RUNTIME_DIR="$work"
unset LD_PRELOAD LD_LIBRARY_PATH ADVERB_LOG ADVERB_RUNTIME_DIR ADVERB_FACADE
failures=0

# expect NAME WANTED FOUND
expect() {
	if [ "$2" = "$3" ]; then
		echo "ok $1"
	else
		failures=$((failures + 1))
		echo "not ok $1: wanted \"$2\", found \"$3\""
	fi
}
# code COMMAND...: its exit code
code() { "$@" >/dev/null 2>&1; echo $?; }

# Exit codes
expect "the program's exit code" 7 "$(code "$adverb" run -- sh -c 'exit 7')"
expect "not found" 127 "$(code "$adverb" run -- no-such-program-anywhere)"
echo text >"$work/text" && chmod 644 "$work/text"
expect "not executable" 126 "$(code "$adverb" run -- "$work/text")"
expect "a directory" 126 "$(code "$adverb" run -- "$work")"
expect "no program" 125 "$(code "$adverb" run)"
expect "unknown option of run" 125 "$(code "$adverb" run --no-such-option true)"
expect "unknown command" 2 "$(code "$adverb" no-such-command)"
expect "no command" 2 "$(code "$adverb")"
expect "unknown command says so" 1 "$("$adverb" no-such-command 2>&1 | grep -c no-such-command)"
expect "help" 0 "$(code "$adverb" --help)"
expect "help of a command" 1 "$("$adverb" help run | grep -c '^usage: adverb run')"
expect "version" 1 "$("$adverb" --version | grep -c '^adverb [0-9]')"

# The environment
expect "library first" "$library" "$("$adverb" run -- sh -c 'echo "$LD_PRELOAD"' | xargs realpath)"
expect "the user's values stay" "$library:/a/b.so c.so|$(dirname "$library"):/x:/y" "$(
	LD_PRELOAD="/a/b.so c.so" LD_LIBRARY_PATH=/x:/y "$adverb" env 2>/dev/null | (
		eval "$(cat)" 2>/dev/null
		echo "$LD_PRELOAD|$LD_LIBRARY_PATH"
	) 2>/dev/null)"
expect "twice is once" "$("$adverb" run -- sh -c 'echo "$LD_PRELOAD $LD_LIBRARY_PATH"')" \
	"$("$adverb" run -- "$adverb" run -- sh -c 'echo "$LD_PRELOAD $LD_LIBRARY_PATH"')"
expect "devices and log" "a=lo,b=eth1 debug" \
	"$("$adverb" run -d a=lo,b=eth1 --log debug -- sh -c 'echo "$ADVERB_DEVICES $ADVERB_LOG"' 2>/dev/null)"
expect "the program's options are its own" "-d" "$("$adverb" run echo -d)"
expect "env is safe to evaluate" "it's \$HOME;\`x\`" \
	"$(eval "$("$adverb" env -d 'it'\''s $HOME;`x`')"; echo "$ADVERB_DEVICES")"
expect "env has nothing but exports" 0 "$("$adverb" env | grep -vc '^export [A-Z_]*=')"
expect "nothing on stdout or stderr" "" "$("$adverb" run -- true 2>&1)"

# Installed: bin/ and lib/adverb/ side by side, wherever that is
mkdir -p "$work/it is/bin" "$work/prefix/bin" "$work/prefix/lib/adverb"
cp "$adverb" "$work/prefix/bin/"
cp "$library" "$work/prefix/lib/adverb/libibverbs.so.1"
expect "installed" "$work/prefix/lib/adverb/libibverbs.so.1" \
	"$("$work/prefix/bin/adverb" run -- sh -c 'echo "$LD_PRELOAD"')"
ln -s "$work/prefix/bin/adverb" "$work/link"
expect "through a link" "$work/prefix/lib/adverb/libibverbs.so.1" \
	"$("$work/link" run -- sh -c 'echo "$LD_PRELOAD"')"
cp "$adverb" "$work/it is/bin/"
expect "without the library" 125 "$(code "$work/it is/bin/adverb" run -- true)"

# What cannot get the library
if printf 'int main(void){return 0;}\n' | cc -static -x c - -o "$work/static" 2>/dev/null; then
	expect "static" 126 "$(code "$adverb" run -- "$work/static")"
	expect "static says so" 1 "$("$adverb" run -- "$work/static" 2>&1 | grep -c 'statically linked')"
else
	echo "skip static: no static C library"
fi
if printf '#!%s\n' "$work/static" >"$work/script" && chmod 755 "$work/script" && [ -x "$work/static" ]; then
	expect "script of a static interpreter" 126 "$(code "$adverb" run -- "$work/script")"
fi
if [ "$(id -u)" = 0 ]; then
	cp /bin/true "$work/setuid" && chown 1 "$work/setuid" && chmod 4755 "$work/setuid"
	expect "set-user-ID" 126 "$(code "$adverb" run -- "$work/setuid")"
fi
printf 'echo fine\n' >"$work/plain" && chmod 755 "$work/plain"
expect "a script without a first line" fine "$("$adverb" run -- "$work/plain")"
exit $((failures > 0))
