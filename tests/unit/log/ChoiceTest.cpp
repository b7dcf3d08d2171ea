// What trials amount to: the same choice whatever their order, never across tasks, devices and tools.
#include "tests/unit/log/Trials.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace tessera::tune {
namespace {

using namespace tessera::tune::test;

/// tile_kv of the one choice; 0 for none.
unsigned winnerOf(const std::vector<Trial> &trials, double margin = 0.01) {
  const std::vector<Choice> choices = choose(trials, margin);
  EXPECT_LE(choices.size(), 1u);
  return choices.empty() ? 0 : choices[0].winner.schedule.tileKv;
}

const unsigned standard = measured(0, 1).task.spec.headDim ? defaultSchedule({}, *Target::parse("sm_80")).tileKv : 0;

Trial refused(unsigned tileKv, TrialStatus status) {
  Trial trial = measured(tileKv, 1);
  trial.status = status;
  trial.measurement.reset();
  trial.reason = "why";
  return trial;
}

TEST(Choice, TheFastestWinsAndTheGainIsOverTheDefault) {
  const std::vector<Choice> choices =
      choose(std::vector{measured(16, 3), measured(32, 1.5), measured(standard, 2), refused(48, TrialStatus::Failed),
                         refused(80, TrialStatus::Duplicate), refused(96, TrialStatus::Spills)});
  ASSERT_EQ(choices.size(), 1u);
  EXPECT_EQ(choices[0].winner.schedule.tileKv, 32u);
  ASSERT_TRUE(choices[0].byDefault);
  EXPECT_EQ(choices[0].byDefault->measurement->milliseconds, 2);
  EXPECT_DOUBLE_EQ(choices[0].gain(), 2 / 1.5);
  EXPECT_EQ(choices[0].measured, 3u);
  EXPECT_EQ(choices[0].refused, 2u);
  EXPECT_FALSE(choices[0].tied);
  const Choice late = choose(std::vector{measured(32, 1), refused(32, TrialStatus::TimedOut)})[0];
  EXPECT_EQ(late.measured, 1u);
  EXPECT_EQ(late.refused, 0u) << "it was measured after all";
  EXPECT_EQ(choose(std::vector{measured(32, 1)})[0].gain(), 1);
}

TEST(Choice, B4_77_WithinTheMarginTheFixedOrderDecides) {
  // The default first; then less shared memory.
  EXPECT_EQ(winnerOf({measured(standard, 1.009), measured(32, 1)}), standard);
  EXPECT_EQ(winnerOf({measured(standard, 1.02), measured(32, 1)}), 32u);
  EXPECT_EQ(winnerOf({measured(48, 1), measured(32, 1.005), measured(16, 1.02)}), 32u);
  EXPECT_EQ(winnerOf({measured(48, 1), measured(32, 1.005)}, 0), 48u);
  EXPECT_TRUE(choose(std::vector{measured(48, 1), measured(32, 1.005)})[0].tied);
  EXPECT_FALSE(choose(std::vector{measured(48, 1), measured(48, 1.005)})[0].tied) << "one schedule ties with none";
}

TEST(Choice, B4_77_TheOrderOfTheTrialsNeverMatters) {
  std::vector<Trial> trials;
  std::mt19937 random(7);
  for (int i = 0; i < 60; ++i) {
    Trial trial = measured(16 + 16 * (random() % 8), 1 + 0.004 * double(random() % 5));
    trial.measurement->repeats = 1 + random() % 3;
    trial.measurement->throttled = random() % 4 == 0;
    trial.time = 1000 + random() % 2;
    trial.assembler = random() % 2 ? "nvJitLink 13.0" : "nvJitLink 13.1";
    trial.task.problem.seqlenQ = trial.task.problem.seqlenKv = random() % 2 ? 512 : 2048;
    if (random() % 10 == 0)
      trial = refused(16 + 16 * (random() % 8), TrialStatus::Wrong);
    trials.push_back(trial);
  }
  const auto textOf = [](const std::vector<Choice> &choices) {
    std::string text;
    for (const Choice &choice : choices)
      text += lineOf(choice.winner) + (choice.byDefault ? lineOf(*choice.byDefault) : "-") +
              std::to_string(choice.measured) + " " + std::to_string(choice.refused) + (choice.tied ? " tied\n" : "\n");
    return text;
  };
  const std::string expected = textOf(choose(trials));
  EXPECT_EQ(std::count(expected.begin(), expected.end(), '\n'), 6) << expected;
  for (int i = 0; i < 200; ++i) {
    std::shuffle(trials.begin(), trials.end(), random);
    ASSERT_EQ(textOf(choose(trials)), expected);
  }
  const std::vector<Trial> halves[] = {{trials.begin(), trials.begin() + 25}, {trials.begin() + 20, trials.end()}};
  EXPECT_EQ(textOf(choose(mergeTrials(halves))), expected) << "nor do logs that overlap";
}

TEST(Choice, B4_74_TasksAndDevicesAreKeptApart) {
  Trial other = measured(32, 1);
  other.task.problem.seqlenKv = 8192;
  Trial narrow = measured(32, 1);
  narrow.task.spec.headDim = narrow.task.spec.valueDim = 64;
  Trial device = measured(32, 1);
  device.device = "NVIDIA A30";
  const std::vector<Choice> choices = choose(std::vector{measured(16, 2), other, narrow, device});
  ASSERT_EQ(choices.size(), 4u);
  for (const Choice &choice : choices)
    EXPECT_EQ(choice.measured, 1u);
}

TEST(Choice, B4_74_WhatIsNotLegalAnyMoreNeverWins) {
  Trial illegal = measured(32, 1);
  illegal.schedule.stages = 9;
  EXPECT_EQ(winnerOf({illegal, measured(16, 2)}), 16u);
  EXPECT_EQ(winnerOf({illegal}), 0u);
  EXPECT_EQ(choose(std::vector{illegal, measured(16, 2)})[0].measured, 1u) << "nor does it count";
  Trial unknown = measured(32, 1);
  unknown.target = "sm_70";
  EXPECT_EQ(winnerOf({unknown}), 0u);
}

TEST(Choice, OnlyWhatWasFoundRightWins) {
  Trial unverified = measured(32, 1), contradicted = measured(48, 1);
  unverified.verification.reset();
  contradicted.verification->right = false;
  EXPECT_EQ(winnerOf({unverified, contradicted, measured(16, 2)}), 16u);
  for (TrialStatus status : {TrialStatus::Wrong, TrialStatus::Faulted})
    EXPECT_EQ(winnerOf({measured(32, 1), refused(32, status), measured(16, 2)}), 16u) << "wrong once is wrong";
  EXPECT_EQ(winnerOf({measured(32, 1), refused(32, TrialStatus::TimedOut), measured(16, 2)}), 32u)
      << "a machine may have been busy";
}

TEST(Choice, WhatCrashedOrHungSinceItWasTimedNeverWins) {
  Trial timed = measured(32, 1), again = measured(32, 1), slower = measured(48, 2);
  const auto winner = [&](std::vector<Trial> trials) {
    trials.push_back(slower);
    const std::vector<Choice> choices = choose(trials);
    return choices.empty() ? 0 : choices[0].winner.schedule.tileKv;
  };
  Trial hung = refused(32, TrialStatus::TimedOut), hungAgain = hung;
  hung.time = timed.time + 10;
  hungAgain.time = timed.time + 20;
  again.time = timed.time + 30;
  EXPECT_EQ(winner({timed, refused(32, TrialStatus::Crashed)}), 48u);
  EXPECT_EQ(winner({timed, hung}), 48u) << "in the last round";
  EXPECT_EQ(winner({timed, hung, again}), 32u) << "it went well since";
  EXPECT_EQ(winner({timed, hung, hungAgain, again}), 48u);
  EXPECT_EQ(winner({timed, refused(32, TrialStatus::Killed)}), 32u) << "by somebody else";
}

TEST(Choice, NoModelledTimeWinsForAGpuAndNoMeasuredOneForASimulator) {
  Trial modelled = measured(32, 0.1), simulated = measured(48, 0.2);
  modelled.measurement->modelled = true;
  simulated.device += " (Tessera simulator)";
  EXPECT_EQ(winnerOf({modelled, measured(16, 2)}), 16u);
  EXPECT_EQ(winnerOf({modelled}), 0u);
  EXPECT_EQ(winnerOf({simulated}), 0u);
  modelled.device = simulated.device;
  EXPECT_EQ(winnerOf({modelled, simulated}), 32u);
}

TEST(Choice, B4_77_TimesOfOtherToolsAreNotCompared) {
  for (const auto change : {+[](Trial &trial) { trial.build = "older"; }, +[](Trial &trial) { trial.assembler = "x"; },
                            +[](Trial &trial) { trial.driverVersion = 12080; }}) {
    Trial older = measured(32, 0.1), wrong = refused(16, TrialStatus::Wrong);
    change(older), change(wrong);
    older.time = 999;
    EXPECT_EQ(winnerOf({older, wrong, measured(16, 2)}), 16u) << "the newest count";
    older.time = 1001;
    EXPECT_EQ(winnerOf({older, measured(16, 2)}), 32u);
    older.time = 0;
    EXPECT_EQ(winnerOf({older, measured(16, 2)}), 32u) << "not logged yet: newer than any";
    EXPECT_FALSE(standsFor(older, measured(32, 0.1)));
  }
}

TEST(Choice, B4_77_WhatIsLeftOutForItsToolsIsCounted) {
  Trial fast = measured(32, 0.5), again = measured(16, 1.5), wrong = refused(48, TrialStatus::Wrong);
  for (Trial *trial : {&fast, &again, &wrong}) {
    trial->driverVersion = 12080;
    trial->time = 999;
  }
  Trial beaten = measured(112, 3); // by an earlier round
  beaten.status = TrialStatus::Predicted;
  const Choice choice =
      choose(std::vector{fast, again, wrong, measured(16, 2), refused(80, TrialStatus::Failed),
                         refused(96, TrialStatus::Duplicate), beaten, refused(128, TrialStatus::Predicted)})[0];
  EXPECT_EQ(choice.winner.schedule.tileKv, 16u);
  ASSERT_EQ(choice.leftOut.size(), 1u);
  EXPECT_EQ(choice.leftOut[0].tools, Tools::of(fast));
  EXPECT_EQ(choice.leftOut[0].trials, 3u);
  EXPECT_EQ(choice.leftOut[0].missed, 1u) << "16 was timed again";
  EXPECT_EQ(choice.leftOut[0].tools.text(), "build build, nvJitLink 13.0, driver 12.8");
  // It was compared with what the same tools timed or found unfit, and with nothing else.
  std::vector<unsigned> compared;
  for (const Schedule &schedule : choice.compared)
    compared.push_back(schedule.tileKv);
  std::ranges::sort(compared);
  EXPECT_EQ(compared, (std::vector<unsigned>{16, 80, 96, 112})) << "128 was never timed";
  EXPECT_TRUE(choose(std::vector{measured(16, 2)})[0].leftOut.empty());
}

TEST(Choice, WhatBrokeSinceThenWithOtherToolsIsNotChosen) {
  for (const TrialStatus status : {TrialStatus::Wrong, TrialStatus::Faulted}) {
    Trial broke = refused(32, status);
    broke.driverVersion = 13010;
    broke.time = 1001;
    EXPECT_EQ(winnerOf({measured(32, 1), measured(16, 2), broke}), 16u);
    broke.time = 999;
    EXPECT_EQ(winnerOf({measured(32, 1), measured(16, 2), broke}), 32u) << "it was right afterwards";
  }
}

TEST(Choice, AClockThatWasAheadDecidesNothing) {
  Trial ahead = measured(32, 1);
  ahead.build = "another";
  ahead.time = 2000000;
  const auto winner = [&](int64_t now) {
    return choose(std::vector{ahead, measured(16, 2)}, 0.01, now)[0].winner.schedule.tileKv;
  };
  EXPECT_EQ(winner(2000000), 32u);
  EXPECT_EQ(winner(1990000), 32u) << "clocks differ";
  EXPECT_EQ(winner(1000000), 16u) << "but not by days";
  ahead.time = INT64_MAX;
  EXPECT_EQ(winner(-1), 16u);
  // Nor does a line that does not say when it was logged.
  ahead.time = 0;
  const std::vector<Trial> read = readTrials(lineOf(ahead) + lineOf(measured(16, 2))).trials;
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(choose(read)[0].winner.schedule.tileKv, 16u);
}

TEST(Choice, WithoutATimeTheNewestToolsCount) {
  Trial older = refused(32, TrialStatus::Failed), newer = refused(48, TrialStatus::Wrong);
  older.build = "older";
  older.time = 999;
  const std::vector<const Trial *> trials = {&older, &newer};
  const Comparable sorted = comparable(trials, 2000);
  EXPECT_EQ(sorted.counting, std::vector<const Trial *>{&newer});
  EXPECT_EQ(sorted.others, std::vector<const Trial *>{&older});
  EXPECT_EQ(sorted.timed, 0u);
  EXPECT_TRUE(comparable({}, 2000).counting.empty());
}

TEST(Choice, OfSeveralTrialsOfOneScheduleTheSurestCounts) {
  Trial rough = measured(32, 0.5), throttled = measured(32, 0.4), stopped = measured(32, 0.3);
  rough.measurement->repeats = 3;
  throttled.measurement->throttled = true;
  throttled.measurement->repeats = 50;
  stopped.measurement->stoppedEarly = true;
  const auto timeOf = [](std::vector<Trial> trials) { return choose(trials)[0].winner.measurement->milliseconds; };
  EXPECT_EQ(timeOf({rough, throttled, stopped, measured(32, 2), measured(32, 7), measured(32, 1)}), 2);
  EXPECT_EQ(timeOf({rough, throttled}), 0.5);
  EXPECT_EQ(timeOf({throttled}), 0.4);
  EXPECT_TRUE(choose(std::vector{stopped}).empty());
}

TEST(Choice, TimesThatAreNoneArePassedOver) {
  for (double time :
       {0.0, -1.0, 1e-300, 1e300, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
    for (const std::vector<Trial> &others : {std::vector<Trial>(), {measured(16, 2)}}) {
      std::vector<Trial> trials = others;
      trials.push_back(measured(32, time));
      EXPECT_EQ(winnerOf(trials), others.empty() ? 0u : 16u) << time;
    }
  EXPECT_TRUE(choose({}).empty());
}

TEST(Choice, TheRecordOfTheWinnerAnswersForItsShape) {
  const Choice choice = choose(std::vector{measured(32, 1)})[0];
  const TuningRecord record = choice.winner.record();
  const auto found =
      chooseRecord({&record, 1}, choice.winner.task.spec, {1, 8, 8, 500, 500}, record.device, *Target::parse("sm_80"));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->match, RecordMatch::Bucket);
  EXPECT_EQ(found->record->schedule.tileKv, 32u);
}

TEST(Merge, TrialsStandOnceInAFixedOrder) {
  const std::vector<Trial> a = {measured(32, 1), measured(16, 2)}, b = {measured(16, 2), measured(48, 3)};
  const std::vector<Trial> ab[] = {a, b}, ba[] = {b, a};
  const std::vector<Trial> merged = mergeTrials(ab), turned = mergeTrials(ba);
  ASSERT_EQ(merged.size(), 3u);
  ASSERT_EQ(turned.size(), 3u);
  for (size_t i = 0; i < merged.size(); ++i)
    EXPECT_EQ(lineOf(merged[i]), lineOf(turned[i]));
}

TEST(StandsFor, B4_74_EverythingThatTheTimeDependsOnCounts) {
  const Trial wanted = measured(32, 1);
  EXPECT_TRUE(standsFor(measured(32, 7), wanted));
  const auto differs = [&](auto change) {
    Trial logged = wanted;
    change(logged);
    EXPECT_FALSE(standsFor(logged, wanted));
  };
  differs([](Trial &trial) { trial.task.spec.headDim = trial.task.spec.valueDim = 64; });
  differs([](Trial &trial) { trial.task.problem.seqlenKv = 8192; });
  differs([](Trial &trial) { trial.schedule.tileKv = 16; });
  differs([](Trial &trial) { trial.schedule.persistent = true; });
  differs([](Trial &trial) { trial.device += " (Tessera simulator)"; });
  differs([](Trial &trial) { trial.target = "sm_86"; });
  differs([](Trial &trial) { trial.build = "other"; });
  differs([](Trial &trial) { trial.assembler = "other"; });
  differs([](Trial &trial) { trial.driverVersion = 12080; });
}

TEST(StandsFor, B4_74_OtherMachineCodeIsAnotherKernelWhereItIsKnown) {
  Trial logged = measured(32, 1), wanted = measured(32, 1);
  logged.cubinDigest = "aa";
  EXPECT_TRUE(standsFor(logged, wanted)) << "it is not compiled yet";
  EXPECT_TRUE(standsFor(wanted, logged));
  wanted.cubinDigest = "aa";
  EXPECT_TRUE(standsFor(logged, wanted));
  wanted.cubinDigest = "bb";
  EXPECT_FALSE(standsFor(logged, wanted));
}

} // namespace
} // namespace tessera::tune
