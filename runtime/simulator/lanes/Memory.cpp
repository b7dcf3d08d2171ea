// Loads, stores and ldmatrix on 32 lanes: a vectorised check of all addresses, then plain copies.
#include "runtime/simulator/lanes/Lanes.h"

#include "runtime/simulator/machine/Access.h"

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

void addresses(Warp &w, const Op &op, uint64_t *out) {
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
bool allInside(const uint64_t *address, uint64_t base, uint64_t size, unsigned bytes) {
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

/// False after a fatal report.
bool locate(Warp &w, const Op &op, unsigned bytes, Intent intent, Lanes &lanes) {
  addresses(w, op, lanes.address);
  Space space = op.space;
  if (w.checks)
    if (uint32_t bad = w.undef(op.a).lanes & w.active)
      machine::reportUndefined(w, op, op.a, bad, "an address");
  if (w.active == allLanes) {
    switch (space) {
    case Space::Shared:
      if (allInside(lanes.address, w.sharedBegin, w.sharedEnd - w.sharedBegin, bytes)) {
        TESSERA_LANES {
          lanes.data[i] = w.shared + lanes.address[i];
          lanes.shadow[i] = w.sharedShadow + lanes.address[i];
        }
        lanes.space = Space::Shared;
        return true;
      }
      break;
    case Space::Global:
    case Space::Const:
    case Space::Generic: {
      const GlobalWindow &window = w.windows[op.instruction % machine::windowCount];
      if (allInside(lanes.address, window.base, window.size, bytes) && (window.writable || intent == Intent::Load)) {
        std::byte *data = window.data - window.base;
        TESSERA_LANES lanes.data[i] = data + lanes.address[i];
        if (window.shadow) {
          uint8_t *shadow = window.shadow - window.base;
          TESSERA_LANES lanes.shadow[i] = shadow + lanes.address[i];
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

Space spaceOf(const Lanes &lanes, unsigned i) { return lanes.mixed ? lanes.spaces[i] : lanes.space; }

/// Lanes whose access is to `space`.
uint32_t lanesIn(const Warp &w, const Lanes &lanes, Space space) {
  if (!lanes.mixed)
    return lanes.space == space ? w.active : 0;
  uint32_t result = 0;
  for (uint32_t m = w.active; m; m &= m - 1) {
    auto i = static_cast<unsigned>(std::countr_zero(m));
    result |= uint32_t(lanes.spaces[i] == space) << i;
  }
  return result;
}

void count(Warp &w, const Op &op, const Lanes &lanes, unsigned bytes, bool store) {
  Counters &c = w.block->counters;
  if (uint32_t in = lanesIn(w, lanes, Space::Global))
    machine::countGlobal(w, op, lanes.address, in, bytes, store ? c.globalStores : c.globalLoads);
  if (uint32_t in = lanesIn(w, lanes, Space::Shared))
    machine::countShared(w, op, lanes.address, in, bytes, store ? c.sharedStores : c.sharedLoads);
  c.localBytes += uint64_t(std::popcount(lanesIn(w, lanes, Space::Local))) * bytes;
}

void races(Warp &w, const Op &op, const Lanes &lanes, unsigned bytes, Intent intent) {
  if (uint32_t in = w.block->races ? lanesIn(w, lanes, Space::Shared) : 0)
    machine::recordShared(w, op, lanes.address, in, bytes, intent);
}

/// True when every byte of every active lane is plainly written.
bool plainlyWritten(const Warp &w, const Lanes &lanes, unsigned bytes) {
  uint64_t wrong = 0;
  for (uint32_t m = w.active; m; m &= m - 1) {
    const uint8_t *s = lanes.shadow[std::countr_zero(m)];
    if (!s)
      continue;
    if (bytes >= 8) {
      for (unsigned k = 0; k < bytes; k += 8) {
        uint64_t v;
        std::memcpy(&v, s + k, 8);
        wrong |= v ^ 0x0101010101010101;
      }
    } else {
      for (unsigned k = 0; k < bytes; ++k)
        wrong |= s[k] ^ 1u;
    }
  }
  return wrong == 0;
}

void checkLoad(Warp &w, const Op &op, const Lanes &lanes, unsigned bytes) {
  uint32_t undefined[8] = {}, computed[8] = {};
  unsigned element = ptx::sizeOf(op.type);
  if (!plainlyWritten(w, lanes, bytes))
    for (uint32_t m = w.active; m; m &= m - 1) {
      auto i = static_cast<unsigned>(std::countr_zero(m));
      if (lanes.shadow[i])
        machine::loadShadow(w, op, i, {lanes.data[i], lanes.shadow[i], spaceOf(lanes, i), lanes.address[i]}, bytes, element,
                            op.vector, undefined, computed);
    }
  for (unsigned v = 0; v < op.vector; ++v) {
    Undefined &u = w.undef(op.ext[v]);
    u.lanes = (u.lanes & ~w.active) | undefined[v];
    u.computed = (u.computed & ~w.active) | computed[v];
  }
}

void checkStore(Warp &w, const Op &op, const Lanes &lanes, unsigned bytes) {
  unsigned element = ptx::sizeOf(op.type);
  uint32_t undefined = 0;
  for (unsigned v = 0; v < op.vector; ++v)
    undefined |= w.undef(op.ext[v]).lanes;
  undefined &= w.active;
  bool simple = !undefined;
  if (simple) {
    uint8_t any = 0;
    for (uint32_t m = w.active; m; m &= m - 1)
      if (const uint8_t *s = lanes.shadow[std::countr_zero(m)])
        for (unsigned k = 0; k < bytes; ++k)
          any |= s[k];
    simple = !(any & machine::pending);
  }
  for (uint32_t m = w.active; m; m &= m - 1) {
    auto i = static_cast<unsigned>(std::countr_zero(m));
    if (simple) {
      if (lanes.shadow[i])
        std::memset(lanes.shadow[i], machine::written, bytes);
      continue;
    }
    for (unsigned v = 0; v < op.vector; ++v) {
      const Undefined &u = w.undef(op.ext[v]);
      Place where{lanes.data[i] + v * element, lanes.shadow[i] ? lanes.shadow[i] + v * element : nullptr, spaceOf(lanes, i), lanes.address[i] + v * element};
      machine::storeShadow(w, op, i, where, element, u.lanes >> i & 1, u.computed >> i & 1);
    }
  }
}

/// M: memory element, R: register element. Signed M extends.
template <class M, class R, unsigned V> const Op *load(Warp &w, const Op &op) {
  Lanes lanes;
  constexpr unsigned bytes = sizeof(M) * V;
  if (!locate(w, op, bytes, Intent::Load, lanes))
    return nullptr;
  if (w.counting)
    count(w, op, lanes, bytes, false);
  if (w.checks) {
    races(w, op, lanes, bytes, Intent::Load);
    checkLoad(w, op, lanes, bytes);
  }
  R *d[V];
  for (unsigned v = 0; v < V; ++v)
    d[v] = w.reg<R>(op.ext[v]);
  if (w.active == allLanes) {
    for (unsigned i = 0; i < warpSize; ++i) {
      M value[V];
      std::memcpy(value, lanes.data[i], bytes);
      for (unsigned v = 0; v < V; ++v)
        d[v][i] = static_cast<R>(value[v]);
    }
  } else {
    for (uint32_t m = w.active; m; m &= m - 1) {
      int i = std::countr_zero(m);
      M value[V];
      std::memcpy(value, lanes.data[i], bytes);
      for (unsigned v = 0; v < V; ++v)
        d[v][i] = static_cast<R>(value[v]);
    }
  }
  return &op + 1;
}

/// M: memory element, R: register element, at least as wide.
template <class M, class R, unsigned V> const Op *store(Warp &w, const Op &op) {
  Lanes lanes;
  constexpr unsigned bytes = sizeof(M) * V;
  if (!locate(w, op, bytes, Intent::Store, lanes))
    return nullptr;
  if (w.counting)
    count(w, op, lanes, bytes, true);
  if (w.checks) {
    races(w, op, lanes, bytes, Intent::Store);
    checkStore(w, op, lanes, bytes);
  }
  const R *s[V];
  for (unsigned v = 0; v < V; ++v)
    s[v] = w.reg<R>(op.ext[v]);
  for (uint32_t m = w.active; m; m &= m - 1) {
    int i = std::countr_zero(m);
    M value[V];
    for (unsigned v = 0; v < V; ++v)
      value[v] = static_cast<M>(s[v][i]);
    std::memcpy(lanes.data[i], value, bytes);
  }
  return &op + 1;
}

struct Wide128 {
  uint64_t low, high;
};

template <class M, class R> Handler loadVector(const Op &op) {
  switch (op.vector) {
  case 1: return load<M, R, 1>;
  case 2: return load<M, R, 2>;
  case 4: return load<M, R, 4>;
  default: return load<M, R, 8>;
  }
}
template <class M, class R> Handler storeVector(const Op &op) {
  switch (op.vector) {
  case 1: return store<M, R, 1>;
  case 2: return store<M, R, 2>;
  case 4: return store<M, R, 4>;
  default: return store<M, R, 8>;
  }
}
template <class M> Handler loadInto(const Op &op) {
  switch (op.registerBytes) {
  case 1: return loadVector<M, uint8_t>(op);
  case 2: return loadVector<M, uint16_t>(op);
  case 4: return loadVector<M, uint32_t>(op);
  case 8: return loadVector<M, uint64_t>(op);
  default: return nullptr;
  }
}
template <class M> Handler storeFrom(const Op &op) {
  switch (op.sourceBytes) {
  case 1: return storeVector<M, uint8_t>(op);
  case 2: return storeVector<M, uint16_t>(op);
  case 4: return storeVector<M, uint32_t>(op);
  case 8: return storeVector<M, uint64_t>(op);
  default: return nullptr;
  }
}

// ldmatrix and stmatrix. A matrix is 8 rows of 16 bytes; register j of all lanes is matrix j, row by row:
//   lane 4·g + q holds row g, columns 2q and 2q + 1.
void transpose(const uint16_t *in, uint16_t *out) {
  for (unsigned r = 0; r < 8; ++r)
    for (unsigned c = 0; c < 8; ++c)
      out[c * 8 + r] = in[r * 8 + c];
}

/// Addresses of the rows in lanes.data[0 .. 8·matrices); false after a fatal report.
bool locateRows(Warp &w, const Op &op, Intent intent, Lanes &lanes) {
  if (!machine::checkConverged(w, op))
    return false;
  uint32_t used = op.vector == 4 ? allLanes : (1u << (8 * op.vector)) - 1, saved = w.active;
  w.active = used;
  bool ok = locate(w, op, 16, intent, lanes);
  if (ok && w.counting)
    machine::countShared(w, op, lanes.address, used, 16, w.block->counters.ldmatrix);
  if (ok && w.checks && w.block->races)
    machine::recordShared(w, op, lanes.address, used, 16, intent);
  w.active = saved;
  return ok;
}

template <bool Transposed> const Op *ldmatrix(Warp &w, const Op &op) {
  Lanes lanes;
  if (!locateRows(w, op, Intent::Load, lanes))
    return nullptr;
  if (w.checks) {
    for (unsigned j = 0; j < op.vector; ++j) {
      Undefined u;
      for (unsigned r = 0; r < 8; ++r) {
        unsigned from = 8 * j + r;
        uint64_t s[2];
        std::memcpy(s, lanes.shadow[from], 16);
        if (!((s[0] ^ 0x0101010101010101) | (s[1] ^ 0x0101010101010101)))
          continue;
        uint32_t undefined[8] = {}, computed[8] = {};
        machine::loadShadow(w, op, from, {lanes.data[from], lanes.shadow[from], spaceOf(lanes, from), lanes.address[from]}, 16, 2, 8,
                            undefined, computed);
        for (unsigned c = 0; c < 8; ++c) {
          unsigned lane = Transposed ? 4 * c + r / 2 : 4 * r + c / 2;
          u.lanes |= uint32_t(undefined[c] != 0) << lane;
          u.computed |= uint32_t(computed[c] != 0) << lane;
        }
      }
      w.undef(op.ext[j]) = u;
    }
  }
  for (unsigned j = 0; j < op.vector; ++j) {
    auto *d = w.reg<std::byte>(op.ext[j]);
    if constexpr (Transposed) {
      uint16_t in[64], out[64];
      for (unsigned r = 0; r < 8; ++r)
        std::memcpy(in + 8 * r, lanes.data[8 * j + r], 16);
      transpose(in, out);
      std::memcpy(d, out, 128);
    } else {
      for (unsigned r = 0; r < 8; ++r)
        std::memcpy(d + 16 * r, lanes.data[8 * j + r], 16);
    }
  }
  return &op + 1;
}

template <bool Transposed> const Op *stmatrix(Warp &w, const Op &op) {
  Lanes lanes;
  if (!locateRows(w, op, Intent::Store, lanes))
    return nullptr;
  for (unsigned j = 0; j < op.vector; ++j) {
    uint16_t in[64], out[64];
    std::memcpy(in, w.reg<std::byte>(op.ext[j]), 128);
    if (Transposed)
      transpose(in, out);
    for (unsigned r = 0; r < 8; ++r) {
      unsigned to = 8 * j + r;
      std::memcpy(lanes.data[to], (Transposed ? out : in) + 8 * r, 16);
      if (!w.checks || !lanes.shadow[to])
        continue;
      const Undefined &u = w.undef(op.ext[j]);
      for (unsigned c = 0; c < 8; ++c) {
        unsigned lane = Transposed ? 4 * c + r / 2 : 4 * r + c / 2;
        Place where{lanes.data[to] + 2 * c, lanes.shadow[to] + 2 * c, spaceOf(lanes, to), lanes.address[to] + 2 * c};
        machine::storeShadow(w, op, to, where, 2, u.lanes >> lane & 1, u.computed >> lane & 1);
      }
    }
  }
  return &op + 1;
}

const Op *movmatrix(Warp &w, const Op &op) {
  if (!machine::checkConverged(w, op))
    return nullptr;
  uint16_t in[64], out[64];
  std::memcpy(in, w.reg<std::byte>(op.a), 128);
  transpose(in, out);
  std::memcpy(w.reg<std::byte>(op.dst), out, 128);
  if (w.checks) {
    Undefined u = w.undef(op.a), r;
    for (unsigned lane = 0; lane < warpSize; ++lane)
      if (u.lanes >> lane & 1)
        for (unsigned k = 0; k < 2; ++k) {
          unsigned row = lane / 4, column = lane % 4 * 2 + k;
          r.lanes |= 1u << (4 * column + row / 2);
          r.computed |= (u.computed >> lane & 1) << (4 * column + row / 2);
        }
    w.undef(op.dst) = r;
  }
  return &op + 1;
}

} // namespace

Handler selectMemory(const Op &op) {
  switch (op.code) {
  case Opcode::Ldmatrix: return op.flags & Trans ? ldmatrix<true> : ldmatrix<false>;
  case Opcode::Stmatrix: return op.flags & Trans ? stmatrix<true> : stmatrix<false>;
  case Opcode::Movmatrix: return movmatrix;
  case Opcode::Ld: {
    if (ptx::sizeOf(op.type) == 16)
      return op.vector == 1 ? load<Wide128, Wide128, 1> : load<Wide128, Wide128, 2>;
    bool extends = isSigned(op.type) && op.registerBytes > ptx::sizeOf(op.type);
    switch (ptx::sizeOf(op.type)) {
    case 1: return extends ? loadInto<int8_t>(op) : loadInto<uint8_t>(op);
    case 2: return extends ? loadInto<int16_t>(op) : loadInto<uint16_t>(op);
    case 4: return extends ? loadInto<int32_t>(op) : loadInto<uint32_t>(op);
    default: return loadInto<uint64_t>(op);
    }
  }
  case Opcode::St:
    switch (ptx::sizeOf(op.type)) {
    case 1: return storeFrom<uint8_t>(op);
    case 2: return storeFrom<uint16_t>(op);
    case 4: return storeFrom<uint32_t>(op);
    case 8: return storeFrom<uint64_t>(op);
    default: return op.vector == 1 ? store<Wide128, Wide128, 1> : store<Wide128, Wide128, 2>;
    }
  default: return nullptr;
  }
}

} // namespace tessera::sim::lanes::TESSERA_SIM_ISA

TESSERA_SIM_ISA_END
