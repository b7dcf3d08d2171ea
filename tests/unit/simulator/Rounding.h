// Rounding by definition, for expected values: nothing here is shared with the simulator.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace tessera::sim::test {

/// "rn", "rz", "rm", "rp" or "rna" applied to a number of units.
inline long double roundUnits(long double x, std::string_view mode) {
  if (mode == "rz" || mode == "rzi")
    return truncl(x);
  if (mode == "rm" || mode == "rmi")
    return floorl(x);
  if (mode == "rp" || mode == "rpi")
    return ceill(x);
  long double below = floorl(x), rest = x - below;
  if (mode == "rna")
    return rest == 0.5L ? (x > 0 ? below + 1 : below) : rest > 0.5L ? below + 1 : below;
  bool odd = fmodl(below, 2) != 0;
  return rest > 0.5L || (rest == 0.5L && odd) ? below + 1 : below;
}

/// A floating-point format: significant bits with the hidden one, smallest normal exponent, largest finite value.
struct Grid {
  int precision, least;
  long double largest;
  bool infinite = true; ///< overflow may give infinity
};
inline const Grid gridHalf{11, -14, 65504.0L}, gridBfloat{8, -126, 0x1.fep127L}, gridSingle{24, -126, 0x1.fffffep127L},
    gridTf32{11, -126, 0x1.ffcp127L}, gridDouble{53, -1022, 0x1.fffffffffffffp1023L}, gridE4M3{4, -6, 448.0L, false},
    gridE5M2{3, -14, 57344.0L};

/// `x`, exact, to the grid. `finite`: overflow gives the largest number.
inline long double roundTo(const Grid &grid, long double x, std::string_view mode, bool finite = false) {
  if (x == 0 || x != x)
    return x;
  long double result = x;
  if (!std::isinf(x)) {
    int exponent = std::max(ilogbl(x), grid.least) - (grid.precision - 1);
    result = scalbnl(roundUnits(scalbnl(x, -exponent), mode), exponent);
    if (result == 0)
      result = copysignl(0, x);
  }
  if (fabsl(result) <= grid.largest)
    return result;
  bool away = std::isinf(x) || mode == "rn" || mode == "rna" || (mode == "rp" && x > 0) || (mode == "rm" && x < 0);
  return copysignl(finite || !away ? grid.largest : HUGE_VALL, x);
}

inline float widenHalf(uint16_t h) {
  int exponent = h >> 10 & 31, fraction = h & 0x3ff;
  float magnitude = exponent == 31 ? (fraction ? NAN : INFINITY)
                    : exponent     ? std::ldexp(float(fraction | 0x400), exponent - 25)
                                   : std::ldexp(float(fraction), -24);
  return h & 0x8000 ? -magnitude : magnitude;
}
inline float widenBfloat(uint16_t h) { return std::bit_cast<float>(uint32_t(h) << 16); }

/// Bits of a number that is on the grid; NaN gives 0x7fff.
inline uint16_t halfBits(long double x) {
  if (x != x)
    return 0x7fff;
  auto sign = static_cast<uint16_t>(std::signbit(x) ? 0x8000 : 0);
  x = fabsl(x);
  if (std::isinf(x))
    return sign | 0x7c00;
  if (x < 0x1p-14L)
    return static_cast<uint16_t>(sign | int(x * 0x1p24L));
  int e = ilogbl(x);
  return static_cast<uint16_t>(sign | (e + 15) << 10 | (int(scalbnl(x, 10 - e)) & 0x3ff));
}
inline uint16_t bfloatBits(long double x) {
  return x != x ? 0x7fff : static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(x)) >> 16);
}
inline uint32_t singleBits(long double x) {
  return x != x ? 0x7fffffff : std::bit_cast<uint32_t>(static_cast<float>(x));
}

} // namespace tessera::sim::test
