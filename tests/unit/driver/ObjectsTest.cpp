// The RAII types of runtime/driver, on the simulator.
#include "runtime/driver/DeviceBuffer.h"
#include "runtime/driver/DriverSymbols.h"
#include "runtime/driver/Module.h"
#include "tests/unit/driver/Kernels.h"

#include <gtest/gtest.h>

#include <numeric>

using namespace tessera;

namespace {

std::shared_ptr<const Context> openContext(const char *name = "sim:a100") {
  auto device = openDriver(name);
  if (!device)
    throw std::runtime_error(device.status().text());
  auto context = Context::open(*device);
  if (!context)
    throw std::runtime_error(context.status().text());
  return *context;
}

TEST(Context, KnowsTheDevice) {
  auto context = openContext();
  const DeviceInfo &info = context->info();
  EXPECT_NE(info.name.find("A100"), std::string::npos);
  EXPECT_NE(info.name.find("simulator"), std::string::npos);
  EXPECT_EQ(info.smCount, 108u);
  EXPECT_EQ(info.sharedBytesPerBlock, 163u * 1024);
  EXPECT_EQ(info.memoryBytes, uint64_t(80) << 30);
  EXPECT_EQ(info.clockKHz, 1410'000u);
  EXPECT_TRUE(context->synchronize().ok());
}

TEST(Context, ScopeRestoresWhatWasCurrent) {
  auto a100 = openContext("sim:a100"), h100 = openContext("sim:h100");
  const DriverSymbols &symbols = a100->symbols();
  CUcontext current = nullptr;
  ASSERT_EQ(symbols.cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
  {
    ScopedContext outer(*a100);
    ASSERT_TRUE(outer.status().ok());
    {
      ScopedContext inner(*h100);
      ASSERT_EQ(symbols.cuCtxGetCurrent(&current), CUDA_SUCCESS);
      EXPECT_EQ(current, h100->handle());
    }
    ASSERT_EQ(symbols.cuCtxGetCurrent(&current), CUDA_SUCCESS);
    EXPECT_EQ(current, a100->handle());
  }
  ASSERT_EQ(symbols.cuCtxGetCurrent(&current), CUDA_SUCCESS);
  EXPECT_EQ(current, nullptr);
}

TEST(Context, EveryCallLeavesTheForeignCurrentContext) {
  auto a100 = openContext("sim:a100"), h100 = openContext("sim:h100");
  const DriverSymbols &symbols = a100->symbols();
  ASSERT_EQ(symbols.cuCtxSetCurrent(h100->handle()), CUDA_SUCCESS);
  auto expectForeign = [&](const char *after) {
    CUcontext current = nullptr;
    ASSERT_EQ(symbols.cuCtxGetCurrent(&current), CUDA_SUCCESS);
    EXPECT_EQ(current, h100->handle()) << after;
  };
  {
    auto buffer = DeviceBuffer::allocate(a100, 64);
    expectForeign("allocate");
    ASSERT_TRUE(buffer) << buffer.status().text();
    auto stream = Stream::create(a100);
    expectForeign("stream");
    auto event = Event::create(a100);
    auto module = Module::load(a100, test::Minimal);
    expectForeign("load");
    ASSERT_TRUE(module) << module.status().text();
    auto kernel = (*module)->function("nothing");
    ASSERT_TRUE(kernel) << kernel.status().text();
    EXPECT_TRUE(kernel->launch({}, nullptr, stream->handle()).ok());
    expectForeign("launch");
    EXPECT_TRUE(event->record(stream->handle()).ok());
    EXPECT_TRUE(stream->synchronize().ok());
    expectForeign("synchronize");
  }
  expectForeign("destructors");
  ASSERT_EQ(symbols.cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
}

TEST(DeviceBuffer, BytesComeBack) {
  auto context = openContext();
  auto buffer = DeviceBuffer::allocate(context, 1000);
  ASSERT_TRUE(buffer) << buffer.status().text();
  std::vector<unsigned char> in(1000), out(1000);
  std::iota(in.begin(), in.end(), 0);
  ASSERT_TRUE(buffer->upload(in.data(), 1000).ok());
  ASSERT_TRUE(buffer->download(out.data(), 1000).ok());
  EXPECT_EQ(in, out);
  ASSERT_TRUE(buffer->download(out.data(), 10, 100).ok());
  EXPECT_EQ(out[0], in[100]);
  ASSERT_TRUE(buffer->fillAsync(0xa5, nullptr).ok());
  ASSERT_TRUE(buffer->download(out.data(), 1000).ok());
  EXPECT_EQ(out, std::vector<unsigned char>(1000, 0xa5));
  auto other = DeviceBuffer::allocate(context, 1000);
  ASSERT_TRUE(other);
  ASSERT_TRUE(other->copyFromAsync(*buffer, 1000, nullptr).ok());
  ASSERT_TRUE(other->download(out.data(), 1000).ok());
  EXPECT_EQ(out[999], 0xa5);
}

TEST(DeviceBuffer, RangesOutsideAreRefusedWithTheValues) {
  auto context = openContext();
  auto buffer = DeviceBuffer::allocate(context, 100);
  ASSERT_TRUE(buffer);
  char bytes[200];
  for (Status status :
       {buffer->upload(bytes, 101), buffer->download(bytes, 1, 100), buffer->upload(bytes, SIZE_MAX, 8)}) {
    EXPECT_EQ(status.code(), Code::InvalidArgument);
    EXPECT_NE(status.message().find("100"), std::string::npos) << status.message();
  }
  EXPECT_TRUE(buffer->upload(bytes, 0, 100).ok());
}

TEST(DeviceBuffer, MoreThanTheDeviceHasIsOutOfMemory) {
  auto context = openContext("sim:rtx3090");
  auto buffer = DeviceBuffer::allocate(context, uint64_t(25) << 30);
  ASSERT_FALSE(buffer);
  EXPECT_NE(buffer.status().message().find("CUDA_ERROR_OUT_OF_MEMORY"), std::string::npos);
  EXPECT_FALSE(buffer.status().hint().empty());
}

TEST(DeviceBuffer, NothingIsABufferToo) {
  auto buffer = DeviceBuffer::allocate(openContext(), 0);
  ASSERT_TRUE(buffer);
  EXPECT_EQ(buffer->address(), 0u);
  EXPECT_TRUE(buffer->upload(nullptr, 0).ok());
  EXPECT_TRUE(buffer->fillAsync(1, nullptr).ok());
}

TEST(Module, SaxpyRuns) {
  auto context = openContext();
  auto module = Module::load(context, test::Saxpy);
  ASSERT_TRUE(module) << module.status().text();
  auto saxpy = (*module)->function("saxpy");
  ASSERT_TRUE(saxpy) << saxpy.status().text();
  EXPECT_GT(saxpy->attributes().registers, 0u);
  EXPECT_LE(saxpy->attributes().registers, 64u);
  EXPECT_EQ(saxpy->attributes().sharedBytes, 0u);

  const unsigned n = 1000;
  std::vector<float> x(n), y(n), out(n);
  for (unsigned i = 0; i < n; ++i)
    x[i] = float(i), y[i] = 0.5f * float(i) + 1;
  auto deviceX = DeviceBuffer::allocate(context, 4 * n), deviceY = DeviceBuffer::allocate(context, 4 * n);
  ASSERT_TRUE(deviceX && deviceY);
  auto stream = Stream::create(context);
  ASSERT_TRUE(stream);
  ASSERT_TRUE(deviceX->uploadAsync(x.data(), 4 * n, stream->handle()).ok());
  ASSERT_TRUE(deviceY->uploadAsync(y.data(), 4 * n, stream->handle()).ok());
  uint64_t pointerY = deviceY->address(), pointerX = deviceX->address();
  float a = 2;
  unsigned count = n;
  void *parameters[] = {&pointerY, &pointerX, &a, &count};
  LaunchShape shape;
  shape.grid = {(n + 127) / 128, 1, 1};
  shape.block = {128, 1, 1};
  Status launched = saxpy->launch(shape, parameters, stream->handle());
  ASSERT_TRUE(launched.ok()) << launched.text();
  ASSERT_TRUE(deviceY->downloadAsync(out.data(), 4 * n, stream->handle()).ok());
  Status done = stream->synchronize();
  ASSERT_TRUE(done.ok()) << done.text();
  for (unsigned i = 0; i < n; ++i)
    ASSERT_EQ(out[i], 2 * x[i] + y[i]) << i;
}

TEST(Module, FunctionsOutliveTheHandleToTheModule) {
  auto context = openContext();
  std::optional<Function> kernel;
  {
    auto module = Module::load(context, test::Minimal);
    ASSERT_TRUE(module) << module.status().text();
    auto function = (*module)->function("nothing");
    ASSERT_TRUE(function);
    kernel = *function;
  }
  EXPECT_TRUE(kernel->launch({}, nullptr, nullptr).ok());
  EXPECT_TRUE(context->synchronize().ok());
}

TEST(Module, WhatIsAbsentIsNotFoundByName) {
  auto module = Module::load(openContext(), test::Saxpy);
  ASSERT_TRUE(module) << module.status().text();
  auto kernel = (*module)->function("saxpi");
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.status().code(), Code::NotFound);
  EXPECT_NE(kernel.status().message().find("saxpi"), std::string::npos);
  EXPECT_EQ((*module)->global("nothing").status().code(), Code::NotFound);
  auto counter = (*module)->global("counter");
  ASSERT_TRUE(counter) << counter.status().text();
  EXPECT_EQ(counter->bytes, 4u);
}

TEST(Module, AssemblerMessagesAreInTheStatus) {
  auto context = openContext();
  for (const char *code :
       {"", "no PTX at all",
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { frobnicate.u32 %r1; ret; }\n"}) {
    auto module = Module::load(context, code);
    ASSERT_FALSE(module) << code;
    if (std::string_view(code).find("frobnicate") != std::string_view::npos) {
      EXPECT_NE(module.status().message().find("CUDA_ERROR_INVALID_PTX"), std::string::npos) << module.status().text();
      EXPECT_NE(module.status().message().find("frobnicate"), std::string::npos) << module.status().text();
    }
  }
}

TEST(Module, TextNeedNoZeroByte) {
  std::string code = std::string(test::Minimal) + "garbage";
  auto module = Module::load(openContext(), std::string_view(code).substr(0, code.size() - 7));
  EXPECT_TRUE(module) << module.status().text();
}

TEST(Module, CubinDoesNotFitTheSimulator) {
  bool fits = true;
  auto module = Module::load(openContext(),
                             std::string_view("\x7f"
                                              "ELF\x02\x01\x01\0\0\0\0\0",
                                              12),
                             &fits);
  ASSERT_FALSE(module);
  EXPECT_FALSE(fits);
  EXPECT_NE(module.status().message().find("CUDA_ERROR_NO_BINARY_FOR_GPU"), std::string::npos)
      << module.status().text();
  fits = false;
  EXPECT_FALSE(Module::load(openContext(), "malformed", &fits));
  EXPECT_TRUE(fits) << "malformed PTX is no matter of the GPU";
}

TEST(Function, SharedMemoryBeyondTheDeviceIsRefused) {
  auto context = openContext();
  auto module = Module::load(context, test::Minimal);
  ASSERT_TRUE(module) << module.status().text();
  auto kernel = (*module)->function("nothing");
  ASSERT_TRUE(kernel);
  LaunchShape shape;
  shape.dynamicSharedBytes = 100 * 1024;
  EXPECT_FALSE(kernel->launch(shape, nullptr, nullptr).ok()) << "without permission";
  EXPECT_TRUE(kernel->allowDynamicShared(163 * 1024).ok());
  EXPECT_TRUE(kernel->launch(shape, nullptr, nullptr).ok());
  Status refused = kernel->allowDynamicShared(164 * 1024);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.message().find(std::to_string(164 * 1024)), std::string::npos) << refused.message();
  EXPECT_TRUE(context->synchronize().ok());
}

TEST(Function, OccupancyIsThatOfTheDevice) {
  auto module = Module::load(openContext(), test::Minimal);
  ASSERT_TRUE(module) << module.status().text();
  auto kernel = (*module)->function("nothing");
  ASSERT_TRUE(kernel);
  auto small = kernel->blocksPerSm(1024, 0), large = kernel->blocksPerSm(32, 40 * 1024);
  ASSERT_TRUE(small && large);
  EXPECT_EQ(*small, 2u); // 64 warps per SM
  EXPECT_EQ(*large, 4u); // 164 KiB, 40 and the reserved one each
}

TEST(Event, ModelledTimeIsPositiveAndOrdered) {
  auto context = openContext();
  auto stream = Stream::create(context);
  auto begin = Event::create(context), end = Event::create(context);
  auto module = Module::load(context, test::Minimal);
  ASSERT_TRUE(stream && begin && end && module) << module.status().text();
  auto kernel = (*module)->function("nothing");
  ASSERT_TRUE(kernel);
  ASSERT_TRUE(begin->record(stream->handle()).ok());
  ASSERT_TRUE(kernel->launch({}, nullptr, stream->handle()).ok());
  ASSERT_TRUE(end->record(stream->handle()).ok());
  ASSERT_TRUE(end->synchronize().ok());
  auto time = begin->millisecondsTo(*end), back = end->millisecondsTo(*begin);
  ASSERT_TRUE(time && back) << time.status().text();
  EXPECT_GT(*time, 0.001f);
  EXPECT_LT(*time, 1.0f);
  EXPECT_EQ(*back, -*time);
}

TEST(Stream, TellsWhetherItIsCaptured) {
  auto context = openContext();
  auto stream = Stream::create(context);
  ASSERT_TRUE(stream);
  auto capturing = context->capturing(stream->handle());
  ASSERT_TRUE(capturing) << capturing.status().text();
  EXPECT_FALSE(*capturing);
}

TEST(Objects, CanBeMoved) {
  auto context = openContext();
  auto first = DeviceBuffer::allocate(context, 16);
  ASSERT_TRUE(first);
  DeviceBuffer second = std::move(*first);
  EXPECT_EQ(first->address(), 0u);
  EXPECT_NE(second.address(), 0u);
  auto stream = Stream::create(context), other = Stream::create(context);
  ASSERT_TRUE(stream && other);
  StreamHandle handle = other->handle();
  *stream = std::move(*other);
  EXPECT_EQ(stream->handle(), handle);
}

} // namespace
