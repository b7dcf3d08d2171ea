// cuDevice*: what there is and what it says about itself; the answers come from the profile.
#include "runtime/simulator/driver/State.h"

#include <algorithm>
#include <cstring>
#include <optional>

using namespace tessera::sim;
using namespace tessera::sim::driver;

namespace {

/// Nothing for attributes that no simulated device has a meaning for.
std::optional<int> attributeOf(const Device &device, CUdevice_attribute attribute) {
  const DeviceProfile &profile = device.profile;
  const DeviceLimits &limits = profile.limits;
  bool hopper = profile.major >= 9;
  switch (attribute) {
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    return profile.major;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    return profile.minor;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    return profile.smCount;
  case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
    return 32;
  case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
    return int(profile.rates.clockMHz * 1000);
  case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
    return int(profile.l2Bytes);
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
    return limits.threadsPerBlock;
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
    return 64;
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
    return INT32_MAX;
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
    return 65535;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
    return limits.sharedBytesPerBlockDefault;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
    return limits.sharedBytesPerBlock;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
    return limits.sharedBytesPerSm;
  case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK:
    return limits.sharedBytesReservedPerBlock;
  case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
    return limits.registersPerBlock;
  case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
    return limits.registersPerSm;
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
    return limits.warpsPerSm * 32;
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
    return limits.blocksPerSm;
  case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY:
    return 65536;
  case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH:
  case CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED:
    return hopper;
  case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
  case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
  case CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
    return 1;
  case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID:
    return device.ordinal;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_MODE:
  case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
  case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID:
  case CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT:
  case CU_DEVICE_ATTRIBUTE_INTEGRATED:
  case CU_DEVICE_ATTRIBUTE_ECC_ENABLED:
  case CU_DEVICE_ATTRIBUTE_TCC_DRIVER:
  case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
  case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
  case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
  case CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS:
  case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
  case CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD:
  case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
    return 0;
  default:
    return std::nullopt;
  }
}

/// The same in every process: the profile's name, the ordinal, and a mark that no GPU has.
CUuuid uuidOf(const Device &device) {
  CUuuid uuid = {};
  std::memcpy(uuid.bytes, "TSIM", 4);
  size_t length = std::min<size_t>(device.profile.name.size(), 11);
  std::memcpy(uuid.bytes + 4, device.profile.name.data(), length);
  uuid.bytes[15] = char(device.ordinal);
  return uuid;
}

} // namespace

extern "C" {

CUresult cuDeviceGetCount(int *count) {
  return initialised([&]() -> CUresult {
    if (!count)
      return CUDA_ERROR_INVALID_VALUE;
    std::shared_lock lock(state().devicesMutex);
    *count = int(state().devices.size());
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  return withDevice(ordinal, [&](Device &) -> CUresult {
    if (!device)
      return CUDA_ERROR_INVALID_VALUE;
    *device = ordinal;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetName(char *name, int length, CUdevice ordinal) {
  return withDevice(ordinal, [&](Device &device) -> CUresult {
    if (!name || length <= 0)
      return CUDA_ERROR_INVALID_VALUE;
    size_t written = device.profile.product.copy(name, size_t(length) - 1);
    name[written] = '\0';
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice ordinal) {
  return withDevice(ordinal, [&](Device &device) -> CUresult {
    if (!uuid)
      return CUDA_ERROR_INVALID_VALUE;
    *uuid = uuidOf(device);
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice ordinal) {
  return withDevice(ordinal, [&](Device &device) -> CUresult {
    if (!bytes)
      return CUDA_ERROR_INVALID_VALUE;
    *bytes = device.memory.capacity();
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice ordinal) {
  return withDevice(ordinal, [&](Device &device) -> CUresult {
    std::optional<int> known = attributeOf(device, attribute);
    if (!value || attribute <= 0 || attribute >= CU_DEVICE_ATTRIBUTE_MAX)
      return CUDA_ERROR_INVALID_VALUE;
    // A property that the simulator does not model is one that its devices do not have.
    *value = known.value_or(0);
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice ordinal) {
  return withDevice(ordinal, [&](Device &device) -> CUresult {
    if (!major || !minor)
      return CUDA_ERROR_INVALID_VALUE;
    *major = int(device.profile.major);
    *minor = int(device.profile.minor);
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice ordinal, CUdevice peer) {
  return withDevice(ordinal, [&](Device &) -> CUresult {
    if (!can)
      return CUDA_ERROR_INVALID_VALUE;
    *can = 0;
    return findDevice(peer) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
  });
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *handle, CUdevice ordinal) {
  return withDevice(ordinal, [&](Device &device) -> CUresult {
    if (!handle)
      return CUDA_ERROR_INVALID_VALUE;
    std::lock_guard lock(device.mutex);
    if (!device.primary)
      device.primary = makeContext(device, device.primaryHandle, device.primaryFlags);
    ++device.primaryRetains;
    *handle = device.primaryHandle;
    return CUDA_SUCCESS;
  });
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice ordinal) {
  return withDevice(ordinal, [&](Device &device) -> CUresult {
    std::shared_ptr<Context> last; // dies after the lock is gone
    std::lock_guard lock(device.mutex);
    if (device.primaryRetains == 0)
      return CUDA_ERROR_INVALID_CONTEXT;
    if (--device.primaryRetains == 0) {
      last = std::move(device.primary);
      destroyContext(device.primaryHandle);
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice ordinal) {
  return withDevice(ordinal, [&](Device &device) -> CUresult {
    std::shared_ptr<Context> former; // dies after the lock is gone
    std::lock_guard lock(device.mutex);
    if (!device.primary)
      return CUDA_SUCCESS;
    former = std::move(device.primary);
    destroyContext(device.primaryHandle);
    device.primary = makeContext(device, device.primaryHandle, device.primaryFlags);
    return CUDA_SUCCESS;
  });
}

CUresult cuDevicePrimaryCtxGetState(CUdevice ordinal, unsigned *flags, int *active) {
  return withDevice(ordinal, [&](Device &device) -> CUresult {
    if (!flags || !active)
      return CUDA_ERROR_INVALID_VALUE;
    std::lock_guard lock(device.mutex);
    *flags = device.primaryFlags;
    *active = device.primary != nullptr;
    return CUDA_SUCCESS;
  });
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice ordinal, unsigned flags) {
  return withDevice(ordinal, [&](Device &device) -> CUresult {
    if (flags & ~unsigned(CU_CTX_FLAGS_MASK))
      return CUDA_ERROR_INVALID_VALUE;
    std::lock_guard lock(device.mutex);
    device.primaryFlags = flags;
    return CUDA_SUCCESS;
  });
}

} // extern "C"
