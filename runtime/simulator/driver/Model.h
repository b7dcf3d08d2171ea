// Model: how long stream work would take on the GPU that is posed as. A roofline, not a prediction: what it is for is
// order of magnitude and comparison of schedules, and whoever prints a figure of it says "modelled".
#pragma once

#include "runtime/simulator/Machine.h"

namespace tessera::sim::driver {

/// Nanoseconds of a launch whose counters were on: the launch overhead plus the slowest of matrix unit, each pipe,
/// issue slots, shared memory, L2 and device memory on the SM that gets most blocks. Every counted sector is taken to
/// come from L2, and from memory at most `touchedBytes`, the size of what the kernel may have touched.
double launchNanoseconds(const DeviceProfile &profile, const Counters &counters, uint64_t blocks,
                         uint64_t touchedBytes);

/// Nanoseconds of a copy or fill of `bytes`, inside the device's memory or over the host link.
double copyNanoseconds(const DeviceProfile &profile, uint64_t bytes, bool insideDevice);

} // namespace tessera::sim::driver
