// tessera tune as a program, with a compiler whose kernels write nothing: wrong answers are loud, and never win.
#include "runtime/cache/RecordLines.h"
#include "tests/unit/cli/Workshop.h"

using namespace tessera;

namespace {

class TuneCommand : public test::Workshop {
protected:
  /// The program, since a search starts it again for its workers; stdout and stderr go to files.
  int tune(const std::string &arguments) const {
    return shell("tessera tune " + arguments + " > out 2> err < /dev/null");
  }

  TuningRecord record(const std::string &device) const {
    TuningRecord record;
    record.device = device;
    record.target = "sm_80";
    record.problem = {1, 4, 4, 256, 256};
    record.schedule = *Schedule::parse("v1:q64,kv64,w4,s1,lazy8,add,qsmem,online");
    return record;
  }
  void writeTuningLog(const std::string &text) const {
    std::filesystem::create_directories(path("cache/v1"));
    std::filesystem::permissions(path("cache"), std::filesystem::perms::owner_all);
    std::filesystem::permissions(path("cache/v1"), std::filesystem::perms::owner_all);
    write("cache/v1/tuning.jsonl", text);
    std::filesystem::permissions(path("cache/v1/tuning.jsonl"),
                                 std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  }
};

constexpr const char *small =
    "--head-dim 64 --seqlen 64 --device sim:a100 --top 2 --knob persistent=off --knob head_group=1 ";

TEST_F(TuneCommand, AWrongAnswerIsLoudAndNeverWins) {
  EXPECT_EQ(tune(std::string(small) + "--log t.jsonl --report t.html --json"), 1);
  const nlohmann::json report = nlohmann::json::parse(read("out"));
  EXPECT_TRUE(report["tasks"][0]["winner"].is_null()) << report;
  EXPECT_GE(report["tasks"][0]["trials"]["wrong"], 1u);
  EXPECT_EQ(report["recorded"], 0u);
  EXPECT_FALSE(report["warnings"].empty());
  EXPECT_NE(read("err").find("wrong"), std::string::npos) << read("err");
  EXPECT_NE(read("t.html").find("wrong"), std::string::npos);
  EXPECT_FALSE(exists("cache/v1/tuning.jsonl"));

  // The log tells the same, and is not asked twice.
  EXPECT_EQ(tune("--replay t.jsonl"), 1);
  EXPECT_NE(read("err").find("WRONG ANSWER"), std::string::npos) << read("err");
  EXPECT_EQ(tune("--status --log t.jsonl --json"), 0);
  const nlohmann::json status = nlohmann::json::parse(read("out"));
  EXPECT_GE(status["by_status"]["wrong"], 1u);
  ASSERT_EQ(status["tasks"].size(), 1u) << "a task without a winner is one too";
  EXPECT_TRUE(status["tasks"][0]["winner"].is_null());
  EXPECT_TRUE(status["tasks"][0]["complete"]);
}

TEST_F(TuneCommand, TheStatusOfALogTellsWhichPartsAreMissing) {
  const std::string shards = "--head-dim 64 --seqlen 64,96 --device sim:a100 --top 2 --knob persistent=off "
                             "--knob head_group=1 --no-record --json --shard ";
  EXPECT_EQ(tune(shards + "2/2 --log 2.jsonl"), 1);
  EXPECT_EQ(tune("--status --replay 2.jsonl"), 0);
  EXPECT_NE(read("out").find("1 of 2 parts"), std::string::npos) << read("out");
  EXPECT_EQ(tune("--replay 2.jsonl --no-record"), 1);
  EXPECT_NE(read("out").find("2 of 2 tasks: the logs do not say"), std::string::npos) << read("out");
  EXPECT_EQ(tune(shards + "1/2 --log 1.jsonl"), 1);
  EXPECT_EQ(tune("--status --replay 1.jsonl 2.jsonl --json"), 0);
  const nlohmann::json status = nlohmann::json::parse(read("out"));
  EXPECT_EQ(status["tasks"].size(), 2u);
  for (const nlohmann::json &task : status["tasks"])
    EXPECT_EQ(task["parts"], nlohmann::json::parse(R"({"done": 2, "of": 2})"));
  EXPECT_EQ(tune("--replay 1.jsonl 2.jsonl --no-record"), 1);
  EXPECT_EQ(read("out").find("incomplete"), std::string::npos) << read("out");
}

TEST_F(TuneCommand, ACompilerThatRefusesEverythingIsAnErrorWithItsReason) {
  setenv("STUB_FAILS", "in=bf16", 1);
  EXPECT_EQ(tune(std::string(small) + "--json"), 1);
  unsetenv("STUB_FAILS");
  EXPECT_NE(read("err").find("refused by the stub"), std::string::npos) << read("err");
}

TEST_F(TuneCommand, WithoutCompilerOrDeviceItSaysSo) {
  setenv("TESSERA_COMPILER_LIBRARY", "/nonexistent/compiler.so", 1);
  EXPECT_EQ(tune(small), 3);
  EXPECT_NE(read("err").find("/nonexistent/compiler.so"), std::string::npos) << read("err");
  EXPECT_EQ(tune("--head-dim 64 --device sim:nothing"), 4);
  EXPECT_EQ(tune("--head-dim 64 --device cuda:63"), 4);
}

TEST_F(TuneCommand, TheCacheShowsItsTuningLogAndMendsIt) {
  EXPECT_EQ(json("cache stat")["tuning_log"]["records"], 0u);
  const std::string good = recordLine(record("gpu"));
  writeTuningLog(good + "{\"spec\": \n");
  const nlohmann::json stat = json("cache stat")["tuning_log"];
  EXPECT_EQ(stat["records"], 1u);
  EXPECT_EQ(stat["faults"].size(), 1u);
  EXPECT_EQ(json("cache verify", 1)["tuning_faults"].size(), 1u);
  EXPECT_EQ(json("cache verify --remove", 1)["tuning_faults"].size(), 1u);
  EXPECT_EQ(json("cache verify")["tuning_faults"].size(), 0u);
  EXPECT_EQ(json("cache stat")["tuning_log"]["records"], 1u);
  EXPECT_EQ(json("cache clear")["removed_tuning_log"], true);
  EXPECT_FALSE(exists("cache/v1/tuning.jsonl"));
}

TEST_F(TuneCommand, ExplainOfATargetKnowsWhatWasTunedForItsGpus) {
  writeTuningLog(recordLine(record("some GPU")) + recordLine(record("NVIDIA A100-SXM4-80GB (Tessera simulator)")));
  const nlohmann::json family = json("explain --target sm_80");
  EXPECT_EQ(family["provenance"], "family");
  EXPECT_EQ(family["schedule"], record("").schedule.text());
  EXPECT_EQ(json("explain --device sim:a100")["provenance"], "exact");
  EXPECT_EQ(json("explain --target sm_86")["provenance"], "default");
  EXPECT_EQ(json("explain --target sm_80 --head-dim 64")["provenance"], "default");
  // A simulated time is no claim about GPUs.
  writeTuningLog(recordLine(record("NVIDIA A100-SXM4-80GB (Tessera simulator)")));
  EXPECT_EQ(json("explain --target sm_80")["provenance"], "default");
}

} // namespace
