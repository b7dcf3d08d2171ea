// Ends of searches: what is written is read back, and what several of them say of a task.
#include "tests/unit/log/Trials.h"

#include <gtest/gtest.h>

namespace tessera::tune {
namespace {

using namespace tessera::tune::test;

/// Of the search that measured() is a trial of.
TaskEnd endOf(unsigned part, unsigned parts, bool complete, int64_t time) {
  const Trial trial = measured(32, 1);
  return {trial.task,          trial.device, trial.target, trial.build, trial.assembler,
          trial.driverVersion, part,         parts,        complete,    time};
}

std::string textOf(const std::vector<TaskEnd> &ends) {
  const Completeness found = completeness(ends, measured(16, 2));
  return std::to_string(found.done) + " of " + std::to_string(found.parts);
}

TEST(TaskEndLine, IsReadAsItWasWritten) {
  TaskEnd end = endOf(2, 3, true, INT64_MAX);
  end.task.spec.softcap = 30.0f;
  end.task.problem = {2, 12, 3, 1, 517};
  end.device = "NVIDIA \"A100\" \\ (Tessera simulator)";
  end.driverVersion = -1;
  const std::string line = taskEndJson(end).dump() + "\n";
  const TrialLines lines = readTrials(line + lineOf(measured(32, 1)) + line);
  EXPECT_TRUE(lines.damaged.empty());
  EXPECT_EQ(lines.trials.size(), 1u);
  ASSERT_EQ(lines.ends.size(), 2u);
  EXPECT_EQ(taskEndJson(lines.ends[0]).dump() + "\n", line);
}

TEST(TaskEndLine, ADamagedOneCostsNothingButItself) {
  const std::string good = taskEndJson(endOf(1, 1, true, 1)).dump();
  const auto with = [&](const char *key, nlohmann::ordered_json value) {
    nlohmann::ordered_json json = taskEndJson(endOf(1, 1, true, 1));
    json[key] = std::move(value);
    return json.dump();
  };
  const auto without = [&](const char *key) {
    nlohmann::ordered_json json = taskEndJson(endOf(1, 1, true, 1));
    json.erase(key);
    return json.dump();
  };
  for (const std::string &line :
       {good.substr(0, good.size() / 2), with("version", 2), with("spec", "none"), with("shape", 1), with("part", 0),
        with("part", 2), with("parts", 0), with("parts", -1), with("complete", 1), with("target", "none"),
        with("driver", "13"), without("spec"), without("shape"), without("device"), without("target")}) {
    const TrialLines lines = readTrials(good + "\n" + line + "\n" + good + "\n");
    EXPECT_EQ(lines.ends.size(), 2u) << line;
    EXPECT_EQ(lines.damaged.size(), 1u) << line;
  }
}

TEST(Completeness, IsThatOfAllPartsOfTheSearchThatEndedLast) {
  EXPECT_EQ(textOf({}), "0 of 1");
  EXPECT_EQ(textOf({endOf(1, 1, true, 5)}), "1 of 1");
  EXPECT_EQ(textOf({endOf(1, 1, false, 5)}), "0 of 1");
  EXPECT_EQ(textOf({endOf(1, 3, true, 5), endOf(3, 3, false, 6)}), "1 of 3");
  EXPECT_EQ(textOf({endOf(1, 3, true, 5), endOf(3, 3, true, 6), endOf(2, 3, true, 4)}), "3 of 3");
  EXPECT_EQ(textOf({endOf(1, 3, true, 5), endOf(1, 3, true, 6), endOf(1, 3, true, 4)}), "1 of 3") << "one part thrice";
  EXPECT_EQ(textOf({endOf(1, 2, true, 5), endOf(2, 2, true, 5), endOf(1, 1, false, 6)}), "0 of 1") << "a wider search";
  EXPECT_EQ(textOf({endOf(1, 1, false, 6), endOf(1, 2, true, 7), endOf(2, 2, true, 7)}), "2 of 2");
}

TEST(Completeness, OfAPartIsWhatItsLastEndSays) {
  EXPECT_EQ(textOf({endOf(1, 1, false, 5), endOf(1, 1, true, 6)}), "1 of 1") << "resumed";
  EXPECT_EQ(textOf({endOf(1, 1, true, 6), endOf(1, 1, false, 5)}), "1 of 1") << "whatever the order of the lines";
  EXPECT_EQ(textOf({endOf(1, 1, true, 5), endOf(1, 1, false, 6)}), "0 of 1") << "a larger plan, interrupted";
  EXPECT_EQ(textOf({endOf(1, 1, false, 5), endOf(1, 1, true, 5)}), "1 of 1") << "the later line of one second";
}

TEST(Completeness, IsSaidOnce) {
  EXPECT_FALSE(repeats({}, endOf(1, 1, true, 0)));
  EXPECT_TRUE(repeats(std::vector{endOf(1, 1, true, 5)}, endOf(1, 1, true, 0)));
  EXPECT_FALSE(repeats(std::vector{endOf(1, 1, false, 5)}, endOf(1, 1, true, 0)));
  EXPECT_FALSE(repeats(std::vector{endOf(1, 1, true, 5), endOf(1, 1, false, 6)}, endOf(1, 1, true, 0)));
  EXPECT_TRUE(repeats(std::vector{endOf(1, 2, true, 5)}, endOf(1, 2, true, 0)));
  EXPECT_FALSE(repeats(std::vector{endOf(1, 2, true, 5)}, endOf(2, 2, true, 0)));
  EXPECT_FALSE(repeats(std::vector{endOf(1, 2, true, 5), endOf(1, 1, false, 6)}, endOf(1, 2, true, 0)))
      << "another search came after it";
}

TEST(Completeness, IsOfTheSameTaskDeviceAndTools) {
  for (const auto &change : std::vector<void (*)(TaskEnd &)>{
           [](TaskEnd &end) { end.task.problem.seqlenKv = 1; }, [](TaskEnd &end) { end.task.spec.softcap = 30.0f; },
           [](TaskEnd &end) { end.device = "another"; }, [](TaskEnd &end) { end.target = "sm_86"; },
           [](TaskEnd &end) { end.build = "another"; }, [](TaskEnd &end) { end.assembler = "another"; },
           [](TaskEnd &end) { end.driverVersion = 1; }}) {
    TaskEnd other = endOf(1, 1, true, 5);
    change(other);
    EXPECT_EQ(textOf({other}), "0 of 1");
  }
}

} // namespace
} // namespace tessera::tune
