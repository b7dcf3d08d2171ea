// Loads and stores on 32 lanes: a vectorised check of all addresses, then plain copies.
#include "runtime/simulator/lanes/Lanes.h"
#include "runtime/simulator/lanes/Locate.h"

namespace tessera::sim::lanes::TESSERA_SIM_ISA {

namespace {

using machine::Intent;
using machine::Place;

[[gnu::noinline]] void count(Warp &w, const Op &op, const Lanes &lanes, unsigned bytes, bool store) {
  Counters &c = w.block->counters;
  if (uint32_t in = lanesIn(w, lanes, Space::Global))
    machine::countGlobal(w, op, lanes.address, in, bytes, store ? c.globalStores : c.globalLoads);
  if (uint32_t in = lanesIn(w, lanes, Space::Shared))
    machine::countShared(w, op, lanes.address, in, bytes, store ? c.sharedStores : c.sharedLoads);
  c.localBytes += uint64_t(std::popcount(lanesIn(w, lanes, Space::Local))) * bytes;
}

[[gnu::noinline]] void races(Warp &w, const Op &op, const Lanes &lanes, unsigned bytes, Intent intent,
                             machine::StoredValue stored = {}) {
  if (!w.block->races)
    return;
  for (Space space : {Space::Shared, Space::Global})
    if (uint32_t in = lanesIn(w, lanes, space))
      machine::recordAccess(w, op, space, lanes.address, in, bytes, intent, stored);
}

/// Word: unsigned, of the size of the access.
template <class Word> bool allWritten(const Lanes &lanes) {
  const Word every = ~Word(0) / 255; // 0x0101…
  Word wrong = 0;
  for (const uint8_t *shadow : lanes.shadow) {
    Word marks;
    std::memcpy(&marks, shadow, sizeof(Word));
    wrong |= marks ^ every;
  }
  return wrong == 0;
}

/// True when every byte of every active lane is plainly written.
[[gnu::noinline]] bool plainlyWritten(const Warp &w, const Lanes &lanes, unsigned bytes) {
  uint64_t wrong = 0;
  if (w.active == allLanes && !lanes.mixed && lanes.shadow[0]) {
    if (bytes == 16)
      return allWritten<unsigned __int128>(lanes);
    if (bytes == 4)
      return allWritten<uint32_t>(lanes);
  }
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

[[gnu::noinline]] void checkLoad(Warp &w, const Op &op, const Lanes &lanes, unsigned bytes) {
  uint32_t undefined[8] = {}, computed[8] = {};
  unsigned element = ptx::sizeOf(op.type);
  if (!plainlyWritten(w, lanes, bytes))
    for (uint32_t m = w.active; m; m &= m - 1) {
      auto i = static_cast<unsigned>(std::countr_zero(m));
      if (lanes.shadow[i])
        machine::loadShadow(w, op, i, {lanes.data[i], lanes.shadow[i], spaceOf(lanes, i), lanes.address[i]}, bytes,
                            element, op.vector, undefined, computed);
    }
  for (unsigned v = 0; v < op.vector; ++v) {
    Undefined &u = w.undef(op.ext[v]);
    u.lanes = (u.lanes & ~w.active) | undefined[v];
    u.computed = (u.computed & ~w.active) | computed[v];
  }
}

[[gnu::noinline]] void checkStore(Warp &w, const Op &op, const Lanes &lanes, unsigned bytes) {
  unsigned element = ptx::sizeOf(op.type);
  uint32_t undefined = 0;
  for (unsigned v = 0; v < op.vector; ++v)
    undefined |= w.undef(op.ext[v]).lanes | w.undef(op.ext[v]).computed;
  undefined &= w.active;
  if (!undefined && plainlyWritten(w, lanes, bytes))
    return; // and so it stays
  bool simple = !undefined;
  if (simple) {
    uint8_t any = 0;
    for (uint32_t m = w.active; m; m &= m - 1)
      if (const uint8_t *s = lanes.shadow[std::countr_zero(m)])
        for (unsigned k = 0; k < bytes; ++k)
          any |= s[k];
    simple = !(any & (machine::pending | machine::barrierObject));
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
      Place where{lanes.data[i] + v * element, lanes.shadow[i] ? lanes.shadow[i] + v * element : nullptr,
                  spaceOf(lanes, i), lanes.address[i] + v * element};
      uint32_t bad = where.space == Space::Global ? u.lanes | u.computed : u.lanes; // a field set to zero may stay
      machine::storeShadow(w, op, i, where, element, bad >> i & 1, u.computed >> i & 1);
    }
  }
}

/// M: memory element, R: register element. Signed M extends.
template <class M, class R, unsigned V> const Op *load(Warp &w, const Op &op) {
  Lanes lanes;
  constexpr unsigned bytes = sizeof(M) * V;
  if (!locate(w, op, bytes, Intent::Load, lanes))
    return nullptr;
  if (op.order != Order::Weak)
    machine::notePoll(w, op, lanes.address[std::countr_zero(w.active)]);
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
  ++w.block->effects;
  if (w.counting)
    count(w, op, lanes, bytes, true);
  const R *s[V];
  for (unsigned v = 0; v < V; ++v)
    s[v] = w.reg<R>(op.ext[v]);
  if (w.checks) {
    struct Context {
      const Lanes *lanes;
      const R *const *sources;
    } context{&lanes, s};
    auto isThere = [](const void *given, unsigned lane) {
      const auto &c = *static_cast<const Context *>(given);
      M value[V];
      for (unsigned v = 0; v < V; ++v)
        value[v] = static_cast<M>(c.sources[v][lane]);
      return std::memcmp(c.lanes->data[lane], value, bytes) == 0;
    };
    races(w, op, lanes, bytes, Intent::Store, {isThere, &context});
    checkStore(w, op, lanes, bytes);
  }
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
  case 1:
    return load<M, R, 1>;
  case 2:
    return load<M, R, 2>;
  case 4:
    return load<M, R, 4>;
  default:
    return load<M, R, 8>;
  }
}
template <class M, class R> Handler storeVector(const Op &op) {
  switch (op.vector) {
  case 1:
    return store<M, R, 1>;
  case 2:
    return store<M, R, 2>;
  case 4:
    return store<M, R, 4>;
  default:
    return store<M, R, 8>;
  }
}
/// Registers are at least as wide as the memory element.
template <class M, class R> Handler loadChecked(const Op &op) {
  if constexpr (sizeof(R) >= sizeof(M))
    return loadVector<M, R>(op);
  return nullptr;
}
template <class M, class R> Handler storeChecked(const Op &op) {
  if constexpr (sizeof(R) >= sizeof(M))
    return storeVector<M, R>(op);
  return nullptr;
}
template <class M> Handler loadInto(const Op &op) {
  switch (op.registerBytes) {
  case 1:
    return loadChecked<M, uint8_t>(op);
  case 2:
    return loadChecked<M, uint16_t>(op);
  case 4:
    return loadChecked<M, uint32_t>(op);
  case 8:
    return loadChecked<M, uint64_t>(op);
  default:
    return nullptr;
  }
}
template <class M> Handler storeFrom(const Op &op) {
  switch (op.sourceBytes) {
  case 1:
    return storeChecked<M, uint8_t>(op);
  case 2:
    return storeChecked<M, uint16_t>(op);
  case 4:
    return storeChecked<M, uint32_t>(op);
  case 8:
    return storeChecked<M, uint64_t>(op);
  default:
    return nullptr;
  }
}

} // namespace

Handler selectMemory(const Op &op) {
  switch (op.code) {
  case Opcode::Ld: {
    if (ptx::sizeOf(op.type) == 16)
      return op.vector == 1 ? load<Wide128, Wide128, 1> : load<Wide128, Wide128, 2>;
    bool extends = isSigned(op.type) && op.registerBytes > ptx::sizeOf(op.type);
    switch (ptx::sizeOf(op.type)) {
    case 1:
      return extends ? loadInto<int8_t>(op) : loadInto<uint8_t>(op);
    case 2:
      return extends ? loadInto<int16_t>(op) : loadInto<uint16_t>(op);
    case 4:
      return extends ? loadInto<int32_t>(op) : loadInto<uint32_t>(op);
    default:
      return loadInto<uint64_t>(op);
    }
  }
  case Opcode::St:
    switch (ptx::sizeOf(op.type)) {
    case 1:
      return storeFrom<uint8_t>(op);
    case 2:
      return storeFrom<uint16_t>(op);
    case 4:
      return storeFrom<uint32_t>(op);
    case 8:
      return storeFrom<uint64_t>(op);
    default:
      return op.vector == 1 ? store<Wide128, Wide128, 1> : store<Wide128, Wide128, 2>;
    }
  default:
    return nullptr;
  }
}

} // namespace tessera::sim::lanes::TESSERA_SIM_ISA

TESSERA_SIM_ISA_END
