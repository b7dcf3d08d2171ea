// cuPointer*: what an address says about itself.
#include "runtime/simulator/driver/State.h"

#include <cstring>

using namespace tessera::sim;
using namespace tessera::sim::driver;

namespace {

template <typename T> CUresult answer(void *data, T value) {
  std::memcpy(data, static_cast<const void *>(&value), sizeof(T));
  return CUDA_SUCCESS;
}

/// What is known of an address that some device reaches.
struct Pointee {
  Device *device = nullptr; ///< that it was allocated or registered on
  Allocation allocation;
  std::optional<HostRange> host; ///< when it is host memory
  CUcontext context = nullptr;
  CUmemoryPool pool = nullptr;
};

std::optional<Pointee> lookUp(Context &current, CUdeviceptr address) {
  Pointee pointee;
  std::tie(pointee.device, pointee.allocation) = findAllocation(current.device, address);
  if (!pointee.device)
    return std::nullopt;
  if (auto range = findHostRange(address)) {
    pointee.host = range->second;
    pointee.context = range->second.context;
    if (Device *device = findDevice(range->second.ordinal))
      pointee.device = device;
    return pointee;
  }
  pointee.context = pointee.device->primaryHandle;
  {
    std::lock_guard lock(state().poolMutex);
    if (auto found = state().poolAllocations.find(pointee.allocation.base); found != state().poolAllocations.end()) {
      pointee.pool = state().pools.handleOf(found->second.first);
      return pointee;
    }
  }
  state().contexts.forEach([&](const std::shared_ptr<Context> &candidate) {
    std::lock_guard lock(candidate->mutex);
    if (candidate->allocations.contains(pointee.allocation.base))
      pointee.context = candidate->handle;
  });
  return pointee;
}

CUresult pointerAttribute(void *data, CUpointer_attribute attribute, const Pointee &pointee, CUdeviceptr address) {
  bool host = pointee.host.has_value(), managed = host && pointee.host->kind == HostKind::Managed;
  switch (attribute) {
  case CU_POINTER_ATTRIBUTE_CONTEXT:
    return answer<CUcontext>(data, pointee.context);
  case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    return answer<unsigned>(data, host && !managed ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
  case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    return answer<CUdeviceptr>(data, address);
  case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    return host ? answer<CUdeviceptr>(data, address) : CUDA_ERROR_INVALID_VALUE;
  case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    // Device addresses and ids of host memory are given out once, and differ in size.
    return answer<unsigned long long>(data, host ? pointee.host->id : pointee.allocation.base);
  case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    return answer<bool>(data, managed);
  case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    return answer<int>(data, pointee.device->ordinal);
  case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
  case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
    return answer<CUdeviceptr>(data, pointee.allocation.base);
  case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
  case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
    return answer<size_t>(data, pointee.allocation.size);
  case CU_POINTER_ATTRIBUTE_MAPPED:
    return answer<bool>(data, true);
  case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
    return answer<unsigned long long>(data, 0);
  case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
    return answer<unsigned>(data, CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
  case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
    return answer<CUmemoryPool>(data, pointee.pool);
  case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: // they always are
    return answer<bool>(data, true);
  case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
  case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
  case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
    return answer<bool>(data, false);
  case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
  case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
    return CUDA_ERROR_NOT_SUPPORTED;
  default:
    return CUDA_ERROR_INVALID_VALUE;
  }
}

size_t attributeBytes(CUpointer_attribute attribute) {
  switch (attribute) {
  case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
  case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
  case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
    return 4;
  case CU_POINTER_ATTRIBUTE_IS_MANAGED:
  case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
  case CU_POINTER_ATTRIBUTE_MAPPED:
  case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
  case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
  case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
    return 1;
  default:
    return 8;
  }
}

} // namespace

extern "C" {

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr address) {
  return inContext([&](std::shared_ptr<Context> &context) -> CUresult {
    std::optional<Pointee> pointee = lookUp(*context, address);
    return data && pointee ? pointerAttribute(data, attribute, *pointee, address) : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute *attributes, void **data, CUdeviceptr address) {
  return inContext([&](std::shared_ptr<Context> &context) -> CUresult {
    if (!attributes || !data || count == 0)
      return CUDA_ERROR_INVALID_VALUE;
    std::optional<Pointee> pointee = lookUp(*context, address);
    for (unsigned i = 0; i < count; ++i) {
      if (!data[i] || attributes[i] < CU_POINTER_ATTRIBUTE_CONTEXT ||
          attributes[i] > CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE)
        return CUDA_ERROR_INVALID_VALUE;
      // Unlike the single form, this one answers what the driver does not know by nothing.
      CUresult result =
          pointee ? pointerAttribute(data[i], attributes[i], *pointee, address) : CUDA_ERROR_INVALID_VALUE;
      if (result == CUDA_ERROR_NOT_SUPPORTED)
        return result;
      if (result == CUDA_SUCCESS)
        continue;
      if (attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
        answer<int>(data[i], CU_DEVICE_INVALID);
      else
        std::memset(data[i], 0, attributeBytes(attributes[i]));
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr address) {
  return inContext([&](std::shared_ptr<Context> &context) -> CUresult {
    bool known = value && attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS; // the one that can be set, and is always so
    return known && lookUp(*context, address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

} // extern "C"
