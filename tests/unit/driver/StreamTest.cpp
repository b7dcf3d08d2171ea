// Streams and events of the simulator: handles, order and modelled time.
#include "tests/unit/driver/SimulatorFixture.h"

using namespace tessera::test;

namespace {

class SimulatorStream : public Simulator {};

TEST_F(SimulatorStream, FactsAndHandles) {
  CUstream handle = nullptr;
  ASSERT_EQ(cuStreamCreateWithPriority(&handle, CU_STREAM_NON_BLOCKING, -99), CUDA_SUCCESS);
  int priority = 1;
  unsigned flags = 0;
  unsigned long long id = 0;
  CUdevice which = -1;
  CUcontext owner = nullptr;
  EXPECT_EQ(cuStreamGetPriority(handle, &priority), CUDA_SUCCESS);
  EXPECT_EQ(priority, -5) << "clamped to the range";
  EXPECT_EQ(cuStreamGetFlags(handle, &flags), CUDA_SUCCESS);
  EXPECT_EQ(flags, unsigned(CU_STREAM_NON_BLOCKING));
  EXPECT_EQ(cuStreamGetId(handle, &id), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamGetDevice(handle, &which), CUDA_SUCCESS);
  EXPECT_EQ(which, device);
  EXPECT_EQ(cuStreamGetCtx(handle, &owner), CUDA_SUCCESS);
  EXPECT_EQ(owner, context);
  EXPECT_EQ(cuStreamGetFlags(handle, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamGetFlags(bogus<CUstream>(), &flags), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamCreate(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamCreate(&handle, 64), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamQuery(handle), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(handle), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(handle), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamSynchronize(handle), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(SimulatorStream, DefaultStreamsHaveThreeNames) {
  for (CUstream handle : {CUstream(nullptr), CU_STREAM_LEGACY, CU_STREAM_PER_THREAD}) {
    EXPECT_EQ(launch(kernel(Minimal, "nothing"), handle), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamSynchronize(handle), CUDA_SUCCESS);
  }
}

TEST_F(SimulatorStream, HostFunctionsRunInOrder) {
  int order[2] = {}, next = 0;
  struct Step {
    int *slot, *next;
  } steps[] = {{&order[0], &next}, {&order[1], &next}};
  CUstream handle = stream();
  auto run = [](void *data) {
    Step *step = static_cast<Step *>(data);
    *step->slot = ++*step->next;
  };
  EXPECT_EQ(cuLaunchHostFunc(handle, run, &steps[0]), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamAddCallback(
                handle, [](CUstream, CUresult, void *data) { ++*static_cast<Step *>(data)->next; }, &steps[0], 0),
            CUDA_SUCCESS);
  EXPECT_EQ(cuLaunchHostFunc(handle, run, &steps[1]), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(handle), CUDA_SUCCESS);
  EXPECT_EQ(order[0], 1);
  EXPECT_EQ(order[1], 3);
  EXPECT_EQ(cuLaunchHostFunc(handle, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamAddCallback(handle, nullptr, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SimulatorStream, HostFunctionsMayNotCallTheDriver) {
  CUstream handle = stream();
  struct Call {
    CUstream stream;
    CUresult result;
  } call = {handle, CUDA_SUCCESS};
  auto wait = [](void *data) {
    Call *call = static_cast<Call *>(data);
    call->result = cuStreamSynchronize(call->stream);
  };
  EXPECT_EQ(cuLaunchHostFunc(handle, wait, &call), CUDA_SUCCESS);
  EXPECT_EQ(call.result, CUDA_ERROR_NOT_PERMITTED);
  EXPECT_EQ(cuStreamSynchronize(handle), CUDA_SUCCESS);
}

TEST_F(SimulatorStream, EventsMeasureModelledTime) {
  CUstream handle = stream();
  CUevent begin = event(), end = event();
  float milliseconds = -1;
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, begin, end), CUDA_ERROR_INVALID_HANDLE) << "not recorded";
  EXPECT_EQ(cuEventQuery(begin), CUDA_SUCCESS) << "nothing to wait for";
  EXPECT_EQ(cuEventRecord(begin, handle), CUDA_SUCCESS);
  EXPECT_EQ(launch(kernel(Minimal, "nothing"), handle), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecordWithFlags(end, handle, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuEventSynchronize(end), CUDA_SUCCESS);
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, begin, end), CUDA_SUCCESS);
  EXPECT_GT(milliseconds, 0);
  EXPECT_EQ(cuEventElapsedTime(nullptr, begin, end), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, begin, bogus<CUevent>()), CUDA_ERROR_INVALID_HANDLE);
  CUevent untimed = event(CU_EVENT_DISABLE_TIMING);
  EXPECT_EQ(cuEventRecord(untimed, handle), CUDA_SUCCESS);
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, begin, untimed), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(SimulatorStream, EventHandlesAreChecked) {
  CUevent handle = nullptr;
  EXPECT_EQ(cuEventCreate(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuEventCreate(&handle, 0x80), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuEventCreate(&handle, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING), CUDA_ERROR_NOT_SUPPORTED);
  handle = event();
  EXPECT_EQ(cuEventRecord(handle, bogus<CUstream>()), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventRecord(bogus<CUevent>(), nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamWaitEvent(nullptr, handle, 0), CUDA_SUCCESS) << "not recorded: nothing to wait for";
  EXPECT_EQ(cuStreamWaitEvent(nullptr, bogus<CUevent>(), 0), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamWaitEvent(nullptr, handle, 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuEventSynchronize(handle), CUDA_SUCCESS);
  EXPECT_EQ(cuEventDestroy(handle), CUDA_SUCCESS);
  EXPECT_EQ(cuEventDestroy(handle), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventSynchronize(handle), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(SimulatorStream, WaitingMovesTheModelledTime) {
  CUstream first = stream(), second = stream();
  CUfunction function = kernel(Minimal, "nothing");
  CUevent begin = event(), middle = event(), end = event();
  ASSERT_EQ(cuEventRecord(begin, second), CUDA_SUCCESS);
  for (int i = 0; i < 10; ++i)
    ASSERT_EQ(launch(function, first), CUDA_SUCCESS);
  ASSERT_EQ(cuEventRecord(middle, first), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamWaitEvent(second, middle, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuEventRecord(end, second), CUDA_SUCCESS);
  float work = 0, waited = 0;
  ASSERT_EQ(cuEventElapsedTime(&work, begin, middle), CUDA_SUCCESS);
  ASSERT_EQ(cuEventElapsedTime(&waited, begin, end), CUDA_SUCCESS);
  EXPECT_GT(work, 0);
  EXPECT_EQ(waited, work);
}

} // namespace
