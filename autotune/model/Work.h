// Work: what one thread block does, in counts that do not depend on the GPU, estimated before or counted after a
// compile.
#pragma once

#include "autotune/space/Space.h"
#include "autotune/space/TileRange.h"

#include <cstdint>
#include <string_view>

namespace tessera::tune {

/// How sure a number is.
enum class Basis : uint8_t {
  Estimated, ///< from the schedule alone
  Image,     ///< from the assembler's report
  Simulated, ///< counted by the simulator on the kernel's PTX
  Measured,  ///< on a GPU
};
std::string_view name(Basis basis);

/// Counts of one block. Instructions are machine instructions of a warp, as the simulator prices those of PTX (its
/// issue slots): 64-bit integers count twice, moves and parameter loads not at all.
struct Work {
  double mmaFlops = 0;               ///< 2 m n k of every matrix instruction
  double instructions = 0;           ///< issued, matrix included
  double fma = 0, alu = 0, mufu = 0; ///< conversions to 16 bits are among `alu`
  double shuffle = 0;
  double sharedWavefronts = 0; ///< passes of 128 bytes over the banks
  double fillBytes = 0;        ///< global memory to shared memory or registers
  double storeBytes = 0;       ///< to global memory
  double localBytes = 0;       ///< spills
  double barriers = 0;         ///< of the block

  Work &operator+=(const Work &other);
  friend Work operator*(double factor, const Work &work);
};

/// A block that visits n KV tiles does fixed + n * perTile. What edge tiles cost more is in `fixed`; where they do
/// less, a ragged last tile that copies few keys, a count in it may be below zero, though never the sum.
struct BlockWork {
  Work fixed, perTile;
  Basis basis = Basis::Estimated;

  /// As much for a block of `tiles` KV tiles, which may be a mean, and no count below zero: a negative one is spread
  /// over the other term.
  BlockWork withoutNegatives(double tiles) const;
};

/// What a block occupies.
struct Footprint {
  unsigned registers = 0; ///< per thread
  unsigned spillBytes = 0;
  uint64_t sharedBytes = 0;
  unsigned threads = 0;
  Basis basis = Basis::Estimated;
};

/// From the schedule alone.
BlockWork estimateWork(const Task &task, const Schedule &schedule);
Footprint estimateFootprint(const Task &task, const Schedule &schedule);

/// KV tiles that the query tile `tile` (counted from the first row; packed rows where the schedule packs) visits,
/// exactly as the kernel bounds its loop.
int64_t visitedTiles(const Task &task, const Schedule &schedule, int64_t tile);

} // namespace tessera::tune
