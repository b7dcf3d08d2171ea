// cp.async: issue, groups, and the moment at which a copy takes effect.
#include "runtime/simulator/machine/Async.h"

#include "runtime/simulator/machine/Report.h"

#include <cstring>
#include <fmt/format.h>

namespace tessera::sim::machine {

using program::Space;

namespace {

uint64_t draw(uint64_t &state) {
  state += 0x9e3779b97f4a7c15;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// Random mode: some of the copies in flight may complete now.
void completeSome(Warp &w) {
  AsyncCopies &async = *w.async;
  for (AsyncCopy &copy : async.queue)
    if (copy.lanes && (draw(async.random) & 7) == 0)
      completeCopy(w, copy, copy.lanes);
  while (!async.queue.empty() && !async.queue.front().lanes)
    async.queue.pop_front();
}

} // namespace

void completeCopy(Warp &w, AsyncCopy &copy, uint32_t lanes) {
  if (w.checks && w.block->races) {
    uint64_t addresses[warpSize];
    for (unsigned i = 0; i < warpSize; ++i)
      addresses[i] = copy.destination[i];
    recordShared(w, *copy.op, addresses, lanes, copy.bytes, Intent::AsyncWrite);
  }
  for (uint32_t m = lanes; m; m &= m - 1) {
    int lane = __builtin_ctz(m);
    std::byte *to = w.shared + copy.destination[lane];
    unsigned copied = copy.copied[lane];
    if (!copy.done) {
      if (copied == 16)
        std::memcpy(to, copy.source[lane], 16);
      else if (copied)
        std::memcpy(to, copy.source[lane], copied);
      if (copied < copy.bytes)
        std::memset(to + copied, 0, copy.bytes - copied);
    }
    if (w.checks) {
      uint8_t *shadow = w.sharedShadow + copy.destination[lane];
      const uint8_t *from = copy.sourceShadow[lane];
      if (from && copied)
        for (unsigned k = 0; k < copied; ++k)
          shadow[k] = from[k] ? written : 0;
      else
        std::memset(shadow, written, copied);
      std::memset(shadow + copied, written, copy.bytes - copied);
    }
  }
  copy.lanes &= ~lanes;
}

const Op *runAsyncCopy(Warp &w, const Op &op) {
  const Options &options = *w.block->launch->options;
  AsyncCopies &async = *w.async;
  if (options.schedule == Schedule::Random)
    completeSome(w);
  unsigned bytes = op.vector;
  uint32_t zeroed =
      op.flags & program::IgnoreSource ? w.predicate(op.c) ^ (op.flags & program::NegatePredicate ? ~0u : 0) : 0;
  uint64_t destination[warpSize] = {}, source[warpSize] = {};
  bool narrow = op.flags & program::AddressIs32;
  if (w.checks)
    for (uint32_t field : {op.a, op.b, op.c})
      if (uint32_t bad = w.undef(field).lanes & w.active)
        reportUndefined(w, op, field, bad, "an address or size");
  async.queue.emplace_back();
  AsyncCopy &copy = async.queue.back();
  copy.op = &op;
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
    uint32_t size = bytes;
    if (op.flags & program::HasSourceSize)
      size = w.reg<uint32_t>(op.c)[lane];
    if (zeroed >> lane & 1)
      size = 0;
    if (size > bytes) {
      Evidence e;
      e.kind = FindingKind::Unsupported;
      e.fatal = true;
      e.lane = lane;
      e.message = fmt::format("the source size {} exceeds the copy size {}, which is undefined", size, bytes);
      report(w, op, std::move(e));
      async.queue.pop_back();
      return nullptr;
    }
    Place to, from;
    uint64_t at = destination[lane];
    bool inside = at >= w.sharedBegin && at <= w.sharedEnd - bytes && w.sharedEnd >= bytes && !(at & (bytes - 1));
    if (!inside && !place(w, op, lane, Space::Shared, at, bytes, bytes, Intent::AsyncWrite, to)) {
      async.queue.pop_back();
      return nullptr;
    }
    if (size) {
      reading |= 1u << lane;
      uint64_t s = source[lane];
      if (s - window.base <= window.size - bytes && window.size >= bytes && !(s & (bytes - 1))) {
        from.data = window.data + (s - window.base);
        from.shadow = window.shadow ? window.shadow + (s - window.base) : nullptr;
      } else {
        if (!place(w, op, lane, Space::Global, s, size, bytes, Intent::AsyncRead, from)) {
          async.queue.pop_back();
          return nullptr;
        }
        refillWindow(w, op, s);
      }
    }
    copy.group[lane] = async.open[lane];
    copy.destination[lane] = static_cast<uint32_t>(at);
    copy.source[lane] = from.data;
    copy.sourceShadow[lane] = from.shadow;
    copy.copied[lane] = static_cast<uint8_t>(size);
    if (w.checks) {
      uint8_t *shadow = w.sharedShadow + at, any = 0;
      for (unsigned k = 0; k < bytes; ++k) {
        any |= shadow[k];
        shadow[k] |= pending;
      }
      if (any & pending) {
        Evidence e;
        e.kind = FindingKind::AsyncHazard;
        e.lane = lane;
        e.hasAddress = true;
        e.address = at;
        e.bytes = bytes;
        e.space = "shared";
        e.object = describeShared(*w.block, static_cast<uint32_t>(at));
        e.message = "writes where another asynchronous copy has not been waited for";
        report(w, op, std::move(e));
      }
    }
  }
  if (w.counting) {
    if (reading)
      countGlobal(w, op, source, reading, bytes, w.block->counters.asyncCopies);
    countShared(w, op, destination, w.active, bytes, w.block->counters.asyncWrites);
  }
  if (options.schedule == Schedule::Eager) {
    // Takes effect at once, and counts as in flight until it is waited for.
    bool checks = w.checks;
    w.checks = false;
    uint32_t lanes = copy.lanes;
    completeCopy(w, copy, lanes);
    copy.lanes = lanes;
    copy.done = true;
    w.checks = checks;
  }
  return &op + 1;
}

const Op *runAsyncCommit(Warp &w, const Op &op) {
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
  auto leave = static_cast<uint64_t>(all ? 0 : op.imm);
  for (AsyncCopy &copy : async.queue) {
    uint32_t ready = 0;
    for (uint32_t m = copy.lanes & w.active; m; m &= m - 1) {
      int lane = __builtin_ctz(m);
      ready |= uint32_t(copy.group[lane] + leave < async.open[lane]) << lane;
    }
    if (ready)
      completeCopy(w, copy, ready);
  }
  while (!async.queue.empty() && !async.queue.front().lanes)
    async.queue.pop_front();
  return &op + 1;
}

} // namespace tessera::sim::machine
