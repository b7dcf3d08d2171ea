// What is recorded, replayed and shipped of logs: results of one set of tools, for the code that was timed, and nothing
// lost without a word.
#include "autotune/log/TrialLog.h"
#include "runtime/bundle/Bundle.h"
#include "runtime/cache/RecordLines.h"
#include "tests/unit/cli/Workshop.h"

#include <algorithm>

using namespace tessera;

namespace {

constexpr const char *gpu = "NVIDIA A100-SXM4-80GB";

class TuneRecords : public test::Workshop {
protected:
  /// The program, since a search starts it again for its workers; stdout and stderr go to files.
  int tune(const std::string &arguments) const {
    return shell("tessera tune " + arguments + " > out 2> err < /dev/null");
  }

  /// A right trial of one shape, of the default or of another KV tile.
  static tune::Trial trial(unsigned tileKv, double milliseconds, int driver = 13000, int64_t time = 1000) {
    tune::Trial trial;
    trial.task.spec.headDim = trial.task.spec.valueDim = 64;
    trial.task.problem = {1, 4, 4, 512, 512};
    trial.target = "sm_80";
    trial.device = gpu;
    trial.schedule = defaultSchedule(trial.task.spec, *Target::parse(trial.target));
    trial.isDefault = tileKv == 0 || tileKv == trial.schedule.tileKv;
    trial.schedule.tileKv = tileKv == 0 ? trial.schedule.tileKv : tileKv;
    trial.status = tune::TrialStatus::Measured;
    trial.verification = tune::Verification{true, 0.1, 1, "f64", ""};
    trial.measurement = tune::Measurement();
    trial.measurement->milliseconds = trial.measurement->lowMs = trial.measurement->highMs = milliseconds;
    trial.measurement->repeats = 9;
    trial.footprint = tune::Footprint();
    trial.build = "b";
    trial.assembler = "nvJitLink 13.0";
    trial.driverVersion = driver;
    trial.time = time;
    return trial;
  }
  static tune::Trial wrong(unsigned tileKv, int driver, int64_t time) {
    tune::Trial trial = TuneRecords::trial(tileKv, 1, driver, time);
    trial.status = tune::TrialStatus::Wrong;
    trial.measurement.reset();
    trial.verification->right = false;
    trial.reason = "row 3 is off";
    return trial;
  }
  void log(const std::string &name, const std::vector<tune::Trial> &trials) const {
    Result<tune::TrialLog> file = tune::TrialLog::open(path(name));
    ASSERT_TRUE(file) << file.status().text();
    for (const tune::Trial &trial : trials)
      ASSERT_TRUE(file->append(trial));
  }
  std::vector<unsigned> recordedTiles() const {
    std::vector<unsigned> tiles;
    for (const TuningRecord &record : readRecordLines(read("cache/v1/tuning.jsonl")).records)
      tiles.push_back(record.schedule.tileKv);
    return tiles;
  }
  static std::string texts(const nlohmann::json &list) {
    std::string all;
    for (const nlohmann::json &text : list)
      all += text.get<std::string>() + "\n";
    return all;
  }
};

TEST_F(TuneRecords, B4_74_WhatOtherToolsTimedIsSaidAndStaysRecorded) {
  log("a", {trial(0, 2), trial(32, 1), trial(32, 1, 13000, 1001), trial(48, 3)});
  EXPECT_EQ(json("tune --replay @a")["recorded"], 1u);
  EXPECT_EQ(recordedTiles(), std::vector{32u});

  log("b", {trial(0, 2.5, 13010, 2000)});
  const nlohmann::json merged = json("tune --replay @a @b --report @r.html");
  EXPECT_EQ(merged["recorded"], 0u) << "32 was not timed by the same tools";
  EXPECT_EQ(recordedTiles(), std::vector{32u});
  const std::string warnings = texts(merged["warnings"]);
  EXPECT_NE(warnings.find("2 schedules timed with other tools only (build b, nvJitLink 13.0, driver 13.0)"),
            std::string::npos)
      << warnings;
  EXPECT_NE(warnings.find("the newest count (build b, nvJitLink 13.0, driver 13.1)"), std::string::npos) << warnings;
  EXPECT_EQ(tune("--replay a b"), 0);
  EXPECT_NE(read("err").find("2 schedules timed with other tools only"), std::string::npos) << read("err");

  // Whoever tells it, it is the same: schedules, of the trials that count.
  for (const char *logs : {"@a", "@a @b"}) {
    const nlohmann::json replay = json(std::string("tune --no-record --replay ") + logs)["tasks"][0];
    const nlohmann::json status = json(std::string("tune --status --replay ") + logs)["tasks"][0];
    EXPECT_EQ(replay["timed"], status["timed"]);
    EXPECT_EQ(replay["timed"], std::string(logs) == "@a" ? 3 : 1);
    EXPECT_EQ(replay["compiled"], replay["timed"]);
  }
  EXPECT_EQ(tune("--status --replay a b"), 0);
  EXPECT_NE(read("err").find("2 schedules timed with other tools only"), std::string::npos) << read("err");

  // With the same tools it is compared, and may be replaced.
  log("c", {trial(32, 4, 13010, 2001), trial(48, 2, 13010, 2001)});
  const nlohmann::json whole = json("tune --replay @a @b @c");
  EXPECT_EQ(whole["recorded"], 1u);
  EXPECT_TRUE(whole["warnings"].empty()) << "everything was timed again: " << whole["warnings"];
  EXPECT_EQ(recordedTiles(), std::vector{48u});
}

TEST_F(TuneRecords, WhatWasNotComparedWithTheDefaultIsNotRecorded) {
  log("part", {trial(32, 1), trial(48, 3)});
  const nlohmann::json report = json("tune --replay @part");
  EXPECT_EQ(report["recorded"], 0u);
  EXPECT_NE(texts(report["warnings"]).find("not compared with the default"), std::string::npos) << report;
  log("rest", {trial(0, 2)});
  EXPECT_EQ(json("tune --replay @part @rest")["recorded"], 1u);
}

TEST_F(TuneRecords, AWrongAnswerCountsForTheToolsThatGaveIt) {
  log("now", {trial(0, 2, 13010, 2000), trial(32, 1, 13010, 2000)});
  log("before", {wrong(48, 13000, 1000)});
  const nlohmann::json report = json("tune --no-record --replay @before @now", 0);
  const std::string warnings = texts(report["warnings"]);
  EXPECT_NE(warnings.find("with other tools than the result is of (build b, nvJitLink 13.0, driver 13.0)"),
            std::string::npos)
      << warnings;
  EXPECT_EQ(warnings.find("WRONG ANSWER"), std::string::npos) << warnings;
  log("later", {wrong(48, 13020, 3000)});
  EXPECT_NE(texts(json("tune --no-record --replay @now @later", 1)["warnings"]).find("WRONG ANSWER by"),
            std::string::npos)
      << "nothing is known to have mended it";
  log("same", {wrong(48, 13010, 1500)});
  EXPECT_NE(texts(json("tune --no-record --replay @now @same", 1)["warnings"]).find("WRONG ANSWER by"),
            std::string::npos);
}

TEST_F(TuneRecords, AResultThatIsNotKeptIsAWarning) {
  log("l", {trial(0, 2), trial(32, 1)});
  std::filesystem::create_directories(path("cache/v1/tuning.jsonl"));
  for (const char *folder : {"cache", "cache/v1"})
    std::filesystem::permissions(path(folder), std::filesystem::perms::owner_all);
  EXPECT_EQ(tune("--replay l"), 0);
  EXPECT_NE(read("err").find("the result is not recorded: "), std::string::npos) << read("err");
  EXPECT_NE(texts(json("tune --replay @l")["warnings"]).find("tuning.jsonl"), std::string::npos);
  for (const char *asked : {"--no-record", "--cache ro", "--cache off"})
    EXPECT_TRUE(json(std::string("tune --replay @l ") + asked)["warnings"].empty()) << asked;
}

TEST_F(TuneRecords, BundlesOfLogsHoldTheWinnersOrAreNotMade) {
  log("l", {trial(0, 2), trial(32, 1.98)});
  const auto build = [&](const std::string &flags) { return "bundle build --from-log @l -o @a.tsb " + flags; };
  EXPECT_EQ(json(build(""))["records"], 1u);
  expectRefused(build("--targets sm_86"), 2, "no code for sm_80 is built");
  write("other.json", R"([{"head-dim": 128}])");
  expectRefused(build("--specs @other.json"), 2, "this attention is not built");
  expectRefused("bundle build --specs @other.json --targets sm_80 -o @b.tsb --margin 2%", 2,
                "--margin is for --from-log");

  const auto tile = [&](const std::string &flags) {
    EXPECT_EQ(json(build(flags))["records"], 1u);
    return (*Bundle::open(path("a.tsb")))->index().records.at(0).schedule.tileKv;
  };
  EXPECT_EQ(tile("--margin 0"), 32u);
  EXPECT_EQ(tile("--margin 2%"), trial(0, 1).schedule.tileKv) << "the default, where they are equal";

  tune::Trial ada = trial(32, 1);
  ada.target = "sm_89";
  ada.device = "NVIDIA GeForce RTX 4090";
  log("l", {ada});
  const test::Ran run = tessera(build("--targets sm_80"));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.err.find("left out the winner for sm_89, "), std::string::npos) << run.err;
  EXPECT_EQ(json(build("--targets sm_80"))["unused_records"].size(), 1u);

  log("newer", {trial(0, 3, 13010, 2000)});
  EXPECT_NE(tessera("bundle build --from-log @l @newer -o @a.tsb").err.find("1 schedule timed with other tools only"),
            std::string::npos);
}

TEST_F(TuneRecords, TrialsOfABundleAreOfItsCode) {
  write("s.json", R"([{"head-dim": 64, "heads": 4}])");
  ASSERT_EQ(json("bundle build --specs @s.json --targets sm_80 -o @c.tsb")["kernels"], 1u);
  const std::string run = "--head-dim 64 --heads 4 --seqlen 64 --no-record --device sim:rtx3090 ";
  EXPECT_EQ(tune(run + "--bundle c.tsb --log t.jsonl"), 1) << "the stub's kernels are wrong: " << read("err");
  const tune::TrialLines lines = tune::readTrials(read("t.jsonl"));
  ASSERT_FALSE(lines.trials.empty());
  for (const tune::Trial &trial : lines.trials) {
    EXPECT_EQ(trial.target, "sm_80") << "not what the device would be compiled for";
    EXPECT_EQ(trial.assembler, "stub 1.0");
    EXPECT_EQ(trial.build, "stub build");
    EXPECT_TRUE(trial.isDefault);
  }
  ASSERT_FALSE(lines.ends.empty());
  EXPECT_EQ(lines.ends[0].target, "sm_80");
  EXPECT_EQ(json("tune --status --log @t.jsonl")["tasks"].size(), 1u) << "the end is of the same task";

  // A log of other code for the same device stands for none of it.
  tune::Trial other = lines.trials[0];
  other.target = "sm_86";
  log("u.jsonl", {other});
  EXPECT_EQ(tune(run + "--bundle c.tsb --log u.jsonl --json"), 1);
  EXPECT_EQ(nlohmann::json::parse(read("out"))["tasks"][0]["from_log"], 0u);
  other = lines.trials[0];
  other.cubinDigest.front() = other.cubinDigest.front() == '0' ? '1' : '0';
  log("v.jsonl", {other});
  EXPECT_EQ(tune(run + "--bundle c.tsb --log v.jsonl --json"), 1);
  EXPECT_EQ(nlohmann::json::parse(read("out"))["tasks"][0]["from_log"], 0u) << "other machine code";
  EXPECT_EQ(tune(run + "--bundle c.tsb --log t.jsonl --json"), 1);
  EXPECT_EQ(nlohmann::json::parse(read("out"))["tasks"][0]["from_log"], 1u);
}

TEST_F(TuneRecords, ExplainKnowsTheCodeThatABundleBrought) {
  tune::Trial brought = trial(32, 1);
  brought.device = "NVIDIA GeForce RTX 3090 (Tessera simulator)";
  brought.measurement->modelled = true;
  log("l", {brought});
  const std::string explain = "tune --explain 512 --head-dim 64 --heads 4 --log @l --device sim:";
  const nlohmann::json here = json(explain + "rtx3090");
  EXPECT_EQ(here["provenance"], "exact");
  EXPECT_EQ(here["target"], "sm_80");
  EXPECT_NE(here["reason"].get<std::string>().find("with code for sm_80"), std::string::npos) << here;
  EXPECT_EQ(json(explain + "a100")["provenance"], "default");
}

TEST_F(TuneRecords, ToCompileAnewIsNotToChooseAnew) {
  log("l", {trial(0, 2), trial(32, 1)});
  EXPECT_EQ(json("tune --replay @l --cache refresh")["recorded"], 1u);
  log("m", {trial(0, 2), trial(48, 1.5)});
  EXPECT_EQ(json("tune --replay @m --cache refresh")["recorded"], 0u) << "32 is known, and was not compared";
  EXPECT_EQ(recordedTiles(), std::vector{32u});
  const std::string explain = "explain --target sm_80 --head-dim 64 --heads 4 --seqlen-q 512 --seqlen-kv 512 --cache ";
  EXPECT_EQ(json(explain + "refresh")["provenance"], "family");
  EXPECT_EQ(json(explain + "off")["provenance"], "default");
}

} // namespace
