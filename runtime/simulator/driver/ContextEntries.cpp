// cuCtx*: the current context of a thread, contexts of the caller's own, their settings, and waiting for all of one.
#include "runtime/simulator/driver/State.h"

#include <algorithm>
#include <optional>

using namespace tessera::sim;
using namespace tessera::sim::driver;

namespace {

/// The context of a handle, or the current one for null; it must be free of sticky errors.
template <typename Body> CUresult inContextOf(CUcontext handle, Body body) {
  if (!handle)
    return inContext(body);
  return initialised([&]() -> CUresult {
    std::shared_ptr<Context> context = state().contexts.find(handle);
    if (!context)
      return CUDA_ERROR_INVALID_CONTEXT;
    if (CUresult error = context->stickyError(); error != CUDA_SUCCESS)
      return error;
    return body(context);
  });
}

/// All streams of a context, its default ones first.
std::vector<std::shared_ptr<Stream>> streamsOf(const std::shared_ptr<Context> &context) {
  std::vector<std::shared_ptr<Stream>> streams = {context->legacy};
  {
    std::lock_guard lock(context->mutex);
    for (const auto &entry : context->perThread)
      streams.push_back(entry.second);
  }
  state().streams.forEach([&](const std::shared_ptr<Stream> &stream) {
    if (stream->context.lock() == context)
      streams.push_back(stream);
  });
  return streams;
}

CUresult synchronise(const std::shared_ptr<Context> &context) {
  if (CUresult result = refuseDuringCapture(); result != CUDA_SUCCESS)
    return result;
  for (const std::shared_ptr<Stream> &stream : streamsOf(context))
    if (CUresult result = waitFor(*context, *stream); result != CUDA_SUCCESS)
      return result;
  return CUDA_SUCCESS;
}

/// What a limit is before it was set; nullopt for those that no simulated device has.
std::optional<size_t> initialLimit(CUlimit limit, const DeviceProfile &profile) {
  switch (limit) {
  case CU_LIMIT_STACK_SIZE:
    return 1024;
  case CU_LIMIT_PRINTF_FIFO_SIZE:
    return 1 << 20;
  case CU_LIMIT_MALLOC_HEAP_SIZE:
    return 8 << 20;
  case CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT:
    return 2048;
  case CU_LIMIT_MAX_L2_FETCH_GRANULARITY:
    return 64;
  case CU_LIMIT_PERSISTING_L2_CACHE_SIZE:
  case CU_LIMIT_CIG_ENABLED:
  case CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED:
    return 0;
  case CU_LIMIT_SHMEM_SIZE:
    return profile.limits.sharedBytesPerBlock;
  default:
    return std::nullopt;
  }
}

CUresult create(CUcontext *handle, unsigned flags, CUdevice ordinal) {
  return withDevice(ordinal, [&](Device &device) -> CUresult {
    if (!handle || (flags & ~unsigned(CU_CTX_FLAGS_MASK)))
      return CUDA_ERROR_INVALID_VALUE;
    CUcontext fresh = reinterpret_cast<CUcontext>(freshHandle());
    makeContext(device, fresh, flags);
    contextStack().push_back(fresh);
    *handle = fresh;
    return CUDA_SUCCESS;
  });
}

} // namespace

extern "C" {

CUresult cuCtxGetCurrent(CUcontext *handle) {
  return initialised([&]() -> CUresult {
    if (!handle)
      return CUDA_ERROR_INVALID_VALUE;
    const std::vector<CUcontext> &stack = contextStack();
    *handle = stack.empty() ? nullptr : stack.back();
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSetCurrent(CUcontext handle) {
  return initialised([&]() -> CUresult {
    std::vector<CUcontext> &stack = contextStack();
    if (handle && !state().contexts.find(handle))
      return CUDA_ERROR_INVALID_CONTEXT;
    if (!stack.empty())
      stack.pop_back();
    if (handle)
      stack.push_back(handle);
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxPushCurrent_v2(CUcontext handle) {
  return initialised([&]() -> CUresult {
    if (!state().contexts.find(handle))
      return CUDA_ERROR_INVALID_CONTEXT;
    contextStack().push_back(handle);
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxPopCurrent_v2(CUcontext *handle) {
  return initialised([&]() -> CUresult {
    std::vector<CUcontext> &stack = contextStack();
    if (stack.empty())
      return CUDA_ERROR_INVALID_CONTEXT;
    if (handle)
      *handle = stack.back();
    stack.pop_back();
    return CUDA_SUCCESS;
  });
}

// cuda.h of CUDA 13 does not declare these forms any more, but programs built with an older one ask for them.
__attribute__((visibility("default"))) CUresult cuCtxCreate_v2(CUcontext *handle, unsigned flags, CUdevice ordinal) {
  return create(handle, flags, ordinal);
}
__attribute__((visibility("default"))) CUresult cuCtxCreate_v3(CUcontext *handle, CUexecAffinityParam *affinity,
                                                               int count, unsigned flags, CUdevice ordinal) {
  if (count < 0 || (count && !affinity))
    return CUDA_ERROR_INVALID_VALUE;
  return count ? CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY : create(handle, flags, ordinal);
}

CUresult cuCtxCreate_v4(CUcontext *handle, CUctxCreateParams *parameters, unsigned flags, CUdevice ordinal) {
  if (parameters && parameters->numExecAffinityParams != 0)
    return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
  if (parameters && parameters->cigParams)
    return CUDA_ERROR_NOT_SUPPORTED;
  return create(handle, flags, ordinal);
}

CUresult cuCtxDestroy_v2(CUcontext handle) {
  return initialised([&]() -> CUresult {
    std::shared_ptr<Context> context = state().contexts.find(handle);
    if (!context || handle == context->device.primaryHandle)
      return CUDA_ERROR_INVALID_CONTEXT;
    destroyContext(context);
    std::vector<CUcontext> &stack = contextStack();
    if (!stack.empty() && stack.back() == handle)
      stack.pop_back();
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetDevice(CUdevice *device) {
  return guarded([&]() -> CUresult {
    std::shared_ptr<Context> context;
    if (CUresult result = currentContext(&context); result != CUDA_SUCCESS)
      return result;
    if (!device)
      return CUDA_ERROR_INVALID_VALUE;
    *device = context->device.ordinal;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetDevice_v2(CUdevice *device, CUcontext handle) {
  if (!handle)
    return cuCtxGetDevice(device);
  return initialised([&]() -> CUresult {
    std::shared_ptr<Context> context = state().contexts.find(handle);
    if (!context)
      return CUDA_ERROR_INVALID_CONTEXT;
    if (!device)
      return CUDA_ERROR_INVALID_VALUE;
    *device = context->device.ordinal;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetFlags(unsigned *flags) {
  return inContext([&](std::shared_ptr<Context> &context) -> CUresult {
    if (!flags)
      return CUDA_ERROR_INVALID_VALUE;
    std::lock_guard lock(context->mutex);
    *flags = context->flags;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSetFlags(unsigned flags) {
  return inContext([&](std::shared_ptr<Context> &context) -> CUresult {
    if (flags & ~unsigned(CU_CTX_FLAGS_MASK))
      return CUDA_ERROR_INVALID_VALUE;
    std::lock_guard lock(context->mutex);
    context->flags = flags;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetId(CUcontext handle, unsigned long long *id) {
  return inContextOf(handle, [&](std::shared_ptr<Context> &context) -> CUresult {
    if (!id)
      return CUDA_ERROR_INVALID_VALUE;
    *id = context->id;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetLimit(size_t *value, CUlimit limit) {
  return inContext([&](std::shared_ptr<Context> &context) -> CUresult {
    if (!value || limit < 0 || limit >= CU_LIMIT_MAX)
      return CUDA_ERROR_INVALID_VALUE;
    std::optional<size_t> initial = initialLimit(limit, context->device.profile);
    if (!initial)
      return CUDA_ERROR_UNSUPPORTED_LIMIT;
    std::lock_guard lock(context->mutex);
    auto set = context->limits.find(int(limit));
    *value = set == context->limits.end() ? *initial : set->second;
    return CUDA_SUCCESS;
  });
}

/// Limits are remembered and change nothing: stacks are as large as the kernel needs, and printf loses no line.
CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  return inContext([&](std::shared_ptr<Context> &context) -> CUresult {
    if (limit < 0 || limit >= CU_LIMIT_MAX)
      return CUDA_ERROR_INVALID_VALUE;
    if (!initialLimit(limit, context->device.profile) || limit == CU_LIMIT_SHMEM_SIZE || limit == CU_LIMIT_CIG_ENABLED)
      return CUDA_ERROR_UNSUPPORTED_LIMIT;
    constexpr size_t mostStack = 512 << 10; // of a thread, on every architecture here
    if ((limit == CU_LIMIT_MAX_L2_FETCH_GRANULARITY && value > 128) ||
        (limit == CU_LIMIT_STACK_SIZE && value > mostStack))
      return CUDA_ERROR_INVALID_VALUE;
    std::lock_guard lock(context->mutex);
    context->limits[int(limit)] = limit == CU_LIMIT_STACK_SIZE ? (value + 15) / 16 * 16 : value;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetCacheConfig(CUfunc_cache *config) {
  return inContext([&](std::shared_ptr<Context> &context) -> CUresult {
    if (!config)
      return CUDA_ERROR_INVALID_VALUE;
    std::lock_guard lock(context->mutex);
    *config = context->cacheConfig;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSetCacheConfig(CUfunc_cache config) {
  return inContext([&](std::shared_ptr<Context> &context) -> CUresult {
    if (config < CU_FUNC_CACHE_PREFER_NONE || config > CU_FUNC_CACHE_PREFER_EQUAL)
      return CUDA_ERROR_INVALID_VALUE;
    std::lock_guard lock(context->mutex);
    context->cacheConfig = config;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetSharedMemConfig(CUsharedconfig *config) {
  return inContext([&](std::shared_ptr<Context> &) -> CUresult {
    if (!config)
      return CUDA_ERROR_INVALID_VALUE;
    *config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE; // of every architecture here
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSetSharedMemConfig(CUsharedconfig config) {
  return inContext([&](std::shared_ptr<Context> &) -> CUresult {
    return config >= CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE && config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuCtxGetExecAffinity(CUexecAffinityParam *affinity, CUexecAffinityType type) {
  return inContext([&](std::shared_ptr<Context> &) -> CUresult {
    return affinity && type == CU_EXEC_AFFINITY_TYPE_SM_COUNT ? CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY
                                                              : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuCtxResetPersistingL2Cache() {
  return inContext([](std::shared_ptr<Context> &) { return CUDA_SUCCESS; });
}

/// Simulated devices have no access to each other's memory (cuDeviceCanAccessPeer); copies between them work.
CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  return inContext([&](std::shared_ptr<Context> &context) -> CUresult {
    std::shared_ptr<Context> other = state().contexts.find(peer);
    if (!other || other == context)
      return CUDA_ERROR_INVALID_CONTEXT;
    if (flags != 0)
      return CUDA_ERROR_INVALID_VALUE;
    return &other->device == &context->device ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  });
}

CUresult cuCtxDisablePeerAccess(CUcontext peer) {
  return inContext([&](std::shared_ptr<Context> &) -> CUresult {
    return state().contexts.find(peer) ? CUDA_ERROR_PEER_ACCESS_NOT_ENABLED : CUDA_ERROR_INVALID_CONTEXT;
  });
}

/// Records or waits for an event for all streams of a context at once. Work runs as it is enqueued, so an event of the
/// default stream that is as late as all of them says the same.
CUresult cuCtxRecordEvent(CUcontext handle, CUevent eventHandle) {
  return inContextOf(handle, [&](std::shared_ptr<Context> &context) -> CUresult {
    std::shared_ptr<Event> event = state().events.find(eventHandle);
    if (!event || event->context.lock() != context)
      return CUDA_ERROR_INVALID_HANDLE;
    double time = 0;
    for (const std::shared_ptr<Stream> &stream : streamsOf(context)) {
      std::lock_guard running(stream->mutex);
      if (stream->capture) {
        stream->capture->invalidated = true;
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
      }
      time = std::max(time, stream->time);
    }
    std::lock_guard lock(event->mutex);
    event->capture.reset();
    event->tail.clear();
    event->recorded = true;
    event->time = time;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxWaitEvent(CUcontext handle, CUevent eventHandle) {
  return inContextOf(handle, [&](std::shared_ptr<Context> &context) -> CUresult {
    std::shared_ptr<Event> event = state().events.find(eventHandle);
    if (!event)
      return CUDA_ERROR_INVALID_HANDLE;
    double time;
    {
      std::lock_guard lock(event->mutex);
      if (std::shared_ptr<Capture> capture = event->capture.lock()) {
        capture->invalidated = true;
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
      }
      time = event->recorded ? event->time : 0;
    }
    for (const std::shared_ptr<Stream> &stream : streamsOf(context)) {
      std::lock_guard running(stream->mutex);
      stream->time = std::max(stream->time, time);
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetApiVersion(CUcontext handle, unsigned *version) {
  return initialised([&]() -> CUresult {
    if (!version)
      return CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<Context> context = state().contexts.find(handle                   ? handle
                                                             : contextStack().empty() ? nullptr
                                                                                      : contextStack().back());
    if (!context)
      return CUDA_ERROR_INVALID_CONTEXT;
    *version = 3020;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  return inContext([&](std::shared_ptr<Context> &) -> CUresult {
    if (least)
      *least = 0;
    if (greatest)
      *greatest = -5;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSynchronize() {
  return inContext([](std::shared_ptr<Context> &context) { return synchronise(context); });
}

CUresult cuCtxSynchronize_v2(CUcontext handle) {
  return inContextOf(handle, [](std::shared_ptr<Context> &context) { return synchronise(context); });
}

} // extern "C"
