// Every line of Half.inc on n inputs: out[line * n + index]; and the functions of halves.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#define FN __device__ inline
#include "tests/unit/simulator/cuda/HalfBits.inc"

FN __nv_bfloat16 hmax_nan(__nv_bfloat16 a, __nv_bfloat16 b) { return __hmax_nan(a, b); }
FN int half2int_rn(__half a) { return __half2int_rn(a); }
FN int half2int_ru(__half a) { return __half2int_ru(a); }
FN int half2int_rd(__half a) { return __half2int_rd(a); }
template <class T> FN T hfma(T a, T b, T c) { return __hfma(a, b, c); }
template <class T> FN T hfma_sat(T a, T b, T c) { return __hfma_sat(a, b, c); }
template <class T> FN T hfma_relu(T a, T b, T c) { return __hfma_relu(a, b, c); }
template <class T> FN T hfma2(T a, T b, T c) { return __hfma2(a, b, c); }
template <class T> FN T hfma2_sat(T a, T b, T c) { return __hfma2_sat(a, b, c); }
template <class T> FN T hfma2_relu(T a, T b, T c) { return __hfma2_relu(a, b, c); }
template <class T> FN T hcmadd(T a, T b, T c) { return __hcmadd(a, b, c); }

extern "C" __global__ void halves(const unsigned short *words, const float *floats, const double *doubles, unsigned long long *out,
                                  int n) {
  int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index >= n)
    return;
  unsigned short p = words[3 * index], q = words[3 * index + 1], r = words[3 * index + 2];
  float f = floats[index];
  double x = doubles[index];
  int i = (int)(p | (unsigned)q << 16);
  __half a = __ushort_as_half(p), b = __ushort_as_half(q), c = __ushort_as_half(r);
  __nv_bfloat16 d = __ushort_as_bfloat16(p), e = __ushort_as_bfloat16(q), g = __ushort_as_bfloat16(r);
  __half2 aa = __halves2half2(a, b), bb = __halves2half2(b, c), cc = __halves2half2(c, a);
  __nv_bfloat162 dd = __halves2bfloat162(d, e), ee = __halves2bfloat162(e, g), gg = __halves2bfloat162(g, d);
#define U(name, value)                                                                                                 \
  out[index] = bits(value);                                                                                            \
  out += n;
#include "tests/unit/simulator/cuda/Half.inc"
#undef U
}

// Functions of one half or bfloat, for all 65536 of each.
extern "C" __global__ void functions(unsigned short *halves, unsigned short *bfloats) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  __half h = __ushort_as_half((unsigned short)i);
  __half results[] = {hsqrt(h), hrcp(h), hrsqrt(h), hexp(h), hexp2(h), hlog(h), hlog2(h), hsin(h), hcos(h), htanh(h)};
  for (unsigned k = 0; k < 10; ++k)
    halves[k << 16 | i] = __half_as_ushort(results[k]);
  __nv_bfloat16 b = __ushort_as_bfloat16((unsigned short)i);
  __nv_bfloat16 others[] = {hsqrt(b), hrcp(b), hrsqrt(b), hexp(b), hexp2(b), hlog(b), hlog2(b), hsin(b), hcos(b), htanh(b)};
  for (unsigned k = 0; k < 10; ++k)
    bfloats[k << 16 | i] = __bfloat16_as_ushort(others[k]);
}
