// EngineCounters: what an engine has done since it was created.
#pragma once

#include "runtime/cache/DiskCache.h"

#include <cstdint>

namespace tessera {

struct EngineCounters {
  uint64_t memoryHits = 0;    ///< prepares answered by a loaded kernel, those that waited for another thread included
  uint64_t bundleHits = 0;    ///< kernels loaded from a bundle
  uint64_t diskHits = 0;      ///< kernels loaded from the disk cache
  uint64_t compiles = 0;      ///< kernels compiled
  uint64_t failures = 0;      ///< prepares that ended in an error
  uint64_t bundleMisses = 0;  ///< requests that no opened bundle could serve
  uint64_t evictions = 0;     ///< loaded kernels dropped to stay within EngineOptions::maxKernels
  uint64_t loadedKernels = 0; ///< held in memory now
  CacheCounters disk;         ///< misses by reason, bytes
};

} // namespace tessera
