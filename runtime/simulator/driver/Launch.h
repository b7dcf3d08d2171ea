// Launch: what a kernel launch is checked against, and how it runs.
#pragma once

#include "runtime/simulator/driver/Copy.h"

namespace tessera::sim::driver {

/// A launch as its caller states it.
struct LaunchRequest {
  CUfunction handle = nullptr;
  LaunchConfig config; ///< without kernel and parameters
  void **parameters = nullptr, **extra = nullptr;
  bool cooperative = false;
  std::map<int, CUlaunchAttributeValue> attributes; ///< those that readAttributes has taken
};

/// Reads an attribute of a launch into the request. INVALID_VALUE for values outside their range, NOT_SUPPORTED for
/// attributes that would change what the kernel does in a way that is not simulated.
CUresult readAttribute(CUlaunchAttributeID id, CUlaunchAttributeValue value, LaunchRequest *request);
/// Checks the launch against kernel and device in the order in which a driver looks, and copies the parameters.
CUresult makeLaunch(Context &context, const LaunchRequest &request, KernelWork *work);

/// Runs one launch, and keeps, prints and judges its report as the options say.
Outcome runKernel(const KernelWork &work, Device &device);

/// Threads of a block that the kernel's registers and launch bounds allow.
int maxThreads(const Function &function, const DeviceLimits &limits);
/// Blocks that fit on one SM at once with what the launch may ask for; 0 when it may not be launched like this.
unsigned activeBlocks(const Function &function, const DeviceProfile &profile, unsigned threads, uint64_t dynamicShared);

} // namespace tessera::sim::driver
