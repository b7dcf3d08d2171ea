// The answer: attention in f64 on the CPU, rule by rule as design/numerics.md has it (N1 to N10).
#pragma once

#include "autotune/reference/View.h"
#include "runtime/spec/AttentionSpec.h"

#include <optional>
#include <vector>

namespace tessera::reference {

/// What is computed, apart from the tensors.
struct Problem {
  Mask mask;
  std::optional<double> scale;   ///< absent: 1/sqrt(d_qk)
  std::optional<double> softcap; ///< scores become cap * tanh(score / cap)

  static Problem of(const AttentionSpec &spec);
};

/// O and LSE, dense. Rows that see nothing hold 0 and -inf (N5).
struct Answer {
  Sizes sizes{};
  std::vector<double> out; ///< (batch, query length, query heads, value dim)
  std::vector<double> lse; ///< (batch, query heads, query length), natural logarithm (N6)

  double outAt(int64_t b, int64_t i, int64_t h, int64_t c) const {
    return out[((b * sizes.queryLength + i) * sizes.queryHeads + h) * sizes.valueDim + c];
  }
  double lseAt(int64_t b, int64_t h, int64_t i) const {
    return lse[(b * sizes.queryHeads + h) * sizes.queryLength + i];
  }
};

/// The keys [begin, end) that query row i sees, clipped to [0, keys); begin <= end. Bounds may be as large as int64_t
/// allows.
struct KeyRange {
  int64_t begin, end;
};
KeyRange visibleKeys(const Mask &mask, int64_t row, int64_t queries, int64_t keys);

/// Softmax attention, one-shot (the whole row at once, no running state), every operation in f64. Values of masked keys
/// are not read. A visible score of -Inf has weight 0; a row whose weights are all 0 is a row that sees nothing. A
/// score beyond the range of f32 is Inf, since N1 accumulates there; other NaN and Inf travel as IEEE arithmetic says
/// (N8). Splits rows over `threads` (0: one per core). InvalidArgument where the shapes contradict each other.
/// Thread-safe.
Result<Answer> attention(const View &q, const View &k, const View &v, const Problem &problem, unsigned threads = 0);

/// The same computation done in the input type as a plain framework does it (N14's pt): scores and probabilities are
/// rounded to the input type between the two matmuls, sums are f32, the result is rounded to `outType`. With f32 inputs
/// and Precision::Tf32 the operands of both matmuls are rounded to tf32.
Result<Answer> plainAttention(const View &q, const View &k, const View &v, const Problem &problem, DType outType,
                              Precision precision, unsigned threads = 0);

} // namespace tessera::reference
