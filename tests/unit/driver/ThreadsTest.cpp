// Host threads share the simulator; run under ThreadSanitizer as well.
#include "tests/unit/driver/SimulatorFixture.h"

#include <atomic>
#include <thread>
#include <vector>

using namespace tessera::test;

namespace {

class SimulatorThreads : public Simulator {};

TEST_F(SimulatorThreads, EachWithItsOwnStreamAndMemory) {
  ASSERT_EQ(tessera_sim_configure(R"({"threads": 2})"), 0); // of each launch
  CUmodule module = load(Saxpy);
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
      CUfunction function = nullptr;
      ASSERT_EQ(cuModuleGetFunction(&function, module, "saxpy"), CUDA_SUCCESS);
      for (int round = 0; round < 10; ++round) {
        constexpr unsigned Count = 64;
        CUstream own = stream();
        CUdeviceptr x = allocate(4 * Count), y = allocate(4 * Count);
        std::vector<float> values(Count, float(t));
        ASSERT_EQ(cuMemcpyHtoDAsync(x, values.data(), 4 * Count, own), CUDA_SUCCESS);
        ASSERT_EQ(cuMemsetD32Async(y, 0, Count, own), CUDA_SUCCESS);
        float a = 2;
        unsigned n = Count;
        void *parameters[] = {&y, &x, &a, &n};
        ASSERT_EQ(cuLaunchKernel(function, 4, 1, 1, Count / 4, 1, 1, 0, own, parameters, nullptr), CUDA_SUCCESS);
        ASSERT_EQ(cuMemcpyDtoHAsync(values.data(), y, 4 * Count, own), CUDA_SUCCESS);
        ASSERT_EQ(cuStreamSynchronize(own), CUDA_SUCCESS);
        right += values == std::vector<float>(Count, 2.0f * float(t));
        ASSERT_EQ(cuMemFree(x), CUDA_SUCCESS);
        ASSERT_EQ(cuMemFree(y), CUDA_SUCCESS);
        ASSERT_EQ(cuStreamDestroy(own), CUDA_SUCCESS);
      }
      ASSERT_EQ(cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
    });
  }
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(right, 40);
}

TEST_F(SimulatorThreads, OneStreamForAll) {
  CUfunction function = kernel(Minimal, "nothing");
  CUstream shared = stream();
  CUevent mark = event();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
      for (int round = 0; round < 20; ++round) {
        EXPECT_EQ(launch(function, shared), CUDA_SUCCESS);
        EXPECT_EQ(cuEventRecord(mark, shared), CUDA_SUCCESS);
        EXPECT_EQ(cuEventSynchronize(mark), CUDA_SUCCESS);
        EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
        EXPECT_NE(std::string(tessera_sim_report()), "");
        EXPECT_EQ(tessera_sim_configure(R"({"seed": 3})"), 0);
      }
    });
  }
  for (std::thread &thread : threads)
    thread.join();
}

TEST_F(SimulatorThreads, DestroyingWhileOthersCallIsAnErrorNotACrash) {
  CUcontext own = nullptr;
  ASSERT_EQ(cuCtxCreate(&own, nullptr, 0, device), CUDA_SUCCESS);
  CUfunction function = kernel(Minimal, "nothing");
  CUstream handle = stream();
  std::atomic<bool> stop{false};
  std::atomic<int> running{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      ASSERT_EQ(cuCtxSetCurrent(own), CUDA_SUCCESS);
      ++running;
      while (!stop) {
        CUresult result = launch(function, handle);
        EXPECT_TRUE(result == CUDA_SUCCESS || result == CUDA_ERROR_INVALID_HANDLE ||
                    result == CUDA_ERROR_CONTEXT_IS_DESTROYED)
            << result;
        CUdeviceptr memory = 0;
        if (cuMemAlloc(&memory, 16) == CUDA_SUCCESS)
          (void)cuMemFree(memory);
      }
    });
  }
  while (running < 3)
    std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(cuCtxDestroy(own), CUDA_SUCCESS);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  stop = true;
  for (std::thread &thread : threads)
    thread.join();
}

TEST_F(SimulatorThreads, GraphsPoolsAndHostMemoryWhileTheContextIsReset) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      while (!stop) { // any call may find its context or its handles gone; none may hang or crash
        (void)cuCtxSetCurrent(context);
        CUmodule module = nullptr;
        CUfunction function = nullptr;
        CUstream own = nullptr;
        CUgraph graph = nullptr;
        CUgraphExec executable = nullptr;
        CUdeviceptr memory = 0;
        void *pinned = nullptr;
        (void)cuModuleLoadData(&module, Minimal);
        (void)cuModuleGetFunction(&function, module, "nothing");
        (void)cuStreamCreate(&own, CU_STREAM_NON_BLOCKING);
        (void)cuMemAllocHost(&pinned, 64);
        (void)cuMemAllocAsync(&memory, 64, own);
        (void)cuStreamBeginCapture(own, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
        (void)cuMemsetD8Async(memory, 1, 64, own);
        (void)cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, own, nullptr, nullptr);
        (void)cuStreamEndCapture(own, &graph);
        if (cuGraphInstantiate(&executable, graph, 0) == CUDA_SUCCESS)
          (void)cuGraphLaunch(executable, own);
        (void)cuStreamSynchronize(own);
        (void)cuGraphExecDestroy(executable);
        (void)cuGraphDestroy(graph);
        (void)cuMemFreeAsync(memory, own);
        (void)cuMemFreeHost(pinned);
        (void)cuStreamDestroy(own);
      }
    });
  }
  for (int round = 0; round < 20; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    EXPECT_EQ(cuDevicePrimaryCtxReset(device), CUDA_SUCCESS);
  }
  stop = true;
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(cuMemFree(allocate(16)), CUDA_SUCCESS) << "the context works on";
}

} // namespace
