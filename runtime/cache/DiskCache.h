// DiskCache: a directory of kernel images that many processes share, each entry one file named by the digest of its
// key.
//
//   <directory>/v1/<2 hex>/<64 hex>.tski                an entry: a serialised KernelImage
//                         /<64 hex>.lock                KeyLock, there only while it is held
//                         /<64 hex>.<pid>-<random>.tmp  an entry that is being written
//   <directory>/v1/notes/<64 hex>.note                  a note of the engine
//   <directory>/v1/tuning.jsonl                         what was found best by tuning, see TuningLog
//   <directory>/v1/clean.lock                           held while one process trims
#pragma once

#include "runtime/cache/CacheOptions.h"
#include "runtime/cache/FileSystem.h"
#include "runtime/image/KernelImage.h"

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tessera {

class TuningLog;
struct TuningRecord;

/// Why a wanted image did not come from the disk.
enum class CacheMiss : uint8_t {
  None,       ///< it did come
  Off,        ///< mode off or refresh, or no usable directory
  Absent,     ///< no entry of this key
  Untrusted,  ///< it or its folder is not plainly ours alone to write: a symlink, another kind, a foreign owner or mode
  Malformed,  ///< short, changed, oversize, or not an image
  OtherKey,   ///< an image of another key under this name
  Unreadable, ///< the file system refused (EACCES, EIO, ESTALE, ...)
};
constexpr unsigned cacheMissCount = unsigned(CacheMiss::Unreadable) + 1;
std::string_view name(CacheMiss miss); ///< none, off, absent, untrusted, malformed, other-key, unreadable

/// What happened in one DiskCache since it was opened.
struct CacheCounters {
  uint64_t hits = 0;
  std::array<uint64_t, cacheMissCount> misses{}; ///< by CacheMiss
  uint64_t stores = 0;                           ///< entries written
  uint64_t failedStores = 0;
  uint64_t bytesRead = 0;
  uint64_t bytesWritten = 0;
  uint64_t evicted = 0; ///< entries removed by trimming

  uint64_t allMisses() const;
};

/// One file of the cache as `cache list` shows it.
struct CacheEntry {
  std::string path; ///< absolute
  std::string hash; ///< 64 hexadecimal digits, the file's name
  uint64_t bytes = 0;
  int64_t lastUse = 0; ///< seconds since 1970, exact to the hour
};

/// Thread-safe, and safe among processes. No call fails: a fault on reading is a miss, a fault on writing turns writing
/// off for this object with one warning. Entries are complete or not there; an entry is only loaded after its digest,
/// its whole key text, its owner and its mode have been checked.
class DiskCache {
public:
  /// The form of the entries, and the folder that holds those of this form.
  static constexpr std::string_view schema = "v1";

  /// `warn` receives at most one sentence in the life of the object, from any thread. A cache without usable directory
  /// is Off and says why in its warning.
  static std::shared_ptr<DiskCache> open(const CacheOptions &options,
                                         std::function<void(const std::string &)> warn = {},
                                         FileSystem &files = FileSystem::real());
  ~DiskCache();

  /// What it still does: Off once the directory has proved unusable, and without writing (ro for rw, off for refresh)
  /// once a write has failed.
  CacheMode mode() const;
  CacheMode modeAskedFor() const;       ///< by options or environment; Off where what they say is no mode
  const std::string &directory() const; ///< empty: none
  uint64_t maxBytes() const;

  struct Lookup {
    std::optional<KernelImage> image;
    CacheMiss miss = CacheMiss::None;
    std::string detail; ///< of a miss, for people, with path and reason; empty for Absent
  };
  /// The image of this key text. `again`: a second look for one request, which counts as a hit but not as a miss.
  Lookup find(const std::string &keyText, bool again = false);

  /// Keeps an image: temporary file in the same folder, fsync, rename. Trims when the cache has grown past its size.
  void store(const KernelImage &image);

  /// Held while one process compiles a key, so that others need not. Released by destruction and by the death of the
  /// process.
  class KeyLock {
  public:
    virtual ~KeyLock() = default;
  };
  /// Waits at most `waitMs` for the lock of this key; null where it was not to be had, the file system has no locks, or
  /// the cache does not write: the caller compiles anyway.
  std::unique_ptr<KeyLock> lock(const std::string &keyText, unsigned waitMs);

  /// A short text that the engine keeps beside the kernels, by name; in and out as carefully as an entry, but neither
  /// hit nor miss nor counted. Nothing where there is none that is sound.
  std::optional<std::string> note(const std::string &name);
  /// Replaces the note of this name; at most 64 KiB are kept.
  void keepNote(const std::string &name, const std::string &text);

  /// The tuning log, read by this call as carefully as an entry; never null, and empty with the reason where it cannot
  /// be read or the mode does not read.
  std::shared_ptr<const TuningLog> tuningLog() const;
  /// Adds records to it, which replace those of the same spec, device, target and shape. Lines of another version of
  /// Tessera (RecordLines::foreign) are carried along, at most half the log; damaged ones are dropped with a warning;
  /// without records both are, without one: that is how the log is mended. The oldest go beyond TuningLog::maxRecords.
  /// Safe among processes. File with the reason where they are not kept: what stands in the
  /// place of the log and is not plainly ours is never replaced.
  Status keepTuning(std::span<const TuningRecord> records);
  /// Where it is or would be; empty: nowhere.
  std::string tuningPath() const;

  CacheCounters counters() const;

  // What follows serves people: it works in every mode as long as there is a usable directory, and removes only where
  // the cache was opened to write. What could not be listed is missing from the answer: `failure` receives the first
  // such folder or file and the reason, "PATH: Permission denied", and stays as it is where all was seen.

  /// Every entry, least recently used first.
  std::vector<CacheEntry> entries(std::string *failure = nullptr) const;

  struct Key {
    CacheEntry entry;
    std::string keyText;
  };
  /// The key of every entry that has a sound header, read without its code; for explanations, not for loading.
  std::vector<Key> keys(std::string *failure = nullptr) const;

  struct Verdict {
    CacheEntry entry;
    CacheMiss fault = CacheMiss::None; ///< None: sound
    std::string detail;   ///< with path and reason; where it should have been removed and was not, with that reason too
    bool removed = false; ///< it is gone
  };
  /// Reads every entry whole; with `remove`, unsound ones are deleted, but not those that the file system did not hand
  /// out, nor a folder with something in it.
  std::vector<Verdict> verify(bool remove, std::string *failure = nullptr);

  struct Removed {
    uint64_t entries = 0, bytes = 0;
    uint64_t leftovers = 0; ///< temporary and lock files of processes that are gone
    bool tuning = false;    ///< the tuning log: by clear() alone
    uint64_t failed = 0;    ///< what should have gone and stayed, and folders that could not be listed
    std::string failure;    ///< the first of these and the reason, "PATH: Read-only file system"; empty: none
  };
  /// Removes the least recently used entries until at most `bytes` are left. One process trims at a time; a second one
  /// returns at once with nothing removed, and says so in `failure`.
  Removed trimTo(uint64_t bytes);
  /// Removes everything that the cache has written, in every schema version; files of others stay.
  Removed clear();

private:
  struct State;
  explicit DiskCache(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

} // namespace tessera
