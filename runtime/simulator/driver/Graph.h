// Graph: pieces of work, the graphs that order them, and streams that capture work into one.
#pragma once

#include "runtime/simulator/driver/Objects.h"

#include <variant>

namespace tessera::sim::driver {

struct Graph;
struct GraphExec;

/// One side of a copy: rows of a box. Host memory that no device has adopted has no device.
struct CopyEnd {
  Device *device = nullptr;
  CUdeviceptr address = 0; ///< of the first byte
  uint64_t pitch = 0;      ///< bytes from row to row
  uint64_t slice = 0;      ///< bytes from plane to plane
};

struct EmptyWork {};

struct KernelWork {
  std::shared_ptr<Function> function;
  CUfunction handle = nullptr; ///< as the caller named it, a kernel of a library too
  LaunchConfig config;
  bool cooperative = false;
  std::map<int, CUlaunchAttributeValue> attributes; ///< as given; they change nothing here beyond what stands above
  std::vector<void *> pointers;                     ///< into config.parameters, for cuGraphKernelNodeGetParams
};

struct CopyWork {
  CUDA_MEMCPY3D shape; ///< as the caller stated it
  CopyEnd to, from;
  uint64_t width = 0, height = 0, depth = 0;
};

struct FillWork {
  CUDA_MEMSET_NODE_PARAMS shape;
  Device *target = nullptr; ///< whose table holds the memory
};

struct HostWork {
  CUhostFn function = nullptr;
  void *data = nullptr;
};

struct EventRecordWork {
  std::shared_ptr<Event> event;
  CUevent handle = nullptr;
};

struct EventWaitWork {
  std::shared_ptr<Event> event;
  CUevent handle = nullptr;
};

struct ChildWork {
  std::shared_ptr<Graph> graph;
  CUgraph handle = nullptr;
  std::shared_ptr<GraphExec> executable; ///< in an executable graph only
};

/// One piece of stream work with all that it needs, so that it can run now or, captured, later and often. The order of
/// the alternatives is that of the names in workTypes.
struct Work {
  std::variant<EmptyWork, KernelWork, CopyWork, FillWork, HostWork, EventRecordWork, EventWaitWork, ChildWork> what;
  CUcontext context = nullptr;
  Device *device = nullptr; ///< of the context
};

CUgraphNodeType typeOf(const Work &work);

/// A node and its edges. The structure of all graphs is guarded by State::graphsMutex.
struct GraphNode {
  CUgraphNode handle = nullptr;
  CUgraphNode original = nullptr; ///< in a clone: the node that this is a copy of
  std::weak_ptr<Graph> graph;
  Work work;
  std::vector<std::weak_ptr<GraphNode>> dependencies, dependents;
};

struct Graph {
  CUgraph handle = nullptr;
  CUgraph original = nullptr;                    ///< of a clone
  bool child = false;                            ///< belongs to a node, which destroys it
  std::vector<std::shared_ptr<GraphNode>> nodes; ///< in the order in which they were added
  std::map<CUuserObject, unsigned> userObjects;  ///< references held
};

struct ExecNode {
  CUgraphNode node = nullptr; ///< that it was made from
  Work work;
  bool enabled = true;
  std::vector<size_t> dependencies; ///< indices of earlier nodes
};

/// A graph ready to run, in an order that its edges allow.
struct GraphExec {
  ~GraphExec(); ///< gives back the user objects

  std::map<CUuserObject, unsigned> userObjects; ///< references held
  std::mutex mutex;                             ///< guards the parameters of nodes
  std::vector<ExecNode> nodes;
  cuuint64_t flags = 0;
};

/// A capture under way. `graph` and the streams' tails are guarded by State::graphsMutex.
struct Capture {
  uint64_t id = 0;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;       ///< that began it
  std::weak_ptr<Stream> origin; ///< where it began, and must end
  std::shared_ptr<Graph> graph;
  bool ownGraph = true;                 ///< false: it adds to a graph of the caller
  std::atomic<bool> invalidated{false}; ///< a call that may not be captured was made
  std::mutex mutex;
  std::vector<std::weak_ptr<Stream>> joined; ///< streams that an event brought in; guarded by mutex
};

/// The functions below that change or read a graph's structure want State::graphsMutex held.

std::shared_ptr<Graph> makeGraph();
/// A new node behind `dependencies`, which are nodes of the same graph.
std::shared_ptr<GraphNode> addNode(const std::shared_ptr<Graph> &graph, Work work,
                                   const std::vector<std::shared_ptr<GraphNode>> &dependencies);
/// False when there is such an edge already, or both ends are one.
bool addEdge(const std::shared_ptr<GraphNode> &from, const std::shared_ptr<GraphNode> &to);
/// False when there is no such edge.
bool removeEdge(const std::shared_ptr<GraphNode> &from, const std::shared_ptr<GraphNode> &to);
void removeNode(const std::shared_ptr<GraphNode> &node);
/// A copy with nodes of its own, each of which knows its original.
std::shared_ptr<Graph> cloneGraph(const Graph &graph);
/// Takes the graph and its nodes out of the tables of handles, with the graphs of child nodes.
void forgetGraph(Graph &graph);
/// An executable with its nodes in the order of the edges; null when these have a cycle.
std::shared_ptr<GraphExec> instantiateGraph(const Graph &graph);

/// Runs one piece of work that may start at `earliest`, and tells its modelled end. Faults go to the work's context.
double perform(Work &work, double earliest);
/// Runs all of an executable graph likewise. Takes its mutex.
double perform(GraphExec &executable, double earliest);

} // namespace tessera::sim::driver
