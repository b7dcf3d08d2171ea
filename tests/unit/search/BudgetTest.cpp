// Budgets by time and by count, and a search that is stopped.
#include "autotune/search/Budget.h"
#include "tests/unit/search/FakeWorkshop.h"

#include <chrono>
#include <gtest/gtest.h>
#include <thread>

using namespace tessera;
using namespace tessera::tune;
using namespace tessera::tune::test;

namespace {

struct BudgetTest : testing::Test {
  RunFacts facts = factsOf();
  SearchOptions options{.top = 40, .limits = fewValues()};
  FakeWorkshop workshop;
  std::atomic<bool> stop{false};
  double seconds = 0;
  std::vector<SearchEvent> events;

  SearchOutcome run(const std::vector<Task> &tasks) {
    const auto start = std::chrono::steady_clock::now();
    const Result<SearchOutcome> outcome = search(tasks, facts, options, workshop, nullptr, {}, stop,
                                                 [&](const SearchEvent &event) { events.push_back(event); });
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    EXPECT_TRUE(outcome.ok()) << outcome.status().text();
    return *outcome;
  }
  void compilesTake(int milliseconds) {
    workshop.everyCompile = [milliseconds] { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); };
  }
};

} // namespace

TEST_F(BudgetTest, TrialsAreSpreadFairlyOverTheTasks) {
  options.trials = 30;
  const SearchOutcome outcome = run({taskOf(2048, 64), taskOf(2048, 128), taskOf(2048, 256)});
  EXPECT_EQ(workshop.compiled.size(), 30u);
  for (const TaskOutcome &task : outcome.tasks) {
    EXPECT_EQ(task.compiled, 10u);
    EXPECT_TRUE(task.choice);
    EXPECT_FALSE(task.complete);
  }
  EXPECT_TRUE(outcome.outOfBudget);
  EXPECT_FALSE(outcome.interrupted);
}

TEST_F(BudgetTest, EveryTaskHasItsDefaultEvenWithoutTrials) {
  options.trials = 0;
  const SearchOutcome outcome = run({taskOf(2048, 64), taskOf(2048, 128)});
  for (const TaskOutcome &task : outcome.tasks) {
    ASSERT_TRUE(task.choice);
    EXPECT_TRUE(task.choice->winner.isDefault);
    EXPECT_EQ(task.compiled, 1u);
  }
}

TEST_F(BudgetTest, WhatOneTaskDoesNotNeedIsLeftForTheOthers) {
  options.top = 4;
  const size_t first = candidatesOf(taskOf(2048, 64), facts, options).size();
  options.trials = 2 * first;
  run({taskOf(2048, 64), taskOf(512, 64), taskOf(2048, 128)});
  EXPECT_GE(workshop.compiled.size(), 2 * first - 1) << "the second shape shares the first's kernels";
}

TEST_F(BudgetTest, SecondsAreSpreadFairlyAndKept) {
  compilesTake(40);
  options.seconds = 1.5;
  const SearchOutcome outcome = run({taskOf(2048, 64), taskOf(2048, 128), taskOf(2048, 256)});
  EXPECT_LT(seconds, 2.5);
  EXPECT_TRUE(outcome.outOfBudget);
  for (const TaskOutcome &task : outcome.tasks) {
    EXPECT_TRUE(task.choice);
    EXPECT_LT(task.seconds, 0.9);
  }
}

TEST_F(BudgetTest, TheDefaultIsTimedAndVerifiedFirst) {
  const std::string usual = candidatesOf(taskOf(), facts, options).front();
  run({taskOf()});
  ASSERT_GT(workshop.asked.size(), 2u);
  EXPECT_EQ(workshop.asked[0], "measure " + usual);
  EXPECT_EQ(workshop.asked[1], "verify " + usual);
}

TEST_F(BudgetTest, TimeThatEndsWhileTheFirstCompileKeepsTheBestOfThose) {
  workshop.everyCompile = [this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(workshop.compiled.size() == 2 ? 1100 : 0));
  };
  options.seconds = 1;
  const std::vector<std::string> candidates = candidatesOf(taskOf(), facts, options);
  workshop.time = [&](const Task &, const Schedule &schedule) { return schedule.text() == candidates[1] ? 1 : 2; };
  const SearchOutcome outcome = run({taskOf()});
  EXPECT_EQ(workshop.compiled.size(), 2u);
  EXPECT_TRUE(outcome.outOfBudget);
  const TaskOutcome &task = outcome.tasks[0];
  ASSERT_TRUE(task.choice);
  EXPECT_TRUE(task.choice->winner.isDefault) << "the time was over when that was verified";
  EXPECT_TRUE(task.comparedAll);
  EXPECT_FALSE(task.complete);
}

TEST_F(BudgetTest, TimeThatIsSpentOnCompilesLeavesSomeToMeasure) {
  compilesTake(400);
  options.seconds = 2;
  const std::vector<std::string> candidates = candidatesOf(taskOf(), facts, options);
  workshop.time = [&](const Task &, const Schedule &schedule) { return schedule.text() == candidates[1] ? 1 : 2; };
  const SearchOutcome outcome = run({taskOf()});
  EXPECT_EQ(winnerOf(outcome.tasks[0]), candidates[1]);
  EXPECT_LT(seconds, 2);
}

TEST_F(BudgetTest, TimeThatEndsBeforeTheFirstIsCompiledHasAFewSecondsOfGrace) {
  compilesTake(300);
  options.seconds = 0.05;
  const TaskOutcome task = run({taskOf()}).tasks[0];
  ASSERT_TRUE(task.choice);
  EXPECT_TRUE(task.choice->winner.isDefault);
  EXPECT_EQ(workshop.compiled.size(), 1u);
}

TEST_F(BudgetTest, AStopHasNoGrace) {
  options.seconds = 0.1; // enough to begin with, on a machine that is busy
  workshop.everyCompile = [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    stop = true;
  };
  const SearchOutcome outcome = run({taskOf()});
  EXPECT_FALSE(outcome.tasks[0].choice);
  EXPECT_FALSE(outcome.tasks[0].comparedAll);
  EXPECT_TRUE(outcome.interrupted);
  EXPECT_TRUE(workshop.asked.empty());
}

TEST_F(BudgetTest, OfWhatIsCutOffNothingIsSaid) {
  // What ties with the best and was not verified yet might have won.
  workshop.time = [](const Task &, const Schedule &) { return 5; };
  size_t compiles = 0;
  workshop.everyCompile = [&] { stop = ++compiles == 15; };
  const TaskOutcome task = run({taskOf()}).tasks[0];
  ASSERT_TRUE(task.choice);
  EXPECT_LT(task.trials.size(), task.compiled);
  for (const Trial &trial : task.trials)
    EXPECT_EQ(trial.status, TrialStatus::Measured) << trial.schedule.text();
}

TEST_F(BudgetTest, AStopKeepsTheBestSoFar) {
  size_t compiles = 0;
  workshop.everyCompile = [&] { stop = ++compiles == 15; };
  const SearchOutcome outcome = run({taskOf(2048, 64), taskOf(2048, 128)});
  EXPECT_EQ(workshop.compiled.size(), 15u);
  EXPECT_TRUE(outcome.interrupted);
  EXPECT_TRUE(outcome.tasks[0].choice);
  EXPECT_FALSE(outcome.tasks[0].complete);
}

TEST_F(BudgetTest, AStopBeforeAnythingEndsSaysSo) {
  stop = true;
  const SearchOutcome outcome = run({taskOf()});
  EXPECT_TRUE(outcome.interrupted);
  EXPECT_FALSE(outcome.tasks[0].choice);
  ASSERT_FALSE(outcome.warnings.empty());
  EXPECT_NE(outcome.warnings[0].find("not reached"), std::string::npos) << outcome.warnings[0];
}

TEST_F(BudgetTest, EventsTellWhereTheRunStands) {
  compilesTake(1);
  const SearchOutcome outcome = run({taskOf(2048, 64), taskOf(2048, 128)});
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.front().kind, SearchEvent::TaskBegins);
  EXPECT_EQ(events.front().etaSeconds, std::nullopt);
  EXPECT_EQ(events.front().toCompile, 41u);
  EXPECT_EQ(events.back().kind, SearchEvent::TaskEnds);
  EXPECT_EQ(events.back().task, 1u);
  EXPECT_LT(events.back().etaSeconds.value_or(1e9), 0.01);
  size_t ended = 0, bests = 0;
  double elapsed = 0;
  for (const SearchEvent &event : events) {
    EXPECT_GE(event.elapsedSeconds, elapsed);
    elapsed = event.elapsedSeconds;
    ended += event.kind == SearchEvent::TrialEnds;
    bests += event.kind == SearchEvent::NewBest;
  }
  EXPECT_EQ(ended, outcome.tasks[0].trials.size() + outcome.tasks[1].trials.size());
  EXPECT_GE(bests, 2u);
}

TEST_F(BudgetTest, TheTimeLeftComesFromMediansOfWhatWasDone) {
  Pace pace;
  EXPECT_EQ(pace.left(10, 0, 1), std::nullopt) << "nothing is known yet";
  pace.wave({.compileSeconds = 40, .restSeconds = 20, .compiled = 4, .tried = 4, .first = true});
  EXPECT_DOUBLE_EQ(*pace.left(2, 0, 0), 30);
  EXPECT_DOUBLE_EQ(*pace.left(0, 2, 0), 10) << "kernels that are shared are not compiled";
  pace.wave({.compileSeconds = 3, .restSeconds = 1, .compiled = 4, .tried = 4});
  EXPECT_DOUBLE_EQ(*pace.left(4, 0, 0), 4) << "the first wave waits for workers to start";
  pace.wave({.compileSeconds = 6, .restSeconds = 2, .compiled = 4, .tried = 4});
  pace.wave({.compileSeconds = 300, .restSeconds = 100, .compiled = 4, .tried = 4}); // one that hung
  EXPECT_DOUBLE_EQ(*pace.left(10, 5, 3), 10 * 1.5 + 15 * 0.5);
  pace.wave({.compileSeconds = 0, .restSeconds = 2, .compiled = 0, .tried = 4});
  pace.finish(7);
  EXPECT_DOUBLE_EQ(*pace.left(10, 5, 3), 10 * 1.5 + 15 * 0.5 + 3 * 7);
}
