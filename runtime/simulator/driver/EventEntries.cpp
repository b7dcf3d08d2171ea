// cuEvent* and cuStreamWaitEvent: points in streams, their modelled times, and edges of captured graphs.
#include "runtime/simulator/driver/State.h"

#include <algorithm>

using namespace tessera::sim::driver;

namespace {

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

/// Makes a stream's next work depend on what an event of the same capture saw; brings the stream in if need be.
CUresult waitForCaptured(Stream &stream, const std::shared_ptr<Capture> &capture,
                         const std::vector<std::shared_ptr<GraphNode>> &tail) {
  if (capture->invalidated)
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!stream.capture) {
    // A stream that waits for captured work joins the capture. The legacy default stream cannot be captured.
    std::shared_ptr<Stream> self = stream.handle ? state().streams.find(stream.handle) : nullptr;
    if (!self) {
      capture->invalidated = true;
      return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    std::lock_guard lock(capture->mutex);
    capture->joined.push_back(self);
    stream.capture = capture;
    stream.tail.clear();
  }
  std::lock_guard lock(state().graphsMutex);
  for (const std::shared_ptr<GraphNode> &node : tail)
    if (std::find(stream.tail.begin(), stream.tail.end(), node) == stream.tail.end())
      stream.tail.push_back(node);
  return CUDA_SUCCESS;
}

} // namespace

// The older form has the same signature and lives on beside the newer one; cuda.h hides its name.
#undef cuEventElapsedTime

extern "C" {

CUresult cuEventCreate(CUevent *handle, unsigned flags) {
  return inContext([&](std::shared_ptr<Context> &context) -> CUresult {
    constexpr unsigned known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    if (!handle || (flags & ~known))
      return CUDA_ERROR_INVALID_VALUE;
    if (flags & CU_EVENT_INTERPROCESS)
      return flags & CU_EVENT_DISABLE_TIMING ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
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
    if (!event || event->context.lock().get() != &context)
      return CUDA_ERROR_INVALID_HANDLE;
    if (CUresult result = refuseImplicitDependency(stream); result != CUDA_SUCCESS)
      return result;
    {
      std::lock_guard running(stream.mutex);
      if (!stream.capture) {
        double now;
        {
          std::lock_guard lock(context.device.mutex);
          now = std::max(stream.time, context.device.hostTime);
        }
        std::lock_guard lock(event->mutex);
        event->capture.reset();
        event->tail.clear();
        event->recorded = true;
        event->time = now;
        return CUDA_SUCCESS;
      }
      if (stream.capture->invalidated)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
      if (!(flags & CU_EVENT_RECORD_EXTERNAL)) {
        std::lock_guard lock(event->mutex);
        event->capture = stream.capture;
        event->tail.assign(stream.tail.begin(), stream.tail.end());
        event->recorded = false;
        return CUDA_SUCCESS;
      }
    }
    return enqueue(stream, makeWork(context, EventRecordWork{event, handle}));
  });
}

CUresult cuEventRecord(CUevent handle, CUstream stream) { return cuEventRecordWithFlags(handle, stream, 0); }

CUresult cuStreamWaitEvent(CUstream handle, CUevent eventHandle, unsigned flags) {
  return inStream(handle, [&](Context &context, Stream &stream) -> CUresult {
    if (flags & ~unsigned(CU_EVENT_WAIT_EXTERNAL))
      return CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<Event> event = state().events.find(eventHandle);
    if (!event)
      return CUDA_ERROR_INVALID_HANDLE;
    double time;
    std::shared_ptr<Capture> capture;
    std::vector<std::shared_ptr<GraphNode>> tail;
    {
      std::lock_guard lock(event->mutex);
      time = event->recorded ? event->time : 0;
      capture = event->capture.lock();
      for (const std::weak_ptr<GraphNode> &node : event->tail)
        if (std::shared_ptr<GraphNode> live = node.lock())
          tail.push_back(std::move(live));
    }
    {
      std::lock_guard running(stream.mutex);
      if (!capture && !stream.capture) {
        stream.time = std::max(stream.time, time);
        return CUDA_SUCCESS;
      }
      if (stream.capture && stream.capture->invalidated)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
      if (capture && (!stream.capture || stream.capture == capture))
        return waitForCaptured(stream, capture, tail);
      if (capture || !(flags & CU_EVENT_WAIT_EXTERNAL)) {
        stream.capture->invalidated = true;
        return capture ? CUDA_ERROR_STREAM_CAPTURE_MERGE : CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
      }
    }
    return enqueue(stream, makeWork(context, EventWaitWork{event, eventHandle}));
  });
}

CUresult cuEventQuery(CUevent handle) {
  return withEvent(handle, [](Context &context, Event &event) -> CUresult {
    std::lock_guard lock(event.mutex);
    if (std::shared_ptr<Capture> capture = event.capture.lock()) {
      capture->invalidated = true;
      return CUDA_ERROR_CAPTURED_EVENT;
    }
    return context.observe();
  });
}

CUresult cuEventSynchronize(CUevent handle) {
  return withEvent(handle, [](Context &context, Event &event) -> CUresult {
    double time;
    {
      std::lock_guard lock(event.mutex);
      if (std::shared_ptr<Capture> capture = event.capture.lock()) {
        capture->invalidated = true;
        return CUDA_ERROR_CAPTURED_EVENT;
      }
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
