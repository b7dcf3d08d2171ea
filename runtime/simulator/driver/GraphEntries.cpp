// Stream capture, and the graphs made by it. Nodes cannot be looked at or changed: a graph here is the captured work in
// call order.
#include "runtime/simulator/driver/State.h"

#include <algorithm>

using namespace tessera::sim::driver;

namespace {

CUstreamCaptureStatus captureStatus(Stream &stream, uint64_t *id) {
  std::lock_guard running(stream.mutex);
  if (!stream.capture)
    return CU_STREAM_CAPTURE_STATUS_NONE;
  std::lock_guard lock(stream.capture->mutex);
  if (id)
    *id = stream.capture->captureId;
  return stream.capture->invalidated ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

CUresult instantiate(CUgraphExec *handle, CUgraph graphHandle) {
  return inContext([&](std::shared_ptr<Context> &) -> CUresult {
    std::shared_ptr<Graph> graph = state().graphs.find(graphHandle);
    if (!handle || !graph)
      return CUDA_ERROR_INVALID_VALUE;
    auto executable = std::make_shared<GraphExec>();
    std::lock_guard lock(graph->mutex);
    executable->works = graph->works;
    *handle = state().graphExecs.add(std::move(executable));
    return CUDA_SUCCESS;
  });
}

} // namespace

extern "C" {

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
  return initialised([&]() -> CUresult {
    if (!mode || *mode < CU_STREAM_CAPTURE_MODE_GLOBAL || *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
      return CUDA_ERROR_INVALID_VALUE;
    std::swap(*mode, threadCaptureMode());
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode) {
  return inStream(handle, [&](Context &, Stream &stream) -> CUresult {
    if (mode < CU_STREAM_CAPTURE_MODE_GLOBAL || mode > CU_STREAM_CAPTURE_MODE_RELAXED)
      return CUDA_ERROR_INVALID_VALUE;
    if (!stream.handle)
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED; // a default stream
    static std::atomic<uint64_t> nextId{1};
    auto graph = std::make_shared<Graph>();
    graph->captureId = nextId++;
    graph->mode = mode;
    graph->thread = std::this_thread::get_id();
    graph->origin = state().streams.find(stream.handle);
    std::lock_guard running(stream.mutex);
    if (stream.capture)
      return CUDA_ERROR_ILLEGAL_STATE;
    stream.capture = graph;
    std::lock_guard lock(state().capturesMutex);
    state().captures.push_back(graph);
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph *graphHandle) {
  return inStream(handle, [&](Context &, Stream &stream) -> CUresult {
    if (!graphHandle)
      return CUDA_ERROR_INVALID_VALUE;
    *graphHandle = nullptr;
    std::shared_ptr<Graph> graph;
    {
      std::lock_guard running(stream.mutex);
      graph = stream.capture;
      if (!graph)
        return CUDA_ERROR_ILLEGAL_STATE;
      if (graph->origin.lock().get() != &stream)
        return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
      if (graph->mode != CU_STREAM_CAPTURE_MODE_RELAXED && graph->thread != std::this_thread::get_id())
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
      stream.capture = nullptr;
    }
    {
      std::lock_guard lock(state().capturesMutex);
      std::erase(state().captures, graph);
    }
    std::vector<std::weak_ptr<Stream>> joined;
    bool invalidated, unjoined = false;
    {
      std::lock_guard lock(graph->mutex);
      joined.swap(graph->joined);
      invalidated = graph->invalidated;
      // The origin must have waited for all work of the streams that it brought in.
      CaptureFrontier &seen = graph->frontiers[&stream];
      for (const auto &[other, frontier] : graph->frontiers)
        if (auto own = frontier.find(other); own != frontier.end() && seen[other] < own->second)
          unjoined = true;
    }
    for (const std::weak_ptr<Stream> &other : joined) {
      if (std::shared_ptr<Stream> live = other.lock()) {
        std::lock_guard running(live->mutex);
        live->capture = nullptr;
      }
    }
    if (invalidated)
      return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (unjoined)
      return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    *graphHandle = state().graphs.add(std::move(graph));
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *status) {
  return inStream(handle, [&](Context &, Stream &stream) -> CUresult {
    if (!status)
      return CUDA_ERROR_INVALID_VALUE;
    *status = captureStatus(stream, nullptr);
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamGetCaptureInfo_v3(CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                                   const CUgraphNode **nodes, const CUgraphEdgeData **edges, size_t *count) {
  return inStream(handle, [&](Context &, Stream &stream) -> CUresult {
    if (!status)
      return CUDA_ERROR_INVALID_VALUE;
    if (graph || nodes || edges || count)
      return CUDA_ERROR_NOT_SUPPORTED;
    uint64_t captureId = 0;
    *status = captureStatus(stream, &captureId);
    if (id)
      *id = captureId;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *handle, CUgraph graph, unsigned long long) {
  return instantiate(handle, graph);
}

CUresult cuGraphUpload(CUgraphExec handle, CUstream stream) {
  return inStream(stream, [&](Context &, Stream &) -> CUresult {
    return state().graphExecs.find(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuGraphLaunch(CUgraphExec handle, CUstream streamHandle) {
  return inStream(streamHandle, [&](Context &context, Stream &stream) -> CUresult {
    std::shared_ptr<GraphExec> executable = state().graphExecs.find(handle);
    if (!executable)
      return CUDA_ERROR_INVALID_VALUE;
    for (const Work &work : executable->works)
      if (CUresult result = enqueue(context, stream, work); result != CUDA_SUCCESS)
        return result;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode *nodes, size_t *count) {
  return initialised([&]() -> CUresult {
    std::shared_ptr<Graph> graph = state().graphs.find(handle);
    if (!graph || !count)
      return CUDA_ERROR_INVALID_VALUE;
    if (nodes)
      return CUDA_ERROR_NOT_SUPPORTED;
    std::lock_guard lock(graph->mutex);
    *count = graph->works.size();
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphDestroy(CUgraph handle) {
  return initialised(
      [&]() -> CUresult { return state().graphs.remove(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; });
}

CUresult cuGraphExecDestroy(CUgraphExec handle) {
  return initialised(
      [&]() -> CUresult { return state().graphExecs.remove(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; });
}

} // extern "C"
