// A CUDA driver that runs nothing: it records launches and module loads, and faults of its caller. Built once as a
// GPU's driver and once as a simulator.
#include "tests/unit/engine/FakeDriver.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <mutex>
#include <pthread.h>
#include <set>
#include <string_view>
#include <type_traits>

namespace {

FakeDriverState state;
std::atomic<bool> initialised{false};
std::atomic<bool> forked{false}; // this is a child of the process that called cuInit
thread_local CUcontext current = nullptr;

struct Profile {
  const char *name;
  int major, minor, sharedPerBlock;
};
constexpr Profile profiles[] = {
    {"a100", 8, 0, 166912}, {"h100", 9, 0, 232448},  {"rtx4090", 8, 9, 101376},
    {"old", 7, 5, 65536},   {"b200", 10, 0, 232448},
};
static_assert(std::size(profiles) == sizeof(FakeDriverState::devices) / sizeof(FakeDriverState::Device));

std::atomic<int> synchronised[std::size(profiles)]; // how often, by device

/// What a module's handle points at, and its kernel's. Never freed: a stale handle is a fault to count, not to die of.
struct Loaded {
  const CUdevice device;
  std::atomic<bool> live{true};
  std::atomic<int> launched{0}; ///< 1 + the device's synchronisations at the last launch
};
std::mutex &modulesMutex = *new std::mutex; // programs call in while they exit
std::set<void *> &modules = *new std::set<void *>;

constexpr uintptr_t FirstContext = 0x1000;
CUcontext contextOf(CUdevice device) { return reinterpret_cast<CUcontext>(FirstContext + device); }
template <typename Handle> Handle handle(uintptr_t value) { return reinterpret_cast<Handle>(value); }

template <typename Handle> Loaded &loadedBy(Handle object) { return *reinterpret_cast<Loaded *>(object); }

/// For what must be used in the context that it was loaded in, and not after its unload.
bool usable(const Loaded &module) {
  const bool fits = current == contextOf(module.device);
  state.foreignContext += !fits;
  state.usesAfterUnload += !module.live;
  return fits && module.live;
}

/// Every entry point passes here. A body without a result succeeds.
template <typename Body> CUresult call(Body body) {
  if (forked)
    return ++state.callsAfterFork, CUDA_ERROR_NOT_INITIALIZED;
  if (state.deinitialized)
    return CUDA_ERROR_DEINITIALIZED;
  if constexpr (std::is_void_v<decltype(body())>)
    return body(), CUDA_SUCCESS;
  else
    return body();
}

/// Those that are illegal during a capture.
template <typename Body> CUresult callOutsideCapture(Body body) {
  return call([&]() -> CUresult {
    if (state.capturedStream)
      return ++state.callsDuringCapture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return call(body);
  });
}

int attributeOf(CUdevice device, CUdevice_attribute attribute) {
  const Profile &profile = profiles[device];
  const FakeDriverState::Device &told = state.devices[device];
  auto orElse = [](int value, int otherwise) { return value ? value : otherwise; };
  switch (attribute) {
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    return orElse(told.major, profile.major);
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    return told.major ? int(told.minor) : profile.minor;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
    return orElse(told.sharedBytesPerBlock, profile.sharedPerBlock);
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
    return orElse(told.sharedBytesPerSm, profile.sharedPerBlock + 1024);
  case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
    return orElse(told.registersPerBlock, 65536);
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    return orElse(told.maxThreadsPerBlock, 1024);
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    return orElse(told.multiprocessors, 100);
  default:
    return 100;
  }
}

CUresult load(CUmodule *module, const void *image) {
  // What a failed load leaves behind must not be taken for a module.
  *module = handle<CUmodule>(0xbad);
  const bool cubin = !std::memcmp(image,
                                  "\x7f"
                                  "ELF",
                                  4);
  if (!current)
    return ++state.foreignContext, CUDA_ERROR_INVALID_CONTEXT;
  if (cubin && state.refuseCubins)
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  if (int told = cubin ? state.failCubins : state.failPtx)
    return CUresult(told);
  ++(cubin ? state.cubinsLoaded : state.ptxLoaded);
  auto *loaded = new Loaded{CUdevice(reinterpret_cast<uintptr_t>(current) - FirstContext)};
  std::lock_guard lock(modulesMutex);
  modules.insert(loaded);
  state.mostModules = std::max(state.mostModules.load(), ++state.modulesLive);
  *module = reinterpret_cast<CUmodule>(loaded);
  return CUDA_SUCCESS;
}

CUresult unload(CUmodule handle) {
  std::lock_guard lock(modulesMutex);
  if (!modules.contains(handle) || !loadedBy(handle).live)
    return ++state.unloadsOfNothing, CUDA_ERROR_INVALID_HANDLE;
  Loaded &module = loadedBy(handle);
  if (!usable(module))
    return CUDA_ERROR_INVALID_CONTEXT;
  state.unloadsWhilePending += module.launched > synchronised[module.device];
  module.live = false;
  --state.modulesLive;
  ++state.modulesUnloaded;
  return CUDA_SUCCESS;
}

CUresult isCapturing(CUstream stream, CUstreamCaptureStatus *status) {
  const bool isDefault = !stream || stream == CU_STREAM_LEGACY;
  if (isDefault && state.capturedStream && state.captureBlocks)
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  *status = stream && stream == state.capturedStream ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}

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

FAKE(cuInit, unsigned) {
  return call([] {
    // As a real driver does, so that whatever is destroyed later meets a driver that has shut down.
    if (!initialised.exchange(true)) {
      pthread_atfork(nullptr, nullptr, [] { forked = true; });
      std::atexit([] { state.deinitialized = 1; });
    }
  });
}
FAKE(cuDriverGetVersion, int *version) {
  return call([&] { *version = state.driverVersion; });
}
FAKE(cuGetErrorName, CUresult, const char **name) {
  return call([&] { *name = "CUDA_ERROR_FAKE"; });
}
FAKE(cuGetErrorString, CUresult, const char **text) {
  return call([&] { *text = "as the test wanted"; });
}

FAKE(cuDeviceGet, CUdevice *device, int ordinal) {
  return call([&] { *device = ordinal; });
}
FAKE(cuDeviceGetCount, int *count) {
  return call([&] { *count = int(std::size(profiles)); });
}
FAKE(cuDeviceGetName, char *name, int, CUdevice device) {
  return call([&] { std::strcpy(name, profiles[device].name); });
}
FAKE(cuDeviceGetAttribute, int *value, CUdevice_attribute attribute, CUdevice device) {
  return call([&] { *value = attributeOf(device, attribute); });
}
#undef cuDeviceTotalMem
FAKE(cuDeviceTotalMem_v2, size_t *bytes, CUdevice) {
  return call([&] { *bytes = size_t(1) << 30; });
}
#undef cuDeviceGetUuid
FAKE(cuDeviceGetUuid_v2, CUuuid *uuid, CUdevice device) {
  return call([&] { std::memset(uuid, device, sizeof *uuid); });
}
FAKE(cuDevicePrimaryCtxRetain, CUcontext *context, CUdevice device) {
  return call([&] {
    ++state.contextsRetained;
    *context = contextOf(device);
  });
}
#undef cuDevicePrimaryCtxRelease
FAKE(cuDevicePrimaryCtxRelease_v2, CUdevice) {
  return call([] { ++state.contextsReleased; });
}
FAKE(cuCtxGetCurrent, CUcontext *context) {
  return call([&] { *context = current; });
}
FAKE(cuCtxSetCurrent, CUcontext context) {
  return call([&] { current = context; });
}
FAKE(cuCtxSynchronize) {
  return callOutsideCapture([]() -> CUresult {
    ++state.synchronisations;
    if (!current)
      return ++state.foreignContext, CUDA_ERROR_INVALID_CONTEXT;
    if (int told = state.failSynchronise)
      return CUresult(told);
    ++synchronised[reinterpret_cast<uintptr_t>(current) - FirstContext];
    if (state.afterSynchronise)
      state.afterSynchronise();
    return CUDA_SUCCESS;
  });
}

#undef cuMemAlloc
FAKE(cuMemAlloc_v2, CUdeviceptr *address, size_t) {
  return callOutsideCapture([&] { *address = 0x7000'0000 + 256 * CUdeviceptr(++state.allocations); });
}
#undef cuMemFree
FAKE(cuMemFree_v2, CUdeviceptr) {
  return callOutsideCapture([] { ++state.frees; });
}
FAKE(cuStreamCreate, CUstream *stream, unsigned) {
  return call([&] { *stream = handle<CUstream>(0x4000); });
}
#undef cuStreamDestroy
FAKE(cuStreamDestroy_v2, CUstream) {
  return call([] {});
}
FAKE(cuStreamIsCapturing, CUstream stream, CUstreamCaptureStatus *status) {
  return call([&] { return isCapturing(stream, status); });
}
FAKE(cuEventCreate, CUevent *event, unsigned) {
  return call([&] { *event = handle<CUevent>(0x5000); });
}
#undef cuEventDestroy
FAKE(cuEventDestroy_v2, CUevent) {
  return call([] {});
}

FAKE(cuModuleLoadDataEx, CUmodule *module, const void *image, unsigned, CUjit_option *, void **) {
  return callOutsideCapture([&] { return load(module, image); });
}
FAKE(cuModuleUnload, CUmodule module) {
  return callOutsideCapture([&] { return unload(module); });
}
FAKE(cuModuleGetFunction, CUfunction *function, CUmodule module, const char *name) {
  return call([&] {
    if (!usable(loadedBy(module)))
      return CUDA_ERROR_INVALID_CONTEXT;
    if (std::string_view(name) == "missing")
      return CUDA_ERROR_NOT_FOUND;
    return *function = reinterpret_cast<CUfunction>(module), CUDA_SUCCESS;
  });
}
FAKE(cuModuleGetGlobal_v2, CUdeviceptr *, size_t *, CUmodule, const char *) {
  return call([] { return CUDA_ERROR_NOT_FOUND; });
}
FAKE(cuFuncGetAttribute, int *value, CUfunction_attribute attribute, CUfunction) {
  return call([&] {
    *value = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? int(state.maxThreads)
             : attribute == CU_FUNC_ATTRIBUTE_NUM_REGS            ? 77
                                                                  : 0;
  });
}
FAKE(cuFuncSetAttribute, CUfunction function, CUfunction_attribute attribute, int value) {
  return call([&] {
    if (!usable(loadedBy(function)))
      return CUDA_ERROR_INVALID_CONTEXT;
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
      state.allowedShared = unsigned(value);
    return CUDA_SUCCESS;
  });
}
FAKE(cuOccupancyMaxActiveBlocksPerMultiprocessor, int *blocks, CUfunction, int, size_t) {
  return call([&] { *blocks = 2; });
}

FAKE(cuLaunchKernel, CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
     unsigned blockY, unsigned blockZ, unsigned shared, CUstream stream, void **parameters, void **) {
  return call([&]() -> CUresult {
    ++state.launches;
    if (state.failLaunches)
      return CUresult(int(state.failLaunches));
    Loaded &module = loadedBy(function);
    if (!usable(module))
      return CUDA_ERROR_INVALID_CONTEXT;
    if (!state.capturedStream || stream != state.capturedStream)
      module.launched = synchronised[module.device] + 1;
    if (state.parameterCount == 0)
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
  });
}
