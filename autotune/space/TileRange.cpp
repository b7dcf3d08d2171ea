// The closed form of compiler/passes/BoundLoops.cpp, for one query tile at known lengths.
#include "autotune/space/TileRange.h"

#include <algorithm>

namespace tessera::tune {
namespace {

/// As in attn-bound-loops: a bound of 2^32 sees every key, since lengths are below 2^31.
constexpr int64_t boundLimit = int64_t(1) << 32;

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

} // namespace

int64_t headsPerGroup(const Problem &problem) {
  return problem.kvHeads > 0 ? std::max<int64_t>(problem.heads / problem.kvHeads, 1) : 1;
}

int64_t headPairs(const Task &task, const Schedule &schedule) {
  return task.problem.batch * (schedule.packHeads ? task.problem.kvHeads : task.problem.heads);
}

int64_t queryRows(const Task &task, const Schedule &schedule) {
  return task.problem.seqlenQ * (schedule.packHeads ? headsPerGroup(task.problem) : 1);
}

int64_t queryTiles(const Task &task, const Schedule &schedule) {
  return ceilDiv(queryRows(task, schedule), schedule.tileQ);
}

TileRange tileRange(const Task &task, const Schedule &schedule, int64_t tile) {
  const Mask &mask = task.spec.mask;
  const int64_t keys = task.problem.seqlenKv, queries = task.problem.seqlenQ, tileKv = schedule.tileKv;
  if (mask.isFull()) {
    const int64_t ragged = ceilDiv(keys, tileKv) - keys / tileKv;
    return {ceilDiv(keys, tileKv), ragged, ragged};
  }

  // Key columns of the diagonal: in the first row, after the last row of the tile, after its last row in the sequence.
  const int64_t group = schedule.packHeads ? headsPerGroup(task.problem) : 1;
  const int64_t row = tile * schedule.tileQ;
  const int64_t offset = mask.align == Align::BottomRight ? keys - queries : 0;
  const int64_t first = row / group + offset;
  const int64_t tileEnd = (row + schedule.tileQ - 1) / group + 1 + offset;
  const int64_t end = std::min(tileEnd, queries + offset);
  int64_t visitedBegin = 0, insideBegin = 0, visitedEnd = keys, insideEnd = keys;
  if (mask.right) {
    const int64_t right = std::min(*mask.right, boundLimit);
    visitedEnd = std::clamp<int64_t>(end + right, 0, keys);
    insideEnd = std::clamp<int64_t>(first + right + 1, 0, keys);
  }
  if (mask.left) {
    const int64_t left = std::min(*mask.left, boundLimit);
    visitedBegin = std::max<int64_t>(first - left, 0);
    insideBegin = std::max<int64_t>(tileEnd - left - 1, 0);
    if (visitedEnd <= visitedBegin)
      return {};
  }
  const int64_t endTile = ceilDiv(visitedEnd, tileKv);
  const int64_t count = endTile - visitedBegin / tileKv;
  // Steps from the first whole tile, counted from the right, to where tiles stick out at the left again.
  const int64_t wholeBegin = std::max<int64_t>(endTile - insideEnd / tileKv, 0);
  const int64_t wholeEnd = mask.left ? std::min(endTile - ceilDiv(insideBegin, tileKv), count) : count;
  return {count, count - std::max<int64_t>(wholeEnd - wholeBegin, 0), std::min(wholeBegin, count)};
}

} // namespace tessera::tune
