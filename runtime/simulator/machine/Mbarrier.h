// mbarrier objects: the opaque word in shared memory, and what the detectors know about it beside.
//
//   bits  63 … 61    60 … 40       39 … 20         19 … 0
//         phase % 8  transactions  expected count  pending count
//
// Arrivals count the pending count down, copies the transactions; when both are zero the phase is complete: its number
// goes up and the pending count starts again at the expected one. The word alone decides what instructions do.
#pragma once

#include "runtime/simulator/machine/Access.h"
#include "runtime/simulator/machine/Clock.h"

#include <unordered_map>

namespace tessera::sim::machine {

constexpr unsigned mbarrierBytes = 8;
constexpr uint32_t mbarrierMaxCount = (1u << 20) - 1;

/// The opaque word in parts. It is also the state that an arrival returns.
struct MbarrierWord {
  uint32_t pending = 0, expected = 0;
  int32_t transactions = 0; ///< bytes expected and not yet copied; negative when copies came first
  uint32_t phase = 0;       ///< modulo 8

  static MbarrierWord unpack(uint64_t bits);
  uint64_t pack() const;
};

/// What detectors remember of a live object.
struct Mbarrier {
  const Op *initialised = nullptr;
  uint64_t phase = 0;            ///< the one that is collecting arrivals
  uint32_t phaseArrivals = 0;    ///< that it needs in all
  bool observed = true;          ///< some wait has seen the phase before complete
  const Op *completer = nullptr; ///< what completed the phase before
  Clock collecting;              ///< what those who arrived in this phase knew
  Clock completed;               ///< the same of the phase before, for those who wait
};

/// The mbarriers of a block, by shared address.
struct Mbarriers {
  std::unordered_map<uint32_t, Mbarrier> live;
  std::unordered_map<uint32_t, const Op *> invalidated; ///< where, for reports about their later use
};

/// How an arrival changes the object.
struct Arrival {
  uint32_t count = 1;
  bool drop = false;        ///< later phases expect as many fewer
  bool noComplete = false;  ///< must not complete the phase
  int64_t transactions = 0; ///< bytes expected from now on
  bool releases = true;     ///< those who wait see what the warp did before
  uint32_t copies = 0;      ///< and its asynchronous copies up to this interval; 0: none
};

/// An arrival by, or in the name of, `lane` of `warp`; `op` is what reports name. `before` is the state that it found.
/// False after a fatal report.
bool arriveAt(Warp &warp, const Op &op, unsigned lane, uint32_t address, const Arrival &arrival, uint64_t &before);
/// Adds to the pending count of the current phase. False after a fatal report.
bool addPending(Warp &warp, const Op &op, unsigned lane, uint32_t address);

/// Where an mbarrier operand lies. Reports and returns false when it is not in shared memory, not aligned, or holds no
/// live object although `live` is asked for.
bool locateMbarrier(Warp &warp, const Op &op, unsigned lane, bool live, uint32_t &address);

/// The phase, its arrivals and where it was initialised, in words; says so when there is no live object.
std::string describeMbarrier(const Block &block, uint32_t address);
/// An ordinary access of `bytes` touched a live mbarrier.
void reportMbarrierAccess(Warp &warp, const Op &op, unsigned lane, uint32_t address, unsigned bytes, bool load);

const Op *runMbarrierInit(Warp &warp, const Op &op);
const Op *runMbarrierInval(Warp &warp, const Op &op);
const Op *runMbarrierArrive(Warp &warp, const Op &op);
const Op *runMbarrierWait(Warp &warp, const Op &op);
const Op *runMbarrierTransactions(Warp &warp, const Op &op);
const Op *runMbarrierPendingCount(Warp &warp, const Op &op);

} // namespace tessera::sim::machine
