// cuMemAlloc and its kin, page-locked host memory, and what a pointer says about itself.
#include "runtime/simulator/driver/State.h"

#include <cstdlib>
#include <cstring>

using namespace tessera::sim;
using namespace tessera::sim::driver;

namespace {

CUresult allocate(Context &context, CUdeviceptr *address, size_t bytes) {
  if (!address || bytes == 0)
    return CUDA_ERROR_INVALID_VALUE;
  tessera::Result<uint64_t> allocated = context.device.memory.allocate(bytes);
  if (!allocated)
    return CUDA_ERROR_OUT_OF_MEMORY;
  std::lock_guard lock(context.mutex);
  context.allocations.insert(*allocated);
  *address = *allocated;
  return CUDA_SUCCESS;
}

/// An allocation may be freed from any context of its device.
CUresult release(Context &context, CUdeviceptr address) {
  std::shared_ptr<Context> owner;
  state().contexts.forEach([&](const std::shared_ptr<Context> &candidate) {
    if (&candidate->device != &context.device)
      return;
    std::lock_guard lock(candidate->mutex);
    if (candidate->allocations.erase(address))
      owner = candidate;
  });
  if (!owner)
    return CUDA_ERROR_INVALID_VALUE;
  return context.device.memory.free(address).ok() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/// Page-locked memory that contains the address, as {begin, bytes}; bytes 0: none.
std::pair<uintptr_t, size_t> hostAllocation(uintptr_t address) {
  std::lock_guard lock(state().hostMutex);
  auto above = state().hostAllocations.upper_bound(address);
  if (above == state().hostAllocations.begin())
    return {0, 0};
  auto [begin, bytes] = *std::prev(above);
  return address - begin < bytes ? std::pair{begin, bytes} : std::pair<uintptr_t, size_t>{0, 0};
}

/// The device whose live allocation contains the address, with that allocation.
std::pair<Device *, Allocation> deviceAllocation(CUdeviceptr address) {
  std::shared_lock lock(state().devicesMutex);
  for (const auto &device : state().devices)
    if (std::optional<Allocation> found = device->memory.find(address); found && found->live)
      return {device.get(), *found};
  return {nullptr, {}};
}

template <typename T> CUresult answer(void *data, T value) {
  std::memcpy(data, static_cast<const void *>(&value), sizeof(T));
  return CUDA_SUCCESS;
}

CUresult pointerAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr address) {
  if (!data)
    return CUDA_ERROR_INVALID_VALUE;
  auto [device, allocation] = deviceAllocation(address);
  auto [hostBegin, hostBytes] = device ? std::pair<uintptr_t, size_t>{0, 0} : hostAllocation(address);
  if (!device && hostBytes == 0)
    return CUDA_ERROR_INVALID_VALUE;
  switch (attribute) {
  case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    return answer<unsigned>(data, device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST);
  case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    return device ? answer<CUdeviceptr>(data, address) : CUDA_ERROR_INVALID_VALUE;
  case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    return device ? CUDA_ERROR_INVALID_VALUE : answer<void *>(data, reinterpret_cast<void *>(address));
  case CU_POINTER_ATTRIBUTE_CONTEXT:
    return answer<CUcontext>(data, device ? device->primaryHandle : nullptr);
  case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    return answer<int>(data, device ? device->ordinal : 0);
  case CU_POINTER_ATTRIBUTE_IS_MANAGED:
  case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    return answer<bool>(data, false);
  case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    return answer<CUdeviceptr>(data, device ? allocation.base : hostBegin);
  case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    return answer<size_t>(data, device ? allocation.size : hostBytes);
  case CU_POINTER_ATTRIBUTE_MAPPED:
    return answer<bool>(data, device != nullptr);
  default:
    return CUDA_ERROR_NOT_SUPPORTED;
  }
}

size_t attributeBytes(CUpointer_attribute attribute) {
  switch (attribute) {
  case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
  case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    return 4;
  case CU_POINTER_ATTRIBUTE_IS_MANAGED:
  case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
  case CU_POINTER_ATTRIBUTE_MAPPED:
    return 1;
  default:
    return 8;
  }
}

} // namespace

extern "C" {

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
  return inContext([&](std::shared_ptr<Context> &context) -> CUresult {
    if (CUresult result = refuseDuringCapture(); result != CUDA_SUCCESS)
      return result;
    return allocate(*context, address, bytes);
  });
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *address, size_t *pitch, size_t width, size_t height, unsigned elementBytes) {
  return inContext([&](std::shared_ptr<Context> &context) -> CUresult {
    constexpr size_t pitchStep = 512;
    if (!pitch || width == 0 || height == 0 || width > SIZE_MAX - pitchStep ||
        (elementBytes != 4 && elementBytes != 8 && elementBytes != 16))
      return CUDA_ERROR_INVALID_VALUE;
    if (CUresult result = refuseDuringCapture(); result != CUDA_SUCCESS)
      return result;
    size_t row = (width + pitchStep - 1) / pitchStep * pitchStep;
    if (height > SIZE_MAX / row)
      return CUDA_ERROR_OUT_OF_MEMORY;
    *pitch = row;
    return allocate(*context, address, row * height);
  });
}

CUresult cuMemFree_v2(CUdeviceptr address) {
  return inContext([&](std::shared_ptr<Context> &context) -> CUresult {
    if (address == 0)
      return CUDA_SUCCESS;
    if (CUresult result = refuseDuringCapture(); result != CUDA_SUCCESS)
      return result;
    return release(*context, address);
  });
}

CUresult cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream handle) {
  return inStream(handle, [&](Context &context, Stream &stream) -> CUresult {
    std::lock_guard running(stream.mutex);
    if (stream.capture)
      return CUDA_ERROR_NOT_SUPPORTED;
    return allocate(context, address, bytes);
  });
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream handle) {
  return inStream(handle, [&](Context &context, Stream &stream) -> CUresult {
    std::lock_guard running(stream.mutex); // what was enqueued before has run
    if (stream.capture)
      return CUDA_ERROR_NOT_SUPPORTED;
    return address == 0 ? CUDA_ERROR_INVALID_VALUE : release(context, address);
  });
}

CUresult cuMemGetInfo_v2(size_t *free, size_t *total) {
  return inContext([&](std::shared_ptr<Context> &context) -> CUresult {
    const GlobalMemory &memory = context->device.memory;
    if (free)
      *free = memory.capacity() - memory.bytesInUse();
    if (total)
      *total = memory.capacity();
    return CUDA_SUCCESS;
  });
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr address) {
  return inContext([&](std::shared_ptr<Context> &) -> CUresult {
    auto [device, allocation] = deviceAllocation(address);
    if (!device)
      return CUDA_ERROR_NOT_FOUND;
    if (base)
      *base = allocation.base;
    if (bytes)
      *bytes = allocation.size;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags) {
  return inContext([&](std::shared_ptr<Context> &) -> CUresult {
    if (!pointer || bytes == 0 ||
        (flags & ~unsigned(CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED)))
      return CUDA_ERROR_INVALID_VALUE;
    if (CUresult result = refuseDuringCapture(); result != CUDA_SUCCESS)
      return result;
    constexpr size_t page = 4096;
    if (bytes > SIZE_MAX - page)
      return CUDA_ERROR_OUT_OF_MEMORY;
    void *memory = std::aligned_alloc(page, (bytes + page - 1) / page * page);
    if (!memory)
      return CUDA_ERROR_OUT_OF_MEMORY;
    std::lock_guard lock(state().hostMutex);
    state().hostAllocations[reinterpret_cast<uintptr_t>(memory)] = bytes;
    *pointer = memory;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemAllocHost_v2(void **pointer, size_t bytes) { return cuMemHostAlloc(pointer, bytes, 0); }

CUresult cuMemFreeHost(void *pointer) {
  return inContext([&](std::shared_ptr<Context> &) -> CUresult {
    if (CUresult result = refuseDuringCapture(); result != CUDA_SUCCESS)
      return result;
    {
      std::lock_guard lock(state().hostMutex);
      if (!state().hostAllocations.erase(reinterpret_cast<uintptr_t>(pointer)))
        return CUDA_ERROR_INVALID_VALUE;
    }
    std::free(pointer);
    return CUDA_SUCCESS;
  });
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr address) {
  return inContext([&](std::shared_ptr<Context> &) -> CUresult { return pointerAttribute(data, attribute, address); });
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute *attributes, void **data, CUdeviceptr address) {
  return inContext([&](std::shared_ptr<Context> &) -> CUresult {
    if (!attributes || !data || count == 0)
      return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; ++i) {
      if (!data[i])
        return CUDA_ERROR_INVALID_VALUE;
      CUresult result = pointerAttribute(data[i], attributes[i], address);
      if (result == CUDA_ERROR_NOT_SUPPORTED)
        return result;
      // Unlike the single form, this one answers what the driver does not know by zeros.
      if (result != CUDA_SUCCESS)
        std::memset(data[i], 0, attributeBytes(attributes[i]));
    }
    return CUDA_SUCCESS;
  });
}

} // extern "C"
