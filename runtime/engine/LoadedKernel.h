// LoadedKernel: what all handles of one loaded kernel share.
#pragma once

#include "runtime/driver/Module.h"
#include "runtime/engine/Device.h"
#include "runtime/engine/KernelInfo.h"
#include "runtime/image/KernelImage.h"

#include <vector>

namespace tessera::detail {

struct LoadedKernel {
  KernelImage image;
  Device device;
  Function function;
  std::vector<Argument> parameters; ///< in the order of the kernel's declaration
  std::optional<uint32_t> blocksPerSm;
  uint32_t mostBlocks = 0; ///< of a launch: those that the device holds at once where the grid rule says so
  bool fromCubin = false;
  double loadMs = 0;
  std::string warnings;

  // Filled by the engine.
  Source origin = Source::Image; ///< what the image came from; never Memory
  std::string bundle;            ///< path, where that is a bundle
  double fetchMs = 0;            ///< to compile or to read the image

  /// See Kernel::load.
  static Result<std::shared_ptr<LoadedKernel>> load(KernelImage image, const Device &device);
};

} // namespace tessera::detail
