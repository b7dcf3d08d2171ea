// atom and red: lane by lane, in the order of lanes, atomically against other host threads.
#include "runtime/simulator/machine/Access.h"
#include "runtime/simulator/machine/Report.h"
#include "runtime/simulator/numerics/Formats.h"

#include <cstring>
#include <mutex>

namespace tessera::sim::machine {

using program::AtomicKind;
using program::Space;
using ptx::Type;
using namespace numerics;

namespace {

template <class T> T integer(AtomicKind kind, T old, T b, T c) {
  switch (kind) {
  case AtomicKind::Add:
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(old) + static_cast<std::make_unsigned_t<T>>(b));
  case AtomicKind::Min:
    return b < old ? b : old;
  case AtomicKind::Max:
    return b > old ? b : old;
  case AtomicKind::And:
    return old & b;
  case AtomicKind::Or:
    return old | b;
  case AtomicKind::Xor:
    return old ^ b;
  case AtomicKind::Exch:
    return b;
  case AtomicKind::Cas:
    return old == b ? c : old;
  case AtomicKind::Inc:
    return old >= b ? T(0) : old + 1;
  case AtomicKind::Dec:
    return old == 0 || old > b ? b : old - 1;
  }
  return old;
}

/// Single-precision addition flushes subnormals in global memory and keeps them in shared memory.
uint32_t addFloat(uint32_t old, uint32_t b, bool ftz) {
  float x = floatOf(old), y = floatOf(b);
  return bitsOf(canonical(ftz ? flush(flush(x) + flush(y)) : x + y));
}
uint16_t addHalf(uint16_t old, uint16_t b) { return floatToHalf(halfToFloat(old) + halfToFloat(b)); }
uint16_t addBfloat(uint16_t old, uint16_t b) { return floatToBfloat(bfloatToFloat(old) + bfloatToFloat(b)); }

uint64_t combine(const Op &op, uint64_t old, uint64_t b, uint64_t c, bool global) {
  auto kind = static_cast<AtomicKind>(op.variant);
  switch (op.type) {
  case Type::S32:
    return static_cast<uint32_t>(
        integer<int32_t>(kind, static_cast<int32_t>(old), static_cast<int32_t>(b), static_cast<int32_t>(c)));
  case Type::S64:
    return static_cast<uint64_t>(
        integer<int64_t>(kind, static_cast<int64_t>(old), static_cast<int64_t>(b), static_cast<int64_t>(c)));
  case Type::U64:
  case Type::B64:
    return integer<uint64_t>(kind, old, b, c);
  case Type::F32:
    return addFloat(static_cast<uint32_t>(old), static_cast<uint32_t>(b), global);
  case Type::F64:
    return bitsOf(doubleOf(old) + doubleOf(b));
  case Type::F16:
    return addHalf(static_cast<uint16_t>(old), static_cast<uint16_t>(b));
  case Type::BF16:
    return addBfloat(static_cast<uint16_t>(old), static_cast<uint16_t>(b));
  case Type::F16x2:
    return uint32_t(addHalf(static_cast<uint16_t>(old), static_cast<uint16_t>(b))) |
           uint32_t(addHalf(static_cast<uint16_t>(old >> 16), static_cast<uint16_t>(b >> 16))) << 16;
  case Type::BF16x2:
    return uint32_t(addBfloat(static_cast<uint16_t>(old), static_cast<uint16_t>(b))) |
           uint32_t(addBfloat(static_cast<uint16_t>(old >> 16), static_cast<uint16_t>(b >> 16))) << 16;
  case Type::B16:
    return integer<uint16_t>(kind, static_cast<uint16_t>(old), static_cast<uint16_t>(b), static_cast<uint16_t>(c));
  default:
    return integer<uint32_t>(kind, static_cast<uint32_t>(old), static_cast<uint32_t>(b), static_cast<uint32_t>(c));
  }
}

/// Counts in `changes` when memory changes.
template <class T>
uint64_t exchange(std::byte *data, const Op &op, uint64_t b, uint64_t c, bool global, uint64_t &changes) {
  T *word = reinterpret_cast<T *>(data), old = __atomic_load_n(word, __ATOMIC_RELAXED), desired;
  do
    desired = static_cast<T>(combine(op, old, b, c, global));
  while (!__atomic_compare_exchange_n(word, &old, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
  changes += old != desired;
  return old;
}

struct Wide {
  uint64_t low, high;
};

Wide exchangeWide(std::byte *data, const Op &op, Wide b, Wide c) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  Wide old;
  std::memcpy(&old, data, 16);
  bool cas = static_cast<AtomicKind>(op.variant) == AtomicKind::Cas;
  if (!cas)
    std::memcpy(data, &b, 16);
  else if (old.low == b.low && old.high == b.high)
    std::memcpy(data, &c, 16);
  return old;
}

} // namespace

const Op *runAtomic(Warp &w, const Op &op) {
  unsigned bytes = ptx::sizeOf(op.type);
  bool result = op.code == program::Opcode::Atom;
  uint64_t addresses[warpSize];
  uint32_t global = 0, shared = 0, undefined = 0;
  if (w.checks)
    if (uint32_t bad = w.undef(op.a).lanes & w.active)
      reportUndefined(w, op, op.a, bad, "an address");
  // All addresses first, so that a bad one stops the instruction before it changes anything.
  Place places[warpSize];
  for (uint32_t m = w.active; m; m &= m - 1) {
    auto lane = static_cast<unsigned>(__builtin_ctz(m));
    uint64_t address = op.flags & program::AddressIs32 ? uint32_t(w.reg<uint32_t>(op.a)[lane] + uint32_t(op.imm))
                                                       : w.reg<uint64_t>(op.a)[lane] + uint64_t(op.imm);
    if (!place(w, op, lane, op.space, address, bytes, bytes, Intent::Atomic, places[lane]))
      return nullptr;
    if (places[lane].space != Space::Global && places[lane].space != Space::Shared) {
      Evidence e;
      e.kind = FindingKind::Unsupported;
      e.fatal = true;
      e.lane = lane;
      e.message = "an atomic works on global and shared memory only";
      report(w, op, std::move(e));
      return nullptr;
    }
    addresses[lane] = places[lane].address;
    (places[lane].space == Space::Global ? global : shared) |= 1u << lane;
  }
  if (w.checks && w.block->races) {
    if (shared)
      recordAccess(w, op, Space::Shared, addresses, shared, bytes, Intent::Atomic);
    if (global)
      recordAccess(w, op, Space::Global, addresses, global, bytes, Intent::Atomic);
  }
  auto kind = static_cast<AtomicKind>(op.variant);
  uint64_t &changes = w.block->effects;
  notePoll(w, op, addresses[__builtin_ctz(w.active)]);
  for (uint32_t m = w.active; m; m &= m - 1) {
    auto lane = static_cast<unsigned>(__builtin_ctz(m));
    const Place &where = places[lane];
    if (w.checks && where.shadow) {
      uint32_t bit = 0, computed = 0;
      loadShadow(w, op, lane, where, bytes, bytes, 1, &bit, &computed);
      if (bit && kind != AtomicKind::Exch) {
        Evidence e;
        e.kind = FindingKind::UninitialisedRead;
        e.lane = lane;
        e.hasAddress = true;
        e.address = where.address;
        e.bytes = bytes;
        e.space = ptx::toString(where.space);
        e.object = where.space == Space::Global ? describeGlobal(*w.block->launch->memory, where.address)
                                                : describeShared(*w.block, static_cast<uint32_t>(where.address));
        e.message = "an atomic works on memory that nothing has written";
        report(w, op, std::move(e));
        bit = 0;
      }
      undefined |= bit;
      bool bad = (w.undef(op.b).lanes | (kind == AtomicKind::Cas ? w.undef(op.c).lanes : 0)) >> lane & 1;
      storeShadow(w, op, lane, where, bytes, bad, bad);
    }
    bool isGlobal = where.space == Space::Global;
    if (bytes == 16) {
      ++changes;
      Wide old = exchangeWide(where.data, op, w.reg<Wide>(op.b)[lane], w.reg<Wide>(op.c)[lane]);
      if (result)
        w.reg<Wide>(op.dst)[lane] = old;
    } else if (bytes == 8) {
      uint64_t old = exchange<uint64_t>(where.data, op, w.reg<uint64_t>(op.b)[lane], w.reg<uint64_t>(op.c)[lane],
                                        isGlobal, changes);
      if (result)
        w.reg<uint64_t>(op.dst)[lane] = old;
    } else if (bytes == 4) {
      uint64_t old = exchange<uint32_t>(where.data, op, w.reg<uint32_t>(op.b)[lane], w.reg<uint32_t>(op.c)[lane],
                                        isGlobal, changes);
      if (result)
        w.reg<uint32_t>(op.dst)[lane] = static_cast<uint32_t>(old);
    } else {
      uint64_t old = exchange<uint16_t>(where.data, op, w.reg<uint16_t>(op.b)[lane], w.reg<uint16_t>(op.c)[lane],
                                        isGlobal, changes);
      if (result)
        w.reg<uint16_t>(op.dst)[lane] = static_cast<uint16_t>(old);
    }
  }
  if (w.checks && result) {
    Undefined &u = w.undef(op.dst);
    u.lanes = (u.lanes & ~w.active) | undefined;
    u.computed &= ~w.active;
  }
  if (w.counting) {
    if (global)
      countGlobal(w, op, addresses, global, bytes, w.block->counters.globalAtomics);
    if (shared)
      countShared(w, op, addresses, shared, bytes, w.block->counters.sharedAtomics);
  }
  return &op + 1;
}

} // namespace tessera::sim::machine
