#!/usr/bin/env python3
"""Runs the Python example on small .npy files and judges its answers: against a softmax in double, and against `tessera run`.

Usage: python-example-test.py EXAMPLE LIBRARY TESSERA
"""

import math
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

DEVICE = "sim:a100"


def writeNpy(path, letter, shape, values):
    """`letter` is that of struct: e for float16, f for float32."""
    header = repr({"descr": "<f2" if letter == "e" else "<f4", "fortran_order": False, "shape": shape}).ljust(117) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(values)}{letter}", *values))


def readNpy(path, letter):
    content = path.read_bytes()
    values = content[10 + struct.unpack("<H", content[8:10])[0]:]
    return struct.unpack(f"<{len(values) // struct.calcsize(letter)}{letter}", values)


def softmaxAttention(q, k, v, shapes, causal):
    """The answer in double; `causal` aligns bottom-right."""
    (batch, seqlenQ, heads, dim), (_, seqlenKv, kvHeads, _), (_, _, _, valueDim) = shapes
    out = []
    for b in range(batch):
        for i in range(seqlenQ):
            for h in range(heads):
                query = q[((b * seqlenQ + i) * heads + h) * dim:][:dim]
                at = [((b * seqlenKv + j) * kvHeads + h // (heads // kvHeads)) for j in range(seqlenKv)]
                visible = [j for j in range(seqlenKv) if not causal or j <= i + seqlenKv - seqlenQ]
                scores = [sum(map(float.__mul__, query, k[at[j] * dim:(at[j] + 1) * dim])) / math.sqrt(dim) for j in visible]
                weights = [math.exp(score - max(scores)) for score in scores]
                total = sum(weights) or 1
                for c in range(valueDim):
                    out.append(sum(weight * v[at[j] * valueDim + c] for weight, j in zip(weights, visible)) / total)
    return out


class Judge:
    def __init__(self, example, library, program, folder):
        self.example, self.library, self.program, self.folder = example, library, program, folder
        self.failures = 0
        os.environ["TESSERA_CACHE_DIR"] = str(folder / "cache")

    def expect(self, holds, what):
        print(f"{'right' if holds else 'WRONG'}  {what}")
        self.failures += not holds

    def run(self, *arguments):
        return subprocess.run([sys.executable, self.example, "--device", DEVICE, "--library", self.library, *map(str, arguments)],
                              capture_output=True, text=True, timeout=120)

    def attention(self, letter, shapes, causal, bound):
        randomness = random.Random(1)
        files, tensors = [self.folder / f"{name}.npy" for name in "qkvo"], []
        for path, shape in zip(files, shapes):
            # Multiples of 1/64 up to 2, which every type holds exactly.
            tensors.append([randomness.randrange(-128, 129) / 64 for _ in range(math.prod(shape))])
            writeNpy(path, letter, shape, tensors[-1])
        done = self.run(*files, *(["--causal", "bottom-right"] if causal else []))
        what = f"{'f16' if letter == 'e' else 'f32'} {shapes} {'causal' if causal else 'full'}"
        self.expect(done.returncode == 0 and "schedule" in done.stdout, f"{what}: runs and says what was chosen {done.stderr}")
        if done.returncode:
            return
        out = readNpy(files[3], letter)
        error = max(abs(a - b) for a, b in zip(out, softmaxAttention(*tensors, shapes, causal), strict=True))
        self.expect(error <= bound, f"{what}: largest error {error:.2e}, at most {bound:.2e}")
        flags = [flag for name, path in zip("qkv", files) for flag in (f"--{name}", path)] + (["--causal", "bottom-right"] if causal else [])
        subprocess.run([self.program, "run", *flags, "--device", DEVICE, "--out", self.folder / "run.npy", "--quiet"], check=True,
                       stdout=subprocess.DEVNULL, timeout=120)
        self.expect(readNpy(self.folder / "run.npy", letter) == out, f"{what}: the bits of tessera run")

    def bundle(self):
        """With the files that the causal f16 attention has left."""
        files = [self.folder / f"{name}.npy" for name in "qkvo"]
        before = files[3].read_bytes()
        specs, bundle = self.folder / "specs.json", self.folder / "app.tsb"
        specs.write_text('[{"dtype": "f16", "head-dim": 64, "causal": "bottom-right"}]')
        subprocess.run([self.program, "bundle", "build", "--specs", specs, "--targets", "sm_80", "-o", bundle], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
        done = self.run(*files, "--causal", "bottom-right", "--bundle", bundle)
        self.expect(done.returncode == 0 and "app.tsb" in done.stdout, f"from a bundle: {done.stdout}{done.stderr}")
        self.expect(files[3].read_bytes() == before, "from a bundle: the same bits")
        done = self.run(*files, "--bundle", bundle)
        self.expect(done.returncode == 1 and not done.stdout, f"what the bundle lacks is refused: {done.stderr.strip()}")

    def refusals(self):
        good = self.folder / "q.npy"
        bad = self.folder / "bad.npy"
        bad.write_bytes(good.read_bytes()[:-3])
        done = self.run(bad, good, good, self.folder / "none.npy")
        self.expect(done.returncode == 1 and "bytes of values" in done.stderr, f"a short file is refused: {done.stderr.strip()}")
        whole = good.read_bytes()
        for size in [*range(0, 128, 5), 127]:
            bad.write_bytes(whole[:size])
            done = self.run(bad, good, good, self.folder / "none.npy")
            self.expect(done.returncode == 1 and str(bad) in done.stderr and "Traceback" not in done.stderr, f"a file of {size} bytes is refused")
        done = self.run(good, good, good, self.folder / "none.npy", "--library", "nowhere.so")
        self.expect(done.returncode == 1 and "--library" in done.stderr, f"a missing library is refused: {done.stderr.strip()}")
        done = self.run(good, good, good, self.folder / "none.npy", "--bundle", self.folder / "none.tsb")
        self.expect(done.returncode == 1 and "none.tsb" in done.stderr, f"a missing bundle is refused: {done.stderr.strip()}")
        self.expect(not (self.folder / "none.npy").exists(), "nothing is written then")


def main(example, library, program):
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(example, library, program, pathlib.Path(folder))
        # Rounding to f16 of values below 2, and products of tf32.
        judge.attention("e", [(1, 33, 4, 64), (1, 50, 2, 64), (1, 50, 2, 64)], True, 2e-3)
        judge.bundle()
        judge.attention("f", [(2, 17, 2, 32), (2, 20, 2, 32), (2, 20, 2, 40)], False, 1e-3)
        judge.refusals()
        return judge.failures != 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
