// Stream capture on the simulator: what it records, what it forbids, and that the graph runs.
#include "tests/unit/driver/SimulatorFixture.h"

#include <thread>

using namespace tessera::test;

namespace {

class SimulatorGraph : public Simulator {
protected:
  void SetUp() override {
    Simulator::SetUp();
    kernelBefore = kernel(Minimal, "nothing"); // nothing may be loaded during a capture
  }
  CUfunction kernelBefore = nullptr;

  CUstreamCaptureStatus status(CUstream handle) {
    CUstreamCaptureStatus value = CU_STREAM_CAPTURE_STATUS_NONE;
    EXPECT_EQ(cuStreamIsCapturing(handle, &value), CUDA_SUCCESS);
    return value;
  }
};

TEST_F(SimulatorGraph, CapturedWorkRunsWhenLaunched) {
  CUstream handle = stream();
  CUdeviceptr memory = allocate(4);
  unsigned value = 0;
  ASSERT_EQ(cuMemsetD32(memory, 1, 1), CUDA_SUCCESS);
  CUfunction store = kernel(Faults, "store");
  void *parameters[] = {&memory};
  ASSERT_EQ(cuStreamBeginCapture(handle, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(status(handle), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_EQ(cuStreamBeginCapture(handle, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(launch(store, handle, parameters), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD8Async(memory + 3, 2, 1, handle), CUDA_SUCCESS);
  CUgraph graph = nullptr;
  ASSERT_EQ(cuStreamEndCapture(handle, &graph), CUDA_SUCCESS);
  EXPECT_EQ(status(handle), CU_STREAM_CAPTURE_STATUS_NONE);
  ASSERT_EQ(cuMemcpyDtoH(&value, memory, 4), CUDA_SUCCESS);
  EXPECT_EQ(value, 1u) << "captured, not run";
  size_t nodes = 0;
  EXPECT_EQ(cuGraphGetNodes(graph, nullptr, &nodes), CUDA_SUCCESS);
  EXPECT_EQ(nodes, 2u);

  CUgraphExec executable = nullptr;
  ASSERT_EQ(cuGraphInstantiate(&executable, graph, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphUpload(executable, handle), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphLaunch(executable, handle), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(handle), CUDA_SUCCESS);
  ASSERT_EQ(cuMemcpyDtoH(&value, memory, 4), CUDA_SUCCESS);
  EXPECT_EQ(value, 0x02000005u);
  EXPECT_EQ(cuGraphExecDestroy(executable), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphLaunch(executable, handle), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphExecDestroy(executable), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SimulatorGraph, UnsafeCallsAreRefusedAndInvalidateTheCapture) {
  CUstream handle = stream();
  CUdeviceptr memory = 0;
  CUmodule module = nullptr;
  CUgraph graph = nullptr;
  auto expectInvalidating = [&](auto call, const char *what) {
    ASSERT_EQ(cuStreamBeginCapture(handle, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    EXPECT_EQ(call(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) << what;
    EXPECT_EQ(status(handle), CU_STREAM_CAPTURE_STATUS_INVALIDATED) << what;
    EXPECT_EQ(cuMemsetD8Async(0, 0, 0, handle), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    EXPECT_EQ(cuStreamEndCapture(handle, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) << what;
    EXPECT_EQ(graph, nullptr);
    EXPECT_EQ(status(handle), CU_STREAM_CAPTURE_STATUS_NONE) << what;
  };
  expectInvalidating([&] { return cuMemAlloc(&memory, 4); }, "allocate");
  expectInvalidating([&] { return cuModuleLoadData(&module, Minimal); }, "load");
  expectInvalidating([&] { return cuCtxSynchronize(); }, "synchronise the context");
  expectInvalidating([&] { return cuStreamSynchronize(handle); }, "synchronise the stream");
}

TEST_F(SimulatorGraph, ModesDecideWhoIsForbiddenWhat) {
  CUstream handle = stream();
  CUgraph graph = nullptr;
  auto allocateElsewhere = [&] {
    CUresult result = CUDA_SUCCESS;
    std::thread([&] {
      CUdeviceptr memory;
      ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
      result = cuMemAlloc(&memory, 4);
    }).join();
    return result;
  };
  ASSERT_EQ(cuStreamBeginCapture(handle, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(allocateElsewhere(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(cuStreamEndCapture(handle, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

  ASSERT_EQ(cuStreamBeginCapture(handle, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
  EXPECT_EQ(allocateElsewhere(), CUDA_SUCCESS);
  std::thread([&] {
    ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamEndCapture(handle, &graph), CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  }).join();
  EXPECT_EQ(cuStreamEndCapture(handle, &graph), CUDA_SUCCESS);

  CUdeviceptr memory = 0;
  ASSERT_EQ(cuStreamBeginCapture(handle, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  EXPECT_EQ(cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAlloc(&memory, 4), CUDA_SUCCESS) << "the thread relaxed itself";
  EXPECT_EQ(cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
  EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_EQ(cuStreamEndCapture(handle, &graph), CUDA_SUCCESS);
}

TEST_F(SimulatorGraph, EventsBringOtherStreamsIn) {
  CUstream first = stream(), second = stream();
  CUevent fork = event(), join = event();
  CUgraph graph = nullptr;
  ASSERT_EQ(cuStreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecord(fork, first), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitEvent(second, fork, 0), CUDA_SUCCESS);
  EXPECT_EQ(status(second), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_EQ(launch(kernelBefore, second), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamEndCapture(second, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  EXPECT_EQ(cuEventRecord(join, second), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitEvent(first, join, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamEndCapture(first, &graph), CUDA_SUCCESS);
  EXPECT_EQ(status(second), CU_STREAM_CAPTURE_STATUS_NONE);
  size_t nodes = 0;
  EXPECT_EQ(cuGraphGetNodes(graph, nullptr, &nodes), CUDA_SUCCESS);
  EXPECT_EQ(nodes, 1u);
}

TEST_F(SimulatorGraph, AnEventMayBeRecordedBehindItsOwnRecordNode) {
  // The node holds the event, and the event remembers the node: neither may keep the other for ever, which the leak
  // checker of a sanitizer build would tell.
  CUstream first = stream(), second = stream();
  CUdeviceptr memory = allocate(4);
  CUevent event = nullptr, joined = nullptr;
  ASSERT_EQ(cuEventCreate(&event, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuEventCreate(&joined, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecordWithFlags(event, first, CU_EVENT_RECORD_EXTERNAL), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecord(event, first), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitEvent(second, event, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD8Async(memory, 2, 4, second), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecord(joined, second), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitEvent(first, joined, 0), CUDA_SUCCESS);
  CUgraph graph = nullptr;
  ASSERT_EQ(cuStreamEndCapture(first, &graph), CUDA_SUCCESS);
  size_t nodes = 0, roots = 0;
  EXPECT_EQ(cuGraphGetNodes(graph, nullptr, &nodes), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphGetRootNodes(graph, nullptr, &roots), CUDA_SUCCESS);
  EXPECT_EQ(nodes, 2u);
  EXPECT_EQ(roots, 1u) << "the fill is behind the record";
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
  EXPECT_EQ(cuEventDestroy(joined), CUDA_SUCCESS);
}

TEST_F(SimulatorGraph, AskingACapturedEventIsRefusedAndInvalidatesTheCapture) {
  for (auto ask : {&cuEventQuery, &cuEventSynchronize}) {
    CUstream handle = stream();
    CUevent mark = event();
    CUgraph graph = nullptr;
    ASSERT_EQ(cuStreamBeginCapture(handle, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    EXPECT_EQ(cuEventRecord(mark, handle), CUDA_SUCCESS);
    EXPECT_EQ(ask(mark), CUDA_ERROR_CAPTURED_EVENT);
    EXPECT_EQ(status(handle), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    EXPECT_EQ(cuStreamEndCapture(handle, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  }
}

TEST_F(SimulatorGraph, UnjoinedWorkIsRefused) {
  CUstream first = stream(), second = stream();
  CUevent fork = event();
  CUgraph graph = nullptr;
  ASSERT_EQ(cuStreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecord(fork, first), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitEvent(second, fork, 0), CUDA_SUCCESS);
  EXPECT_EQ(launch(kernelBefore, second), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamEndCapture(first, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  EXPECT_EQ(status(second), CU_STREAM_CAPTURE_STATUS_NONE);
}

TEST_F(SimulatorGraph, WrongArgumentsAreRefused) {
  CUstream handle = stream();
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  CUstreamCaptureStatus capture;
  cuuint64_t id = 0;
  EXPECT_EQ(cuStreamBeginCapture(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
      << "a default stream";
  EXPECT_EQ(cuStreamBeginCapture(handle, CUstreamCaptureMode(9)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamBeginCapture(bogus<CUstream>(), CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamEndCapture(handle, &graph), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(cuStreamEndCapture(handle, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamIsCapturing(handle, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamGetCaptureInfo(handle, &capture, &id, nullptr, nullptr, nullptr, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(capture, CU_STREAM_CAPTURE_STATUS_NONE);
  EXPECT_EQ(cuStreamGetCaptureInfo(handle, nullptr, &id, nullptr, nullptr, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphInstantiate(&executable, bogus<CUgraph>(), 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphLaunch(bogus<CUgraphExec>(), handle), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphUpload(bogus<CUgraphExec>(), handle), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuThreadExchangeStreamCaptureMode(nullptr), CUDA_ERROR_INVALID_VALUE);
}

} // namespace
