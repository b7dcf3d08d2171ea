// What the fake compiler records and what it can be told, as a C struct that the test finds by name.
#pragma once

#include <atomic>

struct FakeCompilerState {
  // Told.
  std::atomic<int> delayMs{0};
  std::atomic<int> fail{0};         ///< a tessera_compile_code for every compile
  std::atomic<bool> cubin{true};    ///< images hold a cubin
  std::atomic<bool> garbage{false}; ///< bytes that are no image
  std::atomic<bool> other{false};   ///< an image for another schedule
  std::atomic<bool> warn{false};
  std::atomic<int> build{1};     ///< "fake build 1"
  std::atomic<int> assembler{1}; ///< "fake 1.0"
  char assemblerPath[256] = "";

  // Recorded.
  std::atomic<int> compiles{0};
  std::atomic<int> identityAsked{0}; ///< calls for the build id
  std::atomic<int> running{0};
  std::atomic<int> mostRunning{0};
};
