// `tessera run --profile` and --counters on a compiled kernel: the files, and that what they say is what was counted.
#include "tests/unit/cli/RunProgram.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
#include <fstream>

using nlohmann::json;
using tessera::test::Ran;
using tessera::test::runTessera;

namespace {

class ProfileFile : public testing::Test {
protected:
  std::filesystem::path folder;
  void SetUp() override {
    std::string name = testing::TempDir() + "tessera-profile-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::string path(const char *name) const { return (folder / name).string(); }
  std::string content(const char *name) const {
    std::ifstream file(folder / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

const std::string common =
    "run --device sim:a100 --dtype bf16 --heads 2 --kv-heads 1 --head-dim 64 --seqlen-q 150 --seqlen-kv 200 ";

TEST_F(ProfileFile, FlameGraphsAddUpToTheCounters) {
  const Ran ran = runTessera(common + "--counters --json --profile " + path("p.speedscope.json"));
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.err.find("wrote " + path("p.speedscope.json")), std::string::npos) << ran.err;
  const json counters = json::parse(ran.out)["counters"], file = json::parse(content("p.speedscope.json"));
  EXPECT_EQ(file["$schema"], "https://www.speedscope.app/file-format-schema.json");
  for (const json &graph : file["profiles"]) {
    const std::string name = graph["name"];
    double sum = 0;
    for (const json &weight : graph["weights"])
      sum += weight.get<double>();
    const double counted = name == "warp instructions"
                               ? counters["warp_instructions"].get<double>()
                               : counters["modelled_clocks"][name.substr(0, name.find(':'))].get<double>();
    EXPECT_NEAR(sum, counted, 1e-9 * counted) << name;
  }
}

TEST_F(ProfileFile, TheKernelsLoopHoldsItsMatrixWorkAndNothingIsDoneTwice) {
  const Ran ran = runTessera(common + "--counters --json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json counters = json::parse(ran.out)["counters"];
  ASSERT_FALSE(counters["loops"].empty());
  double inLoops = 0;
  for (const json &loop : counters["loops"])
    if (loop["parent"].is_null())
      inLoops += loop["mma_flops"].get<double>();
  EXPECT_EQ(inLoops, counters["mma_flops"].get<double>());
  // Every visited tile is computed once, and nothing that is not an input or output is touched.
  EXPECT_EQ(counters["mma_flops"], counters["least"]["flops_in_tiles"]);
  EXPECT_EQ(counters["footprint"]["read_bytes"], counters["least"]["read_bytes"]);
  EXPECT_EQ(counters["footprint"]["written_bytes"], counters["least"]["written_bytes"]);
  EXPECT_EQ(counters["local_bytes"], 0);
}

TEST_F(ProfileFile, TheListingIsThePtxAndTheTraceNests) {
  ASSERT_EQ(runTessera(common + "--profile " + path("p.txt")).code, 0);
  const std::string listing = content("p.txt");
  for (const char *part : {"modelled", "bound by", "mma.sync", "ldmatrix", "|.version 8.0", "iterations"})
    EXPECT_NE(listing.find(part), std::string::npos) << part;
  const Ran ran = runTessera(common + "--quiet --profile " + path("p.trace.json"));
  ASSERT_EQ(ran.code, 0);
  EXPECT_EQ(ran.err, "");
  const json trace = json::parse(content("p.trace.json"));
  EXPECT_GT(trace["traceEvents"].size(), 1000u);
  EXPECT_EQ(runTessera(common + "--profile " + path("no/such/p.txt")).code, 5);
}

TEST_F(ProfileFile, FindingsAreReadableAndJsonAndFailTheRun) {
  const Ran ran = runTessera(common + "--sim-instruction-limit 500 --json");
  EXPECT_EQ(ran.code, 6);
  EXPECT_NE(ran.err.find("simulator: limit: "), std::string::npos) << ran.err;
  EXPECT_EQ(ran.err.find("tessera-sim:"), std::string::npos) << "told once\n" << ran.err;
  const json report = json::parse(ran.out);
  EXPECT_NE(report["error"].get<std::string>().find("CUDA_ERROR_LAUNCH_TIMEOUT"), std::string::npos);
  ASSERT_FALSE(report["findings"].empty());
  const json &finding = report["findings"][0];
  EXPECT_EQ(finding["kind"], "limit");
  EXPECT_TRUE(finding["fatal"].get<bool>());
  for (const char *key : {"line", "instruction", "block", "thread", "kernel", "text", "repeats"})
    EXPECT_TRUE(finding.contains(key)) << key;
}

TEST_F(ProfileFile, SchedulesSeedsAndArithmeticAreChosenByFlags) {
  for (const char *flags : {"--sim-schedule late", "--sim-schedule eager --sim-mma hardware",
                            "--sim-schedule random --sim-seed 7 --sim-mma stress", "--checks off --sim-threads 2",
                            "--sim-races off --sim-max-findings 3 --sim-clock-mhz 1000"}) {
    const Ran ran = runTessera(common + "--check --sim-instruction-limit 0 " + flags);
    EXPECT_EQ(ran.code, 0) << flags << "\n" << ran.err << ran.out;
  }
}

} // namespace
