// Checks launches, packs their parameters, runs them, and turns what they found into the driver's codes.
#include "runtime/simulator/driver/Launch.h"

#include "runtime/simulator/driver/Model.h"
#include "runtime/simulator/driver/State.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace tessera::sim::driver {

namespace {

uint64_t registersPerWarp(const Function &function, const DeviceLimits &limits) {
  uint64_t unit = limits.registerAllocationUnit;
  return std::max<uint64_t>(unit, (uint64_t(function.registers) * 32 + unit - 1) / unit * unit);
}

/// The code that a launch of this shape is refused with, in the order in which a driver looks.
CUresult refuse(const Function &function, const DeviceProfile &profile, const LaunchConfig &config) {
  const KernelInfo &info = *function.info;
  const DeviceLimits &limits = profile.limits;
  const Dim3 &grid = config.grid, &block = config.block, &cluster = config.cluster;
  if (!grid.x || !grid.y || !grid.z || !block.x || !block.y || !block.z || !cluster.x || !cluster.y || !cluster.z)
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
  if (cluster.x != 1 || cluster.y != 1 || cluster.z != 1) {
    unsigned most = function.nonPortableCluster ? 16 : unsigned(limits.clusterBlocks);
    if (limits.clusterBlocks <= 1 || cluster.x > most || cluster.y > most || cluster.z > most ||
        cluster.count() > most || grid.x % cluster.x || grid.y % cluster.y || grid.z % cluster.z)
      return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  }
  if ((block.count() + 31) / 32 * registersPerWarp(function, limits) > limits.registersPerBlock)
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
    if (info.parameters[i].size)
      std::memcpy(packed->data() + info.parameters[i].offset, parameters[i], info.parameters[i].size);
  }
  return CUDA_SUCCESS;
}

/// Where the blocks of a cooperative launch count themselves (cooperative groups expect it, zeroed).
struct GridWorkspace {
  GridWorkspace(GlobalMemory &memory, bool wanted) : memory(memory) {
    constexpr uint64_t bytes = 256;
    if (!wanted)
      return;
    if (Result<uint64_t> allocated = memory.allocate(bytes, 256, "workspace of the grid barrier"); allocated) {
      address = *allocated;
      (void)memory.fill(address, 0, 4, bytes / 4);
    }
  }
  ~GridWorkspace() {
    if (address)
      (void)memory.free(address);
  }
  GridWorkspace(const GridWorkspace &) = delete;
  GridWorkspace &operator=(const GridWorkspace &) = delete;

  GlobalMemory &memory;
  uint64_t address = 0;
};

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
  case LaunchStatus::Assertion:
    return CUDA_ERROR_ASSERT;
  case LaunchStatus::Timeout:
    return CUDA_ERROR_LAUNCH_TIMEOUT;
  }
  return CUDA_ERROR_UNKNOWN;
}

} // namespace

int maxThreads(const Function &function, const DeviceLimits &limits) {
  if (function.info->maxThreads)
    return int(std::min<uint32_t>(function.info->maxThreads, limits.threadsPerBlock));
  return int(
      std::min<uint64_t>(limits.threadsPerBlock, limits.registersPerBlock / registersPerWarp(function, limits) * 32));
}

unsigned activeBlocks(const Function &function, const DeviceProfile &profile, unsigned threads,
                      uint64_t dynamicShared) {
  if (int(threads) > maxThreads(function, profile.limits) ||
      dynamicShared > uint64_t(std::max(0, function.maxDynamicShared.load())))
    return 0;
  return profile.blocksPerSm(threads, function.registers, function.info->staticSharedBytes + dynamicShared);
}

CUresult readAttribute(CUlaunchAttributeID id, CUlaunchAttributeValue value, LaunchRequest *request) {
  switch (id) {
  case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
    request->config.cluster = {value.clusterDim.x, value.clusterDim.y, value.clusterDim.z};
    break;
  case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
    if (value.cooperative != 0 && value.cooperative != 1)
      return CUDA_ERROR_INVALID_VALUE;
    request->cooperative = value.cooperative != 0;
    break;
  case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    value.priority = std::clamp(value.priority, -5, 0);
    break;
  case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
    if (value.preferredClusterDim.x != 1 || value.preferredClusterDim.y != 1 || value.preferredClusterDim.z != 1)
      return CUDA_ERROR_NOT_SUPPORTED;
    break;
  // Hints, and overlap that a simulator that runs kernels one after another never shows.
  case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
  case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
  case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
  case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
  case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
  case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
  case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING:
    break;
  case CU_LAUNCH_ATTRIBUTE_IGNORE:
    return CUDA_SUCCESS;
  default:
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  request->attributes[int(id)] = value;
  return CUDA_SUCCESS;
}

CUresult makeLaunch(Context &context, const LaunchRequest &request, KernelWork *work) {
  std::shared_ptr<Function> function = state().functions.find(functionOfKernel(request.handle));
  if (!function || function->context.lock().get() != &context)
    return CUDA_ERROR_INVALID_HANDLE;
  LaunchConfig config = request.config;
  const auto &required = function->info->requiredCluster;
  if (config.cluster.count() == 1 && required[0])
    config.cluster = {required[0], required[1], required[2]};
  const DeviceProfile &profile = context.device.profile;
  if (CUresult result = refuse(*function, profile, config); result != CUDA_SUCCESS)
    return result;
  // All blocks of a cooperative grid must be resident at once, or their barriers would wait for ever.
  if (request.cooperative &&
      config.grid.count() > uint64_t(profile.smCount) * activeBlocks(*function, profile, unsigned(config.block.count()),
                                                                     config.dynamicSharedBytes))
    return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
  config.kernel = function->info->name;
  if (CUresult result = packParameters(*function->info, request.parameters, request.extra, &config.parameters);
      result != CUDA_SUCCESS)
    return result;
  work->function = std::move(function);
  work->handle = request.handle;
  work->config = std::move(config);
  work->cooperative = request.cooperative;
  work->attributes = request.attributes;
  return CUDA_SUCCESS;
}

Outcome runKernel(const KernelWork &work, Device &device) {
  const Function &function = *work.function;
  Settings settings = state().currentSettings();
  LaunchConfig config = work.config;
  config.id = ++state().launches;
  Options options = settings.core;
  options.clockMHz = settings.clockMHz > 0 ? settings.clockMHz : double(device.profile.rates.clockMHz);
  auto finished = std::make_shared<FinishedLaunch>();
  LaunchReport &report = finished->report;
  GridWorkspace workspace(device.memory, work.cooperative);
  config.cooperative = work.cooperative;
  config.gridWorkspace = workspace.address;
  report = launch(*function.module->code, device.memory, device.profile, config, options);
  finished->device = device.profile.name;
  finished->registers = function.registers;
  finished->blocksPerSm =
      device.profile.blocksPerSm(unsigned(config.block.count()), function.registers,
                                 uint64_t(function.info->staticSharedBytes) + config.dynamicSharedBytes);
  finished->nanoseconds = launchNanoseconds(device.profile, report);
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
  return {fault, finished->nanoseconds};
}

} // namespace tessera::sim::driver
