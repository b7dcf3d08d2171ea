// Reading and writing single files of the cache.
#include "runtime/cache/TrustedFile.h"

#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <system_error>
#include <unistd.h>

namespace tessera::detail {
namespace {

constexpr std::string_view ownFolder = "set TESSERA_CACHE_DIR to a folder of your own";
constexpr mode_t othersWrite = S_IWGRP | S_IWOTH;

/// Repeats a call that a signal interrupted.
template <typename Call> auto uninterrupted(Call call) {
  auto result = call();
  while (result == -EINTR)
    result = call();
  return result;
}

std::string foreignText(const struct stat &status, uint32_t user) {
  if (status.st_uid != user)
    return fmt::format("belongs to user {}, not to {}", status.st_uid, user);
  return fmt::format("can be written by others (mode {:04o})", status.st_mode & 07777);
}

bool isForeign(const struct stat &status, uint32_t user) {
  return status.st_uid != user || (status.st_mode & othersWrite);
}

int writeAll(FileSystem &files, int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const int64_t wrote = files.write(file, bytes.data(), bytes.size());
    if (wrote == -EINTR)
      continue;
    if (wrote <= 0)
      return wrote ? int(wrote) : -EIO; // a file system that takes nothing would be asked for ever
    bytes.remove_prefix(size_t(wrote));
  }
  return uninterrupted([&] { return files.sync(file); });
}

/// Unique among threads, forked children (which inherit all but the process number) and hosts with one home.
std::string temporaryPath(const std::string &folder, const std::string &stem) {
  uint64_t random = 0;
  if (::getrandom(&random, sizeof random, GRND_NONBLOCK) != ssize_t(sizeof random))
    random = uint64_t(std::chrono::steady_clock::now().time_since_epoch().count()); // O_EXCL finds a clash
  return fmt::format("{}/{}.{}-{:016x}.tmp", folder, stem, ::getpid(), random);
}

/// rename, also over a folder in the way if that is empty.
int renameOver(FileSystem &files, const std::string &from, const std::string &to) {
  const int error = files.rename(from, to);
  if ((error == -EISDIR || error == -ENOTEMPTY || error == -EEXIST) && files.removeFolder(to) == 0)
    return files.rename(from, to);
  return error;
}

} // namespace

std::string errorText(int error) { return std::generic_category().message(error < 0 ? -error : error); }

bool isPassing(int error) {
  switch (-error) {
  case EEXIST:
  case ENOENT:
  case ENOTEMPTY:
  case EISDIR:
  case EBUSY:
  case ESTALE:
  case EAGAIN:
  case EINTR:
  case EMFILE:
  case ENFILE:
  case ENOMEM:
    return true;
  default:
    return false;
  }
}

TrustedFile::TrustedFile(FileSystem &files, const std::string &path, uint64_t maxBytes) : files_(files), path_(path) {
  open(maxBytes);
}

void TrustedFile::open(uint64_t maxBytes) {
  // O_NONBLOCK: opening a FIFO would wait for its writer.
  auto opened = [&] { return files_.open(path_, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0); };
  file_ = uninterrupted(opened);
  if (file_ == -ESTALE) // a network file system that remembered a replaced file: it asks again now
    file_ = uninterrupted(opened);
  if (file_ == -ENOENT)
    return void(fault_ = CacheMiss::Absent);
  if (file_ == -ELOOP)
    return fail(CacheMiss::Untrusted, "is a symbolic link");
  if (file_ == -ENXIO)
    return fail(CacheMiss::Untrusted, "is not a plain file"); // a socket
  if (file_ < 0)
    return fail(CacheMiss::Unreadable, errorText(file_));
  struct stat status{};
  if (int error = files_.status(file_, status); error < 0)
    return fail(CacheMiss::Unreadable, errorText(error));
  if (!S_ISREG(status.st_mode))
    return fail(CacheMiss::Untrusted, "is not a plain file");
  if (const uint32_t user = files_.user(); isForeign(status, user))
    return fail(CacheMiss::Untrusted, foreignText(status, user));
  size_ = uint64_t(status.st_size);
  stamp_ = int64_t(status.st_mtime);
  if (size_ > maxBytes)
    fail(CacheMiss::Malformed, fmt::format("has {} bytes, more than any has: at most {}", size_, maxBytes));
}

TrustedFile::~TrustedFile() {
  if (file_ >= 0)
    files_.close(file_);
}

void TrustedFile::fail(CacheMiss fault, std::string what) {
  fault_ = fault;
  detail_ = fmt::format("{}: {}", path_, what);
}

void TrustedFile::touch(int64_t seconds) {
  if (file_ >= 0)
    files_.touch(file_, seconds);
}

std::string TrustedFile::read(uint64_t bytes) {
  std::string content(fault_ == CacheMiss::None ? std::min(bytes, size_) : 0, '\0');
  size_t filled = 0;
  while (filled < content.size()) {
    const int64_t got =
        uninterrupted([&] { return files_.read(file_, content.data() + filled, content.size() - filled); });
    if (got < 0)
      fail(CacheMiss::Unreadable, errorText(int(got)));
    if (got <= 0)
      break;
    filled += size_t(got);
  }
  content.resize(filled);
  return content;
}

FolderVerdict judgeFolder(FileSystem &files, const std::string &path, bool mayBeLink) {
  auto untrusted = [](const std::string &what, std::string_view remedy) {
    return FolderVerdict{CacheMiss::Untrusted, 0, fmt::format("{}; {}", what, remedy)};
  };
  auto statusOf = [&](const std::string &of, struct stat &status) {
    const int error = uninterrupted([&] { return files.statusOf(of, status); });
    return error == -ESTALE ? files.statusOf(of, status) : error; // as for files
  };
  // Inside the cache the user can remove what is in the way; the cache itself is better put elsewhere.
  const std::string_view remove = mayBeLink ? ownFolder : "remove it";
  const uint32_t user = files.user();
  struct stat status{};
  int error = statusOf(path, status);
  if (error == 0 && S_ISLNK(status.st_mode)) {
    if (!mayBeLink)
      return untrusted("is a symbolic link", remove);
    if (status.st_uid != user)
      return untrusted(fmt::format("is a symbolic link that {}", foreignText(status, user)), ownFolder);
    error = statusOf(path + "/.", status);
    if (error == -ENOENT)
      return untrusted("is a symbolic link to a folder that does not exist", "make the folder");
    if (error == -ENOTDIR)
      return untrusted("is a symbolic link to something that is not a folder", ownFolder);
  }
  if (error < 0)
    return {error == -ENOENT ? CacheMiss::Absent : CacheMiss::Unreadable, error, errorText(error)};
  if (!S_ISDIR(status.st_mode))
    return untrusted("is not a folder", remove);
  if (status.st_uid != user)
    return untrusted(foreignText(status, user), ownFolder);
  if (status.st_mode & othersWrite)
    return untrusted(foreignText(status, user), fmt::format("run: chmod go-w '{}'", path));
  return {};
}

int replaceFile(FileSystem &files, const std::string &folder, const std::string &stem, const std::string &suffix,
                std::string_view bytes) {
  const std::string temporary = temporaryPath(folder, stem);
  const int file =
      uninterrupted([&] { return files.open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600); });
  if (file < 0)
    return file;
  files.lock(file); // tells a cleaner that this one is alive; where there are no locks, its age does
  int error = writeAll(files, file, bytes);
  // Network file systems report a full quota here; an interrupted close has closed.
  if (int closed = files.close(file); error == 0 && closed != -EINTR)
    error = closed;
  if (error == 0)
    error = renameOver(files, temporary, folder + "/" + stem + suffix);
  if (error < 0)
    files.remove(temporary);
  return error;
}

} // namespace tessera::detail
