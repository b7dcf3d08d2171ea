// Gathering: the lanes that a .sync instruction names come together, wherever in the warp's splits they are.
#include "runtime/simulator/machine/Block.h"
#include "runtime/simulator/machine/Report.h"
#include "runtime/simulator/program/Variants.h"

#include <fmt/format.h>

namespace tessera::sim::machine {

namespace {

/// The lanes' values of one operand, from one activation of a function to another.
template <class T> void moveOperand(Frame *from, Frame *to, uint32_t offset, uint32_t lanes) {
  for (uint32_t m = lanes; m; m &= m - 1) {
    auto lane = static_cast<unsigned>(__builtin_ctz(m));
    reinterpret_cast<T *>(to->regs + offset)[lane] = reinterpret_cast<const T *>(from->regs + offset)[lane];
  }
}
void movePredicate(Frame *from, Frame *to, uint32_t offset, uint32_t lanes) {
  auto &target = *reinterpret_cast<uint32_t *>(to->regs + offset);
  target = (target & ~lanes) | (*reinterpret_cast<const uint32_t *>(from->regs + offset) & lanes);
}
void moveUndefined(Frame *from, Frame *to, uint32_t offset, uint32_t lanes) {
  Undefined &target = to->undefined[offset >> 6];
  const Undefined &source = from->undefined[offset >> 6];
  target.lanes = (target.lanes & ~lanes) | (source.lanes & lanes);
  target.computed = (target.computed & ~lanes) | (source.computed & lanes);
}

/// Lanes that execute `op` in another activation of the same function lend their operands to this one, whose own
/// registers have no use for those lanes, and take their results back.
void moveSources(Warp &w, const Op &op, Frame *from, Frame *to, uint32_t lanes) {
  using program::Opcode;
  bool wide = op.type == program::Type::B64;
  if (op.code == Opcode::Vote)
    movePredicate(from, to, op.a, lanes);
  else if (op.code != Opcode::Elect)
    wide ? moveOperand<uint64_t>(from, to, op.a, lanes) : moveOperand<uint32_t>(from, to, op.a, lanes);
  if (op.code == Opcode::Shfl) {
    moveOperand<uint32_t>(from, to, op.b, lanes);
    moveOperand<uint32_t>(from, to, op.c, lanes);
  }
  moveOperand<uint32_t>(from, to, op.d, lanes);
  if (w.checks && op.code != Opcode::Elect)
    moveUndefined(from, to, op.a, lanes);
}
void moveResults(Warp &w, const Op &op, Frame *from, Frame *to, uint32_t lanes) {
  using program::Opcode;
  bool second = op.code == Opcode::Shfl || op.code == Opcode::Elect || (op.code == Opcode::Match && op.variant);
  if (op.code == Opcode::Vote && static_cast<program::VoteMode>(op.variant) != program::VoteMode::Ballot)
    movePredicate(from, to, op.dst, lanes);
  else
    moveOperand<uint32_t>(from, to, op.dst, lanes);
  if (second)
    movePredicate(from, to, op.dst2, lanes);
  if (!w.checks)
    return;
  moveUndefined(from, to, op.dst, lanes);
  if (second)
    moveUndefined(from, to, op.dst2, lanes);
}

} // namespace

bool gatherLanes(Warp &w, const Op &op, uint32_t members, const Op **next) {
  uint32_t here = w.active;
  if (here & ~members) {
    Evidence e;
    e.kind = FindingKind::ConvergenceViolation;
    e.lane = static_cast<unsigned>(__builtin_ctz(here & ~members));
    e.message =
        fmt::format("lanes {:#010x} execute it, but are not in their member mask {:#010x}", here & ~members, members);
    report(w, op, std::move(e));
  }
  uint32_t need = members & w.live;
  if (!(need & ~here))
    return true;
  // Others that wait at the same instruction (bar.warp.sync: with the same mask) make up the rest.
  bool anywhere = op.code == program::Opcode::WarpSync;
  uint32_t together = here;
  auto partner = [&](const Split &s) {
    return s.wait == Wait::Lanes && s.waitMask == members && (anywhere ? s.pc->code == op.code : s.pc == &op);
  };
  for (const Split &s : w.splits)
    if (partner(s))
      together |= s.waitActive;
  if (need & ~together) {
    Split &self = w.splits[w.current];
    saveSplit(w, &op);
    self.wait = Wait::Lanes;
    self.waitMask = members;
    self.waitActive = here;
    *next = nextSplit(w);
    return false;
  }
  // All lanes are here now. Those in other activations of the function (through calls in different branches) take part.
  std::vector<std::pair<Frame *, uint32_t>> elsewhere;
  for (Split &s : w.splits)
    if (partner(s)) {
      if (s.frame != w.frame && !anywhere)
        elsewhere.push_back({s.frame, s.waitActive});
      s.wait = Wait::None;
      s.pc = s.pc + 1;
    }
  if (anywhere) {
    *next = &op + 1;
    return false;
  }
  for (auto [frame, lanes] : elsewhere)
    moveSources(w, op, frame, w.frame, lanes);
  uint32_t exec = w.exec;
  w.exec = w.active = together;
  op.body(w, op);
  w.exec = w.active = exec;
  for (auto [frame, lanes] : elsewhere)
    moveResults(w, op, w.frame, frame, lanes);
  *next = w.block->status == BlockStatus::Faulted ? nullptr : &op + 1;
  return false;
}

const Op *runGroups(Warp &w, const Op &op, const uint32_t *masks) {
  uint32_t exec = w.exec, waiting = 0;
  for (uint32_t rest = w.active; rest;) {
    uint32_t mask = masks[__builtin_ctz(rest)], group = 0;
    for (uint32_t m = rest; m; m &= m - 1)
      group |= uint32_t(masks[__builtin_ctz(m)] == mask) << __builtin_ctz(m);
    rest &= ~group;
    if (mask & w.live & ~group) {
      splitOff(w, group, &op, w.join, w.frame);
      waiting |= group;
      continue;
    }
    w.exec = w.active = group;
    op.body(w, op);
    if (w.block->status == BlockStatus::Faulted)
      return nullptr;
  }
  w.exec = w.active = exec & ~waiting;
  if (!w.exec)
    return dropSplit(w);
  w.splits[w.current].mask = w.exec;
  return &op + 1;
}

} // namespace tessera::sim::machine
