// N14, applied to the whole result and to groups of rows that see similar numbers of keys.
#include "autotune/reference/Compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace tessera::reference {
namespace {

constexpr int kGroups = 66; ///< bit width of the number of visible keys; 0 for rows that see nothing
constexpr int kOneKey = 1;  ///< the group of rows that see one key
constexpr int64_t kSmallGroup =
    64; ///< elements below which a maximum says too little, and the whole tensor's bound serves
constexpr double kDivision = 0x1p-21; ///< relative error of a reciprocal, a product and sums in f32
constexpr double kScore =
    0x1p-23; ///< relative error of a weight for each unit of its score: two roundings of it in f32
constexpr double kLseBound = 1e-3, kPreciseLseBound = 1e-5;

enum class Class { Finite, NaN, PlusInf, MinusInf };

Class classOf(double value) {
  return std::isnan(value)      ? Class::NaN
         : std::isfinite(value) ? Class::Finite
         : value > 0            ? Class::PlusInf
                                : Class::MinusInf;
}

struct Term {
  double plainError = 0, rounding = 0;
  double plainSquares = 0, roundingSquares = 0, squares = 0; ///< sums, for the root mean squares
  double largest = 0;                                        ///< of |ref|
  double score = 0;                                          ///< the largest |score| where each row has one
  int64_t count = 0;

  void add(double plain, double ref, DType outType) {
    ++count;
    if (std::isfinite(plain)) {
      plainError = std::max(plainError, std::fabs(plain - ref));
      plainSquares += (plain - ref) * (plain - ref);
    }
    largest = std::max(largest, std::fabs(ref));
    const float rounded = roundTo(outType, float(ref));
    const float back = roundTo(outType, roundTo(outType, rounded + 0.3f) - 0.3f);
    if (std::isfinite(back)) {
      rounding = std::max(rounding, std::fabs(double(back) - rounded));
      roundingSquares += (double(back) - rounded) * (double(back) - rounded);
    }
  }
  /// What a kernel errs by where a plain framework is exact, as in rows of one key: it divides by its row sum, and
  /// there its weights are exponentials of scores that f32 holds (N1).
  double arithmetic() const { return (kDivision + kScore * score) * largest; }
  double bound(double factor) const { return factor * plainError + 2 * rounding; }
  bool noisy(double factor) const {
    return count >= kSmallGroup && std::sqrt(squares) > factor * std::sqrt(plainSquares) + std::sqrt(roundingSquares) +
                                                            arithmetic() * std::sqrt(double(count));
  }
};

template <typename Fn> void forEachElement(const Sizes &sizes, Fn fn) {
  for (int64_t b = 0; b < sizes.batch; ++b)
    for (int64_t i = 0; i < sizes.queryLength; ++i)
      for (int64_t h = 0; h < sizes.queryHeads; ++h)
        for (int64_t c = 0; c < sizes.valueDim; ++c)
          fn(b, i, h, c);
}

void compareLse(const LseView &lse, const Answer &exact, const Answer &plain, DType inType, Precision precision,
                Comparison &verdict) {
  const Sizes &sizes = exact.sizes;
  double plainError = 0;
  for (size_t n = 0; n < exact.lse.size(); ++n)
    if (std::isfinite(plain.lse[n]) && std::isfinite(exact.lse[n]))
      plainError = std::max(plainError, std::fabs(plain.lse[n] - exact.lse[n]));
  verdict.lseBound = inType != DType::F32           ? kLseBound
                     : precision == Precision::Tf32 ? kLseBound + 2 * plainError
                                                    : kPreciseLseBound + 2 * plainError;
  double worst = 0;
  for (int64_t b = 0; b < sizes.batch; ++b)
    for (int64_t h = 0; h < sizes.queryHeads; ++h)
      for (int64_t i = 0; i < sizes.queryLength; ++i) {
        const double ref = exact.lseAt(b, h, i), got = lse.load(b, h, i);
        const bool finite = std::isfinite(ref) && std::isfinite(got);
        const double error = finite ? std::fabs(got - ref) : classOf(ref) == classOf(got) ? 0 : HUGE_VAL;
        const double allowed = verdict.lseBound + (finite ? 4 * 0x1p-23 * std::fabs(ref) : 0);
        if (finite)
          verdict.lseError = std::max(verdict.lseError, error);
        if (error <= allowed)
          continue;
        ++verdict.lseBeyond;
        if (error > worst && verdict.complaint.empty()) {
          worst = error;
          verdict.complaint =
              fmt::format("LSE of batch {}, head {}, row {} is {:.6g}; the answer is {:.6g} (bound {:.2g})", b, h, i,
                          got, ref, allowed);
        }
      }
}

} // namespace

Comparison compare(const View &out, const LseView *lse, const Answer &exact, const Answer &plain,
                   const Problem &problem, DType inType, Precision precision) {
  Comparison verdict;
  const Sizes &sizes = exact.sizes;
  if (out.shape != std::array<int64_t, 4>{sizes.batch, sizes.queryLength, sizes.queryHeads, sizes.valueDim}) {
    verdict.complaint = fmt::format("the output has shape ({}, {}, {}, {}); the answer has ({}, {}, {}, {})",
                                    out.shape[0], out.shape[1], out.shape[2], out.shape[3], sizes.batch,
                                    sizes.queryLength, sizes.queryHeads, sizes.valueDim);
    return verdict;
  }
  const auto groupOf = [&](int64_t row) {
    const KeyRange keys = visibleKeys(problem.mask, row, sizes.queryLength, sizes.keyLength);
    return std::bit_width(uint64_t(keys.end - keys.begin));
  };
  const double factor = problem.softcap ? 3 : 2;

  Term whole, groups[kGroups];
  forEachElement(sizes, [&](int64_t b, int64_t i, int64_t h, int64_t c) {
    const double ref = double(float(exact.outAt(b, i, h, c)));
    if (!std::isfinite(ref))
      return;
    whole.add(plain.outAt(b, i, h, c), ref, out.type);
    Term &group = groups[groupOf(i)];
    group.add(plain.outAt(b, i, h, c), ref, out.type);
    if (groupOf(i) == kOneKey && std::isfinite(exact.lseAt(b, h, i))) // which is the score of that key (N6)
      group.score = std::max(group.score, std::fabs(exact.lseAt(b, h, i)));
  });
  verdict.plainError = whole.plainError;
  verdict.bound = whole.bound(factor);
  double bounds[kGroups];
  for (int g = 0; g < kGroups; ++g)
    bounds[g] = groups[g].count >= kSmallGroup ? groups[g].bound(factor) + groups[g].arithmetic()
                : g == kOneKey                 ? verdict.bound + groups[g].arithmetic()
                                               : verdict.bound;
  verdict.bound = std::max(verdict.bound, *std::ranges::max_element(bounds));

  double worst = 0; // how far beyond its bound
  forEachElement(sizes, [&](int64_t b, int64_t i, int64_t h, int64_t c) {
    const double ref = double(float(exact.outAt(b, i, h, c))), got = out.load(b, i, h, c);
    const double bound = bounds[groupOf(i)];
    double excess;
    if (std::isfinite(ref) && std::isfinite(got)) {
      const double error = std::fabs(got - ref);
      verdict.error = std::max(verdict.error, error);
      groups[groupOf(i)].squares += error * error;
      excess = error - bound;
      verdict.beyond += excess > 0;
    } else {
      // Overflow of the output type is the type's own answer.
      const bool met = classOf(got) == classOf(roundTo(out.type, float(ref))) ||
                       (!std::isfinite(ref) && classOf(got) == classOf(plain.outAt(b, i, h, c)));
      excess = met ? 0 : HUGE_VAL;
      verdict.mismatched += !met;
    }
    if (excess > worst) {
      worst = excess;
      verdict.complaint =
          fmt::format("O of batch {}, row {}, head {}, component {} is {:.9g}; the answer is {:.9g} (bound "
                      "{:.2g} among rows of {} keys or so)",
                      b, i, h, c, got, ref, bound, groupOf(i) == 0 ? 0 : uint64_t(1) << (groupOf(i) - 1));
    }
  });
  for (int g = 0; g < kGroups; ++g) {
    if (!groups[g].noisy(factor))
      continue;
    ++verdict.noisyGroups;
    if (verdict.complaint.empty())
      verdict.complaint =
          fmt::format("the root mean square error of the rows that see {} keys or so is {:.3g}; that of a plain "
                      "framework is {:.3g}",
                      g == 0 ? 0 : uint64_t(1) << (g - 1), std::sqrt(groups[g].squares / double(groups[g].count)),
                      std::sqrt(groups[g].plainSquares / double(groups[g].count)));
  }
  if (lse)
    compareLse(*lse, exact, plain, inType, precision, verdict);
  verdict.ok = verdict.beyond == 0 && verdict.mismatched == 0 && verdict.noisyGroups == 0 && verdict.lseBeyond == 0;
  if (verdict.beyond || verdict.mismatched)
    verdict.complaint += fmt::format("; {} elements beyond their bound, {} NaN or Inf against something else",
                                     verdict.beyond, verdict.mismatched);
  return verdict;
}

} // namespace tessera::reference
