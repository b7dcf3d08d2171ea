// A launch that is judged.
#include "autotune/measure/CheckedLaunch.h"

#include <fmt/format.h>

namespace tessera::tune {

Result<CheckedLaunch> CheckedLaunch::run(const Kernel &kernel, const Device &device, const LaunchTensors &tensors,
                                         const std::optional<SimulatorControl> &simulator) {
  CheckedLaunch launch;
  if (Status status = tensors.poisonOutputs(); !status)
    return status;
  if (Status status = device.synchronize(); !status)
    return status;
  Status ran = kernel.launch(tensors.arguments(), nullptr);
  if (ran.ok())
    ran = device.synchronize();
  if (simulator)
    if (const std::vector<std::string> findings = simulator->findings(); !findings.empty()) {
      launch.fault = fmt::format("the simulator found: {}{}", findings.front(),
                                 findings.size() > 1 ? fmt::format(" (and {} more)", findings.size() - 1) : "");
      return launch;
    }
  if (ran.code() == Code::DriverError) {
    launch.fault = "the launch failed: " + ran.message();
    return launch;
  }
  if (!ran)
    return ran;
  Result<LaunchOutputs> outputs = tensors.download();
  if (!outputs)
    return outputs.status();
  Result<std::string> stray = tensors.strayWrite();
  if (!stray)
    return stray.status();
  launch.outputs = *std::move(outputs);
  launch.stray = *std::move(stray);
  return launch;
}

} // namespace tessera::tune
