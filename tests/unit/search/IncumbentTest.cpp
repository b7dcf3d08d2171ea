// What was chosen before is compared again, however little a search looks at.
#include "tests/unit/search/FakeWorkshop.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::tune;
using namespace tessera::tune::test;

namespace {

struct IncumbentTest : testing::Test {
  Task task = taskOf();
  RunFacts facts = factsOf();
  SearchOptions options{.top = 6, .limits = {{"tile_q", {"64"}}, {"rescale", {"every"}}}};
  FakeWorkshop workshop;
  std::atomic<bool> stop{false};
  std::vector<std::string> before = candidatesOf(task, facts, options); ///< without incumbents
  std::vector<Schedule> incumbents;
  Schedule foreign = defaultSchedule(task.spec, facts.target); ///< legal, and none of what the options let in

  IncumbentTest() {
    foreign.tileQ = 64;
    foreign.tileKv = 16;
    EXPECT_TRUE(foreign.legal(task.spec, facts.target));
    EXPECT_EQ(std::ranges::count(before, foreign.text()), 0);
    options.incumbents = [this](const Task &) { return incumbents; };
  }
  std::vector<std::string> candidates() const { return candidatesOf(task, facts, options); }
  TaskOutcome run(std::span<const Trial> known = {}) {
    Result<SearchOutcome> outcome = search(std::vector{task}, facts, options, workshop, nullptr, known, stop);
    EXPECT_TRUE(outcome.ok()) << outcome.status().text();
    return outcome->tasks[0];
  }
  void isFastest(const Schedule &fastest) {
    workshop.time = [fastest](const Task &, const Schedule &schedule) { return schedule == fastest ? 1 : 5; };
  }
};

} // namespace

TEST_F(IncumbentTest, TheyStandRightBehindTheDefaultBeyondTopAndLimits) {
  incumbents = {foreign};
  std::vector<std::string> expected = before;
  expected.insert(expected.begin() + 1, foreign.text());
  EXPECT_EQ(candidates(), expected);
  isFastest(foreign);
  const TaskOutcome outcome = run();
  EXPECT_EQ(winnerOf(outcome), foreign.text());
  EXPECT_TRUE(outcome.comparedAll);
  EXPECT_EQ(outcome.candidates, before.size() + 1);
}

TEST_F(IncumbentTest, TheyAreTimedRightAfterTheDefault) {
  incumbents = {foreign};
  workshop.time = [&](const Task &, const Schedule &schedule) { return schedule == foreign ? 50 : 5; };
  run();
  ASSERT_GT(workshop.asked.size(), 3u);
  EXPECT_EQ(workshop.asked[0], "measure " + before[0]);
  EXPECT_EQ(workshop.asked[2], "measure " + foreign.text());
}

TEST_F(IncumbentTest, OneThatIsLookedAtAnywayAddsNothing) {
  incumbents = {*Schedule::parse(before[4]), defaultSchedule(task.spec, facts.target), *Schedule::parse(before[4])};
  std::vector<std::string> expected = before;
  std::rotate(expected.begin() + 1, expected.begin() + 4, expected.begin() + 5);
  EXPECT_EQ(candidates(), expected);
}

TEST_F(IncumbentTest, WhatIsNotLegalAnyMoreIsPassedOver) {
  incumbents = {foreign};
  incumbents[0].tileKv = 7;
  EXPECT_EQ(candidates(), before);
}

TEST_F(IncumbentTest, OfWhatIsOfferedNothingElseIsCompared) {
  options.offered = [&](const Task &) { return std::vector{*Schedule::parse(before[1]), *Schedule::parse(before[2])}; };
  incumbents = {foreign, *Schedule::parse(before[2])};
  EXPECT_EQ(candidates(), (std::vector{before[2], before[1]}));
}

TEST_F(IncumbentTest, TheyComeWithTheFirstShard) {
  incumbents = {foreign, *Schedule::parse(before[2])};
  options.shard = {2, 2};
  const std::vector<std::string> second = candidates();
  EXPECT_EQ(second, (std::vector{before[2], before[4], before[6]})) << "what it has without any";
  options.shard = {1, 2};
  EXPECT_EQ(candidates(), (std::vector{before[0], foreign.text(), before[2], before[1], before[3], before[5]}));
}

TEST_F(IncumbentTest, OneThatSpillsIsComparedToo) {
  incumbents = {foreign};
  workshop.spilling = {foreign.text()};
  isFastest(foreign);
  const TaskOutcome first = run();
  EXPECT_EQ(winnerOf(first), foreign.text());
  workshop.compiled.clear();
  EXPECT_EQ(winnerOf(run(first.trials)), foreign.text());
  EXPECT_TRUE(workshop.compiled.empty()) << "its trial stands";
}

TEST_F(IncumbentTest, WhereOneIsCutOffNotAllIsCompared) {
  incumbents = {foreign};
  for (size_t trials : {0, 1}) {
    options.trials = trials;
    const TaskOutcome outcome = run();
    EXPECT_TRUE(outcome.choice->winner.isDefault);
    EXPECT_FALSE(outcome.comparedAll) << trials;
  }
  options.trials = 2;
  EXPECT_TRUE(run().comparedAll);
  isFastest(foreign);
  EXPECT_EQ(winnerOf(run()), foreign.text());
}

TEST_F(IncumbentTest, OneThatCrashesIsCompared) {
  incumbents = {foreign};
  workshop.faults[foreign.text()] = {};
  EXPECT_TRUE(run().comparedAll);
}

TEST_F(IncumbentTest, WhereTheWorkshopBreaksNotAllIsCompared) {
  incumbents = {foreign};
  workshop.faults[foreign.text()] = {Fault::Measure, Fate::Broken, Status(Code::NoDevice, "gone")};
  const TaskOutcome outcome = run();
  EXPECT_TRUE(outcome.choice->winner.isDefault);
  EXPECT_FALSE(outcome.comparedAll);
}
