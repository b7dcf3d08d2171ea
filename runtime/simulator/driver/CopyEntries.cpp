// cuMemcpy* and cuMemset*: ranges are checked at the call, bytes move when the stream gets there.
#include "runtime/simulator/driver/Model.h"
#include "runtime/simulator/driver/State.h"

#include <cstring>

using namespace tessera::sim;
using namespace tessera::sim::driver;

namespace {

/// One end of a copy: device memory when `device` is set, else host memory.
struct End {
  Device *device = nullptr;
  CUdeviceptr address = 0;

  /// Whether all of the range may be accessed; host memory is the caller's business.
  bool holds(size_t bytes) const {
    if (!device)
      return address != 0;
    std::optional<Allocation> found = device->memory.find(address);
    return found && found->live && bytes <= found->size - (address - found->base);
  }
};

End onDevice(Context &context, CUdeviceptr address) {
  // Unified addressing: the address alone tells its device, whatever context is current.
  if (!context.device.memory.find(address)) {
    std::shared_lock lock(state().devicesMutex);
    for (const auto &device : state().devices)
      if (device->memory.find(address))
        return {device.get(), address};
  }
  return {&context.device, address};
}
End onHost(const void *address) { return {nullptr, reinterpret_cast<CUdeviceptr>(address)}; }

/// Where cuMemcpy, which is told no direction, finds an address.
End anywhere(Context &context, CUdeviceptr address) {
  End end = onDevice(context, address);
  return end.device->memory.find(address) ? end : onHost(reinterpret_cast<const void *>(address));
}

tessera::Status move(const End &to, const End &from, size_t bytes) {
  if (to.device && from.device == to.device)
    return to.device->memory.copy(to.address, from.address, bytes);
  if (to.device && from.device) {
    std::vector<std::byte> staged(bytes);
    if (tessera::Status status = from.device->memory.read(from.address, staged.data(), bytes); !status)
      return status;
    return to.device->memory.write(to.address, staged.data(), bytes);
  }
  if (to.device)
    return to.device->memory.write(to.address, reinterpret_cast<const void *>(from.address), bytes);
  if (from.device)
    return from.device->memory.read(from.address, reinterpret_cast<void *>(to.address), bytes);
  std::memmove(reinterpret_cast<void *>(to.address), reinterpret_cast<const void *>(from.address), bytes);
  return {};
}

CUresult copy(Context &context, Stream &stream, End to, End from, size_t bytes) {
  if (bytes == 0)
    return CUDA_SUCCESS;
  if (!to.holds(bytes) || !from.holds(bytes))
    return CUDA_ERROR_INVALID_VALUE;
  const DeviceProfile &profile = context.device.profile;
  double nanoseconds = copyNanoseconds(profile, bytes, to.device && from.device);
  return enqueue(context, stream, [=]() -> Outcome {
    // The range was sound when enqueued; an allocation freed since then faults like any access to it.
    return {move(to, from, bytes).ok() ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS, nanoseconds, false};
  });
}

/// Blocking forms: in the default stream, then wait for it.
template <typename Ends> CUresult blocking(size_t bytes, Ends ends) {
  return inContext([&](std::shared_ptr<Context> &context) -> CUresult {
    if (CUresult result = refuseDuringCapture(); result != CUDA_SUCCESS)
      return result;
    auto [to, from] = ends(*context);
    if (CUresult result = copy(*context, *context->legacy, to, from, bytes); result != CUDA_SUCCESS)
      return result;
    return waitFor(*context, *context->legacy);
  });
}

template <typename Ends> CUresult streamed(size_t bytes, CUstream handle, Ends ends) {
  return inStream(handle, [&](Context &context, Stream &stream) -> CUresult {
    auto [to, from] = ends(context);
    return copy(context, stream, to, from, bytes);
  });
}

struct Ends {
  End to, from;
};

CUresult fill(Context &context, Stream &stream, CUdeviceptr address, uint32_t pattern, unsigned patternBytes,
              size_t count) {
  if (count == 0)
    return CUDA_SUCCESS;
  if (address % patternBytes != 0 || count > SIZE_MAX / patternBytes)
    return CUDA_ERROR_INVALID_VALUE;
  End to = onDevice(context, address);
  if (!to.holds(count * patternBytes))
    return CUDA_ERROR_INVALID_VALUE;
  double nanoseconds = copyNanoseconds(context.device.profile, count * patternBytes, true);
  return enqueue(context, stream, [=]() -> Outcome {
    bool done = to.device->memory.fill(address, pattern, patternBytes, count).ok();
    return {done ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS, nanoseconds, false};
  });
}

/// Unlike copies, the forms without a stream are asynchronous too: they go to the default stream.
CUresult fillDefault(CUdeviceptr address, uint32_t pattern, unsigned patternBytes, size_t count) {
  return inContext([&](std::shared_ptr<Context> &context) -> CUresult {
    if (CUresult result = refuseDuringCapture(); result != CUDA_SUCCESS)
      return result;
    return fill(*context, *context->legacy, address, pattern, patternBytes, count);
  });
}

CUresult fillStreamed(CUdeviceptr address, uint32_t pattern, unsigned patternBytes, size_t count, CUstream handle) {
  return inStream(handle, [&](Context &context, Stream &stream) -> CUresult {
    return fill(context, stream, address, pattern, patternBytes, count);
  });
}

} // namespace

extern "C" {

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
  return blocking(bytes, [&](Context &context) { return Ends{onDevice(context, to), onHost(from)}; });
}
CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
  return blocking(bytes, [&](Context &context) { return Ends{onHost(to), onDevice(context, from)}; });
}
CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return blocking(bytes, [&](Context &context) { return Ends{onDevice(context, to), onDevice(context, from)}; });
}
CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return blocking(bytes, [&](Context &context) { return Ends{anywhere(context, to), anywhere(context, from)}; });
}
CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t bytes) {
  return cuMemcpyDtoD_v2(to, from, bytes);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
  return streamed(bytes, stream, [&](Context &context) { return Ends{onDevice(context, to), onHost(from)}; });
}
CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return streamed(bytes, stream, [&](Context &context) { return Ends{onHost(to), onDevice(context, from)}; });
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return streamed(bytes, stream,
                  [&](Context &context) { return Ends{onDevice(context, to), onDevice(context, from)}; });
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return streamed(bytes, stream,
                  [&](Context &context) { return Ends{anywhere(context, to), anywhere(context, from)}; });
}
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t bytes, CUstream stream) {
  return cuMemcpyDtoDAsync_v2(to, from, bytes, stream);
}

CUresult cuMemsetD8_v2(CUdeviceptr address, unsigned char value, size_t count) {
  return fillDefault(address, value, 1, count);
}
CUresult cuMemsetD16_v2(CUdeviceptr address, unsigned short value, size_t count) {
  return fillDefault(address, value, 2, count);
}
CUresult cuMemsetD32_v2(CUdeviceptr address, unsigned value, size_t count) {
  return fillDefault(address, value, 4, count);
}
CUresult cuMemsetD8Async(CUdeviceptr address, unsigned char value, size_t count, CUstream stream) {
  return fillStreamed(address, value, 1, count, stream);
}
CUresult cuMemsetD16Async(CUdeviceptr address, unsigned short value, size_t count, CUstream stream) {
  return fillStreamed(address, value, 2, count, stream);
}
CUresult cuMemsetD32Async(CUdeviceptr address, unsigned value, size_t count, CUstream stream) {
  return fillStreamed(address, value, 4, count, stream);
}

} // extern "C"
