// DeviceRun: a host problem taken through a device: tensors up, one launch, results down.
#pragma once

#include "autotune/cli/HostProblem.h"
#include "runtime/engine/Kernel.h"

#include <optional>

namespace tessera::cli {

struct DeviceResult {
  files::HostTensor out;                ///< (batch, sequence, head, value dim)
  std::optional<files::HostTensor> lse; ///< (batch, head, sequence)
  std::optional<uint32_t> rescues;      ///< query tiles done again; absent where the schedule is not anchored
  double milliseconds = 0;              ///< between two events around the launch; modelled on the simulator
};

/// Allocates, uploads, poisons the outputs with NaN (what a kernel leaves out then shows), launches once, waits,
/// downloads.
Result<DeviceResult> runOnDevice(const Device &device, const Kernel &kernel, const HostProblem &host);

} // namespace tessera::cli
