// Sums over query tiles and over visible scores, and the reuse of K and V in L2.
#include "autotune/model/Traffic.h"

#include "autotune/model/Lengths.h"

#include <algorithm>
#include <cmath>

namespace tessera::tune {
namespace {

/// The sum over i in [0, n) of i + c held between 0 and `most`.
double clampedSum(double n, double c, double most) {
  const double rampBegin = std::clamp(-c, 0.0, n), rampEnd = std::clamp(most - c, rampBegin, n);
  const double steps = rampEnd - rampBegin;
  return steps * (rampBegin + c) + steps * (steps - 1) / 2 + (n - rampEnd) * most;
}

/// Visible scores of one head (numerics N2): row i sees [i + off - left, i + off + right] within [0, keys).
double visibleScores(const Task &task) {
  const Mask &mask = task.spec.mask;
  const double n = double(task.problem.seqlenQ), keys = double(task.problem.seqlenKv);
  const double off = mask.align == Align::BottomRight ? keys - n : 0;
  const double above = mask.right ? clampedSum(n, off + double(*mask.right) + 1, keys) : n * keys;
  const double below = mask.left ? clampedSum(n, off - double(*mask.left), keys) : 0;
  return above - below;
}

/// Keys of one head that some row sees.
double seenKeys(const Task &task) {
  const Mask &mask = task.spec.mask;
  const double n = double(task.problem.seqlenQ), keys = double(task.problem.seqlenKv);
  const double off = mask.align == Align::BottomRight ? keys - n : 0;
  const double begin = mask.left ? std::max(off - double(*mask.left), 0.0) : 0;
  const double end = mask.right ? std::min(n + off + double(*mask.right), keys) : keys;
  return std::max(end - begin, 0.0);
}

} // namespace

double usefulFlops(const Task &task) {
  return 2.0 * (task.spec.headDim + task.spec.valueDim) * visibleScores(task) * double(task.problem.batch) *
         double(task.problem.heads);
}

Grid gridOf(const Task &task, const Schedule &schedule, double resident) {
  Grid grid;
  const int64_t tiles = queryTiles(task, schedule);
  grid.pairs = double(headPairs(task, schedule));
  grid.tiles = double(tiles);
  // Of each head in the last group these many tiles are among the last blocks: those that come last in their head.
  const double group = std::min(double(schedule.headGroup), grid.pairs);
  const double lastTiles = group * grid.tiles > resident ? std::max(std::ceil(resident / group), 1.0) : grid.tiles;
  const int64_t lasts = std::min(int64_t(lastTiles), tiles);
  const Lengths all = lengthsOf(task, schedule, 0, tiles);
  const Lengths last = schedule.order == TileOrder::LastFirst ? lengthsOf(task, schedule, 0, lasts)
                                                              : lengthsOf(task, schedule, tiles - lasts, tiles);
  grid.mean = all.mean(), grid.longest = all.longest, grid.shortest = all.shortest;
  grid.lastMean = last.mean(), grid.lastLongest = last.longest;
  return grid;
}

double memoryBytes(const Gpu &gpu, const Task &task, const Schedule &schedule, const Grid &grid, double resident) {
  const AttentionSpec &spec = task.spec;
  const Problem &problem = task.problem;
  const double element = byteSize(spec.dtype), batch = double(problem.batch);
  const double rows = batch * double(problem.heads) * double(problem.seqlenQ);
  const double keyBytes = double(problem.seqlenKv) * (spec.headDim + spec.valueDim) * element; // of one KV head
  const double kvHeads = batch * double(problem.kvHeads);
  double once = rows * (spec.headDim * element + spec.valueDim * double(byteSize(spec.outputType())));
  if (contains(spec.outputs, Output::LSE))
    once += rows * 4;
  const double read = std::max(grid.longest * schedule.tileKv, seenKeys(task)); // of one KV head, by all tiles together
  const double readOnce = kvHeads * std::min(keyBytes, read * (spec.headDim + spec.valueDim) * element);
  if (grid.blocks() == 0 || kvHeads == 0)
    return once;

  // KV heads whose K and V are being read at once, and how many blocks read each at once.
  const double group = std::min(double(schedule.headGroup), grid.pairs);
  const double inFlight = std::min(resident, grid.blocks());
  const double pairsInFlight = std::min(std::max(std::ceil(inFlight / (grid.tiles * group)), 1.0) * group, grid.pairs);
  const double sharing = schedule.packHeads ? 1 : double(headsPerGroup(problem));
  const double kvInFlight = std::max(pairsInFlight / sharing, 1.0);
  const double together = std::max(inFlight / kvInFlight, 1.0);
  // What stands in L2 is read from there; blocks that run together read what one of them fetched.
  const double lost = std::max(1 - gpu.l2Bytes * gpu.l2Share / (kvInFlight * keyBytes), 0.0);
  const double reads = grid.blocks() * grid.mean * schedule.tileKv * (spec.headDim + spec.valueDim) * element;
  return once + readOnce + lost * std::max(reads / together - readOnce, 0.0);
}

} // namespace tessera::tune
