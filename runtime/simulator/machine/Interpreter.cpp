// The interpreter's loops, the ops that need no lanes, and the binding of ops to handlers.
#include "runtime/simulator/machine/Interpreter.h"

#include "runtime/simulator/lanes/Dispatch.h"
#include "runtime/simulator/machine/Access.h"
#include "runtime/simulator/machine/Async.h"
#include "runtime/simulator/machine/Mbarrier.h"
#include "runtime/simulator/machine/Printf.h"
#include "runtime/simulator/machine/Races.h"
#include "runtime/simulator/machine/Report.h"
#include "runtime/simulator/machine/Stress.h"

#include <fmt/format.h>

namespace tessera::sim::machine {

using program::Flow;
using program::Opcode;

namespace {

const Op *runNothing(Warp &, const Op &op) { return &op + 1; }

const Op *runFence(Warp &w, const Op &op) {
  if (static_cast<program::FenceKind>(op.variant) == program::FenceKind::Memory)
    raceFence(w, op);
  return &op + 1;
}

const Op *runTrap(Warp &w, const Op &op) {
  Evidence e;
  e.kind = FindingKind::Trap;
  e.fatal = true;
  e.lane = static_cast<unsigned>(__builtin_ctz(w.active));
  e.message = "the kernel executed trap";
  report(w, op, std::move(e));
  return nullptr;
}

/// Gives way, so that the warps that are waited for run.
const Op *runNanosleep(Warp &w, const Op &op) { return giveWay(w, &op + 1); }

const Op *runGuarded(Warp &w, const Op &op) {
  uint32_t p = w.predicate(op.guard), lanes = w.exec & (op.guardKind == 1 ? p : ~p);
  if (!lanes)
    return &op + 1;
  w.active = lanes;
  const Op *next = op.body(w, op);
  w.active = w.exec;
  return next;
}

Handler machineHandler(const Op &op) {
  switch (op.code) {
  case Opcode::Bra:
    return runBranch;
  case Opcode::BrxIdx:
    return runBranchTable;
  case Opcode::Join:
    return runJoin;
  case Opcode::Exit:
    return runExit;
  case Opcode::Trap:
    return runTrap;
  case Opcode::Nanosleep:
    return runNanosleep;
  case Opcode::Call:
    return runCall;
  case Opcode::CallIndirect:
    return runCallIndirect;
  case Opcode::Return:
    return runReturn;
  case Opcode::Printf:
    return runPrintf;
  case Opcode::AssertFail:
    return runAssertFail;
  case Opcode::BarSync:
  case Opcode::BarArrive:
  case Opcode::BarRed:
    return runBarrier;
  case Opcode::Fence:
    return runFence;
  case Opcode::Brkpt:
  case Opcode::Prefetch:
  case Opcode::Nop:
    return runNothing;
  case Opcode::CpAsync:
    return runAsyncCopy;
  case Opcode::CpAsyncCommit:
    return runAsyncCommit;
  case Opcode::CpAsyncWait:
  case Opcode::CpAsyncWaitAll:
    return runAsyncWait;
  case Opcode::CpAsyncMbarArrive:
    return runAsyncArrive;
  case Opcode::MbarInit:
    return runMbarrierInit;
  case Opcode::MbarInval:
    return runMbarrierInval;
  case Opcode::MbarArrive:
    return runMbarrierArrive;
  case Opcode::MbarTestWait:
    return runMbarrierWait;
  case Opcode::MbarExpectTx:
  case Opcode::MbarCompleteTx:
    return runMbarrierTransactions;
  case Opcode::MbarPendingCount:
    return runMbarrierPendingCount;
  case Opcode::Atom:
  case Opcode::Red:
    return runAtomic;
  default:
    return nullptr;
  }
}

bool guardsItself(const Op &op) { return op.code == Opcode::Bra || op.code == Opcode::BrxIdx; }

/// How undefined inputs make undefined results.
inline void flow(Warp &w, const Op &op) {
  uint32_t lanes = w.active;
  auto set = [&](uint32_t offset, uint32_t undefined, uint32_t computed) {
    Undefined &d = w.undef(offset);
    d.lanes = (d.lanes & ~lanes) | (undefined & lanes);
    d.computed = (d.computed & ~lanes) | (computed & lanes);
  };
  switch (op.flow) {
  case Flow::Compute: {
    const Undefined &a = w.undef(op.a), &b = w.undef(op.b), &c = w.undef(op.c), &d = w.undef(op.d);
    uint32_t u = a.lanes | b.lanes | c.lanes | d.lanes, all = u | a.computed | b.computed | c.computed | d.computed;
    if (!all) {
      set(op.dst, 0, 0);
      set(op.dst2, 0, 0);
    } else if (op.code == Opcode::And) { // garbage under a mask
      uint32_t both = a.lanes & b.lanes;
      set(op.dst, both, all);
    } else if (op.code == Opcode::Or || op.code == Opcode::Bfi) {
      // A bit field is put into a word of which only the other fields are garbage: it can be read back.
      uint32_t garbage = u | (a.computed & b.computed);
      if (op.code == Opcode::Bfi)
        garbage = a.lanes | a.computed | c.lanes | d.lanes;
      set(op.dst, garbage, garbage);
    } else {
      set(op.dst, all, all);
      set(op.dst2, all, all);
    }
    break;
  }
  case Flow::Copy:
    set(op.dst, w.undef(op.a).lanes, w.undef(op.a).computed);
    break;
  case Flow::Select: {
    uint32_t p = w.predicate(op.c) ^ (op.flags & program::NegatePredicate ? ~0u : 0), bad = w.undef(op.c).lanes;
    const Undefined &a = w.undef(op.a), &b = w.undef(op.b);
    set(op.dst, (a.lanes & p) | (b.lanes & ~p) | bad, (a.computed & p) | (b.computed & ~p) | bad);
    break;
  }
  case Flow::Handler:
  case Flow::None:
    break;
  }
}

/// A guard of undefined value: what the instruction writes is undefined too.
void undefinedGuard(Warp &w, const Op &op, uint32_t bad) {
  bool effect = op.flow == Flow::None || op.code == Opcode::St || op.code == Opcode::Atom || op.code == Opcode::Red ||
                op.code == Opcode::Call || op.code == Opcode::CallIndirect || op.code == Opcode::BarRed ||
                op.code == Opcode::Ld;
  if (effect)
    reportUndefined(w, op, op.guard, bad, "the guard of an instruction with effects");
}

void runChecked(Warp &w, const Op *op) {
  Block &block = *w.block;
  InstructionCount *counts = w.counting ? block.counts.data() : nullptr;
  while (op) {
    const Op &o = *op;
    if (w.budget) {
      if (--w.budget == 0) {
        saveSplit(w, op);
        return;
      }
    }
    ++w.instructions;
    if (o.guardKind && !guardsItself(o)) {
      uint32_t p = w.predicate(o.guard), lanes = w.exec & (o.guardKind == 1 ? p : ~p);
      if (w.checks)
        if (uint32_t bad = w.undef(o.guard).lanes & w.exec)
          undefinedGuard(w, o, bad);
      if (!lanes) {
        if (counts && !(o.flags & program::Synthetic))
          ++counts[o.instruction].executions;
        ++op;
        continue;
      }
      w.active = lanes;
    }
    if (counts && !(o.flags & program::Synthetic)) {
      InstructionCount &c = counts[o.instruction];
      ++c.executions;
      c.lanes += static_cast<unsigned>(__builtin_popcount(w.active));
    }
    if (w.checks)
      flow(w, o);
    uint32_t lanes = w.active;
    bool moves = w.stress && approximates(o);
    ApproximateSources sources;
    if (moves)
      sources = sourcesOf(w, o);
    op = o.body(w, o);
    if (moves)
      perturb(w, o, lanes, sources);
    w.active = w.exec;
  }
}

void runPlain(Warp &w, const Op *op) {
  while (op) {
    ++w.instructions;
    op = op->run(w, *op);
  }
}

} // namespace

void runWarp(Warp &w) {
  w.yielded = false;
  w.polling.countAtTurn = w.polling.count;
  const Op *op = nextSplit(w);
  if (!op)
    return;
  if (w.checks || w.counting || w.stress || w.budget)
    runChecked(w, op);
  else
    runPlain(w, op);
}

bool bindHandlers(program::DecodedFunction &function, std::string &error, uint32_t &instruction) {
  for (Op &op : function.ops) {
    op.body = machineHandler(op);
    if (!op.body)
      op.body = lanes::select(op);
    if (!op.body) {
      instruction = op.instruction;
      error = "this form of the instruction is not supported by the simulator";
      return false;
    }
    op.run = op.guardKind && !guardsItself(op) ? runGuarded : op.body;
  }
  return true;
}

} // namespace tessera::sim::machine
