// Which device or target a command works for.
#pragma once

#include "runtime/engine/Device.h"

#include <string>

namespace tessera::cli {

inline constexpr const char *kAutomatic = "auto";
inline constexpr const char *kDefaultSimulated = "sim:a100";

/// Opens "cuda:N" or "sim:NAME"; "auto" is cuda:0 where there is a driver with a GPU, else sim:a100, said on stderr
/// unless quiet.
Result<Device> openDevice(const std::string &name, bool quiet);

/// The target named, or else that of the device named, or else that of cuda:0. InvalidArgument where there is nothing
/// to go by. Opens a device only where no target is named.
Result<Target> chooseTarget(const std::string &target, const std::string &device);

} // namespace tessera::cli
