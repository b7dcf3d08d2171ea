// Placement: where the elements of q, k, v, o and lse lie in device memory, with poison in every byte that is none of
// them.
#pragma once

#include "autotune/reference/Compare.h"
#include "runtime/engine/LaunchValues.h"

#include <functional>
#include <string>
#include <vector>

namespace tessera::kernels {

enum class Role { Q, K, V, O, Lse };

/// The ways that applications lay tensors out.
enum class Layout {
  Bshd,        ///< dense (batch, sequence, head, dim)
  Bhsd,        ///< dense (batch, head, sequence, dim)
  FusedQkv,    ///< q, k and v are slices of the rows of one buffer
  Broadcast,   ///< k and v have stride 0 along batch and heads
  OddPitch,    ///< rows one element longer than needed, base one element off: only single-element access
  PaddedPitch, ///< rows four elements longer than needed
};
const char *name(Layout layout);

/// One allocation as the host sees it.
struct Arena {
  std::vector<std::byte> bytes;
};

struct Placed {
  size_t arena = 0, first = 0; ///< arena, and byte offset of element (0, 0, 0, 0) in it
  DType type = DType::F32;
  std::array<int64_t, 4> shape{}, strides{}; ///< lse: (batch, head, sequence, 1)

  size_t at(int64_t b, int64_t s, int64_t h, int64_t c) const {
    return first + size_t(b * strides[0] + s * strides[1] + h * strides[2] + c * strides[3]) * byteSize(type);
  }
};

/// The five tensors of one launch. With margins, poison stands before and behind every tensor, inside its allocation,
/// where the simulator's own bounds would not see a stray read; without, the allocation ends with the tensor.
struct Placement {
  std::vector<Arena> arenas;
  Placed tensors[5]; ///< by Role

  const Placed &operator[](Role role) const { return tensors[int(role)]; }
  reference::View view(Role role, const std::vector<Arena> &from) const;
  reference::LseView lseView(const std::vector<Arena> &from) const;
};

/// `poison` fills every byte that is no element; 0xff is NaN in all types.
Placement place(Layout layout, const AttentionSpec &spec, const Problem &problem, bool margins,
                std::byte poison = std::byte{0xff});

/// The value of an element of an input; b, s, h, c are its logical indices (0 along broadcast dimensions).
using Values = std::function<float(Role, int64_t b, int64_t s, int64_t h, int64_t c)>;

/// Writes the inputs, each element of memory once.
void fill(Placement &placement, const Values &values);

/// Standard normal values.
Values normal(uint64_t seed, float deviation = 1.0f);

/// The first byte outside of the elements of O and LSE that differs between two states of the arenas, as text; empty:
/// none.
std::string strayWrite(const Placement &placement, const std::vector<Arena> &before, const std::vector<Arena> &after);

} // namespace tessera::kernels
