// Graph capture: preparing under it is refused with the remedy, launching what was prepared is captured.
#include <tessera/tessera.h>

#include <dlfcn.h>
#include <gtest/gtest.h>

using namespace tessera;

namespace {

/// The two entry points that only a capturing application calls, from the simulator that the device has loaded.
struct CaptureCalls {
  int (*begin)(void *stream, int mode);
  int (*end)(void *stream, void **graph);

  CaptureCalls() {
    void *library = dlopen("libtessera-sim.so", RTLD_NOW | RTLD_NOLOAD);
    EXPECT_NE(library, nullptr) << dlerror();
    begin = reinterpret_cast<decltype(begin)>(dlsym(library, "cuStreamBeginCapture_v2"));
    end = reinterpret_cast<decltype(end)>(dlsym(library, "cuStreamEndCapture"));
  }
};

TEST(Capture, B6_83_APrepareIsRefusedAndALaunchIsCaptured) {
  const auto device = Device::open("sim:a100");
  ASSERT_TRUE(device) << device.status().text();
  const auto engine = Engine::create();
  ASSERT_TRUE(engine) << engine.status().text();
  AttentionSpec prepared, other;
  prepared.headDim = prepared.valueDim = 64;
  other.headDim = other.valueDim = 96;
  const Problem problem{1, 1, 1, 16, 16};
  const auto kernel = engine->prepare(prepared, problem, *device);
  ASSERT_TRUE(kernel) << kernel.status().text();
  const auto buffer = device->allocate(4 * 16 * 64 * 2);
  ASSERT_TRUE(buffer);
  const auto stream = Stream::create(device->context());
  ASSERT_TRUE(stream);
  const CaptureCalls calls;
  const ScopedContext current(*device->context()); // an application that captures has a context of its own current

  void *graph = nullptr;
  ASSERT_EQ(calls.begin(stream->handle(), /*global=*/0), 0);
  const auto refused = engine->prepare(other, problem, *device);
  EXPECT_FALSE(refused);
  EXPECT_NE(refused.status().hint().find("before it begins"), std::string::npos) << refused.status().text();
  EXPECT_NE(calls.end(stream->handle(), &graph), 0) << "an unsafe call invalidates the capture";

  ASSERT_EQ(calls.begin(stream->handle(), /*global=*/0), 0);
  const auto again = engine->prepare(prepared, problem, *device);
  EXPECT_TRUE(again) << "a kernel in memory needs no call of the driver";
  LaunchArguments arguments;
  const auto view = [&](unsigned i) {
    return TensorView::contiguous(static_cast<std::byte *>(buffer->pointer()) + i * 16 * 64 * 2, DType::BF16, 1, 16, 1,
                                  64);
  };
  arguments.q = view(0), arguments.k = view(1), arguments.v = view(2), arguments.o = view(3);
  const Status launched = kernel->launch(arguments, stream->handle());
  EXPECT_TRUE(launched) << launched.text();
  EXPECT_EQ(calls.end(stream->handle(), &graph), 0);
  EXPECT_NE(graph, nullptr);
}

TEST(Capture, B6_83_APrepareThatKnowsTheStreamLeavesTheCaptureAlone) {
  const auto device = Device::open("sim:a100");
  ASSERT_TRUE(device) << device.status().text();
  const auto engine = Engine::create();
  ASSERT_TRUE(engine) << engine.status().text();
  AttentionSpec spec;
  spec.headDim = spec.valueDim = 64;
  const auto stream = Stream::create(device->context());
  ASSERT_TRUE(stream);
  const CaptureCalls calls;
  const ScopedContext current(*device->context());
  void *graph = nullptr;
  ASSERT_EQ(calls.begin(stream->handle(), /*global=*/0), 0);
  PrepareOptions options;
  options.stream = stream->handle();
  const auto refused = engine->prepare(spec, {1, 1, 1, 16, 16}, *device, options);
  EXPECT_EQ(refused.status().code(), Code::Unsupported) << refused.status().text();
  EXPECT_NE(refused.status().hint().find("before it begins"), std::string::npos) << refused.status().text();
  EXPECT_EQ(calls.end(stream->handle(), &graph), 0) << "nothing unsafe was called";
  EXPECT_TRUE(engine->prepare(spec, {1, 1, 1, 16, 16}, *device, options)) << "the capture is over";
}

} // namespace
