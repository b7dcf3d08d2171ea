// Timing: how long a kernel takes on a device. The one routine of the tuner and of tests/bench.
#pragma once

#include "autotune/measure/Measurement.h"
#include "autotune/measure/Replay.h"
#include "runtime/engine/Kernel.h"

namespace tessera::tune {

/// Median and quartiles, between neighbours where they fall between two. All 0 for no samples.
struct Quartiles {
  double low = 0, median = 0, high = 0;
  static Quartiles of(std::vector<double> samples);
};

/// Sets of tensors that take turns, so that what a launch reads was driven out of the L2 by the others.
struct Rotation {
  size_t sets = 1;
  bool cold = true; ///< the sets together are more than twice the L2
  /// As few as make it cold, as long as they fit into half of the device's memory.
  static Rotation of(uint64_t bytesPerSet, uint64_t l2Bytes, uint64_t memoryBytes);
};

/// Warm-up until the times stand still, then runs until the quartiles are near enough or the effort is spent. `make`
/// gives the replay of so many rounds of the rotation; it is asked once more when one round is too short for events.
/// A sample is one run of the replay over its launches; `repeats` counts launches.
Result<Measurement> time(const std::function<Result<Replay>(size_t rounds)> &make, const Device &device,
                         const Effort &effort);

/// Normal inputs in rotating sets, launches by graph replay where possible. On a simulated device the times are
/// modelled ones of the simulator and labelled so (the tuner does not ask for them: see Rig). An empty problem takes 0.
Result<Measurement> measure(const KernelImage &image, const Device &device, const Problem &problem,
                            const Effort &effort);

} // namespace tessera::tune
