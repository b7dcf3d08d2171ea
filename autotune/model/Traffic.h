// Traffic: the grid of a launch, how the lengths of its blocks are spread, and what it reads from device memory.
#pragma once

#include "autotune/model/Gpu.h"
#include "autotune/model/Work.h"

namespace tessera::tune {

/// The blocks of a launch (or the tiles, where blocks are persistent), in KV tiles. `last` are those that start last:
/// as many as are resident on the GPU.
struct Grid {
  double pairs = 0; ///< (batch, head) or (batch, KV head) pairs
  double tiles = 0; ///< query tiles of each
  double mean = 0, longest = 0, shortest = 0;
  double lastMean = 0, lastLongest = 0;
  double blocks() const { return pairs * tiles; }
};

/// `resident`: blocks on the whole GPU at once.
Grid gridOf(const Task &task, const Schedule &schedule, double resident);

/// Bytes that device memory moves: inputs and outputs once, and K and V again as often as they fell out of L2 before
/// other query tiles came to read them.
double memoryBytes(const Gpu &gpu, const Task &task, const Schedule &schedule, const Grid &grid, double resident);

/// 2 (d_qk + d_v) for every visible score.
double usefulFlops(const Task &task);

} // namespace tessera::tune
