// The fundamental types of PTX with their widths.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tessera::sim::ptx {

enum class Type : uint8_t {
  None,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  B8,
  B16,
  B32,
  B64,
  B128,
  F16,
  F16x2,
  BF16,
  BF16x2,
  TF32,
  F32,
  F64,
  E4M3,
  E5M2,
  E4M3x2,
  E5M2x2,
  U16x2,
  S16x2,
  Pred,
};

/// ".f32" and the like, with the dot; nullopt for any other text.
std::optional<Type> parseType(std::string_view text);
/// ".f32"; "" for None.
std::string_view toString(Type type);
/// Bytes in memory and in a register; Pred and None are 0.
unsigned sizeOf(Type type);

inline bool isSigned(Type t) { return t >= Type::S8 && t <= Type::S64; }
inline bool isUnsigned(Type t) { return t >= Type::U8 && t <= Type::U64; }
inline bool isInteger(Type t) { return t >= Type::U8 && t <= Type::S64; }
inline bool isBits(Type t) { return t >= Type::B8 && t <= Type::B128; }
inline bool isFloat(Type t) { return t >= Type::F16 && t <= Type::F64; }

} // namespace tessera::sim::ptx
