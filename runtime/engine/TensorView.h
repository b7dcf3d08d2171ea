// Views of tensors that somebody else owns: address, element type, extents and strides.
#pragma once

#include "runtime/spec/DType.h"
#include "runtime/spec/Problem.h"

#include <array>
#include <cstdint>

namespace tessera {

/// A tensor (batch, sequence, head, dim) in device memory; nothing is owned. The last dimension is contiguous. Strides
/// are in elements, never negative; 0 repeats an input along a dimension. The stride of a dimension of extent 1 has no
/// meaning.
struct TensorView {
  void *data = nullptr; ///< device address; may be null where an extent is 0
  DType dtype = DType::BF16;
  std::array<int64_t, 4> shape = {};
  std::array<int64_t, 4> strides = {};

  /// A dense tensor in the order of its dimensions (BSHD).
  static TensorView contiguous(void *data, DType dtype, int64_t batch, int64_t sequence, int64_t heads, int64_t dim);
  /// A dense tensor stored as (batch, head, sequence, dim).
  static TensorView headMajor(void *data, DType dtype, int64_t batch, int64_t sequence, int64_t heads, int64_t dim);
};

/// One f32 for each (batch, head, sequence) in device memory, such as the LSE; nothing is owned. Strides in elements.
struct RowView {
  float *data = nullptr;
  std::array<int64_t, 3> shape = {};
  std::array<int64_t, 3> strides = {};

  static RowView contiguous(float *data, int64_t batch, int64_t heads, int64_t sequence);
};

/// The widest access (16, 8, 4 or 2 bytes) that all addresses and strides allow: what AttentionSpec::accessBytes may be
/// at most. Smaller than an element where a tensor is not even aligned to its elements.
unsigned accessBytesFor(const TensorView &q, const TensorView &k, const TensorView &v, const TensorView &o);

/// The extents that q and k have.
Problem problemOf(const TensorView &q, const TensorView &k);

} // namespace tessera
