// f32 and f64 arithmetic on 32 lanes.
#include "runtime/simulator/lanes/Exponential.h"
#include "runtime/simulator/lanes/Lanes.h"

namespace tessera::sim::lanes::TESSERA_SIM_ISA {

namespace {

template <class T> struct Types {
  using R = T;
  using A = T;
  using B = T;
  using C = T;
};
using F32 = Types<float>;
using F64 = Types<double>;

template <bool Ftz, bool Sat> float finish(float r) {
  if constexpr (Ftz)
    r = flush(r);
  return Sat ? saturate(r) : canonical(r);
}
template <bool Ftz> float input(float x) { return Ftz ? flush(x) : x; }

template <bool Ftz, bool Sat> struct AddF : F32 {
  static float apply(float a, float b) { return finish<Ftz, Sat>(input<Ftz>(a) + input<Ftz>(b)); }
};
template <bool Ftz, bool Sat> struct SubF : F32 {
  static float apply(float a, float b) { return finish<Ftz, Sat>(input<Ftz>(a) - input<Ftz>(b)); }
};
template <bool Ftz, bool Sat> struct MulF : F32 {
  static float apply(float a, float b) { return finish<Ftz, Sat>(input<Ftz>(a) * input<Ftz>(b)); }
};
template <bool Ftz, bool Sat> struct FmaF : F32 {
  static float apply(float a, float b, float c) {
    return finish<Ftz, Sat>(__builtin_fmaf(input<Ftz>(a), input<Ftz>(b), input<Ftz>(c)));
  }
};
template <bool Ftz, bool> struct DivF : F32 {
  static float apply(float a, float b) { return finish<Ftz, false>(input<Ftz>(a) / input<Ftz>(b)); }
};
/// div.approx: for |b| above 2^126 the quotient is 0 (NaN when a is infinite), as the reciprocal is flushed.
template <bool Ftz, bool> struct DivApproxF : F32 {
  static float apply(float a, float b) {
    float x = input<Ftz>(a), y = input<Ftz>(b), m = y < 0 ? -y : y;
    float q = finish<Ftz, false>(x / y);
    bool huge = m > 0x1p126f && m < floatOf(0x7f800000);
    bool infinite = (bitsOf(x) & 0x7fffffff) == 0x7f800000;
    float zero = floatOf((bitsOf(x) ^ bitsOf(y)) & 0x80000000);
    return huge ? (infinite || isNan(x) ? floatOf(canonicalNan32) : zero) : q;
  }
};
template <bool Ftz, bool> struct RcpF : F32 {
  static float apply(float a) { return finish<Ftz, false>(1.0f / input<Ftz>(a)); }
};
template <bool Ftz, bool> struct SqrtF : F32 {
  static float apply(float a) { return finish<Ftz, false>(__builtin_sqrtf(input<Ftz>(a))); }
};
template <bool Ftz, bool> struct RsqrtF : F32 {
  static float apply(float a) {
    return finish<Ftz, false>(static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(input<Ftz>(a)))));
  }
};
template <bool Ftz, bool> struct Ex2F : F32 {
  static float apply(float a) { return finish<Ftz, false>(exponential2(input<Ftz>(a))); }
};
template <bool Ftz, bool> struct AbsF : F32 {
  static float apply(float a) { return input<Ftz>(floatOf(bitsOf(a) & 0x7fffffff)); }
};
template <bool Ftz, bool> struct NegF : F32 {
  static float apply(float a) { return input<Ftz>(floatOf(bitsOf(a) ^ 0x80000000)); }
};
template <bool IsMax, bool Ftz, bool Nan, bool XorSign> struct MinMaxF : F32 {
  static float apply(float a, float b) {
    a = input<Ftz>(a);
    b = input<Ftz>(b);
    uint32_t sign = (bitsOf(a) ^ bitsOf(b)) & 0x80000000;
    if (XorSign) {
      a = floatOf(bitsOf(a) & 0x7fffffff);
      b = floatOf(bitsOf(b) & 0x7fffffff);
    }
    float zeros = floatOf(IsMax ? bitsOf(a) & bitsOf(b) : bitsOf(a) | bitsOf(b)); // -0 < +0
    float r = a == b ? zeros : (IsMax ? a > b : a < b) ? a : b;
    if (Nan)
      return isNan(a) || isNan(b) ? floatOf(canonicalNan32) : XorSign ? floatOf(bitsOf(r) | sign) : r;
    r = isNan(a) ? canonical(b) : isNan(b) ? a : r;
    return XorSign && !isNan(r) ? floatOf((bitsOf(r) & 0x7fffffff) | sign) : r;
  }
};
template <bool IsMax> struct MinMax3Each {
  static void apply(Warp &w, const Op &op, unsigned i) {
    float v[3] = {w.reg<float>(op.a)[i], w.reg<float>(op.b)[i], w.reg<float>(op.c)[i]};
    for (float &x : v) {
      x = op.flags & Ftz ? flush(x) : x;
      x = op.flags & AbsFlag ? floatOf(bitsOf(x) & 0x7fffffff) : x;
    }
    bool nan = op.flags & NanFlag;
    float r = nan ? MinMaxF<IsMax, false, true, false>::apply(v[0], v[1])
                  : MinMaxF<IsMax, false, false, false>::apply(v[0], v[1]);
    w.reg<float>(op.dst)[i] =
        nan ? MinMaxF<IsMax, false, true, false>::apply(r, v[2]) : MinMaxF<IsMax, false, false, false>::apply(r, v[2]);
  }
};

// f64.
struct AddD : F64 {
  static double apply(double a, double b) { return a + b; }
};
struct SubD : F64 {
  static double apply(double a, double b) { return a - b; }
};
struct MulD : F64 {
  static double apply(double a, double b) { return a * b; }
};
struct FmaD : F64 {
  static double apply(double a, double b, double c) { return __builtin_fma(a, b, c); }
};
struct DivD : F64 {
  static double apply(double a, double b) { return a / b; }
};
struct RcpD : F64 {
  static double apply(double a) { return 1.0 / a; }
};
struct SqrtD : F64 {
  static double apply(double a) { return __builtin_sqrt(a); }
};
struct AbsD : F64 {
  static double apply(double a) { return doubleOf(bitsOf(a) & ~(uint64_t(1) << 63)); }
};
struct NegD : F64 {
  static double apply(double a) { return doubleOf(bitsOf(a) ^ (uint64_t(1) << 63)); }
};
template <bool IsMax> struct MinMaxD : F64 {
  static double apply(double a, double b) {
    double zeros = doubleOf(IsMax ? bitsOf(a) & bitsOf(b) : bitsOf(a) | bitsOf(b));
    double r = a == b ? zeros : (IsMax ? a > b : a < b) ? a : b;
    return a != a ? b : b != b ? a : r;
  }
};
/// rcp.approx.ftz.f64, rsqrt.approx.f64: 20 upper mantissa bits of the result count, the lower word is 0.
struct ApproxD {
  static void apply(Warp &w, const Op &op, unsigned i) {
    double a = w.reg<double>(op.a)[i];
    if ((op.flags & Ftz) && (bitsOf(a) & 0x7ff0000000000000) == 0)
      a = doubleOf(bitsOf(a) & 0x8000000000000000);
    double r = op.code == Opcode::FRcp ? 1.0 / a : numerics::rsqrt(a);
    if (r != r)
      r = doubleOf(0x7fffffff00000000);
    else if ((op.flags & Ftz) && (bitsOf(r) & 0x7ff0000000000000) == 0)
      r = doubleOf(bitsOf(r) & 0x8000000000000000);
    w.reg<double>(op.dst)[i] = doubleOf(bitsOf(r) & 0xffffffff00000000);
  }
};

/// Directed rounding and the functions of the host's library, one lane at a time.
struct SlowEach {
  static void apply(Warp &w, const Op &op, unsigned i) {
    auto in = [&](uint32_t offset) {
      float x = w.reg<float>(offset)[i];
      return op.flags & Ftz ? flush(x) : x;
    };
    float a = in(op.a), r = 0;
    switch (op.code) {
    case Opcode::FAdd:
      r = numerics::add(a, in(op.b), op.rounding);
      break;
    case Opcode::FSub:
      r = numerics::add(a, -in(op.b), op.rounding);
      break;
    case Opcode::FMul:
      r = numerics::mul(a, in(op.b), op.rounding);
      break;
    case Opcode::FFma:
      r = numerics::fma(a, in(op.b), in(op.c), op.rounding);
      break;
    case Opcode::FDiv:
      r = numerics::div(a, in(op.b), op.rounding);
      break;
    case Opcode::FRcp:
      r = numerics::div(1.0f, a, op.rounding);
      break;
    case Opcode::FSqrt:
      r = numerics::sqrt(a, op.rounding);
      break;
    case Opcode::FSin:
      r = numerics::sine(a);
      break;
    case Opcode::FCos:
      r = numerics::cosine(a);
      break;
    case Opcode::FLg2:
      r = numerics::log2(a);
      break;
    case Opcode::FTanh:
      r = numerics::tanh(a);
      break;
    default:
      break;
    }
    if (op.flags & Ftz)
      r = flush(r);
    w.reg<float>(op.dst)[i] = op.flags & Sat ? saturate(r) : canonical(r);
  }
};
struct SlowEachD {
  static void apply(Warp &w, const Op &op, unsigned i) {
    double a = w.reg<double>(op.a)[i], b = w.reg<double>(op.b)[i], r = 0;
    switch (op.code) {
    case Opcode::FAdd:
      r = numerics::add(a, b, op.rounding);
      break;
    case Opcode::FSub:
      r = numerics::add(a, -b, op.rounding);
      break;
    case Opcode::FMul:
      r = numerics::mul(a, b, op.rounding);
      break;
    case Opcode::FFma:
      r = numerics::fma(a, b, w.reg<double>(op.c)[i], op.rounding);
      break;
    case Opcode::FDiv:
      r = numerics::div(a, b, op.rounding);
      break;
    case Opcode::FRcp:
      r = numerics::div(1.0, a, op.rounding);
      break;
    case Opcode::FSqrt:
      r = numerics::sqrt(a, op.rounding);
      break;
    default:
      break;
    }
    w.reg<double>(op.dst)[i] = r;
  }
};
struct CopysignEach {
  static void apply(Warp &w, const Op &op, unsigned i) { // the sign of a, the magnitude of b
    if (op.type == Type::F64)
      w.reg<uint64_t>(op.dst)[i] =
          (w.reg<uint64_t>(op.b)[i] & ~(1ull << 63)) | (w.reg<uint64_t>(op.a)[i] & (1ull << 63));
    else
      w.reg<uint32_t>(op.dst)[i] = (w.reg<uint32_t>(op.b)[i] & 0x7fffffff) | (w.reg<uint32_t>(op.a)[i] & 0x80000000);
  }
};

const Op *testp(Warp &w, const Op &op) {
  uint32_t lanes = 0;
  for (unsigned i = 0; i < warpSize; ++i) {
    bool wide = op.type == Type::F64;
    uint64_t b = wide ? w.reg<uint64_t>(op.a)[i] : w.reg<uint32_t>(op.a)[i];
    uint64_t top = wide ? 0x7ff : 0xff, field = b >> (wide ? 52 : 23) & top,
             fraction = b & ((uint64_t(1) << (wide ? 52 : 23)) - 1);
    bool nan = field == top && fraction, infinite = field == top && !fraction;
    bool zero = !field && !fraction;
    // Zero counts as normal.
    bool kinds[] = {!nan && !infinite, infinite, !nan, nan, zero || (field && field != top), !field && fraction};
    lanes |= uint32_t(kinds[op.variant]) << i;
  }
  writePredicate(w, op.dst, lanes);
  return &op + 1;
}

template <template <bool, bool> class F> Handler flags1(const Op &op) {
  return op.flags & Ftz ? map1<F<true, false>> : map1<F<false, false>>;
}
template <template <bool, bool> class F> Handler flags2(const Op &op) {
  if (op.flags & Sat)
    return op.flags & Ftz ? map2<F<true, true>> : map2<F<false, true>>;
  return op.flags & Ftz ? map2<F<true, false>> : map2<F<false, false>>;
}
template <template <bool, bool> class F> Handler flags3(const Op &op) {
  if (op.flags & Sat)
    return op.flags & Ftz ? map3<F<true, true>> : map3<F<false, true>>;
  return op.flags & Ftz ? map3<F<true, false>> : map3<F<false, false>>;
}
template <bool IsMax> Handler minMax(const Op &op) {
  if (op.variant)
    return each<MinMax3Each<IsMax>>;
  bool ftz = op.flags & Ftz, nan = op.flags & NanFlag;
  if (op.flags & XorSign)
    return ftz ? (nan ? map2<MinMaxF<IsMax, true, true, true>> : map2<MinMaxF<IsMax, true, false, true>>)
               : (nan ? map2<MinMaxF<IsMax, false, true, true>> : map2<MinMaxF<IsMax, false, false, true>>);
  return ftz ? (nan ? map2<MinMaxF<IsMax, true, true, false>> : map2<MinMaxF<IsMax, true, false, false>>)
             : (nan ? map2<MinMaxF<IsMax, false, true, false>> : map2<MinMaxF<IsMax, false, false, false>>);
}

Handler selectDouble(const Op &op) {
  if (op.rounding != Rounding::None && op.rounding != Rounding::RN)
    return each<SlowEachD>;
  switch (op.code) {
  case Opcode::FAdd:
    return map2<AddD>;
  case Opcode::FSub:
    return map2<SubD>;
  case Opcode::FMul:
    return map2<MulD>;
  case Opcode::FFma:
    return map3<FmaD>;
  case Opcode::FDiv:
    return map2<DivD>;
  case Opcode::FAbs:
    return map1<AbsD>;
  case Opcode::FNeg:
    return map1<NegD>;
  case Opcode::FMin:
    return map2<MinMaxD<false>>;
  case Opcode::FMax:
    return map2<MinMaxD<true>>;
  case Opcode::FRcp:
    return op.flags & Approx ? each<ApproxD> : map1<RcpD>;
  case Opcode::FSqrt:
    return map1<SqrtD>;
  case Opcode::FRsqrt:
    return each<ApproxD>;
  default:
    return nullptr;
  }
}

} // namespace

Handler selectFloat(const Op &op) {
  if (op.code == Opcode::Copysign)
    return each<CopysignEach>;
  if (op.code == Opcode::Testp)
    return testp;
  if (op.type == Type::F64)
    return selectDouble(op);
  if (op.type != Type::F32)
    return selectHalf(op);
  if (op.rounding != Rounding::None && op.rounding != Rounding::RN)
    return each<SlowEach>;
  switch (op.code) {
  case Opcode::FAdd:
    return flags2<AddF>(op);
  case Opcode::FSub:
    return flags2<SubF>(op);
  case Opcode::FMul:
    return flags2<MulF>(op);
  case Opcode::FFma:
    return flags3<FmaF>(op);
  case Opcode::FDiv:
    return op.flags & Approx ? flags2<DivApproxF>(op) : flags2<DivF>(op);
  case Opcode::FAbs:
    return flags1<AbsF>(op);
  case Opcode::FNeg:
    return flags1<NegF>(op);
  case Opcode::FMin:
    return minMax<false>(op);
  case Opcode::FMax:
    return minMax<true>(op);
  case Opcode::FRcp:
    return flags1<RcpF>(op);
  case Opcode::FSqrt:
    return flags1<SqrtF>(op);
  case Opcode::FRsqrt:
    return flags1<RsqrtF>(op);
  case Opcode::FEx2:
    return flags1<Ex2F>(op);
  case Opcode::FSin:
  case Opcode::FCos:
  case Opcode::FLg2:
  case Opcode::FTanh:
    return each<SlowEach>;
  default:
    return nullptr;
  }
}

} // namespace tessera::sim::lanes::TESSERA_SIM_ISA

TESSERA_SIM_ISA_END
