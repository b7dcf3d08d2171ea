"""How fast the simulator is, and what it counts for the default schedules: exponents, bank conflicts, coalescing."""

import json
import subprocess

import engine
from measure import Figure

LENGTH = 1024


def countersOf(setting, headDim):
    """What one unmasked head does on the simulated A100; full, so that every score is visible and every tile clean."""
    return setting.tesseraJson("run", "--dtype", "bf16", "--heads", 1, "--head-dim", headDim, "--seqlen-q", LENGTH, "--seqlen-kv", LENGTH,
                               "--device", "sim:a100", "--checks", "off", "--counters")["counters"]


def counted(setting, headDim):
    counters = countersOf(setting, headDim)
    scores = LENGTH * LENGTH / 32
    name = f"d {headDim} default schedule: "
    yield Figure(f"{name}ex2 per score", counters["ex2"] / scores, "", 1.1)
    for kind in ("ldmatrix", "shared_stores", "async_writes", "shared_loads"):
        traffic = counters[kind]
        conflicts = traffic["wavefronts"] - traffic["ideal_wavefronts"]
        yield Figure(f"{name}bank conflicts of {kind.replace('_', ' ')}", conflicts, "wavefronts", None if kind == "shared_loads" else 0)
    for kind in ("async_copies", "global_loads"):
        traffic = counters[kind]
        if traffic["bytes"]:
            yield Figure(f"{name}bytes fetched per byte asked for, {kind.replace('_', ' ')}", traffic["sectors"] * 32 / traffic["bytes"], "", 1)
            yield Figure(f"{name}bytes of a lane's access, {kind.replace('_', ' ')}", traffic["bytes"] / traffic["requests"] / 32, "bytes")
    yield Figure(f"{name}local memory", counters["local_bytes"], "bytes", 0)


def kernels(setting):
    """Small PTX kernels: the rate of each mode on one core, what the checks cost, and what a second host thread brings."""
    done = subprocess.run([setting.build / "bin/tessera-simulator-bench"], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"tessera-simulator-bench: {done.stderr.strip()}")
    rows = {(row["kernel"], row["mode"], row["checks"], row["threads"]): row for row in json.loads(done.stdout)}
    for (kernel, mode, checks, threads), row in rows.items():
        if checks or threads != 1:
            continue
        name = f"{kernel}, {mode}" if mode else kernel
        if row["matrix"]:
            yield Figure(name, row["rate"] / 1e9, "GFLOP/s", {"exact": 6, "hardware": 4}.get(mode), atLeast=True)
        else:
            yield Figure(name, row["rate"] / 1e6, "M warp instr/s", 40 if kernel.startswith("ffma") else None, atLeast=True)
        yield Figure(f"{name}: times slower with checks", row["rate"] / rows[kernel, mode, True, 1]["rate"], "", 5)
        if more := rows.get((kernel, mode, False, 2)):
            yield Figure(f"{name}: two host threads against one", more["rate"] / row["rate"], "", 1.6, atLeast=True)


def measure(setting):
    times = engine.run(setting, "simulate")
    figures = [
        Figure("S 1024, d 64, one causal head, one core, checks off", times["unchecked_s"], "s", 0.5),
        Figure("S 1024, d 64, one causal head, one core, checks on", times["checked_s"], "s", 3),
    ]
    figures += kernels(setting)
    for headDim in (64, 96, 128, 256):
        figures += counted(setting, headDim)
    return figures
