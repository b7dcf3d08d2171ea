// AsyncCopies: the cp.async operations of one warp that have not taken effect.
#pragma once

#include "runtime/simulator/machine/Access.h"

#include <deque>

namespace tessera::sim::machine {

/// One cp.async instruction of a warp. Groups are per thread, so lanes complete each on their own.
struct AsyncCopy {
  const Op *op = nullptr;
  uint32_t lanes = 0;             ///< not complete yet
  uint32_t group[warpSize];       ///< serial of the lane's group
  uint32_t destination[warpSize]; ///< shared address
  const std::byte *source[warpSize];
  const uint8_t *sourceShadow[warpSize];
  uint8_t copied[warpSize]; ///< bytes from the source; the rest becomes zero
  uint8_t bytes = 0;
  bool done = false; ///< the data are there already (eager mode); only the wait is missing
};

struct AsyncCopies {
  std::deque<AsyncCopy> queue;
  uint32_t open[warpSize] = {}; ///< serial of the group that the next commit closes
  uint64_t random = 0;
};

/// Carries out the copy for `lanes`.
void completeCopy(Warp &warp, AsyncCopy &copy, uint32_t lanes);

} // namespace tessera::sim::machine
