// TrustedFile: what makes a file or folder of the cache worth reading, and the one way in which it is written.
#pragma once

#include "runtime/cache/DiskCache.h"

namespace tessera::detail {

/// "ENOSPC" as people read it.
std::string errorText(int error);

/// Whether an error that a write met says nothing about the next one: another process was quicker, a network file
/// system was behind, or something stands in the way of this one name.
bool isPassing(int error);

/// One file opened for reading: plain, of this user, writable by nobody else. The first fault is kept, and nothing is
/// read after it.
class TrustedFile {
public:
  /// A larger file than `maxBytes` is Malformed.
  TrustedFile(FileSystem &files, const std::string &path, uint64_t maxBytes);
  ~TrustedFile();
  TrustedFile(const TrustedFile &) = delete;
  TrustedFile &operator=(const TrustedFile &) = delete;

  CacheMiss fault() const { return fault_; }
  const std::string &detail() const { return detail_; }
  uint64_t size() const { return size_; }
  int64_t stamp() const { return stamp_; } ///< last use, seconds since 1970

  /// The next `bytes` of the file, fewer at its end.
  std::string read(uint64_t bytes);
  /// Sets the stamp; a fault of it means nothing.
  void touch(int64_t seconds);

private:
  void open(uint64_t maxBytes);
  void fail(CacheMiss fault, std::string what);

  FileSystem &files_;
  std::string path_, detail_;
  CacheMiss fault_ = CacheMiss::None;
  int file_ = -1;
  uint64_t size_ = 0;
  int64_t stamp_ = 0;
};

struct FolderVerdict {
  CacheMiss fault = CacheMiss::None; ///< None: usable; else Absent, Untrusted or Unreadable
  int error = 0;                     ///< of Absent and Unreadable: -errno
  std::string why;                   ///< of Untrusted with the one thing to do, of Unreadable the error; without path
};
/// Whether a folder is this user's and nobody else can write to it. A symbolic link of this user's may lead to it where
/// `mayBeLink`.
FolderVerdict judgeFolder(FileSystem &files, const std::string &path, bool mayBeLink);

/// Writes `<folder>/<stem><suffix>` whole or not at all, over whatever it was: temporary file beside it, fsync, rename.
/// 0 or -errno.
int replaceFile(FileSystem &files, const std::string &folder, const std::string &stem, const std::string &suffix,
                std::string_view bytes);

} // namespace tessera::detail
