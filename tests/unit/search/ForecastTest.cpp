// What is told of a run before it happens: what it will do with each candidate, and how long it still takes.
#include "tests/unit/search/FakeWorkshop.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <thread>
#include <unistd.h>

using namespace tessera;
using namespace tessera::tune;
using namespace tessera::tune::test;

namespace {

struct ForecastTest : testing::Test {
  std::vector<Task> tasks = {taskOf(2048), taskOf(512), taskOf(8192, 64)};
  RunFacts facts = factsOf();
  SearchOptions options{.top = 20, .limits = fewValues()};
  std::atomic<bool> stop{false};
  std::string path = std::filesystem::path(testing::TempDir()) / ("tessera-forecast-" + std::to_string(getpid()));

  ~ForecastTest() override { std::filesystem::remove(path); }

  /// Per task, how many candidates would be dealt with like this.
  std::vector<size_t> planned(Step step, const Known &known = {}) {
    std::vector<size_t> counts;
    const Result<std::vector<Plan>> plans = plan(tasks, facts, options, known);
    EXPECT_TRUE(plans.ok()) << plans.status().text();
    for (const Plan &plan : *plans) {
      EXPECT_EQ(plan.steps.size(), plan.candidates.size());
      counts.push_back(size_t(std::ranges::count(plan.steps, step)));
    }
    return counts;
  }
  SearchOutcome run(TrialLog *log, const Known &known, FakeWorkshop &workshop) {
    const Result<SearchOutcome> outcome = search(tasks, facts, options, workshop, log, known, stop);
    EXPECT_TRUE(outcome.ok()) << outcome.status().text();
    return *outcome;
  }
  /// Per task, what a run really compiled.
  std::vector<size_t> compiled(const Known &known = {}) {
    FakeWorkshop workshop;
    std::vector<size_t> counts;
    for (const TaskOutcome &task : run(nullptr, known, workshop).tasks)
      counts.push_back(task.compiled);
    return counts;
  }
  /// What a log holds of a run that was stopped after so many compiles.
  TrialLines loggedUntil(size_t compiles) {
    Result<TrialLog> log = TrialLog::open(path);
    EXPECT_TRUE(log.ok());
    FakeWorkshop workshop;
    workshop.everyCompile = [&, left = compiles]() mutable { stop = --left == 0; };
    run(&*log, {}, workshop);
    stop = false;
    std::ifstream file(path);
    return readTrials(std::string(std::istreambuf_iterator<char>(file), {}));
  }
};

TEST_F(ForecastTest, ShapesOfOneSpecShareKernels) {
  const std::vector<size_t> shared = planned(Step::Shared);
  EXPECT_EQ(shared[0], 0u);
  EXPECT_GE(shared[1], 1u) << "the default at least";
  EXPECT_EQ(shared[2], 0u) << "another spec";
  EXPECT_EQ(planned(Step::Compile), compiled());
}

TEST_F(ForecastTest, TrialsLimitWhatIsCompiledInEachTask) {
  for (const size_t trials : {0, 7, 30, 1000}) {
    options.trials = trials;
    EXPECT_EQ(planned(Step::Compile), compiled()) << trials;
  }
  options.trials = 7;
  EXPECT_GT(planned(Step::Beyond)[0], 0u);
}

TEST_F(ForecastTest, WhatTheLogAnswersIsNotDoneAgain) {
  for (const size_t compiles : {5, 30, 1000}) {
    std::filesystem::remove(path);
    const TrialLines known = loggedUntil(compiles);
    EXPECT_GT(planned(Step::Logged, known)[0], 0u) << compiles;
    EXPECT_EQ(planned(Step::Compile, known), compiled(known)) << compiles;
  }
  const TrialLines known = loggedUntil(1000);
  EXPECT_EQ(planned(Step::Compile, known), (std::vector<size_t>{0, 0, 0}));
  facts.build = "build 2"; // for which those trials do not stand
  EXPECT_EQ(planned(Step::Compile, known), compiled());
}

TEST_F(ForecastTest, TheTimeThatIsLeftFallsBetweenTheWaves) {
  std::vector<SearchEvent> events;
  FakeWorkshop workshop;
  workshop.everyCompile = [] { std::this_thread::sleep_for(std::chrono::milliseconds(2)); };
  EXPECT_TRUE(search(tasks, facts, options, workshop, nullptr, {}, stop, [&](const SearchEvent &event) {
                events.push_back(event);
              }).ok());
  const double end = events.back().elapsedSeconds;
  size_t told = 0, near = 0, falls = 0;
  for (size_t i = 1; i < events.size(); ++i) {
    if (!events[i].etaSeconds)
      continue;
    ++told;
    const double left = end - events[i].elapsedSeconds;
    near += *events[i].etaSeconds < 3 * left + 0.01 && left < 3 * *events[i].etaSeconds + 0.01;
    falls += events[i].kind == SearchEvent::CompileEnds && events[i - 1].kind == SearchEvent::CompileEnds &&
             *events[i].etaSeconds < events[i - 1].etaSeconds.value_or(0);
  }
  EXPECT_GT(told, 50u);
  EXPECT_GT(near, told * 9 / 10) << "of " << told;
  EXPECT_GT(falls, 10u);
}

} // namespace
