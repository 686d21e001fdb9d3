#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make the version script, the stubs and the version aliases of libibverbs.so.1 from symbols.list.

    gen_symbols.py SYMBOLS.LIST OUTPUT...

The name of an output says what goes into it: *.map, *.c or *.h.

- libibverbs.map lists every default version. There is no "local: *": the libc functions that the facade
  stands in front of are exported without a version, and hidden visibility keeps everything else in.
- stubs.c defines every name once more, weakly, so that a function without an author still links, and every
  other (name, version) pair as an alias of one of a handful of bodies.
- versions.h has VERBS_VERSIONS_<name>(function) for implemented names that sit in more than one node.
"""

import sys

RETURNS = ("pointer", "code", "minus", "negative", "zero", "nothing", "rereg", "data")
PUBLIC = ["1.0", "1.1"] + [f"1.{minor}" for minor in range(5, 19)]
PRIVATE = ["P25", "P33", "P34", "P57", "P59", "P64", "P65"]


def node(version):
    if version.startswith("P"):
        return f"IBVERBS_PRIVATE_{version[1:]}"
    return f"IBVERBS_{version}"


class Symbol:
    def __init__(self, words, where):
        if len(words) < 4:
            raise SystemExit(f"{where}: four columns are needed")
        self.name, self.returns, self.state = words[:3]
        self.versions = [(v.rstrip("-"), not v.endswith("-")) for v in words[3:]]
        if self.returns not in RETURNS:
            raise SystemExit(f"{where}: no such return convention: {self.returns}")
        if self.state not in ("implemented", "stub"):
            raise SystemExit(f"{where}: no such state: {self.state}")
        for version, default in self.versions:
            if version not in PUBLIC + PRIVATE:
                raise SystemExit(f"{where}: no such node: {version}")
        if any(default for _, default in self.versions[1:]):
            raise SystemExit(f"{where}: only the first version can be the default")


def read_symbols(path):
    symbols = []
    with open(path, encoding="ascii") as file:
        for number, line in enumerate(file, 1):
            words = line.split("#", 1)[0].split()
            if words:
                symbols.append(Symbol(words, f"{path}:{number}"))
    return symbols


def in_several_nodes(symbol):
    # The linker confuses a plain name with a version of that name at the same address, so a function with several
    # versions is defined under another name.
    return symbol.state == "implemented" and len(symbol.versions) > 1


def write_map(symbols, out):
    defaults = {version: [] for version in PUBLIC + PRIVATE}
    for symbol in symbols:
        version, default = symbol.versions[0]
        if default and not in_several_nodes(symbol):
            defaults[version].append(symbol.name)
    parent = ""
    for version in PUBLIC + PRIVATE:
        names = "".join(f"\t\t{name};\n" for name in sorted(defaults[version]))
        body = f"\tglobal:\n{names}" if names else ""
        follows = f" {parent}" if version in PUBLIC and parent else ""
        out.write(f"{node(version)} {{\n{body}}}{follows};\n\n")
        parent = node(version)


STUBS = """/* SPDX-License-Identifier: Apache-2.0 */
/* Made by gen_symbols.py from symbols.list: do not edit. */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#define DEFINED_AS(body) __attribute__((visibility("default"), alias(#body), used))

/* The arguments are not looked at, so one body serves functions of any parameter list. */
static void *stub_pointer(void)
{
	errno = EOPNOTSUPP;
	return NULL;
}

static int stub_code(void)
{
	return EOPNOTSUPP;
}

static int stub_minus(void)
{
	errno = EOPNOTSUPP;
	return -1;
}

static int stub_negative(void)
{
	return -EOPNOTSUPP;
}

static long stub_zero(void)
{
	return 0;
}

static void stub_nothing(void)
{
}

static int stub_rereg(void)
{
	errno = EOPNOTSUPP;
	return -4; /* IBV_REREG_MR_ERR_CMD */
}

static bool stub_data;

"""

C_TYPES = {"pointer": "void *{}(void)", "zero": "long {}(void)", "nothing": "void {}(void)", "data": "bool {}"}


def declaration(symbol, name):
    return C_TYPES.get(symbol.returns, "int {}(void)").format(name)


def write_stubs(symbols, out):
    out.write(STUBS)
    number = 0
    for symbol in symbols:
        body = f"stub_{symbol.returns}"
        if in_several_nodes(symbol):
            continue  # versions.h makes all of them, beside the definition
        for version, default in symbol.versions:
            if default:
                out.write(f"extern {declaration(symbol, symbol.name)} __attribute__((weak)) DEFINED_AS({body});\n")
                continue
            number += 1
            alias = f"stub_alias_{number}"
            out.write(f"extern {declaration(symbol, alias)} DEFINED_AS({body});\n")
            out.write(f'__asm__(".symver {alias}, {symbol.name}@{node(version)}, remove");\n')


def write_versions(symbols, out):
    out.write("/* SPDX-License-Identifier: Apache-2.0 */\n")
    out.write("/* Made by gen_symbols.py from symbols.list: do not edit. */\n")
    out.write("#ifndef VERBS_VERSIONS_H\n#define VERBS_VERSIONS_H\n\n")
    out.write("/* One version of a function, which this file defines under another name. */\n"
              "#define VERBS_VERSION(function, alias_name, symbol) \\\n"
              "\textern __typeof__(function) alias_name \\\n"
              '\t\t__attribute__((visibility("default"), alias(#function), used)); \\\n'
              '\t__asm__(".symver " #alias_name ", " symbol ", remove")\n')
    for symbol in symbols:
        if not in_several_nodes(symbol):
            continue
        lines = []
        for version, default in symbol.versions:
            alias = f"{symbol.name}_{version.lower().replace('.', '_')}"
            at = "@@" if default else "@"
            lines.append(f'VERBS_VERSION(function, {alias}, "{symbol.name}{at}{node(version)}")')
        out.write(f"\n#define VERBS_VERSIONS_{symbol.name}(function) \\\n\t" + "; \\\n\t".join(lines) + "\n")
    out.write("\n#endif\n")


def main():
    symbols = read_symbols(sys.argv[1])
    for path in sys.argv[2:]:
        with open(path, "w", encoding="ascii") as out:
            if path.endswith(".map"):
                write_map(symbols, out)
            elif path.endswith(".c"):
                write_stubs(symbols, out)
            else:
                write_versions(symbols, out)


if __name__ == "__main__":
    main()
