// The one-shot f64 softmax and the visible range of a row.
#include "autotune/reference/Attention.h"

#include "autotune/reference/BlockedRows.h"

#include <cmath>
#include <limits>

namespace tessera::reference {

Problem Problem::of(const AttentionSpec &spec) { return {spec.mask, spec.scale, spec.softcap}; }

KeyRange visibleKeys(const Mask &mask, int64_t row, int64_t queries, int64_t keys) {
  const int64_t diagonal = row + (mask.align == Align::BottomRight ? keys - queries : 0);
  KeyRange range{0, keys};
  if (mask.left) {
    int64_t first;
    if (!__builtin_sub_overflow(diagonal, *mask.left, &first)) // an overflow lies far before the first key
      range.begin = std::clamp<int64_t>(first, 0, keys);
  }
  if (mask.right) {
    int64_t last;
    if (!__builtin_add_overflow(diagonal, *mask.right, &last))
      range.end = last < 0 ? 0 : last >= keys ? keys : last + 1;
  }
  range.end = std::max(range.begin, range.end);
  return range;
}

namespace {

struct Exact {
  double scale;
  std::optional<double> softcap;

  double operand(float value) const { return value; }

  static double inRangeOfF32(double value) {
    return std::fabs(value) > double(std::numeric_limits<float>::max()) ? std::copysign(HUGE_VAL, value) : value;
  }

  /// Scores of the visible keys to weights relative to the row max. False for a row that sees nothing.
  bool softmax(double *scores, KeyRange keys, double &lse, double &sum) const {
    double max = -HUGE_VAL;
    for (int64_t j = keys.begin; j < keys.end; ++j) {
      double score = inRangeOfF32(scale * inRangeOfF32(scores[j]));
      if (softcap)
        score = *softcap * std::tanh(score / *softcap);
      scores[j] = score;
      max = std::fmax(max, score); // a NaN passes by here and arrives through its weight
    }
    sum = 0;
    for (int64_t j = keys.begin; j < keys.end; ++j) {
      scores[j] = scores[j] == -HUGE_VAL ? 0.0 : std::exp(scores[j] - max);
      sum += scores[j];
    }
    lse = sum == 0 ? -HUGE_VAL : max + std::log(sum);
    return sum != 0;
  }

  double finish(double weighted, double sum) const { return weighted / sum; }
};

} // namespace

Result<Answer> attention(const View &q, const View &k, const View &v, const Problem &problem, unsigned threads) {
  const Result<Sizes> sizes = sizesOf(q, k, v);
  if (!sizes)
    return sizes.status();
  Answer answer{*sizes, {}, {}};
  answer.out.resize(sizes->batch * sizes->queryLength * sizes->queryHeads * sizes->valueDim);
  answer.lse.resize(sizes->batch * sizes->queryLength * sizes->queryHeads);
  const Exact arithmetic{problem.scale.value_or(1 / std::sqrt(double(sizes->headDim))), problem.softcap};
  BlockedRows<double, Exact>(q, k, v, problem, *sizes, answer).run(arithmetic, threads);
  return answer;
}

} // namespace tessera::reference
