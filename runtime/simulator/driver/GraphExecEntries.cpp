// cuGraphInstantiate*, cuGraphLaunch and cuGraphExec*: executables, what runs them and what changes them.
#include "runtime/simulator/driver/GraphNodes.h"
#include "runtime/simulator/driver/State.h"

#include <algorithm>

using namespace tessera::sim::driver;

namespace {

constexpr cuuint64_t AllowedFlags = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |
                                    CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD | CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH |
                                    CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;

CUresult instantiate(CUgraphExec *handle, CUgraph graphHandle, cuuint64_t flags, CUgraphInstantiateResult *why) {
  return inContext([&](std::shared_ptr<Context> &) -> CUresult {
    *why = CUDA_GRAPH_INSTANTIATE_ERROR;
    std::lock_guard lock(state().graphsMutex);
    std::shared_ptr<Graph> graph = state().graphs.find(graphHandle);
    if (!handle || !graph || (flags & ~AllowedFlags))
      return CUDA_ERROR_INVALID_VALUE;
    if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
      return CUDA_ERROR_NOT_SUPPORTED;
    std::shared_ptr<GraphExec> executable = instantiateGraph(*graph);
    if (!executable) {
      *why = CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE;
      return CUDA_ERROR_INVALID_VALUE;
    }
    executable->flags = flags;
    *handle = state().graphExecs.add(std::move(executable));
    *why = CUDA_GRAPH_INSTANTIATE_SUCCESS;
    return CUDA_SUCCESS;
  });
}

/// Why `fresh` is no update of `old`; success: it is one.
CUgraphExecUpdateResultInfo compare(GraphExec &old, const GraphExec &fresh) {
  std::lock_guard lock(old.mutex);
  CUgraphExecUpdateResultInfo info = {};
  auto refuse = [&](CUgraphExecUpdateResult why, const ExecNode *node) {
    info.result = why;
    info.errorNode = node ? node->node : nullptr;
    return info;
  };
  for (size_t i = 0; i < std::min(old.nodes.size(), fresh.nodes.size()); ++i) {
    const ExecNode &before = old.nodes[i], &after = fresh.nodes[i];
    if (before.work.what.index() != after.work.what.index())
      return refuse(CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, &after);
    if (before.dependencies != after.dependencies)
      return refuse(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, &after);
    if (auto *kernel = std::get_if<KernelWork>(&before.work.what); kernel && before.work.context != after.work.context)
      return refuse(CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE, &after);
    if (auto *copy = std::get_if<CopyWork>(&before.work.what)) {
      const auto &changed = std::get<CopyWork>(after.work.what);
      if ((copy->to.device == nullptr) != (changed.to.device == nullptr) ||
          (copy->from.device == nullptr) != (changed.from.device == nullptr))
        return refuse(CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED, &after);
    }
    if (auto *child = std::get_if<ChildWork>(&before.work.what)) {
      CUgraphExecUpdateResultInfo inner = compare(*child->executable, *std::get<ChildWork>(after.work.what).executable);
      if (inner.result != CU_GRAPH_EXEC_UPDATE_SUCCESS)
        return inner;
    }
  }
  if (old.nodes.size() != fresh.nodes.size())
    return refuse(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED,
                  fresh.nodes.size() > old.nodes.size() ? &fresh.nodes[old.nodes.size()] : nullptr);
  return info;
}

/// Takes over the work of `fresh`; nodes keep the names that they have in `old`.
void takeOver(GraphExec &old, GraphExec &fresh) {
  std::lock_guard lock(old.mutex);
  for (size_t i = 0; i < old.nodes.size(); ++i) {
    if (auto *child = std::get_if<ChildWork>(&old.nodes[i].work.what))
      takeOver(*child->executable, *std::get<ChildWork>(fresh.nodes[i].work.what).executable);
    else
      old.nodes[i].work = std::move(fresh.nodes[i].work);
  }
}

} // namespace

extern "C" {

CUresult cuGraphInstantiateWithFlags(CUgraphExec *handle, CUgraph graph, unsigned long long flags) {
  CUgraphInstantiateResult why;
  return instantiate(handle, graph, flags, &why);
}

CUresult cuGraphInstantiateWithParams(CUgraphExec *handle, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *parameters) {
  if (!parameters)
    return CUDA_ERROR_INVALID_VALUE;
  parameters->hErrNode_out = nullptr;
  return instantiate(handle, graph, parameters->flags, &parameters->result_out);
}

CUresult cuGraphExecGetFlags(CUgraphExec handle, cuuint64_t *flags) {
  return initialised([&]() -> CUresult {
    std::shared_ptr<GraphExec> executable = state().graphExecs.find(handle);
    if (!executable || !flags)
      return CUDA_ERROR_INVALID_VALUE;
    *flags = executable->flags;
    return CUDA_SUCCESS;
  });
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
    if (CUresult result = refuseImplicitDependency(stream); result != CUDA_SUCCESS)
      return result;
    {
      std::lock_guard running(stream.mutex);
      if (!stream.capture) {
        stream.time = perform(*executable, stream.time);
        return CUDA_SUCCESS;
      }
    }
    // Captured, it is a node that holds what the executable does now.
    std::shared_ptr<Graph> graph;
    {
      std::scoped_lock lock(state().graphsMutex, executable->mutex);
      graph = makeGraph();
      std::vector<std::shared_ptr<GraphNode>> nodes;
      for (const ExecNode &node : executable->nodes) {
        std::vector<std::shared_ptr<GraphNode>> before;
        for (size_t dependency : node.dependencies)
          before.push_back(nodes[dependency]);
        nodes.push_back(addNode(graph, node.enabled ? node.work : makeWork(context, EmptyWork{}), before));
      }
    }
    CUresult result = enqueue(stream, makeWork(context, ChildWork{graph, graph->handle, nullptr}));
    std::lock_guard lock(state().graphsMutex);
    forgetGraph(*graph); // the node has a copy
    return result;
  });
}

CUresult cuGraphExecDestroy(CUgraphExec handle) {
  return initialised(
      [&]() -> CUresult { return state().graphExecs.remove(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; });
}

CUresult cuGraphExecUpdate_v2(CUgraphExec handle, CUgraph graphHandle, CUgraphExecUpdateResultInfo *info) {
  return inContext([&](std::shared_ptr<Context> &) -> CUresult {
    if (!info)
      return CUDA_ERROR_INVALID_VALUE;
    *info = {};
    info->result = CU_GRAPH_EXEC_UPDATE_ERROR;
    std::shared_ptr<GraphExec> executable = state().graphExecs.find(handle), fresh;
    {
      std::lock_guard lock(state().graphsMutex);
      std::shared_ptr<Graph> graph = state().graphs.find(graphHandle);
      if (!executable || !graph)
        return CUDA_ERROR_INVALID_VALUE;
      fresh = instantiateGraph(*graph);
    }
    if (!fresh)
      return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    *info = compare(*executable, *fresh);
    if (info->result != CU_GRAPH_EXEC_UPDATE_SUCCESS)
      return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    takeOver(*executable, *fresh);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec handle, CUgraphNode nodeHandle, CUgraph childHandle) {
  return inContext([&](std::shared_ptr<Context> &) -> CUresult {
    std::shared_ptr<GraphExec> fresh;
    {
      std::lock_guard lock(state().graphsMutex);
      std::shared_ptr<Graph> graph = state().graphs.find(childHandle);
      fresh = graph ? instantiateGraph(*graph) : nullptr;
    }
    if (!fresh)
      return CUDA_ERROR_INVALID_VALUE;
    return withExecNode(handle, nodeHandle, [&](ExecNode &node) -> CUresult {
      auto *child = std::get_if<ChildWork>(&node.work.what);
      if (!child || compare(*child->executable, *fresh).result != CU_GRAPH_EXEC_UPDATE_SUCCESS)
        return CUDA_ERROR_INVALID_VALUE;
      takeOver(*child->executable, *fresh);
      return CUDA_SUCCESS;
    });
  });
}

CUresult cuGraphNodeGetEnabled(CUgraphExec handle, CUgraphNode nodeHandle, unsigned *enabled) {
  return initialised([&] {
    return withExecNode(handle, nodeHandle, [&](ExecNode &node) -> CUresult {
      if (!enabled)
        return CUDA_ERROR_INVALID_VALUE;
      *enabled = node.enabled;
      return CUDA_SUCCESS;
    });
  });
}

CUresult cuGraphNodeSetEnabled(CUgraphExec handle, CUgraphNode nodeHandle, unsigned enabled) {
  return initialised([&] {
    return withExecNode(handle, nodeHandle, [&](ExecNode &node) -> CUresult {
      CUgraphNodeType type = typeOf(node.work); // the others cannot be left out
      if (type != CU_GRAPH_NODE_TYPE_KERNEL && type != CU_GRAPH_NODE_TYPE_MEMCPY && type != CU_GRAPH_NODE_TYPE_MEMSET)
        return CUDA_ERROR_INVALID_VALUE;
      node.enabled = enabled != 0;
      return CUDA_SUCCESS;
    });
  });
}

} // extern "C"
