// 2^x of a float through double: the Taylor series of e^(f·ln 2) on |f| <= 1/2, then one rounding.
#pragma once

#include "runtime/simulator/lanes/Lanes.h"

namespace tessera::sim::lanes::TESSERA_SIM_ISA {
namespace {

/// (ln 2)^k / k!
constexpr double exponentialTerm(int k) {
  constexpr double ln2 = 0.693147180559945309417232121458176568;
  double term = 1;
  for (int i = 1; i <= k; ++i)
    term = term * ln2 / i;
  return term;
}

/// 2^x with a relative error below 2^-50, the same on every instruction set.
inline double exponential2Wide(float x) {
  double v = x;
  v = v > 200.0 ? 200.0 : v < -200.0 ? -200.0 : v; // NaN passes
  double shifted = v + 0x1.8p52, n = shifted - 0x1.8p52, f = v - n;
  double p = exponentialTerm(13);
  p = __builtin_fma(p, f, exponentialTerm(12));
  p = __builtin_fma(p, f, exponentialTerm(11));
  p = __builtin_fma(p, f, exponentialTerm(10));
  p = __builtin_fma(p, f, exponentialTerm(9));
  p = __builtin_fma(p, f, exponentialTerm(8));
  p = __builtin_fma(p, f, exponentialTerm(7));
  p = __builtin_fma(p, f, exponentialTerm(6));
  p = __builtin_fma(p, f, exponentialTerm(5));
  p = __builtin_fma(p, f, exponentialTerm(4));
  p = __builtin_fma(p, f, exponentialTerm(3));
  p = __builtin_fma(p, f, exponentialTerm(2));
  p = __builtin_fma(p, f, exponentialTerm(1));
  p = __builtin_fma(p, f, 1.0);
  double r = doubleOf(bitsOf(p) + (bitsOf(shifted) << 52)); // times 2^n
  return x != x ? static_cast<double>(x) : r;
}

/// Rounded once: the correctly rounded result but where the exact one lies within 2^-50 of a tie.
inline float exponential2(float x) { return static_cast<float>(exponential2Wide(x)); }

} // namespace
} // namespace tessera::sim::lanes::TESSERA_SIM_ISA
