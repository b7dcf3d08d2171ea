// mma.sync: every shape is two or four 8-row tiles of 16 bytes per row, in three numerical modes.
//
// One register over 32 lanes is a row-major tile of 8 rows and w = 4, 8 or 16 columns (32-, 16- or 8-bit elements):
//
//     A, K = 2w:  [ reg 0 | reg 2 ]     B (column-major):  reg j holds, in row n, k = jw ... jw + w - 1
//                 [ reg 1 | reg 3 ]     C, D:  lane 4g + q: columns 2q, 2q + 1 of rows g (regs 0, 1), g + 8 (2, 3)
#include "runtime/simulator/lanes/Lanes.h"

namespace tessera::sim::lanes::TESSERA_SIM_ISA {

namespace {

typedef double Row __attribute__((vector_size(64))); // the 8 columns of one row of D
typedef int32_t IntRow __attribute__((vector_size(32)));

struct HalfElement {
  using Raw = uint16_t;
  static double value(Raw x) { return halfToFloat(x); }
  /// Exponent of the significand in [1, 2), or of a subnormal's leading place; zero as on the hardware model.
  static int exponent(Raw x) {
    int e = (x >> 10) & 31;
    return e ? e - 15 : (x & 0x7fff) ? -14 : -126;
  }
};
struct BfloatElement {
  using Raw = uint16_t;
  static double value(Raw x) { return bfloatToFloat(x); }
  static int exponent(Raw x) {
    int e = (x >> 7) & 255;
    return e ? e - 127 : -126;
  }
};
struct Tf32Element {
  using Raw = uint32_t;
  static double value(Raw x) { return floatOf(x & 0xffffe000); }
  static int exponent(Raw x) {
    int e = (x >> 23) & 255;
    return e ? e - 127 : -126;
  }
};
template <int E, int M, bool Infinity> struct ByteElement {
  using Raw = uint8_t;
  static double value(Raw x) { return formatToFloat(x, Format{E, M, Infinity}); }
  static int exponent(Raw x) {
    int e = (x >> M) & ((1 << E) - 1), bias = (1 << (E - 1)) - 1;
    return e ? e - bias : (x & 0x7f) ? 1 - bias : -126;
  }
};
using E4M3Element = ByteElement<4, 3, false>;
using E5M2Element = ByteElement<5, 2, true>;

/// A[m][k], B[k][n] and the sum D[m][n], widened.
template <unsigned K> struct Fragments {
  alignas(64) double a[16][K];
  Row b[K];
  Row d[16];
};

/// Transposes B's tiles on the way: registers hold [n][k].
template <class EA, class EB, unsigned K> void widen(Warp &w, const Op &op, Fragments<K> &f) {
  using Raw = typename EA::Raw;
  constexpr unsigned width = 16 / sizeof(Raw), halves = K / width;
  const uint32_t *regs = op.ext + op.extResults;
  for (unsigned h = 0; h < halves; ++h)
    for (unsigned top = 0; top < 2; ++top) {
      const Raw *tile = w.reg<Raw>(regs[2 * h + top]);
      for (unsigned r = 0; r < 8; ++r)
        for (unsigned c = 0; c < width; ++c)
          f.a[8 * top + r][width * h + c] = EA::value(tile[r * width + c]);
    }
  for (unsigned h = 0; h < halves; ++h) {
    const auto *tile = w.reg<typename EB::Raw>(regs[2 * halves + h]);
    for (unsigned k = 0; k < width; ++k)
      for (unsigned n = 0; n < 8; ++n)
        f.b[width * h + k][n] = EB::value(tile[n * width + k]);
  }
}

/// C into d: f32 registers, or pairs of f16.
template <unsigned K> void widenC(Warp &w, const Op &op, Fragments<K> &f) {
  const uint32_t *c = op.ext + op.extSources; // the last ones: C has as many registers as D
  for (unsigned top = 0; top < 2; ++top) {
    if (op.type2 == Type::F32) {
      const float *even = w.reg<float>(c[2 * top]), *odd = w.reg<float>(c[2 * top + 1]);
      for (unsigned g = 0; g < 8; ++g)
        for (unsigned q = 0; q < 4; ++q) {
          f.d[8 * top + g][2 * q] = even[4 * g + q];
          f.d[8 * top + g][2 * q + 1] = odd[4 * g + q];
        }
    } else {
      const uint16_t *both = w.reg<uint16_t>(c[top]);
      for (unsigned g = 0; g < 8; ++g)
        for (unsigned n = 0; n < 8; ++n)
          f.d[8 * top + g][n] = halfToFloat(both[8 * g + n]);
    }
  }
}

template <unsigned K> void narrowD(Warp &w, const Op &op, const Fragments<K> &f) {
  for (unsigned top = 0; top < 2; ++top) {
    if (op.type2 == Type::F32) {
      float *even = w.reg<float>(op.ext[2 * top]), *odd = w.reg<float>(op.ext[2 * top + 1]);
      for (unsigned g = 0; g < 8; ++g)
        for (unsigned q = 0; q < 4; ++q) {
          even[4 * g + q] = canonical(static_cast<float>(f.d[8 * top + g][2 * q]));
          odd[4 * g + q] = canonical(static_cast<float>(f.d[8 * top + g][2 * q + 1]));
        }
    } else {
      uint16_t *both = w.reg<uint16_t>(op.ext[top]);
      for (unsigned g = 0; g < 8; ++g)
        for (unsigned n = 0; n < 8; ++n)
          both[8 * g + n] = doubleToFormat(f.d[8 * top + g][n], formatHalf, Direction::Nearest, false);
    }
  }
}

/// Products are exact in double, so that a fused and a separate addition give the same bits.
template <unsigned K> void multiplyExact(Fragments<K> &f) {
  for (unsigned m = 0; m < 16; m += 8) {
    Row acc[8];
    for (unsigned r = 0; r < 8; ++r)
      acc[r] = f.d[m + r];
    for (unsigned k = 0; k < K; ++k)
      for (unsigned r = 0; r < 8; ++r) {
        double s = f.a[m + r][k];
        Row a = {s, s, s, s, s, s, s, s};
#if TESSERA_SIM_ISA_LEVEL >= 1
        acc[r] = __builtin_elementwise_fma(a, f.b[k], acc[r]);
#else
        acc[r] += a * f.b[k];
#endif
      }
    for (unsigned r = 0; r < 8; ++r)
      f.d[m + r] = acc[r];
  }
}

double powerOfTwo(int e) { return doubleOf(uint64_t(1023 + e) << 52); }

/// Toward zero to `bits` fractional bits of f32's significand, as f32 or its subnormals.
double truncateToFloat(double x, int bits) {
  double m = x < 0 ? -x : x;
  if (m < 0x1p-126) { // the last place of subnormals
    double t = __builtin_trunc(x * 0x1p149);
    return t * 0x1p-149;
  }
  if (m >= 0x1p128)
    return x < 0 ? -HUGE_VAL : HUGE_VAL;
  return doubleOf(bitsOf(x) & ~((uint64_t(1) << (52 - bits)) - 1));
}

struct HardwareModel {
  int fraction;   ///< bits kept below the largest exponent
  unsigned block; ///< products summed at once
  int outputBits; ///< of the f32 result
};

/// design/ptx-semantics.md, 2.8: which sums which architecture makes.
HardwareModel hardwareModel(unsigned sm, const Op &op, unsigned k) {
  bool narrow = ptx::sizeOf(op.type) == 1;
  if (sm < 90)
    return narrow ? HardwareModel{13, k > 16 ? 16u : k, 13} : HardwareModel{24, op.type == Type::TF32 ? 4u : 8u, 23};
  return {25, k, 23};
}

/// Align and truncate: all products and the sum to the largest exponent, cut to `fraction` bits, added exactly.
template <class EA, class EB, unsigned K> void multiplyHardware(Warp &w, const Op &op, Fragments<K> &f) {
  using Raw = typename EA::Raw;
  constexpr unsigned width = 16 / sizeof(Raw), halves = K / width;
  HardwareModel model = hardwareModel(w.block->launch->program->smVersion, op, K);
  const uint32_t *regs = op.ext + op.extResults;
  int ea[16][K];
  IntRow eb[K];
  for (unsigned h = 0; h < halves; ++h) {
    for (unsigned top = 0; top < 2; ++top) {
      const Raw *tile = w.reg<Raw>(regs[2 * h + top]);
      for (unsigned r = 0; r < 8; ++r)
        for (unsigned c = 0; c < width; ++c)
          ea[8 * top + r][width * h + c] = EA::exponent(tile[r * width + c]);
    }
    const auto *tile = w.reg<typename EB::Raw>(regs[2 * halves + h]);
    for (unsigned k = 0; k < width; ++k)
      for (unsigned n = 0; n < 8; ++n)
        eb[width * h + k][n] = EB::exponent(tile[n * width + k]);
  }
  Fragments<K> exact = f;
  multiplyExact(exact); // says where infinities and NaNs are
  for (unsigned m = 0; m < 16; ++m) {
    Row sum = f.d[m];
    for (unsigned first = 0; first < K; first += model.block) {
      IntRow top;
      for (unsigned n = 0; n < 8; ++n) {
        int e = int(bitsOf(sum[n]) >> 52 & 0x7ff) - 1023;
        top[n] = e < -126 ? -126 : e;
      }
      for (unsigned k = first; k < first + model.block; ++k) {
        IntRow e = eb[k] + ea[m][k];
        for (unsigned n = 0; n < 8; ++n)
          top[n] = e[n] > top[n] ? e[n] : top[n];
      }
      Row scale, back;
      for (unsigned n = 0; n < 8; ++n) {
        scale[n] = powerOfTwo(model.fraction - top[n]);
        back[n] = powerOfTwo(top[n] - model.fraction);
      }
      Row total = __builtin_elementwise_trunc(sum * scale);
      for (unsigned k = first; k < first + model.block; ++k) {
        double s = f.a[m][k];
        Row a = {s, s, s, s, s, s, s, s};
        total += __builtin_elementwise_trunc(a * f.b[k] * scale);
      }
      total *= back;
      for (unsigned n = 0; n < 8; ++n)
        sum[n] = op.type2 == Type::F32 ? truncateToFloat(total[n], model.outputBits)
                                       : halfToFloat(doubleToFormat(total[n], formatHalf, Direction::Nearest, false));
    }
    for (unsigned n = 0; n < 8; ++n) {
      bool finite = exact.d[m][n] - exact.d[m][n] == 0;
      f.d[m][n] = finite ? sum[n] : exact.d[m][n];
    }
  }
}

uint64_t draw(uint64_t &state) {
  state += 0x9e3779b97f4a7c15;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// What the manual leaves open: the order of the additions and how each rounds, to at least f32.
template <unsigned K> void multiplyStress(Warp &w, Fragments<K> &f) {
  uint64_t state =
      w.block->launch->options->seed ^ (w.block->linear << 40) ^ (uint64_t(w.index) << 32) ^ w.instructions;
  unsigned order[K];
  for (unsigned k = 0; k < K; ++k)
    order[k] = k;
  for (unsigned k = K - 1; k > 0; --k) {
    auto other = static_cast<unsigned>(draw(state) % (k + 1));
    unsigned t = order[k];
    order[k] = order[other];
    order[other] = t;
  }
  uint64_t modes = draw(state);
  for (unsigned m = 0; m < 16; ++m)
    for (unsigned n = 0; n < 8; ++n) {
      double sum = f.d[m][n];
      for (unsigned k = 0; k < K; ++k) {
        sum += f.a[m][order[k]] * f.b[order[k]][n];
        bool finite = sum - sum == 0;
        sum = finite && (modes >> k & 1) ? truncateToFloat(sum, 23) : static_cast<double>(static_cast<float>(sum));
      }
      f.d[m][n] = sum;
    }
}

/// An element of D is undefined where one of its row of A, its column of B or its C is.
void undefinedResult(Warp &w, const Op &op, unsigned aRegs, unsigned bRegs) {
  const uint32_t *regs = op.ext + op.extResults;
  uint32_t any = 0;
  for (unsigned i = 0; i < op.extSources; ++i)
    any |= w.undef(regs[i]).lanes;
  if (!any) {
    for (unsigned i = 0; i < op.extResults; ++i)
      w.undef(op.ext[i]) = {};
    return;
  }
  bool row[16] = {}, column[8] = {};
  for (unsigned i = 0; i < aRegs; ++i)
    for (uint32_t m = w.undef(regs[i]).lanes; m; m &= m - 1)
      row[8 * (i & 1) + static_cast<unsigned>(std::countr_zero(m)) / 4] = true;
  for (unsigned i = 0; i < bRegs; ++i)
    for (uint32_t m = w.undef(regs[aRegs + i]).lanes; m; m &= m - 1)
      column[std::countr_zero(m) / 4] = true;
  const uint32_t *c = regs + aRegs + bRegs;
  uint32_t undefined[4];
  bool pairs = op.extResults == 2;
  for (unsigned i = 0; i < op.extResults; ++i) {
    undefined[i] = w.undef(c[i]).lanes;
    for (unsigned lane = 0; lane < warpSize; ++lane) {
      unsigned g = lane / 4, q = lane % 4, r = pairs ? g + 8 * i : g + 8 * (i / 2);
      bool bad = row[r] || (pairs ? column[2 * q] || column[2 * q + 1] : column[2 * q + (i & 1)]);
      undefined[i] |= uint32_t(bad) << lane;
    }
  }
  for (unsigned i = 0; i < op.extResults; ++i)
    w.undef(op.ext[i]) = {undefined[i], undefined[i]};
}

template <class EA, class EB, unsigned K> const Op *mma(Warp &w, const Op &op) {
  constexpr unsigned halves = K * sizeof(typename EA::Raw) / 16;
  if (!machine::checkConverged(w, op))
    return nullptr;
  if (w.checks)
    undefinedResult(w, op, 2 * halves, halves);
  Fragments<K> f;
  widen<EA, EB, K>(w, op, f);
  widenC<K>(w, op, f);
  switch (w.block->launch->options->mma) {
  case MmaMode::Exact:
    multiplyExact(f);
    break;
  case MmaMode::Hardware:
    multiplyHardware<EA, EB, K>(w, op, f);
    break;
  case MmaMode::Stress:
    multiplyStress(w, f);
    break;
  }
  narrowD<K>(w, op, f);
  return &op + 1;
}

template <class TA, class TB, unsigned K> const Op *mmaInteger(Warp &w, const Op &op) {
  constexpr unsigned halves = K / 16;
  if (!machine::checkConverged(w, op))
    return nullptr;
  if (w.checks)
    undefinedResult(w, op, 2 * halves, halves);
  const uint32_t *regs = op.ext + op.extResults, *c = regs + 3 * halves;
  int32_t a[16][K], b[8][K], out[4][warpSize];
  for (unsigned h = 0; h < halves; ++h) {
    for (unsigned top = 0; top < 2; ++top)
      for (unsigned r = 0; r < 8; ++r)
        for (unsigned k = 0; k < 16; ++k)
          a[8 * top + r][16 * h + k] = w.reg<TA>(regs[2 * h + top])[r * 16 + k];
    for (unsigned n = 0; n < 8; ++n)
      for (unsigned k = 0; k < 16; ++k)
        b[n][16 * h + k] = w.reg<TB>(regs[2 * halves + h])[n * 16 + k];
  }
  for (unsigned i = 0; i < 4; ++i)
    for (unsigned lane = 0; lane < warpSize; ++lane) {
      unsigned row = lane / 4 + 8 * (i / 2), column = lane % 4 * 2 + (i & 1);
      int64_t sum = 0;
      for (unsigned k = 0; k < K; ++k)
        sum += a[row][k] * b[column][k];
      sum += w.reg<int32_t>(c[i])[lane];
      if (op.flags & Satfinite)
        sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
      out[i][lane] = static_cast<int32_t>(sum);
    }
  for (unsigned i = 0; i < 4; ++i)
    std::memcpy(w.reg<int32_t>(op.ext[i]), out[i], sizeof(out[i]));
  return &op + 1;
}

template <unsigned K> Handler integerMma(const Op &op) {
  bool aSigned = op.type == Type::S8, bSigned = !op.sourceBytes;
  if (aSigned)
    return bSigned ? mmaInteger<int8_t, int8_t, K> : mmaInteger<int8_t, uint8_t, K>;
  return bSigned ? mmaInteger<uint8_t, int8_t, K> : mmaInteger<uint8_t, uint8_t, K>;
}
template <unsigned K> Handler byteMma(const Op &op) {
  bool a5 = op.type == Type::E5M2, b5 = op.sourceBytes;
  if (a5)
    return b5 ? mma<E5M2Element, E5M2Element, K> : mma<E5M2Element, E4M3Element, K>;
  return b5 ? mma<E4M3Element, E5M2Element, K> : mma<E4M3Element, E4M3Element, K>;
}

} // namespace

Handler selectMatrix(const Op &op) {
  if (op.code != Opcode::Mma)
    return nullptr;
  auto k = static_cast<MmaShape>(op.variant);
  switch (op.type) {
  case Type::F16:
    return k == MmaShape::K16 ? mma<HalfElement, HalfElement, 16> : mma<HalfElement, HalfElement, 8>;
  case Type::BF16:
    return k == MmaShape::K16 ? mma<BfloatElement, BfloatElement, 16> : mma<BfloatElement, BfloatElement, 8>;
  case Type::TF32:
    return k == MmaShape::K8 ? mma<Tf32Element, Tf32Element, 8> : mma<Tf32Element, Tf32Element, 4>;
  case Type::S8:
  case Type::U8:
    return k == MmaShape::K32 ? integerMma<32>(op) : integerMma<16>(op);
  case Type::E4M3:
  case Type::E5M2:
    return k == MmaShape::K32 ? byteMma<32>(op) : byteMma<16>(op);
  default:
    return nullptr;
  }
}

} // namespace tessera::sim::lanes::TESSERA_SIM_ISA

TESSERA_SIM_ISA_END
