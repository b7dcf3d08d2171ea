// cuStream*: order, and modelled time. Capture: CaptureEntries.cpp.
#include "runtime/simulator/driver/State.h"

#include <algorithm>
#include <cstring>
#include <optional>

using namespace tessera::sim::driver;

namespace {

CUresult createStream(CUstream *handle, unsigned flags, int priority) {
  return inContext([&](std::shared_ptr<Context> &context) -> CUresult {
    if (!handle || (flags & ~unsigned(CU_STREAM_NON_BLOCKING)))
      return CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<Stream> stream = makeStream(context, flags, std::clamp(priority, -5, 0));
    *handle = state().streams.add(stream);
    stream->handle = *handle;
    return CUDA_SUCCESS;
  });
}

/// For entry points that ask a stream for a fact.
template <typename T, typename Question> CUresult ask(CUstream handle, T *answer, Question question) {
  return inStream(handle, [&](Context &context, Stream &stream) -> CUresult {
    if (!answer)
      return CUDA_ERROR_INVALID_VALUE;
    *answer = question(context, stream);
    return CUDA_SUCCESS;
  });
}

/// What a stream attribute is before it was set; nullopt for those that streams do not have.
std::optional<CUstreamAttrValue> initialAttribute(const Stream &stream, CUstreamAttrID id) {
  CUstreamAttrValue value;
  std::memset(&value, 0, sizeof(value));
  switch (id) {
  case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
  case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    return value;
  case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
    value.syncPolicy = CU_SYNC_POLICY_AUTO;
    return value;
  case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    value.priority = stream.priority;
    return value;
  case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    value.memSyncDomainMap.remote = 1;
    return value;
  default:
    return std::nullopt;
  }
}

} // namespace

extern "C" {

CUresult cuStreamCreate(CUstream *handle, unsigned flags) { return createStream(handle, flags, 0); }
CUresult cuStreamCreateWithPriority(CUstream *handle, unsigned flags, int priority) {
  return createStream(handle, flags, priority);
}

CUresult cuStreamDestroy_v2(CUstream handle) {
  return inContext([&](std::shared_ptr<Context> &) -> CUresult {
    std::shared_ptr<Stream> stream = state().streams.remove(handle);
    if (!stream)
      return CUDA_ERROR_INVALID_HANDLE;
    abandonCapture(*stream);
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamGetFlags(CUstream handle, unsigned *flags) {
  return ask(handle, flags, [](Context &, Stream &stream) { return stream.flags; });
}
CUresult cuStreamGetPriority(CUstream handle, int *priority) {
  return ask(handle, priority, [](Context &, Stream &stream) { return stream.priority; });
}
CUresult cuStreamGetId(CUstream handle, unsigned long long *id) {
  return ask(handle, id, [](Context &, Stream &stream) { return stream.id; });
}
CUresult cuStreamGetDevice(CUstream handle, CUdevice *device) {
  return ask(handle, device, [](Context &context, Stream &) { return context.device.ordinal; });
}
CUresult cuStreamGetCtx(CUstream handle, CUcontext *owner) {
  return ask(handle, owner, [](Context &context, Stream &) { return context.handle; });
}

CUresult cuStreamSynchronize(CUstream handle) {
  return inStream(handle, [](Context &context, Stream &stream) { return waitFor(context, stream); });
}

CUresult cuStreamQuery(CUstream handle) {
  return inStream(handle, [](Context &context, Stream &stream) { return waitFor(context, stream); });
}

CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback callback, void *data, unsigned flags) {
  return inStream(handle, [&](Context &context, Stream &stream) -> CUresult {
    if (!callback || flags != 0)
      return CUDA_ERROR_INVALID_VALUE;
    if (CUresult result = refuseImplicitDependency(stream); result != CUDA_SUCCESS)
      return result;
    {
      std::lock_guard running(stream.mutex);
      if (stream.capture) {
        stream.capture->invalidated = true;
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
      }
    }
    // Unlike a host function, a callback runs after a fault too, and is told of it.
    HostFunctionScope scope;
    callback(handle, context.faulted() ? context.observe() : CUDA_SUCCESS, data);
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamGetAttribute(CUstream handle, CUstreamAttrID id, CUstreamAttrValue *value) {
  return inStream(handle, [&](Context &, Stream &stream) -> CUresult {
    std::optional<CUstreamAttrValue> answer = initialAttribute(stream, id);
    if (!value || !answer)
      return CUDA_ERROR_INVALID_VALUE;
    std::lock_guard running(stream.mutex);
    auto set = stream.attributes.find(int(id));
    *value = set == stream.attributes.end() ? *answer : set->second;
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamSetAttribute(CUstream handle, CUstreamAttrID id, const CUstreamAttrValue *value) {
  return inStream(handle, [&](Context &, Stream &stream) -> CUresult {
    if (!value || !initialAttribute(stream, id))
      return CUDA_ERROR_INVALID_VALUE;
    if (id == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY &&
        (value->syncPolicy < CU_SYNC_POLICY_AUTO || value->syncPolicy > CU_SYNC_POLICY_BLOCKING_SYNC))
      return CUDA_ERROR_INVALID_VALUE;
    std::lock_guard running(stream.mutex);
    stream.attributes[int(id)] = *value;
    if (id == CU_LAUNCH_ATTRIBUTE_PRIORITY)
      stream.priority = stream.attributes[int(id)].priority = std::clamp(value->priority, -5, 0);
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamCopyAttributes(CUstream toHandle, CUstream fromHandle) {
  return inStream(fromHandle, [&](Context &context, Stream &from) -> CUresult {
    std::shared_ptr<Stream> to = findStream(context, toHandle);
    if (!to)
      return CUDA_ERROR_INVALID_HANDLE;
    if (to.get() == &from)
      return CUDA_SUCCESS;
    std::scoped_lock running(from.mutex, to->mutex);
    to->attributes = from.attributes;
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamAttachMemAsync(CUstream handle, CUdeviceptr address, size_t length, unsigned flags) {
  return inStream(handle, [&](Context &context, Stream &stream) -> CUresult {
    constexpr unsigned kinds = CU_MEM_ATTACH_GLOBAL | CU_MEM_ATTACH_HOST | CU_MEM_ATTACH_SINGLE;
    if ((flags & ~kinds) || !(flags & kinds) || (flags & (flags - 1)))
      return CUDA_ERROR_INVALID_VALUE;
    auto range = findHostRange(address);
    if (!range || range->second.kind != HostKind::Managed || range->first != address ||
        (length != 0 && length != range->second.bytes))
      return CUDA_ERROR_INVALID_VALUE;
    return enqueue(stream, makeWork(context, EmptyWork{})); // all processors see managed memory at any time here
  });
}

CUresult cuStreamGetCtx_v2(CUstream handle, CUcontext *owner, CUgreenCtx *green) {
  if (green)
    *green = nullptr;
  return cuStreamGetCtx(handle, owner);
}

} // extern "C"
