// Where `run` takes kernels from and what `explain --why-miss` says of it. The simulator runs the stub's kernels.
#include "runtime/cache/RecordLines.h"
#include "tests/unit/cli/Workshop.h"

#include "runtime/spec/Schedule.h"

using namespace tessera;
using tessera::test::Ran;

namespace {

class Sources : public test::Workshop {
protected:
  static constexpr const char *run = "run --device sim:a100 --seqlen-q 16 --head-dim 64 ";
  static constexpr const char *explain = "explain --why-miss --head-dim 64 ";

  void build(const std::string &name, const std::string &specs, const std::string &more = {}) {
    write("specs.json", specs);
    const Ran ran = tessera("bundle build --cache off --specs @specs.json --targets sm_80 -o @" + name + more);
    ASSERT_EQ(ran.code, 0) << ran.err;
  }
  nlohmann::json runJson(const std::string &flags) const { return json(run + flags); }
};

TEST_F(Sources, ARunAfterARunComesFromTheDisk) {
  const auto first = runJson("");
  EXPECT_EQ(first["source"], "compiler");
  EXPECT_EQ(first["bundle"], nullptr);
  const auto second = runJson("");
  EXPECT_EQ(second["source"], "disk");
  EXPECT_EQ(second["compile_ms"], 0);
  EXPECT_EQ(runJson("--policy cache-only")["source"], "disk");
  EXPECT_EQ(runJson("--cache refresh")["source"], "compiler");
  EXPECT_EQ(runJson("--cache off")["source"], "compiler");
  EXPECT_EQ(runJson("--cache-dir @other")["source"], "compiler");
  EXPECT_EQ(runJson("--cache-dir @other --cache ro")["source"], "disk");
  EXPECT_NE(tessera(run).out.find("source     disk, read from the disk cache in "), std::string::npos);
}

TEST_F(Sources, ABundleServesAndIsNamed) {
  build("a.tsb", R"([{"head-dim": 64}])");
  const auto report = runJson("--bundle @a.tsb --policy bundle-only");
  EXPECT_EQ(report["source"], "bundle");
  EXPECT_EQ(report["bundle"], path("a.tsb"));
  EXPECT_FALSE(exists("cache")) << "a bundle needs no cache";
  EXPECT_NE(tessera(std::string(run) + "--bundle @a.tsb").out.find("bundle, read from " + path("a.tsb")),
            std::string::npos);
}

TEST_F(Sources, TheFirstBundleThatServesWins) {
  build("a.tsb", R"([{"head-dim": 32}])");
  build("b.tsb", R"([{"head-dim": 64}])");
  build("c.tsb", R"([{"head-dim": 64}])");
  EXPECT_EQ(runJson("--bundle @a.tsb --bundle @b.tsb --bundle @c.tsb")["bundle"], path("b.tsb"));
  EXPECT_EQ(runJson("--bundle @c.tsb --bundle @b.tsb --bundle @a.tsb")["bundle"], path("c.tsb"));
}

TEST_F(Sources, PoliciesRefuseWhatTheyForbid) {
  build("a.tsb", R"([{"head-dim": 32}, {"head-dim": 128}])");
  expectRefused(std::string(run) + "--bundle @a.tsb --policy bundle-only", 3, "d=32 (wanted d=64)");
  expectRefused(std::string(run) + "--bundle @a.tsb --policy bundle-only", 3, "\n        " + path("a.tsb"));
  expectRefused(std::string(run) + "--policy cache-only", 3, "absent");
  expectRefused(std::string(run) + "--policy bundle-only", 2, "add --bundle FILE");
  expectRefused(std::string(run) + "--policy never", 2, "'never' is not a policy");
  expectRefused(std::string(run) + "--cache maybe", 2, "'maybe' is not a mode");
  expectRefused(std::string(run) + "--bundle @no.tsb", 5, "no.tsb");
  expectRefused(std::string(run) + "--bundle @a.tsb --stages @s", 2, "--stages");
  expectRefused(std::string(run) + "--policy cache-only --stages @s", 2, "--policy");
}

TEST_F(Sources, BundlesMustBeSignedByTheKeyGiven) {
  ASSERT_EQ(tessera("bundle keygen -o @k").code, 0);
  build("unsigned.tsb", R"([{"head-dim": 64}])");
  build("signed.tsb", R"([{"head-dim": 64}])", " --sign " + path("k"));
  EXPECT_EQ(runJson("--bundle @signed.tsb --public-key @k.pub")["source"], "bundle");
  expectRefused(std::string(run) + "--bundle @unsigned.tsb --public-key @k.pub", 2, "not signed");
  expectRefused(std::string(run) + "--bundle @signed.tsb --public-key @signed.tsb", 5, "signed.tsb");
  expectRefused(std::string(run) + "--public-key @k.pub", 2, "add --bundle FILE");
}

TEST_F(Sources, ATunedScheduleIsTakenAndSaid) {
  TuningRecord record;
  record.spec.headDim = record.spec.valueDim = 64;
  record.device = "some A100";
  record.target = "sm_80";
  record.problem = {1, 4, 4, 16, 16};
  record.schedule = *Schedule::parse("v1:q64,kv32,w4,s1,lazy8,add,qsmem,online");
  write("log.jsonl", recordLine(record));
  build("tuned.tsb", R"([{"head-dim": 64}])", " --schedules tuned --records " + path("log.jsonl"));
  const auto report = runJson("--bundle @tuned.tsb");
  EXPECT_EQ(report["schedule"], record.schedule.text());
  EXPECT_NE(report["schedule_reason"].get<std::string>().find("some A100"), std::string::npos) << report;
  const auto why = json("explain --head-dim 64 --target sm_80 --bundle @tuned.tsb");
  EXPECT_EQ(why["schedule"], record.schedule.text()) << "without a device, too";
}

TEST_F(Sources, AnotherTargetComesFromTheDiskAsWell) {
  const std::string other = "run --device sim:rtx4090 --seqlen-q 16 --head-dim 64 --target sm_86";
  EXPECT_EQ(json(other)["source"], "compiler");
  EXPECT_EQ(json(other)["source"], "disk");
  build("a.tsb", R"([{"head-dim": 64}])");
  expectRefused(other + " --bundle @a.tsb", 2, "--target sm_86 is not that of the device");
}

TEST_F(Sources, WhyMissSaysWhereItWouldComeFrom) {
  EXPECT_EQ(json(std::string(explain) + "--target sm_80")["why_miss"]["answer"], "compiler");
  EXPECT_FALSE(exists("cache/v1/notes/x"));
  runJson("");
  const auto hit = json(std::string(explain) + "--target sm_80")["why_miss"];
  EXPECT_EQ(hit["answer"], "disk");
  EXPECT_EQ(hit["disk"]["hit"], true);
  EXPECT_EQ(hit["bundles"]["asked"], 0);
  const auto device = json(std::string(explain) + "--device sim:a100")["why_miss"];
  EXPECT_EQ(device["disk"]["key_hash"], hit["disk"]["key_hash"]);
  EXPECT_EQ(json(std::string(explain) + "--target sm_80 --cache off")["why_miss"]["disk"]["miss"], "off");
  EXPECT_EQ(json(std::string(explain) + "--target sm_80 --cache refresh")["why_miss"]["disk"]["miss"], "off");
  setenv("TESSERA_COMPILER_LIBRARY", path("nowhere.so").c_str(), 1);
  const auto none = json(std::string(explain) + "--target sm_80")["why_miss"];
  EXPECT_EQ(none["answer"], "none");
}

TEST_F(Sources, WhyMissNamesTheFieldsThatDiffer) {
  EXPECT_EQ(json(std::string(explain) + "--target sm_80")["why_miss"]["disk"]["nearest"], nullptr);
  runJson("");
  const auto differences = [&](const std::string &flags) {
    const auto disk = json(std::string(explain) + flags)["why_miss"]["disk"];
    EXPECT_EQ(disk["miss"], "absent");
    return disk["nearest"]["differences"];
  };
  const auto mask = differences("--target sm_80 --causal bottom-right");
  ASSERT_EQ(mask.size(), 1u);
  EXPECT_EQ(mask[0]["field"], "spec mask");
  EXPECT_EQ(mask[0]["found"], "full");
  const auto stages = differences("--target sm_80 --schedule v1:q128,kv128,w4,s2,lazy8,add,qsmem,online");
  ASSERT_EQ(stages.size(), 1u) << stages;
  EXPECT_EQ(stages[0]["field"], "schedule stages");
  EXPECT_EQ(stages[0]["wanted"], "2");
  const auto target = differences("--target sm_89");
  ASSERT_EQ(target.size(), 1u) << target;
  EXPECT_EQ(target[0]["field"], "target");
  const Ran people = tessera(std::string(explain) + "--target sm_80 --lse");
  EXPECT_NE(people.out.find("spec outputs: wanted o+lse, found o"), std::string::npos) << people.out;
}

TEST_F(Sources, WhyMissSaysWhatIsWrongWithAnEntry) {
  runJson("");
  const std::string entry = json("cache list")["entries"][0]["path"];
  std::filesystem::resize_file(entry, 100);
  const auto disk = json(std::string(explain) + "--target sm_80")["why_miss"]["disk"];
  EXPECT_EQ(disk["miss"], "malformed");
  EXPECT_NE(disk["detail"].get<std::string>().find(entry), std::string::npos);
}

TEST_F(Sources, WhyMissReadsTheKernelThatABundleHolds) {
  build("a.tsb", R"([{"head-dim": 64}])");
  std::string bytes = read("a.tsb");
  const size_t at = bytes.rfind("\x7f"
                                "ELF");
  ASSERT_NE(at, std::string::npos);
  bytes[at + 1] ^= 1;
  write("a.tsb", bytes);
  runJson(""); // the disk has it, and is not asked
  for (const char *where : {"--target sm_80", "--device sim:a100"}) {
    const auto miss = json(std::string(explain) + where + " --bundle @a.tsb")["why_miss"];
    EXPECT_EQ(miss["answer"], "none") << where;
    EXPECT_EQ(miss["bundles"]["hit"], false) << where;
    EXPECT_NE(miss["bundles"]["detail"].get<std::string>().find(path("a.tsb")), std::string::npos) << miss;
  }
  expectRefused(std::string(run) + "--bundle @a.tsb", 5, path("a.tsb"));
}

TEST_F(Sources, WhyMissExplainsARefusalOfThePolicyOnADeviceToo) {
  build("b.tsb", R"([{"head-dim": 32}])");
  const std::string rest = " --bundle @b.tsb --policy bundle-only";
  for (const char *where : {"--target sm_80", "--device sim:a100"}) {
    const auto miss = json(std::string(explain) + where + rest)["why_miss"];
    EXPECT_EQ(miss["answer"], "none") << where;
    EXPECT_NE(miss["bundles"]["nearest"].get<std::string>().find("d=32"), std::string::npos) << miss;
  }
  EXPECT_EQ(tessera("explain --head-dim 64 --device sim:a100" + rest).code, 2) << "without the question, a refusal";
}

TEST_F(Sources, OutputsAreNeverInputsNorEachOther) {
  ASSERT_EQ(tessera(std::string(run) + "--out @q.npy --lse-out @lse.npy").code, 0);
  std::filesystem::copy_file(path("q.npy"), path("k.npy"));
  std::filesystem::copy_file(path("q.npy"), path("v.npy"));
  std::filesystem::create_symlink("k.npy", path("link.npy"));
  build("a.tsb", R"([{"head-dim": 64}])");
  const std::string inputs = "run --device sim:a100 --q @q.npy --k @k.npy --v @v.npy ";
  const std::string before = read("q.npy");
  for (const char *output :
       {"--out @q.npy", "--out @link.npy", "--lse-out @v.npy", "--profile @q.npy", "--bundle @a.tsb --profile @a.tsb"})
    expectRefused(inputs + output, 2, "would be overwritten");
  EXPECT_EQ(read("q.npy"), before);
  expectRefused(inputs + "--out @o.npy --lse-out @o.npy", 2, "are both");
  expectRefused(inputs + "--out @o.npy --profile @o.npy", 2, "are both to go to");
  expectRefused(inputs + "--out @no/o.npy", 5, "--out: cannot write");
  expectRefused(inputs + "--profile @no/p", 5, "--profile: cannot write");
  EXPECT_EQ(tessera(inputs + "--out @o.safetensors --lse-out @o.safetensors").code, 0) << "two tensors of one file";
  EXPECT_EQ(tessera("compile --target sm_80 --stages @s -o @s/k.ptx").code, 0) << "the folder is made first";
  write("edited.ptx", "x");
  expectRefused("compile --target sm_80 --replace ptx=@edited.ptx -o @edited.ptx", 2, "would be overwritten");
  expectRefused("compile --target sm_80 -o @no/k.ptx", 5, "-o: cannot write");
}

TEST_F(Sources, WhyMissAsksTheBundlesFirst) {
  build("a.tsb", R"([{"head-dim": 64}])");
  build("b.tsb", R"([{"head-dim": 32}])");
  const auto hit = json(std::string(explain) + "--target sm_80 --bundle @b.tsb --bundle @a.tsb")["why_miss"];
  EXPECT_EQ(hit["answer"], "bundle");
  EXPECT_EQ(hit["bundles"]["bundle"], path("a.tsb"));
  const auto miss = json(std::string(explain) + "--target sm_80 --bundle @b.tsb --policy bundle-only")["why_miss"];
  EXPECT_EQ(miss["answer"], "none");
  EXPECT_NE(miss["bundles"]["nearest"].get<std::string>().find("d=32"), std::string::npos) << miss;
  const Ran people = tessera(std::string(explain) + "--device sim:rtx3090 --bundle @a.tsb");
  EXPECT_NE(people.out.find("so"), std::string::npos);
}

} // namespace
