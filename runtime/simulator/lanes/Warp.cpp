// Warp-level instructions: shuffles, votes, matches and reductions over 32 lanes.
#include "runtime/simulator/lanes/Lanes.h"

namespace tessera::sim::lanes::TESSERA_SIM_ISA {

namespace {

/// The member mask of a .sync instruction. Lanes that name different members are groups that execute it one by one.
bool members(Warp &w, const Op &op, uint32_t &mask, const Op **next) {
  const uint32_t *d = w.reg<uint32_t>(op.d);
  mask = d[std::countr_zero(w.active)];
  for (uint32_t m = w.active; m; m &= m - 1)
    if (d[std::countr_zero(m)] != mask) {
      *next = machine::runGroups(w, op, d);
      return false;
    }
  return machine::gatherLanes(w, op, mask, next);
}

void setUndefined(Warp &w, uint32_t offset, Undefined u) {
  Undefined &d = w.undef(offset);
  d.lanes = (d.lanes & ~w.active) | (u.lanes & w.active);
  d.computed = (d.computed & ~w.active) | (u.computed & w.active);
}

/// A collective result is undefined for all when any input lane is.
void collectiveUndefined(Warp &w, const Op &op, uint32_t members, bool pair) {
  if (!w.checks)
    return;
  uint32_t bad = w.undef(op.a).lanes & members ? ~0u : 0;
  setUndefined(w, op.dst, {bad, bad});
  if (pair)
    setUndefined(w, op.dst2, {bad, bad});
}

const Op *shfl(Warp &w, const Op &op) {
  uint32_t mask;
  const Op *next = nullptr;
  if (!members(w, op, mask, &next))
    return next;
  const uint32_t *a = w.reg<uint32_t>(op.a), *b = w.reg<uint32_t>(op.b), *c = w.reg<uint32_t>(op.c);
  uint32_t value[warpSize], from[warpSize], inRange = 0;
  auto mode = static_cast<ShuffleMode>(op.variant);
  TESSERA_LANES {
    auto lane = static_cast<int32_t>(i);
    auto offset = static_cast<int32_t>(b[i] & 31), clamp = static_cast<int32_t>(c[i] & 31),
         segment = static_cast<int32_t>(c[i] >> 8 & 31);
    int32_t most = (lane & segment) | (clamp & ~segment), least = lane & segment, j;
    bool p;
    switch (mode) {
    case ShuffleMode::Up:
      j = lane - offset;
      p = j >= most;
      break;
    case ShuffleMode::Down:
      j = lane + offset;
      p = j <= most;
      break;
    case ShuffleMode::Bfly:
      j = lane ^ offset;
      p = j <= most;
      break;
    default:
      j = least | (offset & ~segment);
      p = j <= most;
    }
    inRange |= p ? 1u << i : 0u;
    from[i] = static_cast<uint32_t>(p ? j : lane);
  }
  TESSERA_LANES value[i] = a[from[i] & 31];
  uint32_t *d = w.reg<uint32_t>(op.dst);
  uint32_t outside = 0, undefined = 0, computed = 0;
  bool everyone = w.active == allLanes && !w.checks;
  if (everyone) {
    TESSERA_LANES d[i] = value[i];
  } else {
    Undefined u = w.undef(op.a);
    for (uint32_t m = w.active; m; m &= m - 1) {
      int i = std::countr_zero(m);
      d[i] = value[i];
      outside |= uint32_t(!(w.active >> from[i] & 1)) << i;
      undefined |= (u.lanes >> from[i] & 1) << i;
      computed |= (u.computed >> from[i] & 1) << i;
    }
  }
  writePredicate(w, op.dst2, inRange);
  if (outside) {
    machine::Evidence evidence;
    evidence.kind = FindingKind::ConvergenceViolation;
    evidence.lane = static_cast<unsigned>(std::countr_zero(outside));
    evidence.message =
        fmt::format("shuffle reads lane {}, which does not execute it (lanes {:#010x} do); the value is undefined",
                    from[evidence.lane], w.active);
    machine::report(w, op, std::move(evidence));
  }
  if (w.checks) {
    setUndefined(w, op.dst, {undefined, computed});
    setUndefined(w, op.dst2, {});
  }
  return &op + 1;
}

const Op *vote(Warp &w, const Op &op) {
  uint32_t mask;
  const Op *next = nullptr;
  if (!members(w, op, mask, &next))
    return next;
  uint32_t p = (w.predicate(op.a) ^ (op.flags & NegatePredicate ? ~0u : 0)) & w.active, voters = w.active;
  collectiveUndefined(w, op, voters, false);
  switch (static_cast<VoteMode>(op.variant)) {
  case VoteMode::All:
    writePredicate(w, op.dst, p == voters ? ~0u : 0);
    break;
  case VoteMode::Any:
    writePredicate(w, op.dst, p ? ~0u : 0);
    break;
  case VoteMode::Uni:
    writePredicate(w, op.dst, p == voters || !p ? ~0u : 0);
    break;
  case VoteMode::Ballot:
    for (uint32_t m = w.active; m; m &= m - 1)
      w.reg<uint32_t>(op.dst)[std::countr_zero(m)] = p;
    break;
  }
  return &op + 1;
}

const Op *match(Warp &w, const Op &op) {
  uint32_t mask;
  const Op *next = nullptr;
  if (!members(w, op, mask, &next))
    return next;
  bool wide = op.type == Type::B64;
  auto value = [&](int i) { return wide ? w.reg<uint64_t>(op.a)[i] : w.reg<uint32_t>(op.a)[i]; };
  uint32_t result[warpSize] = {}, predicate = 0;
  for (uint32_t m = w.active; m; m &= m - 1) {
    int i = std::countr_zero(m);
    for (uint32_t n = w.active; n; n &= n - 1) {
      int j = std::countr_zero(n);
      result[i] |= uint32_t(value(i) == value(j)) << j;
    }
  }
  if (op.variant)
    for (uint32_t m = w.active; m; m &= m - 1) {
      int i = std::countr_zero(m);
      bool all = result[i] == w.active;
      predicate |= uint32_t(all) << i;
      result[i] = all ? w.active : 0;
    }
  collectiveUndefined(w, op, w.active, op.variant);
  for (uint32_t m = w.active; m; m &= m - 1) {
    int i = std::countr_zero(m);
    w.reg<uint32_t>(op.dst)[i] = result[i];
  }
  if (op.variant)
    writePredicate(w, op.dst2, predicate);
  return &op + 1;
}

float reduceFloat(const Op &op, float x, float y) {
  if (op.flags & AbsFlag) {
    x = floatOf(bitsOf(x) & 0x7fffffff);
    y = floatOf(bitsOf(y) & 0x7fffffff);
  }
  if (isNan(x) || isNan(y))
    return op.flags & NanFlag ? floatOf(canonicalNan32) : isNan(x) ? y : x;
  bool first = static_cast<ReduxKind>(op.variant) == ReduxKind::Min ? x < y : x > y;
  return first ? x : y;
}

const Op *redux(Warp &w, const Op &op) {
  uint32_t mask;
  const Op *next = nullptr;
  if (!members(w, op, mask, &next))
    return next;
  const uint32_t *a = w.reg<uint32_t>(op.a);
  uint32_t m = w.active, result = a[std::countr_zero(m)];
  for (m &= m - 1; m; m &= m - 1) {
    uint32_t x = a[std::countr_zero(m)];
    if (op.type == Type::F32) {
      result = bitsOf(reduceFloat(op, floatOf(result), floatOf(x)));
      continue;
    }
    bool less = op.type == Type::S32 ? static_cast<int32_t>(x) < static_cast<int32_t>(result) : x < result;
    switch (static_cast<ReduxKind>(op.variant)) {
    case ReduxKind::Add:
      result += x;
      break;
    case ReduxKind::Min:
      result = less ? x : result;
      break;
    case ReduxKind::Max:
      result = less ? result : x;
      break;
    case ReduxKind::And:
      result &= x;
      break;
    case ReduxKind::Or:
      result |= x;
      break;
    case ReduxKind::Xor:
      result ^= x;
      break;
    }
  }
  collectiveUndefined(w, op, w.active, false);
  for (uint32_t lanes = w.active; lanes; lanes &= lanes - 1)
    w.reg<uint32_t>(op.dst)[std::countr_zero(lanes)] = result;
  return &op + 1;
}

/// The leader is the manual's choice; it varies with the seed, so that code that expects lane 0 is found out.
const Op *elect(Warp &w, const Op &op) {
  uint32_t mask;
  const Op *next = nullptr;
  if (!members(w, op, mask, &next))
    return next;
  uint32_t candidates = w.active;
  uint64_t turn = (w.block->launch->options->seed * 0x9e3779b97f4a7c15) >> 33;
  for (uint64_t skip = turn % static_cast<unsigned>(std::popcount(candidates)); skip; --skip)
    candidates &= candidates - 1;
  auto leader = static_cast<unsigned>(std::countr_zero(candidates));
  for (uint32_t m = w.active; m; m &= m - 1)
    w.reg<uint32_t>(op.dst)[std::countr_zero(m)] = leader;
  writePredicate(w, op.dst2, 1u << leader);
  if (w.checks) {
    setUndefined(w, op.dst, {});
    setUndefined(w, op.dst2, {});
  }
  return &op + 1;
}

struct ActiveMaskEach {
  static void apply(Warp &w, const Op &op, unsigned i) { w.reg<uint32_t>(op.dst)[i] = w.active; }
};

const Op *warpSync(Warp &w, const Op &op) {
  uint32_t mask;
  const Op *next = nullptr;
  return members(w, op, mask, &next) ? &op + 1 : next;
}

} // namespace

Handler selectWarp(const Op &op) {
  switch (op.code) {
  case Opcode::Shfl:
    return shfl;
  case Opcode::Vote:
    return vote;
  case Opcode::Match:
    return match;
  case Opcode::Redux:
    return redux;
  case Opcode::Elect:
    return elect;
  case Opcode::ActiveMask:
    return each<ActiveMaskEach>;
  case Opcode::WarpSync:
    return warpSync;
  default:
    return nullptr;
  }
}

} // namespace tessera::sim::lanes::TESSERA_SIM_ISA

TESSERA_SIM_ISA_END
