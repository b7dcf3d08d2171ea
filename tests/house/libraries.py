#!/usr/bin/env python3
"""Checks what a built shared library exports, which libraries it asks for, and how large it is without debug information.

Usage: libraries.py LIBRARY [--export-only PREFIX,...] [--export-none PREFIX,...] [--version NODE]
                    [--not-needed LIBRARY,...] [--stripped-below BYTES]
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def exported(library):
    """Demangled names of the dynamic symbols that the library defines, as name@@version, with the linker's own left out."""
    lines = output("nm", "-D", "--defined-only", "-C", library).splitlines()
    names = [line.split(maxsplit=2)[2] for line in lines if len(line.split(maxsplit=2)) == 3 and line.split()[1] != "A"]
    return [name for name in names if name not in {"_init", "_fini", "_edata", "_end", "__bss_start"}]


def needed(library):
    return re.findall(r"\(NEEDED\).*\[(.+)\]", output("readelf", "-d", "-W", library))


def strippedSize(library):
    with tempfile.NamedTemporaryFile() as copy:
        subprocess.run(["strip", "-o", copy.name, library], check=True)
        return os.path.getsize(copy.name)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    for name in ("export-only", "export-none", "not-needed"):
        parser.add_argument(f"--{name}", type=lambda text: tuple(text.split(",")))
    parser.add_argument("--version", help="the version node of every symbol")
    parser.add_argument("--stripped-below", type=int)
    arguments = parser.parse_args()
    found, symbols = [], exported(arguments.library)
    if not symbols:
        found.append("exports nothing at all")
    if arguments.export_only:
        found += [f"exports {name}" for name in symbols if not name.startswith(arguments.export_only)]
    if arguments.export_none:
        found += [f"exports {name}" for name in symbols if name.startswith(arguments.export_none)]
    if arguments.version:
        found += [f"exports {name}, not of version {arguments.version}" for name in symbols if not name.endswith("@@" + arguments.version)]
    if arguments.not_needed:
        found += [f"needs {name}" for name in needed(arguments.library) if name.startswith(arguments.not_needed)]
    if arguments.stripped_below:
        size = strippedSize(arguments.library)
        print(f"stripped: {size} bytes, limit {arguments.stripped_below}")
        if size >= arguments.stripped_below:
            found.append(f"is {size} bytes stripped; the limit is {arguments.stripped_below}")
    for line in found[:40]:
        print(f"{os.path.basename(arguments.library)} {line}")
    print(f"{len(symbols)} symbols, {len(found)} violations")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
