// B5.82, B6.84: every call works in its own context whatever the thread had current, and leaves that as it was.
#include "tests/unit/driver/FakeCuda.h"

#include <functional>
#include <thread>

using namespace tessera;

namespace {

class CurrentContext : public test::FakeCuda {
protected:
  static CUcontext current(const Context &context) {
    CUcontext handle = nullptr;
    EXPECT_EQ(context.symbols().cuCtxGetCurrent(&handle), CUDA_SUCCESS);
    return handle;
  }
};

TEST_F(CurrentContext, B5_82_LaunchOnDeviceOneWhileDeviceZeroIsCurrent) {
  auto zero = context(0), one = context(1);
  ASSERT_NE(zero->handle(), one->handle());
  Function onZero = kernel(zero), onOne = kernel(one);
  unsigned char byte = 0;
  void *parameters[] = {&byte};
  state.parameterCount = 1;
  state.parameterBytes[0] = 1;
  for (auto [foreign, own] : {std::pair{zero, onOne}, {one, onZero}, {nullptr, onOne}}) {
    CUcontext handle = foreign ? foreign->handle() : nullptr;
    ASSERT_EQ(zero->symbols().cuCtxSetCurrent(handle), CUDA_SUCCESS);
    ASSERT_TRUE(own.launch({}, parameters, nullptr).ok());
    EXPECT_EQ(state.contextAtLaunch, own.context().handle());
    EXPECT_EQ(current(*zero), handle);
  }
  ASSERT_EQ(zero->symbols().cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
}

TEST_F(CurrentContext, IsRestoredWhereTheCallFails) {
  auto zero = context(0), one = context(1);
  Function function = kernel(one);
  auto buffer = value(DeviceBuffer::allocate(one, 64));
  auto stream = value(Stream::create(one));
  auto event = value(Event::create(one)), later = value(Event::create(one));
  kernel(one); // retired
  const FunctionAttributes &attributes = function.attributes();
  EXPECT_EQ(attributes.registers, 77u);
  ASSERT_EQ(zero->symbols().cuCtxSetCurrent(zero->handle()), CUDA_SUCCESS);

  int captured = 0;
  state.capturedStream = &captured; // fails what is illegal then
  state.failLaunches = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  char bytes[64];
  // The fake driver has no copies, fills and waits: they fail as well.
  const std::pair<const char *, std::function<Status()>> calls[] = {
      {"allocate", [&] { return DeviceBuffer::allocate(one, 64).status(); }},
      {"upload", [&] { return buffer.upload(bytes, 64); }},
      {"download", [&] { return buffer.download(bytes, 64); }},
      {"uploadAsync", [&] { return buffer.uploadAsync(bytes, 64, nullptr); }},
      {"downloadAsync", [&] { return buffer.downloadAsync(bytes, 64, nullptr); }},
      {"fillAsync", [&] { return buffer.fillAsync(0, nullptr); }},
      {"copyFromAsync", [&] { return buffer.copyFromAsync(buffer, 64, nullptr); }},
      {"load", [&] { return Module::load(one, test::Ptx).status(); }},
      {"launch", [&] { return function.launch({}, nullptr, nullptr); }},
      {"stream", [&] { return stream.synchronize(); }},
      {"record", [&] { return event.record(nullptr); }},
      {"wait", [&] { return event.makeWait(nullptr); }},
      {"synchronize event", [&] { return event.synchronize(); }},
      {"time", [&] { return event.millisecondsTo(later).status(); }},
      {"synchronize", [&] { return one->synchronize(); }},
      {"unload", [&] { return one->unloadRetired(); }},
  };
  for (const auto &[name, call] : calls) {
    EXPECT_FALSE(call().ok()) << name;
    EXPECT_EQ(current(*zero), zero->handle()) << name;
  }
  state.capturedStream = nullptr;
  ASSERT_EQ(zero->symbols().cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
}

TEST_F(CurrentContext, B6_84_SecondThreadLaunchesWithoutAnythingSetUp) {
  Function function = kernel(context(1));
  ASSERT_TRUE(function.launch({}, nullptr, nullptr).ok());
  std::thread([&] {
    Status launched = function.launch({}, nullptr, nullptr);
    EXPECT_TRUE(launched.ok()) << launched.text();
    EXPECT_EQ(current(function.context()), nullptr);
  }).join();
  EXPECT_EQ(state.launches, 2);
}

TEST_F(CurrentContext, OneGpuOpenedTwiceIsRetainedAndReleasedTwice) {
  auto first = context(0), second = context(0);
  EXPECT_NE(first, second);
  EXPECT_EQ(first->handle(), second->handle());
  Function function = kernel(first);
  first.reset();
  second.reset();
  EXPECT_EQ(state.contextsReleased, 1) << "the kernel keeps its context";
  EXPECT_TRUE(function.launch({}, nullptr, nullptr).ok());
}

} // namespace
