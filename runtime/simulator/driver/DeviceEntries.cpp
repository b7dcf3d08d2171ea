// cuDevice*: what there is and what it says about itself; the answers come from the profile.
#include "runtime/simulator/driver/DeviceAttributes.h"
#include "runtime/simulator/driver/State.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>

using namespace tessera::sim;
using namespace tessera::sim::driver;

namespace {

/// The same in every process: the profile's name, the ordinal, and a mark that no GPU has.
CUuuid uuidOf(const Device &device) {
  CUuuid uuid = {};
  std::memcpy(uuid.bytes, "TSIM", 4);
  size_t length = std::min<size_t>(device.profile.name.size(), 11);
  std::memcpy(uuid.bytes + 4, device.profile.name.data(), length);
  uuid.bytes[15] = char(device.ordinal);
  return uuid;
}

/// Devices are on a bus of their own, in the order of their ordinals.
std::string busIdOf(const Device &device) { return fmt::format("0000:00:{:02X}.0", device.ordinal); }

struct BusId {
  unsigned domain = 0, bus = 0, device = 0, function = 0;
};

/// [domain:]bus:device[.function], in hexadecimal.
std::optional<BusId> parseBusId(std::string_view text) {
  unsigned parts[3] = {}, count = 0, function = 0;
  auto number = [&](unsigned *value) {
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value, 16);
    text.remove_prefix(size_t(end - text.data()));
    return error == std::errc();
  };
  do {
    if (count)
      text.remove_prefix(1);
    if (!number(&parts[count++]))
      return std::nullopt;
  } while (count < 3 && text.starts_with(':'));
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    if (!number(&function))
      return std::nullopt;
  }
  if (count < 2 || !text.empty())
    return std::nullopt;
  return BusId{count == 3 ? parts[0] : 0, parts[count - 2], parts[count - 1], function};
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
    if (!value || !known)
      return CUDA_ERROR_INVALID_VALUE;
    *value = *known;
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

CUresult cuDeviceGetProperties(CUdevprop *properties, CUdevice ordinal) {
  return withDevice(ordinal, [&](Device &device) -> CUresult {
    if (!properties)
      return CUDA_ERROR_INVALID_VALUE;
    auto value = [&](CUdevice_attribute attribute) { return attributeOf(device, attribute).value_or(0); };
    *properties = {value(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
                   {value(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X), value(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y),
                    value(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)},
                   {value(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X), value(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y),
                    value(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)},
                   value(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK),
                   value(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY),
                   value(CU_DEVICE_ATTRIBUTE_WARP_SIZE),
                   value(CU_DEVICE_ATTRIBUTE_MAX_PITCH),
                   value(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK),
                   value(CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
                   value(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT)};
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetPCIBusId(char *text, int length, CUdevice ordinal) {
  return withDevice(ordinal, [&](Device &device) -> CUresult {
    std::string id = busIdOf(device);
    if (!text || length <= int(id.size()))
      return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(text, id.c_str(), id.size() + 1);
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetByPCIBusId(CUdevice *ordinal, const char *text) {
  return initialised([&]() -> CUresult {
    if (!ordinal || !text)
      return CUDA_ERROR_INVALID_VALUE;
    std::optional<BusId> id = parseBusId(text);
    if (!id)
      return CUDA_ERROR_INVALID_VALUE;
    if (id->domain || id->bus || id->function || id->device > INT32_MAX || !findDevice(int(id->device)))
      return CUDA_ERROR_INVALID_DEVICE;
    *ordinal = int(id->device);
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetExecAffinitySupport(int *supported, CUexecAffinityType type, CUdevice ordinal) {
  return withDevice(ordinal, [&](Device &) -> CUresult {
    if (!supported || type < 0 || type >= CU_EXEC_AFFINITY_TYPE_MAX)
      return CUDA_ERROR_INVALID_VALUE;
    *supported = 0;
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

CUresult cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attribute, CUdevice from, CUdevice to) {
  return withDevice(from, [&](Device &) -> CUresult {
    if (!findDevice(to) || from == to)
      return CUDA_ERROR_INVALID_DEVICE;
    if (!value || attribute < CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK ||
        attribute > CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED)
      return CUDA_ERROR_INVALID_VALUE;
    *value = 0;
    return CUDA_SUCCESS;
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
    std::shared_ptr<Context> last;
    {
      std::lock_guard lock(device.mutex);
      if (device.primaryRetains == 0)
        return CUDA_ERROR_INVALID_CONTEXT;
      if (--device.primaryRetains == 0)
        last = std::move(device.primary);
    }
    if (last)
      destroyContext(last);
    return CUDA_SUCCESS;
  });
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice ordinal) {
  return withDevice(ordinal, [&](Device &device) -> CUresult {
    std::shared_ptr<Context> former;
    {
      std::lock_guard lock(device.mutex);
      if (!device.primary)
        return CUDA_SUCCESS;
      former = std::move(device.primary);
      device.primary = makeContext(device, device.primaryHandle, device.primaryFlags);
    }
    destroyContext(former);
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
    std::shared_ptr<Context> active;
    {
      std::lock_guard lock(device.mutex);
      device.primaryFlags = flags;
      active = device.primary;
    }
    if (active) {
      std::lock_guard lock(active->mutex);
      active->flags = flags;
    }
    return CUDA_SUCCESS;
  });
}

} // extern "C"
