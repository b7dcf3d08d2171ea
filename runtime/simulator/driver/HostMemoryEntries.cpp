// Page-locked, registered and managed host memory, which kernels reach at its own address.
#include "runtime/simulator/driver/State.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

using namespace tessera::sim::driver;

namespace {

/// Beyond each end of host memory that is given out lies this much that faults, so that nothing else is next to it.
constexpr size_t GuardBytes = 1 << 16;

size_t pageBytes() {
  static const size_t bytes = size_t(sysconf(_SC_PAGESIZE));
  return bytes;
}

/// Fresh pages of zeros, given back with the last reference; null when the process has no room for them.
std::shared_ptr<void> mapPages(size_t bytes) {
  if (bytes > SIZE_MAX / 2)
    return nullptr;
  size_t inner = (bytes + pageBytes() - 1) / pageBytes() * pageBytes(), outer = inner + 2 * GuardBytes;
  void *all = mmap(nullptr, outer, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED)
    return nullptr;
  void *begin = static_cast<char *>(all) + GuardBytes;
  if (mprotect(begin, inner, PROT_READ | PROT_WRITE) != 0) {
    munmap(all, outer);
    return nullptr;
  }
  return std::shared_ptr<void>(begin, [all, outer](void *) { munmap(all, outer); });
}

/// Whether the process has memory at every byte of the range.
bool isMapped(uintptr_t begin, size_t bytes) {
  constexpr size_t step = 1 << 16; // pages at a time
  std::vector<unsigned char> resident(step);
  uintptr_t page = begin / pageBytes() * pageBytes();
  uintptr_t last = (begin + bytes - 1) / pageBytes() * pageBytes();
  for (; page <= last; page += step * pageBytes()) {
    size_t count = std::min(step, (last - page) / pageBytes() + 1);
    if (mincore(reinterpret_cast<void *>(page), count * pageBytes(), resident.data()) != 0)
      return false;
    if (last - page < step * pageBytes())
      break;
  }
  return true;
}

HostRange rangeIn(const Context &context, size_t bytes, HostKind kind, unsigned flags) {
  HostRange range;
  range.bytes = bytes;
  range.kind = kind;
  range.flags = flags;
  range.context = context.handle;
  range.contextId = context.id;
  range.ordinal = context.device.ordinal;
  return range;
}

CUresult allocate(Context &context, void **pointer, size_t bytes, HostKind kind, unsigned flags) {
  HostRange range = rangeIn(context, bytes, kind, flags);
  range.pages = mapPages(bytes);
  if (!range.pages)
    return CUDA_ERROR_OUT_OF_MEMORY;
  void *begin = range.pages.get();
  if (CUresult result = adoptHostRange(begin, std::move(range)); result != CUDA_SUCCESS)
    return result;
  *pointer = begin;
  return CUDA_SUCCESS;
}

bool isKnown(const CUmemLocation &location) {
  switch (location.type) {
  case CU_MEM_LOCATION_TYPE_DEVICE:
    return findDevice(location.id) != nullptr;
  case CU_MEM_LOCATION_TYPE_HOST:
  case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
    return true;
  case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    return location.id == 0;
  default:
    return false;
  }
}

/// Runs the body with the managed range that holds all of [address, address + bytes), under the mutex of the ranges.
template <typename Body> CUresult withManaged(CUdeviceptr address, size_t bytes, Body body) {
  std::lock_guard lock(state().hostMutex);
  auto above = state().hostRanges.upper_bound(address);
  if (above == state().hostRanges.begin())
    return CUDA_ERROR_INVALID_VALUE;
  auto &[begin, range] = *std::prev(above);
  if (range.kind != HostKind::Managed || bytes == 0 || address - begin >= range.bytes ||
      bytes > range.bytes - (address - begin))
    return CUDA_ERROR_INVALID_VALUE;
  return body(range);
}

CUresult rangeAttribute(void *data, size_t dataBytes, CUmem_range_attribute attribute, const HostRange &range) {
  auto *numbers = static_cast<int *>(data);
  if (!data || dataBytes < sizeof(int) || dataBytes % sizeof(int))
    return CUDA_ERROR_INVALID_VALUE;
  if (attribute != CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY && dataBytes != sizeof(int))
    return CUDA_ERROR_INVALID_VALUE;
  // The older pair tells device and host apart by the number, the newer ones have a type for that.
  auto older = [](const CUmemLocation &location) {
    return location.type == CU_MEM_LOCATION_TYPE_DEVICE ? location.id
           : location.type == CU_MEM_LOCATION_TYPE_HOST ? int(CU_DEVICE_CPU)
                                                        : int(CU_DEVICE_INVALID);
  };
  switch (attribute) {
  case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
    *numbers = range.readMostly;
    return CUDA_SUCCESS;
  case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
    *numbers = older(range.preferred);
    return CUDA_SUCCESS;
  case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
    *numbers = older(range.prefetched);
    return CUDA_SUCCESS;
  case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
    *numbers = range.preferred.type;
    return CUDA_SUCCESS;
  case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
    *numbers = range.preferred.id;
    return CUDA_SUCCESS;
  case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
    *numbers = range.prefetched.type;
    return CUDA_SUCCESS;
  case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
    *numbers = range.prefetched.id;
    return CUDA_SUCCESS;
  case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY: {
    size_t count = dataBytes / sizeof(int), next = 0;
    for (int id : range.accessedBy)
      if (next < count)
        numbers[next++] = id;
    std::fill(numbers + next, numbers + count, int(CU_DEVICE_INVALID));
    return CUDA_SUCCESS;
  }
  default:
    return CUDA_ERROR_INVALID_VALUE;
  }
}

} // namespace

extern "C" {

CUresult cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags) {
  return inContext([&](std::shared_ptr<Context> &context) -> CUresult {
    constexpr unsigned known = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
    if (!pointer || bytes == 0 || (flags & ~known))
      return CUDA_ERROR_INVALID_VALUE;
    if (CUresult result = refuseDuringCapture(); result != CUDA_SUCCESS)
      return result;
    return allocate(*context, pointer, bytes, HostKind::Allocated, flags);
  });
}

CUresult cuMemAllocHost_v2(void **pointer, size_t bytes) { return cuMemHostAlloc(pointer, bytes, 0); }

CUresult cuMemFreeHost(void *pointer) {
  return inContext([&](std::shared_ptr<Context> &) -> CUresult {
    if (CUresult result = refuseDuringCapture(); result != CUDA_SUCCESS)
      return result;
    return releaseHostRange(pointer, HostKind::Allocated) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuMemHostRegister_v2(void *pointer, size_t bytes, unsigned flags) {
  return inContext([&](std::shared_ptr<Context> &context) -> CUresult {
    constexpr unsigned known = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                               CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;
    auto begin = reinterpret_cast<uintptr_t>(pointer);
    if (!pointer || bytes == 0 || bytes > UINTPTR_MAX - begin || (flags & ~known))
      return CUDA_ERROR_INVALID_VALUE;
    if (flags & (CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY))
      return CUDA_ERROR_NOT_SUPPORTED;
    if (CUresult result = refuseDuringCapture(); result != CUDA_SUCCESS)
      return result;
    if (!isMapped(begin, bytes))
      return CUDA_ERROR_INVALID_VALUE;
    return adoptHostRange(pointer, rangeIn(*context, bytes, HostKind::Registered, flags));
  });
}

CUresult cuMemHostUnregister(void *pointer) {
  return inContext([&](std::shared_ptr<Context> &) -> CUresult {
    if (!pointer)
      return CUDA_ERROR_INVALID_VALUE;
    if (CUresult result = refuseDuringCapture(); result != CUDA_SUCCESS)
      return result;
    return releaseHostRange(pointer, HostKind::Registered) ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  });
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *address, void *pointer, unsigned flags) {
  return inContext([&](std::shared_ptr<Context> &) -> CUresult {
    auto range = findHostRange(reinterpret_cast<uintptr_t>(pointer));
    if (!address || flags != 0 || !range || range->second.kind == HostKind::Managed)
      return CUDA_ERROR_INVALID_VALUE;
    *address = reinterpret_cast<CUdeviceptr>(pointer);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemHostGetFlags(unsigned *flags, void *pointer) {
  return inContext([&](std::shared_ptr<Context> &) -> CUresult {
    auto range = findHostRange(reinterpret_cast<uintptr_t>(pointer));
    if (!flags || !range || range->second.kind != HostKind::Allocated)
      return CUDA_ERROR_INVALID_VALUE;
    *flags = range->second.flags;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemAllocManaged(CUdeviceptr *address, size_t bytes, unsigned flags) {
  return inContext([&](std::shared_ptr<Context> &context) -> CUresult {
    if (!address || bytes == 0 || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
      return CUDA_ERROR_INVALID_VALUE;
    if (CUresult result = refuseDuringCapture(); result != CUDA_SUCCESS)
      return result;
    void *begin = nullptr;
    CUresult result = allocate(*context, &begin, bytes, HostKind::Managed, flags);
    if (result == CUDA_SUCCESS)
      *address = reinterpret_cast<CUdeviceptr>(begin);
    return result;
  });
}

CUresult cuMemAdvise_v2(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUmemLocation location) {
  return inContext([&](std::shared_ptr<Context> &) -> CUresult {
    bool needsLocation = advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION || advice == CU_MEM_ADVISE_SET_ACCESSED_BY ||
                         advice == CU_MEM_ADVISE_UNSET_ACCESSED_BY;
    if (needsLocation && !isKnown(location))
      return CUDA_ERROR_INVALID_DEVICE;
    return withManaged(address, bytes, [&](HostRange &range) -> CUresult {
      int accessor = location.type == CU_MEM_LOCATION_TYPE_DEVICE ? location.id : int(CU_DEVICE_CPU);
      switch (advice) {
      case CU_MEM_ADVISE_SET_READ_MOSTLY:
      case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
        range.readMostly = advice == CU_MEM_ADVISE_SET_READ_MOSTLY;
        return CUDA_SUCCESS;
      case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
        range.preferred = location;
        return CUDA_SUCCESS;
      case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
        range.preferred = {};
        return CUDA_SUCCESS;
      case CU_MEM_ADVISE_SET_ACCESSED_BY:
        range.accessedBy.insert(accessor);
        return CUDA_SUCCESS;
      case CU_MEM_ADVISE_UNSET_ACCESSED_BY:
        range.accessedBy.erase(accessor);
        return CUDA_SUCCESS;
      default:
        return CUDA_ERROR_INVALID_VALUE;
      }
    });
  });
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t bytes, CUmemLocation location, unsigned flags,
                               CUstream handle) {
  return inStream(handle, [&](Context &context, Stream &stream) -> CUresult {
    if (flags != 0)
      return CUDA_ERROR_INVALID_VALUE;
    if (!isKnown(location))
      return CUDA_ERROR_INVALID_DEVICE;
    CUresult result = withManaged(address, bytes, [&](HostRange &range) -> CUresult {
      range.prefetched = location;
      return CUDA_SUCCESS;
    });
    return result == CUDA_SUCCESS ? enqueue(stream, makeWork(context, EmptyWork{})) : result;
  });
}

CUresult cuMemRangeGetAttribute(void *data, size_t dataBytes, CUmem_range_attribute attribute, CUdeviceptr address,
                                size_t bytes) {
  return inContext([&](std::shared_ptr<Context> &) {
    return withManaged(address, bytes,
                       [&](HostRange &range) { return rangeAttribute(data, dataBytes, attribute, range); });
  });
}

CUresult cuMemRangeGetAttributes(void **data, size_t *dataBytes, CUmem_range_attribute *attributes, size_t count,
                                 CUdeviceptr address, size_t bytes) {
  return inContext([&](std::shared_ptr<Context> &) -> CUresult {
    if (!data || !dataBytes || !attributes || count == 0)
      return CUDA_ERROR_INVALID_VALUE;
    return withManaged(address, bytes, [&](HostRange &range) -> CUresult {
      for (size_t i = 0; i < count; ++i)
        if (CUresult result = rangeAttribute(data[i], dataBytes[i], attributes[i], range); result != CUDA_SUCCESS)
          return result;
      return CUDA_SUCCESS;
    });
  });
}

} // extern "C"
