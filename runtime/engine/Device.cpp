// Opens devices by name and finds the target that serves them.
#include "runtime/engine/Device.h"

namespace tessera {

Result<Device> Device::open(std::string_view name) {
  Result<DriverDevice> device = openDriver(name);
  if (!device)
    return device.status();
  Result<std::shared_ptr<const Context>> context = Context::open(*device);
  if (!context)
    return context.status();
  const DeviceInfo &info = (*context)->info();
  Result<Target> target = Target::forDevice(info.major, info.minor);
  if (!target)
    return Status(Code::Unsupported, fmt::format("{} ({}): {}", name, info.name, target.status().message()),
                  target.status().hint());
  // The simulator executes PTX; a cubin runs within its own major version only.
  const bool runsCubins = !(*context)->driver().simulated() && info.major == target->major;
  return Device(std::make_shared<const State>(State{std::string(name), *context, *target, runsCubins}));
}

} // namespace tessera
