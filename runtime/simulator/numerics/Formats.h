// Bits of the small floating-point formats. All functions are static so that each instruction-set build has its own.
#pragma once

#include <bit>
#include <cstdint>

namespace tessera::sim::numerics {

static inline uint32_t bitsOf(float x) { return std::bit_cast<uint32_t>(x); }
static inline float floatOf(uint32_t x) { return std::bit_cast<float>(x); }
static inline uint64_t bitsOf(double x) { return std::bit_cast<uint64_t>(x); }
static inline double doubleOf(uint64_t x) { return std::bit_cast<double>(x); }

constexpr uint32_t canonicalNan32 = 0x7fffffff;
constexpr uint16_t canonicalNan16 = 0x7fff;

static inline bool isNan(float x) { return x != x; }
static inline float canonical(float x) { return x != x ? floatOf(canonicalNan32) : x; }
/// .ftz: subnormals become zeros of their sign.
static inline float flush(float x) {
  uint32_t b = bitsOf(x);
  return floatOf((b & 0x7f800000) ? b : b & 0x80000000);
}
/// .sat: to [0, 1]; NaN becomes +0.
static inline float saturate(float x) { return x >= 1.0f ? 1.0f : x > 0.0f ? x : 0.0f; }

/// Exact.
static inline float halfToFloat(uint16_t h) {
  uint32_t sign = uint32_t(h & 0x8000) << 16, rest = h & 0x7fff;
  uint32_t b = bitsOf(floatOf(rest << 13) * 0x1p112f);
  return floatOf(sign | (rest >= 0x7c00 ? b | 0x7f800000 : b));
}
/// To nearest even; NaN becomes 0x7fff.
static inline uint16_t floatToHalf(float x) {
  uint32_t b = bitsOf(x), sign = (b >> 16) & 0x8000, a = b & 0x7fffffff;
  uint32_t subnormal = bitsOf(floatOf(a) + 0.5f) - 0x3f000000;
  uint32_t normal = (a - 0x38000000 + 0xfff + ((a >> 13) & 1)) >> 13;
  uint32_t r = a < 0x38800000 ? subnormal : normal;
  r = a >= 0x47800000 ? 0x7c00 : r;
  return static_cast<uint16_t>(a > 0x7f800000 ? uint32_t(canonicalNan16) : r | sign);
}

/// Exact.
static inline float bfloatToFloat(uint16_t h) { return floatOf(uint32_t(h) << 16); }
/// To nearest even; NaN becomes 0x7fff.
static inline uint16_t floatToBfloat(float x) {
  uint32_t b = bitsOf(x);
  uint32_t r = (b + 0x7fff + ((b >> 16) & 1)) >> 16;
  return static_cast<uint16_t>((b & 0x7fffffff) > 0x7f800000 ? uint32_t(canonicalNan16) : r);
}

/// A binary format with `exponent` and `mantissa` bits, at most 16 bits in all.
struct Format {
  int exponent, mantissa;
  bool hasInfinity; ///< e4m3 has none, and its NaN is all ones
};
constexpr Format formatHalf{5, 10, true}, formatBfloat{8, 7, true}, formatE5M2{5, 2, true}, formatE4M3{4, 3, false};

enum class Direction : uint8_t { Nearest, Zero, Down, Up, NearestAway };

/// `x` plus a value of sign `residual` below its last bit, rounded to an integer number of units: the truncated `whole`
/// of |x| with `rest` describing what follows it (0 none, 1 below half, 2 half, 3 above).
static inline uint64_t roundUnits(uint64_t whole, int rest, bool negative, Direction direction) {
  switch (direction) {
  case Direction::Nearest:
    return whole + (rest == 3 || (rest == 2 && (whole & 1)));
  case Direction::NearestAway:
    return whole + (rest >= 2);
  case Direction::Zero:
    return whole;
  case Direction::Down:
    return whole + (rest && negative);
  case Direction::Up:
    return whole + (rest && !negative);
  }
  return whole;
}

/// x to the bits of `format` with one rounding; subnormals are kept, NaN becomes the canonical one of the format.
/// Overflow gives infinity or the largest number as the direction says, or, with `finite`, always the largest.
static inline uint16_t doubleToFormat(double x, Format format, Direction direction, bool finite) {
  uint64_t b = bitsOf(x);
  bool negative = b >> 63;
  int width = format.exponent + format.mantissa;
  auto sign = static_cast<uint16_t>(negative ? 1u << width : 0);
  uint16_t allOnes = static_cast<uint16_t>((1u << width) - 1);
  uint16_t infinity = static_cast<uint16_t>(((1u << format.exponent) - 1) << format.mantissa);
  uint16_t largest = format.hasInfinity ? infinity - 1 : allOnes - 1;
  if (x != x)
    return allOnes;
  int bias = (1 << (format.exponent - 1)) - 1;
  int exponent = static_cast<int>((b >> 52) & 0x7ff) - 1023;
  uint64_t significand = b & ((uint64_t(1) << 52) - 1);
  bool infinite = exponent == 1024;
  if (exponent > -1023)
    significand |= uint64_t(1) << 52;
  else
    exponent = -1022;
  uint64_t result = 0;
  if (!infinite) {
    int shift = 52 - format.mantissa;
    if (exponent < 1 - bias)
      shift += 1 - bias - exponent;
    int field = exponent < 1 - bias ? 0 : exponent + bias;
    if (significand) {
      uint64_t whole = shift > 63 ? 0 : significand >> shift;
      int rest = 1;
      if (shift <= 63) {
        uint64_t tail = significand & ((uint64_t(1) << shift) - 1), half = uint64_t(1) << (shift - 1);
        rest = tail == 0 ? 0 : tail < half ? 1 : tail == half ? 2 : 3;
      }
      whole = roundUnits(whole, rest, negative, direction);
      // whole has the hidden bit when field > 0; adding it to field - 1 carries into the exponent.
      result = field > 0 ? (uint64_t(field - 1) << format.mantissa) + whole : whole;
    }
  }
  if (infinite || result > largest) {
    bool toInfinity = infinite || direction == Direction::Nearest || direction == Direction::NearestAway ||
                      (direction == Direction::Up && !negative) || (direction == Direction::Down && negative);
    if (finite || !toInfinity)
      return sign | largest;
    return format.hasInfinity ? static_cast<uint16_t>(sign | infinity) : static_cast<uint16_t>(sign | allOnes);
  }
  return static_cast<uint16_t>(sign | result);
}

/// Exact.
static inline float formatToFloat(uint16_t bits, Format format) {
  int width = format.exponent + format.mantissa, bias = (1 << (format.exponent - 1)) - 1;
  uint32_t magnitude = bits & ((1u << width) - 1), field = magnitude >> format.mantissa,
           fraction = magnitude & ((1u << format.mantissa) - 1);
  bool negative = bits >> width & 1;
  uint32_t top = (1u << format.exponent) - 1;
  if (format.hasInfinity ? field == top && fraction : magnitude == (1u << width) - 1)
    return floatOf(canonicalNan32);
  double value;
  if (format.hasInfinity && field == top)
    return floatOf(negative ? 0xff800000 : 0x7f800000);
  if (field == 0)
    value = double(fraction) * doubleOf(uint64_t(1023 + 1 - bias - format.mantissa) << 52);
  else
    value = double(fraction | (1u << format.mantissa)) *
            doubleOf(uint64_t(1023 + int(field) - bias - format.mantissa) << 52);
  return static_cast<float>(negative ? -value : value);
}

/// f32 to tf32 (19 significant bits of the word); the low 13 bits become 0.
static inline uint32_t floatToTf32(float x, Direction direction) {
  uint32_t b = bitsOf(x);
  if ((b & 0x7fffffff) > 0x7f800000)
    return canonicalNan32;
  if ((b & 0x7fffffff) == 0x7f800000)
    return b;
  uint32_t tail = b & 0x1fff, whole = b >> 13;
  int rest = tail == 0 ? 0 : tail < 0x1000 ? 1 : tail == 0x1000 ? 2 : 3;
  return static_cast<uint32_t>(roundUnits(whole & 0x3ffff, rest, b >> 31, direction) << 13) | (b & 0x80000000);
}

} // namespace tessera::sim::numerics
