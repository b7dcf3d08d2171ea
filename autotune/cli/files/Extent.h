// The size of a tensor in bytes, from numbers that a file claims.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace tessera::files {

/// product(shape) * width, or nothing where it (or the product of the extents that are not 0) leaves 62 bits.
inline std::optional<uint64_t> byteExtent(std::span<const uint64_t> shape, uint64_t width) {
  uint64_t bytes = width;
  bool empty = false;
  for (uint64_t extent : shape) {
    if (extent == 0)
      empty = true;
    else if (__builtin_mul_overflow(bytes, extent, &bytes) || bytes >> 62 != 0)
      return std::nullopt;
  }
  return empty ? 0 : bytes;
}

} // namespace tessera::files
