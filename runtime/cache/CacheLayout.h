// CacheLayout: which files a cache consists of, and the walk over those that are there.
#pragma once

#include "runtime/cache/DiskCache.h"

#include <functional>
#include <string>
#include <string_view>

namespace tessera::detail {

enum class CacheFileKind : uint8_t { Entry, Note, Tuning, Temporary, Lock };

struct CacheFile {
  std::string path;
  std::string hash; ///< of Entry
  CacheFileKind kind = CacheFileKind::Entry;
  struct stat status{}; ///< of the file itself, not of what it links to
};

/// Paths below one cache folder.
struct CacheLayout {
  std::string directory; ///< absolute; empty: no cache

  static constexpr std::string_view entrySuffix = ".tski", noteSuffix = ".note";

  std::string version() const { return directory + "/" + std::string(DiskCache::schema); }
  std::string folderOf(const std::string &hash) const { return version() + "/" + hash.substr(0, 2); }
  std::string entry(const std::string &hash) const { return folderOf(hash) + "/" + hash + std::string(entrySuffix); }
  std::string lock(const std::string &hash) const { return folderOf(hash) + "/" + hash + ".lock"; }
  std::string notes() const { return version() + "/notes"; }
  std::string note(const std::string &hash) const { return notes() + "/" + hash + std::string(noteSuffix); }
  std::string tuning() const { return version() + "/tuning.jsonl"; }
  std::string tuningLock() const { return version() + "/tuning.lock"; }
  std::string cleanerLock() const { return version() + "/clean.lock"; }
};

/// What failed while the rest went on.
struct Failures {
  uint64_t count = 0;
  std::string first; ///< "PATH: Permission denied"

  void add(std::string what); ///< with path and reason
  void add(const std::string &path, int error);
};

/// Makes `folder`, the folders of the layout above it and those above the layout, each 0700. 0 or -errno.
int makeFolders(FileSystem &files, const std::string &folder);

/// The version folders ("v1", "v2", ...) in a cache folder.
std::vector<std::string> versionFolders(FileSystem &files, const std::string &directory, Failures &failures);

/// Calls `each` for every file that has a name of the cache's, in any order. A folder that DiskCache::find would not
/// trust is not entered either; it and what cannot be listed are failures. Returns the folders that were entered, the
/// version folder last.
std::vector<std::string> walkCache(FileSystem &files, const std::string &version, Failures &failures,
                                   const std::function<void(const CacheFile &)> &each);

} // namespace tessera::detail
