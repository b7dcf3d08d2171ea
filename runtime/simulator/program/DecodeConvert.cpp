// cvt in all forms, cvt.pack, cvta and isspacep.
#include "runtime/simulator/program/Decoder.h"

namespace tessera::sim::program {

namespace {

bool isNarrowPair(Type t) { return t == Type::E4M3x2 || t == Type::E5M2x2; }
bool isPair(Type t) { return t == Type::F16x2 || t == Type::BF16x2 || isNarrowPair(t); }
unsigned precision(Type t) { return t == Type::F64 ? 53 : t == Type::F32 ? 24 : 11; }

bool pack(Decoder &d) {
  Op op = d.make(Opcode::CvtPack, Pipe::Alu, Flow::Compute);
  if (!d.has(".sat"))
    return d.error("'cvt.pack' needs .sat");
  if (!d.typeOf(op.type, {Type::U16, Type::S16, Type::U8, Type::S8}) || !d.typeOf(op.type2, {Type::S32}))
    return false;
  Type third = Type::None;
  bool narrow = ptx::sizeOf(op.type) == 1;
  if (narrow && (!d.typeOf(third, {Type::B32}) || !d.expectCount(4) || !d.source(3, third, op.c)))
    return false;
  if (!narrow && !d.expectCount(3))
    return false;
  return d.destination(0, Type::B32, op.dst) && d.source(1, Type::S32, op.a) && d.source(2, Type::S32, op.b) &&
         d.append(op);
}

/// Two sources into a pair: a becomes the upper half.
bool convertPair(Decoder &d, Op op) {
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
  op.pipe = Pipe::Alu;
  op.sourceBytes = 4;
  op.registerBytes = isNarrowPair(op.type) ? 2 : 4;
  return d.expectCount(3) && d.destination(0, op.type, op.dst) && d.source(1, Type::F32, op.a) &&
         d.source(2, Type::F32, op.b) && d.append(op);
}

bool cvt(Decoder &d) {
  if (d.has(".pack"))
    return pack(d);
  Op op = d.make(Opcode::Cvt, Pipe::Alu, Flow::Compute);
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
  bool roundsToInteger = op.rounding >= Rounding::RNI && op.rounding <= Rounding::RPI;
  auto missing = [&] {
    return d.error(
        fmt::format("cvt from {} to {} does not exist in this form", ptx::toString(from), ptx::toString(to)));
  };
  if (isPair(to) && (d.count() == 3 || from == Type::F32))
    return convertPair(d, op);
  if (isNarrowPair(to) || isNarrowPair(from)) {
    bool down = isNarrowPair(to);
    if ((down ? from : to) != Type::F16x2 || op.rounding != Rounding::RN || (down && !(op.flags & Satfinite)))
      return missing();
    if (!d.require(89, "conversion of 8-bit floating point"))
      return false;
    op.sourceBytes = static_cast<uint8_t>(ptx::sizeOf(from));
    op.registerBytes = static_cast<uint8_t>(ptx::sizeOf(to));
    return d.expectCount(2) && d.destination(0, to, op.dst) && d.source(1, from, op.a) && d.append(op);
  }
  if (isPair(to) || isPair(from) || ptx::isBits(to) || ptx::isBits(from) || to == Type::Pred || from == Type::Pred ||
      ptx::sizeOf(to) == 0 || from == Type::TF32 || to > Type::F64 || from > Type::F64)
    return missing();
  bool toFloat = ptx::isFloat(to), fromFloat = ptx::isFloat(from);
  if (to == Type::TF32) {
    if (from != Type::F32 ||
        (op.rounding != Rounding::RNA && op.rounding != Rounding::RN && op.rounding != Rounding::RZ))
      return missing();
    if (op.rounding != Rounding::RNA && !d.require(90, "conversion to tf32 with .rn or .rz"))
      return false;
    if (!d.require(80, "tf32"))
      return false;
  } else if (op.rounding == Rounding::RNA) {
    return missing();
  } else if (toFloat && fromFloat) {
    bool narrows = precision(to) < precision(from) || (to != from && precision(to) == precision(from));
    if (narrows && (op.rounding == Rounding::None || roundsToInteger))
      return d.error("a conversion that loses precision needs .rn, .rz, .rm or .rp");
    if (!narrows && op.rounding != Rounding::None && !roundsToInteger && to == from)
      return d.error("a conversion to the same type takes an integer rounding or none");
  } else if (toFloat) {
    if (op.rounding == Rounding::None || roundsToInteger)
      return d.error("a conversion from integer to floating point needs .rn, .rz, .rm or .rp");
  } else if (fromFloat) {
    if (!roundsToInteger)
      return d.error("a conversion from floating point to integer needs .rni, .rzi, .rmi or .rpi");
  } else if (op.rounding != Rounding::None) {
    return d.error("a conversion between integers does not round");
  }
  if ((op.flags & Ftz) && to != Type::F32 && from != Type::F32)
    return d.error(".ftz goes with .f32");
  if ((op.flags & Relu) && !(from == Type::F32 && (to == Type::F16 || to == Type::BF16 || to == Type::TF32)))
    return d.error(".relu is not possible here");
  bool bfloat = to == Type::BF16 || from == Type::BF16;
  bool oldBfloat = (to == Type::BF16 && from == Type::F32) || (to == Type::F32 && from == Type::BF16);
  if (bfloat && !d.require(oldBfloat ? 80 : 90, "this conversion of bf16"))
    return false;
  if (!d.expectCount(2) || !d.wideDestination(d.operand(0), to, op.dst, op.registerBytes) ||
      !d.wideSource(d.operand(1), from, op.a, op.sourceBytes))
    return false;
  if (toFloat && op.registerBytes != ptx::sizeOf(to))
    return d.error(fmt::format("a register of {} bytes does not fit {}", op.registerBytes, ptx::toString(to)));
  if (!toFloat && !fromFloat)
    op.pipe = Pipe::Alu;
  else
    op.pipe = ptx::sizeOf(to) == 8 || ptx::sizeOf(from) == 8 ? Pipe::Mufu : Pipe::Alu;
  return d.append(op);
}

bool space(Decoder &d, Space &out) {
  if (d.has(".global"))
    out = Space::Global;
  else if (d.has(".shared") || d.has(".shared::cta"))
    out = Space::Shared;
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
  Op op = d.make(Opcode::Cvta, Pipe::Alu, Flow::Compute);
  op.flags = d.has(".to") ? ToSpace : 0;
  if (!space(d, op.space) || !d.typeOf(op.type, {Type::U64, Type::U32}) || !d.expectCount(2))
    return false;
  if (op.type == Type::U32)
    return d.error("addresses have 64 bits here; cvta.u32 is not possible");
  return d.destination(0, op.type, op.dst) && d.source(1, op.type, op.a) && d.append(op);
}

bool isspacep(Decoder &d) {
  Op op = d.make(Opcode::IsSpacep, Pipe::Alu, Flow::Compute);
  if (d.has(".shared::cluster"))
    op.space = Space::Shared;
  else if (!space(d, op.space))
    return false;
  return d.expectCount(2) && d.predicateDestination(d.operand(0), op.dst) && d.source(1, Type::B64, op.a) &&
         d.append(op);
}

} // namespace

void addConvertDecoders(DecodeTable &table) {
  table["cvt"] = cvt;
  table["cvta"] = cvta;
  table["isspacep"] = isspacep;
}

} // namespace tessera::sim::program
