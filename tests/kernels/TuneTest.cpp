// tessera tune end to end on simulated devices: searched, logged, resumed, replayed, shipped, and found again by
// engines.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

using nlohmann::json;

namespace {

/// A folder of its own, and the program as a shell starts it: a search needs it as a file, for its workers.
struct Tune : testing::Test {
  std::filesystem::path folder;
  Tune() {
    std::string name = testing::TempDir() + "tessera-tune-XXXXXX";
    if (::mkdtemp(name.data()))
      folder = name;
  }
  ~Tune() override { std::filesystem::remove_all(folder); }

  std::string path(const std::string &name) const { return (folder / name).string(); }
  std::string content(const std::string &name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::vector<json> lines(const std::string &name) const {
    std::vector<json> lines;
    std::ifstream file(path(name));
    for (std::string line; std::getline(file, line);)
      lines.push_back(json::parse(line));
    return lines;
  }

  struct Ran {
    int code;
    std::string out, err;
  };
  /// `before` stands before the program, as in a shell: VARIABLE=value, timeout, ulimit ...; "@" is the folder.
  Ran shell(std::string arguments, const std::string &before = "") const {
    for (size_t at = 0; (at = arguments.find('@', at)) != std::string::npos;)
      arguments.replace(at, 1, folder.string() + "/");
    const std::string line = before + " TESSERA_CACHE=rw TESSERA_CACHE_DIR=" + path("cache") + " " PROGRAM " " +
                             arguments + " >" + path("out") + " 2>" + path("err") + " </dev/null";
    const int status = std::system(line.c_str()); // NOLINT(concurrency-mt-unsafe): tests have one thread
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), content("out"), content("err")};
  }
  json answer(const std::string &arguments, int code = 0, const std::string &before = "") const {
    const Ran ran = shell(arguments + " --json --quiet", before);
    EXPECT_EQ(ran.code, code) << arguments << "\n" << ran.err << ran.out;
    return json::parse(ran.out, nullptr, false);
  }

  static constexpr const char *attention = " --head-dim 64 --causal bottom-right --heads 4 --kv-heads 2";
  /// A search of few candidates.
  static constexpr const char *small = " --device sim:a100 --knob tile_q=128,64 --knob tile_kv=32,64 --knob warps=4 "
                                       "--knob stages=1 --knob rescale=lazy8 "
                                       "--knob row_sum=add";
};

TEST_F(Tune, ASearchIsLoggedRecordedAndFoundByTheNextEngine) {
  const json report =
      answer(std::string("tune") + attention + small + " --seqlen 256 --top 4 --log @t.jsonl --report @t.html");
  ASSERT_EQ(report["tasks"].size(), 1u);
  const json task = report["tasks"][0];
  EXPECT_TRUE(task["complete"]);
  EXPECT_TRUE(report["modelled"]);
  EXPECT_TRUE(task["winner"]["modelled"]);
  EXPECT_GE(task["gain"], 1.0);
  EXPECT_EQ(report["recorded"], 1u);
  EXPECT_LE(task["winner"]["ms"], task["default"]["ms"]);

  std::vector<json> trials = lines("t.jsonl");
  EXPECT_EQ(trials.back()["kind"], "end");
  EXPECT_TRUE(trials.back()["complete"]);
  trials.pop_back();
  EXPECT_EQ(trials.size(), task["compiled"]);
  for (const json &trial : trials)
    if (trial["status"] == "measured") {
      EXPECT_TRUE(trial["verification"]["right"]) << trial;
      // Times within 1 % are equal, and a fixed order decides.
      EXPECT_GE(trial["measurement"]["ms"].get<double>() * 1.01, task["winner"]["ms"].get<double>()) << trial;
    }

  const json explained = answer(std::string("explain") + attention + " --seqlen-q 256 --device sim:a100");
  EXPECT_EQ(explained["schedule"], task["winner"]["schedule"]);
  EXPECT_NE(explained["schedule_reason"].get<std::string>().find("tuned"), std::string::npos) << explained;
  // Modelled for one simulated GPU: no choice for another one.
  const json other = answer(std::string("explain") + attention + " --seqlen-q 256 --device sim:rtx4090");
  EXPECT_EQ(other["schedule_reason"].get<std::string>().find("tuned"), std::string::npos) << other;

  const std::string html = content("t.html");
  EXPECT_NE(html.find(task["winner"]["schedule"].get<std::string>()), std::string::npos);
}

TEST_F(Tune, ASmallerSearchDoesNotReplaceABetterRecord) {
  const std::string command = std::string("tune") + attention + small + " --seqlen 256";
  const json whole = answer(command + " --top 4")["tasks"][0];
  ASSERT_GT(whole["gain"], 1.01) << whole;
  // What is recorded is tried again, beyond the limits of knobs, and so it stays.
  const json less = answer(std::string("tune") + attention +
                           " --device sim:a100 --seqlen 256 --top 2 --knob tile_q=128 --knob stages=1")["tasks"][0];
  EXPECT_EQ(less["winner"]["schedule"], whole["winner"]["schedule"]);
  const auto recorded = [&] {
    return answer(std::string("explain") + attention + " --seqlen-q 256 --device sim:a100")["schedule"];
  };
  EXPECT_EQ(recorded(), whole["winner"]["schedule"]);
  // Where it was not tried, nothing is recorded.
  EXPECT_TRUE(answer(command + " --trials 1")["recorded_in"].is_null());
  EXPECT_EQ(recorded(), whole["winner"]["schedule"]);
  answer(command + " --trials 1 --cache off --no-record --log @less.jsonl");
  answer("tune --replay @less.jsonl");
  EXPECT_EQ(recorded(), whole["winner"]["schedule"]);
}

TEST_F(Tune, WhatStandsInTheLogIsNotDoneAgain) {
  const std::string command = std::string("tune") + attention + small + " --seqlen 128 --top 3 --log @t.jsonl";
  const json first = answer(command)["tasks"][0];
  const std::string log = content("t.jsonl");
  const json second = answer(command)["tasks"][0];
  EXPECT_EQ(second["compiled"], 0u);
  EXPECT_EQ(second["from_log"], first["compiled"]);
  EXPECT_EQ(second["winner"], first["winner"]);
  EXPECT_EQ(content("t.jsonl"), log);
}

TEST_F(Tune, ALogCutShortIsGoneOnWith) {
  const std::string command = std::string("tune") + attention + small + " --seqlen 128 --top 3 --log @t.jsonl";
  const json whole = answer(command)["tasks"][0];
  const std::string log = content("t.jsonl");
  std::ofstream(path("t.jsonl"), std::ios::trunc) << log.substr(0, log.size() / 2);
  const json again = answer(command)["tasks"][0];
  EXPECT_EQ(again["winner"], whole["winner"]);
  EXPECT_GT(again["compiled"], 0u);
  EXPECT_GT(again["from_log"], 0u);
}

TEST_F(Tune, ReplayMeasuresNothingAndAgrees) {
  const json run = answer(std::string("tune") + attention + small + " --seqlen 128,256 --top 3 --log @t.jsonl");
  const json replayed =
      answer("tune --replay @t.jsonl", 0, "TESSERA_COMPILER_LIBRARY=/nonexistent TESSERA_SIM_LIBRARY=/nonexistent");
  ASSERT_EQ(replayed["tasks"].size(), 2u);
  for (const json &task : replayed["tasks"])
    for (const json &other : run["tasks"])
      if (task["shape"] == other["shape"]) {
        EXPECT_EQ(task["winner"], other["winner"]);
        EXPECT_EQ(task["gain"], other["gain"]);
      }
}

TEST_F(Tune, ShardsTogetherAreTheWholeSearch) {
  const std::string command = std::string("tune") + attention + small + " --seqlen 128 --top 5";
  const json whole = answer(command + " --no-record")["tasks"][0];
  for (const char *shard : {"1", "2", "3"}) {
    const json part = answer(command + " --shard " + shard + "/3 --log @part" + shard + ".jsonl");
    EXPECT_TRUE(part["recorded_in"].is_null()) << part;
  }
  const json merged = answer("tune --replay @part1.jsonl @part2.jsonl @part3.jsonl")["tasks"][0];
  EXPECT_EQ(merged["winner"], whole["winner"]);
  EXPECT_EQ(merged["default"], whole["default"]);
}

TEST_F(Tune, CandidatesTravelToAMachineWithoutCompilerAndWinnersBack) {
  std::ofstream(path("specs.json"))
      << R"([{"head-dim": 64, "causal": "bottom-right", "heads": 4, "kv-heads": 2, "seqlen-q": 192}])";
  const std::string noCompiler = "TESSERA_COMPILER_LIBRARY=/nonexistent";
  answer("bundle build --specs @specs.json --targets sm_80 --candidates 3 -o @candidates.tsb");
  const json run =
      answer("tune --specs @specs.json --bundle @candidates.tsb --device sim:a100 --log @t.jsonl", 0, noCompiler);
  const json task = run["tasks"][0];
  EXPECT_TRUE(task["complete"]);
  EXPECT_GE(task["timed"], 1u);
  const json built = answer("bundle build --from-log @t.jsonl -o @app.tsb");
  EXPECT_EQ(built["records"], 1u);
  const json ran = answer(std::string("run") + attention +
                              " --seqlen-q 192 --device sim:a100 --check --bundle @app.tsb --policy "
                              "bundle-only",
                          0, noCompiler);
  EXPECT_EQ(ran["schedule"], task["winner"]["schedule"]);
  EXPECT_EQ(ran["source"], "bundle");
  EXPECT_NE(ran["schedule_reason"].get<std::string>().find("tuned"), std::string::npos) << ran;
}

TEST_F(Tune, AskingChangesNothing) {
  const json plan = answer(std::string("tune") + attention + small + " --seqlen 128 --dry-run");
  EXPECT_FALSE(std::filesystem::exists(path("cache")));
  EXPECT_FALSE(plan["tasks"][0]["candidates"].empty());
  size_t refused = 0;
  for (const json &count : plan["tasks"][0]["space"]["refused"])
    refused += count.get<size_t>();
  EXPECT_EQ(refused + plan["tasks"][0]["space"]["legal"].get<size_t>(), plan["tasks"][0]["space"]["combinations"]);
}

TEST_F(Tune, TheChoiceForAShapeNamesItsProvenance) {
  answer(std::string("tune") + attention + small + " --seqlen 128 --top 1 --log @t.jsonl");
  const auto provenance = [&](const std::string &flags) {
    return answer(std::string("tune") + attention + " --device sim:a100 --log @t.jsonl --explain " +
                  flags)["provenance"];
  };
  EXPECT_EQ(provenance("128"), "exact");
  EXPECT_EQ(provenance("100"), "bucket");
  EXPECT_EQ(provenance("4096"), "nearest");
  EXPECT_EQ(answer("tune --head-dim 128 --device sim:a100 --log @t.jsonl --explain 128")["provenance"], "default");
  // The same ladder by the engine, from the cache's tuning log.
  const auto byEngine = [&](const std::string &flags) {
    return answer(std::string("tune") + attention + " --device sim:a100 --explain " + flags)["provenance"];
  };
  EXPECT_EQ(byEngine("128"), "exact");
  EXPECT_EQ(byEngine("100"), "bucket");
  EXPECT_EQ(byEngine("4096"), "nearest");
}

TEST_F(Tune, CtrlCKeepsTheBestAndTheSameCommandGoesOn) {
  const std::string arguments = std::string("tune") + attention + " --device sim:a100 --seqlen 256 --top 24 --log " +
                                path("t.jsonl") + " --json --quiet";
  std::vector<std::string> words{PROGRAM};
  std::istringstream stream(arguments);
  for (std::string word; stream >> word;)
    words.push_back(word);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::setenv("TESSERA_CACHE", "rw", 1);
    ::setenv("TESSERA_CACHE_DIR", path("cache").c_str(), 1);
    std::vector<char *> argv;
    for (std::string &word : words)
      argv.push_back(word.data());
    argv.push_back(nullptr);
    if (std::freopen(path("out").c_str(), "w", stdout) && std::freopen(path("err").c_str(), "w", stderr))
      ::execv(PROGRAM, argv.data());
    ::_exit(127);
  }
  // Interrupted as soon as something is measured.
  int status = 0;
  while (content("t.jsonl").find("\"status\":\"measured\"") == std::string::npos) {
    ASSERT_EQ(::waitpid(child, &status, WNOHANG), 0) << content("out") << content("err");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  const auto asked = std::chrono::steady_clock::now();
  ::kill(child, SIGINT);
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_LT(std::chrono::steady_clock::now() - asked, std::chrono::seconds(5));
  ASSERT_TRUE(WIFEXITED(status)) << content("err");
  EXPECT_EQ(WEXITSTATUS(status), 130) << content("err");
  const json report = json::parse(content("out"), nullptr, false);
  ASSERT_TRUE(report.is_object()) << content("out") << content("err");
  EXPECT_TRUE(report["interrupted"]);
  EXPECT_FALSE(report["tasks"][0]["complete"]);
  EXPECT_FALSE(report["tasks"][0]["winner"].is_null());
  EXPECT_EQ(report["recorded"], 1u);
  EXPECT_FALSE(answer("tune --status --log @t.jsonl")["tasks"][0]["complete"]);
  const json again = answer(arguments)["tasks"][0];
  EXPECT_TRUE(again["complete"]);
  EXPECT_TRUE(answer("tune --status --log @t.jsonl")["tasks"][0]["complete"]);
  EXPECT_TRUE(answer("tune --replay @t.jsonl --no-record")["tasks"][0]["complete"]);
  EXPECT_GT(again["from_log"], 0u);
}

TEST_F(Tune, AFullDiskLosesTheLogAndNotTheResult) {
  // No file may grow beyond 4 KiB: the log's first trials fit.
  const json report = answer(
      std::string("tune") + attention + small + " --seqlen 128 --top 4 --cache off --log @t.jsonl", 0, "ulimit -f 8; ");
  EXPECT_FALSE(report["tasks"][0]["winner"].is_null());
  ASSERT_FALSE(report["warnings"].empty());
  EXPECT_NE(report["warnings"][0].get<std::string>().find("File too large"), std::string::npos) << report["warnings"];
  EXPECT_GE(answer("tune --status --log @t.jsonl")["trials"], 1u);
}

} // namespace
