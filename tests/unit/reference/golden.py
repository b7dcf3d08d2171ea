"""Writes golden.safetensors: bf16 inputs and their attention in f64 by numpy, an answer that none of our code had a hand in.

Needs numpy, ml_dtypes and safetensors; run it in this folder to make the file again.
"""
import ml_dtypes
import numpy as np
from safetensors.numpy import save_file

batch, queries, keys, heads, kv_heads, dim, value_dim = 2, 9, 13, 4, 2, 16, 8
rng = np.random.default_rng(20)
q = rng.standard_normal((batch, queries, heads, dim)).astype(ml_dtypes.bfloat16)
k = rng.standard_normal((batch, keys, kv_heads, dim)).astype(ml_dtypes.bfloat16)
v = rng.standard_normal((batch, keys, kv_heads, value_dim)).astype(ml_dtypes.bfloat16)


def attention(visible, scale=dim**-0.5, softcap=None):
    wide_k = np.repeat(k.astype(np.float64), heads // kv_heads, axis=2)
    wide_v = np.repeat(v.astype(np.float64), heads // kv_heads, axis=2)
    scores = scale * np.einsum("bihd,bjhd->bhij", q.astype(np.float64), wide_k)
    if softcap:
        scores = softcap * np.tanh(scores / softcap)
    weights = np.exp(np.where(visible, scores, -np.inf))
    total = weights.sum(-1)
    out = np.einsum("bhij,bjhd->bihd", weights, wide_v) / np.where(total, total, 1).transpose(0, 2, 1)[..., None]
    with np.errstate(divide="ignore"):
        return out.astype(np.float32), np.log(total).astype(np.float32)


i, j = np.arange(queries)[:, None], np.arange(keys)[None, :]
cases = {
    "full": attention(j >= 0),
    "causal": attention(j <= i + keys - queries),
    "topleft": attention((j <= i) & (j >= i - 3)),
    "window": attention((j >= i + 4 - 2) & (j <= i + 4 + 1), scale=0.7, softcap=1.5),
    "empty": attention((j >= i + 8) & (j <= i + 9)),
}
tensors = {"q": q, "k": k, "v": v}
for name, (out, lse) in cases.items():
    tensors[f"{name}.out"], tensors[f"{name}.lse"] = out, np.ascontiguousarray(lse)
save_file(tensors, "golden.safetensors")
