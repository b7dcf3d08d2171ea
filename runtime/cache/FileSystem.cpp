// The machine's own file system, by POSIX calls.
#include "runtime/cache/FileSystem.h"

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <string_view>
#include <sys/file.h>
#include <unistd.h>

namespace tessera {
namespace {

template <typename T> T orError(T value) { return value < 0 ? T(-errno) : value; }

class PosixFileSystem final : public FileSystem {
public:
  int makeFolder(const std::string &path, mode_t mode) override { return orError(::mkdir(path.c_str(), mode)); }
  int open(const std::string &path, int flags, mode_t mode) override {
    return orError(::open(path.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, mode));
  }
  int64_t read(int file, void *bytes, size_t size) override { return orError<int64_t>(::read(file, bytes, size)); }
  int64_t write(int file, const void *bytes, size_t size) override {
    return orError<int64_t>(::write(file, bytes, size));
  }
  int sync(int file) override { return orError(::fsync(file)); }
  int close(int file) override { return orError(::close(file)); }
  int status(int file, struct stat &status) override { return orError(::fstat(file, &status)); }
  int statusOf(const std::string &path, struct stat &status) override {
    return orError(::lstat(path.c_str(), &status));
  }
  int rename(const std::string &from, const std::string &to) override {
    return orError(::rename(from.c_str(), to.c_str()));
  }
  int remove(const std::string &path) override { return orError(::unlink(path.c_str())); }
  int removeFolder(const std::string &path) override { return orError(::rmdir(path.c_str())); }
  int touch(int file, int64_t seconds) override {
    const timespec both[2] = {{time_t(seconds), 0}, {time_t(seconds), 0}};
    return orError(::futimens(file, both));
  }
  int lock(int file) override { return orError(::flock(file, LOCK_EX | LOCK_NB)); }
  int list(const std::string &path, std::vector<std::string> &names) override;
  uint32_t user() override { return ::geteuid(); }
  int64_t now() override { return int64_t(::time(nullptr)); }
};

int PosixFileSystem::list(const std::string &path, std::vector<std::string> &names) {
  const int file = open(path, O_RDONLY | O_DIRECTORY, 0);
  if (file < 0)
    return file;
  DIR *folder = ::fdopendir(file);
  if (!folder) {
    const int error = errno;
    ::close(file);
    return -error;
  }
  errno = 0; // readdir tells the end from a fault by nothing else
  while (const dirent *entry = ::readdir(folder)) {
    if (std::string_view name = entry->d_name; name != "." && name != "..")
      names.emplace_back(name);
    errno = 0;
  }
  const int error = errno;
  ::closedir(folder);
  return -error;
}

} // namespace

FileSystem &FileSystem::real() {
  static auto &files = *new PosixFileSystem; // never destroyed: a cache may outlive every other static
  return files;
}

} // namespace tessera
