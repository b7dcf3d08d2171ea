// Taking, waiting for and giving back locks.
#include "runtime/cache/FileLock.h"

#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <thread>
#include <unistd.h>

namespace tessera::detail {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds firstPause{1}, longestPause{50};

/// Whether the open file is the one that has the name now.
bool hasName(FileSystem &files, int file, const std::string &path) {
  struct stat opened{}, named{};
  return files.status(file, opened) == 0 && files.statusOf(path, named) == 0 && opened.st_ino == named.st_ino &&
         opened.st_dev == named.st_dev;
}

} // namespace

FileLock::FileLock(FileSystem &files, std::string path, int file)
    : files_(files), path_(std::move(path)), file_(file), owner_(::getpid()) {}

FileLock::~FileLock() {
  if (::getpid() == owner_)
    files_.remove(path_); // frees the name even where a forked child keeps the file open
  files_.close(file_);
}

FileLock::Taken FileLock::take(FileSystem &files, const std::string &path, unsigned waitMs) {
  const Clock::time_point deadline = Clock::now() + std::chrono::milliseconds(waitMs);
  auto pause = firstPause;
  int file = -1;
  for (;;) {
    if (file < 0) {
      file = files.open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
      if (file < 0)
        return {};
    }
    const int locked = files.lock(file);
    if (locked == 0 && hasName(files, file, path))
      return {std::unique_ptr<FileLock>(new FileLock(files, path, file)), Outcome::Held};
    const bool busy = locked == 0 || locked == -EWOULDBLOCK || locked == -EINTR;
    if (locked == 0 || !busy || Clock::now() >= deadline) {
      files.close(file);
      file = -1;
    }
    if (!busy)
      return {};
    if (Clock::now() >= deadline)
      return {nullptr, Outcome::Busy};
    std::this_thread::sleep_for(std::min<Clock::duration>(pause, deadline - Clock::now()));
    pause = std::min(2 * pause, longestPause);
  }
}

int removeUnheld(FileSystem &files, const std::string &path) {
  const int file = files.open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0);
  if (file < 0)
    return file;
  struct stat status{};
  int error = files.status(file, status);
  if (error == 0 && (!S_ISREG(status.st_mode) || uint32_t(status.st_uid) != files.user()))
    error = -EPERM;
  // Where there are no locks nobody holds one; a writer that loses its file so fails quietly.
  if (error == 0 && files.lock(file) == -EWOULDBLOCK)
    error = -EWOULDBLOCK;
  if (error == 0)
    error = hasName(files, file, path) ? files.remove(path) : -ENOENT;
  files.close(file);
  return error;
}

} // namespace tessera::detail
