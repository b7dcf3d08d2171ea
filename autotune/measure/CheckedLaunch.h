// CheckedLaunch: one launch of a kernel that is judged: alone, in guarded memory, on poisoned outputs.
#pragma once

#include "autotune/measure/LaunchTensors.h"
#include "autotune/measure/SimulatorControl.h"
#include "runtime/engine/Kernel.h"

namespace tessera::tune {

/// What a launch did. A fault or a stray write makes the kernel wrong, whatever the outputs are.
struct CheckedLaunch {
  static constexpr size_t guardBytes = 512; ///< for LaunchTensors::allocate

  std::string fault; ///< what the simulator found, or that the launch failed; empty: none. Then nothing was read back
  std::string stray; ///< LaunchTensors::strayWrite
  LaunchOutputs outputs;

  /// On the inputs that are in `tensors`, waiting for the launch's end. The findings are asked of `simulator`, where
  /// there is one. The failures are those of the calls, not the kernel's.
  static Result<CheckedLaunch> run(const Kernel &kernel, const Device &device, const LaunchTensors &tensors,
                                   const std::optional<SimulatorControl> &simulator = std::nullopt);
};

} // namespace tessera::tune
