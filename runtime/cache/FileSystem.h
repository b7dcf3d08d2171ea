// FileSystem: the few calls that the disk cache makes, behind an interface so that tests can let each of them fail.
#pragma once

#include <cstdint>
#include <string>
#include <sys/stat.h>
#include <vector>

namespace tessera {

/// Thin over POSIX: every call returns 0 or a value that is not negative, or -errno. What is opened follows no final
/// symbolic link and is closed in programs that this one starts. Thread-safe, and safe after fork.
class FileSystem {
public:
  virtual ~FileSystem() = default;

  virtual int makeFolder(const std::string &path, mode_t mode) = 0; ///< mkdir
  virtual int open(const std::string &path, int flags, mode_t mode) = 0;
  virtual int64_t read(int file, void *bytes, size_t size) = 0;
  virtual int64_t write(int file, const void *bytes, size_t size) = 0;
  virtual int sync(int file) = 0; ///< fsync
  virtual int close(int file) = 0;
  virtual int status(int file, struct stat &status) = 0;
  virtual int statusOf(const std::string &path, struct stat &status) = 0; ///< lstat
  virtual int rename(const std::string &from, const std::string &to) = 0;
  virtual int remove(const std::string &path) = 0;       ///< unlink
  virtual int removeFolder(const std::string &path) = 0; ///< rmdir
  virtual int touch(int file, int64_t seconds) = 0;      ///< futimens, both stamps
  virtual int lock(int file) = 0;                        ///< flock, exclusive; -EWOULDBLOCK where it is held
  virtual int list(const std::string &path, std::vector<std::string> &names) = 0; ///< without "." and ".."
  virtual uint32_t user() = 0;                                                    ///< geteuid
  virtual int64_t now() = 0; ///< seconds since 1970; may go backwards

  /// The machine's own. Lives as long as the process.
  static FileSystem &real();
};

} // namespace tessera
