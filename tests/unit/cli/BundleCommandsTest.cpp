// The commands on built bundles, as a shell sees them.
#include "tests/unit/cli/Workshop.h"

#include <sys/stat.h>

using tessera::test::Ran;

namespace {

class BundleCommands : public tessera::test::Workshop {
protected:
  BundleCommands() {
    build("ab.tsb", R"([{"head-dim": 64}, {"head-dim": 32}])", "sm_80,sm_86");
    build("a.tsb", R"([{"head-dim": 64}])", "sm_80,sm_86");
    build("b80.tsb", R"([{"head-dim": 32}])", "sm_80");
    build("b86.tsb", R"([{"head-dim": 32}])", "sm_86");
  }
  void build(const std::string &name, const std::string &specs, const std::string &targets) {
    write("specs.json", specs);
    const Ran run = tessera("bundle build --specs @specs.json --targets " + targets + " -o @" + name);
    EXPECT_EQ(run.code, 0) << run.err;
  }
  /// Flips one bit of the last kernel's bytes.
  void damage(const std::string &name) {
    std::string bytes = read(name);
    const auto entries = json("bundle inspect @" + name)["entries"];
    const std::string stub = "\x7f"
                             "ELF";
    const size_t at = bytes.rfind(stub);
    ASSERT_NE(at, std::string::npos);
    bytes[at + 1] ^= 1;
    write(name, bytes);
  }
};

TEST_F(BundleCommands, InspectShowsWhatIsThere) {
  const auto report = json("bundle inspect @ab.tsb");
  ASSERT_EQ(report["entries"].size(), 4u);
  const auto &entry = report["entries"][0];
  EXPECT_EQ(entry["number"], 1);
  EXPECT_EQ(entry["hash"].get<std::string>().size(), 64u);
  EXPECT_EQ(entry["registers"], 200);
  EXPECT_EQ(entry["ptx_version"], "8.0");
  EXPECT_EQ(entry["cubin_bytes"], 4);
  EXPECT_EQ(report["builds"], nlohmann::json::array({"stub build"}));
  EXPECT_EQ(report["targets"].size(), 2u);
  const Ran run = tessera("bundle inspect @ab.tsb");
  EXPECT_EQ(run.code, 0);
  for (const char *part : {"4 kernels", "bf16, d 64, full", "sm_86", "stub build", "nobody"})
    EXPECT_NE(run.out.find(part), std::string::npos) << part << "\n" << run.out;
}

TEST_F(BundleCommands, VerifyFindsADamagedKernel) {
  EXPECT_EQ(tessera("bundle verify @ab.tsb").code, 0);
  damage("ab.tsb");
  const Ran run = tessera("bundle verify @ab.tsb");
  EXPECT_EQ(run.code, 1) << run.err;
  const auto report = json("bundle verify @ab.tsb", 1);
  EXPECT_EQ(report["ok"], false);
  EXPECT_EQ(report["fault"]["in"], "kernel");
  EXPECT_EQ(tessera("bundle inspect @ab.tsb").code, 0) << "the index is sound";
}

TEST_F(BundleCommands, SignaturesAreMadeAndChecked) {
  ASSERT_EQ(tessera("bundle keygen -o @k").code, 0);
  ASSERT_EQ(tessera("bundle keygen -o @other").code, 0);
  struct stat facts{};
  ASSERT_EQ(::stat(path("k").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
  EXPECT_NE(read("k.pub"), read("other.pub"));
  expectRefused("bundle keygen -o @k", 5, "exists already");
  const std::string before = read("ab.tsb");
  ASSERT_EQ(::chmod(path("ab.tsb").c_str(), 0640), 0);
  expectRefused("bundle verify @ab.tsb --public-key @k.pub", 1, "not signed");
  ASSERT_EQ(tessera("bundle sign @ab.tsb --key @k").code, 0);
  EXPECT_NE(read("ab.tsb"), before);
  ASSERT_EQ(::stat(path("ab.tsb").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0640u) << "signing in place changes no mode";
  const auto report = json("bundle verify @ab.tsb --public-key @k.pub");
  EXPECT_EQ(report["signature_checked"], true);
  EXPECT_EQ(json("bundle verify @ab.tsb --public-key @other.pub", 1)["fault"]["in"], "signature");
  ASSERT_EQ(tessera("bundle sign @ab.tsb --key @k -o @copy.tsb").code, 0);
  EXPECT_EQ(read("copy.tsb"), read("ab.tsb"));
  EXPECT_EQ(json("bundle inspect @ab.tsb")["signed_by"].get<std::string>() + "\n", read("k.pub"));
  expectRefused("bundle sign @ab.tsb --key @k.pub", 5, "k.pub");
  expectRefused("bundle sign @no/x.tsb --key @k", 5, "bundle '" + path("no/x.tsb") + "'");
  expectRefused("bundle sign @ab.tsb --key @k -o @k", 2, "would be overwritten");
  // A build signs as well.
  write("specs.json", R"([{"head-dim": 64}])");
  ASSERT_EQ(tessera("bundle build --specs @specs.json --targets sm_80 --sign @k -o @signed.tsb").code, 0);
  EXPECT_EQ(tessera("bundle verify --public-key @k.pub @signed.tsb").code, 0);
}

TEST_F(BundleCommands, SplitAndMergeAreInverse) {
  ASSERT_EQ(tessera("bundle split @ab.tsb --target sm_80 -o @s80.tsb").code, 0);
  ASSERT_EQ(tessera("bundle split @ab.tsb -o @s86.tsb --target sm_86").code, 0);
  ASSERT_EQ(tessera("bundle merge @s86.tsb -o @merged.tsb @s80.tsb").code, 0);
  EXPECT_EQ(read("merged.tsb"), read("ab.tsb"));
  ASSERT_EQ(tessera("bundle merge @a.tsb @b80.tsb @b86.tsb -o @three.tsb").code, 0);
  EXPECT_EQ(read("three.tsb"), read("ab.tsb"));
  expectRefused("bundle split @ab.tsb --target sm_90 -o @x.tsb", 2, "sm_80, sm_86");
  expectRefused("bundle split @ab.tsb --target nonsense -o @x.tsb", 2, "nonsense");
  expectRefused("bundle merge @a.tsb @ab.tsb -o @ab.tsb", 2, "would be overwritten");
  expectRefused("bundle merge @a.tsb @ab.tsb -o -", 2, "name a file with -o");
  EXPECT_FALSE(exists("x.tsb"));
}

TEST_F(BundleCommands, MergeAsksWhichOfTwoKernelsToKeep) {
  ASSERT_EQ(tessera("bundle strip-ptx @a.tsb -o @stripped.tsb").code, 0);
  expectRefused("bundle merge @a.tsb @stripped.tsb -o @m.tsb", 2, "--prefer first or --prefer last");
  ASSERT_EQ(tessera("bundle merge @a.tsb @stripped.tsb -o @m.tsb --prefer first").code, 0);
  EXPECT_EQ(read("m.tsb"), read("a.tsb"));
  ASSERT_EQ(tessera("bundle merge @a.tsb @stripped.tsb -o @m.tsb --prefer last").code, 0);
  EXPECT_EQ(read("m.tsb"), read("stripped.tsb"));
  expectRefused("bundle merge @a.tsb @stripped.tsb -o @m.tsb --prefer second", 2, "'second' is not first or last");
}

TEST_F(BundleCommands, ExtractTakesOneKernelByNumberOrHash) {
  const auto entries = json("bundle inspect @ab.tsb")["entries"];
  const std::string hash = entries[2]["hash"];
  ASSERT_EQ(tessera("bundle extract @ab.tsb --entry 3 --emit image -o @by-number").code, 0);
  ASSERT_EQ(tessera("bundle extract @ab.tsb --emit image -o @by-hash --entry " + hash.substr(0, 12)).code, 0);
  EXPECT_EQ(read("by-number"), read("by-hash"));
  EXPECT_EQ(read("by-number").size(), entries[2]["bytes"].get<size_t>());
  EXPECT_NE(tessera("bundle extract @ab.tsb --entry 3 --emit ptx -o -").out.find(".entry attention"),
            std::string::npos);
  ASSERT_EQ(tessera("bundle extract @ab.tsb --entry 3 --emit cubin -o @cubin").code, 0);
  EXPECT_EQ(read("cubin"), "\x7f"
                           "ELF");
  for (const char *entry : {"0", "5", "x", "-1", "1x", "00000000000000000000"})
    expectRefused(std::string("bundle extract @ab.tsb --emit ptx -o @x --entry=") + entry, 2, "--entry");
  expectRefused("bundle extract @ab.tsb --entry 1 --emit sass -o @x", 2, "cubin, ptx, image");
  expectRefused("bundle extract @ab.tsb --entry 1 --emit ptx -o - --json", 2, "cannot both go to stdout");
  expectRefused("bundle extract @ab.tsb --entry 1 --emit ptx -o @ab.tsb", 2, "would be overwritten");
  ASSERT_EQ(tessera("bundle strip-ptx @ab.tsb -o @stripped.tsb").code, 0);
  expectRefused("bundle extract @stripped.tsb --entry 1 --emit ptx -o @x", 2, "has no PTX");
}

TEST_F(BundleCommands, DiffEndsAsDiffDoes) {
  EXPECT_EQ(tessera("bundle diff @ab.tsb @ab.tsb").code, 0);
  EXPECT_EQ(tessera("bundle diff @ab.tsb @ab.tsb").out, "");
  const Ran run = tessera("bundle diff @ab.tsb @a.tsb");
  EXPECT_EQ(run.code, 1);
  EXPECT_EQ(run.out.rfind("- sm_80, bf16, d 32, full", 0), 0u) << run.out;
  ASSERT_EQ(tessera("bundle strip-ptx @a.tsb -o @stripped.tsb").code, 0);
  const auto report = json("bundle diff @a.tsb @stripped.tsb", 1);
  ASSERT_EQ(report["differences"].size(), 2u);
  EXPECT_EQ(report["differences"][0]["kind"], "changed");
  EXPECT_EQ(json("bundle diff @b80.tsb @ab.tsb", 1)["differences"][0]["kind"], "only_second");
  EXPECT_EQ(tessera("bundle diff @ab.tsb @no.tsb").code, 5) << "trouble is no difference";
}

TEST_F(BundleCommands, EmbedMakesAnObjectFile) {
  ASSERT_EQ(tessera("bundle embed @a.tsb --symbol app_kernels -o @k.o").code, 0);
  const std::string object = read("k.o");
  EXPECT_EQ(object.substr(0, 4), "\x7f"
                                 "ELF");
  EXPECT_NE(object.find(read("a.tsb")), std::string::npos);
  EXPECT_NE(object.find("app_kernels_size"), std::string::npos);
  expectRefused("bundle embed @a.tsb --symbol 3x -o @x.o", 2, "3x");
  damage("a.tsb");
  EXPECT_EQ(tessera("bundle embed @a.tsb --symbol app_kernels -o @x.o").code, 5)
      << "nothing damaged goes into a program";
  EXPECT_FALSE(exists("x.o"));
}

TEST_F(BundleCommands, WhatIsNoBundleIsRefusedByEveryCommand) {
  write("junk", std::string(5000, 'x'));
  for (const char *arguments :
       {"inspect @junk", "inspect @no.tsb", "inspect @", "verify @junk", "merge @a.tsb @junk -o @x",
        "split @junk --target sm_80 -o @x", "strip-ptx @junk -o @x", "extract @junk --entry 1 --emit ptx -o @x",
        "diff @a.tsb @junk", "embed @junk --symbol s -o @x"})
    EXPECT_EQ(tessera(std::string("bundle ") + arguments).code, 5) << arguments;
  EXPECT_FALSE(exists("x"));
}

TEST_F(BundleCommands, TheGroupHelpsAndGuesses) {
  const Ran help = tessera("bundle --help");
  EXPECT_EQ(help.code, 0);
  for (const char *part : {"strip-ptx", "Examples:", "specs.json"})
    EXPECT_NE(help.out.find(part), std::string::npos) << part;
  EXPECT_NE(tessera("bundle build --help").out.find("--targets"), std::string::npos);
  expectRefused("bundle", 2, "no command given after `tessera bundle`");
  expectRefused("bundle bulid", 2, "did you mean build?");
  expectRefused("bundel build", 2, "did you mean bundle?");
  expectRefused("bundle inspect @a.tsb @b80.tsb", 2, "knows no");
  expectRefused("bundle inspect", 2, "file is required");
}

} // namespace
