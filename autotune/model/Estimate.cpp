// What the kernels of the Ampere family do and occupy, in closed form from the schedule: the counts follow the emitters
// in codegen/ampere, the small constants are those of the simulator's counters (tests/unit/model compares the two).
#include "autotune/model/Lengths.h"
#include "autotune/model/Work.h"
#include "runtime/spec/SharedLayout.h"

#include <algorithm>
#include <bit>

namespace tessera::tune {
namespace {

/// The shape of one warp's part of a tile, in the units of the instructions.
struct WarpTile {
  double rowBlocks;                                  ///< of 16 query rows
  double scores;                                     ///< per thread
  double outputs;                                    ///< accumulators per thread
  double copies;                                     ///< 16-byte chunks of a K and a V tile per thread
  double queryChunks;                                ///< of the Q tile per thread
  double queryRegisters;                             ///< of Q's fragments per thread
  double kSteps, kvSteps, scoreBlocks, outputBlocks; ///< mma steps of Q K and of P V, columns in blocks of 8
  bool wide;                                         ///< f32 operands: tf32 mma of half the depth
  bool evenRows;                                     ///< a row of K is a power of two of 16-byte chunks
  bool oneAddress;                                   ///< all copies of a thread into a tile share one swizzled address
};

WarpTile warpTile(const AttentionSpec &spec, const Schedule &s) {
  const SharedLayout layout = SharedLayout::of(s, spec);
  const double threads = 32.0 * s.warps, bytes = byteSize(spec.dtype);
  WarpTile tile{};
  tile.wide = spec.dtype == DType::F32;
  tile.rowBlocks = s.tileQ / (16.0 * s.warps);
  tile.scores = s.tileQ * s.tileKv / threads;
  tile.outputs = s.tileQ * layout.dvPad / threads;
  tile.copies = s.tileKv * (layout.dPad + layout.dvPad) * bytes / 16 / threads;
  tile.queryChunks = s.tileQ * layout.dPad * bytes / 16 / threads;
  tile.queryRegisters = s.tileQ * layout.dPad * bytes / 4 / threads;
  const double step = tile.wide ? 8 : 16;
  tile.kSteps = layout.dPad / step;
  tile.kvSteps = s.tileKv / step;
  tile.scoreBlocks = s.tileKv / 8.0;
  tile.outputBlocks = layout.dvPad / 8.0;
  const unsigned chunks = layout.dPad * byteSize(spec.dtype) / 16, abreast = std::min(chunks & -chunks, 32 * s.warps);
  tile.evenRows = std::has_single_bit(chunks);
  tile.oneAddress = (32 * s.warps / abreast) % 8 == 0;
  return tile;
}

/// Products of one tile in mma instructions of a warp; a precise operand takes three.
double mmaCount(const AttentionSpec &spec, const Schedule &s, const WarpTile &t) {
  double count = t.rowBlocks * (t.kSteps * t.scoreBlocks + t.kvSteps * t.outputBlocks);
  if (spec.precision == Precision::Precise && t.wide)
    count *= 3;
  if (s.rowSum == RowSum::Mma)
    count += t.rowBlocks * t.kvSteps;
  return count;
}

/// Instructions that are none of the matrix unit, of the copies or of control.
double countedInstructions(const Work &w) { return w.mufu + w.fma + w.alu + w.shuffle; }

/// One move of the reference: factors and products for every row and output.
Work moveOfReference(const WarpTile &t) {
  Work move;
  move.mufu = 2 * t.rowBlocks;
  move.fma = t.outputs + 4 * t.rowBlocks;
  return move;
}

/// The row max of a tile: one maximum per score, and two exchanges among the four lanes of a row.
Work rowMax(const WarpTile &t) {
  Work max;
  max.alu = t.scores;
  max.shuffle = 4 * t.rowBlocks;
  return max;
}

/// The mask of one edge tile: a comparison and a select per score, more where the left is bounded too.
Work maskOfEdge(const AttentionSpec &spec, const WarpTile &t) {
  Work mask;
  if (spec.mask.left)
    mask.alu = 3.3 * t.scores + 6 * t.rowBlocks + 32;
  else
    mask.alu = 1.93 * t.scores + 12 * t.rowBlocks + 18;
  mask.fma = 10 * t.rowBlocks - 5;
  return mask;
}

/// Addresses, loop control, and what else a step takes whatever its tile.
double overheadOfStep(const AttentionSpec &spec, const Schedule &s, const WarpTile &t) {
  const bool ring = s.stages > 1, banded = !spec.mask.isFull();
  double alu =
      10 + 5.4 * t.rowBlocks + (t.evenRows ? 9 + 2.1 * t.copies : 1.3 * t.copies) + (s.queryInRegisters ? 0 : 15);
  if (ring)
    alu += 24 + (t.oneAddress ? 0 : 1.4 * t.copies);
  // Under a band, lazy kernels find the addresses of V's copies anew in every tile (codegen/ampere/Copy.cpp).
  if (banded && s.rescale == Rescale::Lazy)
    alu += 23 + (t.oneAddress ? 0 : 2.9 * t.copies);
  else if (spec.mask.left)
    alu += 15;
  return alu;
}

Work warpPerTile(const AttentionSpec &spec, const Schedule &s) {
  const WarpTile t = warpTile(spec, s);
  const double mma = mmaCount(spec, s, t);
  // Every x4 matrix load reads 512 bytes in four passes: K and V blocks once per warp, Q once per row block.
  const double keyLoads = t.kSteps * t.scoreBlocks / 2, queryLoads = s.queryInRegisters ? 0 : t.kSteps * t.rowBlocks;
  double valueLoads = t.kvSteps * t.outputBlocks / 2, valuePasses = 4 * valueLoads;
  if (t.wide) // without a transposing load: two 4-byte loads per block of 8 x 8
    valueLoads = valuePasses = 2 * t.kvSteps * t.outputBlocks;
  Work w;
  w.mmaFlops = mma * 2 * 16 * 8 * (t.wide ? 8 : 16);
  w.sharedWavefronts = 4 * (keyLoads + queryLoads) + valuePasses;
  w.mufu = t.scores;
  w.fma = t.scores * (s.rowSum == RowSum::Mma ? 1 : 2) + 3.5 * t.rowBlocks + 10;
  w.alu = t.scores / 2 + overheadOfStep(spec, s, t); // two scores are packed by one conversion
  if (t.wide) // instead, every operand register is rounded to tf32 where it is used
    w.alu += 4 * t.rowBlocks * (t.kSteps + t.kvSteps) + 2 * (t.kSteps * t.scoreBlocks + t.kvSteps * t.outputBlocks);
  if (spec.softcap)
    w.mufu += t.scores, w.fma += 2 * t.scores;
  if (!spec.mask.isFull() && s.rescale == Rescale::Lazy)
    w.fma += 3;
  if (s.stages == 3)
    w.fma += 14; // the remainder by three is a product
  if (s.rescale != Rescale::Anchored)
    w += rowMax(t);
  if (s.rescale == Rescale::Every)
    w += moveOfReference(t);
  const double control = s.stages > 1 ? 12 : 16;
  w.instructions = countedInstructions(w) + mma + keyLoads + queryLoads + valueLoads + t.copies + control;
  return w;
}

Work warpFixed(const Task &task, const Schedule &s) {
  const AttentionSpec &spec = task.spec;
  const WarpTile t = warpTile(spec, s);
  const bool anchored = s.rescale == Rescale::Anchored, every = s.rescale == Rescale::Every;
  Work w;
  // Sums across the quad, the division, the packing, the way through shared memory; the first move unless every tile
  // has one; the alarm of an anchored row.
  w.mufu = 2 * t.rowBlocks;
  const double dims = std::min(spec.headDim, spec.valueDim);
  w.fma = anchored ? 125 - 50 * t.rowBlocks + 3.8 * t.outputs - 0.7 * dims
                   : 80 - 8 * t.rowBlocks + 2.05 * t.outputs - 0.22 * dims;
  w.alu = anchored ? 350 - 50 * t.rowBlocks + 6.6 * t.outputs - 1.3 * dims : 200 + 52 * t.rowBlocks + 2.4 * t.outputs;
  w.alu += 3 * t.copies;
  w.shuffle = 1 + (s.rowSum == RowSum::Mma ? 0 : 4 * t.rowBlocks); // an mma sums over the quad as well
  if (!every)
    w += moveOfReference(t);
  if (anchored)
    w += rowMax(t);
  if (s.packHeads) // a division per row that is copied or stored
    w.alu += 9 * t.queryChunks + 8, w.fma += 2.2 * t.queryChunks;
  if (s.headGroup > 1)
    w.alu += 10, w.fma += 3;
  const double queryLoads = s.queryInRegisters ? t.kSteps * t.rowBlocks : 0;
  const double staged = t.outputs / 2, stored = t.outputs / 8;
  w.sharedWavefronts = 4 * queryLoads + staged + 4 * stored;

  const Lengths lengths = lengthsOf(task, s, 0, queryTiles(task, s));
  const double perTile = 1 / std::max(lengths.tiles, 1.0), head = lengths.head * perTile;
  w += lengths.edges * perTile * maskOfEdge(spec, t);
  if (anchored) {
    w += head * moveOfReference(t);
    w += head * rowMax(t);
  }
  w.instructions = countedInstructions(w) + queryLoads + staged + 2 * stored + t.queryChunks + 0.25 * t.outputs +
                   (s.persistent ? 30 : 22);
  return w;
}

} // namespace

BlockWork estimateWork(const Task &task, const Schedule &schedule) {
  const SharedLayout layout = SharedLayout::of(schedule, task.spec);
  const double warps = schedule.warps;
  const double chunkRow = byteSize(task.spec.dtype) * double(task.spec.headDim);
  BlockWork work;
  work.perTile = warps * warpPerTile(task.spec, schedule);
  work.fixed = warps * warpFixed(task, schedule);
  work.perTile.barriers = schedule.stages == 1 ? 2 : 1;
  work.fixed.barriers = 1 + (schedule.stages > 1 && schedule.queryInRegisters) + schedule.persistent +
                        2 * (schedule.rescale == Rescale::Anchored);
  const double tileBytes = double(layout.keyStage + layout.valueStage);
  work.perTile.fillBytes = schedule.tileKv * byteSize(task.spec.dtype) * double(task.spec.headDim + task.spec.valueDim);
  work.perTile.sharedWavefronts += tileBytes / 128; // what arrives is written to shared memory
  work.fixed.fillBytes = schedule.tileQ * chunkRow;
  work.fixed.sharedWavefronts += schedule.tileQ * double(layout.dPad) * byteSize(task.spec.dtype) / 128;
  work.fixed.storeBytes = schedule.tileQ * double(byteSize(task.spec.outputType())) * task.spec.valueDim;
  return work;
}

Footprint estimateFootprint(const Task &task, const Schedule &schedule) {
  Footprint footprint;
  const WarpTile t = warpTile(task.spec, schedule);
  // The copies of a thread into the tiles of a step each keep an address and a predicate. The constants of
  // estimatedRegisters hold those of a usual tile; few warps on a wide tile have many more, in f32 twice as many.
  const double moreCopies = std::max(t.copies - 16, 0.0);
  const double perCopy = !t.wide ? 0.5 : task.spec.precision == Precision::Precise ? 0.6 : 0.9;
  const double needed = estimatedRegisters(schedule, task.spec) + perCopy * moreCopies;
  // What must be there, and what the assembler adds while there is room: operands loaded ahead of their use, addresses.
  // Fitted to its reports for 770 kernels (d 64 to 256, every type, 1 to 8 warps): 8 registers off on average, and the
  // same occupancy for all but 20. Of f32 kernels it tells those that spill from the others but for 1 in 15; how much
  // they spill it tells only roughly.
  const double query = schedule.queryInRegisters ? t.queryRegisters : 0;
  const double liked = 56 + 0.88 * t.outputs + 1.2 * t.scores + 0.87 * query + 0.17 * task.spec.headDim +
                       5.5 * t.rowBlocks + (schedule.rescale == Rescale::Anchored ? 5 : 0) + 1.3 * moreCopies;
  footprint.registers = unsigned(std::clamp(liked, std::min(needed, 255.0), 255.0));
  footprint.spillBytes = needed > 250 ? 4 * unsigned(needed - 250) : 0;
  footprint.sharedBytes = schedule.sharedBytes(task.spec);
  footprint.threads = 32 * schedule.warps;
  return footprint;
}

} // namespace tessera::tune
