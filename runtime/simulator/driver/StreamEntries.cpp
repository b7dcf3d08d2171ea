// cuStream* and cuEvent*: order, and modelled time.
#include "runtime/simulator/driver/State.h"

#include <algorithm>

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

template <typename Body> CUresult withEvent(CUevent handle, Body body) {
  return inContext([&](std::shared_ptr<Context> &) -> CUresult {
    std::shared_ptr<Event> event = state().events.find(handle);
    if (!event)
      return CUDA_ERROR_INVALID_HANDLE;
    std::shared_ptr<Context> owner = event->context.lock();
    if (!owner)
      return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    return body(*owner, *event);
  });
}

struct HostFunctionScope {
  HostFunctionScope() { insideHostFunction() = true; }
  ~HostFunctionScope() { insideHostFunction() = false; }
};

CUresult elapsed(float *milliseconds, CUevent from, CUevent to) {
  return inContext([&](std::shared_ptr<Context> &) -> CUresult {
    if (!milliseconds)
      return CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<Event> first = state().events.find(from), second = state().events.find(to);
    if (!first || !second || (first->flags | second->flags) & CU_EVENT_DISABLE_TIMING)
      return CUDA_ERROR_INVALID_HANDLE;
    double times[2];
    Event *events[2] = {first.get(), second.get()};
    for (int i = 0; i < 2; ++i) {
      std::lock_guard lock(events[i]->mutex);
      if (!events[i]->recorded)
        return CUDA_ERROR_INVALID_HANDLE;
      times[i] = events[i]->time;
    }
    *milliseconds = float((times[1] - times[0]) * 1e-6);
    return CUDA_SUCCESS;
  });
}

} // namespace

// The older form has the same signature and lives on beside the newer one; cuda.h hides its name.
#undef cuEventElapsedTime

extern "C" {

CUresult cuStreamCreate(CUstream *handle, unsigned flags) { return createStream(handle, flags, 0); }
CUresult cuStreamCreateWithPriority(CUstream *handle, unsigned flags, int priority) {
  return createStream(handle, flags, priority);
}

CUresult cuStreamDestroy_v2(CUstream handle) {
  return inContext([&](std::shared_ptr<Context> &) -> CUresult {
    return state().streams.remove(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
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

CUresult cuStreamWaitEvent(CUstream handle, CUevent eventHandle, unsigned flags) {
  return inStream(handle, [&](Context &, Stream &stream) -> CUresult {
    if (flags & ~unsigned(CU_EVENT_WAIT_EXTERNAL))
      return CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<Event> event = state().events.find(eventHandle);
    if (!event)
      return CUDA_ERROR_INVALID_HANDLE;
    double time;
    std::shared_ptr<Graph> capture;
    CaptureFrontier frontier;
    {
      std::lock_guard lock(event->mutex);
      time = event->recorded ? event->time : 0;
      capture = event->capture.lock();
      frontier = event->frontier;
    }
    std::lock_guard running(stream.mutex);
    if (!capture && !stream.capture) {
      stream.time = std::max(stream.time, time);
      return CUDA_SUCCESS;
    }
    if (stream.capture && stream.capture != capture) {
      std::lock_guard lock(stream.capture->mutex);
      stream.capture->invalidated = true;
      return capture ? CUDA_ERROR_STREAM_CAPTURE_MERGE : CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    std::lock_guard lock(capture->mutex);
    if (!stream.capture) {
      // A stream that waits for captured work joins the capture. The default stream cannot be captured.
      std::shared_ptr<Stream> self = state().streams.find(stream.handle);
      if (!self)
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
      capture->joined.push_back(self);
      stream.capture = capture;
    }
    CaptureFrontier &own = capture->frontiers[&stream];
    for (auto [other, count] : frontier)
      own[other] = std::max(own[other], count);
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback callback, void *data, unsigned flags) {
  return inStream(handle, [&](Context &context, Stream &stream) -> CUresult {
    if (!callback || flags != 0)
      return CUDA_ERROR_INVALID_VALUE;
    {
      std::lock_guard running(stream.mutex);
      if (stream.capture)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    // Unlike a host function, a callback runs after a fault too, and is told of it.
    HostFunctionScope scope;
    callback(handle, context.faulted() ? context.observe() : CUDA_SUCCESS, data);
    return CUDA_SUCCESS;
  });
}

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void *data) {
  return inStream(handle, [&](Context &context, Stream &stream) -> CUresult {
    if (!function)
      return CUDA_ERROR_INVALID_VALUE;
    return enqueue(context, stream, [=]() -> Outcome {
      HostFunctionScope scope;
      function(data);
      return {};
    });
  });
}

CUresult cuEventCreate(CUevent *handle, unsigned flags) {
  return inContext([&](std::shared_ptr<Context> &context) -> CUresult {
    constexpr unsigned known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    if (!handle || (flags & ~known))
      return CUDA_ERROR_INVALID_VALUE;
    if (flags & CU_EVENT_INTERPROCESS)
      return CUDA_ERROR_NOT_SUPPORTED;
    auto event = std::make_shared<Event>();
    event->context = context;
    event->flags = flags;
    *handle = state().events.add(std::move(event));
    return CUDA_SUCCESS;
  });
}

CUresult cuEventDestroy_v2(CUevent handle) {
  return inContext([&](std::shared_ptr<Context> &) -> CUresult {
    return state().events.remove(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}

CUresult cuEventRecordWithFlags(CUevent handle, CUstream streamHandle, unsigned flags) {
  return inStream(streamHandle, [&](Context &context, Stream &stream) -> CUresult {
    if (flags & ~unsigned(CU_EVENT_RECORD_EXTERNAL))
      return CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<Event> event = state().events.find(handle);
    if (!event)
      return CUDA_ERROR_INVALID_HANDLE;
    if (event->context.lock().get() != &context)
      return CUDA_ERROR_INVALID_HANDLE;
    std::lock_guard running(stream.mutex);
    double now;
    {
      std::lock_guard lock(context.device.mutex);
      now = std::max(stream.time, context.device.hostTime);
    }
    std::lock_guard lock(event->mutex);
    event->capture = stream.capture;
    event->frontier.clear();
    if (stream.capture) {
      std::lock_guard capturing(stream.capture->mutex);
      event->frontier = stream.capture->frontiers[&stream];
    }
    event->recorded = !stream.capture;
    event->time = now;
    return CUDA_SUCCESS;
  });
}

CUresult cuEventRecord(CUevent handle, CUstream stream) { return cuEventRecordWithFlags(handle, stream, 0); }

CUresult cuEventQuery(CUevent handle) {
  return withEvent(handle, [](Context &context, Event &event) -> CUresult {
    std::lock_guard lock(event.mutex);
    return event.capture.lock() ? CUDA_ERROR_CAPTURED_EVENT : context.observe();
  });
}

CUresult cuEventSynchronize(CUevent handle) {
  return withEvent(handle, [](Context &context, Event &event) -> CUresult {
    double time;
    {
      std::lock_guard lock(event.mutex);
      if (event.capture.lock())
        return CUDA_ERROR_CAPTURED_EVENT;
      time = event.recorded ? event.time : 0;
    }
    {
      std::lock_guard lock(context.device.mutex);
      context.device.hostTime = std::max(context.device.hostTime, time);
    }
    return context.observe();
  });
}

__attribute__((visibility("default"))) CUresult cuEventElapsedTime(float *milliseconds, CUevent from, CUevent to) {
  return elapsed(milliseconds, from, to);
}
CUresult cuEventElapsedTime_v2(float *milliseconds, CUevent from, CUevent to) {
  return elapsed(milliseconds, from, to);
}

} // extern "C"
