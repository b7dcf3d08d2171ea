// Opens the fakes for a test and resets what earlier tests left in them.
#pragma once

#include "tessera/tessera.h"
#include "tests/unit/engine/FakeCompiler.h"
#include "tests/unit/engine/FakeDriver.h"

#include <gtest/gtest.h>

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

/// An image like those of the fake compiler.
KernelImage image(const AttentionSpec &spec = {}, std::string_view target = "sm_80");

/// Fresh state of both fakes for each test.
struct Test : testing::Test {
  Test();
};

} // namespace tessera::fakes
