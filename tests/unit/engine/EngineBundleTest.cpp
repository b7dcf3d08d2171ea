// The engine and bundles: what is shipped is used, writes nothing, and what is missing is said.
#include "tests/unit/engine/Fakes.h"

#include <filesystem>
#include <fstream>

namespace tessera {
namespace {

namespace fs = std::filesystem;

struct EngineBundle : fakes::Test {
  std::string file(const std::string &bytes, const std::string &name = "app.tsb") const {
    const std::string path = folder + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
};

EngineOptions shipped(std::vector<std::string> bundles, Policy policy = Policy::BundleOnly) {
  EngineOptions options;
  options.bundles = std::move(bundles);
  options.policy = policy;
  options.compilerLibrary = "/nowhere/libtessera-compiler.so";
  return options;
}

AttentionSpec causal() {
  AttentionSpec spec;
  spec.mask = Mask::causal(Align::BottomRight);
  return spec;
}

TEST_F(EngineBundle, B3_73_AShippedKernelNeedsNoCompilerAndNoCache) {
  const std::string path = file(fakes::bundle({fakes::image(causal())}));
  const int compiles = fakes::compiler().compiles;
  setenv("TESSERA_CACHE", "rw", 1);
  setenv("TESSERA_CACHE_DIR", (folder + "/cache").c_str(), 1);
  for (Policy policy : {Policy::BundleOnly, Policy::CacheOnly, Policy::Jit}) {
    Engine engine = *Engine::create(shipped({path}, policy));
    Result<Kernel> kernel = engine.prepare(causal(), {}, fakes::device());
    ASSERT_TRUE(kernel.ok()) << kernel.status().text();
    const KernelInfo info = kernel->info();
    EXPECT_EQ(info.source, Source::Bundle);
    EXPECT_EQ(info.bundle, path);
    EXPECT_EQ(info.scheduleReason, "the default for sm_80");
    EXPECT_NE(info.text().find("bundle, read from " + path), std::string::npos) << info.text();
    EXPECT_EQ(engine.prepare(causal(), {}, fakes::device())->source(), Source::Memory);
    EXPECT_FALSE(fs::exists(folder + "/cache")) << "a bundle hit writes nothing";
  }
  unsetenv("TESSERA_CACHE_DIR");
  EXPECT_EQ(fakes::compiler().compiles, compiles);
}

TEST_F(EngineBundle, BundleOnlyRefusesWhatTheBundleLacksAndNamesTheNearest) {
  Engine engine = *Engine::create(shipped({file(fakes::bundle({fakes::image(causal())}))}));
  Status status = engine.prepare({}, {}, fakes::device()).status();
  EXPECT_EQ(status.code(), Code::NotFound);
  EXPECT_NE(status.message().find("no bundle serves"), std::string::npos);
  EXPECT_NE(status.hint().find("mask=*:0:bottom-right (wanted mask=full)"), std::string::npos) << status.hint();
  EXPECT_EQ(engine.counters().bundleMisses, 1u);
  EXPECT_EQ(engine.counters().failures, 1u);
  EXPECT_EQ(Engine::create(shipped({}))->prepare({}, {}, fakes::device()).status().hint(),
            "the policy bundle-only needs a bundle");
}

TEST_F(EngineBundle, JitCompilesWhatTheBundleLacks) {
  EngineOptions options = shipped({file(fakes::bundle({fakes::image(causal())}))}, Policy::Jit);
  options.compilerLibrary.clear();
  Engine engine = *Engine::create(options);
  EXPECT_EQ(engine.prepare({}, {}, fakes::device())->source(), Source::Compiler);
  EXPECT_EQ(engine.prepare(causal(), {}, fakes::device())->source(), Source::Bundle);
  EXPECT_EQ(engine.counters().bundleHits, 1u);
  EXPECT_EQ(engine.counters().bundleMisses, 1u);
}

TEST_F(EngineBundle, EmbeddedBundlesServeLikeFiles) {
  const std::string bytes = fakes::bundle({fakes::image(causal())});
  EngineOptions options = shipped({});
  options.embeddedBundles = {{"app", std::as_bytes(std::span(bytes))}};
  Result<Kernel> kernel = Engine::create(options)->prepare(causal(), {}, fakes::device());
  ASSERT_TRUE(kernel.ok()) << kernel.status().text();
  EXPECT_EQ(kernel->info().bundle, "app");
}

TEST_F(EngineBundle, ADamagedBundleIsAnErrorAndNotACompile) {
  std::string bytes = fakes::bundle({fakes::image(causal())});
  std::string index = bytes;
  index[300] ^= 1;
  EXPECT_EQ(Engine::create(shipped({file(index)}, Policy::Jit)).status().code(), Code::File);
  bytes[bytes.size() - 200] ^= 1; // of the image
  Engine engine = *Engine::create(shipped({file(bytes)}, Policy::Jit));
  EXPECT_EQ(engine.prepare(causal(), {}, fakes::device()).status().code(), Code::File);
  EXPECT_EQ(Engine::create(shipped({folder + "/nothing.tsb"})).status().code(), Code::File);
}

TEST_F(EngineBundle, SignaturesAreAskedForWhereAKeyIsGiven) {
  const PrivateKey key = *PrivateKey::generate(), other = *PrivateKey::generate();
  const std::string signedFile = file(fakes::bundle({fakes::image(causal())}, {}, &key), "signed.tsb");
  const std::string plainFile = file(fakes::bundle({fakes::image(causal())}), "plain.tsb");
  EngineOptions options = shipped({signedFile});
  options.bundleKey = key.publicKey().text();
  EXPECT_TRUE(Engine::create(options).ok());
  options.bundleKey = other.publicKey().text();
  EXPECT_EQ(Engine::create(options).status().code(), Code::InvalidArgument);
  options.bundles = {plainFile};
  EXPECT_FALSE(Engine::create(options).ok());
  options.bundleKey = "nonsense";
  EXPECT_FALSE(Engine::create(options).ok());
  options.bundles.clear();
  EXPECT_FALSE(Engine::create(options).ok()) << "a key that is none is refused before there is a bundle to check";
}

TEST_F(EngineBundle, B4_74_ShapesChooseAmongTunedSchedules) {
  const Schedule standard = defaultSchedule({}, *Target::parse("sm_80"));
  Schedule small = standard;
  small.tileKv = 32;
  const TuningRecord record{{}, fakes::device().info().name, "sm_80", {1, 8, 8, 128, 128}, small};
  Engine engine =
      *Engine::create(shipped({file(fakes::bundle({fakes::image(), fakes::image({}, "sm_80", small)}, {record}))}));
  const auto scheduleFor = [&](const Problem &problem, const Device &device) {
    Result<Kernel> kernel = engine.prepare({}, problem, device);
    EXPECT_TRUE(kernel.ok()) << kernel.status().text();
    return kernel->info();
  };
  EXPECT_EQ(scheduleFor({1, 8, 8, 100, 100}, fakes::device()).schedule, small);
  EXPECT_EQ(scheduleFor({1, 8, 8, 100, 100}, fakes::device()).source, Source::Memory);
  EXPECT_EQ(scheduleFor({1, 8, 8, 100, 100}, fakes::device()).scheduleReason,
            "tuned on a100 for q128,kv128,b8,g1 (a shape of the same bucket)");
  EXPECT_EQ(scheduleFor({1, 8, 8, 128, 128}, fakes::device()).scheduleReason,
            "tuned on a100 for q128,kv128,b8,g1 (this shape)");
  EXPECT_EQ(engine.counters().loadedKernels, 1u) << "one kernel serves both shapes";
  Result<Explanation> why = engine.explain({}, {1, 8, 8, 100, 100}, fakes::device());
  ASSERT_TRUE(why.ok());
  EXPECT_EQ(why->schedule, small);
  EXPECT_EQ(why->reason, "tuned on a100 for q128,kv128,b8,g1 (a shape of the same bucket)");
}

TEST_F(EngineBundle, RecordsGuideTheCompilerToo) {
  Schedule small = defaultSchedule({}, *Target::parse("sm_80"));
  small.tileKv = 32;
  EngineOptions options =
      shipped({file(fakes::bundle({}, {{{}, "a100", "sm_80", {1, 8, 8, 128, 128}, small}}))}, Policy::Jit);
  options.compilerLibrary.clear();
  Result<Kernel> kernel = Engine::create(options)->prepare({}, {1, 8, 8, 128, 128}, fakes::device());
  ASSERT_TRUE(kernel.ok()) << kernel.status().text();
  EXPECT_EQ(kernel->info().schedule, small);
  EXPECT_EQ(kernel->source(), Source::Compiler);
}

TEST_F(EngineBundle, SeveralArchitecturesInOneProcess) {
  Engine engine =
      *Engine::create(shipped({file(fakes::bundle({fakes::image({}, "sm_80"), fakes::image({}, "sm_89")}))}));
  EXPECT_EQ(engine.prepare({}, {}, fakes::device("cuda:0"))->info().target, "sm_80");
  EXPECT_EQ(engine.prepare({}, {}, fakes::device("cuda:2"))->info().target, "sm_89");
  EXPECT_EQ(engine.prepare({}, {}, fakes::device("cuda:1"))->info().target, "sm_89"); // H100, by PTX
  EXPECT_EQ(engine.prepare({}, {}, fakes::device("cuda:1"))->info().code, "PTX, assembled by the driver");
}

TEST_F(EngineBundle, AStrippedKernelThatTheDriverRefusesSaysSo) {
  KernelImage stripped = fakes::image();
  stripped.ptx.clear();
  Engine engine = *Engine::create(shipped({file(fakes::bundle({stripped}))}));
  fakes::driver().refuseCubins = 1;
  Status status = engine.prepare({}, {}, fakes::device()).status();
  EXPECT_EQ(status.code(), Code::Unsupported);
  EXPECT_NE(status.message().find("holds no PTX"), std::string::npos) << status.text();
  EXPECT_EQ(engine.prepare({}, {}, fakes::device("cuda:1")).status().code(), Code::NotFound);
}

} // namespace
} // namespace tessera
