// Block: one thread block while it executes: warps, shared memory, barriers, findings.
#pragma once

#include "runtime/simulator/machine/Random.h"
#include "runtime/simulator/machine/Warp.h"
#include "runtime/simulator/program/Variants.h"

#include <deque>
#include <map>
#include <memory>
#include <string>

namespace tessera::sim::machine {

class Touched;

struct RaceState;
struct Mbarriers;
class GridRaces;

/// What a launch has in common for all its blocks.
struct LaunchState {
  const program::Program *program = nullptr;
  const program::DecodedKernel *kernel = nullptr;
  const DeviceProfile *profile = nullptr;
  GlobalMemory *memory = nullptr;
  const LaunchConfig *config = nullptr;
  const Options *options = nullptr;
  uint32_t threads = 0, warps = 0;
  uint32_t sharedBytes = 0;   ///< addresses up to here: base, static and dynamic
  Touched *touched = nullptr; ///< global bytes reached; null: counters are off
  bool inTurns = false;       ///< blocks run interleaved on one host thread
  GridRaces *grid = nullptr;  ///< races between blocks; null: not looked for
};

/// One of the sixteen barriers of a block.
struct BarrierState {
  bool counted = false;        ///< with a thread count
  uint32_t expected = 0;       ///< threads, when counted
  uint32_t arrivedCount = 0;   ///< in whole warps for .aligned
  uint32_t arrivedThreads = 0; ///< threads that exist
  uint64_t arrivedWarps = 0;   ///< bits
  const Op *firstOp = nullptr;
  uint32_t popc = 0;
  bool all = true, any = false;
  uint32_t undefinedInputs = 0;
  bool reduces = false;
  bool empty() const { return !arrivedCount && !arrivedThreads; }
};
constexpr unsigned barrierCount = 16;

/// Per-instruction sums when counters are on.
struct InstructionCount {
  uint64_t executions = 0, lanes = 0, wavefronts = 0, ideal = 0, sectors = 0, idealSectors = 0, bytes = 0;

  InstructionCount &operator+=(const InstructionCount &part) {
    executions += part.executions;
    lanes += part.lanes;
    wavefronts += part.wavefronts;
    ideal += part.ideal;
    sectors += part.sectors;
    idealSectors += part.idealSectors;
    bytes += part.bytes;
    return *this;
  }
};

enum class BlockStatus : uint8_t { Running, Done, Faulted };

struct Block {
  const LaunchState *launch = nullptr;
  Dim3 index{0, 0, 0};
  uint64_t linear = 0;
  std::vector<Warp> warps;
  std::vector<std::byte> sharedStorage;
  std::vector<uint8_t> sharedShadowStorage;
  std::vector<std::byte> localStorage;
  std::vector<uint8_t> localShadowStorage;
  std::array<GlobalWindow, windowCount> windows;
  std::array<BarrierState, barrierCount> barriers;
  std::unique_ptr<RaceState> races;
  std::vector<std::unique_ptr<AsyncCopies>> asyncStorage;
  std::unique_ptr<Mbarriers> mbarriers;
  std::multimap<uint32_t, std::byte *> framePool; ///< free frame storage by bytes
  uint32_t liveThreads = 0;
  BlockStatus status = BlockStatus::Running;
  Counters counters;
  std::vector<InstructionCount> counts; ///< by Op::instruction
  std::vector<Finding> findings;
  std::map<std::pair<FindingKind, uint32_t>, size_t> known; ///< (kind, instruction) to index in findings
  uint64_t suppressed = 0;
  std::string printed;
  Random random;        ///< of Schedule::Random
  uint64_t effects = 0; ///< stores, atomics that change memory, arrivals, exits: what a polling warp may wait for
  uint64_t effectsSeen = 0;
  bool stalled = false; ///< every warp waits, or polls and nothing has changed for a long time

  Block();
  ~Block();
  Block(const Block &) = delete;
  Block &operator=(const Block &) = delete;

  /// Makes the storage ready for the block `linear` of the launch; reuses what an earlier block left.
  void start(const LaunchState &state, uint64_t linear);
  /// Runs warps in turn (Schedule::Random: some warps for some instructions each) until the block is done, has faulted,
  /// or other blocks should have a turn.
  BlockStatus run();
  /// Reports that no warp of the block can go on.
  void reportDeadlock();

private:
  /// After a round of warps: looks whether those that poll may still see something change.
  void watchPolls();
};

// Interpreter.cpp
void runWarp(Warp &warp);

// Frames.cpp
Frame *pushFrame(Warp &warp, const program::DecodedFunction &function, Frame *caller, const Op *call);
void releaseFrame(Warp &warp, Frame *frame);
const Op *runCall(Warp &warp, const Op &op);
const Op *runCallIndirect(Warp &warp, const Op &op);
const Op *runReturn(Warp &warp, const Op &op);

// Divergence.cpp
/// Notes where the current split goes on.
void saveSplit(Warp &warp, const Op *pc);
const Op *runBranch(Warp &warp, const Op &op);
const Op *runBranchTable(Warp &warp, const Op &op);
const Op *runJoin(Warp &warp, const Op &op);
const Op *runExit(Warp &warp, const Op &op);
/// Saves the current split, makes another runnable one current and returns its pc; null when there is none.
const Op *nextSplit(Warp &warp);
/// Continues with another split of the warp, or ends its turn when all have had one; the current one is to go on at
/// `pc`. For sleeping and for tests that failed.
const Op *giveWay(Warp &warp, const Op *pc);
/// Ends the current split (its lanes exited, joined or wait elsewhere) and continues with another.
const Op *dropSplit(Warp &warp);
/// Takes lanes out of every expectation; releases joins that waited for them only.
void removeLanes(Warp &warp, uint32_t lanes);
/// Divides the current split: `lanes` go on at `pc` later. Used by indirect calls and branch tables.
void splitOff(Warp &warp, uint32_t lanes, const Op *pc, int join, Frame *frame);
int makeJoin(Warp &warp, const Op *pc, uint32_t lanes);
/// For .sync instructions with a member mask: true when all of its lanes execute `op` now. Otherwise the split waits
/// and `*next` is what the handler must return.
bool gatherLanes(Warp &warp, const Op &op, uint32_t members, const Op **next);
/// A .sync instruction whose lanes name different members (masks: by lane): each group that is complete executes it at
/// once, the others wait as splits of their own. Returns where to go on.
const Op *runGroups(Warp &w, const Op &op, const uint32_t *masks);
/// For .aligned instructions: reports when lanes of the warp are missing.
bool checkConverged(Warp &warp, const Op &op);

// Barrier.cpp
const Op *runBarrier(Warp &warp, const Op &op);
void checkBarriers(Block &block);
std::string describeBarrier(const Block &block, unsigned number);

} // namespace tessera::sim::machine
