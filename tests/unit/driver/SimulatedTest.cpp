// Forks, captures and several devices, on the simulator.
#include "runtime/driver/DeviceBuffer.h"
#include "runtime/driver/DriverSymbols.h"
#include "runtime/driver/Module.h"
#include "tests/unit/driver/Child.h"
#include "tests/unit/driver/Kernels.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

using namespace tessera;

namespace {

TEST(Simulated, B6_85_ChildOfAnOpenerIsRefused) {
  auto device = openDriver("sim:a100");
  ASSERT_TRUE(device) << device.status().text();
  auto context = *Context::open(*device);
  auto child = [&] {
    return test::expectRefused("Driver::open", Driver::open(device->driver->library()).status()) +
           test::expectRefused("openDriver", openDriver("sim:h100").status()) +
           test::expectRefused("synchronize", context->synchronize());
  };
  EXPECT_EQ(test::inChild(child), "");
  EXPECT_TRUE(context->synchronize().ok());
}

TEST(Simulated, DevicesOfTwoArchitecturesRunSideBySide) {
  std::vector<std::shared_ptr<const Context>> contexts;
  for (const char *name : {"sim:a100", "sim:h100", "sim:a100"}) {
    auto device = openDriver(name);
    ASSERT_TRUE(device) << device.status().text();
    auto context = Context::open(*device);
    ASSERT_TRUE(context) << context.status().text();
    contexts.push_back(*context);
  }
  EXPECT_EQ(contexts[0]->info().major, 8u);
  EXPECT_EQ(contexts[1]->info().major, 9u);
  EXPECT_EQ(contexts[0]->handle(), contexts[2]->handle());
  std::vector<std::thread> threads;
  for (const auto &context : contexts)
    threads.emplace_back([&context] {
      auto module = Module::load(context, test::Saxpy);
      ASSERT_TRUE(module) << module.status().text();
      auto saxpy = (*module)->function("saxpy");
      auto x = DeviceBuffer::allocate(context, 256), y = DeviceBuffer::allocate(context, 256);
      ASSERT_TRUE(saxpy && x && y);
      float values[64], results[64];
      std::fill(std::begin(values), std::end(values), 3.0f);
      ASSERT_TRUE(x->upload(values, 256).ok() && y->upload(values, 256).ok());
      uint64_t addressY = y->address(), addressX = x->address();
      float a = 2;
      unsigned count = 64;
      void *parameters[] = {&addressY, &addressX, &a, &count};
      LaunchShape shape;
      shape.block = {64, 1, 1};
      Status launched = saxpy->launch(shape, parameters, nullptr);
      ASSERT_TRUE(launched.ok()) << launched.text();
      ASSERT_TRUE(y->download(results, 256).ok());
      for (float result : results)
        ASSERT_EQ(result, 9.0f);
    });
  for (std::thread &thread : threads)
    thread.join();
}

/// A capture of the simulator's, in a stream that waits for the default stream or not.
TEST(Simulated, B6_83_QuestionLeavesTheCaptureValid) {
  auto device = openDriver("sim:a100");
  ASSERT_TRUE(device) << device.status().text();
  auto context = *Context::open(*device);
  auto module = Module::load(context, test::Minimal);
  ASSERT_TRUE(module) << module.status().text();
  auto kernel = *(*module)->function("nothing");
  auto find = [&]<typename Entry>(Entry *, const char *name) {
    return reinterpret_cast<Entry *>(context->driver().find(name));
  };
  auto *begin = find(&cuStreamBeginCapture, "cuStreamBeginCapture_v2");
  auto *end = find(&cuStreamEndCapture, "cuStreamEndCapture");
  auto *destroy = find(&cuGraphDestroy, "cuGraphDestroy");
  ASSERT_TRUE(begin && end && destroy);

  for (unsigned flags : {CU_STREAM_DEFAULT, CU_STREAM_NON_BLOCKING}) {
    CUstream captured = nullptr, other = nullptr;
    {
      ScopedContext scope(*context);
      ASSERT_EQ(context->symbols().cuStreamCreate(&captured, flags), CUDA_SUCCESS);
      ASSERT_EQ(context->symbols().cuStreamCreate(&other, flags), CUDA_SUCCESS);
      ASSERT_EQ(begin(captured, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    }
    const bool blocking = flags == CU_STREAM_DEFAULT;
    EXPECT_TRUE(*context->capturing(captured));
    EXPECT_EQ(*context->capturing(other), blocking);
    EXPECT_EQ(*context->capturing(nullptr), blocking);
    EXPECT_TRUE(kernel.launch({}, nullptr, captured).ok());
    {
      ScopedContext scope(*context);
      CUgraph graph = nullptr;
      EXPECT_EQ(end(captured, &graph), CUDA_SUCCESS) << "the capture was invalidated";
      EXPECT_EQ(destroy(graph), CUDA_SUCCESS);
      EXPECT_EQ(context->symbols().cuStreamDestroy(captured), CUDA_SUCCESS);
      EXPECT_EQ(context->symbols().cuStreamDestroy(other), CUDA_SUCCESS);
    }
    EXPECT_FALSE(*context->capturing(nullptr));
  }
}

} // namespace
