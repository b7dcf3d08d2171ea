// Asynchronous copies: cp.async with its groups, waits and arrivals at mbarriers.
#include "runtime/simulator/program/Decoder.h"
#include "runtime/simulator/program/Variants.h"

namespace tessera::sim::program {

bool decodeAsyncArrive(Decoder &d); // DecodeMbarrier.cpp

namespace {

using ptx::OperandKind;

bool asyncCopy(Decoder &d) {
  if (!d.has(".async"))
    return d.error("only the asynchronous forms of 'cp' exist");
  if (!d.require(80, "'cp.async'"))
    return false;
  if (d.has(".commit_group"))
    return d.expectCount(0) && d.append(d.make(Opcode::CpAsyncCommit, Flow::None));
  if (d.has(".wait_all"))
    return d.expectCount(0) && d.append(d.make(Opcode::CpAsyncWaitAll, Flow::None));
  if (d.has(".wait_group")) {
    Op op = d.make(Opcode::CpAsyncWait, Flow::None);
    if (!d.expectCount(1) || !d.immediate(d.operand(0), op.imm, "the number of groups"))
      return false;
    return op.imm >= 0 ? d.append(op) : d.error("the number of groups cannot be negative");
  }
  if (d.has(".mbarrier"))
    return decodeAsyncArrive(d);
  for (std::string_view name : {".bulk", ".reduce"})
    if (d.has(name))
      return d.error(fmt::format("'cp.async{}' is not supported yet by this simulator", name));
  Op op = d.make(Opcode::CpAsync, Flow::None);
  bool ca = d.has(".ca");
  if (!ca && !d.has(".cg"))
    return d.error("'cp.async' needs .ca or .cg");
  if ((!d.has(".shared") && !d.has(".shared::cta")) || !d.has(".global"))
    return d.error("'cp.async' copies from .global to .shared");
  bool policy = d.has(".L2::cache_hint");
  for (std::string_view prefetch : {".L2::64B", ".L2::128B", ".L2::256B"})
    if (d.has(prefetch))
      break;
  int64_t bytes = 0;
  if (!d.expectCount(3, 5) || !d.immediate(d.operand(2), bytes, "the copy size"))
    return false;
  if (!(bytes == 16 || (ca && (bytes == 4 || bytes == 8))))
    return d.error(fmt::format("a copy of {} bytes does not exist; .ca copies 4, 8 or 16, .cg 16", bytes));
  op.vector = static_cast<uint8_t>(bytes);
  op.space = Space::Shared;
  if (!d.address(d.operand(0), op))
    return false;
  // The source address: its offset goes to operand d as a constant, since imm holds the destination's.
  Op source = op;
  source.space = Space::Global;
  source.flags = 0;
  if (!d.address(d.operand(1), source, op.b))
    return false;
  op.d = d.constant(8, static_cast<uint64_t>(source.imm));
  size_t next = 3;
  if (next < d.count()) {
    const ptx::Operand &third = d.operand(next);
    bool isPredicate = third.kind == OperandKind::Register && d.registerInfo(third.index).type == Type::Pred;
    bool isPolicy = policy && d.count() == 4;
    if (isPredicate) {
      bool negated = false;
      if (!d.predicateSource(third, op.c, negated))
        return false;
      op.flags |= IgnoreSource | (negated ? NegatePredicate : 0);
      ++next;
    } else if (!isPolicy) {
      if (third.kind == OperandKind::Integer && third.value > static_cast<uint64_t>(bytes))
        return d.error(fmt::format("the source size {} exceeds the copy size {}", third.value, bytes));
      if (!d.source(third, Type::U32, op.c))
        return false;
      op.flags |= HasSourceSize;
      ++next;
    }
  }
  if (policy) {
    uint32_t unused = 0;
    if (next == d.count())
      return d.error("'.L2::cache_hint' needs a cache policy as the last operand");
    if (!d.source(next++, Type::B64, unused))
      return false;
  }
  return next == d.count() ? d.append(op) : d.error("'cp.async' has too many operands");
}

} // namespace

void addAsyncDecoders(DecodeTable &table) { table["cp"] = asyncCopy; }

} // namespace tessera::sim::program
