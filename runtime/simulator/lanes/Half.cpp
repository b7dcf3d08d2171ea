// f16, bf16 and their pairs: computed in single or double precision, where one rounding to the result is exact.
#include "runtime/simulator/lanes/Exponential.h"
#include "runtime/simulator/lanes/Lanes.h"

namespace tessera::sim::lanes::TESSERA_SIM_ISA {

namespace {

bool isBfloat(Type t) { return t == Type::BF16 || t == Type::BF16x2; }

template <bool Bfloat> struct Half {
  static constexpr Format format = Bfloat ? formatBfloat : formatHalf;
  static constexpr uint16_t exponentMask = Bfloat ? 0x7f80 : 0x7c00;
  static float widen(uint16_t x) { return Bfloat ? bfloatToFloat(x) : halfToFloat(x); }
  static uint16_t narrow(float x) { return Bfloat ? floatToBfloat(x) : floatToHalf(x); }
  static bool nan(uint16_t x) { return (x & 0x7fff) > exponentMask; }
  static uint16_t flush(uint16_t x) { return x & exponentMask ? x : x & 0x8000; }

  static uint16_t minMax(const Op &op, uint16_t a, uint16_t b) {
    bool max = op.code == Opcode::FMax, nanWins = op.flags & NanFlag, xorSign = op.flags & XorSign;
    auto sign = static_cast<uint16_t>((a ^ b) & 0x8000);
    if (xorSign) {
      a &= 0x7fff;
      b &= 0x7fff;
    }
    if (nan(a) || nan(b)) {
      if (nanWins || (nan(a) && nan(b)))
        return canonicalNan16;
      uint16_t r = nan(a) ? b : a;
      return xorSign ? static_cast<uint16_t>((r & 0x7fff) | sign) : r;
    }
    float x = widen(a), y = widen(b);
    uint16_t r = x == y ? (max ? a & b : a | b) : (max ? x > y : x < y) ? a : b;
    return xorSign ? static_cast<uint16_t>((r & 0x7fff) | sign) : r;
  }

  static uint16_t apply(const Op &op, uint16_t a, uint16_t b, uint16_t c) {
    bool ftz = (op.flags & Ftz) && !Bfloat;
    if (ftz) {
      a = flush(a);
      b = flush(b);
      c = flush(c);
    }
    uint16_t r;
    switch (op.code) {
    case Opcode::FAbs:
      return a & 0x7fff;
    case Opcode::FNeg:
      return a ^ 0x8000;
    case Opcode::FMin:
    case Opcode::FMax:
      return minMax(op, a, b);
    case Opcode::FAdd: // 24 bits are enough for one more rounding to 11 or 8 to be harmless
      r = narrow(widen(a) + widen(b));
      break;
    case Opcode::FSub:
      r = narrow(widen(a) - widen(b));
      break;
    case Opcode::FMul:
      r = doubleToFormat(double(widen(a)) * double(widen(b)), format, Direction::Nearest, false);
      break;
    case Opcode::FFma:
      r = doubleToFormat(numerics::fmaOdd(widen(a), widen(b), widen(c)), format, Direction::Nearest, false);
      break;
    case Opcode::FEx2: {
      if (Bfloat && (op.flags & Ftz))
        a = flush(a);
      r = doubleToFormat(exponential2Wide(widen(a)), format, Direction::Nearest, false);
      if (Bfloat && (op.flags & Ftz))
        r = flush(r);
      break;
    }
    default:
      r = doubleToFormat(numerics::tanh(double(widen(a))), format, Direction::Nearest, false);
      break;
    }
    if (ftz)
      r = flush(r);
    if (nan(r))
      return op.flags & Sat ? 0 : canonicalNan16;
    if (op.flags & Sat) {
      float x = widen(r);
      return x >= 1.0f ? narrow(1.0f) : x > 0.0f ? r : 0;
    }
    if ((op.flags & Relu) && (r & 0x8000))
      return 0;
    return r;
  }
};

template <bool Bfloat> struct ScalarEach {
  static void apply(Warp &w, const Op &op, unsigned i) {
    w.reg<uint16_t>(op.dst)[i] =
        Half<Bfloat>::apply(op, w.reg<uint16_t>(op.a)[i], w.reg<uint16_t>(op.b)[i], w.reg<uint16_t>(op.c)[i]);
  }
};
template <bool Bfloat> struct PairEach {
  static void apply(Warp &w, const Op &op, unsigned i) {
    uint32_t a = w.reg<uint32_t>(op.a)[i], b = w.reg<uint32_t>(op.b)[i], c = w.reg<uint32_t>(op.c)[i];
    auto part = [&](unsigned s) {
      return uint32_t(Half<Bfloat>::apply(op, static_cast<uint16_t>(a >> s), static_cast<uint16_t>(b >> s),
                                          static_cast<uint16_t>(c >> s)));
    };
    w.reg<uint32_t>(op.dst)[i] = part(0) | part(16) << 16;
  }
};

} // namespace

Handler selectHalf(const Op &op) {
  bool pair = op.type == Type::F16x2 || op.type == Type::BF16x2;
  if (isBfloat(op.type))
    return pair ? each<PairEach<true>> : each<ScalarEach<true>>;
  return pair ? each<PairEach<false>> : each<ScalarEach<false>>;
}

} // namespace tessera::sim::lanes::TESSERA_SIM_ISA

TESSERA_SIM_ISA_END
