// Model: how long stream work would take on the GPU that is posed as. A roofline, not a prediction: what it is for is
// order of magnitude and comparison of schedules, and whoever prints a figure of it says "modelled".
#pragma once

#include "runtime/simulator/Machine.h"

namespace tessera::sim::driver {

/// Nanoseconds of a launch: the launch overhead, plus the unit that is busy longest on the SM that gets most blocks
/// (pipes, issue slots, L2, device memory; LaunchReport::clocks), but never less than one access to memory takes.
/// Every sector comes through L2, and from memory once. Without counters the clocks are zero, and this is the least
/// that any kernel takes.
double launchNanoseconds(const DeviceProfile &profile, const LaunchReport &report);

/// Nanoseconds of a copy or fill of `bytes`, inside the device's memory or over the host link.
double copyNanoseconds(const DeviceProfile &profile, uint64_t bytes, bool insideDevice);

} // namespace tessera::sim::driver
