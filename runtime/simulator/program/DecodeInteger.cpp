// Integer, logic, shift and bit-field instructions.
#include "runtime/simulator/program/Decoder.h"

#include "runtime/simulator/ptx/Parser.h"

namespace tessera::sim::program {

namespace {

/// Results and up to three sources of one type each, then the op.
bool finish(Decoder &d, Op op, Type result, std::initializer_list<Type> sources) {
  if (!d.expectCount(1 + sources.size()) || !d.destination(0, result, op.dst))
    return false;
  uint32_t *fields[] = {&op.a, &op.b, &op.c, &op.d};
  size_t i = 0;
  for (Type source : sources) {
    if (!d.source(i + 1, source, *fields[i]))
      return false;
    ++i;
  }
  return d.append(op);
}

bool isFloatForm(Decoder &d) {
  for (std::string_view m : d.instruction().modifiers)
    if (auto type = ptx::parseType(m); type && ptx::isFloat(*type))
      return true;
  return false;
}

Type widen(Type type) {
  switch (type) {
  case Type::U16:
    return Type::U32;
  case Type::S16:
    return Type::S32;
  case Type::U32:
    return Type::U64;
  default:
    return Type::S64;
  }
}

} // namespace

bool decodeFloatArithmetic(Decoder &d);

namespace {

bool addSub(Decoder &d) {
  if (isFloatForm(d))
    return decodeFloatArithmetic(d);
  bool subtract = d.instruction().opcode == "sub";
  bool carryOut = d.has(".cc"), sat = d.has(".sat");
  Type type;
  if (!d.typeOf(type, {Type::U16, Type::U32, Type::U64, Type::S16, Type::S32, Type::S64, Type::U16x2, Type::S16x2}))
    return false;
  bool pair = type == Type::U16x2 || type == Type::S16x2;
  if (carryOut && (ptx::sizeOf(type) < 4 || pair))
    return d.error(".cc needs a 32- or 64-bit type");
  if (pair && subtract)
    return d.error(fmt::format("'sub' does not take {}", ptx::toString(type)));
  if (pair && !d.require(90, "addition of pairs"))
    return false;
  if (sat && type != Type::S32)
    return d.error(".sat is possible for .s32 only");
  Op op = d.make(carryOut   ? (subtract ? Opcode::SubCC : Opcode::AddCC)
                 : subtract ? Opcode::Sub
                            : Opcode::Add,
                 Flow::Compute);
  op.type = type;
  op.flags = sat ? Sat : 0;
  return finish(d, op, type, {type, type});
}

bool addcSubc(Decoder &d) {
  bool subtract = d.instruction().opcode == "subc";
  bool carryOut = d.has(".cc");
  Type type;
  if (!d.typeOf(type, {Type::U32, Type::S32, Type::U64, Type::S64}))
    return false;
  Op op = d.make(subtract ? Opcode::SubC : Opcode::AddC, Flow::Compute);
  op.type = type;
  op.variant = carryOut;
  return finish(d, op, type, {type, type});
}

bool mul(Decoder &d) {
  if (isFloatForm(d))
    return decodeFloatArithmetic(d);
  bool wide = d.has(".wide"), lo = !wide && d.has(".lo"), hi = !wide && !lo && d.has(".hi");
  if (!wide && !lo && !hi)
    return d.error("'mul' of integers needs .lo, .hi or .wide");
  Type type;
  if (!d.typeOf(type, {Type::U16, Type::U32, Type::U64, Type::S16, Type::S32, Type::S64}))
    return false;
  if (wide && ptx::sizeOf(type) == 8)
    return d.error(".wide is possible for 16- and 32-bit types");
  Op op = d.make(wide ? Opcode::MulWide : lo ? Opcode::MulLo : Opcode::MulHi, Flow::Compute);
  op.type = type;
  return finish(d, op, wide ? widen(type) : type, {type, type});
}

bool mad(Decoder &d) {
  if (isFloatForm(d))
    return decodeFloatArithmetic(d);
  bool carryIn = d.instruction().opcode == "madc";
  bool wide = d.has(".wide"), lo = !wide && d.has(".lo"), hi = !wide && !lo && d.has(".hi");
  if (!wide && !lo && !hi)
    return d.error("'mad' of integers needs .lo, .hi or .wide");
  bool sat = d.has(".sat"), carryOut = d.has(".cc");
  Type type;
  if (!d.typeOf(type, {Type::U16, Type::U32, Type::U64, Type::S16, Type::S32, Type::S64}))
    return false;
  if (wide && (ptx::sizeOf(type) == 8 || carryIn || carryOut))
    return d.error(".wide is possible for 16- and 32-bit types without carry");
  if (sat && (type != Type::S32 || !hi || carryIn || carryOut))
    return d.error(".sat is possible for mad.hi.s32 only");
  if ((carryIn || carryOut) && ptx::sizeOf(type) < 4)
    return d.error("carry needs a 32- or 64-bit type");
  Opcode code = wide ? Opcode::MadWide : lo ? Opcode::MadLo : Opcode::MadHi;
  if (carryIn)
    code = lo ? Opcode::MadCLo : Opcode::MadCHi;
  else if (carryOut)
    code = lo ? Opcode::MadLoCC : Opcode::MadHiCC;
  Op op = d.make(code, Flow::Compute);
  op.type = type;
  op.variant = carryOut;
  op.flags = sat ? Sat : 0;
  return finish(d, op, wide ? widen(type) : type, {type, type, wide ? widen(type) : type});
}

bool mul24(Decoder &d) {
  bool add = d.instruction().opcode == "mad24";
  bool lo = d.has(".lo"), hi = !lo && d.has(".hi");
  if (!lo && !hi)
    return d.error("needs .lo or .hi");
  bool sat = add && hi && d.has(".sat");
  Type type;
  if (!d.typeOf(type, {Type::U32, Type::S32}))
    return false;
  if (sat && type != Type::S32)
    return d.error(".sat is possible for .s32 only");
  Op op = d.make(add  ? (lo ? Opcode::Mad24Lo : Opcode::Mad24Hi)
                 : lo ? Opcode::Mul24Lo
                      : Opcode::Mul24Hi,
                 Flow::Compute);
  op.type = type;
  op.flags = sat ? Sat : 0;
  return add ? finish(d, op, type, {type, type, type}) : finish(d, op, type, {type, type});
}

bool sad(Decoder &d) {
  Type type;
  if (!d.typeOf(type, {Type::U16, Type::U32, Type::U64, Type::S16, Type::S32, Type::S64}))
    return false;
  Op op = d.make(Opcode::Sad, Flow::Compute);
  op.type = type;
  return finish(d, op, type, {type, type, type});
}

bool divide(Decoder &d) {
  if (isFloatForm(d))
    return decodeFloatArithmetic(d);
  Type type;
  if (!d.typeOf(type, {Type::U16, Type::U32, Type::U64, Type::S16, Type::S32, Type::S64}))
    return false;
  Op op = d.make(d.instruction().opcode == "rem" ? Opcode::Rem : Opcode::Div, Flow::Compute);
  op.type = type;
  return finish(d, op, type, {type, type});
}

bool absNeg(Decoder &d) {
  if (isFloatForm(d))
    return decodeFloatArithmetic(d);
  Type type;
  if (!d.typeOf(type, {Type::S16, Type::S32, Type::S64}))
    return false;
  Op op = d.make(d.instruction().opcode == "abs" ? Opcode::Abs : Opcode::Neg, Flow::Compute);
  op.type = type;
  return finish(d, op, type, {type});
}

bool minMax(Decoder &d) {
  if (isFloatForm(d))
    return decodeFloatArithmetic(d);
  bool relu = d.has(".relu");
  Type type;
  if (!d.typeOf(type, {Type::U16, Type::U32, Type::U64, Type::S16, Type::S32, Type::S64, Type::U16x2, Type::S16x2}))
    return false;
  if (relu && type != Type::S32 && type != Type::S16x2)
    return d.error(".relu is possible for .s32 and .s16x2 only");
  if ((relu || type == Type::U16x2 || type == Type::S16x2) && !d.require(90, "this form of min and max"))
    return false;
  Op op = d.make(d.instruction().opcode == "min" ? Opcode::Min : Opcode::Max, Flow::Compute);
  op.type = type;
  op.flags = relu ? Relu : 0;
  return finish(d, op, type, {type, type});
}

bool countBits(Decoder &d) {
  Type type;
  if (!d.typeOf(type, {Type::B32, Type::B64}))
    return false;
  std::string_view name = d.instruction().opcode;
  Op op = d.make(name == "popc" ? Opcode::Popc : name == "clz" ? Opcode::Clz : Opcode::Brev, Flow::Compute);
  op.type = type;
  return finish(d, op, name == "brev" ? type : Type::U32, {type});
}

bool bfind(Decoder &d) {
  bool shift = d.has(".shiftamt");
  Type type;
  if (!d.typeOf(type, {Type::U32, Type::S32, Type::U64, Type::S64}))
    return false;
  Op op = d.make(Opcode::Bfind, Flow::Compute);
  op.type = type;
  op.flags = shift ? ShiftAmount : 0;
  return finish(d, op, Type::U32, {type});
}

bool fns(Decoder &d) {
  Type type;
  if (!d.typeOf(type, {Type::B32}))
    return false;
  Op op = d.make(Opcode::Fns, Flow::Compute);
  op.type = type;
  return finish(d, op, Type::B32, {Type::B32, Type::B32, Type::S32});
}

bool bfe(Decoder &d) {
  Type type;
  if (!d.typeOf(type, {Type::U32, Type::S32, Type::U64, Type::S64}))
    return false;
  Op op = d.make(Opcode::Bfe, Flow::Compute);
  op.type = type;
  return finish(d, op, type, {type, Type::U32, Type::U32});
}

bool bfi(Decoder &d) {
  Type type;
  if (!d.typeOf(type, {Type::B32, Type::B64}))
    return false;
  Op op = d.make(Opcode::Bfi, Flow::Compute);
  op.type = type;
  return finish(d, op, type, {type, type, Type::U32, Type::U32});
}

bool szext(Decoder &d) {
  bool clamp = d.has(".clamp"), wrap = !clamp && d.has(".wrap");
  if (!clamp && !wrap)
    return d.error("needs .clamp or .wrap");
  bool mask = d.instruction().opcode == "bmsk";
  Type type;
  if (!(mask ? d.typeOf(type, {Type::B32}) : d.typeOf(type, {Type::U32, Type::S32})))
    return false;
  Op op = d.make(mask ? Opcode::Bmsk : Opcode::Szext, Flow::Compute);
  op.type = type;
  op.flags = wrap ? ShiftedMode : 0;
  return finish(d, op, type, {mask ? Type::U32 : type, Type::U32});
}

bool dotProduct(Decoder &d) {
  bool two = d.instruction().opcode == "dp2a";
  bool hi = two && d.has(".hi");
  if (two && !hi && !d.has(".lo"))
    return d.error("'dp2a' needs .lo or .hi");
  Type a, b;
  if (!d.typeOf(a, {Type::U32, Type::S32}) || !d.typeOf(b, {Type::U32, Type::S32}))
    return false;
  Op op = d.make(two ? Opcode::Dp2a : Opcode::Dp4a, Flow::Compute);
  op.type = a;
  op.type2 = b;
  op.flags = hi ? High : 0;
  Type sum = a == Type::S32 || b == Type::S32 ? Type::S32 : Type::U32;
  return finish(d, op, sum, {Type::B32, Type::B32, sum});
}

bool logic(Decoder &d) {
  std::string_view name = d.instruction().opcode;
  Opcode code = name == "and"   ? Opcode::And
                : name == "or"  ? Opcode::Or
                : name == "xor" ? Opcode::Xor
                : name == "not" ? Opcode::Not
                                : Opcode::CNot;
  bool one = code == Opcode::Not || code == Opcode::CNot;
  Type type;
  if (!d.nextType(type))
    return false;
  if (type == Type::Pred && code != Opcode::CNot) {
    Op op = d.make(Opcode::PredLogic, Flow::Compute);
    op.variant = static_cast<uint8_t>(static_cast<unsigned>(code) - static_cast<unsigned>(Opcode::And));
    bool negated = false;
    if (!d.expectCount(one ? 2 : 3) || !d.predicateDestination(d.operand(0), op.dst) ||
        !d.predicateSource(d.operand(1), op.a, negated))
      return false;
    if (negated)
      return d.error("'!' is not possible here");
    if (!one && !d.predicateSource(d.operand(2), op.b, negated))
      return false;
    if (negated)
      return d.error("'!' is not possible here");
    return d.append(op);
  }
  if (!ptx::isBits(type) || type == Type::B8 || type == Type::B128)
    return d.error(fmt::format("type {} is not possible for '{}'", ptx::toString(type), name));
  Op op = d.make(code, Flow::Compute);
  op.type = type;
  return one ? finish(d, op, type, {type}) : finish(d, op, type, {type, type});
}

bool lop3(Decoder &d) {
  BoolOp combine = d.has(".or") ? BoolOp::Or : d.has(".and") ? BoolOp::And : BoolOp::None;
  Type type;
  if (!d.typeOf(type, {Type::B32}))
    return false;
  Op op = d.make(Opcode::Lop3, Flow::Compute);
  op.type = type;
  op.boolOp = combine;
  if (!d.expectCount(combine == BoolOp::None ? 5 : 6))
    return false;
  const ptx::Operand &result = d.operand(0);
  if (combine != BoolOp::None) {
    if (result.kind != ptx::OperandKind::Pair || !d.destination(result.elements[0], type, op.dst) ||
        !d.predicateDestination(result.elements[1], op.dst2))
      return d.error("the result must be register|predicate");
    bool negated = false;
    if (!d.predicateSource(d.operand(5), op.d, negated))
      return false;
    op.flags = negated ? NegatePredicate : 0;
  } else if (!d.destination(0, type, op.dst)) {
    return false;
  }
  if (!d.source(1, type, op.a) || !d.source(2, type, op.b) || !d.source(3, type, op.c) ||
      !d.immediate(d.operand(4), op.imm, "the table"))
    return false;
  if (op.imm < 0 || op.imm > 255)
    return d.error("the table must be 0 to 255");
  return d.append(op);
}

bool shift(Decoder &d) {
  bool left = d.instruction().opcode == "shl";
  Type type;
  if (!d.nextType(type))
    return false;
  bool fits = ptx::isBits(type) || (!left && ptx::isInteger(type));
  if (!fits || ptx::sizeOf(type) < 2 || ptx::sizeOf(type) > 8)
    return d.error(fmt::format("type {} is not possible here", ptx::toString(type)));
  Op op = d.make(left ? Opcode::Shl : Opcode::Shr, Flow::Compute);
  op.type = type;
  return finish(d, op, type, {type, Type::U32});
}

bool funnel(Decoder &d) {
  bool left = d.has(".l");
  if (!left && !d.has(".r"))
    return d.error("'shf' needs .l or .r");
  bool wrap = d.has(".wrap");
  if (!wrap && !d.has(".clamp"))
    return d.error("'shf' needs .wrap or .clamp");
  Type type;
  if (!d.typeOf(type, {Type::B32}))
    return false;
  Op op = d.make(left ? Opcode::ShfL : Opcode::ShfR, Flow::Compute);
  op.type = type;
  op.flags = wrap ? Wrap : 0;
  return finish(d, op, type, {type, type, Type::U32});
}

bool prmt(Decoder &d) {
  Type type;
  if (!d.typeOf(type, {Type::B32}))
    return false;
  Op op = d.make(Opcode::Prmt, Flow::Compute);
  static constexpr std::string_view modes[] = {".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"};
  for (uint8_t i = 0; i < 6; ++i)
    if (d.has(modes[i]))
      op.variant = i + 1;
  op.type = type;
  return finish(d, op, type, {type, type, type});
}

} // namespace

void addIntegerDecoders(DecodeTable &table) {
  for (std::string_view name : {"add", "sub"})
    table[name] = addSub;
  table["addc"] = table["subc"] = addcSubc;
  table["mul"] = mul;
  table["mad"] = table["madc"] = mad;
  table["mul24"] = table["mad24"] = mul24;
  table["sad"] = sad;
  table["div"] = table["rem"] = divide;
  table["abs"] = table["neg"] = absNeg;
  table["min"] = table["max"] = minMax;
  table["popc"] = table["clz"] = table["brev"] = countBits;
  table["bfind"] = bfind;
  table["fns"] = fns;
  table["bfe"] = bfe;
  table["bfi"] = bfi;
  table["szext"] = table["bmsk"] = szext;
  table["dp4a"] = table["dp2a"] = dotProduct;
  for (std::string_view name : {"and", "or", "xor", "not", "cnot"})
    table[name] = logic;
  table["lop3"] = lop3;
  table["shl"] = table["shr"] = shift;
  table["shf"] = funnel;
  table["prmt"] = prmt;
}

} // namespace tessera::sim::program
