// Lengths: how many KV tiles the query tiles of a head visit, summed over a stretch of them.
#pragma once

#include "autotune/space/TileRange.h"

#include <cstdint>

namespace tessera::tune {

/// Of `tiles` query tiles of one head. All in KV tiles; zero for no query tiles.
struct Lengths {
  double tiles = 0;
  double sum = 0, longest = 0, shortest = 0;
  double edges = 0, head = 0; ///< sums of the edge tiles, and of those at the right (TileRange)

  double mean() const { return tiles > 0 ? sum / tiles : 0; }
};

/// Of the query tiles [begin, end). Exact, in a time that hangs on the tile sizes and not on how many tiles there are;
/// where many heads are packed the tiles near the ends of the mask are sampled.
Lengths lengthsOf(const Task &task, const Schedule &schedule, int64_t begin, int64_t end);

} // namespace tessera::tune
