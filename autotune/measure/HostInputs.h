// HostInputs: seeded q, k and v in host memory for launches that are checked or counted.
#pragma once

#include "autotune/measure/LaunchTensors.h"
#include "autotune/reference/View.h"

namespace tessera::tune {

/// How the scores of a row run along the keys.
struct ScoreTrend {
  /// Powers of two (log2 units of the weights) by which the scores rise from each `period` keys to the next in even
  /// batch elements, and fall in odd ones; about, since what carries it is rounded to the input type. 0: none, standard
  /// normal inputs alone.
  double growth = 0;
  int64_t period = 1;
};

struct HostInputs {
  AttentionSpec spec;
  Problem problem;
  std::array<std::vector<std::byte>, 3> bytes; ///< q, k, v: dense (batch, sequence, head, dim)

  /// The same values for the same arguments on every machine.
  static HostInputs make(const AttentionSpec &spec, const Problem &problem, uint64_t seed, ScoreTrend trend = {});

  reference::View view(Input input) const;
  Status upload(const LaunchTensors &tensors) const; ///< SequenceFirst ones
};

} // namespace tessera::tune
