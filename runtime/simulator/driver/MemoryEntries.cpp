// cuMemAlloc and its kin: device memory, and what is there of it.
#include "runtime/simulator/driver/State.h"

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
  return inContext([&](std::shared_ptr<Context> &) -> CUresult {
    if (address == 0)
      return CUDA_SUCCESS;
    if (CUresult result = refuseDuringCapture(); result != CUDA_SUCCESS)
      return result;
    return freeMemory(address);
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
  return inContext([&](std::shared_ptr<Context> &context) -> CUresult {
    auto [device, allocation] = findAllocation(context->device, address);
    if (!device)
      return CUDA_ERROR_NOT_FOUND;
    if (base)
      *base = allocation.base;
    if (bytes)
      *bytes = allocation.size;
    return CUDA_SUCCESS;
  });
}

CUresult cuFlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget target, CUflushGPUDirectRDMAWritesScope scope) {
  return inContext([&](std::shared_ptr<Context> &) -> CUresult {
    if (target != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX ||
        (scope != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER && scope != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES))
      return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
  });
}

} // extern "C"
