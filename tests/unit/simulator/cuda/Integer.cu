// Every line of Integer.inc on n inputs: out[line * n + i].
extern "C" __global__ void integers(const unsigned *words, const unsigned long long *longs, unsigned long long *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  unsigned a = words[3 * i], b = words[3 * i + 1], c = words[3 * i + 2];
  int s = (int)a, t = (int)b, u = (int)c;
  unsigned long long p = longs[2 * i], q = longs[2 * i + 1];
  long long x = (long long)p, y = (long long)q;
#define OP(name, value)                                                                                                \
  *(out + i) = (unsigned long long)(value);                                                                            \
  out += n;
#include "tests/unit/simulator/cuda/Integer.inc"
#undef OP
}

// What the language has no operator for, in inline PTX.
extern "C" __global__ void saturating(const unsigned *words, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int s = (int)words[3 * i], t = (int)words[3 * i + 1], u = (int)words[3 * i + 2], r;
  asm("add.sat.s32 %0, %1, %2;" : "=r"(r) : "r"(s), "r"(t));
  out[4 * i] = r;
  asm("sub.sat.s32 %0, %1, %2;" : "=r"(r) : "r"(s), "r"(t));
  out[4 * i + 1] = r;
  asm("mad.hi.sat.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(s), "r"(t), "r"(u));
  out[4 * i + 2] = r;
  asm("{ .reg .u32 low, high;\n"
      "  add.cc.u32 low, %1, %2; addc.cc.u32 high, %2, %3; addc.u32 %0, low, high; }"
      : "=r"(r)
      : "r"(s), "r"(t), "r"(u));
  out[4 * i + 3] = r;
}
