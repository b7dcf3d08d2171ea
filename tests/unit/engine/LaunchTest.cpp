// launch: what reaches the driver, and at what cost.
#include "tests/unit/engine/Fakes.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <new>
#include <thread>
#include <vector>

#if !TESSERA_SANITIZED
namespace {
thread_local size_t allocations = 0;
} // namespace

// Counts every allocation of this process, the runtime's among them.
void *operator new(size_t size) {
  ++allocations;
  if (void *memory = std::malloc(size))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
#endif

namespace tessera {
namespace {

void *at(uintptr_t address) { return reinterpret_cast<void *>(address); }

struct Launch : fakes::Test {
  /// Makes the driver record the parameters of an image that declares them in this order.
  static void record(const KernelImage &image) {
    FakeDriverState &driver = fakes::driver();
    driver.parameterCount = int(image.parameters.size());
    for (size_t i = 0; i < image.parameters.size(); ++i)
      driver.parameterBytes[i] = byteSize(image.parameters[i].type);
  }

  static uint64_t passed(const KernelImage &image, std::string_view name) {
    for (size_t i = 0; i < image.parameters.size(); ++i)
      if (image.parameters[i].name == name)
        return fakes::driver().values[i];
    ADD_FAILURE() << "no parameter " << name;
    return 0;
  }

  static LaunchArguments arguments(int64_t batch = 2, int64_t seqlenQ = 300, int64_t seqlenKv = 517, int64_t heads = 8,
                                   int64_t kvHeads = 2) {
    LaunchArguments a;
    a.q = TensorView::contiguous(at(0x10000), DType::BF16, batch, seqlenQ, heads, 128);
    a.k = TensorView::contiguous(at(0x20000), DType::BF16, batch, seqlenKv, kvHeads, 128);
    a.v = TensorView::headMajor(at(0x30000), DType::BF16, batch, seqlenKv, kvHeads, 128);
    a.o = TensorView::contiguous(at(0x40000), DType::BF16, batch, seqlenQ, heads, 128);
    return a;
  }
};

TEST_F(Launch, EveryParameterArrivesByName) {
  AttentionSpec spec;
  spec.outputs = Output::O | Output::LSE;
  KernelImage image = fakes::image(spec);
  std::reverse(image.parameters.begin(), image.parameters.end()); // the order is the image's own
  record(image);
  Kernel kernel = *Kernel::load(image, fakes::device());
  LaunchArguments a = arguments();
  a.lse = RowView::contiguous(static_cast<float *>(at(0x50000)), 2, 8, 300);
  a.rescues = static_cast<uint32_t *>(at(0x60000));
  a.k.strides = {1 << 20, 4096, 256, 1};
  a.o.strides = {int64_t(1) << 40, 1024, 128, 1}; // beyond 32 bits (N13)
  Status status = kernel.launch(a, reinterpret_cast<StreamHandle>(0x77));
  ASSERT_TRUE(status.ok()) << status.text();

  const std::pair<const char *, uint64_t> expected[] = {
      {"q", 0x10000},
      {"k", 0x20000},
      {"v", 0x30000},
      {"o", 0x40000},
      {"lse", 0x50000},
      {"rescues", 0x60000},
      {"q_batch", 300 * 8 * 128},
      {"q_head", 128},
      {"q_row", 8 * 128},
      {"k_batch", 1 << 20},
      {"k_head", 256},
      {"k_row", 4096},
      {"v_batch", 2 * 517 * 128},
      {"v_head", 517 * 128},
      {"v_row", 128},
      {"o_batch", uint64_t(1) << 40},
      {"o_head", 128},
      {"o_row", 1024},
      {"lse_batch", 8 * 300},
      {"lse_head", 300},
      {"lse_row", 1},
      {"heads", 8},
      {"group", 4},
      {"seqlen_q", 300},
      {"seqlen_kv", 517},
      {"q_tiles", 3},
      {"pairs", 8 * 2},
  };
  EXPECT_EQ(std::size(expected), argumentCount);
  for (auto [name, value] : expected)
    EXPECT_EQ(passed(image, name), value) << name;
  const FakeDriverState &driver = fakes::driver();
  EXPECT_EQ(driver.grid[0], 3u * 8 * 2);
  EXPECT_EQ(driver.grid[1], 1u);
  EXPECT_EQ(driver.grid[2], 1u);
  EXPECT_EQ(driver.block[0], 128u);
  EXPECT_EQ(driver.shared, image.dynamicSharedBytes);
  EXPECT_EQ(driver.stream, at(0x77));
}

TEST_F(Launch, ImageMayDeclareFewerParameters) {
  KernelImage image = fakes::image();
  image.parameters = {{"o", ParameterType::Pointer}, {"seqlen_kv", ParameterType::I32}};
  record(image);
  ASSERT_TRUE(Kernel::load(image, fakes::device())->launch(arguments(), nullptr).ok());
  EXPECT_EQ(passed(image, "o"), 0x40000u);
  EXPECT_EQ(passed(image, "seqlen_kv"), 517u);
}

TEST_F(Launch, B5_82_ContextIsMadeCurrentAndTheFormerOneRestored) {
  record(fakes::image());
  Device first = fakes::device("cuda:0"), second = fakes::device("cuda:1");
  ScopedContext scope(*first.context());
  Kernel kernel = *Kernel::load(fakes::image(), second);
  ASSERT_TRUE(kernel.launch(arguments(), nullptr).ok());
  EXPECT_EQ(fakes::driver().contextAtLaunch, second.context()->handle());
  { // nothing to restore where the former one is the same
    ScopedContext again(*first.context());
    EXPECT_TRUE(again.status().ok());
  }
  Kernel other = *Kernel::load(fakes::image(), first);
  ASSERT_TRUE(other.launch(arguments(), nullptr).ok());
  EXPECT_EQ(fakes::driver().contextAtLaunch, first.context()->handle());
}

TEST_F(Launch, EmptyProblemsLaunchNothing) {
  Kernel kernel = *Kernel::load(fakes::image(), fakes::device());
  for (LaunchArguments a : {arguments(0), arguments(2, 0), arguments(2, 3, 5, 0, 0), arguments(2, 3, 5, 0, 2)}) {
    a.q.data = a.o.data = nullptr;
    Status status = kernel.launch(a, nullptr);
    EXPECT_TRUE(status.ok()) << status.text();
  }
  EXPECT_EQ(fakes::driver().launches, 0);
}

TEST_F(Launch, N5_NoKeysStillLaunches) {
  KernelImage image = fakes::image();
  record(image);
  LaunchArguments a = arguments(2, 300, 0);
  a.k.data = a.v.data = nullptr;
  ASSERT_TRUE(Kernel::load(image, fakes::device())->launch(a, nullptr).ok());
  EXPECT_EQ(fakes::driver().launches, 1);
  EXPECT_EQ(passed(image, "seqlen_kv"), 0u);
  EXPECT_EQ(fakes::driver().grid[0], 48u);
}

TEST_F(Launch, N13_BatchAndHeadsBeyond65535) {
  KernelImage image = fakes::image();
  record(image);
  Kernel kernel = *Kernel::load(image, fakes::device());
  ASSERT_TRUE(kernel.launch(arguments(70000, 1, 1, 8, 8), nullptr).ok());
  EXPECT_EQ(fakes::driver().grid[0], 560000u);
  ASSERT_TRUE(kernel.launch(arguments(1, 1, 1, 70000, 70000), nullptr).ok());
  EXPECT_EQ(fakes::driver().grid[0], 70000u);
}

TEST_F(Launch, StridesWithoutMeaningArePassedAsZero) {
  KernelImage image = fakes::image();
  record(image);
  LaunchArguments a = arguments(1, 1, 1, 1, 1);
  a.q.strides = {-3, int64_t(1) << 60, 7, 1};
  Status status = Kernel::load(image, fakes::device())->launch(a, nullptr);
  ASSERT_TRUE(status.ok()) << status.text();
  EXPECT_EQ(passed(image, "q_batch"), 0u);
  EXPECT_EQ(passed(image, "q_row"), 0u);
  EXPECT_EQ(passed(image, "q_head"), 0u);
}

TEST_F(Launch, DriverErrorsAreNamed) {
  fakes::driver().failLaunches = 700;
  Status status = Kernel::load(fakes::image(), fakes::device())->launch(arguments(), nullptr);
  EXPECT_EQ(status.code(), Code::DriverError);
  EXPECT_NE(status.message().find("(700)"), std::string::npos) << status.text();
}

#if !TESSERA_SANITIZED
TEST_F(Launch, AllocatesNothing) {
  Kernel kernel = *Kernel::load(fakes::image(), fakes::device());
  LaunchArguments a = arguments();
  const size_t before = allocations;
  Status status = kernel.launch(a, nullptr);
  EXPECT_EQ(allocations, before);
  EXPECT_TRUE(status.ok());
  (void)kernel.info(); // what the runtime allocates is counted
  EXPECT_GT(allocations, before);
}
#endif

TEST_F(Launch, B6_84_ManyThreadsShareOneKernel) {
  const Kernel kernel = *Kernel::load(fakes::image(), fakes::device());
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&] {
        for (int n = 0; n < 500; ++n)
          ASSERT_TRUE(kernel.launch(arguments(), nullptr).ok());
      });
  }
  EXPECT_EQ(fakes::driver().launches, 4000);
}

TEST_F(Launch, AddsUnderOneMicrosecondToTheDriverCall) {
  if (TESSERA_SANITIZED)
    GTEST_SKIP() << "skipped: built with a sanitizer";
  Kernel kernel = *Kernel::load(fakes::image(), fakes::device());
  LaunchArguments a = arguments();
  double best = 1e9; // the fake driver's own part, some nanoseconds, is in it
  for (int batch = 0; batch < 200; ++batch) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 100; ++i)
      (void)kernel.launch(a, nullptr);
    best = std::min(best,
                    std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / 100);
  }
  std::printf("launch: %.3f us\n", best);
  EXPECT_LT(best, 1.0);
}

} // namespace
} // namespace tessera
