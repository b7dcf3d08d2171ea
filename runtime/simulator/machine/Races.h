// Races: conflicting accesses of shared and global memory that nothing orders, by vector clocks.
//
// Warps learn from each other at barriers (all of what arrived), at mbarriers, and through strong accesses: a release
// (or a fence and then a strong write) leaves what the warp knows at the address, an acquire (or a strong read and
// then a fence) takes it, within the scopes of both. Blocks that run one after another on any host thread know nothing
// of each other; their accesses are compared block by block when they have ended, in the order of blocks.
#pragma once

#include "runtime/simulator/machine/Access.h"
#include "runtime/simulator/machine/Cells.h"
#include "runtime/simulator/machine/Clock.h"

#include <array>
#include <mutex>
#include <unordered_map>

namespace tessera::sim::machine {

/// What strong writes have left at an address.
struct Flag {
  Clock wide;                      ///< for all who read at device scope
  std::map<uint64_t, Clock> block; ///< for readers in the writer's block
};
using Flags = std::unordered_map<uint64_t, Flag>; ///< by address / 4

/// A weak read and an atomic that conflict. It is no race if the reader then compares what it read with an atomic
/// compare-and-swap at the same address, as loops around compare-and-swap do that begin with a plain load.
struct GuessedRead {
  uint32_t reader = 0; ///< as Mark::party
  uint64_t address = 0;
  uint64_t block = 0; ///< that the finding is about
  uint32_t instruction = 0;
  Finding finding;
};
using GuessedReads = std::vector<GuessedRead>;

/// What one warp knows, and what it owes to a fence.
struct WarpKnowledge {
  Progress own{};          ///< of the parties of its block
  Clock others;            ///< of other blocks
  Clock fenced[2];         ///< what its last fence published, by scope: block, device
  Clock seen[2];           ///< what its strong reads found and no fence has taken yet
  uint32_t asyncClock = 0; ///< interval of its asynchronous copies
};

/// Of one block.
struct RaceState {
  std::vector<WarpKnowledge> warps;
  std::array<Clock, barrierCount> arrived; ///< what those who arrived at a barrier knew
  CellTable shared;
  Flags sharedFlags;
  CellTable ownGlobal; ///< global memory, when blocks run independently
  Flags ownGlobalFlags;
  CellTable *global = nullptr; ///< ownGlobal, or the grid's where blocks run in turns
  Flags *globalFlags = nullptr;
  GuessedReads sharedGuesses, ownGlobalGuesses;
  GuessedReads *globalGuesses = nullptr;
};

void raceStart(Block &block);
/// The block has ended: what was only guessed to be harmless is reported.
void raceFinish(Block &block);
void raceArrive(Block &block, Warp &warp, unsigned barrier);
/// The barrier completes: those who wait at it learn what all who arrived knew.
void raceBarrier(Block &block, unsigned barrier);
void raceFence(Warp &warp, const Op &op);

/// A release: `into` learns what the warp knows, and the warp begins a new interval. Nothing without races.
void raceRelease(Warp &warp, Clock &into);
/// An acquire: the warp learns what `from` holds.
void raceAcquire(Warp &warp, const Clock &from);

/// A cp.async instruction is issued: the interval of the warp's asynchronous party that stands for it.
uint32_t raceIssue(Warp &warp);
/// The warp has waited for all of its asynchronous copies up to `interval`.
void raceComplete(Warp &warp, uint32_t interval);
/// Asynchronous copies of the warp up to `interval` are complete, and `into` (of an mbarrier) learns just that.
void raceReleaseCopies(Warp &warp, uint32_t interval, Clock &into);

/// One side of a cp.async instruction: `intent` AsyncRead of the source or AsyncWrite of the destination.
void recordCopy(Warp &warp, const Op &op, program::Space space, const uint64_t *addresses, uint32_t lanes,
                const uint8_t *bytes, Intent intent, uint32_t interval);

/// Accesses of one block to global memory, run by run.
struct AccessRun {
  uint64_t address = 0, bytes = 0;
  Mark mark;
  bool write = false;
};
using BlockAccesses = std::vector<AccessRun>;
BlockAccesses takeAccesses(Block &block);

/// Of a whole grid: what blocks did to global memory.
class GridRaces {
public:
  /// Marks number no more blocks than this.
  static constexpr uint64_t mostBlocks = uint64_t(1) << (32 - partyBits);

  explicit GridRaces(const LaunchState &state) : state_(state) {}

  /// Where blocks run in turns, all of them use these directly.
  CellTable cells;
  Flags flags;
  GuessedReads guesses;

  /// Independent blocks: takes what the block did, once all blocks before it have been taken, and returns the races
  /// with those, per block. Thread-safe; what it returns over all calls does not depend on the order of calls.
  std::vector<std::pair<uint64_t, Finding>> add(uint64_t block, BlockAccesses accesses);

private:
  void compare(uint64_t block, const BlockAccesses &accesses, std::vector<std::pair<uint64_t, Finding>> &found);

  const LaunchState &state_;
  std::mutex mutex_;
  std::map<uint64_t, BlockAccesses> waiting_; ///< blocks that ended before one with a smaller number
  uint64_t next_ = 0;
};

} // namespace tessera::sim::machine
