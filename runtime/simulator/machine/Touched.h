// Touched: the bytes of global memory that a launch reads and writes, each once, for the least that it must move.
#pragma once

#include "runtime/simulator/Machine.h"

#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <shared_mutex>

namespace tessera::sim::machine {

/// One bit for every byte of the allocations that the launch touches; thread-safe.
class Touched {
public:
  explicit Touched(GlobalMemory &memory);

  /// Marks bytes within one allocation; does nothing where there is none.
  void mark(uint64_t address, uint64_t bytes, bool reads, bool writes);
  /// When all blocks are done.
  Footprint sum() const;

private:
  using Word = std::atomic<uint64_t>;
  struct Release {
    void operator()(Word *words) const { std::free(words); }
  };
  using Bits = std::unique_ptr<Word[], Release>;
  struct Map {
    uint64_t base = 0, size = 0;
    Bits read, written;
  };
  Map *mapOf(uint64_t address);

  GlobalMemory &memory_;
  const uint64_t serial_; ///< of this object, for what threads remember
  std::shared_mutex mutex_;
  std::map<uint64_t, Map> maps_; ///< by base
};

} // namespace tessera::sim::machine
