// Block barriers: arrival, completion, reductions, and their misuse.
#include "runtime/simulator/machine/Block.h"
#include "runtime/simulator/machine/Races.h"
#include "runtime/simulator/machine/Report.h"

#include <fmt/format.h>

namespace tessera::sim::machine {

using program::BarrierReduction;
using program::Opcode;

namespace {

void misuse(Warp &w, const Op &op, bool fatal, std::string message) {
  Evidence e;
  e.kind = FindingKind::BarrierMisuse;
  e.fatal = fatal;
  e.lane = static_cast<unsigned>(__builtin_ctz(w.active));
  e.message = std::move(message);
  report(w, op, std::move(e));
}

bool complete(const Block &block, const BarrierState &b) {
  return b.counted ? b.arrivedCount >= b.expected : b.arrivedThreads >= block.liveThreads;
}

/// Wakes the waiting splits; gives results of reductions.
void release(Block &block, unsigned number) {
  BarrierState &b = block.barriers[number];
  if (block.races)
    raceBarrier(block, number);
  for (Warp &w : block.warps)
    for (Split &s : w.splits) {
      if (s.wait != Wait::Barrier || s.barrier != number)
        continue;
      s.wait = Wait::None;
      const Op &op = *s.pc;
      if (op.code == Opcode::BarRed) {
        uint32_t lanes = s.waitActive;
        Frame *frame = s.frame;
        if (static_cast<BarrierReduction>(op.variant) == BarrierReduction::Popc) {
          auto *d = reinterpret_cast<uint32_t *>(frame->regs + op.dst);
          for (uint32_t m = lanes; m; m &= m - 1)
            d[__builtin_ctz(m)] = b.popc;
        } else {
          bool value = static_cast<BarrierReduction>(op.variant) == BarrierReduction::And ? b.all : b.any;
          auto &d = *reinterpret_cast<uint32_t *>(frame->regs + op.dst);
          d = (d & ~lanes) | (value ? lanes : 0);
        }
        Undefined &u = frame->undefined[op.dst / 64];
        u.lanes = (u.lanes & ~lanes) | (b.undefinedInputs ? lanes : 0);
        u.computed = (u.computed & ~lanes) | (b.undefinedInputs ? lanes : 0);
      }
      s.pc = &op + 1;
    }
  b = {};
}

} // namespace

void checkBarriers(Block &block) {
  for (unsigned i = 0; i < barrierCount; ++i) {
    BarrierState &b = block.barriers[i];
    if (!b.empty() && !b.counted && complete(block, b))
      release(block, i);
  }
}

std::string describeBarrier(const Block &block, unsigned number) {
  const BarrierState &b = block.barriers[number];
  return b.counted ? fmt::format("barrier {} has {} of {} threads", number, b.arrivedCount, b.expected)
                   : fmt::format("barrier {} has {} of {} threads", number, b.arrivedThreads, block.liveThreads);
}

const Op *runBarrier(Warp &w, const Op &op) {
  Block &block = *w.block;
  bool aligned = op.flags & program::Aligned, counted = op.flags & program::HasCount;
  auto first = static_cast<unsigned>(__builtin_ctz(w.active));
  uint32_t number = w.reg<uint32_t>(op.a)[first], count = counted ? w.reg<uint32_t>(op.b)[first] : 0;
  if (aligned)
    checkConverged(w, op);
  if (number >= barrierCount) {
    misuse(w, op, true, fmt::format("barrier {} does not exist; there are 0 to 15", number));
    return nullptr;
  }
  if (counted && (count % warpSize || count == 0 || count > ((block.launch->threads + 31) & ~31u))) {
    misuse(w, op, true,
           fmt::format("the thread count {} is not a positive multiple of 32 up to the block's {} threads", count,
                       block.launch->threads));
    return nullptr;
  }
  BarrierState &b = block.barriers[number];
  if (!b.empty() && (b.counted != counted || b.expected != count)) {
    misuse(w, op, true,
           fmt::format("barrier {} is in use with {} threads (line {}), and here with {}", number,
                       b.counted ? b.expected : block.launch->threads, lineOf(block, *b.firstOp),
                       counted ? count : block.launch->threads));
    return nullptr;
  }
  if (aligned && (b.arrivedWarps >> w.index & 1)) {
    misuse(w, op, true,
           fmt::format("warp {} arrives at barrier {} a second time before it completes", w.index, number));
    return nullptr;
  }
  if (b.empty())
    b.firstOp = &op;
  b.counted = counted;
  b.expected = count;
  auto threads = static_cast<uint32_t>(__builtin_popcount(w.active));
  b.arrivedThreads += threads;
  b.arrivedCount += aligned ? warpSize : threads;
  b.arrivedWarps |= uint64_t(1) << w.index;
  if (block.races)
    raceArrive(block, w, number);
  ++block.effects;
  if (w.counting)
    ++block.counters.barrierWaits;
  if (op.code == Opcode::BarRed) {
    uint32_t p = w.predicate(op.c) ^ (op.flags & program::NegatePredicate ? ~0u : 0);
    b.popc += static_cast<uint32_t>(__builtin_popcount(p & w.active));
    b.all &= (p & w.active) == w.active;
    b.any |= (p & w.active) != 0;
    b.reduces = true;
    if (w.checks)
      b.undefinedInputs |= w.undef(op.c).lanes & w.active;
  } else if (b.reduces) {
    misuse(w, op, false, fmt::format("barrier {} mixes bar.red with other forms", number));
  }
  if (counted && b.arrivedCount > count) {
    misuse(w, op, true,
           fmt::format("{} threads arrive at barrier {}, which expects {}", b.arrivedCount, number, count));
    return nullptr;
  }
  bool waits = op.code != Opcode::BarArrive;
  uint32_t arriving = w.active;
  if (waits) {
    if (uint32_t others = w.exec & ~arriving) { // guarded off: they go on
      splitOff(w, others, &op + 1, w.join, w.frame);
      w.exec = arriving;
    }
    Split &s = w.splits[w.current];
    s.pc = &op;
    s.mask = w.exec;
    s.join = w.join;
    s.frame = w.frame;
    s.wait = Wait::Barrier;
    s.barrier = number;
    s.waitActive = arriving;
  }
  if (complete(block, b))
    release(block, number);
  return waits ? nextSplit(w) : &op + 1;
}

} // namespace tessera::sim::machine
