// Problem: the run-time extents of an attention. A prepared kernel serves any of them; they guide the choice of a
// schedule.
#pragma once

#include "runtime/spec/Result.h"

#include <cstdint>

namespace tessera {

struct Problem {
  int64_t batch = 1;
  int64_t heads = 1;   ///< of the queries
  int64_t kvHeads = 1; ///< of keys and values; divides heads (N9)
  int64_t seqlenQ = 1;
  int64_t seqlenKv = 1;

  /// InvalidArgument for negative extents, lengths or head counts above 2^31 - 1, and heads that kvHeads does not
  /// divide.
  Status validate() const;

  friend bool operator==(const Problem &, const Problem &) = default;
};

} // namespace tessera
