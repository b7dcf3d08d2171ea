// CUDA's integer intrinsics for the host, written from their documentation, as the oracle of Integer.inc.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>

namespace tessera::sim::test::host {

inline int __popc(uint32_t a) { return std::popcount(a); }
inline int __popcll(uint64_t a) { return std::popcount(a); }
inline int __clz(int a) { return std::countl_zero(static_cast<uint32_t>(a)); }
inline int __clzll(long long a) { return std::countl_zero(static_cast<uint64_t>(a)); }
inline int __ffs(int a) { return a ? std::countr_zero(static_cast<uint32_t>(a)) + 1 : 0; }
inline int __ffsll(long long a) { return a ? std::countr_zero(static_cast<uint64_t>(a)) + 1 : 0; }
inline uint64_t __brevll(uint64_t a) {
  uint64_t r = 0;
  for (int i = 0; i < 64; ++i)
    r |= (a >> i & 1) << (63 - i);
  return r;
}
inline uint32_t __brev(uint32_t a) { return static_cast<uint32_t>(__brevll(a) >> 32); }
inline uint32_t __byte_perm(uint32_t a, uint32_t b, uint32_t selector) {
  uint64_t bytes = uint64_t(b) << 32 | a;
  uint32_t r = 0;
  for (unsigned i = 0; i < 4; ++i) // bit 3 of a selector is ignored by the intrinsic
    r |= static_cast<uint32_t>(bytes >> (8 * (selector >> (4 * i) & 7)) & 0xff) << (8 * i);
  return r;
}
inline uint32_t __funnelshift_lc(uint32_t low, uint32_t high, uint32_t shift) {
  return static_cast<uint32_t>((uint64_t(high) << 32 | low) << std::min(shift, 32u) >> 32);
}
inline uint32_t __funnelshift_rc(uint32_t low, uint32_t high, uint32_t shift) {
  return static_cast<uint32_t>((uint64_t(high) << 32 | low) >> std::min(shift, 32u));
}
inline uint32_t __funnelshift_l(uint32_t low, uint32_t high, uint32_t shift) {
  return __funnelshift_lc(low, high, shift & 31);
}
inline uint32_t __funnelshift_r(uint32_t low, uint32_t high, uint32_t shift) {
  return __funnelshift_rc(low, high, shift & 31);
}
/// Position of the offset-th set bit from `base`, counted up or down; all ones when there is none.
inline uint32_t __fns(uint32_t mask, uint32_t base, int offset) {
  if (offset == 0)
    return mask >> base & 1 ? base : ~0u;
  int step = offset < 0 ? -1 : 1, left = std::abs(offset);
  for (int position = static_cast<int>(base); position >= 0 && position < 32; position += step)
    if ((mask >> position & 1) && --left == 0)
      return static_cast<uint32_t>(position);
  return ~0u;
}

inline int __mulhi(int a, int b) { return static_cast<int>(int64_t(a) * b >> 32); }
inline uint32_t __umulhi(uint32_t a, uint32_t b) { return static_cast<uint32_t>(uint64_t(a) * b >> 32); }
inline long long __mul64hi(long long a, long long b) {
  return static_cast<long long>(static_cast<__int128>(a) * b >> 64);
}
inline uint64_t __umul64hi(uint64_t a, uint64_t b) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b >> 64);
}
inline int __mul24(int a, int b) {
  return static_cast<int>(int64_t(static_cast<int32_t>(uint32_t(a) << 8) >> 8) *
                          (static_cast<int32_t>(uint32_t(b) << 8) >> 8));
}
inline uint32_t __umul24(uint32_t a, uint32_t b) {
  return static_cast<uint32_t>(uint64_t(a & 0xffffff) * (b & 0xffffff));
}
inline uint32_t __sad(int a, int b, uint32_t c) { return static_cast<uint32_t>(std::llabs(int64_t(a) - b)) + c; }
inline uint32_t __usad(uint32_t a, uint32_t b, uint32_t c) { return (a > b ? a - b : b - a) + c; }
inline int __hadd(int a, int b) { return static_cast<int>((int64_t(a) + b) >> 1); }
inline int __rhadd(int a, int b) { return static_cast<int>((int64_t(a) + b + 1) >> 1); }
inline uint32_t __uhadd(uint32_t a, uint32_t b) { return static_cast<uint32_t>((uint64_t(a) + b) >> 1); }
inline uint32_t __urhadd(uint32_t a, uint32_t b) { return static_cast<uint32_t>((uint64_t(a) + b + 1) >> 1); }

/// Part `i` of a word in parts of the width of T.
template <class T> int64_t part(uint32_t a, unsigned i) { return static_cast<T>(a >> (8 * sizeof(T) * i)); }
/// A word whose parts are f(i).
template <class T, class F> uint32_t parts(F f) {
  uint32_t r = 0;
  for (unsigned i = 0; i < 4 / sizeof(T); ++i)
    r |= (static_cast<uint32_t>(f(i)) & (sizeof(T) == 1 ? 0xffu : 0xffffu)) << (8 * sizeof(T) * i);
  return r;
}
template <class T> int64_t saturate(int64_t x) {
  return std::clamp<int64_t>(x, std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
}

template <class T, class U> uint32_t dot(uint32_t a, uint32_t b, uint32_t c, unsigned first) {
  for (unsigned i = 0; i < 4 / sizeof(T); ++i)
    c += static_cast<uint32_t>(part<T>(a, i) * part<U>(b, first + i));
  return c;
}
inline int __dp4a(int a, int b, int c) { return static_cast<int>(dot<int8_t, int8_t>(a, b, c, 0)); }
inline uint32_t __dp4a(uint32_t a, uint32_t b, uint32_t c) { return dot<uint8_t, uint8_t>(a, b, c, 0); }
inline int __dp2a_lo(int a, int b, int c) { return static_cast<int>(dot<int16_t, int8_t>(a, b, c, 0)); }
inline int __dp2a_hi(int a, int b, int c) { return static_cast<int>(dot<int16_t, int8_t>(a, b, c, 2)); }
inline uint32_t __dp2a_lo(uint32_t a, uint32_t b, uint32_t c) { return dot<uint16_t, uint8_t>(a, b, c, 0); }
inline uint32_t __dp2a_hi(uint32_t a, uint32_t b, uint32_t c) { return dot<uint16_t, uint8_t>(a, b, c, 2); }

/// Defines a function of two words by what it does to parts x and y of type T.
#define PARTS(name, T, value)                                                                                          \
  inline uint32_t name(uint32_t a, uint32_t b) {                                                                       \
    return parts<T>([&](unsigned i) {                                                                                  \
      int64_t x = part<T>(a, i), y = part<T>(b, i);                                                                    \
      return value;                                                                                                    \
    });                                                                                                                \
  }
PARTS(__vadd4, uint8_t, x + y)
PARTS(__vsub2, uint16_t, x - y)
PARTS(__vaddss4, int8_t, saturate<int8_t>(x + y))
PARTS(__vaddus2, uint16_t, saturate<uint16_t>(x + y))
PARTS(__vsubus4, uint8_t, saturate<uint8_t>(x - y))
PARTS(__vsubss2, int16_t, saturate<int16_t>(x - y))
PARTS(__vabsdiffs2, int16_t, x > y ? x - y : y - x)
PARTS(__vavgu4, uint8_t, (x + y + 1) >> 1)
PARTS(__vavgs2, int16_t, (x + y + (x + y >= 0)) >> 1) // half-way cases away from zero
PARTS(__vhaddu4, uint8_t, (x + y) >> 1)
PARTS(__vmaxs4, int8_t, std::max(x, y))
PARTS(__vminu2, uint16_t, std::min(x, y))
PARTS(__vcmpgtu4, uint8_t, x > y ? -1 : 0)
PARTS(__vcmples2, int16_t, x <= y ? -1 : 0)
PARTS(__vseteq4, uint8_t, x == y)
PARTS(__vsetltu2, uint16_t, x < y)
#undef PARTS
inline uint32_t __vabsss2(uint32_t a) {
  return parts<int16_t>([&](unsigned i) { return saturate<int16_t>(std::abs(part<int16_t>(a, i))); });
}
inline uint32_t __vneg2(uint32_t a) {
  return parts<int16_t>([&](unsigned i) { return -part<int16_t>(a, i); });
}
inline uint32_t __vsads2(uint32_t a, uint32_t b) {
  return static_cast<uint32_t>(std::abs(part<int16_t>(a, 0) - part<int16_t>(b, 0)) +
                               std::abs(part<int16_t>(a, 1) - part<int16_t>(b, 1)));
}
inline int __viaddmax_s32(int a, int b, int c) { return std::max(a + b, c); }
inline int __viaddmin_s32_relu(int a, int b, int c) { return std::max(std::min(a + b, c), 0); }
inline int __vimax3_s32(int a, int b, int c) { return std::max({a, b, c}); }
inline int __vimin3_s32_relu(int a, int b, int c) { return std::max(std::min({a, b, c}), 0); }
inline uint32_t __vimax3_s16x2(uint32_t a, uint32_t b, uint32_t c) {
  return parts<int16_t>(
      [&](unsigned i) { return std::max({part<int16_t>(a, i), part<int16_t>(b, i), part<int16_t>(c, i)}); });
}
inline uint32_t __viaddmax_u16x2(uint32_t a, uint32_t b, uint32_t c) {
  return parts<uint16_t>([&](unsigned i) {
    return std::max<int64_t>(static_cast<uint16_t>(part<uint16_t>(a, i) + part<uint16_t>(b, i)), part<uint16_t>(c, i));
  });
}

} // namespace tessera::sim::test::host
