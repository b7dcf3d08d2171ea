// The engine and its disk cache: compiled once for all engines, and what a miss is.
#include "tests/unit/engine/Fakes.h"

#include <filesystem>
#include <fstream>
#include <thread>

namespace tessera {
namespace {

namespace fs = std::filesystem;

using EngineCache = fakes::Test;

Kernel prepared(const Engine &engine, const AttentionSpec &spec = {}) {
  Result<Kernel> kernel = engine.prepare(spec, {}, fakes::device());
  EXPECT_TRUE(kernel.ok()) << kernel.status().text();
  return *std::move(kernel);
}

/// The one entry in the cache.
fs::path entryIn(const std::string &folder) {
  for (const fs::directory_entry &entry : fs::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".tski")
      return entry.path();
  ADD_FAILURE() << "no entry in " << folder;
  return {};
}

TEST_F(EngineCache, ASecondEngineReadsFromTheDisk) {
  Engine first = fakes::engine(folder);
  EXPECT_EQ(prepared(first).source(), Source::Compiler);
  Engine second = fakes::engine(folder);
  Kernel kernel = prepared(second);
  EXPECT_EQ(kernel.source(), Source::Disk);
  EXPECT_EQ(fakes::compiler().compiles, 1);
  EXPECT_EQ(kernel.image(), prepared(first).image());
  EXPECT_EQ(kernel.info().compileMs, 0);
  EXPECT_GT(kernel.info().readMs, 0);
  EXPECT_NE(kernel.info().text().find("disk, read from the disk cache in"), std::string::npos);
  EXPECT_NE(prepared(second).info().text().find("memory, read from the disk cache in"), std::string::npos);

  const EngineCounters counters = second.counters();
  EXPECT_EQ(counters.diskHits, 1u);
  EXPECT_EQ(counters.memoryHits, 1u);
  EXPECT_EQ(counters.compiles, 0u);
  EXPECT_EQ(counters.disk.hits, 1u);
  EXPECT_EQ(counters.disk.allMisses(), 0u);
  EXPECT_EQ(counters.loadedKernels, 1u);
  EXPECT_GT(counters.disk.bytesRead, 0u);
  const EngineCounters wrote = first.counters();
  EXPECT_EQ(wrote.compiles, 1u);
  EXPECT_EQ(wrote.disk.stores, 1u);
  EXPECT_EQ(wrote.disk.misses[unsigned(CacheMiss::Absent)], 1u);
  EXPECT_EQ(wrote.disk.bytesWritten, counters.disk.bytesRead);
}

TEST_F(EngineCache, CacheOnlyNeverCompilesAndSaysWhy) {
  Engine engine = fakes::engine(folder, Policy::CacheOnly);
  Status status = engine.prepare({}, {}, fakes::device()).status();
  EXPECT_EQ(status.code(), Code::NotFound);
  EXPECT_NE(status.message().find("has no kernel for"), std::string::npos) << status.text();
  EXPECT_NE(status.message().find("(absent)"), std::string::npos) << status.text();
  EXPECT_NE(status.hint().find("--why-miss"), std::string::npos);
  EXPECT_EQ(fakes::compiler().compiles, 0);
  EXPECT_EQ(engine.counters().failures, 1u);
  prepared(fakes::engine(folder));
  EXPECT_EQ(prepared(engine).source(), Source::Disk);
}

TEST_F(EngineCache, CacheOnlyWithoutACacheToReadSaysSo) {
  for (CacheMode mode : {CacheMode::Off, CacheMode::Refresh}) {
    Status status = fakes::engine(folder, Policy::CacheOnly, mode).prepare({}, {}, fakes::device()).status();
    EXPECT_EQ(status.code(), Code::NotFound);
    EXPECT_NE(status.message().find(fmt::format("its mode is {}", name(mode))), std::string::npos) << status.text();
  }
  EXPECT_EQ(fakes::compiler().compiles, 0);
}

TEST_F(EngineCache, ModesReadAndWriteAsTheySay) {
  prepared(fakes::engine(folder + "/ro", Policy::Jit, CacheMode::ReadOnly));
  EXPECT_FALSE(fs::exists(folder + "/ro"));
  prepared(fakes::engine(folder + "/off", Policy::Jit, CacheMode::Off));
  EXPECT_FALSE(fs::exists(folder + "/off"));
  EXPECT_EQ(fakes::compiler().compiles, 2);
  prepared(fakes::engine(folder));
  EXPECT_EQ(prepared(fakes::engine(folder, Policy::Jit, CacheMode::ReadOnly)).source(), Source::Disk);
  EXPECT_EQ(fakes::compiler().compiles, 3);
  EXPECT_EQ(prepared(fakes::engine(folder, Policy::Jit, CacheMode::Refresh)).source(), Source::Compiler);
  EXPECT_EQ(fakes::compiler().compiles, 4);
  EXPECT_EQ(prepared(fakes::engine(folder)).source(), Source::Disk);
}

TEST_F(EngineCache, ADamagedEntryIsCompiledAnewAndReplaced) {
  prepared(fakes::engine(folder));
  const fs::path entry = entryIn(folder);
  fs::resize_file(entry, fs::file_size(entry) / 2);
  Engine engine = fakes::engine(folder);
  EXPECT_EQ(prepared(engine).source(), Source::Compiler);
  EXPECT_EQ(engine.counters().disk.misses[unsigned(CacheMiss::Malformed)], 1u);
  EXPECT_EQ(prepared(fakes::engine(folder)).source(), Source::Disk);
}

TEST_F(EngineCache, AnUnusableFolderIsOneWarningAndTheRightAnswer) {
  std::ofstream(folder + "/file") << "no folder";
  std::vector<std::string> warnings;
  EngineOptions options;
  options.cache = {.mode = CacheMode::ReadWrite, .directory = folder + "/file", .maxBytes = {}};
  options.warn = [&](const std::string &warning) { warnings.push_back(warning); };
  Engine engine = *Engine::create(options);
  AttentionSpec other;
  other.headDim = other.valueDim = 64;
  EXPECT_EQ(prepared(engine).source(), Source::Compiler);
  EXPECT_EQ(prepared(engine, other).source(), Source::Compiler);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find(folder + "/file"), std::string::npos) << warnings[0];
}

TEST_F(EngineCache, B2_66_KernelsOfOneKeyAreCompiledOnceByManyEngines) {
  fakes::compiler().delayMs = 50;
  {
    std::vector<std::jthread> threads; // each with an engine of its own, as processes have
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&] { prepared(fakes::engine(folder)); });
  }
  EXPECT_EQ(fakes::compiler().compiles, 1);
}

TEST_F(EngineCache, B2_67_AnotherBuildOfTheCompilerMisses) {
  prepared(fakes::engine(folder));
  fakes::compiler().build = 2;
  EXPECT_EQ(prepared(fakes::engine(folder)).source(), Source::Compiler);
  fakes::compiler().build = 1;
  EXPECT_EQ(prepared(fakes::engine(folder)).source(), Source::Disk);
}

TEST_F(EngineCache, B2_67_AnotherAssemblerMisses) {
  prepared(fakes::engine(folder));
  fakes::compiler().assembler = 2;
  EXPECT_EQ(prepared(fakes::engine(folder)).source(), Source::Compiler);
}

TEST_F(EngineCache, WithoutACompilerTheKeyIsNotKnown) {
  EngineOptions options;
  options.cache = {.mode = CacheMode::ReadWrite, .directory = folder, .maxBytes = {}};
  options.policy = Policy::CacheOnly;
  options.compilerLibrary = "/nowhere/libtessera-compiler.so";
  Status status = Engine::create(options)->prepare({}, {}, fakes::device()).status();
  EXPECT_EQ(status.code(), Code::Unsupported);
  EXPECT_NE(status.text().find("no compiler"), std::string::npos);
}

} // namespace
} // namespace tessera
