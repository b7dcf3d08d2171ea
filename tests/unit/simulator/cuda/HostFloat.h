// CUDA's floating-point intrinsics for the host, by the rounding mode of the machine and by exact arithmetic.
#pragma once

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tessera::sim::test::host {

/// f(arguments...) under a rounding mode; nothing is folded, and nothing moves out of it.
template <class F, class... T> auto rounded(int mode, F f, T... arguments) {
  std::fesetround(mode);
  (([](auto &value) { asm volatile("" : "+m"(value)); })(arguments), ...);
  auto result = f(arguments...);
  asm volatile("" : "+m"(result));
  std::fesetround(FE_TONEAREST);
  return result;
}

#define DIRECTED(name, T, parameters, value, ...)                                                                      \
  inline T name##_rn parameters { return rounded(FE_TONEAREST, value, __VA_ARGS__); }                                  \
  inline T name##_rz parameters { return rounded(FE_TOWARDZERO, value, __VA_ARGS__); }                                 \
  inline T name##_ru parameters { return rounded(FE_UPWARD, value, __VA_ARGS__); }                                     \
  inline T name##_rd parameters { return rounded(FE_DOWNWARD, value, __VA_ARGS__); }
#define DIRECTED1(name, R, T, value) DIRECTED(name, R, (T a), ([](T a) -> R { return value; }), a)
#define DIRECTED2(name, T, value) DIRECTED(name, T, (T a, T b), ([](T a, T b) -> T { return value; }), a, b)
#define DIRECTED3(name, T, value)                                                                                      \
  DIRECTED(name, T, (T a, T b, T c), ([](T a, T b, T c) -> T { return value; }), a, b, c)
DIRECTED2(__fadd, float, a + b)
DIRECTED2(__fsub, float, a - b)
DIRECTED2(__fmul, float, a *b)
DIRECTED2(__fdiv, float, a / b)
DIRECTED3(__fmaf, float, std::fmaf(a, b, c))
DIRECTED1(__frcp, float, float, 1.0f / a)
DIRECTED1(__fsqrt, float, float, std::sqrt(a))
DIRECTED2(__dadd, double, a + b)
DIRECTED2(__dsub, double, a - b)
DIRECTED2(__dmul, double, a *b)
DIRECTED2(__ddiv, double, a / b)
DIRECTED3(__fma, double, std::fma(a, b, c))
DIRECTED1(__drcp, double, double, 1.0 / a)
DIRECTED1(__dsqrt, double, double, std::sqrt(a))
DIRECTED1(__double2float, float, double, static_cast<float>(a))
DIRECTED1(__int2float, float, int, static_cast<float>(a))
DIRECTED1(__uint2float, float, uint32_t, static_cast<float>(a))
DIRECTED1(__ll2float, float, long long, static_cast<float>(a))
DIRECTED1(__ll2double, double, long long, static_cast<double>(a))
#undef DIRECTED
#undef DIRECTED1
#undef DIRECTED2
#undef DIRECTED3

/// An unsigned 64-bit number to T. The machine converts signed ones only, so the last bit is kept sticky.
template <class T> T fromUnsigned(int mode, uint64_t a) {
  if (a >> 63 == 0)
    return rounded(mode, [](long long v) { return static_cast<T>(v); }, static_cast<long long>(a));
  return 2 * rounded(mode, [](long long v) { return static_cast<T>(v); }, static_cast<long long>(a >> 1 | (a & 1)));
}
inline float __ull2float_rn(uint64_t a) { return fromUnsigned<float>(FE_TONEAREST, a); }
inline float __ull2float_rz(uint64_t a) { return fromUnsigned<float>(FE_TOWARDZERO, a); }
inline float __ull2float_ru(uint64_t a) { return fromUnsigned<float>(FE_UPWARD, a); }
inline float __ull2float_rd(uint64_t a) { return fromUnsigned<float>(FE_DOWNWARD, a); }
inline double __ull2double_rn(uint64_t a) { return fromUnsigned<double>(FE_TONEAREST, a); }
inline double __ull2double_rz(uint64_t a) { return fromUnsigned<double>(FE_TOWARDZERO, a); }
inline double __ull2double_ru(uint64_t a) { return fromUnsigned<double>(FE_UPWARD, a); }
inline double __ull2double_rd(uint64_t a) { return fromUnsigned<double>(FE_DOWNWARD, a); }
inline double __int2double_rn(int a) { return a; }
inline double __uint2double_rn(uint32_t a) { return a; }

/// A float to an integer: rounded, then clamped; NaN as PTX states it for cvt: zero, unless a side has 64 bits.
template <class T, class S> T toInteger(S whole) {
  if (std::isnan(whole))
    return sizeof(S) == 8 || sizeof(T) == 8 ? static_cast<T>(uint64_t(1) << (8 * sizeof(T) - 1)) : 0;
  if (whole >= std::ldexp(S(1), std::numeric_limits<T>::digits))
    return std::numeric_limits<T>::max();
  if (whole <= static_cast<S>(std::numeric_limits<T>::min()))
    return std::numeric_limits<T>::min();
  return static_cast<T>(whole);
}
#define TO_INTEGER(name, S, T)                                                                                         \
  inline T name##_rn(S a) { return toInteger<T>(std::nearbyint(a)); }                                                  \
  inline T name##_rz(S a) { return toInteger<T>(std::trunc(a)); }                                                      \
  inline T name##_ru(S a) { return toInteger<T>(std::ceil(a)); }                                                       \
  inline T name##_rd(S a) { return toInteger<T>(std::floor(a)); }
TO_INTEGER(__float2int, float, int32_t)
TO_INTEGER(__float2uint, float, uint32_t)
TO_INTEGER(__float2ll, float, int64_t)
TO_INTEGER(__float2ull, float, uint64_t)
TO_INTEGER(__double2int, double, int32_t)
TO_INTEGER(__double2uint, double, uint32_t)
TO_INTEGER(__double2ll, double, int64_t)
TO_INTEGER(__double2ull, double, uint64_t)
#undef TO_INTEGER

inline uint32_t __float_as_uint(float a) { return std::bit_cast<uint32_t>(a); }
inline float __uint_as_float(uint32_t a) { return std::bit_cast<float>(a); }
inline int __double2hiint(double a) { return static_cast<int>(std::bit_cast<uint64_t>(a) >> 32); }
inline int __double2loint(double a) { return static_cast<int>(std::bit_cast<uint64_t>(a)); }
inline double __hiloint2double(int high, int low) {
  return std::bit_cast<double>(uint64_t(static_cast<uint32_t>(high)) << 32 | static_cast<uint32_t>(low));
}
/// NaN becomes zero.
inline float __saturatef(float a) { return a >= 1 ? 1.0f : a > 0 ? a : 0.0f; }

} // namespace tessera::sim::test::host
