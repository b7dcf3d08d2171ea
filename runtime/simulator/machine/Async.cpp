// cp.async: issue, groups, arrivals at mbarriers, and the moments at which they take effect.
#include "runtime/simulator/machine/Async.h"

#include "runtime/simulator/machine/Mbarrier.h"
#include "runtime/simulator/machine/Races.h"
#include "runtime/simulator/machine/Report.h"

#include <cstring>
#include <fmt/format.h>

namespace tessera::sim::machine {

using program::Space;

namespace {

Schedule scheduleOf(const Block &block) { return block.launch->options->schedule; }

/// Writes the bytes of `lanes`, once.
void move(Warp &w, AsyncCopy &copy, uint32_t lanes) {
  lanes &= ~copy.moved;
  copy.moved |= lanes;
  for (uint32_t m = lanes; m; m &= m - 1) {
    int lane = __builtin_ctz(m);
    std::byte *to = w.shared + copy.destination[lane];
    unsigned copied = copy.copied[lane];
    if (copied == 16)
      std::memcpy(to, copy.source[lane], 16);
    else if (copied)
      std::memcpy(to, copy.source[lane], copied);
    if (copied < copy.bytes)
      std::memset(to + copied, 0, copy.bytes - copied);
  }
}

/// The copies of `lanes` are complete: their destination is ordinary memory again.
void complete(Warp &w, AsyncCopy &copy, uint32_t lanes) {
  move(w, copy, lanes);
  copy.lanes &= ~lanes;
  if (!w.checks)
    return;
  for (uint32_t m = lanes; m; m &= m - 1) {
    int lane = __builtin_ctz(m);
    uint8_t *shadow = w.sharedShadow + copy.destination[lane];
    const uint8_t *from = copy.sourceShadow[lane];
    for (unsigned k = 0; k < copy.bytes; ++k) {
      bool defined = k >= copy.copied[lane] || !from || from[k];
      shadow[k] = static_cast<uint8_t>((shadow[k] & barrierObject) | (defined ? written : 0));
    }
  }
}

void forgetComplete(AsyncCopies &async) {
  while (!async.queue.empty() && !async.queue.front().lanes)
    async.queue.pop_front();
  // Behind one that is never waited for.
  if (async.queue.size() >= 512 && async.queue.size() % 256 == 0)
    std::erase_if(async.queue, [](const AsyncCopy &copy) { return !copy.lanes; });
}

/// The arrival of `lanes` takes effect. False after a fatal report.
bool carryOut(Warp &w, AsyncArrival &arrival, uint32_t lanes) {
  AsyncCopies &async = *w.async;
  for (AsyncCopy &copy : async.queue)
    if (copy.serial < arrival.before && (copy.lanes & lanes))
      complete(w, copy, copy.lanes & lanes);
  forgetComplete(async);
  arrival.lanes &= ~lanes;
  for (uint32_t m = lanes; m; m &= m - 1) {
    auto lane = static_cast<unsigned>(__builtin_ctz(m));
    Arrival arrive;
    arrive.releases = false;
    arrive.copies = arrival.interval[lane];
    uint64_t before = 0;
    if (!arriveAt(w, *arrival.op, lane, arrival.address[lane], arrive, before))
      return false;
  }
  return true;
}

void forgetArrivals(AsyncCopies &async) {
  while (!async.arrivals.empty() && !async.arrivals.front().lanes)
    async.arrivals.pop_front();
}

uint32_t lanesAt(const AsyncArrival &arrival, uint32_t address) {
  uint32_t lanes = 0;
  for (uint32_t m = arrival.lanes; m; m &= m - 1) {
    int lane = __builtin_ctz(m);
    lanes |= uint32_t(arrival.address[lane] == address) << lane;
  }
  return lanes;
}

/// The source is at least `bytes` long where it is read; false after a report.
bool sourceSize(Warp &w, const Op &op, unsigned lane, unsigned bytes, uint32_t &size) {
  size = op.flags & program::HasSourceSize ? w.reg<uint32_t>(op.c)[lane] : bytes;
  if (op.flags & program::IgnoreSource) {
    uint32_t zeroed = w.predicate(op.c) ^ (op.flags & program::NegatePredicate ? ~0u : 0);
    if (zeroed >> lane & 1)
      size = 0;
  }
  if (size <= bytes)
    return true;
  Evidence e;
  e.kind = FindingKind::Unsupported;
  e.fatal = true;
  e.lane = lane;
  e.message = fmt::format("the source size {} exceeds the copy size {}, which is undefined", size, bytes);
  report(w, op, std::move(e));
  return false;
}

/// Calls `visit(copy, warp, lane)` for everything in flight into these bytes, until it returns false.
template <class Visit> void forOverlaps(const Block &block, uint32_t address, unsigned bytes, Visit visit) {
  for (const Warp &w : block.warps)
    for (const AsyncCopy &copy : w.async->queue)
      for (uint32_t m = copy.lanes; m; m &= m - 1) {
        auto lane = static_cast<unsigned>(__builtin_ctz(m));
        uint32_t to = copy.destination[lane];
        if (to < address + bytes && address < to + copy.bytes && !visit(copy, w, lane))
          return;
      }
}

/// Threads may fetch the same bytes to the same place, as the surplus lanes of a cooperative group do.
bool sameCopy(const AsyncCopy &a, unsigned laneA, const AsyncCopy &b, unsigned laneB) {
  return a.bytes == b.bytes && a.destination[laneA] == b.destination[laneB] && a.source[laneA] == b.source[laneB] &&
         a.copied[laneA] == b.copied[laneB];
}

/// The first copy in flight that writes something else into the destination of this lane.
bool findOverlap(const Block &block, const AsyncCopy &copy, unsigned lane, Evidence &evidence) {
  bool found = false;
  forOverlaps(block, copy.destination[lane], copy.bytes,
              [&](const AsyncCopy &other, const Warp &w, unsigned otherLane) {
                if (sameCopy(copy, lane, other, otherLane))
                  return true;
                describeOther(*block.launch, evidence, block.linear, w.index, otherLane, other.op->instruction);
                found = true;
                return false;
              });
  return found;
}

/// Marks the destination of one lane; reports when it is one already, or belongs to an mbarrier. The copy is queued.
void markPending(Warp &w, const Op &op, const AsyncCopy &copy, unsigned lane) {
  uint32_t address = copy.destination[lane];
  unsigned bytes = copy.bytes;
  uint8_t *shadow = w.sharedShadow + address, any = 0;
  for (unsigned k = 0; k < bytes; ++k)
    any |= shadow[k];
  if (any & barrierObject)
    reportMbarrierAccess(w, op, lane, address, bytes, false);
  Evidence e;
  if ((any & pending) && findOverlap(*w.block, copy, lane, e)) {
    e.kind = FindingKind::AsyncHazard;
    e.lane = lane;
    e.hasAddress = true;
    e.address = address;
    e.bytes = bytes;
    e.space = "shared";
    e.object = describeShared(*w.block, address);
    e.message = "writes where another asynchronous copy has not been waited for";
    report(w, op, std::move(e));
  }
  for (unsigned k = 0; k < bytes; ++k)
    shadow[k] |= pending;
}

} // namespace

void advanceCopies(Block &block) {
  if (scheduleOf(block) != Schedule::Random)
    return;
  for (Warp &w : block.warps) {
    AsyncCopies &async = *w.async;
    for (AsyncCopy &copy : async.queue)
      if ((copy.lanes & ~copy.moved) && block.random.below(8) == 0)
        move(w, copy, copy.lanes & static_cast<uint32_t>(block.random.next()));
    for (AsyncArrival &arrival : async.arrivals)
      if (arrival.lanes && block.random.below(8) == 0 &&
          !carryOut(w, arrival, arrival.lanes & static_cast<uint32_t>(block.random.next())))
        return;
    forgetArrivals(async);
  }
}

bool carryOutArrivals(Block &block, uint32_t address) {
  bool some = scheduleOf(block) == Schedule::Random;
  for (Warp &w : block.warps) {
    AsyncCopies &async = *w.async;
    for (AsyncArrival &arrival : async.arrivals) {
      uint32_t lanes = lanesAt(arrival, address);
      if (some && lanes && block.random.below(2))
        lanes &= static_cast<uint32_t>(block.random.next());
      if (lanes && !carryOut(w, arrival, lanes))
        return false;
    }
    forgetArrivals(async);
  }
  return block.status == BlockStatus::Running;
}

unsigned outstandingArrivals(const Block &block, uint32_t address) {
  unsigned threads = 0;
  for (const Warp &w : block.warps)
    for (const AsyncArrival &arrival : w.async->arrivals)
      threads += static_cast<unsigned>(__builtin_popcount(lanesAt(arrival, address)));
  return threads;
}

void namePendingCopy(const Block &block, uint32_t address, unsigned bytes, Evidence &evidence) {
  forOverlaps(block, address, bytes, [&](const AsyncCopy &copy, const Warp &w, unsigned lane) {
    describeOther(*block.launch, evidence, block.linear, w.index, lane, copy.op->instruction);
    return false;
  });
}

const Op *runAsyncCopy(Warp &w, const Op &op) {
  advanceCopies(*w.block);
  AsyncCopies &async = *w.async;
  unsigned bytes = op.vector;
  uint64_t destination[warpSize] = {}, source[warpSize] = {};
  bool narrow = op.flags & program::AddressIs32;
  if (w.checks) {
    for (uint32_t field : {op.a, op.b})
      if (uint32_t bad = w.undef(field).lanes & w.active)
        reportUndefined(w, op, field, bad, "an address");
    if (uint32_t bad = w.undef(op.c).lanes & w.active)
      reportUndefined(w, op, op.c, bad, op.flags & program::IgnoreSource ? "a predicate" : "a size");
  }
  AsyncCopy copy;
  copy.op = &op;
  copy.serial = async.issued;
  copy.bytes = static_cast<uint8_t>(bytes);
  copy.lanes = w.active;
  uint32_t reading = 0;
  const uint64_t offset = w.reg<uint64_t>(op.d)[0];
  const GlobalWindow &window = w.windows[op.instruction % windowCount];
  for (uint32_t m = w.active; m; m &= m - 1) {
    auto lane = static_cast<unsigned>(__builtin_ctz(m));
    destination[lane] = narrow ? uint32_t(w.reg<uint32_t>(op.a)[lane] + uint32_t(op.imm))
                               : w.reg<uint64_t>(op.a)[lane] + uint64_t(op.imm);
    source[lane] = w.reg<uint64_t>(op.b)[lane] + offset;
    uint32_t size = 0;
    if (!sourceSize(w, op, lane, bytes, size))
      return nullptr;
    Place to, from;
    uint64_t at = destination[lane];
    bool inside = at >= w.sharedBegin && at <= w.sharedEnd - bytes && w.sharedEnd >= bytes && !(at & (bytes - 1));
    if (!inside && !place(w, op, lane, Space::Shared, at, bytes, bytes, Intent::AsyncWrite, to))
      return nullptr;
    if (size) {
      reading |= 1u << lane;
      uint64_t s = source[lane];
      if (s - window.base <= window.size - bytes && window.size >= bytes && !(s & (bytes - 1))) {
        from.data = window.data + (s - window.base);
        from.shadow = window.shadow ? window.shadow + (s - window.base) : nullptr;
      } else {
        if (!place(w, op, lane, Space::Global, s, size, bytes, Intent::AsyncRead, from))
          return nullptr;
        refillWindow(w, op, s);
      }
    }
    copy.group[lane] = async.open[lane];
    copy.destination[lane] = static_cast<uint32_t>(at);
    copy.source[lane] = from.data;
    copy.sourceShadow[lane] = from.shadow;
    copy.copied[lane] = static_cast<uint8_t>(size);
  }
  ++async.issued;
  async.queue.push_back(copy);
  if (w.checks) {
    for (uint32_t m = w.active; m; m &= m - 1)
      markPending(w, op, copy, static_cast<unsigned>(__builtin_ctz(m)));
    if (w.block->races) {
      copy.interval = async.queue.back().interval = raceIssue(w);
      uint8_t all[warpSize];
      std::memset(all, static_cast<int>(bytes), sizeof all);
      recordCopy(w, op, Space::Shared, destination, w.active, all, Intent::AsyncWrite, copy.interval);
      if (reading)
        recordCopy(w, op, Space::Global, source, reading, copy.copied, Intent::AsyncRead, copy.interval);
      for (uint32_t m = w.active; m; m &= m - 1) {
        int lane = __builtin_ctz(m);
        async.latest[lane] = copy.interval;
        async.groups[copy.group[lane]] = copy.interval;
      }
    }
  }
  if (w.counting) {
    if (reading)
      countGlobal(w, op, source, reading, bytes, w.block->counters.asyncCopies);
    countShared(w, op, destination, w.active, bytes, w.block->counters.asyncWrites);
  }
  if (scheduleOf(*w.block) == Schedule::Eager)
    move(w, async.queue.back(), w.active);
  return &op + 1;
}

const Op *runAsyncCommit(Warp &w, const Op &op) {
  advanceCopies(*w.block);
  if (w.active == allLanes) {
    for (uint32_t &serial : w.async->open)
      ++serial;
  } else {
    for (uint32_t m = w.active; m; m &= m - 1)
      ++w.async->open[__builtin_ctz(m)];
  }
  return &op + 1;
}

const Op *runAsyncWait(Warp &w, const Op &op) {
  AsyncCopies &async = *w.async;
  bool all = op.code == program::Opcode::CpAsyncWaitAll;
  if (all)
    runAsyncCommit(w, op);
  else
    advanceCopies(*w.block);
  auto leave = static_cast<uint64_t>(all ? 0 : op.imm);
  for (AsyncCopy &copy : async.queue) {
    uint32_t ready = 0;
    for (uint32_t m = copy.lanes & w.active; m; m &= m - 1) {
      int lane = __builtin_ctz(m);
      ready |= uint32_t(copy.group[lane] + leave < async.open[lane]) << lane;
    }
    if (ready)
      complete(w, copy, ready);
  }
  forgetComplete(async);
  if (async.groups.empty())
    return &op + 1;
  // The warp learns of the copies in all groups that any of its lanes has waited for.
  uint64_t end = 0;
  for (uint32_t m = w.active; m; m &= m - 1)
    end =
        std::max<uint64_t>(end, async.open[__builtin_ctz(m)] - std::min<uint64_t>(leave, async.open[__builtin_ctz(m)]));
  uint32_t interval = 0;
  while (!async.groups.empty() && async.groups.begin()->first < end) {
    interval = std::max(interval, async.groups.begin()->second);
    async.groups.erase(async.groups.begin());
  }
  raceComplete(w, interval);
  return &op + 1;
}

const Op *runAsyncArrive(Warp &w, const Op &op) {
  advanceCopies(*w.block);
  AsyncCopies &async = *w.async;
  if (w.checks)
    if (uint32_t bad = w.undef(op.a).lanes & w.active)
      reportUndefined(w, op, op.a, bad, "an address");
  AsyncArrival arrival;
  arrival.op = &op;
  arrival.before = async.issued;
  arrival.lanes = w.active;
  for (uint32_t m = w.active; m; m &= m - 1) {
    auto lane = static_cast<unsigned>(__builtin_ctz(m));
    if (!locateMbarrier(w, op, lane, true, arrival.address[lane]))
      return nullptr;
    arrival.interval[lane] = async.latest[lane];
  }
  if (!(op.variant & program::NoIncrement))
    for (uint32_t m = w.active; m; m &= m - 1) {
      auto lane = static_cast<unsigned>(__builtin_ctz(m));
      if (!addPending(w, op, lane, arrival.address[lane]))
        return nullptr;
    }
  async.arrivals.push_back(arrival);
  if (scheduleOf(*w.block) == Schedule::Eager) {
    if (!carryOut(w, async.arrivals.back(), w.active))
      return nullptr;
    forgetArrivals(async);
  }
  return &op + 1;
}

} // namespace tessera::sim::machine
