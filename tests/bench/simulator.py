"""How fast the simulator is, and what it counts for the default schedules: exponents, bank conflicts, coalescing."""

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


def measure(setting):
    times = engine.run(setting, "simulate")
    figures = [
        Figure("S 1024, d 64, one causal head, one core, checks off", times["unchecked_s"], "s", 0.5),
        Figure("S 1024, d 64, one causal head, one core, checks on", times["checked_s"], "s", 3),
    ]
    for headDim in (64, 96, 128, 256):
        figures += counted(setting, headDim)
    return figures
