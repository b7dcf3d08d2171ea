// Turns the parameters of graph nodes into work, and finds nodes by handle.
#include "runtime/simulator/driver/GraphNodes.h"

#include "runtime/simulator/driver/Copy.h"
#include "runtime/simulator/driver/Launch.h"
#include "runtime/simulator/driver/State.h"

namespace tessera::sim::driver {

namespace {

/// The context that a node's parameters name, or the current one.
CUresult contextOf(const std::shared_ptr<Context> &current, CUcontext handle, std::shared_ptr<Context> *context) {
  *context = handle ? state().contexts.find(handle) : current;
  return *context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

} // namespace

CUresult findNodes(const Graph &graph, const CUgraphNode *handles, const CUgraphEdgeData *edges, size_t count,
                   std::vector<std::shared_ptr<GraphNode>> *nodes) {
  if (count && !handles)
    return CUDA_ERROR_INVALID_VALUE;
  if (count > graph.nodes.size())
    return CUDA_ERROR_INVALID_VALUE; // more than there are must repeat one
  for (size_t i = 0; i < count; ++i) {
    std::shared_ptr<GraphNode> node = state().graphNodes.find(handles[i]);
    if (!node || node->graph.lock().get() != &graph)
      return CUDA_ERROR_INVALID_VALUE;
    if (edges && (edges[i].from_port || edges[i].to_port || edges[i].type))
      return CUDA_ERROR_NOT_SUPPORTED;
    nodes->push_back(std::move(node));
  }
  return CUDA_SUCCESS;
}

CUresult workOf(const std::shared_ptr<Context> &current, const CUDA_KERNEL_NODE_PARAMS &parameters, Work *work) {
  LaunchRequest request;
  std::shared_ptr<Context> context = current;
  request.handle = parameters.func;
  if (!parameters.func) {
    request.handle = reinterpret_cast<CUfunction>(parameters.kern);
    if (CUresult result = contextOf(current, parameters.ctx, &context); result != CUDA_SUCCESS)
      return result;
  } else if (std::shared_ptr<Function> function = state().functions.find(parameters.func)) {
    context = function->context.lock();
    if (!context)
      return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  }
  if (!request.handle)
    return CUDA_ERROR_INVALID_VALUE;
  request.config.grid = {parameters.gridDimX, parameters.gridDimY, parameters.gridDimZ};
  request.config.block = {parameters.blockDimX, parameters.blockDimY, parameters.blockDimZ};
  request.config.dynamicSharedBytes = parameters.sharedMemBytes;
  request.parameters = parameters.kernelParams;
  request.extra = parameters.extra;
  KernelWork kernel;
  if (CUresult result = makeLaunch(*context, request, &kernel); result != CUDA_SUCCESS)
    return result;
  *work = makeWork(*context, std::move(kernel));
  return CUDA_SUCCESS;
}

CUresult workOf(const std::shared_ptr<Context> &current, const CUDA_MEMCPY3D &shape, CUcontext handle, Work *work) {
  std::shared_ptr<Context> context;
  if (CUresult result = contextOf(current, handle, &context); result != CUDA_SUCCESS)
    return result;
  CopyWork copy;
  if (CUresult result = makeCopy(*context, shape, &copy); result != CUDA_SUCCESS)
    return result;
  *work = makeWork(*context, copy);
  return CUDA_SUCCESS;
}

CUresult workOf(const std::shared_ptr<Context> &current, const CUDA_MEMSET_NODE_PARAMS &shape, CUcontext handle,
                Work *work) {
  std::shared_ptr<Context> context;
  if (CUresult result = contextOf(current, handle, &context); result != CUDA_SUCCESS)
    return result;
  FillWork fill;
  if (CUresult result = makeFill(*context, shape, &fill); result != CUDA_SUCCESS)
    return result;
  *work = makeWork(*context, fill);
  return CUDA_SUCCESS;
}

CUresult workOf(const std::shared_ptr<Context> &current, const CUDA_HOST_NODE_PARAMS &parameters, Work *work) {
  if (!parameters.fn)
    return CUDA_ERROR_INVALID_VALUE;
  *work = makeWork(*current, HostWork{parameters.fn, parameters.userData});
  return CUDA_SUCCESS;
}

CUresult eventWork(const std::shared_ptr<Context> &current, CUevent handle, bool wait, Work *work) {
  std::shared_ptr<Event> event = state().events.find(handle);
  if (!event)
    return CUDA_ERROR_INVALID_HANDLE;
  *work = wait ? makeWork(*current, EventWaitWork{event, handle}) : makeWork(*current, EventRecordWork{event, handle});
  return CUDA_SUCCESS;
}

CUresult childWork(const std::shared_ptr<Context> &current, CUgraph handle, Work *work) {
  std::shared_ptr<Graph> graph = state().graphs.find(handle);
  if (!graph)
    return CUDA_ERROR_INVALID_VALUE;
  *work = makeWork(*current, ChildWork{graph, handle, nullptr});
  return CUDA_SUCCESS;
}

CUresult workOf(const std::shared_ptr<Context> &current, const CUgraphNodeParams &parameters, Work *work) {
  switch (parameters.type) {
  case CU_GRAPH_NODE_TYPE_KERNEL: {
    const CUDA_KERNEL_NODE_PARAMS_v3 &k = parameters.kernel;
    return workOf(current,
                  CUDA_KERNEL_NODE_PARAMS{k.func, k.gridDimX, k.gridDimY, k.gridDimZ, k.blockDimX, k.blockDimY,
                                          k.blockDimZ, k.sharedMemBytes, k.kernelParams, k.extra, k.kern, k.ctx},
                  work);
  }
  case CU_GRAPH_NODE_TYPE_MEMCPY:
    if (parameters.memcpy.flags || parameters.memcpy.reserved)
      return CUDA_ERROR_INVALID_VALUE;
    return workOf(current, parameters.memcpy.copyParams, parameters.memcpy.copyCtx, work);
  case CU_GRAPH_NODE_TYPE_MEMSET: {
    const CUDA_MEMSET_NODE_PARAMS_v2 &m = parameters.memset;
    return workOf(current, CUDA_MEMSET_NODE_PARAMS{m.dst, m.pitch, m.value, m.elementSize, m.width, m.height}, m.ctx,
                  work);
  }
  case CU_GRAPH_NODE_TYPE_HOST:
    return workOf(current, CUDA_HOST_NODE_PARAMS{parameters.host.fn, parameters.host.userData}, work);
  case CU_GRAPH_NODE_TYPE_GRAPH:
    if (parameters.graph.ownership != CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE)
      return CUDA_ERROR_NOT_SUPPORTED;
    return childWork(current, parameters.graph.graph, work);
  case CU_GRAPH_NODE_TYPE_EMPTY:
    *work = makeWork(*current, EmptyWork{});
    return CUDA_SUCCESS;
  case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    return eventWork(current, parameters.eventWait.event, true, work);
  case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
    return eventWork(current, parameters.eventRecord.event, false, work);
  case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
  case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
  case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
  case CU_GRAPH_NODE_TYPE_MEM_FREE:
  case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
  case CU_GRAPH_NODE_TYPE_CONDITIONAL:
    return CUDA_ERROR_NOT_SUPPORTED;
  default:
    return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult replaceWork(Work &old, Work fresh) {
  if (old.what.index() != fresh.what.index())
    return CUDA_ERROR_INVALID_VALUE;
  if (auto *kernel = std::get_if<KernelWork>(&fresh.what)) {
    const KernelWork &former = std::get<KernelWork>(old.what);
    kernel->cooperative = former.cooperative; // attributes stay
    kernel->attributes = former.attributes;
    for (const ParameterInfo &parameter : kernel->function->info->parameters)
      kernel->pointers.push_back(kernel->config.parameters.data() + parameter.offset);
  }
  old = std::move(fresh);
  return CUDA_SUCCESS;
}

namespace {

/// True when the node was there.
bool visitExecNode(GraphExec &executable, CUgraphNode node, const std::function<CUresult(ExecNode &)> &found,
                   CUresult *result) {
  std::lock_guard lock(executable.mutex);
  for (ExecNode &candidate : executable.nodes) {
    if (candidate.node == node) {
      *result = found(candidate);
      return true;
    }
    if (auto *child = std::get_if<ChildWork>(&candidate.work.what))
      if (visitExecNode(*child->executable, node, found, result))
        return true;
  }
  return false;
}

} // namespace

CUresult withExecNode(CUgraphExec handle, CUgraphNode node, const std::function<CUresult(ExecNode &)> &found) {
  std::shared_ptr<GraphExec> executable = state().graphExecs.find(handle);
  if (!executable || !node)
    return CUDA_ERROR_INVALID_VALUE;
  CUresult result = CUDA_ERROR_INVALID_VALUE;
  visitExecNode(*executable, node, found, &result);
  return result;
}

} // namespace tessera::sim::driver
