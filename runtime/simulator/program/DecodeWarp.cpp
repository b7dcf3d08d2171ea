// Warp-level instructions: shuffles, votes, matches and reductions.
#include "runtime/simulator/program/Decoder.h"
#include "runtime/simulator/program/Variants.h"

namespace tessera::sim::program {

namespace {

using ptx::OperandKind;

bool needSync(Decoder &d) {
  return d.has(".sync") ||
         d.error(fmt::format("'{}' needs .sync on every supported architecture", d.instruction().opcode));
}

/// d or d|p.
bool resultPair(Decoder &d, Type type, Op &op, bool pairNeeded) {
  const ptx::Operand &result = d.operand(0);
  if (result.kind != OperandKind::Pair)
    return pairNeeded ? d.error("the result must be register|predicate") : d.destination(0, type, op.dst);
  return d.destination(result.elements[0], type, op.dst) && d.predicateDestination(result.elements[1], op.dst2);
}

bool shfl(Decoder &d) {
  Op op = d.make(Opcode::Shfl, Flow::Handler);
  if (!needSync(d))
    return false;
  bool found = false;
  static constexpr std::string_view modes[] = {".up", ".down", ".bfly", ".idx"};
  for (uint8_t i = 0; i < 4; ++i)
    if (!found && (found = d.has(modes[i])))
      op.variant = i;
  if (!found)
    return d.error("'shfl' needs .up, .down, .bfly or .idx");
  return d.typeOf(op.type, {Type::B32}) && d.expectCount(5) && resultPair(d, Type::B32, op, false) &&
         d.source(1, Type::B32, op.a) && d.source(2, Type::B32, op.b) && d.source(3, Type::B32, op.c) &&
         d.source(4, Type::B32, op.d) && d.append(op);
}

bool vote(Decoder &d) {
  Op op = d.make(Opcode::Vote, Flow::Handler);
  if (!needSync(d))
    return false;
  bool found = false;
  static constexpr std::string_view modes[] = {".all", ".any", ".uni", ".ballot"};
  for (uint8_t i = 0; i < 4; ++i)
    if (!found && (found = d.has(modes[i])))
      op.variant = i;
  if (!found)
    return d.error("'vote' needs .all, .any, .uni or .ballot");
  bool ballot = op.variant == static_cast<uint8_t>(VoteMode::Ballot), negated = false;
  if (!d.typeOf(op.type, {ballot ? Type::B32 : Type::Pred}) || !d.expectCount(3) ||
      !d.destination(0, op.type, op.dst) || !d.predicateSource(d.operand(1), op.a, negated) ||
      !d.source(2, Type::B32, op.d))
    return false;
  op.flags = negated ? NegatePredicate : 0;
  return d.append(op);
}

bool match(Decoder &d) {
  Op op = d.make(Opcode::Match, Flow::Handler);
  op.variant = d.has(".all");
  if (!op.variant && !d.has(".any"))
    return d.error("'match' needs .any or .all");
  if (!needSync(d) || !d.typeOf(op.type, {Type::B32, Type::B64}) || !d.expectCount(3))
    return false;
  if (!op.variant && d.operand(0).kind == OperandKind::Pair)
    return d.error("'match.any' has no predicate");
  return resultPair(d, Type::B32, op, false) && d.source(1, op.type, op.a) && d.source(2, Type::B32, op.d) &&
         d.append(op);
}

bool redux(Decoder &d) {
  Op op = d.make(Opcode::Redux, Flow::Handler);
  if (!needSync(d) || !d.require(80, "'redux'"))
    return false;
  bool found = false;
  static constexpr std::string_view kinds[] = {".add", ".min", ".max", ".and", ".or", ".xor"};
  for (uint8_t i = 0; i < 6; ++i)
    if (!found && (found = d.has(kinds[i])))
      op.variant = i;
  if (!found)
    return d.error("'redux' needs an operation");
  op.flags = (d.has(".abs") ? AbsFlag : 0) | (d.has(".NaN") ? NanFlag : 0);
  bool logical = op.variant >= 3;
  if (!(logical ? d.typeOf(op.type, {Type::B32}) : d.typeOf(op.type, {Type::U32, Type::S32, Type::F32})))
    return false;
  if (op.type == Type::F32 && (op.variant == 0 || !d.require(100, "'redux' on f32")))
    return d.error("'redux' on f32 knows .min and .max, on sm_100a");
  if (op.flags && op.type != Type::F32)
    return d.error(".abs and .NaN go with .f32");
  return d.expectCount(3) && d.destination(0, op.type, op.dst) && d.source(1, op.type, op.a) &&
         d.source(2, Type::B32, op.d) && d.append(op);
}

bool activemask(Decoder &d) {
  Op op = d.make(Opcode::ActiveMask, Flow::Compute);
  return d.typeOf(op.type, {Type::B32}) && d.expectCount(1) && d.destination(0, op.type, op.dst) && d.append(op);
}

bool elect(Decoder &d) {
  Op op = d.make(Opcode::Elect, Flow::Handler);
  return needSync(d) && d.require(90, "'elect'") && d.expectCount(2) && resultPair(d, Type::B32, op, true) &&
         d.source(1, Type::B32, op.d) && d.append(op);
}

} // namespace

void addWarpDecoders(DecodeTable &table) {
  table["shfl"] = shfl;
  table["vote"] = vote;
  table["match"] = match;
  table["redux"] = redux;
  table["activemask"] = activemask;
  table["elect"] = elect;
}

} // namespace tessera::sim::program
