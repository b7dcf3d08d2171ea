// cuFunc*: what a kernel needs, and what it may ask for.
#include "runtime/simulator/driver/Launch.h"
#include "runtime/simulator/driver/State.h"

#include <algorithm>
#include <string_view>

using namespace tessera::sim;
using namespace tessera::sim::driver;

namespace {

template <typename Body> CUresult withFunction(CUfunction handle, Body body) {
  return inContext([&](std::shared_ptr<Context> &context) -> CUresult {
    std::shared_ptr<Function> function = state().functions.find(functionOfKernel(handle));
    return function ? body(*context, *function) : CUDA_ERROR_INVALID_HANDLE;
  });
}

/// 80 of "sm_80".
int virtualArchitecture(std::string_view target) {
  int number = 0;
  for (char c : target.substr(std::min(target.size(), target.find('_') + 1)))
    if (c >= '0' && c <= '9' && number < 1000)
      number = number * 10 + (c - '0');
  return number;
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
      *value = virtualArchitecture(function.module->code->target());
      return CUDA_SUCCESS;
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
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      *value = function.clusterPolicy;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
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
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      if (value < CU_CLUSTER_SCHEDULING_POLICY_DEFAULT || value > CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING)
        return CUDA_ERROR_INVALID_VALUE;
      function.clusterPolicy = value;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
    }
  });
}

CUresult cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache config) {
  return withFunction(handle, [&](Context &, Function &) -> CUresult {
    return config >= CU_FUNC_CACHE_PREFER_NONE && config <= CU_FUNC_CACHE_PREFER_EQUAL ? CUDA_SUCCESS
                                                                                       : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuFuncSetSharedMemConfig(CUfunction handle, CUsharedconfig config) {
  return withFunction(handle, [&](Context &, Function &) -> CUresult {
    return config >= CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE && config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
  });
}

} // extern "C"
