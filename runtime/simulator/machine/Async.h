// Asynchronous operations: copies in flight and arrivals that wait for them.
//
// A cp.async is issued, its bytes move at some moment, and it is complete for its thread once a wait covers its group,
// or for those who wait at an mbarrier once an asynchronous arrival that follows it has taken effect. Until then its
// destination is marked `pending`, whenever the bytes move:
//
//   schedule    bytes move               the arrival takes effect
//   Late        when complete            when somebody tests the mbarrier
//   Eager       at issue                 at issue
//   Random      at a drawn moment        at a drawn moment
#pragma once

#include "runtime/simulator/machine/Access.h"

#include <deque>
#include <map>

namespace tessera::sim::machine {

struct Evidence;

/// One cp.async instruction of a warp. Groups are per thread, so lanes complete each on their own.
struct AsyncCopy {
  const Op *op = nullptr;
  uint64_t serial = 0;            ///< in the order of issue by the warp
  uint32_t interval = 0;          ///< of the race detector
  uint32_t lanes = 0;             ///< not complete yet
  uint32_t moved = 0;             ///< lanes whose bytes have been written
  uint32_t group[warpSize];       ///< serial of the lane's group
  uint32_t destination[warpSize]; ///< shared address
  const std::byte *source[warpSize];
  const uint8_t *sourceShadow[warpSize];
  uint8_t copied[warpSize]; ///< bytes from the source; the rest becomes zero
  uint8_t bytes = 0;
};

/// One cp.async.mbarrier.arrive of a warp that has not taken effect.
struct AsyncArrival {
  const Op *op = nullptr;
  uint64_t before = 0; ///< copies of a smaller serial have to be complete
  uint32_t lanes = 0;
  uint32_t address[warpSize];
  uint32_t interval[warpSize]; ///< of the lane's last copy before
};

/// Of one warp.
struct AsyncCopies {
  std::deque<AsyncCopy> queue;
  std::deque<AsyncArrival> arrivals;
  uint64_t issued = 0;
  uint32_t open[warpSize] = {};        ///< serial of the group that the next commit closes
  uint32_t latest[warpSize] = {};      ///< interval of the lane's last copy
  std::map<uint32_t, uint32_t> groups; ///< by group: the last interval of its copies, of those not waited for
};

/// Schedule::Random: some of what is in flight in the block happens now.
void advanceCopies(Block &block);
/// A thread tests the mbarrier: asynchronous arrivals there that wait no longer take effect. False after a fatal
/// report.
bool carryOutArrivals(Block &block, uint32_t address);
/// Threads whose asynchronous arrivals at the mbarrier have not taken effect.
unsigned outstandingArrivals(const Block &block, uint32_t address);
/// Makes the copy in flight into these bytes, if there is one, the other party of a report.
void namePendingCopy(const Block &block, uint32_t address, unsigned bytes, Evidence &evidence);

const Op *runAsyncArrive(Warp &warp, const Op &op);

} // namespace tessera::sim::machine
