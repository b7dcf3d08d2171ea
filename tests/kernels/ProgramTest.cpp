// `tessera run` and `tessera compile` end to end on the simulator, as a shell calls them.
#include "autotune/cli/files/TensorFile.h"
#include "autotune/reference/Compare.h"
#include "tests/unit/cli/RunProgram.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>

using namespace tessera;
using nlohmann::json;
using test::Ran;
using test::runTessera;

namespace {

class Program : public testing::Test {
protected:
  std::filesystem::path folder;
  void SetUp() override {
    std::string name = testing::TempDir() + "tessera-program-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::string path(const char *name) const { return (folder / name).string(); }
};

TEST_F(Program, RunChecksAndReportsEverything) {
  const Ran ran =
      runTessera("run --dtype bf16 --batch 2 --heads 8 --kv-heads 2 --head-dim 128 --seqlen-q 300 --seqlen-kv 517 "
                 "--causal bottom-right --lse --check --device sim:a100 --json");
  ASSERT_EQ(ran.code, 0) << ran.err << ran.out;
  const json report = json::parse(ran.out);
  EXPECT_TRUE(report["ok"].get<bool>());
  EXPECT_LE(report["error"].get<double>(), report["bound"].get<double>());
  EXPECT_LE(report["lse_error"].get<double>(), 1e-3);
  EXPECT_EQ(report["source"], "compiler");
  EXPECT_EQ(report["target"], "sm_80");
  EXPECT_TRUE(report["time"]["modelled"].get<bool>());
  EXPECT_GT(report["shared_bytes"].get<int>(), 0);
  EXPECT_TRUE(report["findings"].empty());
  for (const char *key :
       {"schedule", "schedule_reason", "registers", "spill_bytes", "device", "compile_ms", "rescues", "problem"})
    EXPECT_TRUE(report.contains(key)) << key;
}

TEST_F(Program, RunOnDataMadeElsewhereAgreesWithAnAnswerComputedElsewhere) {
  const std::string golden = GOLDEN_FILE, out = path("o.safetensors");
  for (const auto &[name, flags] : {std::pair("full", ""),
                                    {"causal", "--causal bottom-right"},
                                    {"topleft", "--window 3,0 --align top-left"},
                                    {"window", "--window 2,1 --align bottom-right --scale 0.7 --softcap 1.5"}}) {
    SCOPED_TRACE(name);
    const Ran ran = runTessera("run --device sim:a100 --check --json --q " + golden + " --k " + golden + " --v " +
                               golden + " --out " + out + " --lse-out " + out + " --out-dtype f32 " + flags);
    ASSERT_EQ(ran.code, 0) << ran.err << ran.out;
    const double bound = json::parse(ran.out)["bound"];
    for (const auto &[role, most] : {std::pair<std::string, double>("out", bound), {"lse", 1e-3}}) {
      const auto expected = files::readTensorFile(golden + ":" + name + "." + role, role),
                 got = files::readTensorFile(out, role);
      ASSERT_TRUE(expected && got);
      ASSERT_EQ(expected->shape, got->shape);
      for (size_t at = 0; at < expected->bytes.size(); at += 4)
        ASSERT_NEAR(reference::loadElement(expected->bytes.data() + at, DType::F32),
                    reference::loadElement(got->bytes.data() + at, DType::F32), most);
    }
  }
}

TEST_F(Program, LayoutsTargetsAndStagesGiveTheSameBits) {
  const std::string common =
      "run --device sim:rtx3090 --heads 2 --head-dim 64 --seqlen-q 70 --seqlen-kv 90 --causal top-left --out ";
  ASSERT_EQ(runTessera(common + path("a.npy")).code, 0);
  ASSERT_EQ(runTessera(common + path("b.npy") + " --layout bhsd").code, 0);
  const Ran staged = runTessera(common + path("c.npy") + " --stages " + path("stages") + " --checks off");
  ASSERT_EQ(staged.code, 0) << staged.err;
  EXPECT_TRUE(std::filesystem::exists(folder / "stages" / "online.mlir"));
  const auto a = files::readTensorFile(path("a.npy"), "out");
  for (const char *other : {"b.npy", "c.npy"})
    EXPECT_EQ(files::readTensorFile(path(other), "out")->bytes, a->bytes) << other;
  const Ran older = runTessera(common + path("d.npy") + " --target sm_80 --check --json");
  ASSERT_EQ(older.code, 0) << older.err;
  EXPECT_EQ(json::parse(older.out)["target"], "sm_80");
}

TEST_F(Program, CountersStandBesideTheLeastPossible) {
  const Ran ran = runTessera("run --device sim:a100 --heads 1 --head-dim 64 --seqlen-q 256 --counters --json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json counters = json::parse(ran.out)["counters"];
  EXPECT_EQ(counters["least"]["exponents"], 256 * 256);
  EXPECT_GE(counters["mma_flops"].get<double>(), counters["least"]["flops"].get<double>());
  EXPECT_NE(runTessera("run --device sim:a100 --heads 1 --seqlen-q 64 --counters").out.find("least possible"),
            std::string::npos);
}

TEST_F(Program, EveryStageIsWrittenAndAReplacedStageIsUsed) {
  const std::string common = "compile --head-dim 64 --target sm_80 --emit ";
  for (const char *stage : {"attn", "tiled", "online", "scheduled", "nvvm", "llvm", "ptx", "cubin", "image"}) {
    const Ran ran = runTessera(common + stage + " -o " + path(stage));
    EXPECT_EQ(ran.code, 0) << stage << ": " << ran.err;
    EXPECT_GT(std::filesystem::file_size(folder / stage), 100u) << stage;
  }
  const Ran again = runTessera(common + "cubin -o " + path("again") + " --json --replace ptx=" + path("ptx"));
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(json::parse(again.out)["emit"], "cubin");
  EXPECT_EQ(std::filesystem::file_size(folder / "again"), std::filesystem::file_size(folder / "cubin"));
  const Ran missing = runTessera(common + "cubin -o " + path("again") + " --replace ptx=" + path("missing"));
  EXPECT_EQ(missing.code, 5) << missing.err;
  EXPECT_EQ(runTessera(common + "ptx -o " + path("no/such/folder")).code, 5);
}

} // namespace
