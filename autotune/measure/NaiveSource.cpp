// CUDA C++ of the naive attention kernel: three passes over the keys, nothing clever, every feature of a spec.
#include "autotune/measure/NaiveAttention.h"

namespace tessera::tune {

// One warp computes one query row of one head, eight rows a block. Keys, then values, are staged 32 at a time in f32;
// lane j scores key j of the tile, and holds the output channels j, j + 32, ... Pass 0 finds the row max, pass 1 the
// row sum, pass 2 the weighted values: no running state, no rescale. TYPE: 0 f16, 1 bf16, 2 f32.
const char *const naiveSource = R"cuda(
constexpr int ROWS = 8, KEYS = 32, MOST_DIM = 256;

#if TYPE == 2
typedef float Element;
typedef double Wide;
__device__ float widen(float x) { return x; }
__device__ float roundToType(float x) { return x; }
#else
typedef unsigned short Element;
typedef float Wide;
#if TYPE == 0
__device__ float widen(Element x) { float y; asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x)); return y; }
__device__ float roundToType(float x) { Element y; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x)); return widen(y); }
#else
__device__ float widen(Element x) { return __uint_as_float(unsigned(x) << 16); }
__device__ float roundToType(float x) {
  const unsigned bits = __float_as_uint(x);
  return (bits & 0x7f800000u) == 0x7f800000u ? x : __uint_as_float((bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u);
}
#endif
#endif

__device__ float roundToTf32(float x) {
  const unsigned bits = __float_as_uint(x);
  return (bits & 0x7f800000u) == 0x7f800000u ? x : __uint_as_float((bits + 0x1000u) & ~0x1fffu);
}

struct Head {
  const Element *q, *k, *v;
  float *out, *lse;                   // dense: (queries, valueDim), (queries)
  long long qRow, kRow, vRow;         // in elements
  long long queries, keys;
  long long left, right, offset;      // query i sees keys i + offset - left to i + offset + right; negative: unbounded
  float scale, softcap;               // softcap 0: none
  int dim, valueDim, tf32;
};

struct Range { long long begin, end; };

__device__ Range visibleKeys(const Head &head, long long row) {
  const long long diagonal = row + head.offset;
  long long begin = head.left < 0 ? 0 : diagonal - head.left, end = head.right < 0 ? head.keys : diagonal + head.right + 1;
  begin = begin < 0 ? 0 : begin;
  end = end > head.keys ? head.keys : end;
  return {begin, end};
}

// PLAIN rounds as a framework does that keeps scores and probabilities in the input type.
template <typename Sum, bool PLAIN> __device__ void attend(const Head &head) {
  __shared__ float query[ROWS][MOST_DIM];
  __shared__ float tile[KEYS][MOST_DIM + 1];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const long long firstRow = (long long)blockIdx.x * ROWS, row = firstRow + warp;
  const bool inside = row < head.queries;
  const auto operand = [&](float x) { return PLAIN && head.tf32 ? roundToTf32(x) : x; };

  for (int c = lane; c < head.dim; c += 32)
    query[warp][c] = inside ? operand(widen(head.q[row * head.qRow + c])) : 0.0f;
  const Range keys = visibleKeys(head, row);
  const long long lastRow = firstRow + ROWS < head.queries ? firstRow + ROWS - 1 : head.queries - 1;
  const long long begin = visibleKeys(head, firstRow).begin, end = visibleKeys(head, lastRow).end;

  const auto stage = [&](const Element *from, long long stride, int dim, long long base) {
    __syncthreads();
    for (int n = threadIdx.x; n < KEYS * dim; n += ROWS * 32) {
      const int j = n / dim, c = n % dim;
      tile[j][c] = base + j < head.keys ? operand(widen(from[(base + j) * stride + c])) : 0.0f;
    }
    __syncthreads();
  };

  const Sum nothing = -__uint_as_float(0x7f800000u);
  Sum most = nothing, sum = 0, weighted[MOST_DIM / 32] = {};
  for (int pass = 0; pass < 3; ++pass) {
    for (long long base = begin; base < end; base += KEYS) {
      stage(head.k, head.kRow, head.dim, base);
      const long long key = base + lane;
      const bool visible = inside && key >= keys.begin && key < keys.end;
      Sum score = 0;
      for (int c = 0; c < head.dim; ++c)
        score += Sum(query[warp][c]) * Sum(tile[lane][c]);
      score *= head.scale;
      if (PLAIN)
        score = roundToType(float(score));
      if (head.softcap != 0) {
        score = head.softcap * tanh(score / head.softcap);
        if (PLAIN)
          score = roundToType(float(score));
      }
      if (pass == 0) {
        if (visible && score > most)
          most = score;
        continue;
      }
      Sum weight = visible && most != nothing ? exp(score - most) : Sum(0);
      if (pass == 1) {
        sum += weight;
        continue;
      }
      if (PLAIN && sum > 0)
        weight = operand(roundToType(float(weight / sum)));
      stage(head.v, head.vRow, head.valueDim, base);
      for (int j = 0; j < KEYS; ++j) {
        const Sum w = __shfl_sync(0xffffffffu, weight, j);
        for (int n = 0; n < MOST_DIM / 32; ++n)
          if (lane + 32 * n < head.valueDim)
            weighted[n] += w * Sum(tile[j][lane + 32 * n]);
      }
    }
    for (int step = 16; step; step /= 2) {
      if (pass == 0) {
        const Sum other = __shfl_xor_sync(0xffffffffu, most, step);
        most = other > most ? other : most;
      }
      if (pass == 1)
        sum += __shfl_xor_sync(0xffffffffu, sum, step);
    }
  }
  if (!inside)
    return;
  for (int n = 0; n < MOST_DIM / 32; ++n)
    if (lane + 32 * n < head.valueDim)
      head.out[row * head.valueDim + lane + 32 * n] = sum > 0 ? float(PLAIN ? weighted[n] : weighted[n] / sum) : 0.0f;
  if (lane == 0)
    head.lse[row] = sum > 0 ? float(most + log(sum)) : float(nothing);
}

extern "C" __global__ void __launch_bounds__(ROWS * 32) naive_exact(Head head) { attend<Wide, false>(head); }
extern "C" __global__ void __launch_bounds__(ROWS * 32) naive_plain(Head head) { attend<float, true>(head); }
)cuda";

} // namespace tessera::tune
