// Stream capture: work of streams becomes nodes of a graph, and what streams and events order becomes its edges.
#include "runtime/simulator/driver/GraphNodes.h"
#include "runtime/simulator/driver/State.h"

#include <algorithm>
#include <set>

using namespace tessera::sim::driver;

namespace {

bool isMode(CUstreamCaptureMode mode) {
  return mode == CU_STREAM_CAPTURE_MODE_GLOBAL || mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL ||
         mode == CU_STREAM_CAPTURE_MODE_RELAXED;
}

CUresult begin(CUstream handle, CUstreamCaptureMode mode, CUgraph target, const CUgraphNode *dependencies,
               const CUgraphEdgeData *edges, size_t count) {
  return inStream(handle, [&](Context &, Stream &stream) -> CUresult {
    if (!isMode(mode))
      return CUDA_ERROR_INVALID_VALUE;
    if (!stream.handle && stream.legacy)
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    static std::atomic<uint64_t> nextId{1};
    auto capture = std::make_shared<Capture>();
    capture->id = nextId++;
    capture->mode = mode;
    capture->thread = std::this_thread::get_id();
    capture->origin = stream.weak_from_this();
    std::lock_guard running(stream.mutex);
    if (stream.capture)
      return CUDA_ERROR_ILLEGAL_STATE;
    std::vector<std::shared_ptr<GraphNode>> tail;
    {
      std::lock_guard lock(state().graphsMutex);
      if (target) {
        capture->graph = state().graphs.find(target);
        capture->ownGraph = false;
        if (!capture->graph)
          return CUDA_ERROR_INVALID_VALUE;
        if (CUresult result = findNodes(*capture->graph, dependencies, edges, count, &tail); result != CUDA_SUCCESS)
          return result;
      } else {
        capture->graph = makeGraph();
      }
    }
    stream.capture = capture;
    stream.tail = std::move(tail);
    std::lock_guard lock(state().capturesMutex);
    state().captures.push_back(capture);
    return CUDA_SUCCESS;
  });
}

/// Takes a stream out of its capture.
void leave(Stream &stream) {
  stream.capture = nullptr;
  stream.tail.clear();
}

/// Everything that a stream's next node would be ordered after.
std::set<const GraphNode *> ancestors(const std::vector<std::shared_ptr<GraphNode>> &tail) {
  std::set<const GraphNode *> seen;
  std::vector<std::shared_ptr<GraphNode>> waiting = tail;
  while (!waiting.empty()) {
    std::shared_ptr<GraphNode> node = std::move(waiting.back());
    waiting.pop_back();
    if (!seen.insert(node.get()).second)
      continue;
    for (const std::weak_ptr<GraphNode> &dependency : node->dependencies)
      if (std::shared_ptr<GraphNode> live = dependency.lock())
        waiting.push_back(std::move(live));
  }
  return seen;
}

/// Ends a capture for all its streams. *unjoined: the origin has not waited for all that was captured.
void finish(Stream &origin, const std::shared_ptr<Capture> &capture, bool *unjoined) {
  {
    std::lock_guard lock(state().capturesMutex);
    std::erase(state().captures, capture);
  }
  std::vector<std::weak_ptr<Stream>> joined;
  {
    std::lock_guard lock(capture->mutex);
    joined.swap(capture->joined);
  }
  std::vector<std::shared_ptr<GraphNode>> tail;
  {
    std::lock_guard running(origin.mutex);
    tail = origin.tail;
    if (origin.capture == capture)
      leave(origin);
  }
  std::set<const GraphNode *> seen;
  {
    std::lock_guard lock(state().graphsMutex);
    seen = ancestors(tail);
  }
  for (const std::weak_ptr<Stream> &entry : joined) {
    std::shared_ptr<Stream> other = entry.lock();
    if (!other)
      continue;
    std::lock_guard running(other->mutex);
    if (other->capture != capture)
      continue;
    for (const std::shared_ptr<GraphNode> &node : other->tail)
      *unjoined |= !seen.contains(node.get());
    leave(*other);
  }
}

} // namespace

namespace tessera::sim::driver {

void abandonCapture(Stream &stream) {
  std::shared_ptr<Capture> capture;
  {
    std::lock_guard running(stream.mutex);
    capture = stream.capture;
  }
  if (!capture)
    return;
  capture->invalidated = true;
  if (capture->origin.lock().get() != &stream) {
    std::lock_guard running(stream.mutex);
    leave(stream);
    return;
  }
  bool unjoined = false;
  finish(stream, capture, &unjoined);
  std::lock_guard lock(state().graphsMutex);
  if (capture->ownGraph)
    forgetGraph(*capture->graph);
}

} // namespace tessera::sim::driver

extern "C" {

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
  return initialised([&]() -> CUresult {
    if (!mode || !isMode(*mode))
      return CUDA_ERROR_INVALID_VALUE;
    std::swap(*mode, threadCaptureMode());
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode) {
  return begin(handle, mode, nullptr, nullptr, nullptr, 0);
}

CUresult cuStreamBeginCaptureToGraph(CUstream handle, CUgraph graph, const CUgraphNode *dependencies,
                                     const CUgraphEdgeData *edges, size_t count, CUstreamCaptureMode mode) {
  return graph ? begin(handle, mode, graph, dependencies, edges, count) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph *graphHandle) {
  return inStream(handle, [&](Context &, Stream &stream) -> CUresult {
    if (!graphHandle)
      return CUDA_ERROR_INVALID_VALUE;
    *graphHandle = nullptr;
    std::shared_ptr<Capture> capture;
    {
      std::lock_guard running(stream.mutex);
      capture = stream.capture;
    }
    if (!capture)
      return CUDA_ERROR_ILLEGAL_STATE;
    if (capture->origin.lock().get() != &stream)
      return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != std::this_thread::get_id())
      return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    bool unjoined = false;
    finish(stream, capture, &unjoined);
    if (!capture->invalidated && !unjoined) {
      *graphHandle = capture->graph->handle;
      return CUDA_SUCCESS;
    }
    std::lock_guard lock(state().graphsMutex);
    if (capture->ownGraph)
      forgetGraph(*capture->graph);
    return capture->invalidated ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  });
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *status) {
  return inStream(handle, [&](Context &, Stream &stream) -> CUresult {
    if (!status)
      return CUDA_ERROR_INVALID_VALUE;
    if (CUresult result = refuseImplicitDependency(stream, false); result != CUDA_SUCCESS)
      return result;
    std::lock_guard running(stream.mutex);
    *status = !stream.capture               ? CU_STREAM_CAPTURE_STATUS_NONE
              : stream.capture->invalidated ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                            : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamGetCaptureInfo_v3(CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                                   const CUgraphNode **nodes, const CUgraphEdgeData **edges, size_t *count) {
  if (CUresult result = cuStreamIsCapturing(handle, status); result != CUDA_SUCCESS)
    return result;
  return inStream(handle, [&](Context &, Stream &stream) -> CUresult {
    std::lock_guard running(stream.mutex);
    if (*status != CU_STREAM_CAPTURE_STATUS_ACTIVE || !stream.capture)
      return CUDA_SUCCESS;
    stream.tailHandles.clear();
    for (const std::shared_ptr<GraphNode> &node : stream.tail)
      stream.tailHandles.push_back(node->handle);
    stream.tailEdges.assign(stream.tail.size(), CUgraphEdgeData{});
    if (id)
      *id = stream.capture->id;
    if (graph)
      *graph = stream.capture->graph->handle;
    if (nodes)
      *nodes = stream.tailHandles.data();
    if (edges)
      *edges = stream.tailEdges.data();
    if (count)
      *count = stream.tail.size();
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamUpdateCaptureDependencies_v2(CUstream handle, CUgraphNode *dependencies, const CUgraphEdgeData *edges,
                                              size_t count, unsigned flags) {
  return inStream(handle, [&](Context &, Stream &stream) -> CUresult {
    if (flags != CU_STREAM_ADD_CAPTURE_DEPENDENCIES && flags != CU_STREAM_SET_CAPTURE_DEPENDENCIES)
      return CUDA_ERROR_INVALID_VALUE;
    std::lock_guard running(stream.mutex);
    if (!stream.capture)
      return CUDA_ERROR_ILLEGAL_STATE;
    if (stream.capture->invalidated)
      return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    std::lock_guard lock(state().graphsMutex);
    std::vector<std::shared_ptr<GraphNode>> nodes;
    if (CUresult result = findNodes(*stream.capture->graph, dependencies, edges, count, &nodes); result != CUDA_SUCCESS)
      return result;
    if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES)
      stream.tail.clear();
    for (const std::shared_ptr<GraphNode> &node : nodes)
      if (std::find(stream.tail.begin(), stream.tail.end(), node) == stream.tail.end())
        stream.tail.push_back(node);
    return CUDA_SUCCESS;
  });
}

} // extern "C"
