// Arithmetic of halves and bfloats for the host where the toolkit's headers have device forms only.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

namespace tessera::sim::test::host {

#define FN inline
#include "tests/unit/simulator/cuda/HalfBits.inc"
#undef FN

inline double wide(__half v) { return __half2float(v); }
inline double wide(__nv_bfloat16 v) { return __bfloat162float(v); }
inline void narrow(double v, __half &out) { out = __double2half(v); }
inline void narrow(double v, __nv_bfloat16 &out) { out = __double2bfloat16(v); }

/// a * b + c in a double whose last bit is sticky, so that rounding it once more rounds the exact value once. The
/// product of two halves or bfloats is exact.
inline double stickySum(double product, double c) {
  double sum = product + c, back = sum - product, error = (product - (sum - back)) + (c - back);
  if (!std::isfinite(sum) || error == 0)
    return sum;
  auto word = std::bit_cast<uint64_t>(sum);
  // Towards zero, then odd: the exact sum lies between this double and its neighbour.
  if ((error < 0) != (sum < 0))
    --word;
  return std::bit_cast<double>(word | 1);
}

template <class T> T hfma(T a, T b, T c) {
  T result;
  narrow(stickySum(wide(a) * wide(b), wide(c)), result);
  return result;
}
/// Clamped to [0, 1]; NaN becomes zero.
template <class T> T hfma_sat(T a, T b, T c) {
  double v = stickySum(wide(a) * wide(b), wide(c));
  T result;
  narrow(v >= 1 ? 1.0 : v > 0 ? v : 0.0, result);
  return result;
}
/// Negative results become zero, NaN stays.
template <class T> T hfma_relu(T a, T b, T c) {
  double v = stickySum(wide(a) * wide(b), wide(c));
  T result;
  narrow(v <= 0 ? 0.0 : v, result);
  return result;
}
/// The same of both parts of a pair.
template <class P, class F> P both(P a, P b, P c, F f) {
  P result;
  result.x = f(decltype(a.x)(a.x), decltype(a.x)(b.x), decltype(a.x)(c.x));
  result.y = f(decltype(a.y)(a.y), decltype(a.y)(b.y), decltype(a.y)(c.y));
  return result;
}
template <class P> P hfma2(P a, P b, P c) {
  return both(a, b, c, [](auto x, auto y, auto z) { return hfma(x, y, z); });
}
template <class P> P hfma2_sat(P a, P b, P c) {
  return both(a, b, c, [](auto x, auto y, auto z) { return hfma_sat(x, y, z); });
}
template <class P> P hfma2_relu(P a, P b, P c) {
  return both(a, b, c, [](auto x, auto y, auto z) { return hfma_relu(x, y, z); });
}
/// Complex a * b + c, as the header composes it of two fused steps a part.
template <class P> P hcmadd(P a, P b, P c) {
  P result;
  result.x = hfma(__hneg(a.y), b.y, hfma(a.x, b.x, c.x));
  result.y = hfma(a.y, b.x, hfma(a.x, b.y, c.y));
  return result;
}

template <class T, class F> T whole(T a, F f) {
  T result;
  narrow(f(wide(a)), result);
  return result;
}
template <class T> T htrunc(T a) {
  return whole(a, [](double v) { return std::trunc(v); });
}
template <class T> T hceil(T a) {
  return whole(a, [](double v) { return std::ceil(v); });
}
template <class T> T hfloor(T a) {
  return whole(a, [](double v) { return std::floor(v); });
}
template <class T> T hrint(T a) {
  return whole(a, [](double v) { return std::nearbyint(v); });
}
/// The header's host form takes the first of two zeros; PTX orders them.
inline __nv_bfloat16 hmax_nan(__nv_bfloat16 a, __nv_bfloat16 b) {
  return wide(a) == 0 && wide(b) == 0 && std::signbit(wide(a)) ? b : __hmax_nan(a, b);
}
inline int clampedInt(double v) {
  return std::isnan(v) ? 0 : v >= 0x1p31 ? 0x7fffffff : v <= -0x1p31 ? -0x7fffffff - 1 : static_cast<int>(v);
}
inline int half2int_rn(__half a) { return clampedInt(std::nearbyint(wide(a))); }
inline int half2int_ru(__half a) { return clampedInt(std::ceil(wide(a))); }
inline int half2int_rd(__half a) { return clampedInt(std::floor(wide(a))); }

} // namespace tessera::sim::test::host
