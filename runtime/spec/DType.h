// The element types of query, key, value and output tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tessera {

enum class DType : uint8_t { F16, BF16, F32 };

/// Size of one element in bytes.
constexpr unsigned byteSize(DType type) { return type == DType::F32 ? 4 : 2; }

/// The name in canonical texts, flags and IR: f16, bf16, f32.
constexpr std::string_view name(DType type) {
  return type == DType::F16 ? "f16" : type == DType::BF16 ? "bf16" : "f32";
}

/// The inverse of name(); nothing for any other text.
constexpr std::optional<DType> parseDType(std::string_view text) {
  if (text == "f16")
    return DType::F16;
  if (text == "bf16")
    return DType::BF16;
  if (text == "f32")
    return DType::F32;
  return std::nullopt;
}

} // namespace tessera
