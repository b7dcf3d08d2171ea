"""What the measurements share: a record per figure, timing of whole processes, environments for other people's tools."""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import time


@dataclasses.dataclass
class Figure:
    """One measured figure. With a limit it is held to it: at most the limit, or at least it where `atLeast` is set."""

    name: str
    value: float
    unit: str
    limit: float | None = None
    atLeast: bool = False
    note: str = ""

    def holds(self):
        return self.limit is None or (self.value >= self.limit if self.atLeast else self.value <= self.limit)

    def row(self):
        bound = "" if self.limit is None else f"{'>=' if self.atLeast else '<='} {self.limit:g}"
        verdict = "" if self.limit is None else "ok" if self.holds() else "MISSED"
        return f"  {self.name:<58} {self.value:>12.4g} {self.unit:<12} {bound:<12} {verdict:<7}{self.note}"

    def record(self):
        return dataclasses.asdict(self) | {"holds": self.holds()}


@dataclasses.dataclass
class Setting:
    """Where the measured things are and how patient the measurement is."""

    build: pathlib.Path
    repeats: int
    sassLoops: pathlib.Path

    def tessera(self, *arguments, check=True, timeout=600):
        """Runs the command line program; returns the finished process with its text output."""
        command = [str(self.build / "bin/tessera"), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=timeout)
        if check and done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr.strip()}")
        return done

    def tesseraJson(self, *arguments):
        return json.loads(self.tessera(*arguments, "--json").stdout)

    def environment(self, name, *packages):
        """The Python of a virtual environment in the build folder that has the packages; made on first use."""
        home = self.build / "bench" / name
        marker = home / "packages"
        if not marker.is_file() or marker.read_text() != " ".join(packages):
            print(f"installing {', '.join(packages)} into {home}", file=sys.stderr)
            subprocess.run(["/usr/bin/python3", "-m", "venv", "--clear", home], check=True)
            subprocess.run([home / "bin/pip", "install", "--quiet", "--disable-pip-version-check", *packages], check=True)
            marker.write_text(" ".join(packages))
        return home / "bin/python"


def wholeProcess(command, repeats):
    """The shortest wall-clock time of the command in seconds: what else runs on the machine only ever adds to it."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, env=os.environ)
        times.append(time.perf_counter() - began)
    return min(times)
