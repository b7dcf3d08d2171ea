// BundleIndex: what a bundle says about its images without opening any of them.
#pragma once

#include "runtime/image/Digest.h"
#include "runtime/spec/CodeTarget.h"
#include "runtime/spec/TuningRecord.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// One image of a bundle. Spec and schedule are canonical texts, which compare without being parsed.
struct BundleEntry {
  std::string_view spec, schedule; ///< of the index that holds the entry
  CodeTarget target;
  uint64_t offset = 0, size = 0; ///< bytes of the image within the bundle
  Digest digest{};               ///< of the image's bytes
  uint32_t sharedBytes = 0;      ///< dynamic, per block
  uint32_t blockThreads = 0;
  uint32_t registers = 0; ///< per thread; 0: not known (no cubin)
  uint32_t clusterBlocks = 1;
  uint32_t ptxVersion = 0; ///< 80 for PTX 8.0; 0: the PTX was stripped
  uint32_t cubinBytes = 0; ///< 0: none
};

/// Sorted by spec, target and schedule; no two entries have all three in common. Immutable.
struct BundleIndex {
  std::vector<std::string> specs, schedules; ///< of entries and records; sorted, unique; entries point into them
  std::vector<BundleEntry> entries;
  std::vector<TuningRecord> records; ///< the choices that travel with the images; sorted by spec, target, device, shape
  std::vector<std::string> builds;   ///< build ids of the compilers that made them, sorted, unique

  BundleIndex() = default;
  BundleIndex(BundleIndex &&) = default;
  BundleIndex &operator=(BundleIndex &&) = default;
  BundleIndex(const BundleIndex &) = delete; // entries point into its strings

  /// The entries of one spec.
  std::span<const BundleEntry> find(std::string_view specText) const;
};

} // namespace tessera
