// TileRange: which KV tiles a query tile visits, and how many of them run mask code; as attn-bound-loops bounds the
// loop.
#pragma once

#include "autotune/space/Space.h"

#include <cstdint>

namespace tessera::tune {

/// The loop of one query tile.
struct TileRange {
  int64_t count = 0; ///< KV tiles that are visited
  int64_t edges = 0; ///< of those, the ones that some row of the tile does not see whole: they run the mask code
  int64_t head = 0;  ///< of the edges, those that come first: at the right
};

/// Query rows of one grid row: of a head, or of a KV head's whole group where the schedule packs.
int64_t queryRows(const Task &task, const Schedule &schedule);
/// Query tiles of one head, or of one KV head where the schedule packs.
int64_t queryTiles(const Task &task, const Schedule &schedule);
/// The range of query tile `tile`, counted from the first row; packed rows where the schedule packs. A tile beyond the
/// rows visits what its first row would.
TileRange tileRange(const Task &task, const Schedule &schedule, int64_t tile);

/// (batch, head) pairs, or (batch, KV head) pairs where the schedule packs: the grid is these times queryTiles.
int64_t headPairs(const Task &task, const Schedule &schedule);
/// Query heads per KV head; 1 where there are no heads.
int64_t headsPerGroup(const Problem &problem);

} // namespace tessera::tune
