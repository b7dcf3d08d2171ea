// A search that is resumed from what its log holds.
#include "tests/unit/search/FakeWorkshop.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <sys/resource.h>
#include <unistd.h>

using namespace tessera;
using namespace tessera::tune;
using namespace tessera::tune::test;

namespace {

struct ResumeTest : testing::Test {
  std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("tessera-resume-" + std::to_string(getpid()));
  std::string path = folder / "tune.jsonl";
  std::vector<Task> tasks = {taskOf(2048), taskOf(512)};
  RunFacts facts = factsOf();
  SearchOptions options{.top = 16, .limits = fewValues()};
  std::vector<std::string> candidates = candidatesOf(tasks[0], facts, options);
  std::atomic<bool> stop{false};

  ResumeTest() { std::filesystem::create_directories(folder); }
  ~ResumeTest() override { std::filesystem::remove_all(folder); }

  FakeWorkshop workshop(bool modelled = true) {
    FakeWorkshop made;
    made.modelled = modelled;
    made.wrong = {candidates[3]};
    made.spilling = {candidates[6]};
    made.faults[candidates[4]] = {};
    made.code[candidates[7]] = made.code[candidates[9]] = "same";
    return made;
  }
  SearchOutcome run(FakeWorkshop &made, const Known &known, bool log = true) {
    Result<TrialLog> opened = TrialLog::open(path);
    EXPECT_TRUE(opened.ok()) << opened.status().text();
    facts = factsOf(made.modelled);
    Result<SearchOutcome> outcome = search(tasks, facts, options, made, log ? &*opened : nullptr, known, stop);
    EXPECT_TRUE(outcome.ok()) << outcome.status().text();
    return *outcome;
  }
  std::string text() const {
    std::stringstream all;
    all << std::ifstream(path).rdbuf();
    return all.str();
  }
};

} // namespace

TEST_F(ResumeTest, ALogCutShortAfterAnyTrialGivesTheSameWinners) {
  for (const bool modelled : {true, false}) {
    std::filesystem::remove(path);
    FakeWorkshop whole = workshop(modelled);
    const SearchOutcome undisturbed = run(whole, {});
    const std::string log = text();
    const size_t lines = size_t(std::count(log.begin(), log.end(), '\n'));
    ASSERT_GT(lines, 20u);
    size_t reused = 0;
    for (size_t cut = 0, end = 0; cut <= lines; ++cut) {
      const TrialLines known = readTrials(log.substr(0, end));
      ASSERT_TRUE(known.damaged.empty());
      ASSERT_EQ(known.trials.size() + known.ends.size(), cut);
      FakeWorkshop again = workshop(modelled);
      const SearchOutcome resumed = run(again, known.trials, false);
      for (size_t task = 0; task < tasks.size(); ++task)
        EXPECT_EQ(winnerOf(resumed.tasks[task]), winnerOf(undisturbed.tasks[task])) << modelled << " cut at " << cut;
      reused = resumed.tasks[0].fromLog + resumed.tasks[1].fromLog;
      if (cut == lines)
        EXPECT_EQ(again.compiled.size(), 0u) << "nothing is left to do";
      end = log.find('\n', end) + 1;
    }
    EXPECT_EQ(reused, undisturbed.tasks[0].trials.size() + undisturbed.tasks[1].trials.size());
  }
}

TEST_F(ResumeTest, TheBestSoFarIsInTheLogWhileTheSearchGoesOn) {
  for (const bool modelled : {true, false}) {
    std::filesystem::remove(path);
    FakeWorkshop made = workshop(modelled);
    size_t compiles = 0;
    std::vector<Choice> choices;
    size_t hopeless = 0;
    made.everyCompile = [&] {
      if (++compiles != 17) // the first of the third wave
        return;
      const std::vector<Trial> logged = readTrials(text()).trials;
      choices = choose(logged);
      hopeless = size_t(std::count_if(logged.begin(), logged.end(), [](const Trial &trial) {
        return trial.status == TrialStatus::Predicted && trial.measurement;
      }));
    };
    run(made, {});
    ASSERT_EQ(choices.size(), 1u);
    EXPECT_TRUE(choices[0].winner.verification->right);
    EXPECT_GT(hopeless, 2u) << "and what cannot win any more";
  }
}

TEST_F(ResumeTest, EveryTrialIsInTheLog) {
  FakeWorkshop made = workshop();
  const SearchOutcome outcome = run(made, {});
  const std::vector<Trial> logged = readTrials(text()).trials;
  EXPECT_EQ(logged.size(), outcome.tasks[0].trials.size() + outcome.tasks[1].trials.size());
  for (const TaskOutcome &task : outcome.tasks)
    for (const Trial &trial : task.trials)
      EXPECT_EQ(std::count_if(logged.begin(), logged.end(),
                              [&](const Trial &other) {
                                return standsFor(other, trial) && other.status == trial.status &&
                                       other.reason == trial.reason;
                              }),
                1)
          << trial.schedule.text();
}

TEST_F(ResumeTest, ADiskThatIsFullIsWarnedOfOnceAndTheSearchGoesOn) {
  rlimit former{};
  getrlimit(RLIMIT_FSIZE, &former);
  const auto signal = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{8192, former.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  FakeWorkshop made = workshop();
  const SearchOutcome outcome = run(made, {});
  setrlimit(RLIMIT_FSIZE, &former);
  std::signal(SIGXFSZ, signal);
  EXPECT_TRUE(outcome.tasks[0].choice && outcome.tasks[0].complete);
  EXPECT_TRUE(outcome.tasks[1].choice && outcome.tasks[1].complete);
  EXPECT_EQ(std::count_if(outcome.warnings.begin(), outcome.warnings.end(),
                          [&](const std::string &warning) { return warning.find(path) != std::string::npos; }),
            1);
  const TrialLines kept = readTrials(text());
  EXPECT_FALSE(kept.trials.empty());
}

TEST_F(ResumeTest, SpillsOfTheLogAreTriedAgainWhereTheyAreWanted) {
  FakeWorkshop made = workshop();
  const SearchOutcome first = run(made, {});
  options.keepSpilling = true;
  FakeWorkshop again = workshop();
  const SearchOutcome second = run(again, readTrials(text()).trials);
  EXPECT_EQ(trialOf(first.tasks[0], candidates[6])->status, TrialStatus::Spills);
  EXPECT_NE(trialOf(second.tasks[0], candidates[6])->status, TrialStatus::Spills);
}

TEST_F(ResumeTest, AWrongAnswerOfTheLogIsReportedAgainAndOutweighsAMeasurement) {
  FakeWorkshop made;
  const std::string winner = winnerOf(run(made, {}).tasks[0]);
  std::vector<Trial> known = readTrials(text()).trials;
  for (const Trial &trial : std::vector(known))
    if (trial.schedule.text() == winner && trial.task == tasks[0]) {
      known.push_back(trial);
      known.back().status = TrialStatus::Wrong;
      known.back().verification = Verification{false, 0.5, 1e-3, "f64", "o[0] is 1"};
    }
  FakeWorkshop again;
  const SearchOutcome outcome = run(again, known, false);
  EXPECT_NE(winnerOf(outcome.tasks[0]), winner);
  ASSERT_EQ(outcome.warnings.size(), 1u);
  EXPECT_NE(outcome.warnings[0].find("WRONG ANSWER"), std::string::npos);
}

TEST_F(ResumeTest, ABestThatCrashesInTheFinalDoesNotWinByItsEarlierLine) {
  FakeWorkshop made = workshop(false);
  made.time = [this](const Task &, const Schedule &schedule) { return schedule.text() == candidates[1] ? 1 : 5; };
  size_t asked = 0;
  made.everyMeasurement = [&](const Schedule &schedule) {
    return schedule.text() != candidates[1] || ++asked == 1 ? Fate::Done : Fate::Crashed;
  };
  tasks.resize(1);
  const SearchOutcome outcome = run(made, {});
  EXPECT_NE(winnerOf(outcome.tasks[0]), candidates[1]);
  const std::vector<Trial> logged = readTrials(text()).trials;
  FakeWorkshop again = workshop(false);
  EXPECT_EQ(winnerOf(run(again, logged, false).tasks[0]), winnerOf(outcome.tasks[0]));
}

TEST_F(ResumeTest, TheSameSearchAgainHasNothingToDo) {
  tasks = {taskOf(2048), taskOf(512), taskOf(512, 64)};
  for (const bool modelled : {true, false})
    for (uint32_t seed = 1; seed <= 12; ++seed) {
      std::filesystem::remove(path);
      const auto make = [&](uint32_t order) {
        FakeWorkshop made = workshop(modelled);
        made.seed = order;
        made.noise = 0.004;
        // From all apart to all alike, so that more tie than there are finalists.
        made.time = [spread = 0.2 / (seed * seed), seed](const Task &task, const Schedule &schedule) {
          const std::string text = schedule.text() + task.spec.text() + std::to_string(seed);
          return double(task.problem.seqlenKv) / 100 * (1 + spread * double(std::hash<std::string>()(text) % 7));
        };
        return made;
      };
      FakeWorkshop first = make(seed), second = make(seed + 100);
      const SearchOutcome one = run(first, {});
      const std::string log = text();
      const SearchOutcome again = run(second, readTrials(log));
      EXPECT_EQ(second.compiled.size(), 0u) << modelled << " " << seed;
      EXPECT_EQ(text(), log) << modelled << " " << seed;
      for (size_t task = 0; task < tasks.size(); ++task) {
        EXPECT_EQ(winnerOf(again.tasks[task]), winnerOf(one.tasks[task])) << modelled << " " << seed;
        EXPECT_EQ(again.tasks[task].fromLog, again.tasks[task].candidates);
        EXPECT_TRUE(again.tasks[task].comparedAll);
      }
    }
}

TEST_F(ResumeTest, WhatWasDroppedIsTriedAgainWhereNothingThatBeatItIsLookedAt) {
  FakeWorkshop made = workshop();
  run(made, {});
  const std::vector<Trial> known = readTrials(text()).trials;
  const auto dropped = std::ranges::find_if(
      known, [&](const Trial &trial) { return trial.status == TrialStatus::Predicted && trial.task == tasks[0]; });
  ASSERT_NE(dropped, known.end());
  options.offered = [&](const Task &) { return std::vector{dropped->schedule}; };
  tasks.resize(1);
  FakeWorkshop again = workshop();
  EXPECT_EQ(winnerOf(run(again, known, false).tasks[0]), dropped->schedule.text());
}

TEST_F(ResumeTest, TheLogTellsHowFarEachTaskCame) {
  const auto ends = [&] {
    std::vector<std::string> texts;
    const TrialLines lines = readTrials(text());
    EXPECT_TRUE(lines.damaged.empty());
    for (const Task &task : tasks) {
      const TaskEnd like{.task = task,
                         .device = facts.device,
                         .target = std::string(facts.target.name),
                         .build = facts.build,
                         .assembler = facts.assembler,
                         .driverVersion = facts.driverVersion};
      const Completeness found = completeness(lines.ends, like);
      texts.push_back(std::to_string(found.done) + " of " + std::to_string(found.parts));
    }
    return texts;
  };
  using Texts = std::vector<std::string>;
  options.trials = 6; // some of each task
  FakeWorkshop part = workshop(), rest = workshop(), cut = workshop(), second = workshop(), first = workshop();
  run(part, {});
  EXPECT_EQ(ends(), (Texts{"0 of 1", "0 of 1"}));
  EXPECT_EQ(readTrials(text()).ends.size(), 2u);
  options.trials.reset();
  run(rest, readTrials(text()));
  EXPECT_EQ(ends(), (Texts{"1 of 1", "1 of 1"})) << "resumed";
  EXPECT_EQ(readTrials(text()).ends.size(), 4u);

  std::filesystem::remove(path);
  cut.everyCompile = [&] { stop = true; };
  run(cut, {});
  stop = false;
  EXPECT_EQ(readTrials(text()).ends.size(), 2u) << "of the task that was not reached too";
  EXPECT_EQ(ends(), (Texts{"0 of 1", "0 of 1"}));
  options.shard = {2, 2};
  run(second, {});
  EXPECT_EQ(ends(), (Texts{"1 of 2", "1 of 2"}));
  options.shard = {1, 2};
  run(first, {});
  EXPECT_EQ(ends(), (Texts{"2 of 2", "2 of 2"}));
}

TEST_F(ResumeTest, TheBestOfTheLogIsToldAtOnce) {
  tasks.resize(1);
  options.top = 4;
  FakeWorkshop first, more;
  const std::string winner = winnerOf(run(first, {}).tasks[0]);
  options.top = 16;
  std::vector<std::pair<SearchEvent::Kind, std::string>> events;
  const auto tell = [&](const SearchEvent &event) {
    events.emplace_back(event.kind, event.trial ? event.trial->schedule.text() : "");
  };
  (void)search(tasks, facts, options, more, nullptr, readTrials(text()).trials, stop, tell);
  ASSERT_GT(events.size(), 2u);
  EXPECT_EQ(events[1], std::pair(SearchEvent::NewBest, winner));
}

TEST_F(ResumeTest, WhatWasDroppedIsTriedAgainWhereItTiesNowAndIsPreferred) {
  tasks.resize(1);
  const std::string preferred =
      *std::min_element(candidates.begin() + 1, candidates.end(), [&](const std::string &a, const std::string &b) {
        return preference(*Schedule::parse(a), *Schedule::parse(b), tasks[0], facts.target) < 0;
      });
  const auto make = [&] {
    FakeWorkshop made;
    made.time = [&](const Task &, const Schedule &schedule) {
      return schedule.text() == preferred ? 5.02 : schedule.text() == candidates[0] ? 10 : 5;
    };
    return made;
  };
  options.margin = 0.001;
  FakeWorkshop first = make(), again = make();
  EXPECT_NE(winnerOf(run(first, {}).tasks[0]), preferred);
  options.margin = 0.01;
  EXPECT_EQ(winnerOf(run(again, readTrials(text()).trials).tasks[0]), preferred);
  EXPECT_EQ(again.compiled.size(), 1u) << "that one alone";
}

TEST_F(ResumeTest, AWorkerThatWasKilledFromOutsideIsNoVerdictForALaterRun) {
  tasks.resize(1);
  FakeWorkshop made = workshop();
  const Status killed(Code::Internal, "the compile ended by signal 9 (Killed)", "it was so twice");
  made.faults[candidates[2]] = {Fault::Compile, Fate::Killed, killed};
  made.faults[candidates[4]].status = Status(Code::Internal, "the compile ended by signal 11 (Segmentation fault)");
  EXPECT_EQ(trialOf(run(made, {}).tasks[0], candidates[2])->status, TrialStatus::Killed);
  FakeWorkshop again = workshop();
  const TaskOutcome second = run(again, readTrials(text()).trials).tasks[0];
  ASSERT_EQ(again.compiled.size(), 1u) << "that one alone";
  EXPECT_NE(trialOf(second, candidates[2])->status, TrialStatus::Killed);
  EXPECT_EQ(trialOf(second, candidates[4])->status, TrialStatus::Crashed);
  FakeWorkshop third = workshop();
  run(third, readTrials(text()).trials);
  EXPECT_EQ(third.compiled.size(), 0u) << "and then no more";
}

TEST_F(ResumeTest, WhatTookTooLongOnceIsTriedAgainAndTwiceNoMore) {
  tasks.resize(1);
  const auto slow = [&] {
    FakeWorkshop made = workshop();
    made.faults[candidates[2]] = {Fault::Compile, Fate::TimedOut, {Code::Internal, "killed after 60 s"}};
    return made;
  };
  FakeWorkshop first = slow(), second = slow(), third = workshop();
  EXPECT_EQ(trialOf(run(first, {}).tasks[0], candidates[2])->status, TrialStatus::TimedOut);
  std::vector<Trial> known = readTrials(text()).trials;
  FakeWorkshop better = workshop();
  EXPECT_NE(trialOf(run(better, known, false).tasks[0], candidates[2])->status, TrialStatus::TimedOut);
  EXPECT_EQ(better.compiled.size(), 1u) << "that one alone";
  for (Trial &trial : known)
    --trial.time; // so that the second run does not begin in the same second
  TrialLines again;
  const TaskOutcome outcome = run(second, known).tasks[0];
  EXPECT_EQ(trialOf(outcome, candidates[2])->status, TrialStatus::TimedOut);
  EXPECT_EQ(outcome.fromLog, outcome.candidates - 1);
  for (const Trial &trial : readTrials(text()).trials)
    if (trial.schedule.text() == candidates[2])
      known.push_back(trial);
  EXPECT_EQ(trialOf(run(third, known, false).tasks[0], candidates[2])->status, TrialStatus::TimedOut);
  EXPECT_EQ(third.compiled.size(), 0u);
}

TEST_F(ResumeTest, WhatTookTooLongInTheFinalIsNotChosenByItsEarlierLine) {
  tasks.resize(1);
  FakeWorkshop made;
  const std::string winner = winnerOf(run(made, {}).tasks[0]);
  std::vector<Trial> known = readTrials(text()).trials;
  for (const Trial &trial : std::vector(known))
    if (trial.schedule.text() == winner) {
      known.push_back(trial);
      known.back().status = TrialStatus::TimedOut;
    }
  FakeWorkshop again;
  EXPECT_EQ(run(again, known, false).tasks[0].fromLog + 1, run(made, {}, false).tasks[0].candidates);
  EXPECT_EQ(again.compiled.size(), 1u) << "it is tried again";
  for (Trial &trial : known)
    trial.time += trial.status == TrialStatus::Measured;
  FakeWorkshop later;
  EXPECT_EQ(winnerOf(run(later, known, false).tasks[0]), winner) << "it went well since";
  EXPECT_EQ(later.compiled.size(), 0u);
}

TEST_F(ResumeTest, ALogThatIsRemovedMeanwhileIsWarnedOf) {
  FakeWorkshop made = workshop();
  made.everyCompile = [&] { std::filesystem::remove(path); };
  const SearchOutcome outcome = run(made, {});
  EXPECT_TRUE(outcome.tasks[1].choice);
  EXPECT_EQ(std::count_if(outcome.warnings.begin(), outcome.warnings.end(),
                          [&](const std::string &warning) {
                            return warning.find(path + " cannot be found any more") != std::string::npos;
                          }),
            1);
}

TEST_F(ResumeTest, ALineThatClaimsAMeasurementWithAWrongAnswerIsNotBelieved) {
  tasks.resize(1);
  FakeWorkshop made = workshop();
  const std::string winner = winnerOf(run(made, {}).tasks[0]);
  std::vector<Trial> known = readTrials(text()).trials;
  for (Trial &trial : known)
    trial.verification.emplace(); // not right
  FakeWorkshop again = workshop();
  EXPECT_EQ(winnerOf(run(again, known, false).tasks[0]), winner);
}

TEST_F(ResumeTest, ADuplicateOfTheLogStandsForItselfWhereTheOtherIsNotLookedAt) {
  FakeWorkshop made = workshop();
  run(made, {});
  const std::vector<Trial> known = readTrials(text()).trials;
  for (const Trial &trial : known)
    if (trial.status == TrialStatus::Duplicate && trial.task == tasks[0]) {
      options.offered = [&](const Task &) { return std::vector{trial.schedule}; };
      tasks.resize(1);
      FakeWorkshop again = workshop();
      EXPECT_EQ(winnerOf(run(again, known, false).tasks[0]), trial.schedule.text());
      return;
    }
  FAIL() << "there is no duplicate";
}
