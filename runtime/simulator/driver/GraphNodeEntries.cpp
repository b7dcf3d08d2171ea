// cuGraphAdd*Node and the parameters of nodes, in graphs and in executables.
#include "runtime/simulator/driver/GraphNodes.h"
#include "runtime/simulator/driver/Launch.h"
#include "runtime/simulator/driver/State.h"

using namespace tessera::sim;
using namespace tessera::sim::driver;

namespace {

/// Adds a node whose work `make` builds: CUresult(const std::shared_ptr<Context> &, Work *).
template <typename Make>
CUresult add(CUgraphNode *out, CUgraph graphHandle, const CUgraphNode *dependencies, const CUgraphEdgeData *edges,
             size_t count, Make make) {
  return inContext([&](std::shared_ptr<Context> &current) -> CUresult {
    std::shared_ptr<Graph> graph = state().graphs.find(graphHandle);
    if (!out || !graph)
      return CUDA_ERROR_INVALID_VALUE;
    Work work;
    if (CUresult result = make(current, &work); result != CUDA_SUCCESS)
      return result;
    std::lock_guard lock(state().graphsMutex);
    std::vector<std::shared_ptr<GraphNode>> before;
    if (CUresult result = findNodes(*graph, dependencies, edges, count, &before); result != CUDA_SUCCESS)
      return result;
    for (size_t i = 0; i < before.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        if (before[i] == before[j])
          return CUDA_ERROR_INVALID_VALUE;
    if (auto *child = std::get_if<ChildWork>(&work.what); child && child->graph == graph)
      return CUDA_ERROR_INVALID_VALUE;
    *out = addNode(graph, std::move(work), before)->handle;
    return CUDA_SUCCESS;
  });
}

/// Reads a node's work of one kind. The body runs with the graphs' mutex held.
template <typename Kind, typename Body> CUresult withWork(CUgraphNode handle, Body body) {
  return initialised([&]() -> CUresult {
    std::lock_guard lock(state().graphsMutex);
    std::shared_ptr<GraphNode> node = state().graphNodes.find(handle);
    Kind *work = node ? std::get_if<Kind>(&node->work.what) : nullptr;
    return work ? body(*work, *node) : CUDA_ERROR_INVALID_VALUE;
  });
}

template <typename Make> CUresult setNode(CUgraphNode handle, Make make) {
  return inContext([&](std::shared_ptr<Context> &current) -> CUresult {
    if (!state().graphNodes.find(handle))
      return CUDA_ERROR_INVALID_VALUE;
    Work work;
    if (CUresult result = make(current, &work); result != CUDA_SUCCESS)
      return result;
    std::lock_guard lock(state().graphsMutex);
    std::shared_ptr<GraphNode> node = state().graphNodes.find(handle);
    return node && typeOf(work) != CU_GRAPH_NODE_TYPE_GRAPH ? replaceWork(node->work, std::move(work))
                                                            : CUDA_ERROR_INVALID_VALUE;
  });
}

template <typename Make> CUresult setExec(CUgraphExec executable, CUgraphNode handle, Make make) {
  return inContext([&](std::shared_ptr<Context> &current) -> CUresult {
    return withExecNode(executable, handle, [&](ExecNode &node) -> CUresult {
      Work work;
      if (CUresult result = make(current, &work); result != CUDA_SUCCESS)
        return result;
      if (typeOf(work) == CU_GRAPH_NODE_TYPE_GRAPH) // cuGraphExecChildGraphNodeSetParams
        return CUDA_ERROR_INVALID_VALUE;
      return replaceWork(node.work, std::move(work));
    });
  });
}

template <typename Parameters> auto fromParameters(const Parameters *parameters) {
  return [parameters](const std::shared_ptr<Context> &current, Work *work) -> CUresult {
    return parameters ? workOf(current, *parameters, work) : CUDA_ERROR_INVALID_VALUE;
  };
}
template <typename Shape> auto fromShape(const Shape *shape, CUcontext context) {
  return [shape, context](const std::shared_ptr<Context> &current, Work *work) -> CUresult {
    return shape ? workOf(current, *shape, context, work) : CUDA_ERROR_INVALID_VALUE;
  };
}
auto fromEvent(CUevent event, bool wait) {
  return [event, wait](const std::shared_ptr<Context> &current, Work *work) {
    return eventWork(current, event, wait, work);
  };
}

template <typename Kind> CUresult getEvent(CUgraphNode handle, CUevent *event) {
  return withWork<Kind>(handle, [&](Kind &work, GraphNode &) -> CUresult {
    if (!event)
      return CUDA_ERROR_INVALID_VALUE;
    *event = work.handle;
    return CUDA_SUCCESS;
  });
}

/// A node's own context, for new parameters that name none.
CUcontext contextOf(CUgraphNode handle) {
  std::lock_guard lock(state().graphsMutex);
  std::shared_ptr<GraphNode> node = state().graphNodes.find(handle);
  return node ? node->work.context : nullptr;
}

} // namespace

extern "C" {

CUresult cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                                 const CUDA_KERNEL_NODE_PARAMS *parameters) {
  return add(node, graph, dependencies, nullptr, count, fromParameters(parameters));
}
CUresult cuGraphAddMemcpyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                              const CUDA_MEMCPY3D *shape, CUcontext context) {
  return add(node, graph, dependencies, nullptr, count, fromShape(shape, context));
}
CUresult cuGraphAddMemsetNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                              const CUDA_MEMSET_NODE_PARAMS *shape, CUcontext context) {
  return add(node, graph, dependencies, nullptr, count, fromShape(shape, context));
}
CUresult cuGraphAddHostNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                            const CUDA_HOST_NODE_PARAMS *parameters) {
  return add(node, graph, dependencies, nullptr, count, fromParameters(parameters));
}
CUresult cuGraphAddEmptyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count) {
  return add(node, graph, dependencies, nullptr, count, [](const std::shared_ptr<Context> &current, Work *work) {
    *work = makeWork(*current, EmptyWork{});
    return CUDA_SUCCESS;
  });
}
CUresult cuGraphAddEventRecordNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                                   CUevent event) {
  return add(node, graph, dependencies, nullptr, count, fromEvent(event, false));
}
CUresult cuGraphAddEventWaitNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                                 CUevent event) {
  return add(node, graph, dependencies, nullptr, count, fromEvent(event, true));
}
CUresult cuGraphAddChildGraphNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                                  CUgraph child) {
  return add(node, graph, dependencies, nullptr, count,
             [&](const std::shared_ptr<Context> &current, Work *work) { return childWork(current, child, work); });
}
CUresult cuGraphAddNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                           const CUgraphEdgeData *edges, size_t count, CUgraphNodeParams *parameters) {
  CUresult result = add(node, graph, dependencies, edges, count, fromParameters(parameters));
  if (result == CUDA_SUCCESS && parameters->type == CU_GRAPH_NODE_TYPE_GRAPH)
    return cuGraphChildGraphNodeGetGraph(*node, &parameters->graph.graph);
  return result;
}

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode handle, CUDA_KERNEL_NODE_PARAMS *out) {
  return withWork<KernelWork>(handle, [&](KernelWork &work, GraphNode &node) -> CUresult {
    if (!out)
      return CUDA_ERROR_INVALID_VALUE;
    const LaunchConfig &config = work.config;
    auto kernel = reinterpret_cast<CUkernel>(work.handle);
    bool library = state().kernels.find(kernel) != nullptr;
    *out = {library ? nullptr : work.handle,
            config.grid.x,
            config.grid.y,
            config.grid.z,
            config.block.x,
            config.block.y,
            config.block.z,
            config.dynamicSharedBytes,
            work.pointers.data(),
            nullptr,
            library ? kernel : nullptr,
            node.work.context};
    return CUDA_SUCCESS;
  });
}
CUresult cuGraphMemcpyNodeGetParams(CUgraphNode handle, CUDA_MEMCPY3D *out) {
  return withWork<CopyWork>(handle, [&](CopyWork &work, GraphNode &) -> CUresult {
    if (!out)
      return CUDA_ERROR_INVALID_VALUE;
    *out = work.shape;
    return CUDA_SUCCESS;
  });
}
CUresult cuGraphMemsetNodeGetParams(CUgraphNode handle, CUDA_MEMSET_NODE_PARAMS *out) {
  return withWork<FillWork>(handle, [&](FillWork &work, GraphNode &) -> CUresult {
    if (!out)
      return CUDA_ERROR_INVALID_VALUE;
    *out = work.shape;
    return CUDA_SUCCESS;
  });
}
CUresult cuGraphHostNodeGetParams(CUgraphNode handle, CUDA_HOST_NODE_PARAMS *out) {
  return withWork<HostWork>(handle, [&](HostWork &work, GraphNode &) -> CUresult {
    if (!out)
      return CUDA_ERROR_INVALID_VALUE;
    *out = {work.function, work.data};
    return CUDA_SUCCESS;
  });
}
CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode handle, CUgraph *graph) {
  return withWork<ChildWork>(handle, [&](ChildWork &work, GraphNode &) -> CUresult {
    if (!graph)
      return CUDA_ERROR_INVALID_VALUE;
    *graph = work.handle;
    return CUDA_SUCCESS;
  });
}
CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode handle, CUevent *event) {
  return getEvent<EventRecordWork>(handle, event);
}
CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode handle, CUevent *event) {
  return getEvent<EventWaitWork>(handle, event);
}

CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode handle, const CUDA_KERNEL_NODE_PARAMS *parameters) {
  return setNode(handle, fromParameters(parameters));
}
CUresult cuGraphMemcpyNodeSetParams(CUgraphNode handle, const CUDA_MEMCPY3D *shape) {
  return setNode(handle, fromShape(shape, contextOf(handle)));
}
CUresult cuGraphMemsetNodeSetParams(CUgraphNode handle, const CUDA_MEMSET_NODE_PARAMS *shape) {
  return setNode(handle, fromShape(shape, contextOf(handle)));
}
CUresult cuGraphHostNodeSetParams(CUgraphNode handle, const CUDA_HOST_NODE_PARAMS *parameters) {
  return setNode(handle, fromParameters(parameters));
}
CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode handle, CUevent event) {
  return setNode(handle, fromEvent(event, false));
}
CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode handle, CUevent event) {
  return setNode(handle, fromEvent(event, true));
}
CUresult cuGraphNodeSetParams(CUgraphNode handle, CUgraphNodeParams *parameters) {
  return setNode(handle, fromParameters(parameters));
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec executable, CUgraphNode handle,
                                           const CUDA_KERNEL_NODE_PARAMS *parameters) {
  return setExec(executable, handle, fromParameters(parameters));
}
CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec executable, CUgraphNode handle, const CUDA_MEMCPY3D *shape,
                                        CUcontext context) {
  return setExec(executable, handle, fromShape(shape, context));
}
CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec executable, CUgraphNode handle,
                                        const CUDA_MEMSET_NODE_PARAMS *shape, CUcontext context) {
  return setExec(executable, handle, fromShape(shape, context));
}
CUresult cuGraphExecHostNodeSetParams(CUgraphExec executable, CUgraphNode handle,
                                      const CUDA_HOST_NODE_PARAMS *parameters) {
  return setExec(executable, handle, fromParameters(parameters));
}
CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec executable, CUgraphNode handle, CUevent event) {
  return setExec(executable, handle, fromEvent(event, false));
}
CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec executable, CUgraphNode handle, CUevent event) {
  return setExec(executable, handle, fromEvent(event, true));
}
CUresult cuGraphExecNodeSetParams(CUgraphExec executable, CUgraphNode handle, CUgraphNodeParams *parameters) {
  return setExec(executable, handle, fromParameters(parameters));
}

CUresult cuGraphKernelNodeGetAttribute(CUgraphNode handle, CUkernelNodeAttrID id, CUkernelNodeAttrValue *value) {
  return withWork<KernelWork>(handle, [&](KernelWork &work, GraphNode &) -> CUresult {
    LaunchRequest probe;
    CUlaunchAttributeValue zero = {};
    if (id == CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION)
      zero.preferredClusterDim = {1, 1, 1};
    if (!value || id == CU_LAUNCH_ATTRIBUTE_IGNORE)
      return CUDA_ERROR_INVALID_VALUE;
    if (CUresult result = readAttribute(id, zero, &probe); result != CUDA_SUCCESS)
      return result;
    auto set = work.attributes.find(int(id));
    *value = set == work.attributes.end() ? CUlaunchAttributeValue{} : set->second;
    if (id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
      value->clusterDim = {work.config.cluster.x, work.config.cluster.y, work.config.cluster.z};
    if (id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
      value->cooperative = work.cooperative;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphKernelNodeSetAttribute(CUgraphNode handle, CUkernelNodeAttrID id, const CUkernelNodeAttrValue *value) {
  return withWork<KernelWork>(handle, [&](KernelWork &work, GraphNode &) -> CUresult {
    if (!value)
      return CUDA_ERROR_INVALID_VALUE;
    LaunchRequest request;
    request.config.cluster = work.config.cluster;
    request.cooperative = work.cooperative;
    if (CUresult result = readAttribute(id, *value, &request); result != CUDA_SUCCESS)
      return result;
    if (request.config.cluster.count() != 1)
      return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    work.cooperative = request.cooperative;
    work.attributes.merge(request.attributes);
    work.attributes[int(id)] = *value;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from) {
  return withWork<KernelWork>(from, [&](KernelWork &source, GraphNode &) -> CUresult {
    std::shared_ptr<GraphNode> node = state().graphNodes.find(to);
    KernelWork *target = node ? std::get_if<KernelWork>(&node->work.what) : nullptr;
    if (!target)
      return CUDA_ERROR_INVALID_VALUE;
    target->attributes = source.attributes;
    target->cooperative = source.cooperative;
    return CUDA_SUCCESS;
  });
}

} // extern "C"
