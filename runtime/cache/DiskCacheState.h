// The state of a DiskCache. It holds no mutex, so that a forked child finds it usable whatever other threads did.
#pragma once

#include "runtime/cache/CacheLayout.h"
#include "runtime/cache/TrustedFile.h"

#include <atomic>

namespace tessera {

struct DiskCache::State {
  static constexpr uint64_t unknownSize = UINT64_MAX;
  static constexpr uint64_t maxEntryBytes = uint64_t(136) << 20; ///< two full sections of an image and its metadata
  static constexpr uint64_t maxNoteBytes = uint64_t(64) << 10;
  static constexpr int64_t stampSeconds = 3600; ///< how exact stamps are, and when leftovers count as left over

  State(FileSystem &files, std::function<void(const std::string &)> warn) : files(files), warn(std::move(warn)) {}

  FileSystem &files;
  const std::function<void(const std::string &)> warn;
  CacheMode opened = CacheMode::Off; ///< as asked for
  uint64_t maxBytes = 0;
  detail::CacheLayout layout;

  std::atomic<bool> warned{false};
  std::atomic<bool> checked{false};  ///< the folders were looked at and are usable
  std::atomic<bool> unusable{false}; ///< there is no folder, or it is not ours alone
  std::atomic<bool> writing{false};
  std::atomic<uint64_t> size{unknownSize}; ///< of all entries: counted once, then estimated

  struct Counters {
    std::atomic<uint64_t> hits{0}, stores{0}, failedStores{0}, bytesRead{0}, bytesWritten{0}, evicted{0};
    std::array<std::atomic<uint64_t>, cacheMissCount> misses{};
  } counters;

  bool readsEntries() const { return opened == CacheMode::ReadWrite || opened == CacheMode::ReadOnly; }
  bool mayRemove() const { return opened == CacheMode::ReadWrite || opened == CacheMode::Refresh; }

  /// The first sentence is passed on, later ones are dropped.
  void warnOnce(const std::string &sentence);
  void turnOff(const std::string &why);

  /// Looks at the folder of the cache and that of the version until they have once been found usable: None, Absent, or
  /// Off.
  CacheMiss folders();

  /// Reads an entry and checks it, its key only against `wanted`, if there is one: that is a use, and sets the stamp.
  Lookup read(const std::string &path, const std::string *wanted);

  /// Writes one file below the version folder, makes the folders where they are missing, and turns writing off where
  /// the file system refuses. Whether the file stands.
  /// `why`, if there is one, receives the reason where it does not.
  bool write(const std::string &folder, const std::string &stem, std::string_view suffix, std::string_view bytes,
             std::string *why = nullptr);
  /// The tuning log, in any mode.
  std::shared_ptr<const TuningLog> readTuning();
  /// Turns writing off where this error will be met again.
  void giveUpWriting(const std::string &folder, int error);
  /// Adds to the size, and trims where it has become too large.
  void grow(uint64_t bytes);
  /// Trims to `target` if there is more than `limit`.
  Removed sweep(uint64_t limit, uint64_t target);
  uint64_t countBytes();
  std::vector<CacheEntry> list(detail::Failures &failures);
};

} // namespace tessera
