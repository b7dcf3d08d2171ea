// cuLaunchKernel and cuLaunchKernelEx: a launch is checked against kernel and device, then run, and its report kept.
#include "runtime/simulator/driver/Model.h"
#include "runtime/simulator/driver/Report.h"
#include "runtime/simulator/driver/State.h"

#include <cstdio>
#include <cstring>

using namespace tessera::sim;
using namespace tessera::sim::driver;

namespace {

/// The code that a launch of this shape is refused with, in the order in which a driver looks.
CUresult refuse(const Function &function, const DeviceProfile &profile, const LaunchConfig &config) {
  const KernelInfo &info = *function.info;
  const DeviceLimits &limits = profile.limits;
  const Dim3 &grid = config.grid, &block = config.block, &cluster = config.cluster;
  if (grid.count() == 0 || block.count() == 0 || cluster.count() == 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (grid.x > INT32_MAX || grid.y > 65535 || grid.z > 65535)
    return CUDA_ERROR_INVALID_VALUE;
  if (block.x > 1024 || block.y > 1024 || block.z > 64 || block.count() > limits.threadsPerBlock)
    return CUDA_ERROR_INVALID_VALUE;
  if (info.maxThreads && block.count() > info.maxThreads)
    return CUDA_ERROR_INVALID_VALUE;
  if (info.requiredThreads[0] &&
      (block.x != info.requiredThreads[0] || block.y != info.requiredThreads[1] || block.z != info.requiredThreads[2]))
    return CUDA_ERROR_INVALID_VALUE;
  if (int64_t(config.dynamicSharedBytes) > function.maxDynamicShared.load())
    return CUDA_ERROR_INVALID_VALUE;
  if (uint64_t(config.dynamicSharedBytes) + info.staticSharedBytes > limits.sharedBytesPerBlock)
    return CUDA_ERROR_INVALID_VALUE;
  if (cluster.count() > 1) {
    unsigned most = function.nonPortableCluster ? 16 : unsigned(limits.clusterBlocks);
    if (limits.clusterBlocks <= 1 || cluster.count() > most || grid.x % cluster.x || grid.y % cluster.y ||
        grid.z % cluster.z)
      return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  }
  uint64_t unit = limits.registerAllocationUnit;
  uint64_t perWarp = (uint64_t(function.registers) * 32 + unit - 1) / unit * unit;
  if ((block.count() + 31) / 32 * perWarp > limits.registersPerBlock)
    return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  return CUDA_SUCCESS;
}

/// The values of the parameters as one block of bytes, from either of the two forms that a launch may give them in.
CUresult packParameters(const KernelInfo &info, void **parameters, void **extra, std::vector<std::byte> *packed) {
  packed->assign(info.parameterBytes, std::byte{0});
  if (parameters && extra)
    return CUDA_ERROR_INVALID_VALUE;
  if (extra) {
    const void *buffer = nullptr;
    size_t bytes = 0;
    for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
      if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
        buffer = extra[1];
      else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[1])
        bytes = *static_cast<const size_t *>(extra[1]);
      else
        return CUDA_ERROR_INVALID_VALUE;
    }
    if ((!buffer && bytes) || bytes < info.parameterBytes)
      return CUDA_ERROR_INVALID_VALUE;
    if (info.parameterBytes)
      std::memcpy(packed->data(), buffer, info.parameterBytes);
    return CUDA_SUCCESS;
  }
  if (info.parameters.empty())
    return CUDA_SUCCESS;
  if (!parameters)
    return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < info.parameters.size(); ++i) {
    if (!parameters[i])
      return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(packed->data() + info.parameters[i].offset, parameters[i], info.parameters[i].size);
  }
  return CUDA_SUCCESS;
}

CUresult codeOf(LaunchStatus status) {
  switch (status) {
  case LaunchStatus::Success:
    return CUDA_SUCCESS;
  case LaunchStatus::InvalidConfiguration:
    return CUDA_ERROR_INVALID_VALUE;
  case LaunchStatus::OutOfResources:
    return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  case LaunchStatus::IllegalAddress:
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  case LaunchStatus::MisalignedAddress:
    return CUDA_ERROR_MISALIGNED_ADDRESS;
  case LaunchStatus::IllegalInstruction:
    return CUDA_ERROR_ILLEGAL_INSTRUCTION;
  case LaunchStatus::Trap:
    return CUDA_ERROR_LAUNCH_FAILED;
  case LaunchStatus::Timeout:
    return CUDA_ERROR_LAUNCH_TIMEOUT;
  }
  return CUDA_ERROR_UNKNOWN;
}

/// Runs one launch and keeps its report.
Outcome run(const Function &function, Device &device, LaunchConfig config, const Settings &settings) {
  config.id = ++state().launches;
  Options options = settings.core;
  options.clockMHz = device.profile.rates.clockMHz;
  auto finished = std::make_shared<FinishedLaunch>();
  LaunchReport &report = finished->report;
  report = launch(*function.module->code, device.memory, device.profile, config, options);
  finished->device = device.profile.name;
  finished->registers = function.registers;
  finished->blocksPerSm =
      device.profile.blocksPerSm(unsigned(config.block.count()), function.registers,
                                 uint64_t(function.info->staticSharedBytes) + config.dynamicSharedBytes);
  finished->nanoseconds =
      launchNanoseconds(device.profile, report.counters, config.grid.count(), device.memory.bytesInUse());
  finished->counted = options.counters;
  config.parameters.clear();
  finished->config = std::move(config);

  bool found = !report.findings.empty() || report.status != LaunchStatus::Success;
  {
    std::lock_guard lock(state().reportMutex);
    state().last = finished;
    if (!report.printed.empty())
      std::fwrite(report.printed.data(), 1, report.printed.size(), stdout);
    if (found && settings.print) {
      std::string shown = readable(*finished);
      std::fwrite(shown.data(), 1, shown.size(), stderr);
    }
  }
  CUresult fault = codeOf(report.status);
  // What a check found would go unnoticed on a GPU, or fail later and elsewhere. Here it fails the launch that did it.
  if (fault == CUDA_SUCCESS && !report.findings.empty() && settings.failOnFindings)
    fault = CUDA_ERROR_LAUNCH_FAILED;
  return {fault, finished->nanoseconds, true};
}

CUresult enqueueLaunch(CUfunction handle, LaunchConfig config, CUstream streamHandle, void **parameters, void **extra) {
  return inContext([&](std::shared_ptr<Context> &current) -> CUresult {
    std::shared_ptr<Function> function = state().functions.find(functionOfKernel(handle));
    std::shared_ptr<Stream> stream = findStream(*current, streamHandle);
    if (!function || !stream)
      return CUDA_ERROR_INVALID_HANDLE;
    if (function->context.lock() != current || stream->context.lock() != current)
      return CUDA_ERROR_INVALID_HANDLE;
    if (config.cluster.count() == 1 && function->info->requiredCluster[0])
      config.cluster = {function->info->requiredCluster[0], function->info->requiredCluster[1],
                        function->info->requiredCluster[2]};
    Device &device = current->device;
    if (CUresult result = refuse(*function, device.profile, config); result != CUDA_SUCCESS)
      return result;
    config.kernel = function->info->name;
    if (CUresult result = packParameters(*function->info, parameters, extra, &config.parameters);
        result != CUDA_SUCCESS)
      return result;
    return enqueue(*current, *stream,
                   [function, &device, config = std::move(config), settings = state().currentSettings()]() -> Outcome {
                     return run(*function, device, config, settings);
                   });
  });
}

} // namespace

extern "C" {

CUresult cuLaunchKernel(CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                        unsigned blockY, unsigned blockZ, unsigned sharedBytes, CUstream stream, void **parameters,
                        void **extra) {
  LaunchConfig config;
  config.grid = {gridX, gridY, gridZ};
  config.block = {blockX, blockY, blockZ};
  config.dynamicSharedBytes = sharedBytes;
  return enqueueLaunch(function, std::move(config), stream, parameters, extra);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *launch, CUfunction function, void **parameters, void **extra) {
  if (!launch || (launch->numAttrs && !launch->attrs))
    return CUDA_ERROR_INVALID_VALUE;
  LaunchConfig config;
  config.grid = {launch->gridDimX, launch->gridDimY, launch->gridDimZ};
  config.block = {launch->blockDimX, launch->blockDimY, launch->blockDimZ};
  config.dynamicSharedBytes = launch->sharedMemBytes;
  for (unsigned i = 0; i < launch->numAttrs; ++i) {
    const CUlaunchAttribute &attribute = launch->attrs[i];
    switch (attribute.id) {
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      config.cluster = {attribute.value.clusterDim.x, attribute.value.clusterDim.y, attribute.value.clusterDim.z};
      break;
    // Hints, and overlap that a simulator that runs kernels one after another never shows.
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      break;
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
    }
  }
  return enqueueLaunch(function, std::move(config), launch->hStream, parameters, extra);
}

} // extern "C"
