// Engine: sources, the choice of the schedule, one compile per key, failures, and the cost of a second prepare.
#include "tests/unit/engine/Fakes.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

namespace tessera {
namespace {

using EnginePrepare = fakes::Test;

TEST_F(EnginePrepare, SecondPrepareComesFromMemory) {
  Engine engine = fakes::engine();
  Device device = fakes::device();
  Result<Kernel> first = engine.prepare({}, {}, device);
  ASSERT_TRUE(first.ok()) << first.status().text();
  EXPECT_EQ(first->info().source, Source::Compiler);
  Result<Kernel> second = engine.prepare({}, {.batch = 7}, device);
  EXPECT_EQ(second->info().source, Source::Memory);
  EXPECT_EQ(second->info().compileMs, first->info().compileMs);
  EXPECT_EQ(fakes::compiler().compiles, 1);
  EXPECT_NE(first->info().text().find("compiler, compiled in"), std::string::npos) << first->info().text();
  EXPECT_NE(second->info().text().find("memory, compiled in"), std::string::npos);
}

TEST_F(EnginePrepare, ScheduleAndItsReasonAreVisible) {
  Engine engine = fakes::engine();
  Result<Kernel> chosen = engine.prepare({}, {}, fakes::device());
  EXPECT_EQ(chosen->info().schedule, defaultSchedule({}, fakes::device().target()));
  EXPECT_NE(chosen->info().scheduleReason.find("default: 128x64 tiles with 4 warps"), std::string::npos);
  Schedule small{.tileQ = 64, .tileKv = 32};
  Result<Kernel> given = engine.prepare({}, {}, fakes::device(), {.schedule = small});
  ASSERT_TRUE(given.ok()) << given.status().text();
  EXPECT_EQ(given->info().schedule, small);
  EXPECT_EQ(given->info().scheduleReason, "given by the caller");
  EXPECT_EQ(fakes::compiler().compiles, 2);
}

TEST_F(EnginePrepare, GivingTheDefaultScheduleCompilesNothingNew) {
  Engine engine = fakes::engine();
  Device device = fakes::device();
  ASSERT_TRUE(engine.prepare({}, {}, device).ok());
  Result<Kernel> given = engine.prepare({}, {}, device, {.schedule = defaultSchedule({}, device.target())});
  EXPECT_EQ(given->source(), Source::Memory);
  EXPECT_EQ(fakes::compiler().compiles, 1);
}

TEST_F(EnginePrepare, EqualSpecsShareAndDifferentOnesDoNot) {
  Engine engine = fakes::engine();
  Device device = fakes::device();
  auto compilesAfter = [&](AttentionSpec spec, const Device &on) {
    Result<Kernel> kernel = engine.prepare(spec, {}, on);
    EXPECT_TRUE(kernel.ok()) << kernel.status().text();
    return int(fakes::compiler().compiles);
  };
  AttentionSpec spec;
  EXPECT_EQ(compilesAfter(spec, device), 1);
  spec.outDType = DType::BF16;
  spec.scale = spec.effectiveScale();
  EXPECT_EQ(compilesAfter(spec, device), 1);
  EXPECT_EQ(compilesAfter(spec, fakes::device()), 1); // the device opened again
  int expected = 1;
  auto changed = [&](auto change) {
    AttentionSpec other;
    change(other);
    EXPECT_EQ(compilesAfter(other, device), ++expected) << other.text();
  };
  changed([](AttentionSpec &s) { s.dtype = DType::F16; });
  changed([](AttentionSpec &s) { s.outDType = DType::F32; });
  changed([](AttentionSpec &s) { s.headDim = 64; });
  changed([](AttentionSpec &s) { s.valueDim = 64; });
  changed([](AttentionSpec &s) { s.mask = Mask::causal(Align::TopLeft); });
  changed([](AttentionSpec &s) { s.mask = Mask::causal(Align::BottomRight); });
  changed([](AttentionSpec &s) { s.mask = Mask::window(0, std::nullopt, Align::TopLeft); });
  changed([](AttentionSpec &s) { s.mask = Mask::window(0, 0, Align::TopLeft); });
  changed([](AttentionSpec &s) { s.scale = 0.5f; });
  changed([](AttentionSpec &s) { s.softcap = 30.0f; });
  changed([](AttentionSpec &s) { s.outputs = Output::O | Output::LSE; });
  changed([](AttentionSpec &s) { s.accessBytes = 8; });
  EXPECT_EQ(compilesAfter({}, fakes::device("cuda:1")), ++expected);
  EXPECT_EQ(compilesAfter({}, fakes::device("sim:a100")), ++expected);
}

TEST_F(EnginePrepare, ManyThreadsAskingForOneKeyCompileOnce) {
  fakes::compiler().delayMs = 30;
  Engine engine = fakes::engine();
  Device device = fakes::device();
  std::atomic<int> fromCompiler{0}, fromMemory{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 16; ++i)
      threads.emplace_back([&] {
        Result<Kernel> kernel = engine.prepare({}, {}, device);
        ASSERT_TRUE(kernel.ok());
        ++(kernel->source() == Source::Compiler ? fromCompiler : fromMemory);
      });
  }
  EXPECT_EQ(fakes::compiler().compiles, 1);
  EXPECT_EQ(fromCompiler, 1);
  EXPECT_EQ(fromMemory, 15);
}

TEST_F(EnginePrepare, DifferentKeysCompileInParallel) {
  fakes::compiler().delayMs = 200;
  Engine engine = fakes::engine();
  Device device = fakes::device();
  {
    std::vector<std::jthread> threads;
    for (unsigned dim : {64u, 72u, 80u, 88u})
      threads.emplace_back([&, dim] {
        AttentionSpec spec;
        spec.headDim = dim;
        ASSERT_TRUE(engine.prepare(spec, {}, device).ok());
      });
  }
  EXPECT_EQ(fakes::compiler().mostRunning, 4);
}

TEST_F(EnginePrepare, FailureGoesToAllWhoWaitedAndIsForgotten) {
  fakes::compiler().delayMs = 30;
  fakes::compiler().fail = 2;
  Engine engine = fakes::engine();
  Device device = fakes::device();
  std::atomic<int> refused{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] { refused += engine.prepare({}, {}, device).status().code() == Code::Unsupported; });
  }
  EXPECT_EQ(refused, 4);
  fakes::compiler().fail = 0;
  Result<Kernel> again = engine.prepare({}, {}, device);
  ASSERT_TRUE(again.ok()) << again.status().text();
  EXPECT_EQ(again->source(), Source::Compiler);
}

TEST_F(EnginePrepare, NoCompilerIsAClearStatus) {
  EngineOptions options;
  options.compilerLibrary = "/nowhere/libtessera-compiler.so";
  Engine engine = *Engine::create(options);
  Status status = engine.prepare({}, {}, fakes::device()).status();
  EXPECT_EQ(status.code(), Code::Unsupported);
  EXPECT_NE(status.text().find("no compiler: /nowhere/libtessera-compiler.so"), std::string::npos);
}

TEST_F(EnginePrepare, BadSpecsSchedulesAndProblemsReachNoCompiler) {
  Engine engine = fakes::engine();
  AttentionSpec negative;
  negative.mask = Mask::window(-1, 0, Align::TopLeft);
  EXPECT_EQ(engine.prepare(negative, {}, fakes::device()).status().code(), Code::InvalidArgument);
  EXPECT_EQ(engine.prepare({}, {.heads = 8, .kvHeads = 3}, fakes::device()).status().code(), Code::InvalidArgument);
  Status status = engine.prepare({}, {}, fakes::device(), {.schedule = Schedule{.tileKv = 24}}).status();
  EXPECT_EQ(status.code(), Code::Unsupported);
  EXPECT_NE(status.message().find("got 24"), std::string::npos);
  EXPECT_EQ(fakes::compiler().compiles, 0);
}

TEST_F(EnginePrepare, InvalidSpecNeverHitsTheKernelOfAValidOne) {
  Engine engine = fakes::engine();
  AttentionSpec valid, invalid;
  valid.mask = Mask::window(std::nullopt, 0, Align::TopLeft);
  invalid.mask = Mask::window(-1, 0, Align::TopLeft);
  ASSERT_TRUE(engine.prepare(valid, {}, fakes::device()).ok());
  EXPECT_FALSE(engine.prepare(invalid, {}, fakes::device()).ok());
}

TEST_F(EnginePrepare, AnswerThatIsNoImageOrAnotherOneIsADefect) {
  Engine engine = fakes::engine();
  fakes::compiler().garbage = true;
  EXPECT_EQ(engine.prepare({}, {}, fakes::device()).status().code(), Code::Internal);
  fakes::compiler().garbage = false;
  fakes::compiler().other = true;
  AttentionSpec small;
  small.headDim = small.valueDim = 64;
  Status status = engine.prepare(small, {}, fakes::device()).status();
  EXPECT_EQ(status.code(), Code::Internal);
  EXPECT_NE(status.message().find("was asked for"), std::string::npos);
}

TEST_F(EnginePrepare, WarningsOfTheCompilerAreKept) {
  fakes::compiler().warn = true;
  EXPECT_EQ(fakes::engine().prepare({}, {}, fakes::device())->info().warnings, "no nvJitLink");
}

TEST_F(EnginePrepare, SecondPrepareTakesUnderTwoMicroseconds) {
  if (TESSERA_SANITIZED)
    GTEST_SKIP() << "skipped: built with a sanitizer";
  Engine engine = fakes::engine();
  Device device = fakes::device();
  ASSERT_TRUE(engine.prepare({}, {}, device).ok());
  double best = 1e9; // the fastest of many batches: others share these processors
  for (int batch = 0; batch < 200; ++batch) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 100; ++i)
      ASSERT_TRUE(engine.prepare({}, {}, device).ok());
    best = std::min(best,
                    std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / 100);
  }
  std::printf("second prepare: %.3f us\n", best);
  EXPECT_LT(best, 2.0);
}

} // namespace
} // namespace tessera
