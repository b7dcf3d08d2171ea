// Exchange within a warp: shuffles, votes, matches, reductions, and shared memory ordered by __syncwarp.
#include <cuda_fp16.h>

// One result a line: out[line * threads + thread].
struct Lines {
  unsigned long long *out;
  unsigned threads, thread;
  __device__ void add(unsigned long long value) {
    out[thread] = value;
    out += threads;
  }
};

extern "C" __global__ void shuffles(const unsigned *in, unsigned long long *out) {
  unsigned t = threadIdx.x, lane = t & 31, x = in[2 * t], delta = in[2 * t + 1];
  Lines lines = {out, blockDim.x, t};
  for (int width = 32; width >= 2; width /= 2) {
    lines.add(__shfl_sync(~0u, x, delta, width));
    lines.add(__shfl_sync(~0u, x, 3, width));
    lines.add(__shfl_up_sync(~0u, x, delta & 31, width));
    lines.add(__shfl_down_sync(~0u, x, delta & 31, width));
    lines.add(__shfl_xor_sync(~0u, x, delta & 31, width));
  }
  double d = x * 1.5;
  lines.add(__double_as_longlong(__shfl_xor_sync(~0u, d, 7)));
  long long l = (long long)x * x;
  lines.add(__shfl_down_sync(~0u, l, 5, 16));
  __half2 h = __floats2half2_rn(lane, t);
  __half2 moved = __shfl_up_sync(~0u, h, 1);
  lines.add((unsigned)__low2float(moved) * 1000 + (unsigned)__high2float(moved));
  lines.add(__float_as_uint(__shfl_sync(~0u, (float)x, lane ^ 1)));
}

extern "C" __global__ void votes(const unsigned *in, unsigned long long *out) {
  unsigned t = threadIdx.x, lane = t & 31, x = in[2 * t], y = in[2 * t + 1];
  Lines lines = {out, blockDim.x, t};
  lines.add(__all_sync(~0u, x & 1));
  lines.add(__all_sync(~0u, x | 1));
  lines.add(__any_sync(~0u, x == in[0]));
  lines.add(__any_sync(~0u, x > y && lane == 40));
  lines.add(__ballot_sync(~0u, x > y));
  lines.add(__match_any_sync(~0u, y));
  lines.add(__match_any_sync(~0u, (unsigned long long)y << 40 | (x & 1)));
  int same;
  lines.add(__match_all_sync(~0u, x, &same) * 2ull + same);
  lines.add(__match_all_sync(~0u, t / 32, &same) * 2ull + same);
  lines.add(__reduce_add_sync(~0u, x));
  lines.add(__reduce_min_sync(~0u, x));
  lines.add(__reduce_max_sync(~0u, x));
  lines.add((unsigned long long)__reduce_min_sync(~0u, (int)x));
  lines.add((unsigned long long)__reduce_max_sync(~0u, (int)x));
  lines.add(__reduce_and_sync(~0u, x | 0xff));
  lines.add(__reduce_or_sync(~0u, x & y));
  lines.add(__reduce_xor_sync(~0u, x));
  // Part of the warp only, and each part its own.
  unsigned odd = lane & 1 ? 0xaaaaaaaau : 0x55555555u;
  lines.add(__ballot_sync(odd, x > y));
  lines.add(__reduce_add_sync(odd, x));
  lines.add(__shfl_sync(odd, x, lane ^ 2));
  lines.add(__match_any_sync(odd, y));
  unsigned result = 0;
  if (lane < 20) {
    result = __ballot_sync(0xfffff, y & 1);
    if (lane >= 8)
      result += __reduce_add_sync(0xfff00, x);
    else
      result += __shfl_down_sync(0xff, x, 2, 8);
  } else {
    result = __any_sync(0xfff00000, x == 5) + __popc(__activemask() & 0xfff00000) * 2;
  }
  lines.add(result);
}

// Sums of a warp's 32 numbers by halving, with shared memory in place of shuffles; lanes drop out as it shrinks.
extern "C" __global__ void orderedByBarrier(const unsigned *in, unsigned *out) {
  __shared__ unsigned values[64];
  unsigned t = threadIdx.x, lane = t & 31, *mine = values + (t & ~31);
  mine[lane] = in[t];
  __syncwarp();
  for (unsigned half = 16; half; half /= 2) {
    unsigned sum = 0;
    if (lane < half)
      sum = mine[lane] + mine[lane + half];
    __syncwarp();
    if (lane < half)
      mine[lane] = sum;
    __syncwarp();
  }
  if (lane == 0)
    out[t / 32] = mine[0];
}

// Two halves of a warp hand a token back and forth, each in its own branch.
extern "C" __global__ void pingPong(unsigned *out, unsigned rounds) {
  __shared__ unsigned slot[32];
  unsigned lane = threadIdx.x;
  slot[lane] = lane;
  __syncwarp();
  for (unsigned round = 0; round < rounds; ++round) {
    if (lane < 16) {
      slot[lane + 16] = slot[lane] * 3 + 1;
      __syncwarp();
    } else {
      __syncwarp();
      slot[lane - 16] = slot[lane] ^ round;
    }
    __syncwarp();
  }
  out[lane] = slot[lane];
}

// Bitonic sort of each warp's 32 keys.
extern "C" __global__ void sort(unsigned *keys) {
  unsigned t = blockIdx.x * blockDim.x + threadIdx.x, lane = t & 31, key = keys[t];
  for (unsigned size = 2; size <= 32; size *= 2)
    for (unsigned stride = size / 2; stride; stride /= 2) {
      unsigned other = __shfl_xor_sync(~0u, key, stride);
      bool up = (lane & size) == 0, lower = (lane & stride) == 0;
      key = (up == lower) == (key < other) ? key : other;
    }
  keys[t] = key;
}

// Compaction by ballot: the kept numbers of a warp stand together, in order, and one lane reserves their place.
extern "C" __global__ void compact(const int *in, int *out, unsigned *count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  bool keep = i < n && in[i] % 3 == 0;
  unsigned kept = __ballot_sync(~0u, keep), lane = threadIdx.x & 31, base = 0;
  if (kept) {
    int leader = __ffs(kept) - 1;
    if (lane == leader)
      base = atomicAdd(count, __popc(kept));
    base = __shfl_sync(~0u, base, leader);
  }
  if (keep)
    out[base + __popc(kept & ((1u << lane) - 1))] = in[i];
}
