"""Tuning on simulated devices: how long a search takes and how much of the space it compiles.

Times of kernels are modelled here: these figures are about the search, not about any GPU.
"""

import json
import tempfile

from measure import Figure

DEVICES = ["sim:a100", "sim:rtx4090"]
DIMS = [64, 128, 256]
MASKS = {"causal": ["--causal", "bottom-right"], "full": []}
LENGTHS = "512,2048,8192"
SHAPE = ["--dtype", "bf16", "--heads", "32", "--kv-heads", "8"]


def tune(setting, device, dim, mask, *more):
    """The JSON of one search of a spec at all lengths, with an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["tune", *SHAPE, "--head-dim", dim, *MASKS[mask], "--seqlen", LENGTHS, "--device", device]
        done = setting.tessera(*arguments, "--cache-dir", folder, "--cache", "rw", "--quiet", "--json", *more, timeout=6 * 3600)
        return json.loads(done.stdout)


def share(report):
    """The largest share of a space that was compiled for one length; the kernels of one length serve the others."""
    return max(task["compiled"] / task["space"]["legal"] for task in report["tasks"])


def measure(setting):
    """Every spec: wall-clock time and share of the space."""
    figures = []
    for device in DEVICES:
        for dim in DIMS:
            for mask in MASKS:
                report = tune(setting, device, dim, mask)
                name = f"{device} d{dim} {mask}"
                gains = ", ".join(f"{task['gain']:.2f}" for task in report["tasks"])
                legal = "/".join(str(task["space"]["legal"]) for task in report["tasks"])
                figures.append(Figure(f"{name}: search of three lengths", report["seconds"], "s", 120, note=f"gain over the default {gains}"))
                figures.append(Figure(f"{name}: compiled of the legal space", 100 * share(report), "%", 10, note=f"of {legal}"))
    return figures
