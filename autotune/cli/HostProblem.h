// HostProblem: q, k and v in host memory, read from files or generated, with everything needed to run and judge an
// attention.
#pragma once

#include "autotune/cli/ProblemFlags.h"
#include "runtime/engine/TensorView.h"

#include <array>
#include <cstdint>

namespace tessera::cli {

/// Where q, k and v come from.
struct InputFlags {
  std::string q, k, v; ///< files; all or none
  std::optional<uint64_t> seed;
  std::optional<Layout> layout;

  void addTo(CLI::App &app);
};

struct HostProblem {
  ResolvedProblem resolved;
  Layout layout = Layout::Bshd;             ///< of every tensor on the device
  std::array<files::HostTensor, 3> tensors; ///< q, k, v; (batch, sequence, head, dim)
  bool generated = false;
  uint64_t seed = 0;

  reference::View view(int which) const;
};

/// Reads or generates the tensors. The spec's accessBytes is what dense tensors in this layout allow.
Result<HostProblem> makeHostProblem(const ProblemFlags &flags, const InputFlags &inputs);

/// Strides in elements of a dense tensor of this (batch, sequence, head, dim) shape in that layout.
std::array<int64_t, 4> stridesOf(Layout layout, const std::array<int64_t, 4> &shape);

/// Bytes in (batch, sequence, head, dim) order to `layout` order, or back; the same bytes for Bshd.
std::vector<std::byte> toLayout(Layout layout, const std::vector<std::byte> &bshd, const std::array<int64_t, 4> &shape,
                                size_t width);
std::vector<std::byte> fromLayout(Layout layout, const std::vector<std::byte> &stored,
                                  const std::array<int64_t, 4> &shape, size_t width);

} // namespace tessera::cli
