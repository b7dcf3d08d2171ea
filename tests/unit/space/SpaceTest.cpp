// The search space: what is in it, what is refused and counted, and which knobs are offered at all.
#include "autotune/space/Space.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace tessera::tune {
namespace {

Target target(std::string_view name) { return *Target::parse(name); }

Task causalTask(unsigned dim = 128, int64_t length = 2048) {
  Task task;
  task.spec.headDim = task.spec.valueDim = dim;
  task.spec.mask = Mask::causal(Align::BottomRight);
  task.problem = {2, 32, 8, length, length};
  return task;
}

size_t refusals(const Space &space) {
  return std::accumulate(space.refused.begin(), space.refused.end(), size_t(0),
                         [](size_t sum, const auto &reason) { return sum + reason.second; });
}

const Knob &knob(std::string_view name) {
  auto knobs = Knob::all();
  auto found = std::find_if(knobs.begin(), knobs.end(), [&](const Knob &one) { return one.name == name; });
  EXPECT_NE(found, knobs.end()) << name;
  return *found;
}

size_t choices(std::string_view name, const Task &task, std::string_view on = "sm_80") {
  return knob(name).values(task, target(on)).size();
}

std::vector<Task> variedTasks() {
  std::vector<Task> tasks{causalTask(64), causalTask(128), causalTask(256), causalTask(96, 300)};
  Task full = causalTask();
  full.spec.mask = Mask::full();
  tasks.push_back(full);
  Task window = causalTask();
  window.spec.mask = Mask::window(100, 0, Align::BottomRight);
  window.spec.dtype = DType::F16;
  tasks.push_back(window);
  Task decode = causalTask();
  decode.problem.seqlenQ = 1;
  tasks.push_back(decode);
  Task wide = causalTask(64);
  wide.spec.dtype = DType::F32;
  tasks.push_back(wide);
  Task uneven = causalTask(192);
  uneven.spec.valueDim = 128;
  tasks.push_back(uneven);
  Task tiny = causalTask(64, 1);
  tiny.problem = {1, 1, 1, 1, 1};
  tasks.push_back(tiny);
  Task empty = causalTask(64, 0);
  tasks.push_back(empty);
  return tasks;
}

TEST(Space, EveryCombinationIsLegalOrCountedAsRefused) {
  for (const Task &task : variedTasks())
    for (const Target &on : Target::all()) {
      Result<Space> space = Space::of(task, on);
      ASSERT_TRUE(space) << space.status().text();
      EXPECT_EQ(space->legal.size() + refusals(*space), space->combinations) << task.spec.text() << " " << on.name;
      for (const auto &[reason, count] : space->refused)
        EXPECT_TRUE(!reason.empty() && count > 0) << reason;
      size_t product = 1;
      for (const Knob &one : Knob::all())
        product *= one.values(task, on).size();
      EXPECT_EQ(space->combinations, product);
    }
}

TEST(Space, TheDefaultComesFirstAndAllAreLegalAndDifferent) {
  for (const Task &task : variedTasks())
    for (const Target &on : Target::all()) {
      Result<Space> space = Space::of(task, on);
      ASSERT_TRUE(space) << space.status().text();
      EXPECT_EQ(space->legal.front(), defaultSchedule(task.spec, on));
      std::set<std::string> texts;
      for (const Schedule &schedule : space->legal) {
        EXPECT_TRUE(schedule.legal(task.spec, on)) << schedule.legal(task.spec, on).text();
        EXPECT_TRUE(texts.insert(schedule.text()).second) << schedule.text();
      }
    }
}

TEST(Space, IsRichButSmallEnoughToBeSearchedWhole) {
  for (std::string_view on : {"sm_80", "sm_89"})
    for (unsigned dim : {64, 128, 256})
      for (bool causal : {true, false}) {
        Task task = causalTask(dim);
        if (!causal)
          task.spec.mask = Mask::full();
        Result<Space> space = Space::of(task, target(on));
        ASSERT_TRUE(space);
        EXPECT_GE(space->legal.size(), 200u) << on << " d " << dim;
        EXPECT_LE(space->legal.size(), 15000u) << on << " d " << dim;
      }
}

TEST(Space, TheWitnessOfThreeLoopsIsNeverTuned) {
  for (const Task &task : variedTasks()) {
    const Result<Space> space = Space::of(task, target("sm_80"));
    ASSERT_TRUE(space) << space.status().text();
    for (const Schedule &schedule : space->legal)
      EXPECT_EQ(schedule.loops, Loops::Online);
  }
}

TEST(Space, LimitsHoldForAllButTheDefault) {
  const Task task = causalTask();
  Result<Space> space = Space::of(task, target("sm_80"), {{"tile_kv", {"48", "80", "48"}}, {"rescale", {"every"}}});
  ASSERT_TRUE(space) << space.status().text();
  EXPECT_EQ(space->legal.front(), defaultSchedule(task.spec, target("sm_80")));
  EXPECT_GT(space->legal.size(), 10u);
  for (size_t i = 1; i < space->legal.size(); ++i) {
    EXPECT_TRUE(space->legal[i].tileKv == 48 || space->legal[i].tileKv == 80);
    EXPECT_EQ(space->legal[i].rescale, Rescale::Every);
  }
  EXPECT_EQ(space->legal.size() + refusals(*space), space->combinations);
}

TEST(Space, ALimitMayHoldAValueThatIsNotOffered) {
  Result<Space> space = Space::of(causalTask(), target("sm_80"), {{"tile_kv", {"16"}}});
  ASSERT_TRUE(space) << space.status().text();
  EXPECT_EQ(space->legal.back().tileKv, 16u);
}

TEST(Space, WrongLimitsAreNamed) {
  const Task task = causalTask();
  Result<Space> unknown = Space::of(task, target("sm_80"), {{"tile_k", {"64"}}});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.status().code(), Code::InvalidArgument);
  EXPECT_NE(unknown.status().text().find("'tile_k'"), std::string::npos) << unknown.status().text();
  EXPECT_NE(unknown.status().text().find("tile_kv"), std::string::npos) << unknown.status().text();
  for (const Knob &one : Knob::all())
    for (std::string value : {"", "sixty", "-1", "64 "}) {
      Result<Space> wrong = Space::of(task, target("sm_80"), {{std::string(one.name), {value}}});
      ASSERT_FALSE(wrong) << one.name << "=" << value;
      EXPECT_EQ(wrong.status().code(), Code::InvalidArgument);
      EXPECT_NE(wrong.status().text().find("'" + value + "'"), std::string::npos) << wrong.status().text();
    }
  EXPECT_FALSE(Space::of(task, target("sm_80"), {{"tile_kv", {}}}));
}

TEST(Space, LimitsThatLeaveNothingSayWhy) {
  Result<Space> none = Space::of(causalTask(), target("sm_80"), {{"tile_q", {"100"}}});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.status().code(), Code::InvalidArgument);
  EXPECT_NE(none.status().text().find("multiple of 16"), std::string::npos) << none.status().text();
}

TEST(Space, RefusalsAreFewClassesWithoutTheValues) {
  for (const Task &task : variedTasks()) {
    const Space space = *Space::of(task, target("sm_89"));
    EXPECT_LE(space.refused.size(), 12u);
    for (const auto &[reason, count] : space.refused)
      EXPECT_EQ(reason.find("not for this attention"), std::string::npos) << reason;
  }
  const Space usual = *Space::of(causalTask(64), target("sm_89"));
  EXPECT_TRUE(usual.refused.contains("more shared memory than sm_89 has per block"));
  EXPECT_TRUE(usual.refused.contains("more than 255 registers per thread: it would spill"));
}

TEST(Space, ALimitCannotAskForWhatHasNoMeaning) {
  Task alone = causalTask();
  alone.problem.kvHeads = 32;
  Result<Space> none = Space::of(alone, target("sm_80"), {{"pack", {"on"}}});
  ASSERT_FALSE(none);
  EXPECT_NE(none.status().text().find("one query head"), std::string::npos) << none.status().text();
}

TEST(Space, WrongTasksAreRefused) {
  Task task = causalTask();
  task.spec.headDim = 100;
  EXPECT_FALSE(Space::of(task, target("sm_80")));
  task = causalTask();
  task.problem.kvHeads = 7;
  EXPECT_FALSE(Space::of(task, target("sm_80")));
}

TEST(Space, IsTheSameEveryTime) {
  const Task task = causalTask();
  Result<Space> one = Space::of(task, target("sm_89")), two = Space::of(task, target("sm_89"));
  ASSERT_TRUE(one && two);
  EXPECT_TRUE(std::equal(one->legal.begin(), one->legal.end(), two->legal.begin(), two->legal.end()));
  EXPECT_EQ(one->refused, two->refused);
}

TEST(Space, EveryKnobReadsBackWhatItWrites) {
  for (const Task &task : variedTasks())
    for (const Knob &one : Knob::all()) {
      EXPECT_EQ(one.values(task, target("sm_80")).front(), one.get(defaultSchedule(task.spec, target("sm_80"))));
      for (const std::string &value : one.values(task, target("sm_80"))) {
        Schedule schedule;
        ASSERT_TRUE(one.set(schedule, value)) << one.name << "=" << value;
        EXPECT_EQ(one.get(schedule), value) << one.name;
      }
    }
}

TEST(Space, B4_74_AKnobThatCannotMatterIsNotOffered) {
  Task task = causalTask();
  for (const Knob &one : Knob::all())
    EXPECT_GT(choices(one.name, task), 1u) << one.name << " matters for a causal bf16 task with grouped heads";

  Task full = task;
  full.spec.mask = Mask::full();
  EXPECT_EQ(choices("order", full), 1u) << "all query tiles are alike";
  EXPECT_EQ(choices("head_group", full), 1u);
  Task seesAll = task; // one row of a causal mask, and a window wider than the sequence
  seesAll.problem.seqlenQ = 1;
  EXPECT_EQ(choices("order", seesAll), 1u);
  seesAll = task;
  seesAll.spec.mask = Mask::window(5000, 5000, Align::BottomRight);
  EXPECT_EQ(choices("order", seesAll), 1u);

  Task alone = task;
  alone.problem = {1, 1, 1, 2048, 2048};
  EXPECT_EQ(choices("head_group", alone), 1u) << "one (batch, head) pair";
  EXPECT_EQ(choices("pack", alone), 1u) << "one query head per KV head";
  alone.problem.seqlenQ = 16;
  EXPECT_EQ(choices("persistent", alone), 1u) << "one query tile in all";

  Task half = task;
  half.spec.dtype = DType::F16;
  const auto policies = knob("rescale").values(half, target("sm_80"));
  EXPECT_EQ(std::count(policies.begin(), policies.end(), "anchored"), 0) << "f16 has no room for an anchor";
  EXPECT_EQ(choices("row_sum", half), 2u);
  half.spec.outputs = Output::O | Output::LSE;
  EXPECT_EQ(choices("row_sum", half), 2u);
  Task withLse = task;
  withLse.spec.outputs = Output::O | Output::LSE;
  EXPECT_EQ(choices("row_sum", withLse), 1u) << "a bf16 LSE cannot be summed from rounded weights";
  Task wide = task;
  wide.spec.dtype = DType::F32;
  EXPECT_EQ(choices("row_sum", wide), 1u);

  Task fewKeys = task;
  fewKeys.problem.seqlenKv = 32;
  EXPECT_EQ(choices("rescale", fewKeys), 1u) << "one KV tile whatever its size";
  EXPECT_EQ(choices("stages", fewKeys), 1u);
}

TEST(Space, B4_74_WhatMattersForOneShapeOnlyIsNotAmongAnothersSchedules) {
  Task decode = causalTask();
  decode.problem.seqlenQ = 1; // 4 packed rows
  Result<Space> few = Space::of(decode, target("sm_80"));
  ASSERT_TRUE(few);
  for (size_t i = 1; i < few->legal.size(); ++i) {
    EXPECT_LE(few->legal[i].tileQ, 32u) << few->legal[i].text();
    EXPECT_EQ(few->legal[i].order, TileOrder::LastFirst);
    EXPECT_EQ(few->legal[i].headGroup, 1u);
  }
  Task shortKeys = causalTask();
  shortKeys.problem.seqlenKv = 100;
  Result<Space> narrow = Space::of(shortKeys, target("sm_80"));
  ASSERT_TRUE(narrow);
  for (size_t i = 1; i < narrow->legal.size(); ++i) {
    const Schedule &schedule = narrow->legal[i];
    EXPECT_LT(schedule.tileKv, 200u);
    EXPECT_LE(schedule.stages, (100 + schedule.tileKv - 1) / schedule.tileKv);
    if (schedule.tileKv >= 100)
      EXPECT_EQ(schedule.rescale, Rescale::Lazy) << schedule.text();
  }
  Task fewPairs = causalTask();
  fewPairs.problem = {1, 8, 2, 8192, 8192};
  Result<Space> pairs = Space::of(fewPairs, target("sm_80"));
  ASSERT_TRUE(pairs);
  for (const Schedule &schedule : pairs->legal)
    EXPECT_LE(schedule.headGroup, schedule.packHeads ? 2u : 8u);
}

TEST(Space, GroupsBeginWithTheLongestTilesWhicheverEndTheyAreAt) {
  Task causal = causalTask(), mirror = causal;
  mirror.spec.mask = Mask::window(0, std::nullopt, Align::TopLeft);
  for (const Task &task : {causal, mirror}) {
    const TileOrder longest = task == causal ? TileOrder::LastFirst : TileOrder::FirstFirst;
    const Space space = *Space::of(task, target("sm_80"));
    size_t groups = 0, persistent = 0;
    for (size_t i = 1; i < space.legal.size(); ++i) {
      const Schedule &one = space.legal[i];
      if (one.headGroup > 1 || one.persistent)
        EXPECT_EQ(one.order, longest) << one.text();
      groups += one.headGroup > 1, persistent += one.persistent;
    }
    EXPECT_TRUE(groups > 100 && persistent > 100) << task.spec.text();
  }
}

TEST(Space, PackedHeadsTakeTheirTilesInTurnToo) {
  for (const Problem &problem :
       {Problem{4, 32, 8, 512, 512}, Problem{1, 32, 8, 2048, 2048}, Problem{1, 8, 2, 300, 300}}) {
    Task task = causalTask();
    task.problem = problem;
    const Space space = *Space::of(task, target("sm_80"));
    const auto most = [&](bool packed) {
      unsigned group = 0;
      for (const Schedule &one : space.legal)
        if (one.packHeads == packed)
          group = std::max(group, one.headGroup);
      return group;
    };
    EXPECT_EQ(most(false), std::min<int64_t>(64, problem.batch * problem.heads));
    EXPECT_EQ(most(true), problem.batch * problem.kvHeads);
  }
  Task longKeys = causalTask();
  longKeys.problem = {1, 32, 8, 16384, 16384}; // 8 MB of K and V of each KV head
  EXPECT_EQ(knob("head_group").values(longKeys, target("sm_80")), (std::vector<std::string>{"1", "16", "4"}));
}

TEST(Preference, B4_77_OrdersByDefaultSharedMemoryRegistersAndText) {
  const Task task = causalTask();
  const Target on = target("sm_80");
  const Schedule standard = defaultSchedule(task.spec, on);
  Schedule small = standard, ring = standard, few = standard, first = standard;
  small.tileKv = 32;
  ring.stages = 2;
  few.queryInRegisters = true; // as much shared memory as the default, more registers
  first.order = TileOrder::FirstFirst;
  EXPECT_EQ(preference(standard, standard, task, on), 0);
  EXPECT_LT(preference(standard, small, task, on), 0);
  EXPECT_GT(preference(small, standard, task, on), 0);
  EXPECT_LT(preference(small, ring, task, on), 0);
  EXPECT_LT(preference(first, few, task, on), 0);
  Schedule persistent = standard;
  persistent.persistent = true;
  EXPECT_EQ(preference(first, persistent, task, on) < 0, first.text() < persistent.text());
  std::vector<Schedule> all = Space::of(task, on)->legal;
  all.resize(200);
  for (const Schedule &a : all)
    for (const Schedule &b : all)
      EXPECT_EQ(preference(a, b, task, on) < 0, preference(b, a, task, on) > 0);
}

} // namespace
} // namespace tessera::tune
