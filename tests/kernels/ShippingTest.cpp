// Kernels from the compiler, the disk cache and a bundle are the same kernel: same answer, same bytes.
#include "tests/unit/cli/RunProgram.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>

using nlohmann::json;
using tessera::test::Ran;
using tessera::test::runTessera;

namespace {

struct Shipping : testing::Test {
  std::filesystem::path folder;
  Shipping() {
    std::string name = testing::TempDir() + "tessera-shipping-XXXXXX";
    if (::mkdtemp(name.data()))
      folder = name;
  }
  ~Shipping() override { std::filesystem::remove_all(folder); }

  std::string path(const std::string &name) const { return (folder / name).string(); }
  std::string content(const std::string &name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  /// Builds `name` from two attentions for two targets.
  void build(const std::string &name, const std::string &flags) {
    std::ofstream(path("specs.json")) << R"([{"head-dim": 64, "causal": "bottom-right", "lse": true},
                                             {"dtype": "f16", "head-dim": 64, "window": "31,0"}])";
    const Ran ran =
        runTessera("bundle build --quiet --specs " + path("specs.json") + " -o " + path(name) + " " + flags);
    ASSERT_EQ(ran.code, 0) << ran.err;
  }
  /// Where the kernel of one checked run came from; the output goes to `name`.
  std::string run(const std::string &name, const std::string &flags) {
    const Ran ran = runTessera("run --head-dim 64 --causal bottom-right --lse --seqlen-q 70 --seqlen-kv 130 --check "
                               "--json --cache-dir " +
                               path("cache") + " --out " + path(name) + " " + flags);
    EXPECT_EQ(ran.code, 0) << ran.err << ran.out;
    return ran.code == 0 ? json::parse(ran.out)["source"].get<std::string>() : "";
  }
};

TEST_F(Shipping, EverySourceGivesTheSameBits) {
  build("app.tsb", "--targets sm_80,sm_89 --cache off");
  EXPECT_EQ(run("compiler.npy", "--device sim:a100 --cache rw"), "compiler");
  EXPECT_EQ(run("disk.npy", "--device sim:a100 --cache rw"), "disk");
  EXPECT_EQ(run("refresh.npy", "--device sim:a100 --cache refresh"), "compiler");
  EXPECT_EQ(run("bundle.npy", "--device sim:a100 --policy bundle-only --bundle " + path("app.tsb")), "bundle");
  EXPECT_EQ(run("cache-only.npy", "--device sim:a100 --policy cache-only --cache ro"), "disk");
  ASSERT_FALSE(content("compiler.npy").empty());
  for (const char *other : {"disk.npy", "refresh.npy", "bundle.npy", "cache-only.npy"})
    EXPECT_EQ(content(other), content("compiler.npy")) << other;
}

TEST_F(Shipping, ABundleServesItsFamilyAndByPtxWhatIsNewer) {
  build("app.tsb", "--targets sm_80 --cache off");
  for (const char *device : {"sim:rtx3090", "sim:rtx4090", "sim:h100"})
    EXPECT_EQ(run("o.npy", std::string("--policy bundle-only --bundle ") + path("app.tsb") + " --device " + device),
              "bundle")
        << device;
}

TEST_F(Shipping, TwoBuildsOfOneBundleHaveTheSameBytes) {
  build("one.tsb", "--targets sm_80,sm_120 --cache off --jobs 1");
  std::filesystem::create_directory(path("elsewhere"));
  build("elsewhere/two.tsb", "--targets sm_120,sm_80 --cache off --jobs 4");
  ASSERT_FALSE(content("one.tsb").empty());
  EXPECT_TRUE(content("one.tsb") == content("elsewhere/two.tsb"));
  EXPECT_EQ(runTessera("bundle diff " + path("one.tsb") + " " + path("elsewhere/two.tsb")).code, 0);
  EXPECT_EQ(runTessera("bundle verify " + path("one.tsb")).code, 0);
}

} // namespace
