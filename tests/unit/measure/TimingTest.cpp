// Replays, samples and when they end, on the simulator's modelled clock.
#include "autotune/measure/Timing.h"

#include "autotune/measure/LaunchTensors.h"
#include "runtime/driver/Module.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::tune;

namespace {

/// Busy for as many rounds as its parameter says.
constexpr const char *busyPtx = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry busy(.param .u32 rounds)
{
  .reg .pred %p;
  .reg .f32 %f;
  .reg .u32 %r<2>;
  ld.param.u32 %r0, [rounds];
  mov.f32 %f, 0f3f800000;
again:
  ex2.approx.ftz.f32 %f, %f;
  sub.u32 %r0, %r0, 1;
  setp.ne.u32 %p, %r0, 0;
  @%p bra again;
  ret;
}
)";

class Timing : public testing::Test {
protected:
  void SetUp() override {
    Result<Device> opened = Device::open("sim:a100");
    ASSERT_TRUE(opened) << opened.status().text();
    device.emplace(*std::move(opened));
    const auto module = Module::load(device->context(), busyPtx);
    ASSERT_TRUE(module) << module.status().text();
    Result<Function> function = (*module)->function("busy");
    ASSERT_TRUE(function) << function.status().text();
    busy.emplace(*std::move(function));
  }

  Launch launch(uint32_t rounds) {
    return [this, rounds](StreamHandle stream) mutable {
      ++launches;
      void *parameters[] = {&rounds};
      return busy->launch({.grid = {1, 1, 1}, .block = {32, 1, 1}}, parameters, stream);
    };
  }
  std::function<Result<Replay>(size_t)> replayOf(uint32_t rounds) {
    return [this, rounds](size_t count) { return Replay::create(*device, std::vector<Launch>(count, launch(rounds))); };
  }
  double once(uint32_t rounds) {
    const Result<Replay> replay = replayOf(rounds)(1);
    EXPECT_TRUE(replay);
    const Result<double> elapsed = replay->run();
    EXPECT_TRUE(elapsed);
    return elapsed ? *elapsed : 0;
  }

  std::optional<Device> device;
  std::optional<Function> busy;
  size_t launches = 0;
};

TEST_F(Timing, AGraphIsCapturedOnceAndReplayed) {
  const Result<Replay> replay = Replay::create(*device, std::vector<Launch>(5, launch(1000)));
  ASSERT_TRUE(replay) << replay.status().text();
  EXPECT_TRUE(replay->isGraph());
  EXPECT_EQ(launches, 5u);
  const Result<double> first = replay->run(), second = replay->run();
  ASSERT_TRUE(first && second) << first.status().text();
  EXPECT_EQ(launches, 5u) << "the graph launches, not the host";
  EXPECT_GT(*first, 0);
  EXPECT_DOUBLE_EQ(*first, *second);
  EXPECT_NEAR(*first, 5 * once(1000), 0.01 * *first) << "all launches of a replay are between its events";
}

TEST_F(Timing, LaunchesThatCannotBeCapturedAreTimedOneByOne) {
  const auto waiting = [this, inner = launch(1000)](StreamHandle stream) {
    const Status launched = inner(stream);
    const Status waited = synchronize(*device->context(), stream); // illegal during a capture
    return launched.ok() ? waited : launched;
  };
  const Result<Replay> replay = Replay::create(*device, {waiting, waiting});
  ASSERT_TRUE(replay) << replay.status().text();
  EXPECT_FALSE(replay->isGraph());
  launches = 0;
  const Result<double> elapsed = replay->run();
  ASSERT_TRUE(elapsed) << elapsed.status().text();
  EXPECT_EQ(launches, 2u);
  EXPECT_NEAR(*elapsed, 2 * once(1000), 0.01 * *elapsed);
}

TEST_F(Timing, ALaunchThatFailsFailsTheRun) {
  const Result<Replay> replay =
      Replay::create(*device, {[](StreamHandle) { return Status(Code::InvalidArgument, "no such tensor"); }});
  ASSERT_TRUE(replay);
  EXPECT_EQ(replay->run().status().message(), "no such tensor");
}

TEST_F(Timing, WhatIsLoadedDuringTheFirstRunDoesNotHideThatTheKernelIsShort) {
  size_t calls = 0;
  std::vector<size_t> rounds;
  const auto make = [&](size_t count) {
    rounds.push_back(count);
    const auto loading = [&](StreamHandle stream) {
      const Status launched = launch(++calls == 2 ? 500000 : 1000)(stream); // the first call is of the capture
      const Status waited = synchronize(*device->context(), stream);        // which this makes impossible
      return launched.ok() ? waited : launched;
    };
    return Replay::create(*device, std::vector<Launch>(count, loading));
  };
  const double loaded = once(500000);
  ASSERT_GT(loaded, 0.5);
  const Result<Measurement> result = time(make, *device, {.mostMilliseconds = 100});
  ASSERT_TRUE(result) << result.status().text();
  ASSERT_EQ(rounds.size(), 2u) << "one round is too short for events";
  EXPECT_GT(rounds[1], 1u);
  EXPECT_NEAR(result->milliseconds, once(1000), 0.01 * once(1000));
}

TEST_F(Timing, TheHostIsAskedWhileTheDeviceIsBusy) {
  const Result<Replay> replay = replayOf(10)(1);
  ASSERT_TRUE(replay);
  int asked = 0;
  ASSERT_TRUE(replay->run([&] { ++asked; }));
  EXPECT_EQ(asked, 1);
}

TEST_F(Timing, ShortLaunchesAreTimedManyAtATime) {
  const double each = once(1000);
  ASSERT_LT(each, 0.25);
  size_t rounds = 0;
  const auto make = [&](size_t count) {
    rounds = count;
    return replayOf(1000)(count);
  };
  const Result<Measurement> result = time(make, *device, {});
  ASSERT_TRUE(result) << result.status().text();
  EXPECT_GE(double(rounds) * each, 0.49) << "long enough for events";
  EXPECT_NEAR(result->milliseconds, each, 0.02 * each) << "of one launch";
  EXPECT_TRUE(result->modelled);
  EXPECT_EQ(result->method, "graph replay");
  EXPECT_GE(result->repeats, 3 * rounds);
  EXPECT_LE(result->lowMs, result->milliseconds);
  EXPECT_EQ(result->spread(), 0);
  EXPECT_EQ(result->clockMHz, 0) << "not known";
  EXPECT_FALSE(result->throttled);
}

TEST_F(Timing, ClearlySlowerThanTheBestStopsInTheWarmUp) {
  const double each = once(1000);
  Effort effort;
  effort.stopAboveMs = each / 2;
  size_t rounds = 0;
  const auto make = [&](size_t count) {
    rounds = count;
    return replayOf(1000)(count);
  };
  const Result<Measurement> hopeless = time(make, *device, effort);
  ASSERT_TRUE(hopeless);
  EXPECT_EQ(hopeless->repeats, 2 * rounds) << "two runs of the warm-up, and no more";
  EXPECT_TRUE(hopeless->stoppedEarly);
  EXPECT_NEAR(hopeless->milliseconds, each, 0.02 * each);
  effort.stopAboveMs = each * 0.9; // slower, not by much: the samples tell
  const Result<Measurement> slower = time(replayOf(1000), *device, effort);
  ASSERT_TRUE(slower);
  EXPECT_TRUE(slower->stoppedEarly);
  effort.stopAboveMs = each * 1.1;
  const Result<Measurement> faster = time(replayOf(1000), *device, effort);
  ASSERT_TRUE(faster);
  EXPECT_FALSE(faster->stoppedEarly);
}

TEST_F(Timing, TheEffortEndsIt) {
  Effort effort;
  effort.wantedSpread = -1; // never near enough
  effort.maxRepeats = 7;
  size_t runs = 0;
  const auto make = [&](size_t) {
    const auto counted = [&, inner = launch(400000)](StreamHandle stream) {
      ++runs;
      const Status waited = synchronize(*device->context(), stream); // no graph, so that runs are counted
      return waited.ok() ? inner(stream) : waited;
    };
    return Replay::create(*device, {counted});
  };
  ASSERT_GT(once(400000), 0.5) << "one launch is a sample";
  const Result<Measurement> byRepeats = time(make, *device, effort);
  ASSERT_TRUE(byRepeats) << byRepeats.status().text();
  EXPECT_EQ(byRepeats->repeats, 7u);
  EXPECT_EQ(byRepeats->method, "events");
  effort.mostMilliseconds = 2.5 * once(400000);
  const Result<Measurement> byTime = time(make, *device, effort);
  ASSERT_TRUE(byTime);
  EXPECT_EQ(byTime->repeats, 3u);
}

TEST(Quartile, LieBetweenNeighbours) {
  const Quartiles five = Quartiles::of({5, 1, 4, 2, 3});
  EXPECT_EQ(five.low, 2);
  EXPECT_EQ(five.median, 3);
  EXPECT_EQ(five.high, 4);
  const Quartiles two = Quartiles::of({2, 1});
  EXPECT_EQ(two.low, 1.25);
  EXPECT_EQ(two.median, 1.5);
  EXPECT_EQ(two.high, 1.75);
  EXPECT_EQ(Quartiles::of({}).median, 0);
}

TEST(RotationOfTensors, IsLargerThanTwiceTheL2OrSaysThatItIsNot) {
  const Rotation large = Rotation::of(500, 100, 1u << 20);
  EXPECT_EQ(large.sets, 1u);
  EXPECT_TRUE(large.cold);
  const Rotation small = Rotation::of(30, 100, 1u << 20);
  EXPECT_EQ(small.sets, 7u);
  EXPECT_TRUE(small.cold);
  const Rotation tight = Rotation::of(30, 100, 200);
  EXPECT_EQ(tight.sets, 3u) << "half of the memory";
  EXPECT_FALSE(tight.cold);
  EXPECT_EQ(Rotation::of(0, 100, 1u << 20).cold, true);
}

TEST(Tensors, ThatDoNotFitAreRefusedWithTheirSizes) {
  const Result<Device> device = Device::open("sim:a100");
  ASSERT_TRUE(device);
  KernelImage image;
  image.spec.headDim = image.spec.valueDim = 128;
  for (int64_t batch : {int64_t(1) << 12, int64_t(1) << 50}) {
    const auto tensors = LaunchTensors::allocate(*device, image, {batch, 32, 8, 1 << 16, 1 << 16});
    ASSERT_FALSE(tensors);
    EXPECT_NE(tensors.status().message().find("32 heads on 8 KV heads, 65536 queries"), std::string::npos)
        << tensors.status().text();
    EXPECT_NE(tensors.status().message().find("MiB"), std::string::npos) << tensors.status().text();
    EXPECT_FALSE(tensors.status().hint().empty());
  }
}

TEST(Tensors, ShowAWriteIntoTheirGuards) {
  const Result<Device> device = Device::open("sim:a100");
  ASSERT_TRUE(device);
  KernelImage image;
  image.spec.headDim = image.spec.valueDim = 64;
  const auto tensors = LaunchTensors::allocate(*device, image, {1, 1, 1, 4, 4}, MemoryOrder::SequenceFirst, 64);
  ASSERT_TRUE(tensors) << tensors.status().text();
  ASSERT_TRUE(tensors->poisonOutputs().ok());
  EXPECT_EQ(*tensors->strayWrite(), "");
  const ScopedContext scope(*device->context());
  const char byte = 0;
  const auto copy =
      reinterpret_cast<int (*)(uint64_t, const void *, size_t)>(device->context()->driver().find("cuMemcpyHtoD_v2"));
  ASSERT_EQ(copy(uint64_t(tensors->arguments().o.data) + 4 * 64 * 2, &byte, 1), 0);
  EXPECT_EQ(*tensors->strayWrite(), "byte 0 behind o (512 bytes) was written");
}

} // namespace
