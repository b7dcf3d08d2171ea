// The structure of graphs: nodes, edges, copies, and the order in which an executable runs them.
#include "runtime/simulator/driver/Graph.h"

#include "runtime/simulator/driver/State.h"

#include <algorithm>
#include <unordered_map>

namespace tessera::sim::driver {

CUgraphNodeType typeOf(const Work &work) {
  constexpr CUgraphNodeType types[] = {CU_GRAPH_NODE_TYPE_EMPTY,      CU_GRAPH_NODE_TYPE_KERNEL,
                                       CU_GRAPH_NODE_TYPE_MEMCPY,     CU_GRAPH_NODE_TYPE_MEMSET,
                                       CU_GRAPH_NODE_TYPE_HOST,       CU_GRAPH_NODE_TYPE_EVENT_RECORD,
                                       CU_GRAPH_NODE_TYPE_WAIT_EVENT, CU_GRAPH_NODE_TYPE_GRAPH};
  static_assert(std::size(types) == std::variant_size_v<decltype(Work::what)>);
  return types[work.what.index()];
}

std::shared_ptr<Graph> makeGraph() {
  auto graph = std::make_shared<Graph>();
  graph->handle = state().graphs.add(graph);
  return graph;
}

bool addEdge(const std::shared_ptr<GraphNode> &from, const std::shared_ptr<GraphNode> &to) {
  if (from == to)
    return false;
  for (const std::weak_ptr<GraphNode> &known : to->dependencies)
    if (known.lock() == from)
      return false;
  to->dependencies.push_back(from);
  from->dependents.push_back(to);
  return true;
}

bool removeEdge(const std::shared_ptr<GraphNode> &from, const std::shared_ptr<GraphNode> &to) {
  size_t removed = std::erase_if(to->dependencies, [&](const auto &known) { return known.lock() == from; });
  std::erase_if(from->dependents, [&](const auto &known) { return known.lock() == to; });
  return removed != 0;
}

std::shared_ptr<GraphNode> addNode(const std::shared_ptr<Graph> &graph, Work work,
                                   const std::vector<std::shared_ptr<GraphNode>> &dependencies) {
  auto node = std::make_shared<GraphNode>();
  node->graph = graph;
  node->work = std::move(work);
  if (auto *kernel = std::get_if<KernelWork>(&node->work.what)) {
    kernel->pointers.clear();
    for (const ParameterInfo &parameter : kernel->function->info->parameters)
      kernel->pointers.push_back(kernel->config.parameters.data() + parameter.offset);
  }
  if (auto *child = std::get_if<ChildWork>(&node->work.what)) {
    child->graph = cloneGraph(*child->graph);
    child->graph->child = true;
    child->handle = child->graph->handle;
  }
  node->handle = state().graphNodes.add(node);
  for (const std::shared_ptr<GraphNode> &dependency : dependencies)
    addEdge(dependency, node);
  graph->nodes.push_back(node);
  return node;
}

void removeNode(const std::shared_ptr<GraphNode> &node) {
  std::vector<std::weak_ptr<GraphNode>> before = node->dependencies, after = node->dependents;
  for (const auto &other : before)
    if (std::shared_ptr<GraphNode> live = other.lock())
      removeEdge(live, node);
  for (const auto &other : after)
    if (std::shared_ptr<GraphNode> live = other.lock())
      removeEdge(node, live);
  if (std::shared_ptr<Graph> graph = node->graph.lock())
    std::erase(graph->nodes, node);
  if (auto *child = std::get_if<ChildWork>(&node->work.what))
    forgetGraph(*child->graph);
  state().graphNodes.remove(node->handle);
}

void forgetGraph(Graph &graph) {
  for (const std::shared_ptr<GraphNode> &node : graph.nodes) {
    state().graphNodes.remove(node->handle);
    if (auto *child = std::get_if<ChildWork>(&node->work.what))
      forgetGraph(*child->graph);
  }
  releaseUserObjects(graph.userObjects);
  state().graphs.remove(graph.handle);
}

std::shared_ptr<Graph> cloneGraph(const Graph &graph) {
  std::shared_ptr<Graph> clone = makeGraph();
  clone->original = graph.handle;
  clone->userObjects = retainUserObjects(graph.userObjects);
  std::unordered_map<const GraphNode *, std::shared_ptr<GraphNode>> copies;
  for (const std::shared_ptr<GraphNode> &node : graph.nodes) {
    std::shared_ptr<GraphNode> copy = addNode(clone, node->work, {});
    copy->original = node->handle;
    copies[node.get()] = std::move(copy);
  }
  for (const std::shared_ptr<GraphNode> &node : graph.nodes)
    for (const std::weak_ptr<GraphNode> &dependency : node->dependencies)
      if (std::shared_ptr<GraphNode> live = dependency.lock())
        addEdge(copies.at(live.get()), copies.at(node.get()));
  return clone;
}

GraphExec::~GraphExec() { releaseUserObjects(userObjects); }

std::shared_ptr<GraphExec> instantiateGraph(const Graph &graph) {
  // Of the nodes whose dependencies have all been placed, the one that was added first goes next.
  auto executable = std::make_shared<GraphExec>();
  executable->userObjects = retainUserObjects(graph.userObjects);
  std::unordered_map<const GraphNode *, size_t> placed;
  std::vector<std::shared_ptr<GraphNode>> waiting = graph.nodes;
  while (!waiting.empty()) {
    std::vector<std::shared_ptr<GraphNode>> later;
    for (const std::shared_ptr<GraphNode> &node : waiting) {
      ExecNode entry;
      bool ready = true;
      for (const std::weak_ptr<GraphNode> &dependency : node->dependencies) {
        auto found = placed.find(dependency.lock().get());
        ready &= found != placed.end();
        if (found != placed.end())
          entry.dependencies.push_back(found->second);
      }
      if (!ready) {
        later.push_back(node);
        continue;
      }
      entry.node = node->handle;
      entry.work = node->work;
      if (auto *child = std::get_if<ChildWork>(&entry.work.what)) {
        child->executable = instantiateGraph(*child->graph);
        if (!child->executable)
          return nullptr;
      }
      placed[node.get()] = executable->nodes.size();
      executable->nodes.push_back(std::move(entry));
    }
    if (later.size() == waiting.size())
      return nullptr;
    waiting = std::move(later);
  }
  return executable;
}

} // namespace tessera::sim::driver
