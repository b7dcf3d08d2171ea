// The slow path of memory accesses: which storage a lane's address means, and what is wrong with it.
#include "runtime/simulator/machine/Access.h"

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
  report(warp, op, std::move(e));
}

} // namespace

void loadShadow(Warp &warp, const Op &op, unsigned lane, const Place &where, unsigned bytes, unsigned elementBytes,
                unsigned elements, uint32_t *undefinedLanes, uint32_t *computedLanes) {
  bool hazard = false;
  for (unsigned e = 0; e < elements; ++e) {
    bool any = false, garbage = false;
    for (unsigned k = 0; k < elementBytes; ++k) {
      uint8_t s = where.shadow[e * elementBytes + k];
      any |= s & (written | pending);
      garbage |= s & computedGarbage;
      hazard |= s & pending;
    }
    if (!any) {
      undefinedLanes[e] |= 1u << lane;
      computedLanes[e] |= uint32_t(garbage) << lane;
    }
  }
  if (hazard)
    asyncHazard(warp, op, lane, where, bytes, true);
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
  bool hazard = false;
  for (unsigned k = 0; k < bytes && where.shadow; ++k) {
    hazard |= where.shadow[k] & pending;
    where.shadow[k] = !undefinedValue                ? uint8_t(written)
                      : where.space == Space::Global ? uint8_t(0)
                      : computed                     ? uint8_t(computedGarbage)
                                                     : uint8_t(0);
  }
  if (hazard)
    asyncHazard(warp, op, lane, where, bytes, false);
}

void countGlobal(Warp &warp, const Op &op, const uint64_t *addresses, uint32_t lanes, unsigned bytes,
                 GlobalTraffic &sum) {
  // Distinct 32-byte sectors of the whole request.
  uint64_t sectors[warpSize * 2];
  unsigned n = 0;
  for (uint32_t m = lanes; m; m &= m - 1) {
    uint64_t first = addresses[__builtin_ctz(m)] / 32, last = (addresses[__builtin_ctz(m)] + bytes - 1) / 32;
    for (uint64_t s = first; s <= last && n < std::size(sectors); ++s)
      if (!n || sectors[n - 1] != s)
        sectors[n++] = s;
  }
  std::sort(sectors, sectors + n);
  auto distinct = static_cast<uint64_t>(std::unique(sectors, sectors + n) - sectors);
  uint64_t asked = uint64_t(__builtin_popcount(lanes)) * bytes;
  sum.requests += 1;
  sum.bytes += asked;
  sum.sectors += distinct;
  InstructionCount &count = warp.block->counts[op.instruction];
  count.sectors += distinct;
  count.bytes += asked;
}

/// Shared memory serves 32 banks of 4 bytes per wavefront. Accesses of 8 bytes go by half warps, of 16 by quarters
/// (as the hardware groups them); equal words in one group are one access.
void countShared(Warp &warp, const Op &op, const uint64_t *addresses, uint32_t lanes, unsigned bytes,
                 SharedTraffic &sum) {
  unsigned group = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8;
  uint64_t waves = 0, ideal = 0;
  for (unsigned first = 0; first < warpSize; first += group) {
    uint32_t words[warpSize * 2];
    unsigned n = 0;
    for (unsigned lane = first; lane < first + group; ++lane)
      if (lanes >> lane & 1) {
        auto low = static_cast<uint32_t>(addresses[lane] / 4),
             high = static_cast<uint32_t>((addresses[lane] + bytes - 1) / 4);
        for (uint32_t word = low; word <= high && n < std::size(words); ++word)
          words[n++] = word;
      }
    if (!n)
      continue;
    std::sort(words, words + n);
    n = static_cast<unsigned>(std::unique(words, words + n) - words);
    unsigned banks[32] = {}, most = 0;
    for (unsigned i = 0; i < n; ++i)
      most = std::max(most, ++banks[words[i] % 32]);
    waves += most;
    ideal += (n + 31) / 32;
  }
  uint64_t asked = uint64_t(__builtin_popcount(lanes)) * bytes;
  sum.requests += 1;
  sum.bytes += asked;
  sum.wavefronts += waves;
  sum.ideal += ideal;
  InstructionCount &count = warp.block->counts[op.instruction];
  count.wavefronts += waves;
  count.ideal += ideal;
}

} // namespace tessera::sim::machine
