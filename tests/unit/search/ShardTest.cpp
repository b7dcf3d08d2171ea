// Shards that know nothing of each other, and their logs merged.
#include "tests/unit/search/FakeWorkshop.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::tune;
using namespace tessera::tune::test;

namespace {

std::atomic<bool> never{false};

SearchOutcome run(const std::vector<Task> &tasks, const SearchOptions &options, const FakeWorkshop &like,
                  std::vector<std::string> *compiled = nullptr) {
  FakeWorkshop workshop = like;
  const Result<SearchOutcome> outcome = search(tasks, factsOf(), options, workshop, nullptr, {}, never);
  EXPECT_TRUE(outcome.ok()) << outcome.status().text();
  if (compiled)
    compiled->insert(compiled->end(), workshop.compiled.begin(), workshop.compiled.end());
  return *outcome;
}

/// Choices of the merged logs of all shards, by task.
std::vector<std::string> merged(const std::vector<Task> &tasks, SearchOptions options, unsigned shards,
                                const FakeWorkshop &like, std::vector<std::string> *compiled) {
  std::vector<std::vector<Trial>> logs;
  for (unsigned shard = 1; shard <= shards; ++shard) {
    options.shard = {shard, shards};
    for (const TaskOutcome &task : run(tasks, options, like, compiled).tasks)
      logs.push_back(task.trials);
  }
  std::vector<std::string> winners;
  for (const Choice &choice : choose(mergeTrials(logs), options.margin))
    winners.push_back(std::to_string(choice.winner.task.problem.seqlenQ) + " " + choice.winner.task.spec.text() + " " +
                      choice.winner.schedule.text());
  std::sort(winners.begin(), winners.end());
  return winners;
}

} // namespace

TEST(ShardTest, MergedLogsOfCandidatesGiveTheChoiceOfOneRun) {
  SearchOptions options{.top = 24, .limits = fewValues()};
  const std::vector<Task> tasks = {taskOf(2048), taskOf(512)};
  const std::vector<std::string> candidates = candidatesOf(tasks[0], factsOf(), options);
  for (unsigned variant = 0; variant < 20; ++variant) {
    FakeWorkshop workshop;
    // Many near ties, a wrong one among them, and the same code twice.
    workshop.time = [variant](const Task &, const Schedule &schedule) {
      return 5 * (1 + 0.02 * double(std::hash<std::string>()(schedule.text() + std::to_string(variant)) % 100) / 100);
    };
    workshop.wrong = {candidates[variant]};
    for (unsigned shards : {2, 3, 5}) {
      std::vector<std::string> compiled, ofOne;
      const std::vector<std::string> one = merged(tasks, options, 1, workshop, &ofOne);
      EXPECT_EQ(merged(tasks, options, shards, workshop, &compiled), one) << variant << " " << shards;
      std::sort(compiled.begin(), compiled.end());
      std::sort(ofOne.begin(), ofOne.end());
      EXPECT_EQ(compiled, ofOne) << "the shards compile what one run does, each once";
    }
  }
}

TEST(ShardTest, WholeSpecsAreDealtOutWhereThereAreEnough) {
  SearchOptions options{.top = 8};
  const std::vector<Task> tasks = {taskOf(2048, 64), taskOf(512, 64), taskOf(2048, 128), taskOf(2048, 256)};
  const FakeWorkshop workshop;
  std::vector<std::string> compiled;
  EXPECT_EQ(merged(tasks, options, 3, workshop, &compiled), merged(tasks, options, 1, workshop, nullptr));
  options.shard = {1, 3};
  EXPECT_EQ(run(tasks, options, workshop).tasks.size(), 2u) << "both shapes of the first spec";
  options.shard = {2, 3};
  EXPECT_EQ(run(tasks, options, workshop).tasks.size(), 1u);
}

TEST(ShardTest, TheDefaultComesWithTheFirstShardOnly) {
  SearchOptions options{.top = 8, .shard = {2, 2}};
  const TaskOutcome second = run({taskOf()}, options, FakeWorkshop()).tasks[0];
  EXPECT_TRUE(std::none_of(second.trials.begin(), second.trials.end(), [](const Trial &t) { return t.isDefault; }));
  options.shard = {1, 2};
  EXPECT_TRUE(run({taskOf()}, options, FakeWorkshop()).tasks[0].trials[0].isDefault);
}

TEST(ShardTest, WrongOptionsAreRefused) {
  const auto refuse = [](SearchOptions options) {
    return plan(std::vector{taskOf()}, factsOf(), options).status().code() == Code::InvalidArgument;
  };
  EXPECT_TRUE(refuse({.shard = {0, 2}}));
  EXPECT_TRUE(refuse({.shard = {3, 2}}));
  EXPECT_TRUE(refuse({.shard = {1, 0}}));
  EXPECT_TRUE(refuse({.seconds = 0}));
  EXPECT_TRUE(refuse({.margin = -0.1}));
  EXPECT_TRUE(refuse({.margin = NAN}));
  EXPECT_TRUE(refuse({.finalists = 0}));
  EXPECT_TRUE(refuse({.limits = {{"no_such_knob", {"1"}}}}));
  EXPECT_EQ(plan({}, factsOf(), {}).status().code(), Code::InvalidArgument);
}

TEST(ShardTest, APlanHasTheDefaultFirstAndTheRestInTheOrderOfTheModel) {
  const Result<std::vector<Plan>> plans = plan(std::vector{taskOf()}, factsOf(), {.top = 10});
  const auto &candidates = plans->front().candidates;
  ASSERT_EQ(candidates.size(), 11u);
  EXPECT_EQ(candidates[0].first, defaultSchedule(taskOf().spec, factsOf().target));
  for (size_t i = 2; i < candidates.size(); ++i)
    EXPECT_LE(candidates[i - 1].second.milliseconds, candidates[i].second.milliseconds);
}
