// FileLock: a lock between processes that dies with its holder.
#pragma once

#include "runtime/cache/DiskCache.h"

namespace tessera::detail {

/// flock on a file made for it. The file is removed by the holder while it still holds the lock, and whoever gets a
/// lock looks whether its file still has the name: if not, it locked a removed file and begins again. So no two hold
/// one name, and no files pile up.
class FileLock final : public DiskCache::KeyLock {
public:
  enum class Outcome : uint8_t { Held, Busy, Unavailable };
  struct Taken {
    std::unique_ptr<FileLock> lock;         ///< null unless Held
    Outcome outcome = Outcome::Unavailable; ///< Unavailable: the file system refused the file or has no locks
  };
  /// Waits at most `waitMs`, by a clock that nobody sets.
  static Taken take(FileSystem &files, const std::string &path, unsigned waitMs);
  ~FileLock() override;

private:
  FileLock(FileSystem &files, std::string path, int file);

  FileSystem &files_;
  std::string path_;
  int file_;
  int owner_; ///< process; a forked child shares the lock but must not give it away
};

/// Removes a temporary or lock file of this user's that no process holds. 0 or -errno: -EWOULDBLOCK where one does.
int removeUnheld(FileSystem &files, const std::string &path);

} // namespace tessera::detail
