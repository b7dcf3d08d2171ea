// DeviceAttributes: what a simulated device answers to cuDeviceGetAttribute.
#pragma once

#include "runtime/simulator/driver/Objects.h"

#include <optional>

namespace tessera::sim::driver {

/// The attribute's value; nullopt for numbers that are none. Zero stands for what no device here has: textures and
/// arrays, access between peers, virtual memory management, handles for other processes, memory operations of streams.
std::optional<int> attributeOf(const Device &device, CUdevice_attribute attribute);

} // namespace tessera::sim::driver
