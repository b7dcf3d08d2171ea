// cuMemPool* and stream-ordered allocation.
#include "runtime/simulator/driver/State.h"

#include <algorithm>
#include <cstring>

using namespace tessera::sim;
using namespace tessera::sim::driver;

namespace {

template <typename Body> CUresult withPool(CUmemoryPool handle, Body body) {
  return initialised([&]() -> CUresult {
    std::shared_ptr<Pool> pool = state().pools.find(handle);
    return pool ? body(*pool) : CUDA_ERROR_INVALID_VALUE;
  });
}

CUmemoryPool defaultPool(Device &device) {
  std::lock_guard lock(device.mutex);
  if (!device.defaultPool) {
    CUmemPoolProps properties = {};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device.ordinal};
    device.defaultPool = state().pools.add(std::make_shared<Pool>(device, properties));
  }
  return device.defaultPool;
}

CUmemoryPool currentPool(Device &device) {
  CUmemoryPool handle = defaultPool(device);
  std::lock_guard lock(device.mutex);
  return device.currentPool && state().pools.find(device.currentPool) ? device.currentPool : handle;
}

CUresult allocate(Pool &pool, const std::shared_ptr<Pool> &shared, CUdeviceptr *address, size_t bytes) {
  {
    std::lock_guard lock(pool.mutex);
    if (pool.properties.maxSize &&
        bytes > pool.properties.maxSize - std::min<uint64_t>(pool.used, pool.properties.maxSize))
      return CUDA_ERROR_OUT_OF_MEMORY;
    pool.used += bytes;
    pool.usedHigh = std::max(pool.usedHigh, pool.used);
    pool.reservedHigh = std::max(pool.reservedHigh, pool.used);
  }
  tessera::Result<uint64_t> allocated = pool.device.memory.allocate(bytes);
  if (!allocated) {
    std::lock_guard lock(pool.mutex);
    pool.used -= bytes;
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  std::lock_guard lock(state().poolMutex);
  state().poolAllocations[*allocated] = {shared, bytes};
  *address = *allocated;
  return CUDA_SUCCESS;
}

CUresult allocateIn(CUstream handle, CUmemoryPool poolHandle, CUdeviceptr *address, size_t bytes) {
  return inStream(handle, [&](Context &context, Stream &stream) -> CUresult {
    std::shared_ptr<Pool> pool = state().pools.find(poolHandle ? poolHandle : currentPool(context.device));
    if (!address || bytes == 0 || !pool)
      return CUDA_ERROR_INVALID_VALUE;
    std::lock_guard running(stream.mutex);
    if (stream.capture)
      return CUDA_ERROR_NOT_SUPPORTED; // it would be a memory node
    return allocate(*pool, pool, address, bytes);
  });
}

CUresult poolOf(CUmemoryPool *handle, const CUmemLocation *location, CUmemAllocationType type,
                CUmemoryPool (*which)(Device &)) {
  if (!handle || !location || type != CU_MEM_ALLOCATION_TYPE_PINNED)
    return handle && location && type == CU_MEM_ALLOCATION_TYPE_MANAGED ? CUDA_ERROR_NOT_SUPPORTED
                                                                        : CUDA_ERROR_INVALID_VALUE;
  if (location->type != CU_MEM_LOCATION_TYPE_DEVICE)
    return CUDA_ERROR_NOT_SUPPORTED;
  return withDevice(location->id, [&](Device &device) -> CUresult {
    *handle = which(device);
    return CUDA_SUCCESS;
  });
}

} // namespace

extern "C" {

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *handle, CUdevice ordinal) {
  return withDevice(ordinal, [&](Device &device) -> CUresult {
    if (!handle)
      return CUDA_ERROR_INVALID_VALUE;
    *handle = defaultPool(device);
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetMemPool(CUmemoryPool *handle, CUdevice ordinal) {
  return withDevice(ordinal, [&](Device &device) -> CUresult {
    if (!handle)
      return CUDA_ERROR_INVALID_VALUE;
    *handle = currentPool(device);
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceSetMemPool(CUdevice ordinal, CUmemoryPool handle) {
  return withDevice(ordinal, [&](Device &device) -> CUresult {
    std::shared_ptr<Pool> pool = state().pools.find(handle);
    if (!pool || &pool->device != &device)
      return CUDA_ERROR_INVALID_VALUE;
    std::lock_guard lock(device.mutex);
    device.currentPool = handle;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool *handle, CUmemLocation *location, CUmemAllocationType type) {
  return initialised([&] { return poolOf(handle, location, type, &defaultPool); });
}
CUresult cuMemGetMemPool(CUmemoryPool *handle, CUmemLocation *location, CUmemAllocationType type) {
  return initialised([&] { return poolOf(handle, location, type, &currentPool); });
}
CUresult cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool handle) {
  return initialised([&]() -> CUresult {
    CUmemoryPool former;
    CUresult result = poolOf(&former, location, type, &currentPool);
    return result == CUDA_SUCCESS ? cuDeviceSetMemPool(location->id, handle) : result;
  });
}

CUresult cuMemPoolCreate(CUmemoryPool *handle, const CUmemPoolProps *properties) {
  return initialised([&]() -> CUresult {
    if (!handle || !properties || properties->win32SecurityAttributes)
      return CUDA_ERROR_INVALID_VALUE;
    if (properties->allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
      return properties->allocType == CU_MEM_ALLOCATION_TYPE_MANAGED ? CUDA_ERROR_NOT_SUPPORTED
                                                                     : CUDA_ERROR_INVALID_VALUE;
    if (properties->handleTypes != CU_MEM_HANDLE_TYPE_NONE || properties->usage)
      return CUDA_ERROR_NOT_SUPPORTED;
    if (properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
      return CUDA_ERROR_NOT_SUPPORTED;
    Device *device = findDevice(properties->location.id);
    if (!device)
      return CUDA_ERROR_INVALID_DEVICE;
    *handle = state().pools.add(std::make_shared<Pool>(*device, *properties));
    return CUDA_SUCCESS;
  });
}

/// Memory that is still allocated from it stays until it is freed.
CUresult cuMemPoolDestroy(CUmemoryPool handle) {
  return withPool(handle, [&](Pool &pool) -> CUresult {
    std::lock_guard lock(pool.device.mutex);
    if (handle == pool.device.defaultPool)
      return CUDA_ERROR_INVALID_VALUE;
    if (pool.device.currentPool == handle)
      pool.device.currentPool = nullptr;
    state().pools.remove(handle);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t) {
  return withPool(handle, [](Pool &) { return CUDA_SUCCESS; }); // freed memory is not kept
}

CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void *value) {
  return withPool(handle, [&](Pool &pool) -> CUresult {
    if (!value)
      return CUDA_ERROR_INVALID_VALUE;
    std::lock_guard lock(pool.mutex);
    auto wide = [&](cuuint64_t answer) {
      std::memcpy(value, &answer, sizeof(answer));
      return CUDA_SUCCESS;
    };
    switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      std::memcpy(value, &pool.reuse[attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES], sizeof(int));
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      return wide(pool.releaseThreshold);
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      return wide(pool.used);
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      return wide(pool.reservedHigh);
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      return wide(pool.usedHigh);
    default:
      return CUDA_ERROR_INVALID_VALUE;
    }
  });
}

CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void *value) {
  return withPool(handle, [&](Pool &pool) -> CUresult {
    if (!value)
      return CUDA_ERROR_INVALID_VALUE;
    std::lock_guard lock(pool.mutex);
    int number = 0;
    cuuint64_t wide = 0;
    switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      std::memcpy(&number, value, sizeof(number));
      pool.reuse[attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES] = number != 0;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      std::memcpy(&pool.releaseThreshold, value, sizeof(pool.releaseThreshold));
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      std::memcpy(&wide, value, sizeof(wide));
      if (wide != 0) // marks can be reset only
        return CUDA_ERROR_INVALID_VALUE;
      (attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH ? pool.usedHigh : pool.reservedHigh) = pool.used;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
    }
  });
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool handle, CUmemLocation *location) {
  return withPool(handle, [&](Pool &pool) -> CUresult {
    if (!flags || !location || location->type != CU_MEM_LOCATION_TYPE_DEVICE || !findDevice(location->id))
      return CUDA_ERROR_INVALID_VALUE;
    *flags = location->id == pool.device.ordinal ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return CUDA_SUCCESS;
  });
}

/// A device always reaches its own pools, and never those of another one (there is no access between peers).
CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc *access, size_t count) {
  return withPool(handle, [&](Pool &pool) -> CUresult {
    if (count && !access)
      return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; ++i) {
      bool all = access[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
      if (access[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE || !findDevice(access[i].location.id))
        return CUDA_ERROR_INVALID_VALUE;
      if (all != (access[i].location.id == pool.device.ordinal))
        return CUDA_ERROR_INVALID_DEVICE;
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream stream) {
  return allocateIn(stream, nullptr, address, bytes);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t bytes, CUmemoryPool pool, CUstream stream) {
  return pool ? allocateIn(stream, pool, address, bytes) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream handle) {
  return inStream(handle, [&](Context &, Stream &stream) -> CUresult {
    std::lock_guard running(stream.mutex); // what was enqueued before has run
    if (stream.capture)
      return CUDA_ERROR_NOT_SUPPORTED;
    if (address == 0 || findHostRange(address))
      return CUDA_ERROR_INVALID_VALUE;
    return freeMemory(address);
  });
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice ordinal, CUgraphMem_attribute attribute, void *value) {
  return withDevice(ordinal, [&](Device &) -> CUresult {
    if (!value || attribute < CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT || attribute > CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
      return CUDA_ERROR_INVALID_VALUE;
    std::memset(value, 0, sizeof(cuuint64_t)); // graphs allocate nothing
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceSetGraphMemAttribute(CUdevice ordinal, CUgraphMem_attribute attribute, void *value) {
  return withDevice(ordinal, [&](Device &) -> CUresult {
    cuuint64_t wide = 0;
    if (value)
      std::memcpy(&wide, value, sizeof(wide));
    bool mark = attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH || attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;
    return value && mark && wide == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuDeviceGraphMemTrim(CUdevice ordinal) {
  return withDevice(ordinal, [](Device &) { return CUDA_SUCCESS; });
}

} // extern "C"
