// mbarrier instructions, and the arrival of asynchronous copies at one.
#include "runtime/simulator/program/Decoder.h"
#include "runtime/simulator/program/Variants.h"

namespace tessera::sim::program {

namespace {

/// .sem with its .scope, or neither: then `standard` at block scope.
bool ordering(Decoder &d, Op &op, Order standard) {
  if (decodeOrder(d, op)) {
    if (op.order != standard && op.order != Order::Relaxed)
      return d.error(fmt::format("'{}' is {} or .relaxed here", d.instruction().opcode,
                                 standard == Order::Release ? ".release" : ".acquire"));
    if (!decodeScope(d, op))
      return d.error("the memory order needs a scope, .cta or .cluster");
    if (op.scope != Scope::Block && op.scope != Scope::Cluster)
      return d.error("the scope is .cta or .cluster here");
    if (op.order == Order::Relaxed && !d.require(90, ".relaxed of an mbarrier operation"))
      return false;
    return op.scope == Scope::Block || d.require(90, "the scope .cluster");
  }
  op.order = standard;
  op.scope = Scope::Block;
  return !decodeScope(d, op) || d.error("the scope needs a memory order before it");
}

/// .shared, .shared::cta or generic, and .b64.
bool object(Decoder &d, Op &op) {
  if (d.has(".shared::cluster"))
    return d.require(90, "'.shared::cluster'") &&
           d.error("mbarriers of other blocks of a cluster are not supported yet by this simulator");
  op.space = d.has(".shared") || d.has(".shared::cta") ? Space::Shared : Space::Generic;
  return d.typeOf(op.type, {Type::B64});
}

bool count(Decoder &d, size_t at, const char *what, int64_t most, uint32_t &out) {
  const ptx::Operand &operand = d.operand(at);
  if (operand.kind == ptx::OperandKind::Integer) {
    auto value = static_cast<int64_t>(operand.value);
    if (value < 0 || value > most)
      return d.error(fmt::format("{} is {}; 0 to {} are possible", what, value, most));
  }
  return d.source(at, Type::U32, out);
}

constexpr int64_t mostArrivals = (1 << 20) - 1, mostBytes = (1 << 20) - 1;

bool arrive(Decoder &d, Op op) {
  op.code = Opcode::MbarArrive;
  if (d.has(".expect_tx")) {
    if (!d.require(90, "'.expect_tx'"))
      return false;
    op.variant |= ArriveExpectTx;
  } else if (d.has(".noComplete")) {
    op.variant |= ArriveNoComplete;
  }
  if (!ordering(d, op, Order::Release) || !object(d, op) || !d.expectCount(2, 3) ||
      !d.destination(0, Type::B64, op.dst) || !d.address(d.operand(1), op))
    return false;
  bool needed = op.variant & (ArriveNoComplete | ArriveExpectTx);
  if (d.count() == 2) {
    op.b = d.constant(4, 1);
    return needed ? d.error("a count is missing") : d.append(op);
  }
  if (!needed && !d.require(90, "a count without '.noComplete'"))
    return false;
  bool bytes = op.variant & ArriveExpectTx;
  return count(d, 2, bytes ? "the number of bytes" : "the count", bytes ? mostBytes : mostArrivals, op.b) &&
         d.append(op);
}

bool wait(Decoder &d, Op op, bool tries) {
  op.code = Opcode::MbarTestWait;
  if (tries) {
    if (!d.require(90, "'mbarrier.try_wait'"))
      return false;
    op.variant |= WaitTry;
  }
  if (d.has(".parity"))
    op.variant |= WaitParity;
  if (!ordering(d, op, Order::Acquire) || !object(d, op) || !d.expectCount(3, tries ? 4 : 3))
    return false;
  if (d.operand(0).kind == ptx::OperandKind::Sink)
    return d.error("the result cannot be '_'");
  if (!d.predicateDestination(d.operand(0), op.dst) || !d.address(d.operand(1), op))
    return false;
  if (op.variant & WaitParity ? !count(d, 2, "the parity", 1, op.b) : !d.source(2, Type::B64, op.b))
    return false;
  if (d.count() == 4 && !d.source(3, Type::U32, op.c))
    return false;
  return d.append(op);
}

bool transactions(Decoder &d, Op op, Opcode code) {
  op.code = code;
  if (!d.require(90, "counting transactions at an mbarrier"))
    return false;
  op.order = Order::Relaxed;
  op.scope = Scope::Block;
  if (d.has(".relaxed") && !decodeScope(d, op))
    return d.error("the memory order needs a scope, .cta or .cluster");
  return object(d, op) && d.expectCount(2) && d.address(d.operand(0), op) &&
         count(d, 1, "the number of bytes", mostBytes, op.b) && d.append(op);
}

bool mbarrier(Decoder &d) {
  if (!d.require(80, "'mbarrier'") || !d.requireVersion(7, 0, "'mbarrier'"))
    return false;
  Op op = d.make(Opcode::MbarInit, Flow::None);
  if (d.has(".init"))
    return object(d, op) && d.expectCount(2) && d.address(d.operand(0), op) && d.source(1, Type::U32, op.b) &&
           d.append(op);
  if (d.has(".inval")) {
    op.code = Opcode::MbarInval;
    return object(d, op) && d.expectCount(1) && d.address(d.operand(0), op) && d.append(op);
  }
  if (d.has(".arrive"))
    return arrive(d, op);
  if (d.has(".arrive_drop")) {
    op.variant = ArriveDrop;
    return arrive(d, op);
  }
  if (d.has(".test_wait"))
    return wait(d, op, false);
  if (d.has(".try_wait"))
    return wait(d, op, true);
  if (d.has(".expect_tx"))
    return transactions(d, op, Opcode::MbarExpectTx);
  if (d.has(".complete_tx"))
    return transactions(d, op, Opcode::MbarCompleteTx);
  if (!d.has(".pending_count"))
    return d.error("'mbarrier' needs .init, .inval, .arrive, .arrive_drop, .test_wait, .try_wait, .expect_tx, "
                   ".complete_tx or .pending_count");
  op.code = Opcode::MbarPendingCount;
  op.flow = Flow::Compute;
  if (!d.typeOf(op.type, {Type::B64}) || !d.expectCount(2))
    return false;
  if (d.operand(0).kind == ptx::OperandKind::Sink)
    return d.error("the result cannot be '_'");
  return d.destination(0, Type::B32, op.dst) && d.source(1, Type::B64, op.a) && d.append(op);
}

} // namespace

bool decodeAsyncArrive(Decoder &d) {
  Op op = d.make(Opcode::CpAsyncMbarArrive, Flow::None);
  if (!d.has(".arrive"))
    return d.error("'cp.async.mbarrier' needs .arrive");
  op.variant = d.has(".noinc") ? NoIncrement : 0;
  return object(d, op) && d.expectCount(1) && d.address(d.operand(0), op) && d.append(op);
}

void addMbarrierDecoders(DecodeTable &table) { table["mbarrier"] = mbarrier; }

} // namespace tessera::sim::program
