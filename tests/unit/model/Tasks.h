// Attentions that the tests of the model predict.
#pragma once

#include "autotune/model/Model.h"

namespace tessera::tune {

/// bf16, 32 heads, as many tokens as 16,384 in all: the problems that attention kernels are compared on.
inline Task usualTask(unsigned dim, bool causal, int64_t length) {
  Task task;
  task.spec.headDim = task.spec.valueDim = dim;
  if (causal)
    task.spec.mask = Mask::causal(Align::BottomRight);
  task.problem = {std::max<int64_t>(16384 / length, 1), 32, 32, length, length};
  return task;
}

inline Target targetOf(const Gpu &gpu) { return *Target::forDevice(gpu.major, gpu.minor); }

} // namespace tessera::tune
