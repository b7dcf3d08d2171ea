// A CUDA driver that runs nothing: it records launches and module loads. Built once as a GPU's driver and once as a
// simulator.
#include "tests/unit/engine/FakeDriver.h"

#include <cstring>
#include <cuda.h>
#include <string_view>

namespace {

FakeDriverState state;
thread_local CUcontext current = nullptr;

struct Profile {
  const char *name;
  int major, minor, sharedPerBlock;
};
constexpr Profile profiles[] = {
    {"a100", 8, 0, 166912}, {"h100", 9, 0, 232448},  {"rtx4090", 8, 9, 101376},
    {"old", 7, 5, 65536},   {"b200", 10, 0, 232448},
};

CUcontext contextOf(CUdevice device) { return reinterpret_cast<CUcontext>(uintptr_t(0x1000 + device)); }
template <typename Handle> Handle handle(uintptr_t value) { return reinterpret_cast<Handle>(value); }

} // namespace

#define FAKE(name, ...) extern "C" __attribute__((visibility("default"))) CUresult CUDAAPI name(__VA_ARGS__)

extern "C" __attribute__((visibility("default"))) FakeDriverState *fake_driver_state() { return &state; }

#ifdef FAKE_SIMULATOR
extern "C" __attribute__((visibility("default"))) int tessera_sim_find_device(const char *name, int *ordinal) {
  for (int i = 0; i < int(std::size(profiles)); ++i)
    if (std::string_view(name) == profiles[i].name)
      return *ordinal = i, 0;
  return CUDA_ERROR_INVALID_DEVICE;
}
extern "C" __attribute__((visibility("default"))) const char *tessera_sim_last_error() { return "no such profile"; }
extern "C" __attribute__((visibility("default"))) int tessera_sim_configure(const char *) { return 0; }
#endif

FAKE(cuInit, unsigned) { return CUDA_SUCCESS; }
FAKE(cuDriverGetVersion, int *version) { return *version = 13000, CUDA_SUCCESS; }
FAKE(cuGetErrorName, CUresult, const char **name) { return *name = "CUDA_ERROR_FAKE", CUDA_SUCCESS; }
FAKE(cuGetErrorString, CUresult, const char **text) { return *text = "as the test wanted", CUDA_SUCCESS; }
FAKE(cuDeviceGet, CUdevice *device, int ordinal) { return *device = ordinal, CUDA_SUCCESS; }
FAKE(cuDeviceGetCount, int *count) { return *count = int(std::size(profiles)), CUDA_SUCCESS; }
FAKE(cuDeviceGetName, char *name, int, CUdevice device) {
  return std::strcpy(name, profiles[device].name), CUDA_SUCCESS;
}
FAKE(cuDeviceGetAttribute, int *value, CUdevice_attribute attribute, CUdevice device) {
  const Profile &profile = profiles[device];
  *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR               ? profile.major
           : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR             ? profile.minor
           : attribute == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN    ? profile.sharedPerBlock
           : attribute == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR ? profile.sharedPerBlock + 1024
                                                                                   : 100;
  return CUDA_SUCCESS;
}
#undef cuDeviceTotalMem
FAKE(cuDeviceTotalMem_v2, size_t *bytes, CUdevice) { return *bytes = size_t(1) << 30, CUDA_SUCCESS; }
#undef cuDeviceGetUuid
FAKE(cuDeviceGetUuid_v2, CUuuid *uuid, CUdevice device) {
  return std::memset(uuid, device, sizeof *uuid), CUDA_SUCCESS;
}
FAKE(cuDevicePrimaryCtxRetain, CUcontext *context, CUdevice device) {
  return *context = contextOf(device), CUDA_SUCCESS;
}
#undef cuDevicePrimaryCtxRelease
FAKE(cuDevicePrimaryCtxRelease_v2, CUdevice) { return CUDA_SUCCESS; }
FAKE(cuCtxGetCurrent, CUcontext *context) { return *context = current, CUDA_SUCCESS; }
FAKE(cuCtxSetCurrent, CUcontext context) { return current = context, CUDA_SUCCESS; }
FAKE(cuCtxSynchronize) { return CUDA_SUCCESS; }

FAKE(cuModuleLoadDataEx, CUmodule *module, const void *image, unsigned, CUjit_option *, void **) {
  const bool cubin = !std::memcmp(image,
                                  "\x7f"
                                  "ELF",
                                  4);
  if (cubin && state.refuseCubins)
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  ++(cubin ? state.cubinsLoaded : state.ptxLoaded);
  return *module = handle<CUmodule>(0x2000), CUDA_SUCCESS;
}
FAKE(cuModuleUnload, CUmodule) { return ++state.modulesUnloaded, CUDA_SUCCESS; }
FAKE(cuModuleGetFunction, CUfunction *function, CUmodule, const char *name) {
  if (std::string_view(name) == "missing")
    return CUDA_ERROR_NOT_FOUND;
  return *function = handle<CUfunction>(0x3000), CUDA_SUCCESS;
}
FAKE(cuModuleGetGlobal_v2, CUdeviceptr *, size_t *, CUmodule, const char *) { return CUDA_ERROR_NOT_FOUND; }
FAKE(cuFuncGetAttribute, int *value, CUfunction_attribute attribute, CUfunction) {
  *value = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? int(state.maxThreads)
           : attribute == CU_FUNC_ATTRIBUTE_NUM_REGS            ? 77
                                                                : 0;
  return CUDA_SUCCESS;
}
FAKE(cuFuncSetAttribute, CUfunction, CUfunction_attribute attribute, int value) {
  if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
    state.allowedShared = unsigned(value);
  return CUDA_SUCCESS;
}
FAKE(cuOccupancyMaxActiveBlocksPerMultiprocessor, int *blocks, CUfunction, int, size_t) {
  return *blocks = 2, CUDA_SUCCESS;
}

FAKE(cuLaunchKernel, CUfunction, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY,
     unsigned blockZ, unsigned shared, CUstream stream, void **parameters, void **) {
  ++state.launches;
  if (state.failLaunches)
    return CUresult(int(state.failLaunches));
  if (state.parameterCount == 0) // nothing is recorded, so that several threads may launch
    return CUDA_SUCCESS;
  for (int i = 0; i < state.parameterCount; ++i) {
    state.values[i] = 0;
    std::memcpy(&state.values[i], parameters[i], state.parameterBytes[i]);
  }
  const unsigned grid[] = {gridX, gridY, gridZ}, block[] = {blockX, blockY, blockZ};
  std::memcpy(state.grid, grid, sizeof grid);
  std::memcpy(state.block, block, sizeof block);
  state.shared = shared;
  state.stream = stream;
  state.contextAtLaunch = current;
  return CUDA_SUCCESS;
}
