// Opens the fakes for a test and resets what earlier tests left in them.
#pragma once

#include "runtime/bundle/BundleWriter.h"
#include "tessera/tessera.h"
#include "tests/unit/engine/FakeCompiler.h"
#include "tests/unit/engine/FakeDriver.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

// A sanitizer has an allocator of its own and makes everything slower.
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TESSERA_SANITIZED 1
#else
#define TESSERA_SANITIZED 0
#endif

namespace tessera::fakes {

FakeDriverState &driver(bool simulator = false);
FakeCompilerState &compiler();

/// A device of the fake driver: "cuda:0" is an A100, 1 an H100, 2 an RTX 4090, 3 too old, 4 a B200; "sim:NAME" the same
/// posing as simulator.
Device device(std::string_view name = "cuda:0");
Engine engine();
/// An engine whose disk cache is this folder.
Engine engine(const std::string &cacheFolder, Policy policy = Policy::Jit, CacheMode mode = CacheMode::ReadWrite);

/// The bytes of a bundle of images like those of the fake compiler.
std::string bundle(std::initializer_list<KernelImage> images, std::initializer_list<TuningRecord> records = {},
                   const PrivateKey *key = nullptr);

/// An image like those of the fake compiler.
KernelImage image(const AttentionSpec &spec = {}, std::string_view target = "sm_80");
KernelImage image(const AttentionSpec &spec, std::string_view target, const Schedule &schedule);

/// Fresh state of both fakes for each test, and a folder of its own that goes with it. The disk cache is off unless a
/// test asks for it.
struct Test : testing::Test {
  Test();
  ~Test() override;
  std::string folder;
};

} // namespace tessera::fakes
