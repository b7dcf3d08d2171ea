// What the fake driver records and what it can be told, as a C struct that the test finds by name.
#pragma once

#include <atomic>
#include <cstdint>

struct FakeDriverState {
  // Told.
  std::atomic<int> refuseCubins{0}; ///< CUDA_ERROR_NO_BINARY_FOR_GPU for every cubin
  std::atomic<int> failLaunches{0}; ///< a CUresult for every launch
  std::atomic<int> maxThreads{1024};
  int parameterCount = 0;
  unsigned parameterBytes[32] = {}; ///< 4 or 8

  // Recorded.
  std::atomic<int> launches{0};
  std::atomic<int> cubinsLoaded{0};
  std::atomic<int> ptxLoaded{0};
  std::atomic<int> modulesUnloaded{0};
  std::atomic<unsigned> allowedShared{0};
  uint64_t values[32] = {}; ///< of the last launch; the bytes beyond a parameter's size are 0
  unsigned grid[3] = {}, block[3] = {}, shared = 0;
  void *stream = nullptr;
  void *contextAtLaunch = nullptr;
};
