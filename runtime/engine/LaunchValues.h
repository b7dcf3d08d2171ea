// From views to the values of a launch: every check, every parameter and the grid, without an allocation.
#pragma once

#include "runtime/engine/TensorView.h"
#include "runtime/image/KernelImage.h"

namespace tessera {

/// The tensors of one launch; nothing is owned.
struct LaunchArguments {
  TensorView q; ///< (batch, seqlen_q, heads, d_qk)
  TensorView k; ///< (batch, seqlen_kv, kv_heads, d_qk)
  TensorView v; ///< (batch, seqlen_kv, kv_heads, d_v)
  TensorView o; ///< (batch, seqlen_q, heads, d_v)
  RowView lse;  ///< (batch, heads, seqlen_q) where the spec's outputs hold it; left empty otherwise
  /// Device address of a u32 to which an anchored kernel adds the query tiles that it had to do again; null: not
  /// counted.
  uint32_t *rescues = nullptr;
};

namespace detail {

struct LaunchValues {
  uint64_t values[argumentCount]; ///< by Argument; a 32-bit value stands in the low half
  unsigned tiles = 0;             ///< query tiles of all heads; 0: the problem is empty and nothing is to be launched
};

/// InvalidArgument with the tensor, the value and the remedy for anything that the kernel could not run as it is.
Status fillLaunchValues(const KernelImage &image, const LaunchArguments &arguments, LaunchValues &launch);

} // namespace detail
} // namespace tessera
