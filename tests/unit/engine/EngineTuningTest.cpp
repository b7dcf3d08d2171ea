// The engine and the tuning log of the cache: what tuning found here is used here, and for nothing else.
#include "runtime/cache/TuningLog.h"
#include "tests/unit/engine/Fakes.h"

#include <filesystem>
#include <fstream>
#include <thread>

namespace tessera {
namespace {

struct EngineTuning : fakes::Test {
  const Schedule standard = defaultSchedule({}, *Target::parse("sm_80"));
  Schedule small = standard, smaller = standard;

  EngineTuning() { small.tileKv = 32, smaller.tileKv = 16; }

  CacheOptions cache(CacheMode mode = CacheMode::ReadWrite) const {
    return {.mode = mode, .directory = folder + "/cache", .maxBytes = {}};
  }
  Engine engine(Policy policy = Policy::Jit, std::vector<std::string> bundles = {},
                CacheMode mode = CacheMode::ReadWrite) const {
    EngineOptions options;
    options.cache = cache(mode);
    options.policy = policy;
    options.bundles = std::move(bundles);
    return *Engine::create(options);
  }
  void keep(const std::vector<TuningRecord> &records) const {
    const Status status = DiskCache::open(cache())->keepTuning(records);
    ASSERT_TRUE(status.ok()) << status.text();
  }
  TuningRecord record(int64_t seqlen, const Schedule &schedule, const AttentionSpec &spec = {},
                      const std::string &device = fakes::device().info().name) const {
    return {spec, device, "sm_80", {1, 8, 8, seqlen, seqlen}, schedule};
  }
  static KernelInfo prepared(const Engine &engine, int64_t seqlen, const AttentionSpec &spec = {},
                             const Device &device = fakes::device()) {
    const Result<Kernel> kernel = engine.prepare(spec, {1, 8, 8, seqlen, seqlen}, device);
    EXPECT_TRUE(kernel.ok()) << kernel.status().text();
    return kernel ? kernel->info() : KernelInfo();
  }
};

TEST_F(EngineTuning, WhatTuningFoundIsUsedForItsShapesAndSaid) {
  keep({record(128, small), record(4096, smaller)});
  const Engine engine = this->engine();
  EXPECT_EQ(prepared(engine, 128).schedule, small);
  EXPECT_EQ(prepared(engine, 128).source, Source::Memory);
  EXPECT_EQ(prepared(engine, 128).scheduleReason,
            "tuned on a100 for q128,kv128,b8,g1 (this shape, by the tuning log of the cache)");
  EXPECT_EQ(prepared(engine, 4000).schedule, smaller);
  EXPECT_EQ(prepared(engine, 4000).scheduleReason,
            "tuned on a100 for q4096,kv4096,b8,g1 (a shape of the same bucket, by the tuning log of the cache)");
  EXPECT_EQ(prepared(engine, 100).schedule, small);
  EXPECT_EQ(engine.counters().loadedKernels, 2u) << "one kernel serves both shapes";

  const Result<Explanation> why = engine.explain({}, {1, 8, 8, 128, 128}, fakes::device());
  ASSERT_TRUE(why.ok());
  EXPECT_EQ(why->schedule, small);
  EXPECT_EQ(why->reason, "tuned on a100 for q128,kv128,b8,g1 (this shape, by the tuning log of the cache)");
}

TEST_F(EngineTuning, B4_74_NothingElseIsChosenByIt) {
  AttentionSpec narrow;
  narrow.headDim = narrow.valueDim = 64;
  Schedule illegal = standard;
  illegal.tileKv = 24;
  keep({record(128, small, narrow), record(128, illegal), record(256, small, {}, "a100 (Tessera simulator)")});
  const Engine engine = this->engine();
  EXPECT_EQ(prepared(engine, 128).schedule, standard) << "another head size, not legal, a simulator's";
  EXPECT_EQ(prepared(engine, 256).schedule, standard);
  EXPECT_EQ(prepared(engine, 128, narrow).schedule, small);
  EXPECT_EQ(prepared(engine, 128, narrow, fakes::device("cuda:2")).schedule,
            defaultSchedule(narrow, *Target::parse("sm_89")))
      << "another target";
}

TEST_F(EngineTuning, SpecsWithoutRecordsAreFoundWhateverTheShape) {
  keep({record(128, small)});
  AttentionSpec causal;
  causal.mask = Mask::causal(Align::BottomRight);
  const Engine engine = this->engine();
  prepared(engine, 128), prepared(engine, 128, causal);
  const uint64_t hits = engine.counters().memoryHits;
  EXPECT_EQ(prepared(engine, 1, causal).source, Source::Memory);
  EXPECT_EQ(prepared(engine, 77777, causal).source, Source::Memory);
  EXPECT_EQ(engine.counters().memoryHits, hits + 2);
}

TEST_F(EngineTuning, B6_83_WhatWasPreparedIsFoundDuringACapture) {
  keep({record(128, small)});
  AttentionSpec causal;
  causal.mask = Mask::causal(Align::BottomRight);
  const Engine engine = this->engine();
  prepared(engine, 128), prepared(engine, 128, causal);
  int stream = 0;
  StreamHandle handle = reinterpret_cast<StreamHandle>(&stream);
  fakes::driver().capturedStream = handle;
  const auto found = [&](int64_t seqlen, const AttentionSpec &spec) {
    return engine.prepare(spec, {1, 8, 8, seqlen, seqlen}, fakes::device(), {.schedule = {}, .stream = handle}).ok();
  };
  EXPECT_TRUE(found(128, {}));
  EXPECT_FALSE(found(256, {})) << "another shape may get another kernel";
  EXPECT_TRUE(found(128, causal));
  EXPECT_TRUE(found(256, causal)) << "without records one kernel serves every shape";
  fakes::driver().capturedStream = nullptr;
}

TEST_F(EngineTuning, B4_74_TheNearerOfBundleAndLogGuidesTheCompiler) {
  keep({record(512, smaller)});
  const std::string path = folder + "/app.tsb";
  std::ofstream(path, std::ios::binary) << fakes::bundle({}, {record(128, small), record(512, small)});
  const Engine engine = this->engine(Policy::Jit, {path});
  EXPECT_EQ(prepared(engine, 512).schedule, small) << "the bundle's where both are as near";
  keep({record(4096, smaller)});
  const Engine later = this->engine(Policy::Jit, {path});
  EXPECT_EQ(prepared(later, 4096).schedule, smaller);
  EXPECT_EQ(prepared(later, 128).schedule, small);
}

TEST_F(EngineTuning, AGivenScheduleStandsAndStaysGiven) {
  keep({record(128, small)});
  const Engine engine = this->engine();
  prepared(engine, 128);
  for (const int64_t seqlen : {128, 256, 128}) {
    const Result<Kernel> kernel = engine.prepare({}, {1, 8, 8, seqlen, seqlen}, fakes::device(), {.schedule = smaller});
    ASSERT_TRUE(kernel.ok()) << kernel.status().text();
    EXPECT_EQ(kernel->info().schedule, smaller);
    EXPECT_EQ(kernel->info().scheduleReason, "given by the caller");
  }
  EXPECT_EQ(fakes::compiler().compiles, 2);
}

TEST_F(EngineTuning, TheLogChoosesAmongTheKernelsOfABundle) {
  keep({record(128, small), record(4096, smaller)});
  const std::string path = folder + "/app.tsb";
  std::ofstream(path, std::ios::binary) << fakes::bundle({fakes::image(), fakes::image({}, "sm_80", small)});
  const int compiles = fakes::compiler().compiles;
  const Engine engine = this->engine(Policy::CacheOnly, {path});
  EXPECT_EQ(prepared(engine, 128).schedule, small);
  EXPECT_EQ(prepared(engine, 128).source, Source::Memory);
  EXPECT_EQ(prepared(engine, 4096).schedule, standard) << "the bundle serves, and lacks what the log says";
  EXPECT_EQ(prepared(engine, 4096).scheduleReason, "the default for sm_80");
  EXPECT_EQ(fakes::compiler().compiles, compiles);
  EXPECT_EQ(prepared(this->engine(Policy::BundleOnly, {path}), 128).schedule, standard)
      << "the policy bundle-only reads no cache";
}

TEST_F(EngineTuning, CacheOnlyRefusesWhatTheLogSaysAndTheCacheLacks) {
  keep({record(128, small)});
  const Status status = engine(Policy::CacheOnly).prepare({}, {1, 8, 8, 128, 128}, fakes::device()).status();
  EXPECT_EQ(status.code(), Code::NotFound);
  prepared(engine(), 128);
  EXPECT_EQ(prepared(engine(Policy::CacheOnly), 128).schedule, small);
}

TEST_F(EngineTuning, OnlyWithoutTheCacheTheLogIsNotRead) {
  keep({record(128, small)});
  EXPECT_EQ(prepared(engine(Policy::Jit, {}, CacheMode::Off), 128).schedule, standard);
  const int compiles = fakes::compiler().compiles;
  EXPECT_EQ(prepared(engine(Policy::Jit, {}, CacheMode::Refresh), 128).schedule, small) << "the tuned one, anew";
  EXPECT_EQ(fakes::compiler().compiles, compiles + 1);
  EXPECT_EQ(prepared(engine(Policy::Jit, {}, CacheMode::ReadOnly), 128).schedule, small);
}

TEST_F(EngineTuning, TheLogIsReadOnceByAnEngine) {
  const Engine early = engine();
  prepared(early, 128);
  keep({record(128, small)});
  EXPECT_EQ(prepared(early, 256).schedule, standard);
  EXPECT_EQ(prepared(engine(), 128).schedule, small);
}

TEST_F(EngineTuning, B3_73_AnUnusableCacheIsNoNewsWhereABundleServes) {
  const std::string path = folder + "/app.tsb";
  std::ofstream(path, std::ios::binary) << fakes::bundle({fakes::image()});
  std::ofstream(folder + "/file") << "no folder";
  std::vector<std::string> warnings;
  EngineOptions options;
  options.bundles = {path};
  options.cache = {.mode = CacheMode::ReadWrite, .directory = folder + "/file", .maxBytes = {}};
  options.warn = [&](const std::string &warning) { warnings.push_back(warning); };
  EXPECT_EQ(prepared(*Engine::create(options), 128).source, Source::Bundle);
  EXPECT_TRUE(warnings.empty()) << warnings[0];
}

struct EngineTuningWarnings : EngineTuning {
  const std::string path = folder + "/cache/v1/tuning.jsonl";
  std::vector<std::string> warnings;

  EngineTuningWarnings() { keep({record(128, small)}); }

  std::string good() const {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string &bytes) const { std::ofstream(path, std::ios::binary) << bytes; }
  /// What engines say when two kernels are prepared.
  std::vector<std::string> said(Policy policy = Policy::Jit, CacheMode mode = CacheMode::ReadWrite) {
    warnings.clear();
    EngineOptions options;
    options.cache = cache(mode);
    options.policy = policy;
    options.warn = [&](const std::string &warning) { warnings.push_back(warning); };
    const Engine engine = *Engine::create(options);
    AttentionSpec causal;
    causal.mask = Mask::causal(Align::BottomRight);
    for (const AttentionSpec &spec : {AttentionSpec(), causal})
      (void)engine.prepare(spec, {1, 8, 8, 128, 128}, fakes::device());
    (void)engine.explain({}, {1, 8, 8, 128, 128}, fakes::device());
    return warnings;
  }
  testing::AssertionResult once(const std::string &part) {
    if (said().size() == 1 && warnings[0].find(part) != std::string::npos)
      return testing::AssertionSuccess();
    return testing::AssertionFailure() << warnings.size() << " warnings: " << testing::PrintToString(warnings);
  }
};

TEST_F(EngineTuningWarnings, ATuningLogThatCannotBeUsedIsSaidOnce) {
  const std::string sound = good(), elsewhere = folder + "/elsewhere";
  EXPECT_TRUE(said().empty()) << "it is sound";
  std::filesystem::permissions(path, std::filesystem::perms::others_write, std::filesystem::perm_options::add);
  EXPECT_TRUE(once("the tuning log is not used: " + path + ": can be written by others (mode 0602)"));
  std::filesystem::remove(path);
  EXPECT_TRUE(said().empty()) << "there is none";
  std::filesystem::create_directory(path);
  EXPECT_TRUE(once("is not a plain file"));
  std::filesystem::remove(path);
  std::ofstream(elsewhere) << sound;
  std::filesystem::create_symlink(elsewhere, path);
  EXPECT_TRUE(once("is a symbolic link"));
  EXPECT_TRUE(said(Policy::BundleOnly).empty()) << "the cache is nothing to this policy";
  EXPECT_TRUE(said(Policy::Jit, CacheMode::Off).empty());
  EXPECT_EQ(said(Policy::Jit, CacheMode::Refresh).size(), 1u) << "what was tuned is not used here either";
  std::filesystem::remove(path);
  std::ofstream(path) << std::string(TuningLog::maxBytes + 1, '\n');
  std::filesystem::permissions(path, std::filesystem::perms(0600));
  EXPECT_TRUE(once("has 4194305 bytes"));
}

TEST_F(EngineTuningWarnings, DamagedLinesAndSchedulesThatAreNotLegalAreSaidOnce) {
  const std::string sound = good();
  write(sound + sound.substr(0, 99) + "\n" + sound);
  EXPECT_TRUE(once("lines of the tuning log " + path + " are passed over: line 2: no JSON object; "));
  write("x\ny\n" + sound);
  EXPECT_TRUE(once("line 1: no JSON object, and others; "));
  Schedule illegal = standard;
  illegal.tileKv = 24;
  write(recordLine(record(128, illegal)));
  EXPECT_TRUE(once("is not legal for sm_80"));
  EXPECT_TRUE(said(Policy::BundleOnly).empty());
}

TEST_F(EngineTuning, ThreadsThatAskForManyShapesAgree) {
  keep({record(128, small), record(4096, smaller)});
  const Engine engine = this->engine();
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&, i] {
        for (int64_t seqlen = 1; seqlen < 40; ++seqlen)
          EXPECT_EQ(prepared(engine, i % 2 ? seqlen : 4096 - seqlen).schedule, i % 2 ? small : smaller);
      });
  }
  EXPECT_EQ(fakes::compiler().compiles, 2);
}

} // namespace
} // namespace tessera
