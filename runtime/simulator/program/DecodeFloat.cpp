// Floating-point arithmetic: f32, f64, f16, bf16 and their pairs.
#include "runtime/simulator/program/Decoder.h"

namespace tessera::sim::program {

namespace {

bool isHalf(Type t) { return t == Type::F16 || t == Type::F16x2 || t == Type::BF16 || t == Type::BF16x2; }
bool isBfloat(Type t) { return t == Type::BF16 || t == Type::BF16x2; }

bool finish(Decoder &d, Op op, size_t sources) {
  if (!d.expectCount(1 + sources) || !d.destination(0, op.type, op.dst))
    return false;
  uint32_t *fields[] = {&op.a, &op.b, &op.c};
  for (size_t i = 0; i < sources; ++i)
    if (!d.source(i + 1, op.type, *fields[i]))
      return false;
  return d.append(op);
}

bool ieeeRounding(Decoder &d, Op &op) {
  op.rounding =
      d.rounding({{".rn", Rounding::RN}, {".rz", Rounding::RZ}, {".rm", Rounding::RM}, {".rp", Rounding::RP}});
  return op.rounding != Rounding::None;
}

bool floatType(Decoder &d, Op &op) {
  return d.typeOf(op.type, {Type::F32, Type::F64, Type::F16, Type::F16x2, Type::BF16, Type::BF16x2});
}

/// What .ftz, .sat, .relu and rounding may be combined with.
bool checkQualifiers(Decoder &d, const Op &op) {
  if ((op.flags & Ftz) && op.type != Type::F32 && op.type != Type::F16 && op.type != Type::F16x2)
    return d.error(fmt::format(".ftz is not possible for {}", ptx::toString(op.type)));
  if ((op.flags & Sat) && (op.type == Type::F64 || isBfloat(op.type)))
    return d.error(fmt::format(".sat is not possible for {}", ptx::toString(op.type)));
  if (isHalf(op.type) && op.rounding != Rounding::None && op.rounding != Rounding::RN)
    return d.error(fmt::format("{} rounds to nearest only", ptx::toString(op.type)));
  return true;
}

bool addSubMul(Decoder &d, Opcode code) {
  Op op = d.make(code, Flow::Compute);
  ieeeRounding(d, op);
  op.flags = (d.has(".ftz") ? Ftz : 0) | (d.has(".sat") ? Sat : 0);
  if (!floatType(d, op) || !checkQualifiers(d, op))
    return false;
  if (isBfloat(op.type) && !d.require(90, "this instruction on bf16"))
    return false;
  return finish(d, op, 2);
}

bool fma(Decoder &d) {
  Op op = d.make(Opcode::FFma, Flow::Compute);
  bool hasRounding = ieeeRounding(d, op);
  op.flags =
      (d.has(".ftz") ? Ftz : 0) | (d.has(".sat") ? Sat : 0) | (d.has(".oob") ? Oob : 0) | (d.has(".relu") ? Relu : 0);
  if (!floatType(d, op) || !checkQualifiers(d, op))
    return false;
  if (d.instruction().opcode == "mad" && (isHalf(op.type) || (op.flags & (Relu | Oob))))
    return d.error("'mad' takes .f32 and .f64 without .relu; 'fma' takes the others");
  if (!hasRounding)
    return d.error(fmt::format("'{}' needs a rounding mode: .rn, .rz, .rm or .rp", d.instruction().opcode));
  if ((op.flags & (Relu | Oob)) && (!isHalf(op.type) || (op.flags & Sat)))
    return d.error(".relu and .oob are possible for f16 and bf16 without .sat");
  if (op.flags & Oob)
    return d.error("fma.oob is not supported: the manual does not state the bits of its special NaN");
  return finish(d, op, 3);
}

bool divide(Decoder &d) {
  Op op = d.make(Opcode::FDiv, Flow::Compute);
  if (d.has(".approx"))
    op.flags |= Approx;
  else if (d.has(".full"))
    op.flags |= Full;
  else if (!ieeeRounding(d, op))
    return d.error("'div' needs .approx, .full or a rounding mode");
  op.flags |= d.has(".ftz") ? Ftz : 0;
  if (!d.typeOf(op.type, {Type::F32, Type::F64}) || !checkQualifiers(d, op))
    return false;
  if (op.type == Type::F64 && (op.flags & (Approx | Full)))
    return d.error(".approx and .full are possible for .f32 only");
  return finish(d, op, 2);
}

bool absNeg(Decoder &d, Opcode code) {
  Op op = d.make(code, Flow::Compute);
  op.flags = d.has(".ftz") ? Ftz : 0;
  return floatType(d, op) && checkQualifiers(d, op) && finish(d, op, 1);
}

bool minMax(Decoder &d, Opcode code) {
  Op op = d.make(code, Flow::Compute);
  op.flags = (d.has(".ftz") ? Ftz : 0) | (d.has(".NaN") ? NanFlag : 0) | (d.has(".xorsign") ? XorSign : 0) |
             (d.has(".abs") ? AbsFlag : 0);
  if (!floatType(d, op) || !checkQualifiers(d, op))
    return false;
  if ((op.flags & XorSign) && !(op.flags & AbsFlag))
    return d.error(".xorsign goes with .abs");
  if (op.type == Type::F64 && op.flags)
    return d.error("qualifiers are not possible for .f64");
  if (isHalf(op.type) && !d.require(80, "min and max of f16 and bf16"))
    return false;
  if ((op.flags & XorSign) && !d.require(86, ".xorsign"))
    return false;
  bool three = d.count() == 4;
  if (three && (op.type != Type::F32 || !d.require(100, "min and max of three")))
    return d.error("min and max of three are possible for .f32 on sm_100 and later");
  if ((op.flags & AbsFlag) && !(op.flags & XorSign) && !three)
    return d.error(".abs goes with .xorsign here");
  op.variant = three;
  return finish(d, op, three ? 3 : 2);
}

} // namespace

/// The opcodes that integers and floating-point numbers share, once a floating-point type was seen.
bool decodeFloatArithmetic(Decoder &d) {
  std::string_view name = d.instruction().opcode;
  if (name == "add")
    return addSubMul(d, Opcode::FAdd);
  if (name == "sub")
    return addSubMul(d, Opcode::FSub);
  if (name == "mul")
    return addSubMul(d, Opcode::FMul);
  if (name == "mad")
    return fma(d);
  if (name == "div")
    return divide(d);
  if (name == "abs" || name == "neg")
    return absNeg(d, name == "abs" ? Opcode::FAbs : Opcode::FNeg);
  if (name == "min" || name == "max")
    return minMax(d, name == "min" ? Opcode::FMin : Opcode::FMax);
  return d.error(fmt::format("'{}' does not take floating-point types", name));
}

namespace {

/// rcp, sqrt: .approx or IEEE rounding.
bool rootOrReciprocal(Decoder &d) {
  Op op = d.make(d.instruction().opcode == "rcp" ? Opcode::FRcp : Opcode::FSqrt, Flow::Compute);
  if (d.has(".approx"))
    op.flags |= Approx;
  else if (!ieeeRounding(d, op))
    return d.error("needs .approx or a rounding mode");
  op.flags |= d.has(".ftz") ? Ftz : 0;
  if (!d.typeOf(op.type, {Type::F32, Type::F64}))
    return false;
  if (op.type == Type::F64) {
    bool approxReciprocal = op.code == Opcode::FRcp && (op.flags & Approx) && (op.flags & Ftz);
    if ((op.flags & (Approx | Ftz)) && !approxReciprocal)
      return d.error("this form of .f64 does not exist");
  }
  return finish(d, op, 1);
}

bool approximate(Decoder &d) {
  std::string_view name = d.instruction().opcode;
  Opcode code = name == "rsqrt" ? Opcode::FRsqrt
                : name == "sin" ? Opcode::FSin
                : name == "cos" ? Opcode::FCos
                : name == "lg2" ? Opcode::FLg2
                : name == "ex2" ? Opcode::FEx2
                                : Opcode::FTanh;
  Op op = d.make(code, Flow::Compute);
  if (!d.has(".approx"))
    return d.error(fmt::format("'{}' needs .approx", name));
  op.flags = Approx | (d.has(".ftz") ? Ftz : 0);
  if (!floatType(d, op))
    return false;
  bool half = isHalf(op.type), ftz = op.flags & Ftz;
  bool fits = op.type == Type::F32    ? code != Opcode::FTanh || !ftz
              : op.type == Type::F64  ? code == Opcode::FRsqrt
              : code == Opcode::FTanh ? !ftz
                                      : code == Opcode::FEx2 && (isBfloat(op.type) == ftz);
  if (!fits)
    return d.error(fmt::format("this form of '{}' does not exist", name));
  if (half && isBfloat(op.type) && !d.require(90, "this instruction on bf16"))
    return false;
  return finish(d, op, 1);
}

bool copysign(Decoder &d) {
  Op op = d.make(Opcode::Copysign, Flow::Compute);
  return d.typeOf(op.type, {Type::F32, Type::F64}) && finish(d, op, 2);
}

bool testp(Decoder &d) {
  Op op = d.make(Opcode::Testp, Flow::Compute);
  static constexpr std::string_view kinds[] = {".finite",     ".infinite", ".number",
                                               ".notanumber", ".normal",   ".subnormal"};
  bool found = false;
  for (uint8_t i = 0; i < 6 && !found; ++i)
    if ((found = d.has(kinds[i])))
      op.variant = i;
  if (!found)
    return d.error("'testp' needs the kind of number");
  return d.typeOf(op.type, {Type::F32, Type::F64}) && d.expectCount(2) &&
         d.predicateDestination(d.operand(0), op.dst) && d.source(1, op.type, op.a) && d.append(op);
}

} // namespace

void addFloatDecoders(DecodeTable &table) {
  table["fma"] = fma;
  table["rcp"] = table["sqrt"] = rootOrReciprocal;
  for (std::string_view name : {"rsqrt", "sin", "cos", "lg2", "ex2", "tanh"})
    table[name] = approximate;
  table["copysign"] = copysign;
  table["testp"] = testp;
}

} // namespace tessera::sim::program
