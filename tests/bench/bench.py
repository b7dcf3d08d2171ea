#!/usr/bin/env python3
"""Measures Tessera and holds the figures to their limits: compile time, engine overhead, cost of a score, simulator, spills,
kernels from cache and bundle, tuning.

Prints a table, and with --json FILE writes every figure with its limit. Exits 1 if a limit is missed. Other people's tools
(Triton, the disassembler) come from their wheels into the build folder on first use.
"""

import argparse
import importlib
import json
import os
import pathlib
import platform
import subprocess
import sys

from measure import Setting

PARTS = {
    "compile": "compile_time",
    "engine": "engine",
    "score": "score_cost",
    "simulator": "simulator",
    "schedules": "schedules",
    "shipping": "shipping",
    "tuning": "tuning",
    "exhaustive": "exhaustive",
}
LONG = {"tuning", "exhaustive"}  # many minutes: only where they are named


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"what to measure: {', '.join(PARTS)} (all but {' and '.join(sorted(LONG))}, which take long)")
    parser.add_argument("--build", type=pathlib.Path, default=root / "build")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--repeats", type=int, default=5, help="runs of a whole process; the quickest counts (5)")
    parser.add_argument("--sass-loops", type=pathlib.Path, default=root.parent / "shared/tools/sass_loops.py", help="the loop counter for disassembly")
    arguments = parser.parse_args()
    unknown = [part for part in arguments.parts if part not in PARTS]
    if unknown:
        parser.error(f"unknown part {', '.join(unknown)}; the parts are {', '.join(PARTS)}")
    setting = Setting(arguments.build.resolve(), arguments.repeats, arguments.sass_loops)
    os.environ["TESSERA_CACHE"] = "off"  # what is measured is not to come from an earlier run; the part shipping has a cache of its own
    report, failed = {}, False
    for part in arguments.parts or [part for part in PARTS if part not in LONG]:
        print(f"{part}:", flush=True)
        try:
            figures = importlib.import_module(PARTS[part]).measure(setting)
        except (RuntimeError, OSError, subprocess.SubprocessError) as error:
            print(f"  FAILED {error}")
            report[part], failed = {"error": str(error)}, True
            continue
        for figure in figures:
            print(figure.row())
        failed |= not all(figure.holds() for figure in figures)
        report[part] = [figure.record() for figure in figures]
    if arguments.json:
        machine = {"processors": os.cpu_count(), "machine": platform.machine(), "load": os.getloadavg()[0]}
        arguments.json.write_text(json.dumps({"machine": machine, "parts": report}, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
