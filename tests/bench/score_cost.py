"""What a score costs in a clean tile: machine instructions outside the matrix unit per score, and spills, counted on the disassembly."""

import json
import subprocess
import tempfile

from measure import Figure

# Figures of other kernels stand in the design notes: FA2 10.0 and Triton 11.7 at d 128; 6.9 to 8.2 and 8.3 at d 64.
LIMITS = {(128, "lazy8"): 7.4, (128, "anchored"): 6.1, (64, "lazy8"): 6.0, (64, "anchored"): 4.8}


MASKS = {"full": [], "causal": ["--causal", "bottom-right"]}


def problem(headDim, mask):
    return ["--dtype", "bf16", "--batch", 1, "--heads", 8, "--kv-heads", 8, "--head-dim", headDim, "--seqlen-q", 4096,
            "--seqlen-kv", 4096, *MASKS[mask]]


def loopOf(setting, headDim, mask, schedule, target):
    """The innermost loop with the most matrix instructions (the rescue encloses it), as the loop counter reports it."""
    tile = {field[0] if field[0] in "qws" else "kv": field for field in schedule.split(":")[1].split(",")[:4]}
    scores = int(tile["q"][1:]) * int(tile["kv"][2:]) / (32 * int(tile["w"][1:]))
    python = setting.environment("nvdisasm", "nvidia-cuda-nvdisasm==13.*")
    with tempfile.TemporaryDirectory() as folder:
        cubin = f"{folder}/kernel.cubin"
        setting.tessera("compile", *problem(headDim, mask), "--target", target, "--schedule", schedule, "--emit", "cubin", "-o", cubin)
        counted = subprocess.run([python, setting.sassLoops, cubin, "--scores-per-thread", str(scores), "--json"], capture_output=True, text=True, check=True)
    return max(json.loads(counted.stdout), key=lambda loop: (loop["matrix"], -loop["instructions"]))


def measure(setting):
    if not setting.sassLoops.is_file():
        raise RuntimeError(f"no loop counter at {setting.sassLoops}; name it with --sass-loops")
    figures = []
    for (headDim, policy), limit in LIMITS.items():
        for mask in MASKS:
            default = setting.tesseraJson("explain", *problem(headDim, mask), "--target", "sm_80")["schedule"].split(",")
            for rowSum in ("add", "mma"):
                held = rowSum == "add"  # the default's; the sum by mma is reported beside it
                schedule = ",".join([*default[:4], policy, rowSum, *default[6:]])
                loop = loopOf(setting, headDim, mask, schedule, "sm_80")
                path = " ".join(f"{op}:{count}" for op, count in list(loop["path_by_opcode"].items())[:14])
                name = f"d {headDim} {mask} {policy} {rowSum}"
                figures.append(Figure(f"{name}: instructions per score", loop["path_other_per_score"], "", limit if held else None, note=path))
                figures.append(Figure(f"{name}: spill instructions in the loop", loop["spills"], "", 0 if held else None))
    return figures
