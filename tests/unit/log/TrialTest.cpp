// Trials as lines: what is written is read back exactly, and what is no trial is said and costs nothing else.
#include "tests/unit/log/Trials.h"

#include <cmath>
#include <gtest/gtest.h>

namespace tessera::tune {
namespace {

using namespace tessera::tune::test;

Trial read(const Trial &trial) {
  const TrialLines lines = readTrials(lineOf(trial));
  EXPECT_TRUE(lines.damaged.empty()) << lines.damaged[0];
  EXPECT_EQ(lines.trials.size(), 1u);
  return lines.trials.empty() ? Trial() : lines.trials[0];
}

TEST(Trial, EveryFieldIsReadBackExactly) {
  const Trial before = everything(), after = read(before);
  EXPECT_EQ(textOf(after), textOf(before));
  // Field by field, for what the writer might drop.
  EXPECT_EQ(after.task, before.task);
  EXPECT_EQ(after.schedule, before.schedule);
  EXPECT_EQ(after.device, before.device);
  EXPECT_EQ(after.target, before.target);
  EXPECT_EQ(after.status, before.status);
  EXPECT_EQ(after.reason, before.reason);
  EXPECT_EQ(after.sameAs, before.sameAs);
  EXPECT_TRUE(after.isDefault);
  EXPECT_EQ(after.compileMs, before.compileMs);
  EXPECT_EQ(after.cubinDigest, before.cubinDigest);
  EXPECT_EQ(after.build, before.build);
  EXPECT_EQ(after.assembler, before.assembler);
  EXPECT_EQ(after.driverVersion, -1);
  EXPECT_EQ(after.elapsedSeconds, 12.75);
  EXPECT_EQ(after.time, INT64_MAX);

  ASSERT_TRUE(after.footprint && after.before && after.after && after.verification && after.measurement);
  EXPECT_EQ(after.footprint->registers, 255u);
  EXPECT_EQ(after.footprint->spillBytes, UINT32_MAX);
  EXPECT_EQ(after.footprint->sharedBytes, UINT64_MAX);
  EXPECT_EQ(after.footprint->threads, 256u);
  EXPECT_EQ(after.footprint->basis, Basis::Image);
  EXPECT_EQ(after.before->milliseconds, 0);
  const Prediction &prediction = *after.after;
  EXPECT_TRUE(std::isinf(prediction.milliseconds) && prediction.milliseconds > 0);
  ASSERT_EQ(prediction.terms.size(), 3u);
  EXPECT_EQ(prediction.terms[0].name, "tensor");
  EXPECT_EQ(prediction.terms[0].milliseconds, 1.0 / 3);
  EXPECT_TRUE(std::isinf(prediction.terms[1].milliseconds) && prediction.terms[1].milliseconds < 0);
  EXPECT_TRUE(std::signbit(prediction.terms[2].milliseconds));
  EXPECT_EQ(prediction.bound, "tensor");
  EXPECT_EQ(prediction.blocksPerSm, 2u);
  EXPECT_EQ(prediction.waves, 1.5);
  EXPECT_EQ(prediction.memoryBytes, 5e-324);
  EXPECT_EQ(prediction.flops, 1.7976931348623157e308);
  EXPECT_EQ(prediction.work, Basis::Simulated);
  EXPECT_EQ(prediction.footprint, Basis::Measured);
  EXPECT_FALSE(after.verification->right);
  EXPECT_TRUE(std::isinf(after.verification->error));
  EXPECT_EQ(after.verification->bound, 0.1);
  EXPECT_EQ(after.verification->against, "f64 at 1x4x257x300");
  EXPECT_EQ(after.verification->complaint, "row 3 is off");
  const Measurement &measurement = *after.measurement;
  EXPECT_EQ(measurement.milliseconds, 0.1 + 0.2);
  EXPECT_EQ(measurement.lowMs, 1.0 / 7);
  EXPECT_EQ(measurement.highMs, 0.1 + 0.2);
  EXPECT_EQ(measurement.repeats, UINT32_MAX);
  EXPECT_TRUE(measurement.modelled && measurement.stoppedEarly && measurement.throttled);
  EXPECT_EQ(measurement.clockMHz, 1410.5);
  EXPECT_EQ(measurement.method, before.measurement->method);
}

TEST(Trial, WhatIsAbsentStaysAbsent) {
  Trial trial;
  trial.target = "sm_80";
  trial.time = 1; // 0 is not logged yet
  const Trial after = read(trial);
  EXPECT_FALSE(after.compileMs || after.footprint || after.before || after.after || after.verification ||
               after.measurement);
  EXPECT_EQ(lineOf(after), lineOf(trial));
}

TEST(Trial, NaNIsReadBackAsNaN) {
  Trial trial = measured(64, 1);
  trial.verification->error = std::nan("");
  EXPECT_TRUE(std::isnan(read(trial).verification->error));
}

TEST(Trial, EveryStatusHasAName) {
  for (unsigned i = 0; i <= unsigned(TrialStatus::Wrong); ++i) {
    Trial trial = measured(64, 1);
    trial.status = TrialStatus(i);
    EXPECT_EQ(read(trial).status, trial.status) << name(trial.status);
  }
}

TEST(Trial, TheLineIsInPlainWords) {
  const std::string line = lineOf(measured(64, 0.25));
  EXPECT_EQ(line.rfind("{\"kind\":\"trial\",\"version\":1,\"spec\":\"v1:in=bf16,", 0), 0u) << line;
  for (const char *part : {"\"shape\":{\"batch\":1,\"heads\":8,\"kv_heads\":8,\"seqlen_q\":512,\"seqlen_kv\":512}",
                           "\"device\":\"NVIDIA A100-SXM4-80GB\"", "\"target\":\"sm_80\"", "\"status\":\"measured\"",
                           "\"measurement\":{\"ms\":0.25,", "\"driver\":13000"})
    EXPECT_NE(line.find(part), std::string::npos) << part << " in " << line;
}

TEST(Trial, LongTextsForPeopleAreCutBetweenCharacters) {
  Trial trial = measured(64, 1);
  trial.status = TrialStatus::Failed;
  for (int i = 0; i < 3000; ++i)
    trial.reason += "\xc3\xb6";
  trial.reason.insert(0, "x");
  const Trial after = read(trial);
  EXPECT_EQ(after.reason, trial.reason.substr(0, 4095));
  EXPECT_EQ(lineOf(after), lineOf(trial));
}

TEST(TrialLines, ADamagedLineIsNamedAndCostsNothingElse) {
  const std::string good = lineOf(measured(64, 1));
  const auto with = [&](const std::string &text, const std::string &by) {
    std::string line = good;
    const size_t at = line.find(text);
    EXPECT_NE(at, std::string::npos) << text;
    return line.replace(at, text.size(), by);
  };
  using namespace std::string_literals;
  const std::pair<std::string, const char *> cases[] = {
      {good.substr(0, good.size() / 2) + "\n", "no JSON object"},
      {"[]\n", "no JSON object"},
      {"\xff\n", "no JSON object"},
      {"\0\0\0"s + good, "it holds a NUL"},
      {good.substr(0, good.size() - 1) + "\0\n"s, "it holds a NUL"},
      {"{}\n", "of kind ''"},
      {with("\"trial\"", "7"), "of kind ''"},
      {with("\"version\":1", "\"version\":2"), "version 2"},
      {with("\"version\":1", "\"version\":\"1\""), "of kind"},
      {with("\"spec\"", "\"sec\""), "'spec' is not there"},
      {with("v1:in=bf16", "v9:in=bf16"), "v9"},
      {with("v1:q", "v9:q"), "v9"},
      {with("\"sm_80\"", "80"), "'target' is no text"},
      {with("\"sm_80\"", "\"sn_80\""), "sn_80"},
      {with("\"device\"", "\"devise\""), "'device' is not there"},
      {with("\"measured\"", "\"winning\""), "'status' is 'winning'"},
      {with("\"measurement\"", "\"measuring\""), "there is no measurement"},
      {with("\"kv_heads\":8", "\"kv_heads\":3"), "8"},
      {with("\"kv_heads\":8", "\"kv_heads\":18446744073709551615"), "'kv_heads' is out of range"},
      {with("\"batch\":1", "\"batch\":-1"), "-1"},
      {with("\"batch\":1", "\"batch\":1.0"), "'batch' is no whole number"},
      {with("\"batch\":1,", ""), "'batch' is not there"},
      {with("\"ms\":1.0", "\"ms\":\"fast\""), "'ms' is no number"},
      {with("\"ms\":1.0", "\"ms\":1e999"), "no JSON object"},
      {with("\"repeats\":10", "\"repeats\":4294967296"), "'repeats' is out of range"},
      {with("\"repeats\":10", "\"repeats\":-1"), "'repeats' is out of range"},
      {with("\"modelled\":false", "\"modelled\":0"), "'modelled' is neither"},
      {with("\"verification\":{", "\"verification\":7,\"x\":{"), "'verification' is no object"},
  };
  for (const auto &[line, part] : cases) {
    const TrialLines lines = readTrials(good + line + good);
    EXPECT_EQ(lines.trials.size(), 2u) << line.substr(0, 200);
    ASSERT_EQ(lines.damaged.size(), 1u) << line.substr(0, 200);
    EXPECT_EQ(lines.damaged[0].rfind("line 2: ", 0), 0u) << lines.damaged[0];
    EXPECT_NE(lines.damaged[0].find(part), std::string::npos) << lines.damaged[0];
  }
}

TEST(TrialLines, WhatNoTunerCanHaveFoundIsDamaged) {
  const Trial good = measured(64, 1);
  const auto with = [&](auto change) {
    Trial trial = good;
    change(trial, *trial.measurement);
    return trial;
  };
  const auto timed = [&](double low, double median, double high) {
    return with([&](Trial &, Measurement &m) { m.lowMs = low, m.milliseconds = median, m.highMs = high; });
  };
  const auto simulated = [](Trial &trial, Measurement &) { trial.device += " (Tessera simulator)"; };
  const std::pair<Trial, const char *> cases[] = {
      {with([](Trial &trial, Measurement &) { trial.device += "\x1b[2J"; }), "a device's name that no driver gives"},
      {with([](Trial &trial, Measurement &) { trial.device.resize(300, 'x'); }),
       "a device's name that no driver gives"},
      {with([](Trial &, Measurement &m) { m.modelled = true; }),
       "a modelled time of 'NVIDIA A100-SXM4-80GB', which is no simulator"},
      {with(simulated), "a measured time of 'NVIDIA A100-SXM4-80GB (Tessera simulator)', which is a simulator"},
      {timed(0, 0, 0), "a time of 0 ms; times are 1e-06 to 1000000000 ms"},
      {timed(-1, -1, -1), "a time of -1 ms"},
      {timed(1e300, 1e300, 1e300), "a time of 1e+300 ms"},
      {timed(1e-300, 1e-300, 1e-300), "a time of 1e-300 ms"},
      {timed(0, 1, 1), "a time of 0 ms"},
      {timed(1, 1, HUGE_VAL), "a time of inf ms"},
      {timed(1, std::nan(""), 1), "a time of nan ms"},
      {timed(2, 1, 3), "a median of 1 ms that is not between its quartiles, 2 and 3 ms"},
      {timed(1, 4, 3), "a median of 4 ms"},
      {with([](Trial &, Measurement &m) { m.repeats = 0; }), "a measured time of no launches"},
      {with([](Trial &trial, Measurement &) { trial.schedule.stages = 9; }), "is not legal for sm_80: "},
      {with([](Trial &trial, Measurement &m) { // what an earlier round found, too
         trial.status = TrialStatus::Predicted;
         m.lowMs = m.milliseconds = m.highMs = -1;
       }),
       "a time of -1 ms"},
      {with([](Trial &trial, Measurement &) { trial.before = Prediction{.milliseconds = 1e308}; }),
       "a predicted time of 1e+308 ms; times are 1e-06 to 1000000000 ms"},
      {with([](Trial &trial, Measurement &) { trial.after = Prediction{.milliseconds = 5e-324}; }),
       "a predicted time of 5e-324 ms"},
      {with([](Trial &trial, Measurement &) { trial.after = Prediction{.milliseconds = -1}; }),
       "a predicted time of -1 ms"},
  };
  for (const auto &[trial, part] : cases) {
    const TrialLines lines = readTrials(lineOf(good) + lineOf(trial) + lineOf(good));
    EXPECT_EQ(lines.trials.size(), 2u) << part;
    ASSERT_EQ(lines.damaged.size(), 1u) << part;
    EXPECT_EQ(lines.damaged[0].rfind("line 2: ", 0), 0u) << lines.damaged[0];
    EXPECT_NE(lines.damaged[0].find(part), std::string::npos) << lines.damaged[0];
  }
  const Trial sound[] = {
      with([&](Trial &trial, Measurement &m) { simulated(trial, m), m.modelled = true, m.repeats = 0; }),
      with([](Trial &trial, Measurement &) { trial.target = "sm_70"; }), // another Tessera may know it
      with([](Trial &trial, Measurement &) { trial.status = TrialStatus::Failed, trial.schedule.stages = 9; }),
      timed(1e-6, 1e-6, 1e9),
      with([](Trial &trial, Measurement &) { trial.before = Prediction{.milliseconds = HUGE_VAL}; }), // cannot run
  };
  for (const Trial &trial : sound)
    EXPECT_EQ(textOf(read(trial)), textOf(trial));
}

TEST(TrialLines, BlankLinesOtherKindsAndUnknownKeysArePassedOver) {
  std::string further = lineOf(measured(64, 1));
  further.insert(1, R"("colour": {"a": [1, {"b": []}]}, )");
  const TrialLines lines =
      readTrials("\n  \t\r\n{\"kind\": \"run\", \"x\": 1}\n" + further.substr(0, further.size() - 1) + "\r\n" +
                 further.substr(0, further.size() - 1));
  EXPECT_TRUE(lines.damaged.empty()) << lines.damaged[0];
  ASSERT_EQ(lines.trials.size(), 2u) << "one with CR and LF, one without any end";
  EXPECT_EQ(lineOf(lines.trials[0]), lineOf(measured(64, 1)));
}

TEST(TrialLines, DeepNestingAndEndlessLinesCostLittle) {
  const std::string good = lineOf(measured(64, 1));
  std::string text = good;
  text += std::string(1000000, '[') + "\n";
  text += "{\"a\":" + std::string(400000, '[') + std::string(400000, ']') + "}\n";
  std::string deep = good; // a trial with something deep in it is a trial
  text += deep.insert(1, "\"a\":" + std::string(400000, '[') + std::string(400000, ']') + ",");
  text += std::string(size_t(64) << 20, '{') + "\n" + good;
  const TrialLines lines = readTrials(text);
  EXPECT_EQ(lines.trials.size(), 3u);
  ASSERT_EQ(lines.damaged.size(), 3u);
  EXPECT_EQ(lines.damaged[2], "line 5: it has 67108864 bytes; at most 1048576");
}

TEST(TrialLines, ALogOfRubbishIsToldOfInAHundredLines) {
  std::string text;
  for (int i = 0; i < 250; ++i)
    text += "x\n";
  const TrialLines lines = readTrials(text + lineOf(measured(64, 1)));
  EXPECT_EQ(lines.trials.size(), 1u);
  ASSERT_EQ(lines.damaged.size(), 101u);
  EXPECT_EQ(lines.damaged[99], "line 100: no JSON object");
  EXPECT_EQ(lines.damaged[100], "and 150 more");
}

TEST(TrialLines, WhatALineQuotesIsCutInItsComplaint) {
  std::string line = lineOf(measured(64, 1));
  line.replace(line.find("measured"), 0, std::string(5000, 'x'));
  const TrialLines lines = readTrials(line);
  ASSERT_EQ(lines.damaged.size(), 1u);
  EXPECT_LT(lines.damaged[0].size(), 400u);
}

} // namespace
} // namespace tessera::tune
