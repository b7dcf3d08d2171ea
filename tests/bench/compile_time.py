"""How long a kernel takes from flags to cubin, as a whole process and in a warm one, against Triton for the same target."""

import json
import pathlib
import subprocess
import tempfile

import engine
from measure import Figure, wholeProcess

TRITON = "triton==3.9.*"
PROBLEM = ["--dtype", "bf16", "--batch", "1", "--heads", "8", "--kv-heads", "8", "--head-dim", "128", "--seqlen-q", "1024",
           "--seqlen-kv", "1024", "--causal", "bottom-right", "--lse"]


def tritonTimes(setting):
    """Whole process for one kernel, and the quickest compile of another kernel in a warm process; both in seconds."""
    python = setting.environment("triton", TRITON)
    script = pathlib.Path(__file__).with_name("triton_attention.py")
    whole = wholeProcess([python, "-W", "ignore", script, "--warm", "0"], setting.repeats)
    done = subprocess.run([python, "-W", "ignore", script, "--warm", "5"], check=True, capture_output=True, text=True)
    return whole, min(json.loads(done.stdout)["warm_s"])


def measure(setting):
    with tempfile.TemporaryDirectory() as folder:
        command = [setting.build / "bin/tessera", "compile", *PROBLEM, "--target", "sm_80", "--emit", "cubin", "-o", f"{folder}/kernel.cubin", "--quiet"]
        whole = wholeProcess(command, setting.repeats)
    warm = engine.run(setting, "prepare")["prepare_other_key_s"]
    tritonWhole, tritonWarm = tritonTimes(setting)
    return [
        Figure("tessera compile --emit cubin, d 128 causal sm_80, process", whole, "s", 0.6),
        Figure("Triton, the same, process", tritonWhole, "s"),
        Figure("times as fast as Triton, whole process", tritonWhole / whole, "x", 3, atLeast=True),
        Figure("prepare of another key in a warm process", warm, "s", 0.45),
        Figure("Triton, another kernel in a warm process", tritonWarm, "s"),
        Figure("times as fast as Triton, warm", tritonWarm / warm, "x", 1.8, atLeast=True),
    ]
