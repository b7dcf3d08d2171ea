// Opcode by opcode: pipe, rate and number of machine instructions.
#include "runtime/simulator/program/Cost.h"

#include "runtime/simulator/program/Variants.h"

namespace tessera::sim::program {

namespace {

constexpr double warpLanes = 32;

bool isBfloat(Type t) { return t == Type::BF16 || t == Type::BF16x2; }
bool isHalf(Type t) { return t == Type::F16 || t == Type::F16x2 || isBfloat(t); }
bool isPair(Type t) { return t == Type::F16x2 || t == Type::BF16x2; }

/// `slots` machine instructions on a pipe of `rate` lanes per clock.
Cost on(Pipe pipe, double rate, double slots = 1) { return {pipe, slots * warpLanes / rate, slots}; }
Cost folded() { return {Pipe::Folded, 0, 0}; }

/// Integers of 64 bits take a machine instruction for each half.
Cost integer(const Op &op, const DeviceRates &rates, double slots = 1) {
  return on(Pipe::Alu, rates.alu, slots * (ptx::sizeOf(op.type) == 8 ? 2 : 1));
}

/// A product of 64 bits is four of 32.
Cost multiply(const Op &op, const DeviceRates &rates, double slots = 1) {
  return on(Pipe::Fma, rates.integerMultiply, slots * (ptx::sizeOf(op.type) == 8 ? 4 : 1));
}

Cost half(Type type, const DeviceRates &rates, double slots = 1) {
  return on(Pipe::Half, isBfloat(type) ? rates.bfloat : rates.half, slots);
}

Cost arithmetic(Type type, const DeviceRates &rates, double slots = 1) {
  if (type == Type::F64)
    return on(Pipe::Fp64, rates.fp64, slots);
  return isHalf(type) ? half(type, rates, slots) : on(Pipe::Fma, rates.fma, slots);
}

/// One MUFU instruction, two for a pair, and what scales operands and results around it.
Cost special(const Op &op, const DeviceRates &rates, double around) {
  if (op.type == Type::F64)
    return on(Pipe::Fp64, rates.fp64, 10);
  double operations = isPair(op.type) ? 2 : 1;
  return {Pipe::Mufu, operations * warpLanes / rates.mufu, operations + around};
}

/// Subnormals have no place in ex2 and lg2 without .ftz: a compare, a select and a multiply go around them.
double scaling(const Op &op) { return op.type == Type::F32 && !(op.flags & Ftz) ? 3 : 0; }

Cost convert(const Op &op, const DeviceRates &rates) {
  Type to = op.type, from = op.type2;
  bool toFloat = !ptx::isInteger(to) && !ptx::isBits(to), fromFloat = !ptx::isInteger(from) && !ptx::isBits(from);
  if (!toFloat && !fromFloat) {
    bool wide = ptx::sizeOf(to) == 8 || ptx::sizeOf(from) == 8;
    // Half of a register pair, or a pair whose upper half is the zero register.
    if (!(op.flags & Sat) && wide && (ptx::sizeOf(to) <= 4 || !ptx::isSigned(from)))
      return folded();
    return on(Pipe::Alu, rates.alu);
  }
  if (to == Type::F64 || from == Type::F64 || ptx::sizeOf(to) == 8 || ptx::sizeOf(from) == 8)
    return on(Pipe::Mufu, rates.convert64);
  if (!toFloat || !fromFloat || (op.rounding >= Rounding::RNI && op.rounding <= Rounding::RPI))
    return on(Pipe::Mufu, rates.mufu);
  if (from == Type::F32 && (isHalf(to) || to == Type::TF32))
    return on(Pipe::Alu, rates.convert);
  if (to == Type::F32 && isBfloat(from))
    return on(Pipe::Alu, rates.alu); // a shift
  if (isHalf(to) && isHalf(from))
    return half(to, rates);
  if (to == Type::F32 && from == Type::F16)
    return half(from, rates);
  if (to == Type::F32 && from == Type::F32)
    return on(Pipe::Fma, rates.fma);
  return on(Pipe::Mufu, rates.mufu); // 8-bit floating point
}

Cost access(const Op &op, const DeviceRates &rates) {
  switch (op.space) {
  case Space::Shared:
    return on(Pipe::Shared, rates.lsu);
  case Space::Param:
    return folded();
  case Space::Const:
    return {};
  default:
    return on(Pipe::Lsu, rates.lsu);
  }
}

/// FMA per SM and clock. The rates of 4-bit and 1-bit inputs are multiples of that of 8-bit ones (A100 white paper).
double matrixRate(const Op &op, const DeviceRates &rates) {
  switch (static_cast<MmaElement>(op.registerBytes)) {
  case MmaElement::F16:
  case MmaElement::BF16:
    return op.type2 == Type::F16 ? rates.mma16Sum16 : rates.mma16Sum32;
  case MmaElement::TF32:
    return rates.mmaTf32;
  case MmaElement::F64:
    return rates.mmaFp64;
  case MmaElement::E4M3:
  case MmaElement::E5M2:
    return rates.mma8;
  case MmaElement::S4:
  case MmaElement::U4:
    return 2 * rates.mmaInt8;
  case MmaElement::B1:
    return 8 * rates.mmaInt8;
  default:
    return rates.mmaInt8;
  }
}

Cost matrix(const Op &op, const DeviceRates &rates) {
  // mma.sync reaches this share of the rates; the warpgroup instructions reach all of it.
  return {Pipe::Tensor, static_cast<double>(op.imm) / 2 / (matrixRate(op, rates) * rates.mmaSyncShare), 1};
}

/// Halves of a register pair are registers already; smaller parts are moved by prmt.
Cost parts(unsigned partBytes, unsigned count, const DeviceRates &rates) {
  return partBytes >= 4 ? folded() : on(Pipe::Alu, rates.alu, count > 2 ? 2 : 1);
}

} // namespace

Cost costOf(const Op &op, const DeviceRates &rates) {
  switch (op.code) {
  case Opcode::Add:
  case Opcode::Sub:
  case Opcode::AddCC:
  case Opcode::AddC:
  case Opcode::SubCC:
  case Opcode::SubC:
  case Opcode::Abs:
  case Opcode::Neg:
  case Opcode::Min:
  case Opcode::Max:
  case Opcode::Sad:
  case Opcode::And:
  case Opcode::Or:
  case Opcode::Xor:
  case Opcode::Not:
  case Opcode::CNot:
  case Opcode::Lop3:
  case Opcode::Shl:
  case Opcode::Shr:
  case Opcode::ShfL:
  case Opcode::ShfR:
  case Opcode::Prmt:
  case Opcode::Szext:
  case Opcode::Bmsk:
  case Opcode::Selp:
  case Opcode::PredLogic:
  case Opcode::ActiveMask:
  case Opcode::Elect:
  case Opcode::CvtPack:
    return integer(op, rates);
  case Opcode::Bfe:
  case Opcode::Bfi:
    return integer(op, rates, 2);
  case Opcode::Div:
  case Opcode::Rem:
    return integer(op, rates, ptx::sizeOf(op.type) == 8 ? 35 : 20);
  case Opcode::Fns:
    return integer(op, rates, 32);
  case Opcode::Slct:
    return integer(op, rates, 2);
  case Opcode::MulLo:
  case Opcode::MulWide:
  case Opcode::MadLo:
  case Opcode::MadWide:
  case Opcode::MadLoCC:
  case Opcode::MadCLo:
  case Opcode::Dp4a:
  case Opcode::Dp2a:
    return multiply(op, rates);
  case Opcode::MulHi:
  case Opcode::MadHi:
  case Opcode::MadHiCC:
  case Opcode::MadCHi:
    return multiply(op, rates, 2);
  case Opcode::Mul24Lo:
  case Opcode::Mul24Hi:
  case Opcode::Mad24Lo:
  case Opcode::Mad24Hi:
    return multiply(op, rates, 3);
  case Opcode::Popc:
  case Opcode::Clz:
  case Opcode::Bfind:
  case Opcode::Brev:
    return on(Pipe::Mufu, rates.mufu, ptx::sizeOf(op.type) == 8 ? 2 : 1);
  case Opcode::FAdd:
  case Opcode::FSub:
  case Opcode::FMul:
  case Opcode::FFma:
    return arithmetic(op.type, rates);
  case Opcode::FMin:
  case Opcode::FMax:
    return op.type == Type::F64 ? arithmetic(op.type, rates, 2) : on(Pipe::Alu, rates.alu);
  case Opcode::FAbs:
  case Opcode::FNeg:
    return folded(); // modifiers of the operands that take the result
  case Opcode::FDiv:
    if (op.type == Type::F64)
      return on(Pipe::Fp64, rates.fp64, 12);
    return special(op, rates, op.flags & Approx ? 1 : op.flags & Full ? 4 : 9);
  case Opcode::FRcp:
  case Opcode::FSqrt:
  case Opcode::FRsqrt:
    return special(op, rates, op.flags & Approx ? 0 : 8);
  case Opcode::FSin:
  case Opcode::FCos:
    return special(op, rates, 1);
  case Opcode::FLg2:
  case Opcode::FEx2:
    return special(op, rates, scaling(op));
  case Opcode::FTanh:
    return special(op, rates, 0);
  case Opcode::Copysign:
    return on(Pipe::Alu, rates.alu);
  case Opcode::Testp:
    return on(Pipe::Alu, rates.alu, 2);
  case Opcode::Set:
  case Opcode::Setp:
    if (op.type == Type::F64)
      return on(Pipe::Fp64, rates.fp64);
    return isHalf(op.type) ? half(op.type, rates) : integer(op, rates);
  case Opcode::Mov:
  case Opcode::MovFrame:
  case Opcode::Cvta:
  case Opcode::Nop:
  case Opcode::LdParam:
    return folded();
  case Opcode::Pack:
    return parts(op.registerBytes / op.vector, op.vector, rates);
  case Opcode::Unpack:
    return parts(op.sourceBytes / op.vector, op.vector, rates);
  case Opcode::IsSpacep:
    return on(Pipe::Alu, rates.alu, 2);
  case Opcode::Cvt:
    return convert(op, rates);
  case Opcode::Ld:
  case Opcode::St:
  case Opcode::Atom:
  case Opcode::Red:
  case Opcode::WmmaLoad:
  case Opcode::WmmaStore:
    return access(op, rates);
  case Opcode::Prefetch:
  case Opcode::CpAsync:
    return on(Pipe::Lsu, rates.lsu);
  case Opcode::Shfl:
    return on(Pipe::Shared, rates.shuffle);
  case Opcode::Ldmatrix:
  case Opcode::Stmatrix:
  case Opcode::Movmatrix:
  case Opcode::MbarInit:
  case Opcode::MbarInval:
  case Opcode::MbarArrive:
  case Opcode::MbarTestWait:
  case Opcode::MbarExpectTx:
  case Opcode::MbarCompleteTx:
  case Opcode::CpAsyncMbarArrive:
    return on(Pipe::Shared, rates.lsu);
  case Opcode::Vote:
    return on(Pipe::Alu, rates.alu);
  case Opcode::Match:
  case Opcode::Redux:
    return on(Pipe::Other, rates.reduce);
  case Opcode::Mma:
    return matrix(op, rates);
  case Opcode::WarpSync:
  case Opcode::BarSync:
  case Opcode::BarArrive:
  case Opcode::BarRed:
  case Opcode::Fence:
  case Opcode::Bra:
  case Opcode::BrxIdx:
  case Opcode::Call:
  case Opcode::CallIndirect:
  case Opcode::Return:
  case Opcode::Exit:
  case Opcode::Trap:
  case Opcode::Brkpt:
  case Opcode::Nanosleep:
  case Opcode::Printf:
  case Opcode::AssertFail:
    return {Pipe::Control, 0, 1};
  default: // special registers, waits for asynchronous copies: a slot
    return {};
  }
}

} // namespace tessera::sim::program
