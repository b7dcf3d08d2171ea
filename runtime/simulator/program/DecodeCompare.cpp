// Comparison and selection: set, setp, selp, slct.
#include "runtime/simulator/program/Decoder.h"

namespace tessera::sim::program {

namespace {

constexpr std::pair<std::string_view, Compare> compareNames[] = {
    {".eq", Compare::EQ},   {".ne", Compare::NE},    {".lt", Compare::LT},   {".le", Compare::LE},
    {".gt", Compare::GT},   {".ge", Compare::GE},    {".lo", Compare::LO},   {".ls", Compare::LS},
    {".hi", Compare::HI},   {".hs", Compare::HS},    {".equ", Compare::EQU}, {".neu", Compare::NEU},
    {".ltu", Compare::LTU}, {".leu", Compare::LEU},  {".gtu", Compare::GTU}, {".geu", Compare::GEU},
    {".num", Compare::NUM}, {".nan", Compare::NAN_},
};

bool comparison(Decoder &d, Op &op) {
  bool found = false;
  for (auto &[name, value] : compareNames)
    if (!found && (found = d.has(name)))
      op.compare = value;
  if (!found)
    return d.error(fmt::format("'{}' needs a comparison", d.instruction().opcode));
  op.boolOp = d.has(".and") ? BoolOp::And : d.has(".or") ? BoolOp::Or : d.has(".xor") ? BoolOp::Xor : BoolOp::None;
  op.flags = d.has(".ftz") ? Ftz : 0;
  return true;
}

bool checkComparison(Decoder &d, const Op &op, Type type) {
  bool ordered = op.compare == Compare::EQ || op.compare == Compare::NE;
  bool unsignedOnly = op.compare >= Compare::LO && op.compare <= Compare::HS;
  bool floatOnly = op.compare >= Compare::EQU;
  if (type == Type::Pred || type == Type::B8 || type == Type::B128 || ptx::sizeOf(type) < 2)
    return d.error(fmt::format("type {} cannot be compared", ptx::toString(type)));
  if (ptx::isBits(type) && !ordered)
    return d.error("bit types compare with .eq and .ne only");
  if (unsignedOnly && !ptx::isUnsigned(type))
    return d.error(".lo, .ls, .hi and .hs need an unsigned type");
  if (floatOnly && !ptx::isFloat(type))
    return d.error("unordered comparisons need a floating-point type");
  if ((op.flags & Ftz) && type != Type::F32 && type != Type::F16 && type != Type::F16x2)
    return d.error(".ftz is not possible here");
  if ((type == Type::BF16 || type == Type::BF16x2) && !d.require(90, "comparison of bf16"))
    return false;
  return true;
}

bool thirdPredicate(Decoder &d, Op &op) {
  if (op.boolOp == BoolOp::None)
    return d.expectCount(3);
  bool negated = false;
  if (!d.expectCount(4) || !d.predicateSource(d.operand(3), op.c, negated))
    return false;
  op.flags |= negated ? NegatePredicate : 0;
  return true;
}

bool setp(Decoder &d) {
  Op op = d.make(Opcode::Setp, Flow::Compute);
  if (!comparison(d, op) || !d.nextType(op.type) || !checkComparison(d, op, op.type) || !thirdPredicate(d, op))
    return false;
  const ptx::Operand &result = d.operand(0);
  if (result.kind == ptx::OperandKind::Pair) {
    if (op.type == Type::F16 || op.type == Type::BF16)
      return d.error("comparison of a single half gives one predicate");
    op.variant = 1; // the second predicate is written
    if (!d.predicateDestination(result.elements[0], op.dst) || !d.predicateDestination(result.elements[1], op.dst2))
      return false;
  } else if (op.type == Type::F16x2 || op.type == Type::BF16x2) {
    return d.error("comparison of pairs gives p|q");
  } else if (!d.predicateDestination(result, op.dst)) {
    return false;
  }
  return d.source(1, op.type, op.a) && d.source(2, op.type, op.b) && d.append(op);
}

/// Halves give masks of 16 or 32 bits or numbers of their own kind; everything else gives a word or a half.
bool setResultFits(Type result, Type source) {
  bool word = result == Type::U32 || result == Type::S32, narrow = result == Type::U16 || result == Type::S16;
  if (source == Type::F16x2 || source == Type::BF16x2)
    return result == source || word;
  if (source == Type::F16 || source == Type::BF16)
    return word || narrow || result == Type::BF16 || (result == Type::F16 && source == Type::F16);
  return word || result == Type::F32 || result == Type::F16 || result == Type::BF16;
}

bool set(Decoder &d) {
  Op op = d.make(Opcode::Set, Flow::Compute);
  if (!comparison(d, op))
    return false;
  if (!d.typeOf(op.type2, {Type::U16, Type::S16, Type::U32, Type::S32, Type::F32, Type::F16, Type::BF16, Type::F16x2,
                           Type::BF16x2}))
    return false;
  if (!d.nextType(op.type) || !checkComparison(d, op, op.type) || !thirdPredicate(d, op))
    return false;
  if (!setResultFits(op.type2, op.type))
    return d.error(fmt::format("'set' from {} to {} does not exist", ptx::toString(op.type), ptx::toString(op.type2)));
  if (op.type2 == Type::BF16 || op.type2 == Type::BF16x2) {
    if (!d.require(90, "bf16 as result of 'set'"))
      return false;
    if (op.flags & Ftz)
      return d.error(".ftz does not go with bf16");
  }
  return d.destination(0, op.type2, op.dst) && d.source(1, op.type, op.a) && d.source(2, op.type, op.b) && d.append(op);
}

/// Numbers of 16 to 64 bits without the packed and the half types.
bool selectable(Type t) {
  unsigned size = ptx::sizeOf(t);
  return size >= 2 && size <= 8 && (ptx::isInteger(t) || ptx::isBits(t) || t == Type::F32 || t == Type::F64);
}

bool selp(Decoder &d) {
  Op op = d.make(Opcode::Selp, Flow::Select);
  if (!d.nextType(op.type) || !d.expectCount(4))
    return false;
  if (!selectable(op.type))
    return d.error(fmt::format("type {} is not possible for 'selp'", ptx::toString(op.type)));
  bool negated = false;
  if (!d.destination(0, op.type, op.dst) || !d.source(1, op.type, op.a) || !d.source(2, op.type, op.b) ||
      !d.predicateSource(d.operand(3), op.c, negated))
    return false;
  op.flags = negated ? NegatePredicate : 0;
  return d.append(op);
}

bool slct(Decoder &d) {
  Op op = d.make(Opcode::Slct, Flow::Compute);
  op.flags = d.has(".ftz") ? Ftz : 0;
  if (!d.nextType(op.type) || !d.typeOf(op.type2, {Type::S32, Type::F32}) || !d.expectCount(4))
    return false;
  if (!selectable(op.type))
    return d.error(fmt::format("type {} is not possible for 'slct'", ptx::toString(op.type)));
  if ((op.flags & Ftz) && op.type2 != Type::F32)
    return d.error(".ftz needs .f32 as the type that decides");
  return d.destination(0, op.type, op.dst) && d.source(1, op.type, op.a) && d.source(2, op.type, op.b) &&
         d.source(3, op.type2, op.c) && d.append(op);
}

} // namespace

void addCompareDecoders(DecodeTable &table) {
  table["setp"] = setp;
  table["set"] = set;
  table["selp"] = selp;
  table["slct"] = slct;
}

} // namespace tessera::sim::program
