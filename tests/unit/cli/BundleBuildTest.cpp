// tessera bundle build as a shell sees it.
#include "runtime/cache/RecordLines.h"
#include "tests/unit/cli/Workshop.h"

#include "runtime/bundle/Bundle.h"

#include <sys/stat.h>

using namespace tessera;
using tessera::test::Ran;

namespace {

class BundleBuild : public test::Workshop {
protected:
  BundleBuild() {
    write("specs.json", R"([{"dtype": "bf16", "head-dim": 128, "causal": "bottom-right"},
                            {"dtype": "f16", "head-dim": 64, "lse": true}])");
    write("one.json", R"([{"head-dim": 64}])");
  }
  BundleIndex indexOf(const std::string &name) const {
    auto bundle = Bundle::open(path(name));
    EXPECT_TRUE(bundle) << bundle.status().text();
    EXPECT_TRUE((*bundle)->verify());
    BundleIndex copy;
    copy.records = (*bundle)->index().records;
    copy.builds = (*bundle)->index().builds;
    copy.entries = (*bundle)->index().entries;
    for (BundleEntry &entry : copy.entries) { // the views outlive the bundle in copies of their own
      copy.specs.push_back(std::string(entry.spec));
      copy.schedules.push_back(std::string(entry.schedule));
    }
    for (size_t i = 0; i < copy.entries.size(); ++i) {
      copy.entries[i].spec = copy.specs[i];
      copy.entries[i].schedule = copy.schedules[i];
    }
    return copy;
  }
};

TEST_F(BundleBuild, HoldsEveryAttentionForEveryTarget) {
  const auto report = json("bundle build --specs @specs.json --targets sm_80,sm_86 -o @app.tsb --jobs 3");
  EXPECT_EQ(report["kernels"], 4);
  EXPECT_EQ(report["compiled"], 4);
  EXPECT_EQ(report["targets"].size(), 2u);
  EXPECT_EQ(report["targets"][0]["target"], "sm_80");
  EXPECT_EQ(report["targets"][0]["kernels"], 2);
  EXPECT_EQ(report["bytes"], read("app.tsb").size());
  EXPECT_EQ(report["signed_by"], nullptr);
  EXPECT_EQ(indexOf("app.tsb").entries.size(), 4u);

  const Ran people = tessera("bundle build --specs @specs.json --targets sm_80 --targets sm_86 -o @again.tsb");
  ASSERT_EQ(people.code, 0) << people.err;
  EXPECT_NE(people.out.find("4 kernels (0 compiled, 4 from the cache)"), std::string::npos) << people.out;
}

TEST_F(BundleBuild, TheSameContentGivesTheSameBytesWhereverAndInWhateverOrder) {
  ASSERT_EQ(tessera("bundle build --specs @specs.json --targets sm_80,sm_86 -o @a.tsb").code, 0);
  std::filesystem::create_directory(path("elsewhere"));
  write("elsewhere/list",
        R"([{"lse": true, "head-dim": 64, "dtype": "f16"}, {"causal": "bottom-right"}, {"causal": "bottom-right"}])");
  ASSERT_EQ(tessera("bundle build --targets sm_86,sm_80,sm_86 --jobs 1 --cache off -o @elsewhere/b.tsb --specs "
                    "@elsewhere/list")
                .code,
            0);
  EXPECT_EQ(read("a.tsb"), read("elsewhere/b.tsb"));
  EXPECT_FALSE(read("a.tsb").empty());
}

TEST_F(BundleBuild, CandidatesThatAreNotLegalAreSaidAndLeftOut) {
  write("schedules", "v1:q64,kv64,w4,s1,lazy8,add,qsmem,online\nv1:q128,kv256,w4,s4,lazy8,add,qsmem,online\n");
  const Ran run = tessera("bundle build --specs @one.json --targets sm_86 --schedules @schedules -o @a.tsb");
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.err.find("left out sm_86, "), std::string::npos) << run.err;
  EXPECT_EQ(indexOf("a.tsb").entries.size(), 1u);
  write("schedules", "v1:q128,kv256,w4,s4,lazy8,add,qsmem,online\n");
  expectRefused("bundle build --specs @one.json --targets sm_86 --schedules @schedules -o @b.tsb", 2,
                "no schedule is left for");
  EXPECT_FALSE(exists("b.tsb"));
}

TEST_F(BundleBuild, TunedBundlesCarryTheRecordsAndTheirSchedules) {
  TuningRecord record;
  record.spec.headDim = record.spec.valueDim = 64;
  record.device = "some GPU";
  record.target = "sm_80";
  record.schedule = *Schedule::parse("v1:q64,kv32,w4,s1,lazy8,add,qsmem,online");
  write("log.jsonl", "{\"spec\": \n" + recordLine(record));
  const Ran run =
      tessera("bundle build --specs @one.json --targets sm_80 --schedules tuned --records @log.jsonl -o @a.tsb");
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.err.find("log.jsonl: passed over line 1: no JSON object"), std::string::npos) << run.err;
  const BundleIndex index = indexOf("a.tsb");
  EXPECT_EQ(index.entries.size(), 2u) << "the default and the tuned one";
  EXPECT_EQ(index.records, std::vector{record});
}

TEST_F(BundleBuild, OneFailureWritesNothingAndEveryFailureIsListed) {
  setenv("STUB_FAILS", "d=64", 1);
  expectRefused("bundle build --specs @specs.json --targets sm_80,sm_86 -o @a.tsb --cache off", 6,
                "2 of 4 kernels failed, and nothing is written");
  const Ran run = tessera("bundle build --specs @specs.json --targets sm_80,sm_86 -o @a.tsb --cache off");
  EXPECT_NE(run.err.find("sm_80, v1:in=f16"), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("sm_86, v1:in=f16"), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("refused by the stub"), std::string::npos) << run.err;
  EXPECT_FALSE(exists("a.tsb"));
}

TEST_F(BundleBuild, WithoutPtxThereMustBeACubin) {
  ASSERT_EQ(tessera("bundle build --specs @one.json --targets sm_80 --no-ptx -o @a.tsb").code, 0);
  EXPECT_EQ(indexOf("a.tsb").entries[0].ptxVersion, 0u);
  setenv("STUB_NO_CUBIN", "1", 1);
  expectRefused("bundle build --specs @one.json --targets sm_80 --no-ptx --cache off -o @b.tsb", 3, "has no cubin");
}

TEST_F(BundleBuild, ModesOfTheCacheAreKept) {
  ASSERT_EQ(json("bundle build --specs @one.json --targets sm_80 -o @a.tsb --cache off")["compiled"], 1);
  EXPECT_FALSE(exists("cache"));
  ASSERT_EQ(json("bundle build --specs @one.json --targets sm_80 -o @a.tsb --cache-dir @other")["compiled"], 1);
  EXPECT_TRUE(exists("other"));
  EXPECT_EQ(json("bundle build --specs @one.json --targets sm_80 -o @a.tsb --cache-dir @other")["from_cache"], 1);
  EXPECT_EQ(
      json("bundle build --specs @one.json --targets sm_80 -o @a.tsb --cache-dir @other --cache refresh")["compiled"],
      1);
}

TEST_F(BundleBuild, MistakesAreNamed) {
  write("bad.json", R"([{}, {"hed-dim": 64}])");
  write("unsupported.json", R"([{"head-dim": 100}])");
  write("empty", "");
  const std::tuple<const char *, int, const char *> mistakes[] = {
      {"bundle build --targets sm_80 -o @a.tsb", 2, "nothing says which attentions"},
      {"bundle build --specs @specs.json -o @a.tsb", 2, "--targets names no architecture"},
      {"bundle build --specs @specs.json --targets sm_80", 2, "--output is required"},
      {"bundle build --specs @specs.json --targets sm_80 -o @a.tsb --candidates 4 --schedules @empty", 2,
       "--candidates and --schedules both say"},
      {"bundle build --from-log @no.jsonl -o @a.tsb --candidates 4", 2, "--from-log and --candidates both say"},
      {"bundle build --from-log @no.jsonl -o @a.tsb", 5, "no.jsonl"},
      {"bundle build --from-log @empty -o @a.tsb", 2, "holds no measured trial"},
      {"bundle build --specs @no.json --targets sm_80 -o @a.tsb", 5, "no.json: cannot open it"},
      {"bundle build --specs @bad.json --targets sm_80 -o @a.tsb", 2, "bad.json: attention [1]: \"hed-dim\""},
      {"bundle build --specs @unsupported.json --targets sm_80 -o @a.tsb", 3, "attention [0]"},
      {"bundle build --specs @specs.json --targets sm_70 -o @a.tsb", 2, "sm_70"},
      {"bundle build --specs @specs.json --targets sm_80 -o @specs.json", 2, "would be overwritten"},
      {"bundle build --specs @specs.json --targets sm_80 -o @no/a.tsb", 5, "make the folder first"},
      {"bundle build --specs @specs.json --targets sm_80 -o @", 5, "names a folder"},
      {"bundle build --specs @specs.json --targets , -o @a.tsb", 2, "names no architecture"},
      {"bundle build --spec @specs.json --target sm_80 -o @a.tsb", 2, "did you mean --specs?"},
      {"bundle build --specs @specs.json --targets sm_80 -o @a.tsb --jobs 0", 2, "'0' is not a whole number from 1"},
      {"bundle build --specs @specs.json --targets sm_80 -o @a.tsb --cache maybe", 2, "'maybe' is not a mode"},
      {"bundle build --specs @specs.json --targets sm_80 -o @a.tsb --schedules best", 5, "default, tuned or a file"},
      {"bundle build --specs @specs.json --targets sm_80 -o @a.tsb --schedules tuned", 2, "add --records"},
      {"bundle build --specs @specs.json --targets sm_80 -o @a.tsb --records @empty", 2, "is for --schedules tuned"},
      {"bundle build --specs @specs.json --targets sm_80 -o @a.tsb --schedules @empty", 5, "holds no schedule"},
      {"bundle build --specs @specs.json --targets sm_80 -o @a.tsb --sign @empty", 5, "empty"},
      {"bundle build --specs @specs.json --targets sm_80 -o @a.tsb --spec x", 2, "did you mean --specs?"},
  };
  for (const auto &[arguments, code, part] : mistakes)
    expectRefused(arguments, code, part);
  EXPECT_FALSE(exists("a.tsb"));
}

TEST_F(BundleBuild, AnOutputThatCannotBeIsRefusedBeforeAnythingIsCompiled) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  for (const char *output : {"@no/a.tsb", "@", "@no/", "@pipe"})
    expectRefused(std::string("bundle build --specs @specs.json --targets sm_80 -o ") + output, 5, "-o: cannot write");
  EXPECT_EQ(shell("tessera bundle build --specs specs.json --targets sm_80 -o '' 2>err"), 2);
  EXPECT_NE(read("err").find("is empty"), std::string::npos) << read("err");
  EXPECT_FALSE(exists("cache")) << "nothing was compiled";
}

TEST_F(BundleBuild, TargetsAreSeparatedByCommasAndBlanks) {
  ASSERT_EQ(shell("tessera bundle build --specs one.json --targets sm_80,sm_86 -o a.tsb >/dev/null"), 0);
  for (const char *targets : {"sm_80 sm_86", "'sm_80, sm_86'", "sm_80, sm_86", "' sm_80 ,sm_86,'"}) {
    EXPECT_EQ(shell(std::string("tessera bundle build --specs one.json -o b.tsb >/dev/null --targets ") + targets), 0);
    EXPECT_EQ(read("b.tsb"), read("a.tsb")) << targets;
    std::filesystem::remove(path("b.tsb"));
  }
}

TEST_F(BundleBuild, OneIsNotMany) {
  const Ran run = tessera("bundle build --specs @one.json --targets sm_80 -o @a.tsb");
  EXPECT_NE(run.out.find("1 kernel (1 compiled"), std::string::npos) << run.out;
  EXPECT_NE(tessera("bundle verify @a.tsb").out.find("1 kernel sound"), std::string::npos);
  EXPECT_NE(tessera("cache verify").out.find("1 of 1 entry in"), std::string::npos);
}

TEST_F(BundleBuild, WhatIsNoListOfAttentionsExitsAlike) {
  for (const char *list : {"[]", "{}", "null", "[1]", "3", "[[]]", R"([{"no": 1}])"}) {
    write("list", list);
    EXPECT_EQ(tessera("bundle build --specs @list --targets sm_80 -o @a.tsb").code, 2) << list;
  }
}

TEST_F(BundleBuild, NamesThatAreNoUtf8StayJson) {
  const std::string odd = "a\xff.tsb";
  EXPECT_EQ(json("bundle build --specs @one.json --targets sm_80 -o @" + odd)["kernels"], 1);
  json("bundle inspect @" + odd);
  json("bundle verify @" + odd);
  json("bundle diff @" + odd + " @" + odd);
  json("run --device sim:a100 --seqlen-q 16 --head-dim 64 --bundle @" + odd);
  json("explain --target sm_80 --head-dim 64 --why-miss --bundle @" + odd);
  json("cache list --cache-dir @" + odd + "-cache");
}

TEST_F(BundleBuild, WithoutACompilerTheReasonIsSaidOnce) {
  setenv("TESSERA_COMPILER_LIBRARY", path("nowhere.so").c_str(), 1);
  const Ran run = tessera("bundle build --specs @specs.json --targets sm_80,sm_86 -o @a.tsb");
  EXPECT_EQ(run.code, 3) << run.err;
  EXPECT_EQ(run.err.find("no compiler"), run.err.rfind("no compiler")) << run.err;
}

} // namespace
