// Access: from an address of a lane to host storage, with every check, out of the fast path.
#pragma once

#include "runtime/simulator/machine/Block.h"

namespace tessera::sim::machine {

/// Bits of a shared or local shadow byte. Global shadow bytes use `written` only.
enum Shadow : uint8_t {
  written = 1,
  pending = 2,         ///< an asynchronous copy into it has not completed
  computedGarbage = 4, ///< an undefined, computed value was stored
  barrierObject = 8,   ///< belongs to a live mbarrier
};

enum class Intent : uint8_t { Load, Store, Atomic, AsyncRead, AsyncWrite };

/// Where an access of a lane lands.
struct Place {
  std::byte *data = nullptr;
  uint8_t *shadow = nullptr; ///< null: nothing known
  program::Space space = program::Space::Global;
  uint64_t address = 0; ///< within `space`
};

/// Resolves one lane's access of `bytes` at `address` of `space`; reports and returns false when it is not allowed.
/// Always fatal then: the GPU would have stopped too.
bool place(Warp &warp, const Op &op, unsigned lane, program::Space space, uint64_t address, unsigned bytes,
           unsigned alignment, Intent intent, Place &out);

/// A load found shadow bytes that are not plainly written: reports async hazards and says which lanes are undefined.
void loadShadow(Warp &warp, const Op &op, unsigned lane, const Place &where, unsigned bytes, unsigned elementBytes,
                unsigned elements, uint32_t *undefinedLanes, uint32_t *computedLanes);
/// A store into `where`: marks it, reports async hazards, and undefined values that reach global memory.
void storeShadow(Warp &warp, const Op &op, unsigned lane, const Place &where, unsigned bytes, bool undefinedValue,
                 bool computed);

// Counting of traffic (counters on). Addresses of active lanes only count.
void countGlobal(Warp &warp, const Op &op, const uint64_t *addresses, uint32_t lanes, unsigned bytes,
                 GlobalTraffic &sum);
void countShared(Warp &warp, const Op &op, const uint64_t *addresses, uint32_t lanes, unsigned bytes,
                 SharedTraffic &sum);

/// Tells whether a lane's store leaves every byte as it was; asked where it matters only.
struct StoredValue {
  bool (*isThere)(const void *context, unsigned lane) = nullptr;
  const void *context = nullptr;
};
/// Accesses of `lanes` by the warp itself (Load, Store, Atomic) in shared or global memory, for the race detector;
/// Block::races must be set. Warps of a block that store the same value to one place, as those do that hold copies of
/// one result, are not at odds.
void recordAccess(Warp &warp, const Op &op, program::Space space, const uint64_t *addresses, uint32_t lanes,
                  unsigned bytes, Intent intent, StoredValue stored = {});

/// A look at something that other threads may change.
inline void notePoll(Warp &warp, const Op &op, uint64_t address) {
  ++warp.polling.count;
  warp.polling.op = &op;
  warp.polling.address = address;
}

/// Puts the allocation of `address` into the window that `op` uses.
void refillWindow(Warp &warp, const Op &op, uint64_t address);

// Async.cpp
const Op *runAsyncCopy(Warp &warp, const Op &op);
const Op *runAsyncCommit(Warp &warp, const Op &op);
const Op *runAsyncWait(Warp &warp, const Op &op);
const Op *runAtomic(Warp &warp, const Op &op);

} // namespace tessera::sim::machine
