// What logs hold, as `tessera tune` tells it: texts of others, times of both kinds, what was and will be done, what is
// no log.
#include "autotune/log/TrialLog.h"
#include "tests/unit/cli/Workshop.h"

using namespace tessera;

namespace {

class TuneLogs : public test::Workshop {
protected:
  /// The program, since a search starts it again for its workers; stdout and stderr go to files.
  int tune(const std::string &arguments) const {
    return shell("tessera tune " + arguments + " > out 2> err < /dev/null");
  }

  static tune::Trial trial(const std::string &device, int64_t length) {
    tune::Trial trial;
    trial.task.spec.headDim = trial.task.spec.valueDim = 64;
    trial.task.problem = {1, 4, 4, length, length};
    trial.target = "sm_80";
    trial.device = device;
    trial.schedule = defaultSchedule(trial.task.spec, *Target::parse(trial.target));
    trial.isDefault = true;
    trial.status = tune::TrialStatus::Measured;
    trial.verification = tune::Verification{true, 0.1, 1, "f64", ""};
    const bool modelled = isSimulatedDevice(device);
    trial.measurement = {
        .milliseconds = 1, .lowMs = 1, .highMs = 1, .repeats = modelled ? 0u : 9u, .modelled = modelled};
    trial.build = "b";
    trial.assembler = "a";
    return trial;
  }
  void log(const std::string &name, const tune::Trial &trial) const {
    Result<tune::TrialLog> file = tune::TrialLog::open(path(name));
    ASSERT_TRUE(file) << file.status().text();
    ASSERT_TRUE(file->append(trial));
  }

  static constexpr const char *simulated = "NVIDIA A100-SXM4-80GB (Tessera simulator)";
  static constexpr const char *gpu = "NVIDIA A100-SXM4-80GB";
};

constexpr const char *small =
    "--head-dim 64 --seqlen 64 --device sim:a100 --top 2 --knob persistent=off --knob head_group=1 --no-record ";

/// Characters that a terminal would obey: control characters but line ends, and a direction that is turned around.
bool obeyed(const std::string &text) {
  return text.find("\u202e") != text.npos || text.find("\u009b") != text.npos ||
         std::ranges::any_of(text, [](unsigned char c) { return (c < 0x20 && c != '\n') || c == 0x7f; });
}

TEST_F(TuneLogs, TextsOfOthersDoNothingToATerminal) {
  const std::string evil = "GPU\x1b[2J\u202e\u009b31m\x7f\ntessera: all is well\n";
  const std::string name = "GPU\u202e\u009b31m"; // without what makes a line no trial
  tune::Trial good = trial(gpu + name, 64), wrong = trial(name, 96);
  wrong.status = tune::TrialStatus::Wrong;
  wrong.reason = evil;
  wrong.verification->right = false;
  log("l", good);
  log("l", wrong);
  log("l", trial(evil, 64)); // passed over, which is said
  for (const char *arguments : {"--replay l --no-record", "--status --log l", "--replay l --no-record --json",
                                "--explain 64 --head-dim 64 --heads 4 --log l --device sim:a100"}) {
    tune(arguments);
    for (const char *stream : {"out", "err"}) {
      const std::string text = read(stream);
      EXPECT_FALSE(obeyed(text)) << arguments << " on " << stream << "\n" << text;
      EXPECT_EQ(("\n" + text).find("\ntessera: all is well"), std::string::npos) << arguments << "\n" << text;
    }
  }
  const nlohmann::json report = json("tune --replay @l --no-record", 1);
  EXPECT_EQ(report["tasks"][1]["device"], gpu + name) << "in JSON it is the same text";
  // The row of a table is one line.
  tune("--status --log l");
  const std::string out = read("out");
  EXPECT_EQ(std::ranges::count(out, '\n'), 5) << out;
}

TEST_F(TuneLogs, TextsOfFilesInMessagesDoNothingEither) {
  write("s.json", R"([{"\u001b[2J\u202e": 1}])");
  const test::Ran run = tessera("bundle build --specs @s.json --targets sm_80 -o @b.tsb");
  EXPECT_NE(run.err.find("[2J"), std::string::npos) << "it is named: " << run.err;
  EXPECT_FALSE(obeyed(run.err)) << run.err;
  EXPECT_FALSE(obeyed(tessera("bundle inspect @\x1b[2J").err));
}

TEST_F(TuneLogs, MeasuredTimesAreNotDeniedWhereOthersAreModelled) {
  log("sim", trial(simulated, 64));
  log("gpu", trial(gpu, 64));
  EXPECT_EQ(tune("--replay sim gpu --no-record --report r.html"), 0) << read("err");
  EXPECT_EQ(read("out").find("no time was measured"), std::string::npos) << read("out");
  EXPECT_NE(read("out").find("1 ms (modelled)"), std::string::npos) << read("out");
  EXPECT_EQ(read("r.html").find("No time was measured"), std::string::npos);
  const nlohmann::json both = json("tune --replay @sim @gpu --no-record");
  EXPECT_TRUE(both["modelled"].is_null()) << both;
  for (const nlohmann::json &task : both["tasks"])
    EXPECT_EQ(task["modelled"], task["device"] == simulated) << task;
  EXPECT_EQ(json("tune --replay @sim --no-record")["modelled"], true);
  EXPECT_EQ(json("tune --replay @gpu --no-record")["modelled"], false);
  EXPECT_EQ(tune("--replay sim --no-record"), 0);
  EXPECT_NE(read("out").find("no time was measured"), std::string::npos) << read("out");
}

TEST_F(TuneLogs, JsonSaysWhyNothingIsRecorded) {
  log("l", trial(simulated, 64));
  EXPECT_NE(json("tune --replay @l --no-record")["why_not_recorded"].get<std::string>().find("--no-record"),
            std::string::npos);
  EXPECT_TRUE(json("tune --replay @l")["why_not_recorded"].is_null()) << "it is recorded";
  std::filesystem::remove(path("cache/v1/tuning.jsonl"));
  std::filesystem::create_directories(path("cache/v1/tuning.jsonl"));
  const nlohmann::json failed = json("tune --replay @l");
  EXPECT_EQ(failed["recorded"], 0u);
  EXPECT_NE(failed["why_not_recorded"].get<std::string>().find("tuning.jsonl"), std::string::npos) << failed;
}

TEST_F(TuneLogs, WhatIsNoLogIsNotAppendedTo) {
  for (const std::string text :
       {"# Notes\n\nmine\n", "[{\"head-dim\": 64}]", "{\"kind\":\"other\"}\n", "\1\2\n{\"kind\": \"trial\"}"}) {
    write("notes", text);
    EXPECT_EQ(tune(std::string(small) + "--log notes"), 2) << text;
    EXPECT_NE(read("err").find("holds no line of a tuning log"), std::string::npos) << read("err");
    EXPECT_EQ(read("notes"), text);
  }
  for (const char *text :
       {"", "\n", "{\"ki", "{\"kind\":\"trial\",\"version\":1,\"spec", "junk\n{\"kind\":\"end\",\"version\":9}\n"}) {
    write("log", text);
    EXPECT_EQ(tune(std::string(small) + "--log log"), 1) << "a log that was cut short, or a newer one: " << text;
    EXPECT_GT(read("log").size(), std::string(text).size());
  }
}

TEST_F(TuneLogs, ADryRunCountsWhatWouldBeDone) {
  const std::string two = "--head-dim 64 --seqlen 64,96 --device sim:a100 --top 6 --knob persistent=off ";
  const auto would = [&](const std::string &more, size_t task) {
    EXPECT_EQ(tune(two + "--dry-run --json " + more), 0) << read("err");
    return nlohmann::json::parse(read("out"))["tasks"][task]["would"];
  };
  const nlohmann::json first = would("", 0), second = would("", 1);
  EXPECT_EQ(first["compile"], 7u);
  EXPECT_EQ(second["compile"].get<size_t>() + second["shared"].get<size_t>(), 7u) << second;
  EXPECT_GE(second["shared"], 1u) << "the default at least: one kernel serves both shapes";

  const nlohmann::json limited = would("--trials 4", 0);
  EXPECT_EQ(limited["compile"], 2u) << "half of them for each shape";
  EXPECT_EQ(limited["beyond_trials"], 5u);
  EXPECT_EQ(tune(two + "--trials 4 --log l --no-record --json"), 1) << read("err");
  size_t compiled = 0;
  const nlohmann::json done = nlohmann::json::parse(read("out"));
  for (const nlohmann::json &task : done["tasks"])
    compiled += task["compiled"].get<size_t>();
  EXPECT_EQ(compiled, limited["compile"].get<size_t>() + would("--trials 4", 1)["compile"].get<size_t>());

  EXPECT_EQ(tune(two + "--log l --no-record"), 1) << read("err");
  const nlohmann::json logged = would("--log l", 0);
  EXPECT_EQ(logged["compile"], 0u);
  EXPECT_EQ(logged["log"], 7u);
  EXPECT_EQ(tune(two + "--log l --dry-run"), 0);
  EXPECT_NE(read("out").find("0 would be compiled, 7 stand in the log"), std::string::npos) << read("out");
}

TEST_F(TuneLogs, ExplainAsksForTheSignatureOfABundle) {
  write("s.json", R"([{"head-dim": 64}])");
  EXPECT_EQ(tessera("bundle build --specs @s.json --targets sm_80 -o @b.tsb").code, 0);
  EXPECT_EQ(tessera("bundle keygen -o @k").code, 0);
  const std::string explain = "tune --explain 64 --head-dim 64 --device sim:a100 --bundle @b.tsb ";
  EXPECT_EQ(tessera(explain).code, 0);
  const test::Ran unsignedRun = tessera(explain + "--public-key @k.pub");
  EXPECT_EQ(unsignedRun.code, 2) << unsignedRun.out << unsignedRun.err;
  EXPECT_EQ(tessera(explain + "--public-key @nothere").code, 5);
}

} // namespace
