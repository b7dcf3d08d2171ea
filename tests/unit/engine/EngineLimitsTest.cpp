// What an engine holds, when it lets go of it, and where it must not touch the driver (B6).
#include "tests/unit/engine/Fakes.h"

#include <sys/wait.h>
#include <unistd.h>

namespace tessera {
namespace {

using EngineLimits = fakes::Test;

/// A spec of its own for each number.
AttentionSpec numbered(unsigned i) {
  AttentionSpec spec;
  spec.scale = 1.0f + float(i) / 65536;
  return spec;
}

size_t residentBytes() {
  size_t pages = 0, resident = 0;
  std::FILE *file = std::fopen("/proc/self/statm", "r");
  if (file) {
    if (std::fscanf(file, "%zu %zu", &pages, &resident) != 2)
      resident = 0;
    std::fclose(file);
  }
  return resident * size_t(sysconf(_SC_PAGESIZE));
}

TEST_F(EngineLimits, B6_86_TenThousandKeysStayWithinTheLimit) {
  EngineOptions options;
  options.maxKernels = 100;
  Engine engine = *Engine::create(options);
  Device device = fakes::device();
  size_t afterWarmUp = 0;
  for (unsigned i = 0; i < 10000; ++i) {
    ASSERT_TRUE(engine.prepare(numbered(i), {}, device).ok());
    if (i == 1000)
      afterWarmUp = residentBytes();
  }
  const EngineCounters counters = engine.counters();
  EXPECT_EQ(counters.compiles, 10000u);
  EXPECT_EQ(counters.loadedKernels, 100u);
  EXPECT_EQ(counters.evictions, 9900u);
  EXPECT_LE(fakes::driver().mostModules, 100 + 33);
  EXPECT_EQ(fakes::driver().unloadsWhilePending, 0);
  if (!TESSERA_SANITIZED) {
    EXPECT_LT(residentBytes(), afterWarmUp + (8u << 20));
  }
}

TEST_F(EngineLimits, TheLeastRecentlyUsedGoesFirst) {
  EngineOptions options;
  options.maxKernels = 3;
  Engine engine = *Engine::create(options);
  Device device = fakes::device();
  for (unsigned i : {0u, 1u, 2u, 0u, 3u, 0u, 4u})
    ASSERT_TRUE(engine.prepare(numbered(i), {}, device).ok());
  EXPECT_EQ(engine.prepare(numbered(0), {}, device)->source(), Source::Memory);
  EXPECT_EQ(engine.prepare(numbered(3), {}, device)->source(), Source::Memory);
  EXPECT_EQ(engine.prepare(numbered(1), {}, device)->source(), Source::Compiler);
}

TEST_F(EngineLimits, AnEvictedKernelThatIsHeldStaysLoaded) {
  EngineOptions options;
  options.maxKernels = 1;
  Engine engine = *Engine::create(options);
  Device device = fakes::device();
  Kernel held = *engine.prepare(numbered(0), {}, device);
  for (unsigned i = 1; i < 200; ++i)
    ASSERT_TRUE(engine.prepare(numbered(i), {}, device).ok());
  EXPECT_EQ(held.image().spec, numbered(0));
  EXPECT_EQ(fakes::driver().unloadsOfNothing, 0);
  EXPECT_GE(fakes::driver().modulesLive, 2);
}

TEST_F(EngineLimits, B6_83_APrepareDuringACaptureIsRefusedBeforeItTouchesTheDriver) {
  Engine engine = fakes::engine();
  Device device = fakes::device();
  ASSERT_TRUE(engine.prepare(numbered(0), {}, device).ok());
  int stream = 0; // only its address counts
  const auto handle = reinterpret_cast<StreamHandle>(&stream);
  fakes::driver().capturedStream = handle;
  Status status = engine.prepare(numbered(1), {}, device, {.schedule = {}, .stream = handle}).status();
  EXPECT_EQ(status.code(), Code::Unsupported);
  EXPECT_NE(status.hint().find("before it begins"), std::string::npos) << status.text();
  EXPECT_EQ(fakes::compiler().compiles, 1);
  EXPECT_TRUE(engine.prepare(numbered(0), {}, device, {.schedule = {}, .stream = handle}).ok()) << "it is in memory";
  EXPECT_EQ(fakes::driver().callsDuringCapture, 0);
  fakes::driver().capturedStream = nullptr;
  EXPECT_TRUE(engine.prepare(numbered(1), {}, device, {.schedule = {}, .stream = handle}).ok());
}

TEST_F(EngineLimits, B6_83_ACaptureThatWaitsForTheDefaultStreamIsSeenWithoutBeingNamed) {
  Engine engine = fakes::engine();
  Device device = fakes::device();
  int stream = 0;
  fakes::driver().capturedStream = &stream;
  fakes::driver().captureBlocks = 1;
  EXPECT_EQ(engine.prepare({}, {}, device).status().code(), Code::Unsupported);
  EXPECT_EQ(fakes::driver().callsDuringCapture, 0);
  fakes::driver().capturedStream = nullptr;
}

TEST_F(EngineLimits, B6_85_AfterAForkThePrepareOfTheChildIsAClearError) {
  Engine engine = fakes::engine();
  Device device = fakes::device();
  Kernel kernel = *engine.prepare(numbered(0), {}, device);
  const pid_t child = fork();
  if (child == 0) {
    Status status = engine.prepare(numbered(1), {}, device).status();
    Result<Device> opened = Device::open("cuda:0");
    const bool right = status.code() == Code::DriverError && status.text().find("fork") != std::string::npos &&
                       !opened.ok() && opened.status().text().find("fork") != std::string::npos &&
                       fakes::driver().callsAfterFork == 0;
    if (!right)
      std::fprintf(stderr, "%s\n%s\n", status.text().c_str(), opened.status().text().c_str());
    _exit(right ? 0 : 1);
  }
  int result = 0;
  ASSERT_EQ(waitpid(child, &result, 0), child);
  EXPECT_TRUE(WIFEXITED(result) && WEXITSTATUS(result) == 0);
  EXPECT_TRUE(engine.prepare(numbered(1), {}, device).ok()) << "the parent goes on";
}

TEST_F(EngineLimits, UnloadingWaitsUntilTheDeviceIsDone) {
  EngineOptions options;
  options.maxKernels = 1;
  Engine engine = *Engine::create(options);
  Device device = fakes::device();
  const auto view = [](int64_t heads) {
    alignas(16) static char memory[16];
    return TensorView::contiguous(memory, DType::BF16, 1, 64, heads, 128);
  };
  for (unsigned i = 0; i < 100; ++i) {
    Result<Kernel> kernel = engine.prepare(numbered(i), {}, device);
    ASSERT_TRUE(kernel.ok());
    ASSERT_TRUE(kernel->launch({.q = view(8), .k = view(2), .v = view(2), .o = view(8), .lse = {}}, nullptr));
  }
  EXPECT_GT(fakes::driver().modulesUnloaded, 0);
  EXPECT_EQ(fakes::driver().unloadsWhilePending, 0);
}

} // namespace
} // namespace tessera
