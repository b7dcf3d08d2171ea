#!/usr/bin/env python3
"""Runs a recipe of autotune/recipes as a user would, on one machine.

Usage: recipes.py gnu-parallel|slurm-array RECIPE [--tessera PROGRAM TUNE-FLAG...]

Without --tessera a stand-in takes the program's place, and what the recipe hands to it is checked. With it the recipe tunes in earnest,
and every shard must have left trials in its log, and the merged report must show them. Exits with 77 where the programs that the recipe
is for are missing.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import cluster

SHARDS = 2
FLAGS = ["--seqlen", "512,2048", "--note", "two words; $HOME 'and' {} \"quotes\""]
failures = []


def expect(holds, what):
    if not holds:
        failures.append(what)


def run(recipe, folder, environment, arguments):
    return subprocess.run([recipe, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=240)


def checkArguments(recipe, root, environment):
    """What the program is called with, what is merged, and how a shard's failure ends."""
    environment = {**environment, "TESSERA": str(pathlib.Path(__file__).with_name("stand-in.py"))}
    for fails in (None, "2"):
        folder = root / f"stand-in-{fails}"
        folder.mkdir()
        answer = run(recipe, folder, {**environment, "STAND_IN_FAILS": fails or ""}, [str(SHARDS), *FLAGS])
        said = f"\n{answer.stdout}{answer.stderr}"
        expect((answer.returncode != 0) == (fails is not None), f"ends with {answer.returncode} where shard {fails} fails{said}")
        calls = {}
        for shard in range(1, SHARDS + 1):
            log = folder / f"shard-{shard}.jsonl"
            if not log.exists():
                failures.append(f"no log of shard {shard}{said}")
                return
            calls[shard] = json.loads(log.read_text())["arguments"]
        for shard, call in calls.items():
            expect(call == ["tune", *FLAGS, "--shard", f"{shard}/{SHARDS}", "--log", f"shard-{shard}.jsonl"],
                   f"shard {shard} was called with {call}")
        report = folder / "tune.html"
        merged = [json.loads(line)["shard"] for line in report.read_text().splitlines()] if report.exists() else None
        expect(merged == [f"{shard}/{SHARDS}" for shard in calls], f"merges {merged}{said}")
    folder = root / "no-log"
    folder.mkdir()
    answer = run(recipe, folder, {**environment, "TESSERA": "/bin/false"}, [str(SHARDS), *FLAGS])
    expect(answer.returncode == 1 and "no shard left a log" in answer.stderr, f"without a log: {answer.returncode} {answer.stderr}")
    for wrong in ([], ["0", "--x"], ["two", "--x"], ["2"]):
        answer = run(recipe, root, environment, wrong)
        expect(answer.returncode == 2 and "usage:" in answer.stderr, f"{wrong}: {answer.returncode} {answer.stderr}")


def checkMachines(recipe, root, environment):
    """Shards on two machines that share the folder; `ssh` is a script that notes the machine and runs the command as a login does: in
    another folder, with the environment of a login and none of the caller's."""
    folder, ssh = root / "machines", root / "ssh"
    folder.mkdir()
    (root / "login").mkdir()
    ssh.write_text('#!/bin/bash\necho "$1" >>"$(dirname "$0")/machines/said"\nshift\n[ "$1" != -- ] || shift\ncd "$(dirname "$0")/login"\n'
                   'exec env -i HOME="$PWD" PATH="$PATH" SHELL=/bin/bash /bin/bash -c "$*"\n')
    ssh.chmod(0o755)
    answer = run(recipe, folder, {**environment, "TESSERA": str(pathlib.Path(__file__).with_name("stand-in.py")), "PARALLEL_SSH": str(ssh),
                                  "PARALLEL": f"--will-cite --sshlogin one,two --workdir {folder}"}, [str(SHARDS), *FLAGS])
    said = f"\n{answer.stdout}{answer.stderr}"
    machines = set((folder / "said").read_text().split()) if (folder / "said").exists() else set()
    expect(machines == {"one", "two"}, f"ran on {machines or 'no machine'}{said}")
    report = folder / "tune.html"
    expect(report.exists() and len(report.read_text().splitlines()) == SHARDS, f"merged less than {SHARDS} logs{said}")


def checkTuning(recipe, root, environment, tessera, flags):
    folder = root / "tuned"
    folder.mkdir()
    # Winners are recorded; not in the cache of whoever runs this.
    environment = {**environment, "TESSERA": tessera, "TESSERA_CACHE_DIR": str(root / "cache")}
    answer = run(recipe, folder, environment, [str(SHARDS), *flags])
    outputs = "".join(path.read_text() for path in sorted(folder.glob("shard-*.out")))
    expect(answer.returncode == 0, f"ends with {answer.returncode}\n{answer.stdout}{answer.stderr}{outputs}")
    report = folder / "tune.html"
    page = report.read_text() if report.exists() else ""
    for shard in range(1, SHARDS + 1):
        log = folder / f"shard-{shard}.jsonl"
        trials = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        trials = [trial for trial in trials if trial.get("kind") == "trial"]
        expect(trials, f"shard {shard} made no trials\n{answer.stdout}{answer.stderr}{outputs}")
        shown = page.replace("<wbr/>", "")
        expect(all(trial["schedule"] in shown for trial in trials), f"the report lacks trials of shard {shard}")


def main(arguments):
    if len(arguments) < 2 or arguments[0] not in ("gnu-parallel", "slurm-array"):
        print(__doc__, file=sys.stderr)
        return 2
    kind, recipe, *rest = arguments
    recipe = str(pathlib.Path(recipe).resolve())

    def check(root, environment):
        if rest[:1] == ["--tessera"]:
            checkTuning(recipe, root, environment, str(pathlib.Path(rest[1]).resolve()), rest[2:])
        else:
            checkArguments(recipe, root, environment)

    with tempfile.TemporaryDirectory(prefix="tessera-", ignore_cleanup_errors=True) as folder:
        root = pathlib.Path(folder)
        root.chmod(0o755)
        if kind == "gnu-parallel":
            if not cluster.program("parallel"):
                print("skipped: no GNU parallel (Debian package parallel)")
                return 77
            # The machine's notice about citations waits for a terminal; a home of its own keeps the user's settings out.
            environment = {**os.environ, "HOME": folder, "PARALLEL": "-j 2 --will-cite"}
            check(root, environment)
            if not rest:
                checkMachines(recipe, root, environment)
        else:
            if cluster.missing():
                print(f"skipped: no {', '.join(cluster.missing())} (Debian packages slurm-wlm and munge)")
                return 77
            (root / "cluster").mkdir()
            try:
                with cluster.Cluster(root / "cluster") as slurm:
                    check(root, slurm.environment)
            except cluster.Cluster.CannotStart as why:
                print(f"skipped: Slurm cannot run here: {why}")
                return 77
    print("\n".join(failures) or f"{kind}: as it should be")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
