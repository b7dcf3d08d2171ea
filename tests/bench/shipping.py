"""What a kernel costs that need not be compiled: from the disk cache of an earlier process and from a bundle; what is shipped weighs."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import engine
from measure import Figure

PROCESSES = 10  # each is new; the quickest counts
LOAD = "import ctypes, sys, time; began = time.perf_counter(); ctypes.CDLL(sys.argv[1]); print(time.perf_counter() - began)"


def best(runs):
    """The shortest of each time; of what is counted, the largest."""
    return {key: (min if key.endswith("_s") else max)(run[key] for run in runs) for key in runs[0]}


def loadTime(library):
    """Seconds that dlopen takes in a new process, with what the library links."""
    return min(float(subprocess.run([sys.executable, "-c", LOAD, library], check=True, capture_output=True, text=True).stdout) for _ in range(PROCESSES))


def strippedSize(library, folder):
    strip = shutil.which("llvm-strip-22") or shutil.which("strip")
    if not strip:
        raise RuntimeError("no llvm-strip-22 and no strip: install llvm-22 or binutils")
    subprocess.run([strip, "--strip-unneeded", "-o", folder / "stripped.so", library], check=True)
    return os.path.getsize(folder / "stripped.so")


def measure(setting):
    library = setting.build / "lib/libtessera.so"
    with tempfile.TemporaryDirectory(prefix="tessera-bench-") as name:
        folder = pathlib.Path(name)
        shipped = engine.run(setting, "ship", folder)
        disk = best([engine.run(setting, "from-disk", folder) for _ in range(PROCESSES)])
        bundle = best([engine.run(setting, "from-bundle", folder) for _ in range(PROCESSES)])
        size = strippedSize(library, folder)
    kernel = f"{shipped['ptx_bytes'] / 1e3:.0f} kB of PTX, {shipped['cubin_bytes'] / 1e3:.0f} kB of cubin"
    return [
        Figure("first process: kernels compiled", shipped["compiles"], "", note=kernel),
        Figure("second process: kernels compiled", disk["compiles"], "", 0),
        Figure("prepare from the disk cache, first of a process", disk["first_s"] * 1e3, "ms", 2),
        Figure("prepare from the disk cache, another", disk["another_s"] * 1e3, "ms", 2),
        Figure("opening a bundle of 500 kernels", bundle["open_s"] * 1e3, "ms", 1),
        Figure("prepare from the bundle, first of a process", bundle["first_s"] * 1e3, "ms", 1),
        Figure("prepare from the bundle, another", bundle["another_s"] * 1e3, "ms", 1),
        Figure("process with a bundle: kernels compiled", bundle["compiles"], "", 0),
        Figure("a kernel in the disk cache", shipped["entry_bytes"] / 1e3, "kB"),
        Figure("a bundle of 500 kernels", shipped["bundle_bytes"] / 1e6, "MB"),
        Figure("loading libtessera.so", loadTime(library) * 1e3, "ms"),
        Figure("libtessera.so, stripped", size / 1e6, "MB", 2),
    ]
