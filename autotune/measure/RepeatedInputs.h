// RepeatedInputs: normal inputs of any size from a million values, for launches whose tensors may be gigabytes.
#pragma once

#include "autotune/measure/LaunchTensors.h"

namespace tessera::tune {

/// Element n of an input is element n modulo `period` of its values. The period is a prime, so that no two rows of a
/// head are alike before it has run through all of a row's offsets.
class RepeatedInputs {
public:
  static RepeatedInputs make(DType type, uint64_t seed);

  Status upload(const LaunchTensors &tensors) const;
  /// Rows [begin, end) of one head of a dense (batch, sequence, head, dim) input, densely.
  std::vector<std::byte> rows(Input input, const std::array<int64_t, 4> &shape, int64_t batch, int64_t head,
                              int64_t begin, int64_t end) const;

private:
  DType type_ = DType::F32;
  std::array<std::vector<std::byte>, 3> values_;
};

} // namespace tessera::tune
