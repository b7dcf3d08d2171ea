// cvt in all forms on 32 lanes.
#include "runtime/simulator/lanes/Lanes.h"

namespace tessera::sim::lanes::TESSERA_SIM_ISA {

namespace {

Direction directionOf(Rounding r) {
  switch (r) {
  case Rounding::RZ:
  case Rounding::RZI:
    return Direction::Zero;
  case Rounding::RM:
  case Rounding::RMI:
    return Direction::Down;
  case Rounding::RP:
  case Rounding::RPI:
    return Direction::Up;
  case Rounding::RNA:
    return Direction::NearestAway;
  default:
    return Direction::Nearest;
  }
}

// Fast forms.
template <class T, class S> struct IntegerF {
  using R = T;
  using A = S;
  static T apply(S a) { return static_cast<T>(a); }
};
template <bool Bfloat, bool ReluMode> struct PairF {
  using R = uint32_t;
  using A = float;
  using B = float;
  static uint32_t apply(float a, float b) {
    if (ReluMode) {
      a = a > 0.0f || isNan(a) ? a : 0.0f;
      b = b > 0.0f || isNan(b) ? b : 0.0f;
    }
    uint32_t high = Bfloat ? floatToBfloat(a) : floatToHalf(a), low = Bfloat ? floatToBfloat(b) : floatToHalf(b);
    return high << 16 | low;
  }
};
struct FromHalfF {
  using R = float;
  using A = uint16_t;
  static float apply(uint16_t a) { return canonical(halfToFloat(a)); }
};
struct FromBfloatF {
  using R = float;
  using A = uint16_t;
  static float apply(uint16_t a) { return canonical(bfloatToFloat(a)); }
};
struct ToHalfF {
  using R = uint16_t;
  using A = float;
  static uint16_t apply(float a) { return floatToHalf(a); }
};
struct ToBfloatF {
  using R = uint16_t;
  using A = float;
  static uint16_t apply(float a) { return floatToBfloat(a); }
};
template <class T> struct ToFloatF {
  using R = float;
  using A = T;
  static float apply(T a) { return static_cast<float>(a); }
};

/// A source value as what it is: integer or floating point.
struct Value {
  bool isFloat = false;
  double f = 0;
  int64_t s = 0;  ///< signed integers
  uint64_t u = 0; ///< unsigned integers
  bool isSigned = false;
};

Value readSource(Warp &w, const Op &op, unsigned i) {
  uint64_t raw = 0;
  switch (op.sourceBytes) {
  case 1:
    raw = w.reg<uint8_t>(op.a)[i];
    break;
  case 2:
    raw = w.reg<uint16_t>(op.a)[i];
    break;
  case 4:
    raw = w.reg<uint32_t>(op.a)[i];
    break;
  default:
    raw = w.reg<uint64_t>(op.a)[i];
    break;
  }
  Value v;
  switch (op.type2) {
  case Type::F64:
    v.isFloat = true;
    v.f = doubleOf(raw);
    return v;
  case Type::F32: {
    v.isFloat = true;
    float f = floatOf(static_cast<uint32_t>(raw));
    v.f = op.flags & Ftz ? flush(f) : f;
    return v;
  }
  case Type::F16:
    v.isFloat = true;
    v.f = halfToFloat(static_cast<uint16_t>(raw));
    return v;
  case Type::BF16:
    v.isFloat = true;
    v.f = bfloatToFloat(static_cast<uint16_t>(raw));
    return v;
  default: {
    unsigned shift = 64 - 8 * ptx::sizeOf(op.type2);
    v.isSigned = isSigned(op.type2);
    v.u = raw << shift >> shift;
    v.s = static_cast<int64_t>(raw << shift) >> shift;
    return v;
  }
  }
}

double roundToInteger(double x, Rounding r) {
  switch (r) {
  case Rounding::RZI:
    return __builtin_trunc(x);
  case Rounding::RMI:
    return __builtin_floor(x);
  case Rounding::RPI:
    return __builtin_ceil(x);
  default:
    return __builtin_rint(x); // the host rounds to nearest even
  }
}

/// Floating point to integer: clamps; NaN is 0, or the top bit alone when either side has 64 bits.
uint64_t floatToInteger(double x, Type from, Type to, Rounding r) {
  unsigned bits = 8 * ptx::sizeOf(to);
  if (x != x)
    return bits == 64 || from == Type::F64 ? uint64_t(1) << (bits - 1) : 0;
  x = roundToInteger(x, r);
  if (isSigned(to)) {
    double limit = std::ldexp(1.0, static_cast<int>(bits) - 1);
    if (x >= limit)
      return (uint64_t(1) << (bits - 1)) - 1;
    if (x < -limit)
      return static_cast<uint64_t>(-(int64_t(1) << (bits - 2)) * 2);
    return static_cast<uint64_t>(static_cast<int64_t>(x));
  }
  if (x >= std::ldexp(1.0, static_cast<int>(bits)))
    return bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
  return x <= 0 ? 0 : static_cast<uint64_t>(x);
}

uint64_t saturateInteger(const Value &v, Type to) {
  unsigned bits = 8 * ptx::sizeOf(to);
  if (isSigned(to)) {
    int64_t high = static_cast<int64_t>((uint64_t(1) << (bits - 1)) - 1), low = -high - 1;
    if (!v.isSigned)
      return v.u > static_cast<uint64_t>(high) ? static_cast<uint64_t>(high) : v.u;
    return static_cast<uint64_t>(v.s > high ? high : v.s < low ? low : v.s);
  }
  uint64_t high = bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
  if (v.isSigned)
    return v.s < 0 ? 0 : static_cast<uint64_t>(v.s) > high ? high : static_cast<uint64_t>(v.s);
  return v.u > high ? high : v.u;
}

uint64_t toFloat(const Op &op, const Value &v) {
  Rounding r = op.rounding;
  Direction direction = directionOf(r);
  double x = v.f;
  bool integerRounding = r >= Rounding::RNI && r <= Rounding::RPI;
  if (v.isFloat) {
    if (integerRounding)
      x = roundToInteger(x, r);
    if (op.flags & Relu)
      x = x > 0 || x != x ? x : 0.0;
    if (op.flags & Sat)
      x = x >= 1 ? 1.0 : x > 0 ? x : 0.0;
  }
  bool finite = op.flags & Satfinite;
  switch (op.type) {
  case Type::F64:
    if (!v.isFloat)
      x = v.isSigned ? fromInteger(v.s, r, 0.0) : fromInteger(v.u, r, 0.0);
    return bitsOf(op.flags & Sat ? (x >= 1 ? 1.0 : x > 0 ? x : 0.0) : x);
  case Type::F32: {
    float f = v.isFloat    ? narrow(x, integerRounding ? Rounding::RN : r)
              : v.isSigned ? fromInteger(v.s, r, 0.0f)
                           : fromInteger(v.u, r, 0.0f);
    if (op.flags & Ftz)
      f = flush(f);
    return bitsOf(op.flags & Sat ? saturate(f) : canonical(f));
  }
  case Type::F16:
  case Type::BF16: {
    Format format = op.type == Type::F16 ? formatHalf : formatBfloat;
    if (!v.isFloat) { // 64-bit integers exceed double; the sticky bit keeps the second rounding right
      uint64_t magnitude = v.isSigned && v.s < 0 ? 0 - static_cast<uint64_t>(v.s)
                           : v.isSigned          ? static_cast<uint64_t>(v.s)
                                                 : v.u;
      if (magnitude >> 53)
        magnitude = (magnitude >> 11 | ((magnitude & 0x7ff) != 0)) << 11;
      x = static_cast<double>(magnitude >> 11) * 2048.0 + static_cast<double>(magnitude & 0x7ff);
      if (v.isSigned && v.s < 0)
        x = -x;
      if (op.flags & Sat)
        x = x >= 1 ? 1.0 : x > 0 ? x : 0.0;
    }
    return doubleToFormat(x, format, direction, finite);
  }
  case Type::TF32: {
    uint32_t bits = floatToTf32(static_cast<float>(x), direction);
    if (finite && (bits & 0x7fffffff) == 0x7f800000)
      bits = (bits & 0x80000000) | 0x7f7fe000;
    return bits;
  }
  default:
    return 0;
  }
}

struct ConvertEach {
  static void apply(Warp &w, const Op &op, unsigned i) {
    Value v = readSource(w, op, i);
    uint64_t bits;
    if (ptx::isFloat(op.type)) {
      bits = toFloat(op, v);
    } else {
      bits = v.isFloat        ? floatToInteger(v.f, op.type2, op.type, op.rounding)
             : op.flags & Sat ? saturateInteger(v, op.type)
             : v.isSigned     ? static_cast<uint64_t>(v.s)
                              : v.u;
      unsigned shift = 64 - 8 * ptx::sizeOf(op.type);
      bits = isSigned(op.type) ? static_cast<uint64_t>(static_cast<int64_t>(bits << shift) >> shift)
                               : bits << shift >> shift;
    }
    switch (op.registerBytes) {
    case 1:
      w.reg<uint8_t>(op.dst)[i] = static_cast<uint8_t>(bits);
      break;
    case 2:
      w.reg<uint16_t>(op.dst)[i] = static_cast<uint16_t>(bits);
      break;
    case 4:
      w.reg<uint32_t>(op.dst)[i] = static_cast<uint32_t>(bits);
      break;
    default:
      w.reg<uint64_t>(op.dst)[i] = bits;
      break;
    }
  }
};

struct PairEach {
  static void apply(Warp &w, const Op &op, unsigned i) {
    bool finite = op.flags & Satfinite;
    Direction direction = directionOf(op.rounding);
    if (op.type2 == Type::E4M3x2 || op.type2 == Type::E5M2x2) { // to f16x2, exact
      Format format = op.type2 == Type::E4M3x2 ? formatE4M3 : formatE5M2;
      uint16_t a = w.reg<uint16_t>(op.a)[i];
      auto part = [&](uint16_t bits) {
        float x = formatToFloat(bits & 0xff, format);
        if (op.flags & Relu)
          x = x > 0 || isNan(x) ? x : 0.0f;
        return uint32_t(floatToHalf(x));
      };
      w.reg<uint32_t>(op.dst)[i] = part(a & 0xff) | part(a >> 8) << 16;
      return;
    }
    float high, low;
    if (op.type2 == Type::F16x2) {
      uint32_t a = w.reg<uint32_t>(op.a)[i];
      low = halfToFloat(static_cast<uint16_t>(a));
      high = halfToFloat(static_cast<uint16_t>(a >> 16));
    } else {
      high = w.reg<float>(op.a)[i];
      low = w.reg<float>(op.b)[i];
    }
    auto convert = [&](float x, Format format) {
      if (op.flags & Relu)
        x = x > 0 || isNan(x) ? x : 0.0f;
      return uint32_t(doubleToFormat(x, format, direction, finite));
    };
    switch (op.type) {
    case Type::E4M3x2:
      w.reg<uint16_t>(op.dst)[i] = static_cast<uint16_t>(convert(high, formatE4M3) << 8 | convert(low, formatE4M3));
      break;
    case Type::E5M2x2:
      w.reg<uint16_t>(op.dst)[i] = static_cast<uint16_t>(convert(high, formatE5M2) << 8 | convert(low, formatE5M2));
      break;
    case Type::BF16x2:
      w.reg<uint32_t>(op.dst)[i] = convert(high, formatBfloat) << 16 | convert(low, formatBfloat);
      break;
    default:
      w.reg<uint32_t>(op.dst)[i] = convert(high, formatHalf) << 16 | convert(low, formatHalf);
      break;
    }
  }
};

struct PackEach {
  static void apply(Warp &w, const Op &op, unsigned i) {
    unsigned bits = op.vector;
    bool isSigned = op.variant;
    int32_t most = (1 << (isSigned ? bits - 1 : bits)) - 1, least = isSigned ? -most - 1 : 0;
    auto clamp = [&](int32_t x) {
      return static_cast<uint32_t>(x > most ? most : x < least ? least : x) & ((1u << bits) - 1);
    };
    uint32_t a = clamp(w.reg<int32_t>(op.a)[i]), b = clamp(w.reg<int32_t>(op.b)[i]);
    uint32_t above = bits == 16 ? 0 : w.reg<uint32_t>(op.c)[i] << (2 * bits);
    w.reg<uint32_t>(op.dst)[i] = above | a << bits | b;
  }
};

/// Integer conversions where the registers are as wide as the types.
template <class S> Handler integerTo(Type to) {
  switch (to) {
  case Type::U16:
  case Type::S16:
    return map1<IntegerF<uint16_t, S>>;
  case Type::U32:
  case Type::S32:
    return map1<IntegerF<uint32_t, S>>;
  case Type::U64:
  case Type::S64:
    return map1<IntegerF<uint64_t, S>>;
  default:
    return nullptr;
  }
}

Handler fastInteger(const Op &op) {
  if ((op.flags & Sat) || op.registerBytes != ptx::sizeOf(op.type) || op.sourceBytes != ptx::sizeOf(op.type2))
    return nullptr;
  switch (op.type2) {
  case Type::U16:
    return integerTo<uint16_t>(op.type);
  case Type::S16:
    return integerTo<int16_t>(op.type);
  case Type::U32:
    return integerTo<uint32_t>(op.type);
  case Type::S32:
    return integerTo<int32_t>(op.type);
  case Type::U64:
    return integerTo<uint64_t>(op.type);
  case Type::S64:
    return integerTo<int64_t>(op.type);
  default:
    return nullptr;
  }
}

} // namespace

Handler selectConvert(const Op &op) {
  if (op.code == Opcode::CvtPack)
    return each<PackEach>;
  bool nearest = op.rounding == Rounding::RN, plain = !(op.flags & ~uint32_t(Relu));
  if (op.type == Type::F16x2 || op.type == Type::BF16x2 || op.type == Type::E4M3x2 || op.type == Type::E5M2x2) {
    if (nearest && plain && op.type2 == Type::F32 && (op.type == Type::F16x2 || op.type == Type::BF16x2)) {
      bool relu = op.flags & Relu;
      return op.type == Type::BF16x2 ? (relu ? map2<PairF<true, true>> : map2<PairF<true, false>>)
                                     : (relu ? map2<PairF<false, true>> : map2<PairF<false, false>>);
    }
    return each<PairEach>;
  }
  if (isInteger(op.type) && isInteger(op.type2))
    if (Handler fast = fastInteger(op))
      return fast;
  if (!op.flags) {
    if (op.type == Type::F32 && op.type2 == Type::F16 && op.rounding == Rounding::None)
      return map1<FromHalfF>;
    if (op.type == Type::F32 && op.type2 == Type::BF16 && op.rounding == Rounding::None)
      return map1<FromBfloatF>;
    if (op.type == Type::F16 && op.type2 == Type::F32 && nearest)
      return map1<ToHalfF>;
    if (op.type == Type::BF16 && op.type2 == Type::F32 && nearest)
      return map1<ToBfloatF>;
    if (op.type == Type::F32 && nearest && op.sourceBytes == 4 && op.type2 == Type::S32)
      return map1<ToFloatF<int32_t>>;
    if (op.type == Type::F32 && nearest && op.sourceBytes == 4 && op.type2 == Type::U32)
      return map1<ToFloatF<uint32_t>>;
  }
  return each<ConvertEach>;
}

} // namespace tessera::sim::lanes::TESSERA_SIM_ISA

TESSERA_SIM_ISA_END
