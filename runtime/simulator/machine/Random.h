// Random: the generator that seeds decide by.
#pragma once

#include <cstdint>

namespace tessera::sim::machine {

/// SplitMix64: any state is a good one.
struct Random {
  uint64_t state = 0;

  static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  uint64_t next() { return mix(state += 0x9e3779b97f4a7c15); }
  /// Of 0 … limit - 1.
  uint64_t below(uint64_t limit) { return next() % limit; }
};

} // namespace tessera::sim::machine
