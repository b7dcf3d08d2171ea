// Strides of dense layouts, and what alignment a set of views has in common.
#include "runtime/engine/TensorView.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>

namespace tessera {
namespace {

/// Adds to `bits` every bit that an address of the view can have set.
void collectBits(const TensorView &view, uint64_t &bits) {
  if (std::ranges::any_of(view.shape, [](int64_t extent) { return extent == 0; }))
    return;
  bits |= uint64_t(reinterpret_cast<uintptr_t>(view.data));
  for (unsigned dim = 0; dim < 3; ++dim)
    if (view.shape[dim] > 1)
      bits |= uint64_t(view.strides[dim]) * byteSize(view.dtype);
}

} // namespace

TensorView TensorView::contiguous(void *data, DType dtype, int64_t batch, int64_t sequence, int64_t heads,
                                  int64_t dim) {
  return {data, dtype, {batch, sequence, heads, dim}, {sequence * heads * dim, heads * dim, dim, 1}};
}

TensorView TensorView::headMajor(void *data, DType dtype, int64_t batch, int64_t sequence, int64_t heads, int64_t dim) {
  return {data, dtype, {batch, sequence, heads, dim}, {heads * sequence * dim, dim, sequence * dim, 1}};
}

RowView RowView::contiguous(float *data, int64_t batch, int64_t heads, int64_t sequence) {
  return {data, {batch, heads, sequence}, {heads * sequence, sequence, 1}};
}

unsigned accessBytesFor(const TensorView &q, const TensorView &k, const TensorView &v, const TensorView &o) {
  uint64_t bits = 16;
  for (const TensorView *view : {&q, &k, &v, &o})
    collectBits(*view, bits);
  return 1u << std::countr_zero(bits);
}

Problem problemOf(const TensorView &q, const TensorView &k) {
  return {q.shape[0], q.shape[2], k.shape[2], q.shape[1], k.shape[1]};
}

} // namespace tessera
