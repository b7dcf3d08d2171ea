// TuningLog: what tuning on this machine found best, kept in the cache for every engine that has no bundle to say so.
//
//   <directory>/v1/tuning.jsonl    tuning records, one a line, the newest last
//   <directory>/v1/tuning.lock     there only while one process writes
#pragma once

#include "runtime/cache/DiskCache.h"
#include "runtime/cache/RecordLines.h"

#include <map>
#include <string>
#include <vector>

namespace tessera {

/// The log as it was when it was read (DiskCache::tuningLog), in every mode of the cache but Off. Never an error: what
/// is not sound is not there.
/// Constant, so thread-safe.
class TuningLog {
public:
  static constexpr uint64_t maxBytes = uint64_t(4) << 20; ///< of the file
  static constexpr size_t maxRecords = 4096;              ///< that are kept; beyond them the oldest goes

  explicit TuningLog(std::string_view text);
  /// A log that could not be read.
  TuningLog(CacheMiss fault, std::string detail) : fault_(fault), detail_(std::move(detail)) {}

  /// Why it is empty: Absent, Off, Untrusted, ...; None where it was read.
  CacheMiss fault() const { return fault_; }
  const std::string &detail() const { return detail_; } ///< of the fault, for people, with path and reason
  uint64_t bytes() const { return bytes_; }

  // What is returned stays as long as the log.

  /// The records of this spec: of each device, target and shape the last, in the order of the file.
  const std::vector<TuningRecord> &of(const AttentionSpec &spec) const;
  /// All of them, and what is damaged.
  const RecordLines &all() const { return lines_; }

private:
  uint64_t bytes_ = 0;
  RecordLines lines_;
  std::map<std::string, std::vector<TuningRecord>> bySpec_;
  CacheMiss fault_ = CacheMiss::None;
  std::string detail_;
};

} // namespace tessera
