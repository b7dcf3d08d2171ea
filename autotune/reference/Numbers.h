// Exact conversions between f32 and the short floating-point formats, from their bit layouts.
#pragma once

#include "runtime/spec/DType.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace tessera::reference {

/// f16 bits to f32; exact for every value, NaN stays NaN with its payload.
inline float halfToFloat(uint16_t half) {
  const uint32_t sign = uint32_t(half & 0x8000u) << 16;
  const uint32_t rest = half & 0x7fffu;
  if (rest >= 0x7c00u) // Inf and NaN
    return std::bit_cast<float>(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
  // Seen as f32 bits, the shifted exponent is 112 too small; the multiplication by 2^112 mends it, subnormals included.
  const float magnitude = std::bit_cast<float>(rest << 13) * 0x1p112f;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
}

/// f32 to f16 bits, to nearest, ties to even; overflow gives Inf, NaN gives a quiet NaN.
inline uint16_t floatToHalf(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = uint16_t(bits >> 16 & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u)
    return uint16_t(sign | 0x7e00u | (magnitude >> 13 & 0x1ffu));
  if (magnitude >= 0x477ff000u) // 65520 and above round to Inf
    return uint16_t(sign | 0x7c00u);
  if (magnitude < 0x38800000u) {
    // Below 2^-14 the unit is 2^-24 for all: adding 0.5, whose unit in f32 is 2^-24 too, makes the f32 addition round
    // for us.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return uint16_t(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
  }
  const uint32_t odd = magnitude >> 13 & 1u;
  return uint16_t(sign | (magnitude - 0x38000000u + 0xfffu + odd) >> 13);
}

/// bf16 bits to f32; exact.
inline float bfloatToFloat(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

/// f32 to bf16 bits, to nearest, ties to even; overflow gives Inf, NaN gives a quiet NaN.
inline uint16_t floatToBfloat(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return uint16_t(bits >> 16 | 0x40u);
  return uint16_t((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

/// f32 rounded to the 10 mantissa bits of tf32, to nearest, ties away from zero, as cvt.rna.tf32.f32 does.
inline float roundToTf32(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7f800000u) == 0x7f800000u)
    return value;
  return std::bit_cast<float>((bits + 0x1000u) & ~0x1fffu);
}

/// The value of one element in memory. `data` needs no alignment.
inline float loadElement(const void *data, DType type) {
  if (type == DType::F32) {
    float value;
    std::memcpy(&value, data, 4);
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, data, 2);
  return type == DType::F16 ? halfToFloat(bits) : bfloatToFloat(bits);
}

/// Writes `value` as one element, rounded to nearest even. `data` needs no alignment.
inline void storeElement(void *data, DType type, float value) {
  if (type == DType::F32) {
    std::memcpy(data, &value, 4);
    return;
  }
  const uint16_t bits = type == DType::F16 ? floatToHalf(value) : floatToBfloat(value);
  std::memcpy(data, &bits, 2);
}

/// `value` rounded to `type`, as f32.
inline float roundTo(DType type, float value) {
  switch (type) {
  case DType::F16:
    return halfToFloat(floatToHalf(value));
  case DType::BF16:
    return bfloatToFloat(floatToBfloat(value));
  case DType::F32:
    break;
  }
  return value;
}

} // namespace tessera::reference
