// Strides, offsets and poison of each layout.
#include "tests/kernels/Placement.h"

#include "autotune/reference/Random.h"

#include <fmt/format.h>

namespace tessera::kernels {
namespace {

constexpr size_t kMargin = 512; // bytes; keeps the alignment of the tensor within

/// Elements from the first to behind the last.
size_t spanOf(const Placed &placed) {
  size_t span = 1;
  for (int axis = 0; axis < 4; ++axis) {
    if (placed.shape[axis] == 0)
      return 0;
    span += size_t(placed.shape[axis] - 1) * size_t(placed.strides[axis]);
  }
  return span;
}

} // namespace

const char *name(Layout layout) {
  constexpr const char *names[] = {"bshd", "bhsd", "fused", "broadcast", "oddpitch", "padded"};
  return names[int(layout)];
}

reference::View Placement::view(Role role, const std::vector<Arena> &from) const {
  const Placed &placed = (*this)[role];
  return {from[placed.arena].bytes.data() + placed.first, placed.type, placed.shape, placed.strides};
}

reference::LseView Placement::lseView(const std::vector<Arena> &from) const {
  const Placed &placed = (*this)[Role::Lse];
  return {reinterpret_cast<const float *>(from[placed.arena].bytes.data() + placed.first),
          {placed.strides[0], placed.strides[1], placed.strides[2]}};
}

Placement place(Layout layout, const AttentionSpec &spec, const Problem &problem, bool margins, std::byte poison) {
  Placement placement;
  const auto [batch, heads, kvHeads, sq, sk] = problem;
  const size_t margin = margins ? kMargin : 0;
  const auto newArena = [&](size_t bytes) {
    placement.arenas.push_back({std::vector<std::byte>(margin + bytes + margin, poison)});
    return placement.arenas.size() - 1;
  };
  const auto put = [&](Role role, DType type, std::array<int64_t, 4> shape, Layout how) {
    Placed &placed = placement.tensors[int(role)];
    const auto [b, s, h, d] = shape;
    placed.type = type;
    placed.shape = shape;
    const int64_t pad = how == Layout::OddPitch ? 1 : how == Layout::PaddedPitch ? 4 : 0;
    if (how == Layout::Bhsd)
      placed.strides = {h * s * d, d, s * d, 1};
    else if (how == Layout::Broadcast)
      placed.strides = {0, d, 0, 1};
    else
      placed.strides = {s * (h * d + pad), h * d + pad, d, 1};
    placed.first = margin + size_t(pad) * byteSize(type);
    placed.arena = newArena((spanOf(placed) + size_t(pad)) * byteSize(type));
  };
  const std::array<int64_t, 4> shapes[] = {
      {batch, sq, heads, spec.headDim}, {batch, sk, kvHeads, spec.headDim}, {batch, sk, kvHeads, spec.valueDim}};
  if (layout == Layout::FusedQkv) {
    // One row holds the heads of q, then of k, then of v, as a fused projection leaves them.
    const int64_t parts[] = {heads * spec.headDim, kvHeads * spec.headDim, kvHeads * spec.valueDim};
    const int64_t row = parts[0] + parts[1] + parts[2], rows = std::max(sq, sk);
    const size_t arena = newArena(size_t(batch * rows * row) * byteSize(spec.dtype));
    int64_t offset = 0;
    for (int which = 0; which < 3; ++which) {
      placement.tensors[which] = {arena,
                                  margin + size_t(offset) * byteSize(spec.dtype),
                                  spec.dtype,
                                  shapes[which],
                                  {rows * row, row, shapes[which][3], 1}};
      offset += parts[which];
    }
  } else {
    for (int which = 0; which < 3; ++which)
      put(Role(which), spec.dtype, shapes[which], layout == Layout::Broadcast && which == 0 ? Layout::Bshd : layout);
  }
  const bool plainOutput = layout == Layout::Broadcast || layout == Layout::FusedQkv;
  put(Role::O, spec.outputType(), {batch, sq, heads, spec.valueDim}, plainOutput ? Layout::Bshd : layout);
  Placed &lse = placement.tensors[int(Role::Lse)];
  lse.type = DType::F32;
  lse.shape = {batch, heads, sq, 1};
  const int64_t pitch = layout == Layout::Bshd ? sq : sq + 3;
  lse.strides = {heads * pitch, pitch, 1, 1};
  lse.first = margin;
  lse.arena = newArena(contains(spec.outputs, Output::LSE) ? spanOf(lse) * sizeof(float) : 0);
  return placement;
}

void fill(Placement &placement, const Values &values) {
  for (Role role : {Role::Q, Role::K, Role::V}) {
    const Placed &placed = placement[role];
    const auto extent = [&](int axis) {
      return placed.strides[axis] == 0 ? std::min<int64_t>(1, placed.shape[axis]) : placed.shape[axis];
    };
    for (int64_t b = 0; b < extent(0); ++b)
      for (int64_t s = 0; s < extent(1); ++s)
        for (int64_t h = 0; h < extent(2); ++h)
          for (int64_t c = 0; c < extent(3); ++c)
            reference::storeElement(placement.arenas[placed.arena].bytes.data() + placed.at(b, s, h, c), placed.type,
                                    values(role, b, s, h, c));
  }
}

Values normal(uint64_t seed, float deviation) {
  return [=](Role role, int64_t b, int64_t s, int64_t h, int64_t c) {
    return deviation * reference::normalAt(seed, uint64_t(role), uint64_t(((b << 20 ^ s) << 10 ^ h) << 10 ^ c));
  };
}

std::string strayWrite(const Placement &placement, const std::vector<Arena> &before, const std::vector<Arena> &after) {
  std::vector<Arena> expected = before;
  for (Role role : {Role::O, Role::Lse}) {
    const Placed &placed = placement[role];
    if (role == Role::Lse && spanOf(placed) * sizeof(float) + placed.first > before[placed.arena].bytes.size())
      continue; // no LSE was asked for
    for (int64_t b = 0; b < placed.shape[0]; ++b)
      for (int64_t s = 0; s < placed.shape[1]; ++s)
        for (int64_t h = 0; h < placed.shape[2]; ++h)
          for (int64_t c = 0; c < placed.shape[3]; ++c) {
            const size_t at = placed.at(b, s, h, c);
            std::copy_n(after[placed.arena].bytes.data() + at, byteSize(placed.type),
                        expected[placed.arena].bytes.data() + at);
          }
  }
  for (size_t arena = 0; arena < before.size(); ++arena)
    for (size_t n = 0; n < before[arena].bytes.size(); ++n)
      if (after[arena].bytes[n] != expected[arena].bytes[n])
        return fmt::format("byte {} of allocation {} ({} bytes) was written and belongs to no output", n, arena,
                           before[arena].bytes.size());
  return {};
}

} // namespace tessera::kernels
