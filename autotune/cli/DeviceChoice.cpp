// The automatic device and the target of a compile.
#include "autotune/cli/DeviceChoice.h"

#include "autotune/cli/Print.h"

#include <fmt/format.h>

namespace tessera::cli {

Result<Device> openDevice(const std::string &name, bool quiet) {
  if (name != kAutomatic)
    return Device::open(name);
  Result<Device> gpu = Device::open("cuda:0");
  if (gpu || gpu.status().code() != Code::NoDevice)
    return gpu;
  Result<Device> simulated = Device::open(kDefaultSimulated);
  if (!simulated)
    return Status(
        Code::NoDevice,
        fmt::format("no GPU ({}) and no simulator ({})", gpu.status().message(), simulated.status().message()),
        simulated.status().hint());
  if (!quiet)
    say("no GPU here ({}): running on the simulator, {} (--device chooses another)\n", gpu.status().message(),
        kDefaultSimulated);
  return simulated;
}

Result<Target> chooseTarget(const std::string &target, const std::string &device) {
  if (!target.empty())
    return Target::parse(target);
  const Result<Device> opened = Device::open(device == kAutomatic ? "cuda:0" : device);
  if (opened)
    return opened->target();
  if (device == kAutomatic && opened.status().code() == Code::NoDevice)
    return Status(
        Code::InvalidArgument,
        fmt::format("nothing says what to compile for, and there is no GPU here ({})", opened.status().message()),
        "give --target, e.g. --target sm_80, or --device sim:a100");
  return opened.status();
}

} // namespace tessera::cli
