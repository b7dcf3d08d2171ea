// Divergence: splits of a warp and the joins that bring them together again.
//
// A branch whose lanes disagree makes a join at its immediate post-dominator and two splits on their way there. Other
// splits of the warp run while one waits, so that lanes may synchronise among themselves wherever they are. Splits
// without a join (their paths end in exits) merge when they meet at a label. The one furthest behind runs first.
#include "runtime/simulator/machine/Block.h"
#include "runtime/simulator/machine/Report.h"

#include <fmt/format.h>

namespace tessera::sim::machine {

namespace {

constexpr uint32_t fairTicks = 4096;
/// A warp that polls waits for others: its turn is short.
constexpr uint64_t pollsPerTurn = 32;

/// Counts a loop's turn; true when others should have one, or when the limit of instructions ends the launch: a long
/// loop passes it long before its turn is over.
bool hadTurn(Warp &w) {
  uint64_t limit = w.block->launch->options->instructionLimit;
  return ++w.joinTicks >= fairTicks || w.polling.count - w.polling.countAtTurn >= pollsPerTurn ||
         (limit && w.instructions > limit);
}

void activate(Warp &w, size_t index) {
  Split &s = w.splits[index];
  w.current = index;
  w.exec = w.active = s.mask;
  w.join = s.join;
  w.frame = s.frame;
  w.regs = s.frame->regs;
  w.undefined = s.frame->undefined;
}

/// Before: a total order of ops that does not depend on where they are stored.
bool before(const Op *a, const Op *b) {
  return a->instruction != b->instruction ? a->instruction < b->instruction : a < b;
}

/// The end of the kernel: machine code has the exit in place of a branch to it.
bool leavesAtOnce(const Op *pc) {
  if (pc->code == program::Opcode::Join)
    ++pc;
  return pc->code == program::Opcode::Exit && !pc->guardKind;
}

/// Whether all lanes of the warp are on their way to one join. Lanes that parted for good meet again only where they
/// happen to be at one label together: then the furthest behind has to run first.
bool haveCommonJoin(const Warp &w) {
  int common = -1;
  for (const Split &s : w.splits) {
    int outermost = s.join;
    while (outermost >= 0 && w.joins[static_cast<size_t>(outermost)].parent >= 0)
      outermost = w.joins[static_cast<size_t>(outermost)].parent;
    if (outermost < 0 || (common >= 0 && outermost != common))
      return false;
    common = outermost;
  }
  return true;
}

const Op *pick(Warp &w, size_t skip) {
  size_t best = w.splits.size();
  for (size_t i = 0; best > 1 && i < w.splits.size(); ++i)
    if (i != skip && w.splits[i].wait == Wait::None && leavesAtOnce(w.splits[i].pc)) {
      w.joinTicks = 0;
      activate(w, i);
      return w.splits[i].pc;
    }
  if (w.budget && best > 1 && haveCommonJoin(w)) { // Schedule::Random
    size_t runnable = 0;
    for (size_t i = 0; i < w.splits.size(); ++i)
      if (i != skip && w.splits[i].wait == Wait::None && w.block->random.below(++runnable) == 0)
        best = i;
    if (runnable == 0)
      return nullptr;
    w.joinTicks = 0;
    activate(w, best);
    return w.splits[best].pc;
  }
  for (size_t i = 0; i < w.splits.size(); ++i)
    if (i != skip && w.splits[i].wait == Wait::None && !w.splits[i].gaveWay &&
        (best == w.splits.size() || before(w.splits[i].pc, w.splits[best].pc)))
      best = i;
  if (best == w.splits.size())
    return nullptr;
  w.joinTicks = 0;
  activate(w, best);
  return w.splits[best].pc;
}

/// Joins whose lanes are all there (or gone) go on as one split.
void releaseJoins(Warp &w) {
  for (size_t i = 0; i < w.joins.size(); ++i) {
    JoinNode &node = w.joins[i];
    if (!node.pc || node.arrived != node.expected)
      continue;
    if (node.expected) {
      Split s;
      s.pc = node.pc;
      s.mask = node.arrived;
      s.join = node.parent;
      s.frame = node.frame;
      w.splits.push_back(s);
    }
    node.pc = nullptr;
  }
}

} // namespace

void saveSplit(Warp &w, const Op *pc) {
  Split &s = w.splits[w.current];
  s.pc = pc;
  s.mask = w.exec;
  s.join = w.join;
  s.frame = w.frame;
}

const Op *nextSplit(Warp &w) {
  if (const Op *next = pick(w, w.splits.size()))
    return next;
  for (Split &s : w.splits)
    s.gaveWay = false;
  return pick(w, w.splits.size());
}

const Op *giveWay(Warp &w, const Op *pc) {
  saveSplit(w, pc);
  w.splits[w.current].gaveWay = true;
  if (const Op *next = pick(w, w.current))
    return next;
  for (Split &s : w.splits)
    s.gaveWay = false;
  w.yielded = true;
  return nullptr;
}

const Op *dropSplit(Warp &w) {
  w.splits[w.current] = w.splits.back();
  w.splits.pop_back();
  w.exec = w.active = 0;
  return nextSplit(w);
}

int makeJoin(Warp &w, const Op *pc, uint32_t lanes) {
  JoinNode node;
  node.pc = pc;
  node.frame = w.frame;
  node.parent = w.join;
  node.expected = lanes;
  for (size_t i = 0; i < w.joins.size(); ++i)
    if (!w.joins[i].pc) {
      w.joins[i] = node;
      return static_cast<int>(i);
    }
  w.joins.push_back(node);
  return static_cast<int>(w.joins.size() - 1);
}

void splitOff(Warp &w, uint32_t lanes, const Op *pc, int join, Frame *frame) {
  Split s;
  s.pc = pc;
  s.mask = lanes;
  s.join = join;
  s.frame = frame;
  w.splits.push_back(s);
}

namespace {

/// The join for a divergence at `op`: the one the lanes are on their way to already when it is at the same place, as
/// in every further iteration of a loop.
int joinFor(Warp &w, const Op &op, uint32_t lanes) {
  if (op.join == ptx::none)
    return w.join;
  const Op *pc = &w.frame->function->ops[op.join];
  if (w.join >= 0 && w.joins[static_cast<size_t>(w.join)].pc == pc &&
      w.joins[static_cast<size_t>(w.join)].frame == w.frame)
    return w.join;
  return makeJoin(w, pc, lanes);
}

/// Lanes of the current split go different ways: `ways` are (lanes, target). Returns where to go on.
const Op *diverge(Warp &w, const Op &op, const std::pair<uint32_t, const Op *> *ways, size_t count) {
  if (w.counting)
    ++w.block->counters.divergentBranches;
  int join = joinFor(w, op, w.exec);
  const Op *joinPc = op.join == ptx::none ? nullptr : &w.frame->function->ops[op.join];
  Frame *frame = w.frame;
  w.splits[w.current] = w.splits.back();
  w.splits.pop_back();
  for (size_t i = 0; i < count; ++i) {
    if (ways[i].second == joinPc)
      w.joins[static_cast<size_t>(join)].arrived |= ways[i].first;
    else
      splitOff(w, ways[i].first, ways[i].second, join, frame);
  }
  releaseJoins(w);
  return nextSplit(w);
}

} // namespace

const Op *runBranch(Warp &w, const Op &op) {
  uint32_t taken = w.exec;
  if (op.guardKind) {
    uint32_t p = w.predicate(op.guard);
    taken &= op.guardKind == 1 ? p : ~p;
    if (w.checks)
      if (uint32_t bad = w.undef(op.guard).lanes & w.exec)
        reportUndefined(w, op, op.guard, bad, "a branch");
  }
  if (taken == w.exec)
    return op.target;
  if (!taken)
    return &op + 1;
  if (op.flags & program::Uniform) {
    Evidence e;
    e.kind = FindingKind::ConvergenceViolation;
    e.lane = static_cast<unsigned>(__builtin_ctz(taken));
    e.message = fmt::format("a branch marked .uni diverges: of lanes {:#010x}, {:#010x} take it", w.exec, taken);
    report(w, op, std::move(e));
  }
  std::pair<uint32_t, const Op *> ways[] = {{taken, op.target}, {w.exec & ~taken, &op + 1}};
  return diverge(w, op, ways, 2);
}

const Op *runBranchTable(Warp &w, const Op &op) {
  const auto &table = w.frame->function->branchTables[static_cast<size_t>(op.imm)];
  uint32_t taking = w.exec;
  if (op.guardKind) {
    uint32_t p = w.predicate(op.guard);
    taking &= op.guardKind == 1 ? p : ~p;
  }
  if (!taking)
    return &op + 1;
  if (w.checks)
    if (uint32_t bad = w.undef(op.a).lanes & taking)
      reportUndefined(w, op, op.a, bad, "a branch");
  std::vector<std::pair<uint32_t, const Op *>> ways;
  if (w.exec & ~taking)
    ways.push_back({w.exec & ~taking, &op + 1});
  for (uint32_t m = taking; m; m &= m - 1) {
    auto lane = static_cast<unsigned>(__builtin_ctz(m));
    uint32_t index = w.reg<uint32_t>(op.a)[lane];
    if (index >= table.size()) {
      Evidence e;
      e.kind = FindingKind::Unsupported;
      e.fatal = true;
      e.lane = lane;
      e.message = fmt::format("branch index {} is beyond the {} targets", index, table.size());
      report(w, op, std::move(e));
      return nullptr;
    }
    const Op *target = &w.frame->function->ops[table[index]];
    bool found = false;
    for (auto &way : ways)
      if (way.second == target) {
        way.first |= 1u << lane;
        found = true;
      }
    if (!found)
      ways.push_back({1u << lane, target});
  }
  if (ways.size() == 1)
    return ways[0].second;
  return diverge(w, op, ways.data(), ways.size());
}

const Op *runJoin(Warp &w, const Op &op) {
  if (w.splits.size() == 1 && w.join < 0) { // no divergence
    if (hadTurn(w)) {
      w.joinTicks = 0;
      w.yielded = true;
      saveSplit(w, &op + 1);
      return nullptr;
    }
    return &op + 1;
  }
  while (w.join >= 0) {
    JoinNode &node = w.joins[static_cast<size_t>(w.join)];
    if (node.pc != &op || node.frame != w.frame)
      break;
    node.arrived |= w.exec;
    if (node.arrived != node.expected)
      return dropSplit(w);
    w.exec = w.active = node.arrived;
    w.join = node.parent;
    node.pc = nullptr;
  }
  saveSplit(w, &op + 1);
  // Lanes that meet here with the same way ahead go on together.
  for (size_t i = 0; i < w.splits.size(); ++i) {
    Split &other = w.splits[i];
    if (i == w.current || other.wait != Wait::None || other.join != w.join || other.frame != w.frame)
      continue;
    if (other.pc != &op && other.pc != &op + 1)
      continue;
    w.exec = w.active = w.exec | other.mask;
    w.splits[w.current].mask = w.exec;
    size_t last = w.splits.size() - 1;
    if (w.current == last)
      w.current = i;
    w.splits[i] = w.splits[last];
    w.splits.pop_back();
    --i;
  }
  if (w.splits.size() == 1 && w.join < 0)
    return &op + 1;
  // Those behind catch up first, unless they only wait for these.
  if (!hadTurn(w)) {
    for (size_t i = 0; i < w.splits.size(); ++i)
      if (i != w.current && w.splits[i].wait == Wait::None && !w.splits[i].gaveWay && before(w.splits[i].pc, &op))
        return pick(w, w.splits.size());
    return &op + 1;
  }
  // The other parts come next, but not before other warps and the limit of instructions had their turn: parts that go
  // round in loops would hand over to each other for ever.
  w.joinTicks = 0;
  w.splits[w.current].gaveWay = true;
  w.yielded = true;
  return nullptr;
}

void removeLanes(Warp &w, uint32_t lanes) {
  for (JoinNode &node : w.joins)
    if (node.pc)
      node.expected &= ~lanes;
  releaseJoins(w);
}

const Op *runExit(Warp &w, const Op &op) {
  uint32_t leaving = w.active;
  w.live &= ~leaving;
  w.exec &= ~leaving;
  w.active = w.exec;
  ++w.block->effects;
  w.block->liveThreads -= static_cast<uint32_t>(__builtin_popcount(leaving));
  w.splits[w.current].mask = w.exec;
  removeLanes(w, leaving);
  checkBarriers(*w.block);
  // Lanes that wait for others at a .sync instruction wait for those that still exist.
  for (Split &s : w.splits)
    if (s.wait == Wait::Lanes)
      s.wait = Wait::None;
  if (w.exec)
    return &op + 1;
  return dropSplit(w);
}

bool checkConverged(Warp &w, const Op &op) {
  if (w.active == w.live && w.live == w.launched)
    return true;
  bool barrier = op.code == program::Opcode::BarSync || op.code == program::Opcode::BarArrive ||
                 op.code == program::Opcode::BarRed;
  if (w.active == w.live && barrier) // exited lanes are not waited for
    return true;
  Evidence e;
  e.kind = FindingKind::ConvergenceViolation;
  uint32_t missing = w.launched & ~w.active;
  e.lane = static_cast<unsigned>(__builtin_ctz(w.active));
  e.message = fmt::format("an .aligned instruction needs all lanes of the warp; lanes {:#010x} are missing{}", missing,
                          missing & ~w.live ? " (some have exited)" : "");
  report(w, op, std::move(e));
  return true;
}

} // namespace tessera::sim::machine
