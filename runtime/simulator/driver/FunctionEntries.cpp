// cuFunc* and cuOccupancy*: what a kernel needs, what it may ask for, and how many of its blocks fit.
#include "runtime/simulator/driver/State.h"

#include <algorithm>

using namespace tessera::sim;
using namespace tessera::sim::driver;

namespace {

template <typename Body> CUresult withFunction(CUfunction handle, Body body) {
  return inContext([&](std::shared_ptr<Context> &context) -> CUresult {
    std::shared_ptr<Function> function = state().functions.find(functionOfKernel(handle));
    return function ? body(*context, *function) : CUDA_ERROR_INVALID_HANDLE;
  });
}

int maxThreads(const Function &function, const DeviceLimits &limits) {
  if (function.info->maxThreads)
    return int(function.info->maxThreads);
  uint32_t unit = limits.registerAllocationUnit;
  uint32_t perWarp = (function.registers * 32 + unit - 1) / unit * unit;
  return int(std::min<uint32_t>(limits.threadsPerBlock, limits.registersPerBlock / perWarp * 32));
}

} // namespace

extern "C" {

CUresult cuFuncGetModule(CUmodule *module, CUfunction handle) {
  return withFunction(handle, [&](Context &, Function &function) -> CUresult {
    if (!module)
      return CUDA_ERROR_INVALID_VALUE;
    *module = function.moduleHandle;
    return CUDA_SUCCESS;
  });
}

CUresult cuFuncGetName(const char **name, CUfunction handle) {
  return withFunction(handle, [&](Context &, Function &function) -> CUresult {
    if (!name)
      return CUDA_ERROR_INVALID_VALUE;
    *name = function.info->name.c_str();
    return CUDA_SUCCESS;
  });
}

CUresult cuFuncGetParamInfo(CUfunction handle, size_t index, size_t *offset, size_t *bytes) {
  return withFunction(handle, [&](Context &, Function &function) -> CUresult {
    if (!offset || index >= function.info->parameters.size())
      return CUDA_ERROR_INVALID_VALUE;
    *offset = function.info->parameters[index].offset;
    if (bytes)
      *bytes = function.info->parameters[index].size;
    return CUDA_SUCCESS;
  });
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction handle) {
  return withFunction(handle, [&](Context &context, Function &function) -> CUresult {
    if (!value)
      return CUDA_ERROR_INVALID_VALUE;
    const KernelInfo &info = *function.info;
    const DeviceProfile &profile = context.device.profile;
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = maxThreads(function, profile.limits);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      *value = int(info.staticSharedBytes);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      *value = int(info.localBytesPerThread);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      *value = int(function.registers);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      *value = int(profile.major * 10 + profile.minor);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      *value = function.maxDynamicShared;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      *value = function.preferredCarveout;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      *value = function.nonPortableCluster;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
      *value = int(info.requiredCluster[attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH]);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      *value = 0;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
    }
  });
}

CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value) {
  return withFunction(handle, [&](Context &context, Function &function) -> CUresult {
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      if (value < 0 ||
          uint64_t(value) + function.info->staticSharedBytes > context.device.profile.limits.sharedBytesPerBlock)
        return CUDA_ERROR_INVALID_VALUE;
      function.maxDynamicShared = value;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      if (value < -1 || value > 100)
        return CUDA_ERROR_INVALID_VALUE;
      function.preferredCarveout = value;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      function.nonPortableCluster = value != 0;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
    }
  });
}

CUresult cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache) {
  return withFunction(handle, [](Context &, Function &) { return CUDA_SUCCESS; });
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction handle, int threads,
                                                              size_t dynamicShared, unsigned flags) {
  return withFunction(handle, [&](Context &context, Function &function) -> CUresult {
    if (!blocks || threads <= 0 || (flags & ~unsigned(CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)))
      return CUDA_ERROR_INVALID_VALUE;
    const DeviceProfile &profile = context.device.profile;
    bool fits =
        threads <= maxThreads(function, profile.limits) && dynamicShared <= size_t(function.maxDynamicShared.load());
    *blocks = fits ? int(profile.blocksPerSm(unsigned(threads), function.registers,
                                             function.info->staticSharedBytes + dynamicShared))
                   : 0;
    return CUDA_SUCCESS;
  });
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction handle, int threads,
                                                     size_t dynamicShared) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, handle, threads, dynamicShared, 0);
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, CUfunction handle, int blocks, int threads) {
  return withFunction(handle, [&](Context &context, Function &function) -> CUresult {
    const DeviceProfile &profile = context.device.profile;
    if (!bytes || blocks <= 0 || threads <= 0)
      return CUDA_ERROR_INVALID_VALUE;
    if (profile.blocksPerSm(unsigned(threads), function.registers, function.info->staticSharedBytes) < unsigned(blocks))
      return CUDA_ERROR_INVALID_VALUE;
    uint64_t each = profile.limits.sharedBytesPerSm / unsigned(blocks);
    uint64_t taken = profile.limits.sharedBytesReservedPerBlock + function.info->staticSharedBytes;
    *bytes = std::min<uint64_t>(each > taken ? each - taken : 0,
                                profile.limits.sharedBytesPerBlock - function.info->staticSharedBytes);
    return CUDA_SUCCESS;
  });
}

} // extern "C"
