// MatrixSum: D = A·B + C on tiles of 8 rows and 8 columns, in the three numerical modes.
//
// `exact`: the exact sum of the exact products and C, rounded once to nearest even. Where all terms fit one 53-bit
// window, double sums them exactly. Elsewhere double-double sums, of which the few that cannot be rounded safely are
// repeated as exact expansions. Sums on their way to the rounding carry what lies below a double as a sticky last bit
// ("round to odd"), so that the second rounding, to f32 or f16, is the only one.
#pragma once

#include "runtime/simulator/numerics/MatrixElement.h"
#include "runtime/simulator/numerics/MatrixModel.h"

#include <cmath>

namespace tessera::sim::numerics {
namespace {

/// 8 rows of A with their exponents.
template <unsigned K> struct Left {
  alignas(64) double a[8][K];
  alignas(64) int32_t e[8][K];
};
/// 8 columns of B.
template <unsigned K> struct Right {
  Row b[K];
  IntRow e[K];
};

[[gnu::always_inline]] inline Row splat(double x) { return Row{} + x; }
[[gnu::always_inline]] inline LongRow bitsOf(const Row &x) { return (LongRow)x; }
[[gnu::always_inline]] inline Row powersOfTwo(const IntRow &e) {
  return (Row)((__builtin_convertvector(e, LongRow) + 1023) << 52);
}
[[gnu::always_inline]] inline bool any(const LongRow &mask) { return __builtin_reduce_or(mask) != 0; }
[[gnu::always_inline]] inline Row magnitude(const Row &x) { return (Row)(bitsOf(x) & INT64_MAX); }

/// Products are exact in double, so that a fused and a separate addition give the same bits.
[[gnu::always_inline]] inline Row multiplyAdd(const Row &a, const Row &b, const Row &c) {
#if TESSERA_SIM_ISA_LEVEL >= 1
  return __builtin_elementwise_fma(a, b, c);
#else
  return c + a * b;
#endif
}

/// In double, k ascending: exact where Range says so, and for infinities and NaNs.
template <unsigned K> void sumInDouble(const Left<K> &left, const Right<K> &right, Row *d) {
  Row sum[8];
  for (unsigned r = 0; r < 8; ++r)
    sum[r] = d[r];
  for (unsigned k = 0; k < K; ++k)
    for (unsigned r = 0; r < 8; ++r)
      sum[r] = multiplyAdd(splat(left.a[r][k]), right.b[k], sum[r]);
  for (unsigned r = 0; r < 8; ++r)
    d[r] = sum[r];
}

/// The exact sum, rounded to odd: an expansion of doubles that do not overlap, grown term by term.
inline double sumExpansion(const double *terms, unsigned count) {
  double plain = 0, parts[48];
  unsigned n = 0;
  bool zeros = true;
  for (unsigned i = 0; i < count; ++i) {
    plain = i ? plain + terms[i] : terms[i];
    zeros &= terms[i] == 0;
  }
  if (zeros || !(plain - plain == 0)) // signs of zeros, infinities, NaNs
    return plain;
  for (unsigned i = 0; i < count; ++i) {
    double x = terms[i];
    unsigned kept = 0;
    for (unsigned j = 0; j < n; ++j) {
      double y = parts[j], high = x + y, part = high - x, low = (x - (high - part)) + (y - part);
      if (low != 0)
        parts[kept++] = low;
      x = high;
    }
    n = kept;
    parts[n++] = x;
  }
  double high = parts[n - 1];
  for (unsigned j = n - 1; j-- > 0;) {
    double y = parts[j], sum = high + y, rest = y - (sum - high);
    high = sum;
    if (rest == 0)
      continue;
    uint64_t b = std::bit_cast<uint64_t>(high);
    if (!(b & 1)) // the odd one of the two doubles around the sum
      b += (rest > 0) == (high > 0) ? 1 : uint64_t(-1);
    return std::bit_cast<double>(b);
  }
  return high;
}

template <unsigned K> double sumElement(const double *a, const Row *b, unsigned column, double c) {
  double terms[K + 1];
  terms[0] = c;
  for (unsigned k = 0; k < K; ++k)
    terms[k + 1] = a[k] * b[k][column];
  return sumExpansion(terms, K + 1);
}

/// Double-double, rounded to odd.
template <unsigned K> void sumWide(const Left<K> &left, const Right<K> &right, Row *d) {
  for (unsigned r = 0; r < 8; ++r) {
    Row high = d[r], low = {}, error = {};
    for (unsigned k = 0; k < K; ++k) {
      Row p = splat(left.a[r][k]) * right.b[k], s = high + p, part = s - high, rest = (high - (s - part)) + (p - part);
      low += rest;
      error += magnitude(rest);
      high = s;
    }
    Row s = high + low, part = s - high, rest = (high - (s - part)) + (low - part);
    error *= double(K) * 0x1p-52; // bounds what `low` lost
    LongRow b = bitsOf(s), sameSign = (b ^ bitsOf(rest)) >= 0, even = (b & 1) == 0, inexact = rest != 0.0;
    b += choose<LongRow>(sameSign, LongRow{} + 1, LongRow{} - 1) & even & inexact;
    LongRow unsafe = (error > 0.0) & (magnitude(rest) <= error);
    unsafe |= ~(s - s == 0.0);
    Row c = d[r];
    d[r] = (Row)b;
    if (__builtin_expect(any(unsafe), false))
      for (unsigned n = 0; n < 8; ++n)
        if (unsafe[n])
          d[r][n] = sumElement<K>(left.a[r], right.b, n, c[n]);
  }
}

/// Exponents of C or of a sum, in `half` or f32; zeros as the matrix units have them.
[[gnu::always_inline]] inline IntRow exponentsOf(const Row &x, bool half) {
  LongRow e = ((bitsOf(x) >> 52) & 0x7ff) - 1023, least = LongRow{} + (half ? -14 : -126);
  e = choose<LongRow>(e > least, e, least);
  e = choose<LongRow>(x == 0.0, LongRow{} - 126, e);
  return __builtin_convertvector(e, IntRow);
}

/// Toward zero to `bits` fraction bits of f32's significand; subnormals lose the same places.
[[gnu::always_inline]] inline Row truncateToFloat(const Row &x, int bits) {
  Row m = magnitude(x);
  Row normal = (Row)(bitsOf(x) & ~((int64_t(1) << (52 - bits)) - 1));
  Row places = powersOfTwo(IntRow{} + (126 + bits)), place = powersOfTwo(IntRow{} - (126 + bits));
  Row small = choose<Row>(m < 0x1p-126, x, Row{});
  Row whole = __builtin_convertvector(__builtin_convertvector(small * places, IntRow), Row);
  Row subnormal = (Row)(bitsOf(whole * place) | (bitsOf(x) & INT64_MIN));
  Row infinite = (Row)((bitsOf(x) & INT64_MIN) | 0x7ff0000000000000);
  Row result = choose<Row>(m < 0x1p-126, subnormal, normal);
  return choose<Row>(m >= 0x1p128, infinite, result);
}

/// To nearest even among the values of f16; NaNs stay.
[[gnu::always_inline]] inline Row roundToHalf(const Row &x) {
  LongRow b = bitsOf(x), sign = b & INT64_MIN;
  Row m = magnitude(x);
  Row normal = (Row)((bitsOf(m) + 0x1ffffffffff + ((b >> 42) & 1)) & ~((int64_t(1) << 42) - 1));
  Row subnormal = (m + 0x1.8p28) - 0x1.8p28;
  Row result = choose<Row>(m < 0x1p-14, subnormal, normal);
  result = choose<Row>(m >= 65520.0, splat(HUGE_VAL), result);
  return (Row)(bitsOf(choose<Row>(m == m, result, m)) | sign);
}

/// To nearest even; NaNs canonical.
[[gnu::always_inline]] inline FloatRow roundToFloat(const Row &x) {
  FloatRow f = __builtin_convertvector(x, FloatRow);
  WordRow canonical = WordRow{} + canonicalNan32;
  return (FloatRow)choose<WordRow>(f == f, (WordRow)f, canonical);
}

/// Bits of f16 for values that f16 has; NaNs canonical.
[[gnu::always_inline]] inline HalfRow halfBits(const Row &x) {
  WordRow b = (WordRow) __builtin_convertvector(x, FloatRow), sign = (b >> 16) & 0x8000, m = b & 0x7fffffff;
  WordRow subnormal = (WordRow)((FloatRow)m + 0.5f) - 0x3f000000, normal = (m - 0x38000000) >> 13;
  WordRow r = choose<WordRow>(m < 0x38800000, subnormal, normal);
  r = choose<WordRow>(m >= 0x47800000, WordRow{} + 0x7c00, r) | sign;
  r = choose<WordRow>(m > 0x7f800000, WordRow{} + uint32_t(canonicalNan16), r);
  return __builtin_convertvector(r, HalfRow);
}

/// One row of one tile by MatrixModel, with `sum` as C. `Tame`: no sum can overflow f32 or be a subnormal of it.
template <unsigned K, unsigned Block, bool Tame>
[[gnu::always_inline]] inline Row sumRow(const double *a, const int32_t *e, const Right<K> &right, Row sum,
                                         const MatrixModel &model, bool half) {
  const int64_t kept = ~((int64_t(1) << (52 - model.outputBits)) - 1);
  for (unsigned first = 0; first < K; first += Block) {
    IntRow top = exponentsOf(sum, half);
    for (unsigned k = first; k < first + Block; ++k)
      top = __builtin_elementwise_max(top, right.e[k] + e[k]);
    Row scale = powersOfTwo(model.fraction - top);
    // At most eight products in an int32: each is below 4 · 2^25.
    Row total = __builtin_convertvector(__builtin_convertvector(sum * scale, IntRow), Row);
    for (unsigned k = first; k < first + Block; k += 8) {
      IntRow part = {};
      for (unsigned i = k; i < (Block < 8 ? k + Block : k + 8); ++i)
        part += __builtin_convertvector(splat(a[i]) * right.b[i] * scale, IntRow);
      total += __builtin_convertvector(part, Row);
    }
    total *= powersOfTwo(top - model.fraction);
    if (half)
      total = roundToHalf(total);
    else if (Tame)
      total = (Row)(bitsOf(total) & kept);
    else
      total = truncateToFloat(total, model.outputBits);
    sum = Tame && !half ? total : choose<Row>(sum - sum == 0.0, total, sum); // an overflow stays
  }
  return sum;
}

/// The rows of one tile. A model's block is 4, 8, 16 or 32.
template <unsigned K, unsigned Block, bool Tame>
void sumRows(const Left<K> &left, const Right<K> &right, Row *d, const MatrixModel &model, bool half) {
  for (unsigned r = 0; r < 8; ++r)
    d[r] = sumRow<K, Block, Tame>(left.a[r], left.e[r], right, d[r], model, half);
}
template <unsigned K, bool Tame>
void sumBlocks(const Left<K> &left, const Right<K> &right, Row *d, const MatrixModel &model, bool half) {
  if (model.block >= K)
    sumRows<K, K, Tame>(left, right, d, model, half);
  else if (model.block == 16)
    sumRows < K, K<16 ? K : 16, Tame>(left, right, d, model, half);
  else if (model.block == 8)
    sumRows < K, K<8 ? K : 8, Tame>(left, right, d, model, half);
  else
    sumRows < K, K<4 ? K : 4, Tame>(left, right, d, model, half);
}

/// Orders K as MatrixModel::pairs says, for sumAsHardware.
constexpr unsigned pairPlace(unsigned k, unsigned depth) { return (k & 2 ? depth / 2 : 0) + k / 4 * 2 + k % 2; }
template <unsigned K> void orderPairs(Left<K> &left) {
  Left<K> from = left;
  for (unsigned r = 0; r < 8; ++r)
    for (unsigned k = 0; k < K; ++k) {
      left.a[r][pairPlace(k, K)] = from.a[r][k];
      left.e[r][pairPlace(k, K)] = from.e[r][k];
    }
}
template <unsigned K> void orderPairs(Right<K> &right) {
  Right<K> from = right;
  for (unsigned k = 0; k < K; ++k) {
    right.b[pairPlace(k, K)] = from.b[k];
    right.e[pairPlace(k, K)] = from.e[k];
  }
}

/// What the inputs may hold.
struct Inputs {
  bool special; ///< infinities or NaNs
  bool tame;    ///< as for sumRow
};

/// `half`: both C and D are f16, and so is every sum on the way.
template <unsigned K>
void sumAsHardware(const Left<K> &left, const Right<K> &right, Row *d, const MatrixModel &model, bool half,
                   Inputs inputs) {
  Row plain[8], c[8];
  for (unsigned r = 0; r < 8; ++r)
    plain[r] = c[r] = d[r];
  if (inputs.special)
    sumInDouble(left, right, plain); // says where infinities and NaNs are
  if (model.chain) {
    for (unsigned r = 0; r < 8; ++r)
      for (unsigned n = 0; n < 8; ++n) {
        float chain = 0;
        for (unsigned k = 0; k < K; ++k)
          chain = __builtin_fmaf(float(left.a[r][k]), float(right.b[k][n]), chain);
        d[r][n] = chain;
      }
  } else {
    if (model.pairs)
      for (unsigned r = 0; r < 8; ++r)
        d[r] = Row{};
    if (inputs.tame)
      sumBlocks<K, true>(left, right, d, model, half);
    else
      sumBlocks<K, false>(left, right, d, model, half);
  }
  if (model.pairs || model.chain)
    for (unsigned r = 0; r < 8; ++r) {
      Row sum = d[r] + c[r]; // a sum of two f32 is rounded right through double
      d[r] = half && !model.chain ? roundToHalf(sum)
                                  : __builtin_convertvector(__builtin_convertvector(sum, FloatRow), Row);
    }
  if (inputs.special)
    for (unsigned r = 0; r < 8; ++r)
      d[r] = choose<Row>(plain[r] - plain[r] == 0.0, d[r], plain[r]);
}

inline uint64_t draw(uint64_t &state) {
  state += 0x9e3779b97f4a7c15;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// What the manual leaves open: the order of the additions, after which of them the sum is rounded, and how: to nearest
/// or toward zero, to f32, or with `half` to f16.
template <unsigned K> void sumFreely(const Left<K> &left, const Right<K> &right, Row *d, uint64_t &state, bool half) {
  unsigned order[K];
  for (unsigned k = 0; k < K; ++k)
    order[k] = k;
  for (unsigned k = K - 1; k > 0; --k)
    std::swap(order[k], order[draw(state) % (k + 1)]);
  uint64_t rounds = draw(state), truncates = draw(state), halves = half ? draw(state) & draw(state) : 0;
  for (unsigned r = 0; r < 8; ++r) {
    Row sum = d[r];
    for (unsigned k = 0; k < K; ++k) {
      sum = multiplyAdd(splat(left.a[r][order[k]]), right.b[order[k]], sum);
      if (rounds >> k & 1) {
        Row nearest = __builtin_convertvector(__builtin_convertvector(sum, FloatRow), Row);
        Row cut = choose<Row>(sum - sum == 0.0, truncateToFloat(sum, 23), sum);
        sum = truncates >> k & 1 ? cut : nearest;
      }
      if (halves >> k & 1)
        sum = roundToHalf(sum);
    }
    d[r] = sum;
  }
}

} // namespace
} // namespace tessera::sim::numerics
