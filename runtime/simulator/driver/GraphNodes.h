// GraphNodes: what the entry points for graph nodes share, from the caller's structs to work and back.
#pragma once

#include "runtime/simulator/driver/Graph.h"

namespace tessera::sim::driver {

/// Nodes of `graph` by handle. INVALID_VALUE for others and null; NOT_SUPPORTED for edges that are not plain ones.
/// Wants State::graphsMutex held.
CUresult findNodes(const Graph &graph, const CUgraphNode *handles, const CUgraphEdgeData *edges, size_t count,
                   std::vector<std::shared_ptr<GraphNode>> *nodes);

/// Work as each kind of node states it, checked as at the call that would enqueue it. `current` is the context of
/// parameters that name none.
CUresult workOf(const std::shared_ptr<Context> &current, const CUDA_KERNEL_NODE_PARAMS &parameters, Work *work);
CUresult workOf(const std::shared_ptr<Context> &current, const CUDA_MEMCPY3D &shape, CUcontext context, Work *work);
CUresult workOf(const std::shared_ptr<Context> &current, const CUDA_MEMSET_NODE_PARAMS &shape, CUcontext context,
                Work *work);
CUresult workOf(const std::shared_ptr<Context> &current, const CUDA_HOST_NODE_PARAMS &parameters, Work *work);
CUresult eventWork(const std::shared_ptr<Context> &current, CUevent event, bool wait, Work *work);
CUresult childWork(const std::shared_ptr<Context> &current, CUgraph graph, Work *work);
CUresult workOf(const std::shared_ptr<Context> &current, const CUgraphNodeParams &parameters, Work *work);

/// Puts new parameters of the same kind into a node, and keeps what they do not state. INVALID_VALUE for another kind.
CUresult replaceWork(Work &old, Work fresh);

/// The node of an executable, or of a child's, that was made from a node of a graph; null: none. Calls `found` with it
/// and the executable's mutex held.
CUresult withExecNode(CUgraphExec executable, CUgraphNode node, const std::function<CUresult(ExecNode &)> &found);

} // namespace tessera::sim::driver
