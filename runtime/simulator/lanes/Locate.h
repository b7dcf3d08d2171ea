// Locate: the host storage of every lane's access, by a vectorised check where all lanes hit one allocation.
#pragma once

#include "runtime/simulator/lanes/Lanes.h"

namespace tessera::sim::lanes::TESSERA_SIM_ISA {
namespace {

using machine::GlobalWindow;
using machine::Intent;
using machine::Place;

/// Storage of each active lane.
struct Lanes {
  std::byte *data[warpSize];
  uint8_t *shadow[warpSize];
  uint64_t address[warpSize];
  Space space = Space::Global; ///< of the fast path; per lane in `spaces` otherwise
  bool mixed = false;
  Space spaces[warpSize];
};

inline void addresses(Warp &w, const Op &op, uint64_t *out) {
  auto offset = static_cast<uint64_t>(op.imm);
  if (op.flags & AddressIs32) {
    const uint32_t *a = w.reg<uint32_t>(op.a);
    auto offset32 = static_cast<uint32_t>(op.imm);
    TESSERA_LANES out[i] = static_cast<uint32_t>(a[i] + offset32);
  } else {
    if (op.flags & FrameBase)
      offset += w.frame->localBase;
    const uint64_t *a = w.reg<uint64_t>(op.a);
    TESSERA_LANES out[i] = a[i] + offset;
  }
}

/// True when all 32 addresses lie in [base, base + size) with `bytes` to go, and are aligned.
inline bool allInside(const uint64_t *address, uint64_t base, uint64_t size, unsigned bytes) {
  if (size < bytes)
    return false;
  uint64_t room = size - bytes, bad = 0, low = 0;
  TESSERA_LANES {
    uint64_t offset = address[i] - base;
    bad |= offset > room ? 1 : 0;
    low |= address[i];
  }
  return !bad && !(low & (bytes - 1));
}

/// The storage of lanes.address; false after a fatal report.
[[gnu::noinline]] inline bool locateAddresses(Warp &w, const Op &op, unsigned bytes, Intent intent, Lanes &lanes) {
  Space space = op.space;
  if (w.active == allLanes) {
    switch (space) {
    case Space::Shared:
      if (allInside(lanes.address, w.sharedBegin, w.sharedEnd - w.sharedBegin, bytes)) {
        TESSERA_LANES lanes.data[i] = w.shared + lanes.address[i];
        if (w.checks)
          TESSERA_LANES lanes.shadow[i] = w.sharedShadow + lanes.address[i];
        lanes.space = Space::Shared;
        return true;
      }
      break;
    case Space::Global:
    case Space::Const:
    case Space::Generic: {
      const GlobalWindow &window = w.windows[op.instruction % machine::windowCount];
      if (allInside(lanes.address, window.base, window.size, bytes) && (window.writable || intent == Intent::Load)) {
        TESSERA_LANES lanes.data[i] = window.data + (lanes.address[i] - window.base);
        if (window.shadow) {
          TESSERA_LANES lanes.shadow[i] = window.shadow + (lanes.address[i] - window.base);
        } else {
          TESSERA_LANES lanes.shadow[i] = nullptr;
        }
        lanes.space = Space::Global;
        return true;
      }
      break;
    }
    case Space::Local:
      if (allInside(lanes.address, 0, w.localBytes, bytes)) {
        TESSERA_LANES {
          uint64_t at = uint64_t(i) * w.localBytes + lanes.address[i];
          lanes.data[i] = w.local + at;
          if (w.checks)
            lanes.shadow[i] = w.localShadow + at;
        }
        lanes.space = Space::Local;
        return true;
      }
      break;
    default:
      break;
    }
  }
  lanes.mixed = true;
  for (uint32_t m = w.active; m; m &= m - 1) {
    auto i = static_cast<unsigned>(std::countr_zero(m));
    Place where;
    if (!machine::place(w, op, i, space, lanes.address[i], bytes, bytes, intent, where))
      return false;
    lanes.data[i] = where.data;
    lanes.shadow[i] = where.shadow;
    lanes.spaces[i] = where.space;
    lanes.address[i] = where.address;
  }
  if (w.active && (space == Space::Generic || space == Space::Global || space == Space::Const)) {
    auto first = static_cast<unsigned>(std::countr_zero(w.active));
    if (lanes.spaces[first] == Space::Global)
      machine::refillWindow(w, op, lanes.address[first]);
  }
  return true;
}

/// The storage of the address operand; false after a fatal report.
inline bool locate(Warp &w, const Op &op, unsigned bytes, Intent intent, Lanes &lanes) {
  addresses(w, op, lanes.address);
  if (w.checks)
    if (uint32_t bad = w.undef(op.a).lanes & w.active)
      machine::reportUndefined(w, op, op.a, bad, "an address");
  return locateAddresses(w, op, bytes, intent, lanes);
}

inline Space spaceOf(const Lanes &lanes, unsigned i) { return lanes.mixed ? lanes.spaces[i] : lanes.space; }

/// Lanes whose access is to `space`.
inline uint32_t lanesIn(const Warp &w, const Lanes &lanes, Space space) {
  if (!lanes.mixed)
    return lanes.space == space ? w.active : 0;
  uint32_t result = 0;
  for (uint32_t m = w.active; m; m &= m - 1) {
    auto i = static_cast<unsigned>(std::countr_zero(m));
    result |= uint32_t(lanes.spaces[i] == space) << i;
  }
  return result;
}

} // namespace
} // namespace tessera::sim::lanes::TESSERA_SIM_ISA
