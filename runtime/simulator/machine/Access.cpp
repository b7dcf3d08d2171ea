// The slow path of memory accesses: which storage a lane's address means, and what is wrong with it.
#include "runtime/simulator/machine/Access.h"

#include "runtime/simulator/machine/Async.h"
#include "runtime/simulator/machine/Mbarrier.h"
#include "runtime/simulator/machine/Report.h"

#include <algorithm>
#include <fmt/format.h>

namespace tessera::sim::machine {

using program::Space;

namespace {

const char *verb(Intent intent) {
  switch (intent) {
  case Intent::Load:
    return "load";
  case Intent::Store:
    return "store";
  case Intent::Atomic:
    return "atomic";
  case Intent::AsyncRead:
    return "asynchronous read";
  default:
    return "asynchronous write";
  }
}

bool writes(Intent intent) {
  return intent == Intent::Store || intent == Intent::Atomic || intent == Intent::AsyncWrite;
}

bool fault(Warp &warp, const Op &op, unsigned lane, FindingKind kind, Space space, uint64_t address, unsigned bytes,
           std::string object, std::string message) {
  Evidence e;
  e.kind = kind;
  e.fatal = true;
  e.lane = lane;
  e.hasAddress = true;
  e.address = address;
  e.bytes = bytes;
  e.space = ptx::toString(space);
  e.object = std::move(object);
  e.message = std::move(message);
  report(warp, op, std::move(e));
  return false;
}

} // namespace

bool place(Warp &warp, const Op &op, unsigned lane, Space space, uint64_t address, unsigned bytes, unsigned alignment,
           Intent intent, Place &out) {
  Block &block = *warp.block;
  if (space == Space::Generic) {
    if (address - sharedWindow < windowBytes) {
      space = Space::Shared;
      address -= sharedWindow;
    } else if (address - localWindow < windowBytes) {
      space = Space::Local;
      address -= localWindow;
    } else if (address - paramWindow < windowBytes) {
      space = Space::Param;
      address -= paramWindow;
    } else {
      space = Space::Global;
    }
  }
  if (space == Space::Const)
    space = Space::Global;
  out.space = space;
  out.address = address;
  auto object = [&]() -> std::string {
    switch (space) {
    case Space::Global:
      return describeGlobal(*block.launch->memory, address);
    case Space::Shared:
      return describeShared(block, static_cast<uint32_t>(std::min<uint64_t>(address, ~0u)));
    case Space::Local:
      return fmt::format("local memory of {} bytes per thread", warp.localBytes);
    default:
      return fmt::format("parameters of {} bytes", warp.parameterBytes);
    }
  };
  if (address & (alignment - 1))
    return fault(
        warp, op, lane, FindingKind::Misaligned, space, address, bytes, object(),
        fmt::format("{} of {} bytes at an address that is not a multiple of {}", verb(intent), bytes, alignment));
  switch (space) {
  case Space::Global: {
    Allocation *allocation = block.launch->memory->lookup(address);
    if (!allocation || bytes > allocation->base + allocation->size - address)
      return fault(warp, op, lane, FindingKind::OutOfBounds, space, address, bytes, object(),
                   fmt::format("{} of {} bytes outside every allocation", verb(intent), bytes));
    if (!allocation->live)
      return fault(warp, op, lane, FindingKind::UseAfterFree, space, address, bytes, object(),
                   fmt::format("{} of {} bytes in freed memory", verb(intent), bytes));
    out.data = allocation->data + (address - allocation->base);
    out.shadow = allocation->tracked && warp.checks ? allocation->shadow + (address - allocation->base) : nullptr;
    return true;
  }
  case Space::Shared:
    if (address < warp.sharedBegin || address > warp.sharedEnd || bytes > warp.sharedEnd - address)
      return fault(warp, op, lane, FindingKind::OutOfBounds, space, address, bytes, object(),
                   fmt::format("{} of {} bytes outside shared memory", verb(intent), bytes));
    out.data = warp.shared + address;
    out.shadow = warp.checks ? warp.sharedShadow + address : nullptr;
    return true;
  case Space::Local: {
    if (address > warp.localBytes || bytes > warp.localBytes - address)
      return fault(warp, op, lane, FindingKind::OutOfBounds, space, address, bytes, object(),
                   fmt::format("{} of {} bytes outside the thread's local memory", verb(intent), bytes));
    uint64_t at = uint64_t(lane) * warp.localBytes + address;
    out.data = warp.local + at;
    out.shadow = warp.checks ? warp.localShadow + at : nullptr;
    return true;
  }
  default:
    if (address > warp.parameterBytes || bytes > warp.parameterBytes - address)
      return fault(warp, op, lane, FindingKind::OutOfBounds, space, address, bytes, object(),
                   fmt::format("{} of {} bytes outside the kernel's parameters", verb(intent), bytes));
    if (writes(intent))
      return fault(warp, op, lane, FindingKind::OutOfBounds, space, address, bytes, object(),
                   fmt::format("{} to the kernel's parameters, which are read-only", verb(intent)));
    out.data = const_cast<std::byte *>(warp.parameters) + address;
    out.shadow = nullptr;
    return true;
  }
}

void refillWindow(Warp &warp, const Op &op, uint64_t address) {
  const Allocation *allocation = warp.block->launch->memory->lookup(address);
  if (!allocation || !allocation->live)
    return;
  GlobalWindow &window = warp.windows[op.instruction % windowCount];
  window = {allocation->base, allocation->size, allocation->data,
            allocation->tracked && warp.checks ? allocation->shadow : nullptr, true};
}

namespace {

void asyncHazard(Warp &warp, const Op &op, unsigned lane, const Place &where, unsigned bytes, bool load) {
  Evidence e;
  e.kind = FindingKind::AsyncHazard;
  e.lane = lane;
  e.hasAddress = true;
  e.address = where.address;
  e.bytes = bytes;
  e.space = ptx::toString(where.space);
  e.object = describeShared(*warp.block, static_cast<uint32_t>(where.address));
  e.message = load ? "reads the destination of an asynchronous copy that has not been waited for"
                   : "writes the destination of an asynchronous copy that has not been waited for";
  namePendingCopy(*warp.block, static_cast<uint32_t>(where.address), bytes, e);
  report(warp, op, std::move(e));
}

} // namespace

void loadShadow(Warp &warp, const Op &op, unsigned lane, const Place &where, unsigned bytes, unsigned elementBytes,
                unsigned elements, uint32_t *undefinedLanes, uint32_t *computedLanes) {
  bool hazard = false, barrier = false;
  for (unsigned e = 0; e < elements; ++e) {
    bool any = false, garbage = false;
    for (unsigned k = 0; k < elementBytes; ++k) {
      uint8_t s = where.shadow[e * elementBytes + k];
      any |= s & (written | pending);
      garbage |= s & computedGarbage;
      hazard |= s & pending;
      barrier |= s & barrierObject;
    }
    if (!any) {
      undefinedLanes[e] |= 1u << lane;
      computedLanes[e] |= uint32_t(garbage) << lane;
    }
  }
  if (hazard)
    asyncHazard(warp, op, lane, where, bytes, true);
  if (barrier)
    reportMbarrierAccess(warp, op, lane, static_cast<uint32_t>(where.address), bytes, true);
}

void storeShadow(Warp &warp, const Op &op, unsigned lane, const Place &where, unsigned bytes, bool undefinedValue,
                 bool computed) {
  if (undefinedValue && computed && where.space == Space::Global) {
    Evidence e;
    e.kind = FindingKind::UninitialisedRead;
    e.lane = lane;
    e.hasAddress = true;
    e.address = where.address;
    e.bytes = bytes;
    e.space = "global";
    e.object = describeGlobal(*warp.block->launch->memory, where.address);
    e.message = "stores a result that was computed from a register or memory that nothing has written";
    report(warp, op, std::move(e));
    undefinedValue = false; // once is enough
  }
  bool hazard = false, barrier = false;
  for (unsigned k = 0; k < bytes && where.shadow; ++k) {
    hazard |= where.shadow[k] & pending;
    uint8_t object = where.shadow[k] & barrierObject;
    barrier |= object;
    bool garbage = undefinedValue && computed && where.space != Space::Global;
    where.shadow[k] = object | (!undefinedValue ? written : garbage ? computedGarbage : 0);
  }
  if (hazard)
    asyncHazard(warp, op, lane, where, bytes, false);
  if (barrier)
    reportMbarrierAccess(warp, op, lane, static_cast<uint32_t>(where.address), bytes, false);
}

} // namespace tessera::sim::machine
