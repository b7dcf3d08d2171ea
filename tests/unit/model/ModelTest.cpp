// Laws that every prediction obeys, whatever its constants.
#include "tests/unit/model/Tasks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <ctime>

namespace tessera::tune {
namespace {

Schedule schedule(const char *text) { return *Schedule::parse(text); }

/// A few schedules of the space from all over it.
std::vector<Schedule> sample(const Task &task, const Target &target, size_t count = 60) {
  std::vector<Schedule> legal = Space::of(task, target)->legal, some;
  for (size_t i = 0; i < legal.size(); i += std::max<size_t>(legal.size() / count, 1))
    some.push_back(legal[i]);
  return some;
}

/// Calls visit(gpu, task, schedule) for many of each.
template <typename Visit> void everywhere(Visit visit) {
  for (const Gpu &gpu : Gpu::all())
    for (unsigned dim : {64, 128, 256})
      for (bool causal : {true, false})
        for (int64_t length : {512, 4096}) {
          Task task = usualTask(dim, causal, length);
          task.problem.kvHeads = 8;
          for (const Schedule &one : sample(task, targetOf(gpu)))
            visit(gpu, task, one);
        }
}

TEST(Model, AllTermsAreThereInTheirOrderAndFinite) {
  const std::vector<std::string> names = {"tensor", "exponent", "fma",    "alu",     "issue", "shared",
                                          "fill",   "l2",       "memory", "latency", "tail",  "launch"};
  everywhere([&](const Gpu &gpu, const Task &task, const Schedule &one) {
    const Prediction p = predict(gpu, task, one);
    ASSERT_EQ(p.terms.size(), names.size());
    for (size_t i = 0; i < names.size(); ++i) {
      ASSERT_EQ(p.terms[i].name, names[i]);
      ASSERT_TRUE(std::isfinite(p.terms[i].milliseconds) && p.terms[i].milliseconds >= -1e-12)
          << gpu.name << " " << one.text() << "\n"
          << p.text();
    }
    ASSERT_TRUE(std::isfinite(p.milliseconds) && p.milliseconds > 0);
    ASSERT_NE(p.text().find(p.bound), std::string::npos);
  });
}

TEST(Model, NoUnitWorksFasterThanItsRate) {
  everywhere([&](const Gpu &gpu, const Task &task, const Schedule &one) {
    const Prediction p = predict(gpu, task, one);
    for (const Term &term : p.terms)
      if (term.name != "latency" && term.name != "tail")
        ASSERT_LE(term.milliseconds, p.milliseconds * (1 + 1e-9)) << gpu.name << " " << one.text() << "\n" << p.text();
    ASSERT_LE(p.flops, p.milliseconds * 1e3 * gpu.clockMHz * gpu.sms * gpu.mma16 * 2);
  });
}

TEST(Model, MoreOfARateIsNeverSlower) {
  everywhere([&](const Gpu &gpu, const Task &task, const Schedule &one) {
    const double time = predict(gpu, task, one).milliseconds;
    for (Figure Gpu::*rate : {&Gpu::memoryGBps, &Gpu::l2Bytes, &Gpu::clockMHz, &Gpu::mma16, &Gpu::fma, &Gpu::alu,
                              &Gpu::mufu, &Gpu::shuffle, &Gpu::sharedBytes, &Gpu::fillBytes, &Gpu::l2BytesPerClock}) {
      Gpu better = gpu;
      (better.*rate).value *= 1.5;
      ASSERT_LE(predict(better, task, one).milliseconds, time * (1 + 1e-12)) << gpu.name << " " << one.text();
    }
    for (Figure Gpu::*latency : {&Gpu::latencyMma, &Gpu::latencyShared, &Gpu::latencyL2, &Gpu::latencyMemory,
                                 &Gpu::latencyBarrier, &Gpu::launchMicroseconds, &Gpu::blockStartClocks}) {
      Gpu worse = gpu;
      (worse.*latency).value *= 2;
      ASSERT_GE(predict(worse, task, one).milliseconds, time * (1 - 1e-12)) << gpu.name << " " << one.text();
    }
  });
}

TEST(Model, AnyUnitThatIsSlowEnoughRules) {
  const std::pair<Figure Gpu::*, const char *> units[] = {
      {&Gpu::mma16, "tensor"},     {&Gpu::mufu, "exponent"},    {&Gpu::fma, "fma"},
      {&Gpu::alu, "alu"},          {&Gpu::schedulers, "issue"}, {&Gpu::sharedBytes, "shared"},
      {&Gpu::shuffle, "shared"},   {&Gpu::fillBytes, "fill"},   {&Gpu::l2BytesPerClock, "l2"},
      {&Gpu::memoryGBps, "memory"}};
  const Task task = usualTask(128, true, 2048);
  const Schedule one = schedule("v1:q128,kv64,w4,s1,lazy8,add,qsmem,online");
  const BlockWork work = estimateWork(task, one);
  Footprint footprint = estimateFootprint(task, one);
  footprint.registers = 0; // issue slots are counted per scheduler, and so are registers
  for (const auto &[rate, unit] : units) {
    Gpu gpu = *Gpu::find("a100");
    const Prediction before = predict(gpu, task, one, footprint, work);
    (gpu.*rate).value /= 1000;
    const Prediction after = predict(gpu, task, one, footprint, work);
    EXPECT_EQ(after.bound, unit) << after.text();
    EXPECT_GT(after.milliseconds, 2 * before.milliseconds) << unit;
  }
}

TEST(Model, SpillsAreNeverFaster) {
  everywhere([&](const Gpu &gpu, const Task &task, const Schedule &one) {
    Footprint footprint = estimateFootprint(task, one);
    const BlockWork work = estimateWork(task, one);
    double before = predict(gpu, task, one, footprint, work).milliseconds;
    for (unsigned bytes : {4u, 64u, 512u}) {
      footprint.spillBytes = estimateFootprint(task, one).spillBytes + bytes;
      const double now = predict(gpu, task, one, footprint, work).milliseconds;
      ASSERT_GE(now, before) << gpu.name << " " << one.text();
      before = now;
    }
    ASSERT_GT(before, predict(gpu, task, one).milliseconds) << one.text();
  });
}

TEST(Model, WhatNoSmHoldsTakesForever) {
  const Gpu gpu = *Gpu::find("a100");
  const Task task = usualTask(128, false, 2048);
  const Schedule one = schedule("v1:q128,kv64,w4,s1,lazy8,add,qsmem,online");
  const BlockWork work = estimateWork(task, one);
  for (int what = 0; what < 3; ++what) {
    Footprint footprint = estimateFootprint(task, one);
    if (what == 0)
      footprint.sharedBytes = 164 * 1024;
    else if (what == 1)
      footprint.registers = 256;
    else
      footprint.threads = 2048;
    const Prediction p = predict(gpu, task, one, footprint, work);
    EXPECT_TRUE(std::isinf(p.milliseconds));
    EXPECT_EQ(p.blocksPerSm, 0u);
  }
}

TEST(Model, MoreWorkTakesMoreTime) {
  everywhere([&](const Gpu &gpu, const Task &task, const Schedule &one) {
    const double time = predict(gpu, task, one).milliseconds;
    Task more = task;
    more.problem.seqlenKv *= 2; // bottom right: every row sees at least as much
    ASSERT_GT(predict(gpu, more, one).milliseconds, time) << gpu.name << " " << one.text();
    if (!task.spec.mask.isFull()) {
      more = task;
      more.spec.mask = Mask::full();
      ASSERT_GT(predict(gpu, more, one).milliseconds, time) << gpu.name << " " << one.text();
    }
  });
}

TEST(Model, ADoubledBatchTakesTwiceAsLongWhereTheGpuIsFull) {
  for (const Gpu &gpu : Gpu::all())
    for (bool causal : {true, false}) {
      Task task = usualTask(128, causal, 4096);
      task.problem.batch = 32;
      Task twice = task;
      twice.problem.batch = 64;
      for (const Schedule &one : sample(task, targetOf(gpu))) {
        const double ratio = predict(gpu, twice, one).milliseconds / predict(gpu, task, one).milliseconds;
        EXPECT_NEAR(ratio, 2, 0.06) << gpu.name << " " << one.text();
      }
    }
}

TEST(Model, LaterRescalesAreNeverSlowerOnLongRows) {
  for (const Gpu &gpu : Gpu::all()) {
    const Task task = usualTask(128, true, 8192);
    const double every = predict(gpu, task, schedule("v1:q64,kv64,w4,s1,every,add,qsmem,online")).milliseconds;
    const double lazy = predict(gpu, task, schedule("v1:q64,kv64,w4,s1,lazy8,add,qsmem,online")).milliseconds;
    const double anchored = predict(gpu, task, schedule("v1:q64,kv64,w4,s1,anchored,add,qsmem,online")).milliseconds;
    EXPECT_LE(lazy, every * 1.001) << gpu.name;
    EXPECT_LE(anchored, lazy * 1.001) << gpu.name;
  }
}

TEST(Model, LongestTilesFirstShortenTheTail) {
  for (const Gpu &gpu : Gpu::all()) {
    Task task = usualTask(128, true, 4096);
    task.problem.batch = 1;
    const double first = predict(gpu, task, schedule("v1:q64,kv64,w4,s1,lazy8,add,qsmem,online,first")).milliseconds;
    const double last = predict(gpu, task, schedule("v1:q64,kv64,w4,s1,lazy8,add,qsmem,online")).milliseconds;
    const double grouped = predict(gpu, task, schedule("v1:q64,kv64,w4,s1,lazy8,add,qsmem,online,h32")).milliseconds;
    const double wrongEnd =
        predict(gpu, task, schedule("v1:q64,kv64,w4,s1,lazy8,add,qsmem,online,h32,first")).milliseconds;
    EXPECT_LE(last, first) << gpu.name;
    EXPECT_LT(grouped, 0.99 * last) << gpu.name;
    EXPECT_LT(grouped, 0.99 * wrongEnd) << gpu.name;
  }
}

TEST(Model, MemoryMovesInputsAndOutputsAtLeastOnce) {
  everywhere([&](const Gpu &gpu, const Task &task, const Schedule &one) {
    const Problem &problem = task.problem;
    const double rows = double(problem.batch * problem.seqlenQ) * 2 * task.spec.headDim;
    const double once = rows * 2 * (double(problem.heads) + double(problem.kvHeads));
    ASSERT_GE(predict(gpu, task, one).memoryBytes, once * 0.999) << gpu.name << " " << one.text();
  });
}

TEST(Model, NarrowWindowsReadAllKeysOfALongSequenceAndFewOfALongCache) {
  const Gpu gpu = *Gpu::find("a100");
  const Schedule one = schedule("v1:q128,kv64,w4,s1,lazy8,add,qsmem,online");
  Task task = usualTask(128, false, 16384);
  task.spec.mask = Mask::window(255, 0, Align::BottomRight);
  EXPECT_GE(predict(gpu, task, one).memoryBytes, 4.0 * 16384 * 32 * 128 * 2) << "Q, K, V and O";
  task.problem.seqlenQ = 1;
  EXPECT_LT(predict(gpu, task, one).memoryBytes, 2.0 * 400 * 32 * 128 * 2) << "the last 256 keys";
}

TEST(Model, HeadsBeyondL2AreReadAgain) {
  const Gpu rtx3090 = *Gpu::find("rtx3090"), rtx4090 = *Gpu::find("rtx4090");
  Task task = usualTask(128, false, 8192);
  const Schedule one = schedule("v1:q64,kv64,w4,s1,lazy8,add,qsmem,online,h32");
  const double once = predict(rtx4090, usualTask(128, false, 512), one).memoryBytes;
  EXPECT_NEAR(once, 4.0 * 16384 * 32 * 128 * 2, 1) << "all K and V in flight stand in 72 MB";
  EXPECT_GT(predict(rtx3090, task, one).memoryBytes, 2 * once) << "32 heads of 4 MB through 6 MB";
  EXPECT_LT(predict(rtx3090, task, schedule("v1:q64,kv64,w4,s1,lazy8,add,qsmem,online")).memoryBytes,
            predict(rtx3090, task, one).memoryBytes)
      << "one head after the other";
}

TEST(Model, UsefulFlopsAreThoseOfVisibleScores) {
  Task task = usualTask(64, true, 100);
  task.problem = {1, 1, 1, 100, 150};
  const Schedule one = schedule("v1:q64,kv64,w4,s1,lazy8,add,qsmem,online");
  const Gpu gpu = *Gpu::find("a100");
  double visible = 0;
  for (int row = 0; row < 100; ++row)
    visible += row + 51;
  EXPECT_EQ(predict(gpu, task, one).flops, visible * 256);
  task.spec.mask = Mask::window(10, 3, Align::TopLeft);
  visible = 0;
  for (int row = 0; row < 100; ++row)
    visible += std::min(row + 4, 150) - std::max(row - 10, 0);
  EXPECT_EQ(predict(gpu, task, one).flops, visible * 256);
  task.problem = {1, 1, 1, 200, 50}; // rows that see nothing
  task.spec.mask = Mask::causal(Align::BottomRight);
  EXPECT_EQ(predict(gpu, task, one).flops, 50.0 * 51 / 2 * 256);
}

TEST(Model, NothingToDoTakesALaunch) {
  const Gpu gpu = *Gpu::find("a100");
  const Schedule one = schedule("v1:q64,kv64,w4,s1,lazy8,add,qsmem,online");
  for (int what = 0; what < 3; ++what) {
    Task task = usualTask(128, true, 1024);
    (what == 0 ? task.problem.batch : what == 1 ? task.problem.seqlenQ : task.problem.heads) = 0;
    if (what == 2)
      task.problem.kvHeads = 0;
    const Prediction p = predict(gpu, task, one);
    EXPECT_DOUBLE_EQ(p.milliseconds, gpu.launchMicroseconds / 1e3);
    EXPECT_EQ(p.terms.size(), 12u);
  }
  Task noKeys = usualTask(128, true, 1024);
  noKeys.problem.seqlenKv = 0;
  EXPECT_TRUE(std::isfinite(predict(gpu, noKeys, one).milliseconds));
}

TEST(Rank, IsBestFirstWithTiesInTheFixedOrder) {
  const Gpu gpu = *Gpu::find("a100");
  const Task task = usualTask(128, true, 2048);
  const std::vector<Schedule> legal = Space::of(task, targetOf(gpu))->legal;
  const std::vector<size_t> order = rank(gpu, task, legal, targetOf(gpu));
  ASSERT_EQ(order.size(), legal.size());
  std::vector<bool> seen(legal.size());
  for (size_t i = 0; i < order.size(); ++i) {
    ASSERT_FALSE(seen[order[i]]);
    seen[order[i]] = true;
    if (i == 0)
      continue;
    const auto expected = [&](size_t place) {
      const Schedule &one = legal[order[place]];
      return std::pair(estimateFootprint(task, one).spillBytes > 0, predict(gpu, task, one).milliseconds);
    };
    const auto before = expected(i - 1), now = expected(i);
    ASSERT_LE(before, now);
    if (before == now)
      ASSERT_LT(preference(legal[order[i - 1]], legal[order[i]], task, targetOf(gpu)), 0);
  }
}

TEST(Rank, WhatIsExpectedToSpillComesLast) {
  const Gpu gpu = *Gpu::find("a100");
  Task task = usualTask(128, true, 1025);
  task.spec.dtype = DType::F32;
  task.problem = {1, 8, 8, 1, 1025};
  const std::vector<Schedule> legal = Space::of(task, targetOf(gpu))->legal;
  size_t spilling = 0;
  for (size_t i : rank(gpu, task, legal, targetOf(gpu))) {
    const bool spills = estimateFootprint(task, legal[i]).spillBytes > 0;
    ASSERT_TRUE(spills || !spilling) << legal[i].text();
    spilling += spills;
  }
  EXPECT_GT(spilling, 10u) << "one warp on wide tiles of f32";
  EXPECT_LT(spilling, legal.size());
}

TEST(Rank, TakesMicrosecondsPerSchedule) {
  const Gpu gpu = *Gpu::find("a100");
  const Task task = usualTask(64, true, 8192);
  const std::vector<Schedule> legal = Space::of(task, targetOf(gpu))->legal;
  ASSERT_GT(legal.size(), 4000u);
  const std::clock_t begin = std::clock();
  rank(gpu, task, legal, targetOf(gpu));
  const double microseconds = 1e6 * double(std::clock() - begin) / CLOCKS_PER_SEC / double(legal.size());
#ifdef NDEBUG
  EXPECT_LT(microseconds, 16) << "6,000 schedules in 0.1 s";
#else
  EXPECT_LT(microseconds, 500);
#endif
}

} // namespace
} // namespace tessera::tune
