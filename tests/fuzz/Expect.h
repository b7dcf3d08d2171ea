// Expect: how a fuzzer says that a promise of the library was broken, which is a finding like a fault of memory.
#pragma once

#include <cstdlib>
#include <fmt/format.h>
#include <string_view>

namespace tessera::fuzz {

/// Ends the fuzzer with the sentence that does not hold.
inline void expect(bool holds, std::string_view promise, std::string_view detail = {}) {
  if (holds)
    return;
  fmt::print(stderr, "ERROR: broken promise: {}\n{}\n", promise, detail);
  std::abort();
}

} // namespace tessera::fuzz
