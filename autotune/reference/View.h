// View: a strided (batch, sequence, head, dim) tensor in host memory, as the reference and the comparison read it.
#pragma once

#include "autotune/reference/Numbers.h"
#include "runtime/spec/DType.h"
#include "runtime/spec/Result.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tessera::reference {

/// Non-owning. Strides are in elements, never negative; 0 repeats an element. The caller keeps the memory alive.
struct View {
  const void *data = nullptr;
  DType type = DType::F32;
  std::array<int64_t, 4> shape{};   ///< batch, sequence, head, dim
  std::array<int64_t, 4> strides{}; ///< in elements

  int64_t batch() const { return shape[0]; }
  int64_t length() const { return shape[1]; }
  int64_t heads() const { return shape[2]; }
  int64_t dim() const { return shape[3]; }

  const std::byte *at(int64_t b, int64_t s, int64_t h, int64_t c) const {
    const int64_t offset = b * strides[0] + s * strides[1] + h * strides[2] + c * strides[3];
    return static_cast<const std::byte *>(data) + offset * int64_t(byteSize(type));
  }
  float load(int64_t b, int64_t s, int64_t h, int64_t c) const { return loadElement(at(b, s, h, c), type); }

  /// The view of a dense tensor with dim fastest, then head, sequence, batch.
  static View dense(const void *data, DType type, std::array<int64_t, 4> shape);
};

/// The sizes of one attention, read off its tensors.
struct Sizes {
  int64_t batch, queryLength, keyLength, queryHeads, keyHeads, headDim, valueDim;
};

/// The sizes of q, k and v, or InvalidArgument with the two values that contradict each other.
Result<Sizes> sizesOf(const View &q, const View &k, const View &v);

/// Product of four extents, or nothing where one is negative or the product leaves 62 bits.
std::optional<int64_t> elementCount(const std::array<int64_t, 4> &shape);

} // namespace tessera::reference
