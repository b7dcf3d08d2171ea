// cvt in all forms, cvt.pack, cvta and isspacep.
#include "runtime/simulator/program/Decoder.h"

namespace tessera::sim::program {

namespace {

bool isNarrowPair(Type t) { return t == Type::E4M3x2 || t == Type::E5M2x2; }
bool isPair(Type t) { return t == Type::F16x2 || t == Type::BF16x2 || isNarrowPair(t); }
unsigned precision(Type t) { return t == Type::F64 ? 53 : t == Type::F32 ? 24 : 11; }

/// cvt.pack: two saturated integers of 2 to 16 bits above each other, the rest of the word from c.
bool pack(Decoder &d) {
  Op op = d.make(Opcode::CvtPack, Flow::Compute);
  if (!d.has(".sat"))
    return d.error("'cvt.pack' needs .sat");
  static constexpr struct {
    std::string_view name;
    uint8_t bits;
    bool isSigned;
  } widths[] = {{".u2", 2, false}, {".s2", 2, true}, {".u4", 4, false},   {".s4", 4, true},
                {".u8", 8, false}, {".s8", 8, true}, {".u16", 16, false}, {".s16", 16, true}};
  op.vector = 0;
  for (const auto &width : widths)
    if (!op.vector && d.has(width.name)) {
      op.vector = width.bits;
      op.variant = width.isSigned;
    }
  if (!op.vector)
    return d.error("'cvt.pack' makes .u2, .s2, .u4, .s4, .u8, .s8, .u16 or .s16");
  if (op.vector < 8 && !d.require(75, "'cvt.pack' to less than 8 bits"))
    return false;
  Type third = Type::None;
  if (!d.typeOf(op.type2, {Type::S32}) || (op.vector < 16 && !d.typeOf(third, {Type::B32})) ||
      !d.expectCount(op.vector < 16 ? 4 : 3) || (op.vector < 16 && !d.source(3, third, op.c)))
    return false;
  return d.destination(0, Type::B32, op.dst) && d.source(1, Type::S32, op.a) && d.source(2, Type::S32, op.b) &&
         d.append(op);
}

/// Two sources into a pair: a becomes the upper half.
bool convertPair(Decoder &d, Op op) {
  if (op.flags & (Ftz | Sat))
    return d.error("conversion to a pair takes .relu and .satfinite only");
  if (op.type2 != Type::F32)
    return d.error(fmt::format("cvt from {} to {} does not exist", ptx::toString(op.type2), ptx::toString(op.type)));
  if (isNarrowPair(op.type)) {
    if (op.rounding != Rounding::RN || !(op.flags & Satfinite))
      return d.error("conversion to 8 bits needs .rn.satfinite");
    if (!d.require(89, "conversion to 8-bit floating point"))
      return false;
  } else {
    if (op.rounding != Rounding::RN && op.rounding != Rounding::RZ)
      return d.error("conversion to a pair needs .rn or .rz");
    if (!d.require(80, "conversion to a pair"))
      return false;
  }
  op.sourceBytes = 4;
  op.registerBytes = isNarrowPair(op.type) ? 2 : 4;
  return d.expectCount(3) && d.destination(0, op.type, op.dst) && d.source(1, Type::F32, op.a) &&
         d.source(2, Type::F32, op.b) && d.append(op);
}

bool roundsToInteger(Rounding r) { return r >= Rounding::RNI && r <= Rounding::RPI; }

bool checkTf32(Decoder &d, const Op &op) {
  bool away = op.rounding == Rounding::RNA;
  if (op.type2 != Type::F32 || !(away || op.rounding == Rounding::RN || op.rounding == Rounding::RZ) ||
      (op.flags & (Ftz | Sat)) || (away && (op.flags & Relu)))
    return d.error("conversion to .tf32 is cvt.rna{.satfinite}, or cvt.rn or .rz {.satfinite}{.relu}, from .f32");
  return d.require(80, "tf32") && (away || d.require(op.flags & Satfinite ? 100 : 90, "this conversion to tf32"));
}

/// Which rounding a pair of types takes.
bool checkRounding(Decoder &d, const Op &op) {
  Type to = op.type, from = op.type2;
  Rounding r = op.rounding;
  bool toFloat = ptx::isFloat(to), fromFloat = ptx::isFloat(from), none = r == Rounding::None;
  if (r == Rounding::RNA)
    return d.error(".rna goes with .tf32");
  if (!fromFloat && !toFloat)
    return none || d.error("a conversion between integers does not round");
  if (fromFloat && !toFloat)
    return roundsToInteger(r) || d.error("a conversion from floating point to integer needs .rni, .rzi, .rmi or .rpi");
  if (!fromFloat)
    return (!none && !roundsToInteger(r)) ||
           d.error("a conversion from integer to floating point needs .rn, .rz, .rm or .rp");
  if (to == from)
    return none || roundsToInteger(r) || d.error("a conversion to the same type takes an integer rounding or none");
  if (roundsToInteger(r))
    return d.error("an integer rounding needs equal types, or an integer result");
  if (from == Type::BF16 || (to == Type::BF16 && from == Type::F16)) // exact or not, a rounding may be there
    return true;
  bool narrows = precision(to) < precision(from);
  return none != narrows || d.error(narrows ? "a conversion that loses precision needs .rn, .rz, .rm or .rp"
                                            : "a conversion that loses nothing takes no rounding");
}

/// Every value of integer type `from` is one of `to`.
bool holdsAll(Type to, Type from) {
  unsigned toBits = 8 * ptx::sizeOf(to), fromBits = 8 * ptx::sizeOf(from);
  if (ptx::isSigned(from))
    return ptx::isSigned(to) && toBits >= fromBits;
  return ptx::isSigned(to) ? toBits > fromBits : toBits >= fromBits;
}

/// .ftz, .sat, .relu, .satfinite and the bf16 forms.
bool checkModifiers(Decoder &d, const Op &op) {
  Type to = op.type, from = op.type2;
  bool bfloat = to == Type::BF16 || from == Type::BF16;
  if ((op.flags & Ftz) && to != Type::F32 && from != Type::F32)
    return d.error(".ftz goes with .f32");
  if ((op.flags & Sat) && (bfloat || (ptx::isInteger(to) && ptx::isInteger(from) && holdsAll(to, from))))
    return d.error(fmt::format(".sat is not possible from {} to {}", ptx::toString(from), ptx::toString(to)));
  bool toHalf = from == Type::F32 && (to == Type::F16 || to == Type::BF16);
  bool limited = op.flags & (Relu | Satfinite);
  if (limited && (!toHalf || (op.flags & (Ftz | Sat)) || (op.rounding != Rounding::RN && op.rounding != Rounding::RZ)))
    return d.error(".relu and .satfinite go with .rn and .rz from .f32 to .f16, .bf16 and .tf32");
  if (!bfloat)
    return true;
  if (ptx::sizeOf(to) == 1 || ptx::sizeOf(from) == 1)
    return d.error("a conversion between bf16 and 8-bit integers does not exist");
  bool old = (to == Type::BF16 && from == Type::F32) || (to == Type::F32 && from == Type::BF16 && !(op.flags & Ftz));
  return d.require(old ? 80 : 90, "this conversion of bf16");
}

bool cvt(Decoder &d) {
  if (d.has(".pack"))
    return pack(d);
  Op op = d.make(Opcode::Cvt, Flow::Compute);
  op.rounding = d.rounding({{".rni", Rounding::RNI},
                            {".rzi", Rounding::RZI},
                            {".rmi", Rounding::RMI},
                            {".rpi", Rounding::RPI},
                            {".rna", Rounding::RNA},
                            {".rn", Rounding::RN},
                            {".rz", Rounding::RZ},
                            {".rm", Rounding::RM},
                            {".rp", Rounding::RP}});
  op.flags = (d.has(".ftz") ? Ftz : 0) | (d.has(".sat") ? Sat : 0) | (d.has(".relu") ? Relu : 0) |
             (d.has(".satfinite") ? Satfinite : 0);
  if (!d.nextType(op.type) || !d.nextType(op.type2))
    return false;
  Type to = op.type, from = op.type2;
  auto missing = [&] {
    return d.error(
        fmt::format("cvt from {} to {} does not exist in this form", ptx::toString(from), ptx::toString(to)));
  };
  if (isPair(to) && (d.count() == 3 || from == Type::F32))
    return convertPair(d, op);
  if (isNarrowPair(to) || isNarrowPair(from)) {
    bool down = isNarrowPair(to);
    if ((down ? from : to) != Type::F16x2 || op.rounding != Rounding::RN || (op.flags & (Ftz | Sat)) ||
        down != bool(op.flags & Satfinite))
      return missing();
    if (!d.require(89, "conversion of 8-bit floating point"))
      return false;
    op.sourceBytes = static_cast<uint8_t>(ptx::sizeOf(from));
    op.registerBytes = static_cast<uint8_t>(ptx::sizeOf(to));
    return d.expectCount(2) && d.destination(0, to, op.dst) && d.source(1, from, op.a) && d.append(op);
  }
  bool number = ptx::isInteger(from) || (ptx::isFloat(from) && from != Type::TF32);
  if (isPair(to) || isPair(from) || !number || !(ptx::isInteger(to) || ptx::isFloat(to)))
    return missing();
  if (to == Type::TF32 ? !checkTf32(d, op) : !checkRounding(d, op) || !checkModifiers(d, op))
    return false;
  bool toFloat = ptx::isFloat(to);
  if (!d.expectCount(2) || !d.wideDestination(d.operand(0), to, op.dst, op.registerBytes) ||
      !d.wideSource(d.operand(1), from, op.a, op.sourceBytes))
    return false;
  if (toFloat && op.registerBytes != ptx::sizeOf(to))
    return d.error(fmt::format("a register of {} bytes does not fit {}", op.registerBytes, ptx::toString(to)));
  return d.append(op);
}

bool space(Decoder &d, Space &out) {
  if (d.has(".global"))
    out = Space::Global;
  else if (d.has(".shared") || d.has(".shared::cta"))
    out = Space::Shared;
  else if (d.has(".shared::cluster"))
    return (out = Space::Shared, d.require(90, "the state space .shared::cluster"));
  else if (d.has(".local"))
    out = Space::Local;
  else if (d.has(".const"))
    out = Space::Const;
  else if (d.has(".param") || d.has(".param::entry"))
    out = Space::Param;
  else
    return d.error("needs a state space");
  return true;
}

bool cvta(Decoder &d) {
  Op op = d.make(Opcode::Cvta, Flow::Compute);
  op.flags = d.has(".to") ? ToSpace : 0;
  if (!space(d, op.space) || !d.typeOf(op.type, {Type::U64, Type::U32}) || !d.expectCount(2))
    return false;
  if (op.type == Type::U32)
    return d.error("addresses have 64 bits here; cvta.u32 is not possible");
  return d.destination(0, op.type, op.dst) && d.source(1, op.type, op.a) && d.append(op);
}

bool isspacep(Decoder &d) {
  Op op = d.make(Opcode::IsSpacep, Flow::Compute);
  return space(d, op.space) && d.expectCount(2) && d.predicateDestination(d.operand(0), op.dst) &&
         d.source(1, Type::B64, op.a) && d.append(op);
}

} // namespace

void addConvertDecoders(DecodeTable &table) {
  table["cvt"] = cvt;
  table["cvta"] = cvta;
  table["isspacep"] = isspacep;
}

} // namespace tessera::sim::program
