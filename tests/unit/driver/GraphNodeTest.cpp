// Graphs built node by node on the simulator: topology, parameters, executables and their updates.
#include "tests/unit/driver/SimulatorFixture.h"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

using namespace tessera::test;

namespace {

class SimulatorGraphNode : public Simulator {
protected:
  void SetUp() override {
    Simulator::SetUp();
    copyWord = kernel(CopyWord, "copy_word");
    memory = allocate(64);
    ASSERT_EQ(cuMemsetD32(memory, 0, 16), CUDA_SUCCESS);
    ASSERT_EQ(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
    Simulator::TearDown();
  }

  /// memory[to] = memory[from] + 1
  CUgraphNode increment(unsigned to, unsigned from, std::vector<CUgraphNode> after = {}) {
    CUdeviceptr ends[] = {memory + 4 * to, memory + 4 * from};
    void *parameters[] = {&ends[0], &ends[1]};
    CUDA_KERNEL_NODE_PARAMS node = {copyWord, 1, 1, 1, 1, 1, 1, 0, parameters, nullptr, nullptr, nullptr};
    CUgraphNode handle = nullptr;
    EXPECT_EQ(cuGraphAddKernelNode(&handle, graph, after.data(), after.size(), &node), CUDA_SUCCESS);
    return handle;
  }
  CUgraphNode fill(unsigned word, unsigned value, std::vector<CUgraphNode> after = {}) {
    CUDA_MEMSET_NODE_PARAMS shape = {memory + 4 * word, 0, value, 4, 1, 1};
    CUgraphNode handle = nullptr;
    EXPECT_EQ(cuGraphAddMemsetNode(&handle, graph, after.data(), after.size(), &shape, context), CUDA_SUCCESS);
    return handle;
  }
  CUgraphExec instantiate() {
    CUgraphExec executable = nullptr;
    EXPECT_EQ(cuGraphInstantiate(&executable, graph, 0), CUDA_SUCCESS);
    return executable;
  }
  void run(CUgraphExec executable) {
    EXPECT_EQ(cuGraphLaunch(executable, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  }
  unsigned word(unsigned index) {
    unsigned value = 0;
    EXPECT_EQ(cuMemcpyDtoH(&value, memory + 4 * index, 4), CUDA_SUCCESS);
    return value;
  }

  CUfunction copyWord = nullptr;
  CUdeviceptr memory = 0;
  CUgraph graph = nullptr;
};

TEST_F(SimulatorGraphNode, EdgesDecideTheOrder) {
  CUgraphNode second = increment(1, 0), first = fill(0, 7); // added in the wrong order
  EXPECT_EQ(cuGraphAddDependencies(graph, &first, &second, nullptr, 1), CUDA_SUCCESS);
  run(instantiate());
  EXPECT_EQ(word(1), 8u);
  size_t count = 0;
  EXPECT_EQ(cuGraphGetEdges(graph, nullptr, nullptr, nullptr, &count), CUDA_SUCCESS);
  EXPECT_EQ(count, 1u);
  CUgraphNode from = nullptr, to = nullptr;
  EXPECT_EQ(cuGraphGetEdges(graph, &from, &to, nullptr, &count), CUDA_SUCCESS);
  EXPECT_EQ(from, first);
  EXPECT_EQ(to, second);
  CUgraphNode nodes[3] = {graph ? second : nullptr, nullptr, second};
  count = 3;
  EXPECT_EQ(cuGraphGetRootNodes(graph, nodes, &count), CUDA_SUCCESS);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(nodes[0], first);
  EXPECT_EQ(nodes[2], nullptr) << "what is not needed is cleared";
  count = 1;
  EXPECT_EQ(cuGraphNodeGetDependencies(second, nodes, nullptr, &count), CUDA_SUCCESS);
  EXPECT_EQ(nodes[0], first);
  EXPECT_EQ(cuGraphNodeGetDependentNodes(first, nodes, nullptr, &count), CUDA_SUCCESS);
  EXPECT_EQ(nodes[0], second);
}

TEST_F(SimulatorGraphNode, EdgesOfAllKindsOfWrongAreRefused) {
  CUgraphNode a = fill(0, 1), b = fill(1, 1), foreign = bogus<CUgraphNode>();
  EXPECT_EQ(cuGraphAddDependencies(graph, &a, &b, nullptr, 1), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphAddDependencies(graph, &a, &b, nullptr, 1), CUDA_ERROR_INVALID_VALUE) << "twice";
  EXPECT_EQ(cuGraphAddDependencies(graph, &a, &a, nullptr, 1), CUDA_ERROR_INVALID_VALUE) << "to itself";
  EXPECT_EQ(cuGraphAddDependencies(graph, &a, &foreign, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphRemoveDependencies(graph, &b, &a, nullptr, 1), CUDA_ERROR_INVALID_VALUE) << "no such edge";
  CUgraphEdgeData programmatic = {};
  programmatic.type = 1;
  EXPECT_EQ(cuGraphAddDependencies(graph, &b, &a, &programmatic, 1), CUDA_ERROR_NOT_SUPPORTED);
  CUgraphNode froms[] = {b, a}, tos[] = {a, b}; // the second is there already, so that neither is added
  EXPECT_EQ(cuGraphAddDependencies(graph, froms, tos, nullptr, 2), CUDA_ERROR_INVALID_VALUE);
  size_t count = 0;
  EXPECT_EQ(cuGraphGetEdges(graph, nullptr, nullptr, nullptr, &count), CUDA_SUCCESS);
  EXPECT_EQ(count, 1u);
  CUgraphNode node = nullptr, twice[] = {a, a};
  EXPECT_EQ(cuGraphAddEmptyNode(&node, graph, twice, 2), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SimulatorGraphNode, ACycleIsNoGraph) {
  CUgraphNode a = fill(0, 1), b = fill(1, 1);
  EXPECT_EQ(cuGraphAddDependencies(graph, &a, &b, nullptr, 1), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphAddDependencies(graph, &b, &a, nullptr, 1), CUDA_SUCCESS);
  CUgraphExec executable = nullptr;
  EXPECT_EQ(cuGraphInstantiate(&executable, graph, 0), CUDA_ERROR_INVALID_VALUE);
  CUDA_GRAPH_INSTANTIATE_PARAMS parameters = {};
  EXPECT_EQ(cuGraphInstantiateWithParams(&executable, graph, &parameters), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(parameters.result_out, CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
  EXPECT_EQ(cuGraphRemoveDependencies(graph, &b, &a, nullptr, 1), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphInstantiateWithParams(&executable, graph, &parameters), CUDA_SUCCESS);
  EXPECT_EQ(parameters.result_out, CUDA_GRAPH_INSTANTIATE_SUCCESS);
}

TEST_F(SimulatorGraphNode, EveryKindOfNodeRuns) {
  static int called;
  called = 0;
  CUevent mark = event();
  unsigned target = 0;
  CUgraphNode set = fill(0, 3), add = increment(1, 0, {set}), copy = nullptr, host = nullptr, record = nullptr,
              wait = nullptr, nothing = nullptr;
  CUDA_MEMCPY3D shape = {};
  shape.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  shape.srcDevice = memory + 4;
  shape.dstMemoryType = CU_MEMORYTYPE_HOST;
  shape.dstHost = &target;
  shape.WidthInBytes = 4;
  shape.Height = shape.Depth = 1;
  ASSERT_EQ(cuGraphAddMemcpyNode(&copy, graph, &add, 1, &shape, context), CUDA_SUCCESS);
  CUDA_HOST_NODE_PARAMS function = {[](void *count) { ++*static_cast<int *>(count); }, &called};
  ASSERT_EQ(cuGraphAddHostNode(&host, graph, &copy, 1, &function), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphAddEventRecordNode(&record, graph, &host, 1, mark), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphAddEventWaitNode(&wait, graph, &record, 1, mark), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphAddEmptyNode(&nothing, graph, &wait, 1), CUDA_SUCCESS);
  CUgraphExec executable = instantiate();
  run(executable);
  run(executable);
  EXPECT_EQ(target, 4u);
  EXPECT_EQ(called, 2);
  EXPECT_EQ(cuEventQuery(mark), CUDA_SUCCESS);
  std::pair<CUgraphNode, CUgraphNodeType> types[] = {
      {set, CU_GRAPH_NODE_TYPE_MEMSET},          {add, CU_GRAPH_NODE_TYPE_KERNEL},
      {copy, CU_GRAPH_NODE_TYPE_MEMCPY},         {host, CU_GRAPH_NODE_TYPE_HOST},
      {record, CU_GRAPH_NODE_TYPE_EVENT_RECORD}, {wait, CU_GRAPH_NODE_TYPE_WAIT_EVENT},
      {nothing, CU_GRAPH_NODE_TYPE_EMPTY}};
  for (auto [node, expected] : types) {
    CUgraphNodeType type;
    EXPECT_EQ(cuGraphNodeGetType(node, &type), CUDA_SUCCESS);
    EXPECT_EQ(type, expected);
  }
  CUevent got = nullptr;
  EXPECT_EQ(cuGraphEventRecordNodeGetEvent(record, &got), CUDA_SUCCESS);
  EXPECT_EQ(got, mark);
  EXPECT_EQ(cuGraphEventWaitNodeGetEvent(record, &got), CUDA_ERROR_INVALID_VALUE) << "of another kind";
}

TEST_F(SimulatorGraphNode, ParametersComeBackAndCanBeChanged) {
  CUgraphNode set = fill(0, 3), add = increment(1, 0, {set});
  CUDA_KERNEL_NODE_PARAMS got = {};
  ASSERT_EQ(cuGraphKernelNodeGetParams(add, &got), CUDA_SUCCESS);
  EXPECT_EQ(got.func, copyWord);
  EXPECT_EQ(*static_cast<CUdeviceptr *>(got.kernelParams[0]), memory + 4);
  EXPECT_EQ(*static_cast<CUdeviceptr *>(got.kernelParams[1]), memory);
  CUgraphExec before = instantiate();
  CUdeviceptr elsewhere = memory + 8;
  void *parameters[] = {&elsewhere, got.kernelParams[1]};
  got.kernelParams = parameters;
  EXPECT_EQ(cuGraphKernelNodeSetParams(add, &got), CUDA_SUCCESS);
  run(before);
  EXPECT_EQ(word(1), 4u) << "an executable keeps what it was made of";
  EXPECT_EQ(word(2), 0u);
  run(instantiate());
  EXPECT_EQ(word(2), 4u);
  CUDA_MEMSET_NODE_PARAMS shape = {};
  EXPECT_EQ(cuGraphMemsetNodeGetParams(set, &shape), CUDA_SUCCESS);
  EXPECT_EQ(shape.value, 3u);
  shape.value = 10;
  EXPECT_EQ(cuGraphMemsetNodeSetParams(set, &shape), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphMemsetNodeSetParams(add, &shape), CUDA_ERROR_INVALID_VALUE) << "of another kind";
  run(instantiate());
  EXPECT_EQ(word(2), 11u);
  got.gridDimX = 0;
  EXPECT_EQ(cuGraphKernelNodeSetParams(add, &got), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SimulatorGraphNode, ExecutablesCanBeChangedNodeByNode) {
  CUgraphNode set = fill(0, 3), add = increment(1, 0, {set});
  CUgraphExec executable = instantiate();
  CUDA_MEMSET_NODE_PARAMS shape = {memory, 0, 20, 4, 1, 1};
  EXPECT_EQ(cuGraphExecMemsetNodeSetParams(executable, set, &shape, context), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphExecMemsetNodeSetParams(executable, add, &shape, context), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphExecMemsetNodeSetParams(executable, bogus<CUgraphNode>(), &shape, context),
            CUDA_ERROR_INVALID_VALUE);
  run(executable);
  EXPECT_EQ(word(1), 21u);
  unsigned enabled = 0;
  EXPECT_EQ(cuGraphNodeGetEnabled(executable, set, &enabled), CUDA_SUCCESS);
  EXPECT_EQ(enabled, 1u);
  EXPECT_EQ(cuGraphNodeSetEnabled(executable, add, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemsetD32(memory, 0, 16), CUDA_SUCCESS);
  run(executable);
  EXPECT_EQ(word(0), 20u);
  EXPECT_EQ(word(1), 0u) << "switched off";
}

TEST_F(SimulatorGraphNode, UpdateTakesTheSameTopologyOnly) {
  CUgraphNode set = fill(0, 3);
  increment(1, 0, {set});
  CUgraphExec executable = instantiate();
  CUgraph first = graph;
  ASSERT_EQ(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
  CUgraphNode other = fill(0, 30);
  increment(2, 0, {other});
  CUgraphExecUpdateResultInfo info = {};
  EXPECT_EQ(cuGraphExecUpdate(executable, graph, &info), CUDA_SUCCESS);
  run(executable);
  EXPECT_EQ(word(2), 31u);
  EXPECT_EQ(word(1), 0u);
  CUDA_MEMSET_NODE_PARAMS shape = {memory, 0, 40, 4, 1, 1};
  EXPECT_EQ(cuGraphExecMemsetNodeSetParams(executable, set, &shape, context), CUDA_SUCCESS)
      << "nodes keep their first names";
  CUgraphNode extra = fill(5, 1);
  EXPECT_EQ(cuGraphExecUpdate(executable, graph, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
  EXPECT_EQ(info.errorNode, extra);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
  increment(1, 0);
  EXPECT_EQ(cuGraphExecUpdate(executable, graph, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
  fill(0, 30);
  CUgraphNode loose = increment(2, 0);
  EXPECT_EQ(cuGraphExecUpdate(executable, graph, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED) << "the same nodes without their edge";
  EXPECT_EQ(info.errorNode, loose);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  graph = first;
}

TEST_F(SimulatorGraphNode, ChildGraphsAreCopiesThatRunAsOneNode) {
  CUgraphNode set = fill(0, 3);
  increment(1, 0, {set});
  CUgraph inner = graph, embedded = nullptr;
  ASSERT_EQ(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
  CUgraphNode child = nullptr;
  ASSERT_EQ(cuGraphAddChildGraphNode(&child, graph, nullptr, 0, inner), CUDA_SUCCESS);
  increment(2, 1, {child});
  ASSERT_EQ(cuGraphChildGraphNodeGetGraph(child, &embedded), CUDA_SUCCESS);
  EXPECT_NE(embedded, inner);
  EXPECT_EQ(cuGraphDestroy(embedded), CUDA_ERROR_INVALID_VALUE) << "belongs to the node";
  CUgraphNode copied = nullptr;
  EXPECT_EQ(cuGraphNodeFindInClone(&copied, set, embedded), CUDA_SUCCESS);
  CUgraphExec executable = instantiate();
  EXPECT_EQ(cuGraphDestroy(inner), CUDA_SUCCESS);
  run(executable);
  EXPECT_EQ(word(2), 5u);
  CUDA_MEMSET_NODE_PARAMS shape = {memory, 0, 8, 4, 1, 1};
  EXPECT_EQ(cuGraphExecMemsetNodeSetParams(executable, copied, &shape, context), CUDA_SUCCESS);
  run(executable);
  EXPECT_EQ(word(2), 10u);
  EXPECT_EQ(cuGraphAddChildGraphNode(&child, graph, nullptr, 0, graph), CUDA_ERROR_INVALID_VALUE) << "of itself";
}

TEST_F(SimulatorGraphNode, ClonesStandAlone) {
  CUgraphNode set = fill(0, 3);
  increment(1, 0, {set});
  CUgraph clone = nullptr;
  ASSERT_EQ(cuGraphClone(&clone, graph), CUDA_SUCCESS);
  CUgraphNode twin = nullptr;
  ASSERT_EQ(cuGraphNodeFindInClone(&twin, set, clone), CUDA_SUCCESS);
  EXPECT_NE(twin, set);
  EXPECT_EQ(cuGraphNodeFindInClone(&twin, bogus<CUgraphNode>(), clone), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphDestroyNode(set), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroyNode(set), CUDA_ERROR_INVALID_VALUE);
  size_t count = 0;
  EXPECT_EQ(cuGraphGetNodes(graph, nullptr, &count), CUDA_SUCCESS);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(cuGraphGetNodes(clone, nullptr, &count), CUDA_SUCCESS);
  EXPECT_EQ(count, 2u);
  CUgraphExec executable = nullptr;
  ASSERT_EQ(cuGraphInstantiate(&executable, clone, 0), CUDA_SUCCESS);
  run(executable);
  EXPECT_EQ(word(1), 4u);
  EXPECT_EQ(cuGraphDestroy(clone), CUDA_SUCCESS);
  CUgraphNodeType type;
  EXPECT_EQ(cuGraphNodeGetType(twin, &type), CUDA_ERROR_INVALID_VALUE) << "went with its graph";
}

TEST_F(SimulatorGraphNode, TheGenericFormAddsAndSetsEveryKind) {
  CUgraphNodeParams parameters = {};
  parameters.type = CU_GRAPH_NODE_TYPE_MEMSET;
  parameters.memset = {memory, 0, 6, 4, 1, 1, context};
  CUgraphNode set = nullptr, add = nullptr, refused = nullptr;
  ASSERT_EQ(cuGraphAddNode(&set, graph, nullptr, nullptr, 0, &parameters), CUDA_SUCCESS);
  CUdeviceptr ends[] = {memory + 4, memory};
  void *values[] = {&ends[0], &ends[1]};
  parameters = {};
  parameters.type = CU_GRAPH_NODE_TYPE_KERNEL;
  parameters.kernel.func = copyWord;
  parameters.kernel.gridDimX = parameters.kernel.gridDimY = parameters.kernel.gridDimZ = 1;
  parameters.kernel.blockDimX = parameters.kernel.blockDimY = parameters.kernel.blockDimZ = 1;
  parameters.kernel.kernelParams = values;
  ASSERT_EQ(cuGraphAddNode(&add, graph, &set, nullptr, 1, &parameters), CUDA_SUCCESS);
  CUgraphExec executable = instantiate();
  run(executable);
  EXPECT_EQ(word(1), 7u);
  ends[0] = memory + 12;
  EXPECT_EQ(cuGraphExecNodeSetParams(executable, add, &parameters), CUDA_SUCCESS);
  run(executable);
  EXPECT_EQ(word(3), 7u);
  EXPECT_EQ(cuGraphNodeSetParams(set, &parameters), CUDA_ERROR_INVALID_VALUE) << "of another kind";
  parameters.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  EXPECT_EQ(cuGraphAddNode(&refused, graph, nullptr, nullptr, 0, &parameters), CUDA_ERROR_NOT_SUPPORTED);
  parameters.type = CUgraphNodeType(77);
  EXPECT_EQ(cuGraphAddNode(&refused, graph, nullptr, nullptr, 0, &parameters), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SimulatorGraphNode, KernelAttributesOfNodes) {
  CUgraphNode first = increment(1, 0), second = increment(2, 0);
  CUkernelNodeAttrValue value = {};
  value.priority = -2;
  EXPECT_EQ(cuGraphKernelNodeSetAttribute(first, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphKernelNodeCopyAttributes(second, first), CUDA_SUCCESS);
  value.priority = 0;
  EXPECT_EQ(cuGraphKernelNodeGetAttribute(second, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value), CUDA_SUCCESS);
  EXPECT_EQ(value.priority, -2);
  EXPECT_EQ(cuGraphKernelNodeGetAttribute(second, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value), CUDA_SUCCESS);
  EXPECT_EQ(value.clusterDim.x, 1u);
  EXPECT_EQ(cuGraphKernelNodeGetAttribute(fill(0, 1), CU_LAUNCH_ATTRIBUTE_PRIORITY, &value), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SimulatorGraphNode, DotTextNamesNodesAndEdges) {
  CUgraphNode set = fill(0, 3);
  increment(1, 0, {set});
  std::string path = testing::TempDir() + "simulator-graph.dot";
  ASSERT_EQ(cuGraphDebugDotPrint(graph, path.c_str(), 0), CUDA_SUCCESS);
  std::ifstream file(path);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  EXPECT_NE(text.find("digraph"), std::string::npos);
  EXPECT_NE(text.find("copy_word"), std::string::npos);
  EXPECT_NE(text.find("node_0 -> node_1"), std::string::npos) << text;
  std::remove(path.c_str());
  EXPECT_EQ(cuGraphDebugDotPrint(graph, "/no/such/folder/graph.dot", 0), CUDA_ERROR_OPERATING_SYSTEM);
  EXPECT_EQ(cuGraphDebugDotPrint(graph, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SimulatorGraphNode, UserObjectsLiveAsLongAsGraphsAndExecutables) {
  static int destroyed;
  destroyed = 0;
  CUuserObject object = nullptr;
  ASSERT_EQ(
      cuUserObjectCreate(
          &object, &destroyed, [](void *count) { ++*static_cast<int *>(count); }, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
      CUDA_SUCCESS);
  ASSERT_EQ(cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE), CUDA_SUCCESS);
  fill(0, 1);
  CUgraphExec executable = instantiate();
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(destroyed, 0) << "the executable holds it";
  EXPECT_EQ(cuGraphExecDestroy(executable), CUDA_SUCCESS);
  EXPECT_EQ(destroyed, 1);
  EXPECT_EQ(cuUserObjectRelease(object, 1), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
}

TEST_F(SimulatorGraphNode, CaptureShowsItsNodesAndTakesMore) {
  CUstream handle = stream();
  ASSERT_EQ(cuStreamBeginCapture(handle, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD32Async(memory, 5, 1, handle), CUDA_SUCCESS);
  CUstreamCaptureStatus status;
  cuuint64_t id = 0;
  CUgraph captured = nullptr;
  const CUgraphNode *tail = nullptr;
  size_t count = 0;
  ASSERT_EQ(cuStreamGetCaptureInfo(handle, &status, &id, &captured, &tail, nullptr, &count), CUDA_SUCCESS);
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  ASSERT_EQ(count, 1u);
  std::swap(graph, captured);
  CUgraphNode added = increment(1, 0, {tail[0]});
  std::swap(graph, captured);
  ASSERT_EQ(cuStreamUpdateCaptureDependencies(handle, &added, nullptr, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES),
            CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoDAsync(memory + 8, memory + 4, 4, handle), CUDA_SUCCESS);
  CUgraph ended = nullptr;
  ASSERT_EQ(cuStreamEndCapture(handle, &ended), CUDA_SUCCESS);
  EXPECT_EQ(ended, captured);
  CUgraphExec executable = nullptr;
  ASSERT_EQ(cuGraphInstantiate(&executable, ended, 0), CUDA_SUCCESS);
  run(executable);
  EXPECT_EQ(word(2), 6u);
  EXPECT_EQ(cuGraphDestroy(ended), CUDA_SUCCESS);
}

TEST_F(SimulatorGraphNode, CaptureAddsToAGraphOfTheCaller) {
  CUgraphNode set = fill(0, 11);
  CUstream handle = stream();
  ASSERT_EQ(cuStreamBeginCaptureToGraph(handle, graph, &set, nullptr, 1, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoDAsync(memory + 4, memory, 4, handle), CUDA_SUCCESS);
  CUgraph ended = nullptr;
  ASSERT_EQ(cuStreamEndCapture(handle, &ended), CUDA_SUCCESS);
  EXPECT_EQ(ended, graph);
  run(instantiate());
  EXPECT_EQ(word(1), 11u);
}

TEST_F(SimulatorGraphNode, ALaunchedGraphIsCapturedAsAChild) {
  fill(0, 11);
  CUgraphExec inner = instantiate();
  CUstream handle = stream();
  ASSERT_EQ(cuStreamBeginCapture(handle, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphLaunch(inner, handle), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoDAsync(memory + 4, memory, 4, handle), CUDA_SUCCESS);
  CUgraph outer = nullptr;
  ASSERT_EQ(cuStreamEndCapture(handle, &outer), CUDA_SUCCESS);
  EXPECT_EQ(word(0), 0u) << "captured, not run";
  CUgraphExec executable = nullptr;
  ASSERT_EQ(cuGraphInstantiate(&executable, outer, 0), CUDA_SUCCESS);
  run(executable);
  EXPECT_EQ(word(1), 11u);
  EXPECT_EQ(cuGraphDestroy(outer), CUDA_SUCCESS);
}

TEST_F(SimulatorGraphNode, TheLegacyStreamMayNotDependOnACapturingBlockingStream) {
  CUstream blocking = nullptr;
  ASSERT_EQ(cuStreamCreate(&blocking, CU_STREAM_DEFAULT), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  CUstreamCaptureStatus status;
  EXPECT_EQ(cuStreamIsCapturing(nullptr, &status), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  EXPECT_EQ(cuStreamIsCapturing(blocking, &status), CUDA_SUCCESS);
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE) << "asking changes nothing";
  EXPECT_EQ(cuMemsetD32Async(memory, 1, 1, nullptr), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  CUgraph ended = nullptr;
  EXPECT_EQ(cuStreamEndCapture(blocking, &ended), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(SimulatorGraphNode, DestroyingACapturingStreamEndsTheCapture) {
  CUstream handle = stream();
  CUdeviceptr more = 0;
  ASSERT_EQ(cuStreamBeginCapture(handle, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD32Async(memory, 1, 1, handle), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(handle), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAlloc(&more, 4), CUDA_SUCCESS) << "nothing is captured any more";
}

TEST_F(SimulatorGraphNode, WrongArgumentsAreRefused) {
  CUgraphNode node = nullptr;
  CUDA_KERNEL_NODE_PARAMS kernelNode = {};
  CUDA_MEMSET_NODE_PARAMS shape = {};
  CUDA_MEMCPY3D copy = {};
  CUDA_HOST_NODE_PARAMS host = {};
  EXPECT_EQ(cuGraphCreate(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphCreate(&graph, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphAddKernelNode(&node, graph, nullptr, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphAddKernelNode(&node, graph, nullptr, 0, &kernelNode), CUDA_ERROR_INVALID_VALUE);
  kernelNode.func = bogus<CUfunction>();
  EXPECT_EQ(cuGraphAddKernelNode(&node, graph, nullptr, 0, &kernelNode), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuGraphAddKernelNode(&node, bogus<CUgraph>(), nullptr, 0, &kernelNode), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphAddMemsetNode(&node, graph, nullptr, 0, &shape, context), CUDA_ERROR_INVALID_VALUE);
  copy.WidthInBytes = copy.Height = copy.Depth = 1;
  EXPECT_EQ(cuGraphAddMemcpyNode(&node, graph, nullptr, 0, &copy, context), CUDA_ERROR_INVALID_VALUE);
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  EXPECT_EQ(cuGraphAddMemcpyNode(&node, graph, nullptr, 0, &copy, context), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuGraphAddHostNode(&node, graph, nullptr, 0, &host), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphAddEventRecordNode(&node, graph, nullptr, 0, bogus<CUevent>()), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuGraphAddEmptyNode(nullptr, graph, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphAddEmptyNode(&node, graph, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphAddEmptyNode(&node, graph, &node, ~size_t(0)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphClone(&graph, bogus<CUgraph>()), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphGetNodes(graph, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  CUgraphExec executable = nullptr;
  EXPECT_EQ(cuGraphInstantiate(&executable, graph, 1 << 20), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphInstantiate(&executable, graph, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH),
            CUDA_ERROR_NOT_SUPPORTED);
}

} // namespace
