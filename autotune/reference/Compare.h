// The verdict on a kernel's result: N14's bound, against the f64 answer and against what a plain framework would have
// given.
#pragma once

#include "autotune/reference/Attention.h"

#include <array>
#include <cstdint>
#include <string>

namespace tessera::reference {

/// A non-owning (batch, heads, query length) view of f32 LSE values; strides in elements.
struct LseView {
  const float *data = nullptr;
  std::array<int64_t, 3> strides{};

  float load(int64_t b, int64_t h, int64_t i) const { return data[b * strides[0] + h * strides[1] + i * strides[2]]; }
};

struct Comparison {
  bool ok = false;
  double error = 0;        ///< max |out - ref32| over elements where both are finite
  double bound = 0;        ///< what N14 allows for it, where it allows most
  double plainError = 0;   ///< max |pt - ref32|: the error of the plain framework
  double lseError = 0;     ///< max |lse - ref|; 0 where no LSE was given
  double lseBound = 0;     ///< the base bound; each row adds four units in the last place of its own f32 LSE
  int64_t beyond = 0;      ///< elements of O that are wrong by more than their bound
  int64_t mismatched = 0;  ///< elements where one side is NaN or Inf and the other is not (or is another)
  int64_t noisyGroups = 0; ///< groups of rows whose root mean square error is too large
  int64_t lseBeyond = 0;   ///< rows whose LSE is wrong
  std::string complaint;   ///< empty when ok; else the worst place with its values
};

/// Judges `out` (batch, query length, query heads, value dim) and, if not null, `lse`.
/// Error bound: 2 max|pt - ref| + 2 max|(ref + 0.3 - 0.3) - ref|, the last term in out's type; with softcap three times
/// the first term. It is applied to the whole tensor and again to the rows grouped by how many keys they see (within a
/// factor of two), since rows of a few keys have errors large enough to hide a wrong key among hundreds. There f32
/// arithmetic is added, for rows that a plain framework gets exactly: four roundings of the largest value, and in
/// rows of one key what two roundings of the score make of a weight. In each group the root mean square error must also
/// stay within twice that of the plain framework plus one rounding and that arithmetic, so that a fault in every
/// element cannot stay below the maximum. NaN against a number is a failure; a NaN or Inf of the answer is met by the
/// same one, or by that of the plain framework. LSE bound: 1e-3 for 16-bit inputs; for tf32 1e-3 + 2 max|pt - ref|; for
/// precise f32 1e-5 + 2 max|pt - ref|.
Comparison compare(const View &out, const LseView *lse, const Answer &exact, const Answer &plain,
                   const Problem &problem, DType inType, Precision precision);

} // namespace tessera::reference
