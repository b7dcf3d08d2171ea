#!/usr/bin/env python3
"""Stands in for `tessera tune` where only a recipe is tested: records how it was called, writes what it would write.

A shard of STAND_IN_FAILS fails with 9 after it has written its log.
"""

import json
import os
import sys


def main(arguments):
    assert arguments[0] == "tune", arguments
    value = {flag: arguments[arguments.index(flag) + 1] for flag in ("--shard", "--log", "--report") if flag in arguments}
    if "--replay" in arguments:
        first = arguments.index("--replay") + 1
        logs = []
        for argument in arguments[first:]:
            if argument.startswith("--"):
                break
            logs.append(argument)
        with open(value["--report"], "w") as report:
            for log in logs:
                report.write(open(log).read())
        return 0
    with open(value["--log"], "a") as log:
        log.write(json.dumps({"shard": value["--shard"], "arguments": arguments}) + "\n")
    print(f"tuning {value['--shard']}")
    return 9 if value["--shard"].split("/")[0] == os.environ.get("STAND_IN_FAILS") else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
