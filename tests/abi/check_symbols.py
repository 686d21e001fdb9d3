#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compare what libibverbs.so.1 exports with what programs and libraries of every known release import.

    check_symbols.py LIBRARY SYMBOLS.LIST DIRECTORY

The directory has libibverbs-v<release>.txt (lines "[TYPE] name@node" or "name@@node") and private-<n>.txt (the
names of the node IBVERBS_PRIVATE_<n>).
"""

import ctypes
import pathlib
import re
import subprocess
import sys

failures = 0


def fail(text):
    global failures
    failures += 1
    print(f"not ok: {text}")


def readelf(*arguments):
    return subprocess.run(["readelf", "-W", *arguments], check=True, capture_output=True, text=True,
                          env={"LC_ALL": "C"}).stdout


def exported(library):
    """{(name, node): (type, default)}; node is "" for a name without a version."""
    symbols = {}
    for line in readelf("--dyn-syms", library).splitlines():
        words = line.split()
        if len(words) < 8 or words[6] in ("UND", "Ndx") or words[4] not in ("GLOBAL", "WEAK", "UNIQUE"):
            continue
        kind, name, section = words[3], words[7], words[6]
        if section == "ABS":
            continue  # the nodes themselves
        name, at, node = name.partition("@")
        symbols[(name, node.lstrip("@"))] = (kind, node.startswith("@") if at else True)
    return symbols


def expect(symbols, name, node, kind, default, source):
    found = symbols.get((name, node))
    if not found:
        fail(f"{name}@{node} is missing ({source})")
        return
    if kind and found[0] != kind:
        fail(f"{name}@{node} is a {found[0]}, not a {kind} ({source})")
    if default is not None and found[1] != default:
        fail(f"{name}@{node}: {'should' if default else 'should not'} be the default version ({source})")


def check_releases(symbols, directory):
    count = 0
    for path in sorted(directory.glob("libibverbs-v*.txt")):
        for line in path.read_text(encoding="ascii").split("\n"):
            if not line:
                continue
            match = re.fullmatch(r"(?:(FUNC|OBJECT|OBJ) )?([^@\s]+)(@@?)(\S+)", line)
            if not match:
                raise SystemExit(f"{path}: cannot read: {line}")
            kind, name, at, node = match.groups()
            exact = kind is not None  # the list was made from a binary
            expect(symbols, name, node, {"OBJ": "OBJECT"}.get(kind, kind), at == "@@" if exact else None, path.name)
            count += 1
    for path in sorted(directory.glob("private-*.txt")):
        node = "IBVERBS_PRIVATE_" + re.sub(r"\D", "", path.stem)
        for name in path.read_text(encoding="ascii").split():
            expect(symbols, name, node, None, None, path.name)
            count += 1
    return count


def check_unversioned(symbols):
    libc = ctypes.CDLL("libc.so.6")
    for name, node in symbols:
        if node:
            continue
        try:
            libc[name]
        except AttributeError:
            fail(f"{name} is exported without a version and stands in front of nothing")


def check_states(library, symbols_list):
    """Rows that say "implemented" are not stubs, and the other way round."""
    addresses, stubs = {}, set()
    for line in readelf("--syms", library).splitlines():
        words = line.split()
        if len(words) < 8 or words[6] == "UND" or not re.fullmatch(r"[0-9a-f]+", words[1]):
            continue
        if words[7].startswith("stub_") and not words[7].startswith("stub_alias_"):
            stubs.add(int(words[1], 16))
        addresses[words[7]] = int(words[1], 16)
    if not stubs:
        print("skip: the library is stripped, so stubs cannot be told from functions")
        return
    for line in pathlib.Path(symbols_list).read_text(encoding="ascii").splitlines():
        words = line.split("#", 1)[0].split()
        if not words or words[3].endswith("-"):
            continue
        name, state, version = words[0], words[2], words[3]
        node = f"IBVERBS_PRIVATE_{version[1:]}" if version.startswith("P") else f"IBVERBS_{version}"
        address = addresses.get(f"{name}@@{node}", addresses.get(name))
        if address is None:
            fail(f"{name} is not there")
        elif (address in stubs) != (state == "stub"):
            fail(f"{name}: the list says {state}, which it is not")


def check_file(library):
    dynamic = readelf("-d", library)
    if not re.search(r"\(SONAME\).*\[libibverbs\.so\.1\]", dynamic):
        fail("the SONAME is not libibverbs.so.1")
    if "NODELETE" not in dynamic:
        fail("the library could be unloaded, with its threads running")
    if "(TEXTREL)" in dynamic:
        fail("the library has text relocations")
    for needed in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic):
        if not re.match(r"(libc|libm|libpthread|libdl|librt|libisal|libasan|libubsan|libtsan|libgcc_s|ld-linux)\b",
                        needed.replace("-x86-64", "").replace("-aarch64", "")):
            fail(f"the library brings {needed} into every program")


def main():
    library, symbols_list, directory = sys.argv[1:]
    symbols = exported(library)
    count = check_releases(symbols, pathlib.Path(directory))
    check_unversioned(symbols)
    check_states(library, symbols_list)
    check_file(library)
    print(f"{len(symbols)} exported, {count} expected, {failures} wrong")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
