// cuGraph*: making, copying and taking apart graphs, and questions about their nodes and edges.
#include "runtime/simulator/driver/GraphNodes.h"
#include "runtime/simulator/driver/State.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <span>

using namespace tessera::sim::driver;

namespace {

/// Runs the body with the graph and the mutex of all graphs.
template <typename Body> CUresult withGraph(CUgraph handle, Body body) {
  return initialised([&]() -> CUresult {
    std::lock_guard lock(state().graphsMutex);
    std::shared_ptr<Graph> graph = state().graphs.find(handle);
    return graph ? body(graph) : CUDA_ERROR_INVALID_VALUE;
  });
}

template <typename Body> CUresult withNode(CUgraphNode handle, Body body) {
  return initialised([&]() -> CUresult {
    std::lock_guard lock(state().graphsMutex);
    std::shared_ptr<GraphNode> node = state().graphNodes.find(handle);
    return node ? body(node) : CUDA_ERROR_INVALID_VALUE;
  });
}

/// Answers a list the way the driver does: without a buffer its length, else as much as fits, the rest zero.
CUresult answer(std::span<const CUgraphNode> nodes, CUgraphNode *out, size_t *count) {
  if (!count)
    return CUDA_ERROR_INVALID_VALUE;
  if (out) {
    for (size_t i = 0; i < *count; ++i)
      out[i] = i < nodes.size() ? nodes[i] : nullptr;
    *count = std::min(*count, nodes.size());
  } else {
    *count = nodes.size();
  }
  return CUDA_SUCCESS;
}

CUresult neighbours(const std::vector<std::weak_ptr<GraphNode>> &list, CUgraphNode *out, CUgraphEdgeData *edges,
                    size_t *count) {
  std::vector<CUgraphNode> handles;
  for (const std::weak_ptr<GraphNode> &entry : list)
    if (std::shared_ptr<GraphNode> node = entry.lock())
      handles.push_back(node->handle);
  if (!count || (edges && !out))
    return CUDA_ERROR_INVALID_VALUE;
  if (edges)
    std::fill_n(edges, std::min(*count, handles.size()), CUgraphEdgeData{});
  return answer(handles, out, count);
}

CUresult changeEdges(CUgraph handle, const CUgraphNode *from, const CUgraphNode *to, const CUgraphEdgeData *edges,
                     size_t count,
                     bool (*change)(const std::shared_ptr<GraphNode> &, const std::shared_ptr<GraphNode> &),
                     bool (*undo)(const std::shared_ptr<GraphNode> &, const std::shared_ptr<GraphNode> &)) {
  return withGraph(handle, [&](const std::shared_ptr<Graph> &graph) -> CUresult {
    if (count && (!from || !to))
      return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; ++i) {
      std::vector<std::shared_ptr<GraphNode>> ends;
      CUresult result = findNodes(*graph, from + i, edges ? edges + i : nullptr, 1, &ends);
      if (result == CUDA_SUCCESS)
        result = findNodes(*graph, to + i, nullptr, 1, &ends);
      if (result == CUDA_SUCCESS && !change(ends[0], ends[1]))
        result = CUDA_ERROR_INVALID_VALUE;
      if (result == CUDA_SUCCESS)
        continue;
      for (size_t k = 0; k < i; ++k) // all or none
        undo(state().graphNodes.find(from[k]), state().graphNodes.find(to[k]));
      return result;
    }
    return CUDA_SUCCESS;
  });
}

std::string labelOf(const GraphNode &node) {
  if (auto *kernel = std::get_if<KernelWork>(&node.work.what)) {
    const auto &config = kernel->config;
    return fmt::format("KERNEL\\n{}\\n<<<({},{},{}), ({},{},{}), {}>>>", config.kernel, config.grid.x, config.grid.y,
                       config.grid.z, config.block.x, config.block.y, config.block.z, config.dynamicSharedBytes);
  }
  if (auto *copy = std::get_if<CopyWork>(&node.work.what))
    return fmt::format("MEMCPY\\n{} x {} x {} bytes\\n{:#x} from {:#x}", copy->width, copy->height, copy->depth,
                       copy->to.address, copy->from.address);
  if (auto *fill = std::get_if<FillWork>(&node.work.what))
    return fmt::format("MEMSET\\n{} x {} elements of {} bytes\\n{:#x} = {:#x}", fill->shape.width, fill->shape.height,
                       fill->shape.elementSize, fill->shape.dst, fill->shape.value);
  constexpr const char *names[] = {"EMPTY", "KERNEL",       "MEMCPY",     "MEMSET",
                                   "HOST",  "EVENT_RECORD", "EVENT_WAIT", "GRAPH"};
  static_assert(std::size(names) == std::variant_size_v<decltype(Work::what)>);
  return names[node.work.what.index()];
}

/// Node names are counted from the graph's first, so that the same program writes the same text.
std::string dotOf(const Graph &graph) {
  std::string text = "digraph dot {\n";
  std::map<const GraphNode *, size_t> number;
  for (const std::shared_ptr<GraphNode> &node : graph.nodes) {
    size_t own = number.size();
    number[node.get()] = own;
    text += fmt::format("  node_{} [shape=box label=\"{}: {}\"];\n", own, own, labelOf(*node));
  }
  for (const std::shared_ptr<GraphNode> &node : graph.nodes)
    for (const std::weak_ptr<GraphNode> &dependency : node->dependencies)
      if (auto live = dependency.lock())
        text += fmt::format("  node_{} -> node_{};\n", number[live.get()], number[node.get()]);
  return text + "}\n";
}

} // namespace

extern "C" {

CUresult cuGraphCreate(CUgraph *handle, unsigned flags) {
  return initialised([&]() -> CUresult {
    if (!handle || flags != 0)
      return CUDA_ERROR_INVALID_VALUE;
    *handle = makeGraph()->handle;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphDestroy(CUgraph handle) {
  return withGraph(handle, [&](const std::shared_ptr<Graph> &graph) -> CUresult {
    if (graph->child)
      return CUDA_ERROR_INVALID_VALUE;
    forgetGraph(*graph);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphClone(CUgraph *handle, CUgraph original) {
  return withGraph(original, [&](const std::shared_ptr<Graph> &graph) -> CUresult {
    if (!handle)
      return CUDA_ERROR_INVALID_VALUE;
    *handle = cloneGraph(*graph)->handle;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphNodeFindInClone(CUgraphNode *handle, CUgraphNode original, CUgraph clone) {
  return withGraph(clone, [&](const std::shared_ptr<Graph> &graph) -> CUresult {
    if (!handle)
      return CUDA_ERROR_INVALID_VALUE;
    for (const std::shared_ptr<GraphNode> &node : graph->nodes)
      if (original && node->original == original) {
        *handle = node->handle;
        return CUDA_SUCCESS;
      }
    return CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType *type) {
  return withNode(handle, [&](const std::shared_ptr<GraphNode> &node) -> CUresult {
    if (!type)
      return CUDA_ERROR_INVALID_VALUE;
    *type = typeOf(node->work);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode *nodes, size_t *count) {
  return withGraph(handle, [&](const std::shared_ptr<Graph> &graph) {
    std::vector<CUgraphNode> handles;
    for (const std::shared_ptr<GraphNode> &node : graph->nodes)
      handles.push_back(node->handle);
    return answer(handles, nodes, count);
  });
}

CUresult cuGraphGetRootNodes(CUgraph handle, CUgraphNode *nodes, size_t *count) {
  return withGraph(handle, [&](const std::shared_ptr<Graph> &graph) {
    std::vector<CUgraphNode> handles;
    for (const std::shared_ptr<GraphNode> &node : graph->nodes)
      if (node->dependencies.empty())
        handles.push_back(node->handle);
    return answer(handles, nodes, count);
  });
}

CUresult cuGraphGetEdges_v2(CUgraph handle, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *edges, size_t *count) {
  return withGraph(handle, [&](const std::shared_ptr<Graph> &graph) -> CUresult {
    if (!count || (from == nullptr) != (to == nullptr) || (edges && !from))
      return CUDA_ERROR_INVALID_VALUE;
    std::vector<CUgraphNode> sources, targets;
    for (const std::shared_ptr<GraphNode> &node : graph->nodes)
      for (const std::weak_ptr<GraphNode> &dependency : node->dependencies)
        if (auto live = dependency.lock()) {
          sources.push_back(live->handle);
          targets.push_back(node->handle);
        }
    size_t room = *count;
    answer(sources, from, count);
    *count = room;
    if (edges)
      std::fill_n(edges, std::min(room, sources.size()), CUgraphEdgeData{});
    return answer(targets, to, count);
  });
}

CUresult cuGraphNodeGetDependencies_v2(CUgraphNode handle, CUgraphNode *nodes, CUgraphEdgeData *edges, size_t *count) {
  return withNode(handle, [&](const std::shared_ptr<GraphNode> &node) {
    return neighbours(node->dependencies, nodes, edges, count);
  });
}

CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode handle, CUgraphNode *nodes, CUgraphEdgeData *edges,
                                         size_t *count) {
  return withNode(handle, [&](const std::shared_ptr<GraphNode> &node) {
    return neighbours(node->dependents, nodes, edges, count);
  });
}

CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                   const CUgraphEdgeData *edges, size_t count) {
  return changeEdges(graph, from, to, edges, count, addEdge, removeEdge);
}

CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                      const CUgraphEdgeData *edges, size_t count) {
  return changeEdges(graph, from, to, edges, count, removeEdge, addEdge);
}

CUresult cuGraphDestroyNode(CUgraphNode handle) {
  return withNode(handle, [&](const std::shared_ptr<GraphNode> &node) -> CUresult {
    removeNode(node);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphDebugDotPrint(CUgraph handle, const char *path, unsigned) {
  return withGraph(handle, [&](const std::shared_ptr<Graph> &graph) -> CUresult {
    if (!path)
      return CUDA_ERROR_INVALID_VALUE;
    std::FILE *file = std::fopen(path, "w");
    if (!file)
      return CUDA_ERROR_OPERATING_SYSTEM;
    std::string text = dotOf(*graph);
    bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    return std::fclose(file) == 0 && written ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
  });
}

} // extern "C"
