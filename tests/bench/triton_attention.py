#!/usr/bin/env python3
"""Compiles one causal attention kernel with Triton for a GPU that need not be there and prints the times as JSON.

The measuring stick of compile-time.py: the same work that `tessera compile` does, by a well-known compiler. Run by the Python
of an environment that has `triton`. The kernel is the plain online-softmax loop, masked tiles apart from clean ones.
"""

import argparse
import json
import os
import sys
import tempfile
import time

began = time.perf_counter()
# A cache would turn the second measurement into a file read.
scratch = tempfile.TemporaryDirectory()
os.environ["TRITON_CACHE_DIR"] = scratch.name
os.environ["TRITON_ALWAYS_COMPILE"] = "1"
os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def kvTiles(acc, rowSum, rowMax, q, kBase, vBase, strideK, strideV, scale, rows, begin, end, lengthKv, offset, D: tl.constexpr,
            TILE_KV: tl.constexpr, MASKED: tl.constexpr):
    columns = tl.arange(0, TILE_KV)
    dims = tl.arange(0, D)
    for start in tl.range(begin, end, TILE_KV):
        keys = start + columns
        if MASKED:
            k = tl.load(kBase + keys[None, :] * strideK + dims[:, None], mask=keys[None, :] < lengthKv, other=0.0)
            v = tl.load(vBase + keys[:, None] * strideV + dims[None, :], mask=keys[:, None] < lengthKv, other=0.0)
        else:
            k = tl.load(kBase + keys[None, :] * strideK + dims[:, None])
            v = tl.load(vBase + keys[:, None] * strideV + dims[None, :])
        scores = tl.dot(q, k)
        if MASKED:
            visible = (keys[None, :] <= rows[:, None] + offset) & (keys[None, :] < lengthKv)
            scores = tl.where(visible, scores, float("-inf"))
        newMax = tl.maximum(rowMax, tl.max(scores, 1) * scale)
        reference = tl.where(newMax == float("-inf"), 0.0, newMax) if MASKED else newMax
        weights = tl.math.exp2(scores * scale - reference[:, None])
        alpha = tl.math.exp2(rowMax - reference)
        rowSum = rowSum * alpha + tl.sum(weights, 1)
        acc = acc * alpha[:, None]
        acc = tl.dot(weights.to(v.dtype), v, acc)
        rowMax = newMax
    return acc, rowSum, rowMax


@triton.jit
def attention(Q, K, V, O, Lse, strideQb, strideQs, strideQh, strideKb, strideKs, strideKh, strideVb, strideVs, strideVh, strideOb,
              strideOs, strideOh, heads, group, lengthQ, lengthKv, scale, D: tl.constexpr, TILE_Q: tl.constexpr,
              TILE_KV: tl.constexpr):
    tile = tl.program_id(0)
    batch = (tl.program_id(1) // heads).to(tl.int64)
    head = (tl.program_id(1) % heads).to(tl.int64)
    rows = tile * TILE_Q + tl.arange(0, TILE_Q)
    dims = tl.arange(0, D)
    offset = lengthKv - lengthQ
    q = tl.load(Q + batch * strideQb + head * strideQh + rows[:, None] * strideQs + dims[None, :], mask=rows[:, None] < lengthQ, other=0.0)
    kBase = K + batch * strideKb + (head // group) * strideKh
    vBase = V + batch * strideVb + (head // group) * strideVh
    acc = tl.zeros([TILE_Q, D], dtype=tl.float32)
    rowSum = tl.zeros([TILE_Q], dtype=tl.float32)
    rowMax = tl.full([TILE_Q], float("-inf"), dtype=tl.float32)
    clean = tl.maximum(tl.minimum(tile * TILE_Q + offset + 1, lengthKv) // TILE_KV * TILE_KV, 0)
    last = tl.minimum((tile + 1) * TILE_Q + offset, lengthKv)
    acc, rowSum, rowMax = kvTiles(acc, rowSum, rowMax, q, kBase, vBase, strideKs, strideVs, scale, rows, 0, clean, lengthKv, offset, D, TILE_KV, False)
    acc, rowSum, rowMax = kvTiles(acc, rowSum, rowMax, q, kBase, vBase, strideKs, strideVs, scale, rows, clean, last, lengthKv, offset, D, TILE_KV, True)
    empty = rowSum == 0.0
    acc = acc / tl.where(empty, 1.0, rowSum)[:, None]
    lse = tl.where(empty, float("-inf"), (rowMax + tl.math.log2(rowSum)) * 0.6931471805599453)
    tl.store(O + batch * strideOb + head * strideOh + rows[:, None] * strideOs + dims[None, :], acc.to(O.dtype.element_ty), mask=rows[:, None] < lengthQ)
    tl.store(Lse + tl.program_id(1).to(tl.int64) * lengthQ + rows, lse, mask=rows < lengthQ)


def compileOnce(element, headDim, tileQ, tileKv, capability, warps, stages):
    """Seconds from source to cubin, and the cubin's size."""
    start = time.perf_counter()
    names = attention.arg_names
    pointers = {name: f"*{element}" for name in ("Q", "K", "V", "O")} | {"Lse": "*fp32"}
    kinds = {name: pointers.get(name, "i64" if name.startswith("stride") else "fp32" if name == "scale" else "i32") for name in names}
    constants = {"D": headDim, "TILE_Q": tileQ, "TILE_KV": tileKv}
    kinds |= {name: "constexpr" for name in constants}
    # Rows begin on 16 bytes, as Tessera's fast path asks: pointers and strides are multiples of 16.
    aligned = {(names.index(name),): [["tt.divisibility", 16]] for name in names if name in pointers or name.startswith("stride")}
    source = ASTSource(fn=attention, signature=kinds, constexprs=constants, attrs=aligned)
    kernel = triton.compile(source, target=GPUTarget("cuda", capability, 32), options={"num_warps": warps, "num_stages": stages})
    return time.perf_counter() - start, len(kernel.asm["cubin"])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--capability", type=int, default=80)
    parser.add_argument("--head-dim", type=int, default=128)
    parser.add_argument("--warm", type=int, default=3, help="further kernels to compile in the same process")
    arguments = parser.parse_args()
    started = time.perf_counter()
    first, size = compileOnce("bf16", arguments.head_dim, 128, 64, arguments.capability, 4, 2)
    # Other kernels of the same kind in a process that is warm: another element type, other tiles.
    others = [("fp16", 128, 64), ("bf16", 64, 64), ("fp16", 64, 64), ("bf16", 128, 32), ("fp16", 128, 32)]
    warm = [compileOnce(kind, arguments.head_dim, tileQ, tileKv, arguments.capability, 4, 2)[0] for kind, tileQ, tileKv in others[: arguments.warm]]
    json.dump({"triton": triton.__version__, "import_s": started - began, "first_s": first, "warm_s": warm, "cubin_bytes": size}, sys.stdout)
    print()


if __name__ == "__main__":
    main()
