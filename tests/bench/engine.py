"""What the engine costs the host: asking for a kernel that is prepared already, and a launch, beyond the driver call."""

import json
import subprocess

from measure import Figure


def run(setting, part, *arguments):
    done = subprocess.run([setting.build / "bin/tessera-engine-bench", part, *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"tessera-engine-bench {part}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def measure(setting):
    prepare, load, launch = (run(setting, part) for part in ("prepare", "load", "launch"))
    return [
        Figure("prepare, first key of a process", prepare["prepare_first_s"] * 1e3, "ms"),
        Figure("prepare, another key", prepare["prepare_other_key_s"] * 1e3, "ms"),
        Figure("prepare, another key, on the simulator", load["prepare_other_key_s"] * 1e3, "ms"),
        Figure("prepare, same key again", prepare["prepare_same_key_s"] * 1e6, "us", 2),
        Figure("launch, host time beyond the driver call", launch["launch_s"] * 1e6, "us", 1),
    ]
