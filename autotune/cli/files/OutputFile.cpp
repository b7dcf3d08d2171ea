// New files are made without a name where the file system can, and under a temporary one elsewhere.
#include "autotune/cli/files/OutputFile.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace tessera::files {
namespace {

Status failed(std::string_view what, const std::string &path) {
  return Status(Code::File, fmt::format("cannot {} {}: {}", what, path, std::strerror(errno)));
}

bool writeAll(int descriptor, std::string_view part) {
  while (!part.empty()) {
    const ssize_t count = ::write(descriptor, part.data(), part.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return false;
    part.remove_prefix(size_t(count));
  }
  return true;
}

std::string folderOf(const std::string &path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

/// Where a path leads: itself where it is no link; empty for a link to nowhere.
std::string target(const std::string &path) {
  std::error_code error;
  if (!std::filesystem::is_symlink(path, error) || error)
    return path;
  const std::string found = std::filesystem::canonical(path, error).string();
  return error ? std::string() : found;
}

bool isNull(const struct stat &facts) { return S_ISCHR(facts.st_mode) && facts.st_rdev == makedev(1, 3); }

/// A file on the way to its name. Without a name yet where the file system has O_TMPFILE.
class NewFile {
public:
  explicit NewFile(const std::string &path) : path(path), temporary(path + ".XXXXXX") {
    descriptor = ::open(folderOf(path).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    if (descriptor < 0)
      makeNamed();
  }
  ~NewFile() {
    if (descriptor >= 0)
      ::close(descriptor);
    if (named)
      ::unlink(temporary.c_str());
  }

  bool open() const { return descriptor >= 0; }
  /// As the file that it is to replace; the mode last, since a change of owner clears bits of it.
  bool takeAfter(const struct stat &replaced) {
    if (::fchown(descriptor, replaced.st_uid, replaced.st_gid) != 0)
      (void)::fchown(descriptor, uid_t(-1), replaced.st_gid);
    return ::fchmod(descriptor, replaced.st_mode & 0777) == 0;
  }
  bool write(std::string_view part) { return writeAll(descriptor, part); }
  bool giveName() {
    if (!named) {
      const std::string self = fmt::format("/proc/self/fd/{}", descriptor);
      if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0)
        return finish();
      if (errno != EEXIST)
        return false;
      const int placeholder = ::mkostemp(temporary.data(), O_CLOEXEC); // a name that nobody has
      if (placeholder < 0)
        return false;
      ::close(placeholder);
      ::unlink(temporary.c_str());
      if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, temporary.c_str(), AT_SYMLINK_FOLLOW) != 0)
        return false;
      named = true;
    }
    if (::rename(temporary.c_str(), path.c_str()) != 0)
      return false;
    named = false;
    return finish();
  }

private:
  void makeNamed() {
    descriptor = ::mkostemp(temporary.data(), O_CLOEXEC);
    if (descriptor < 0)
      return;
    named = true;
    const mode_t mask = ::umask(0); // mkostemp made it private; give it the mode that any new file gets
    ::umask(mask);
    ::fchmod(descriptor, 0666 & ~mask);
  }
  bool finish() { return ::close(std::exchange(descriptor, -1)) == 0; }

  const std::string &path;
  std::string temporary;
  int descriptor = -1;
  bool named = false;
};

} // namespace

Status checkWritable(const std::string &path) {
  if (path.empty())
    return Status(Code::InvalidArgument, "the name of the file to write is empty", "name a file");
  struct stat facts;
  const bool there = ::stat(path.c_str(), &facts) == 0;
  if (path.ends_with('/') || (there && S_ISDIR(facts.st_mode)))
    return Status(Code::File, fmt::format("cannot write {}: it names a folder", path), "name a file in it");
  if (there && isNull(facts))
    return {};
  if (there && !S_ISREG(facts.st_mode))
    return Status(Code::File,
                  fmt::format("cannot write {}: it is a {} and no plain file", path,
                              S_ISFIFO(facts.st_mode)   ? "pipe"
                              : S_ISSOCK(facts.st_mode) ? "socket"
                                                        : "device"),
                  "a file appears whole under its name: name a plain file");
  const std::string end = target(path), folder = folderOf(end);
  if (end.empty())
    return Status(Code::File, fmt::format("cannot write {}: it is a link to nowhere", path), "name a plain file");
  if (struct stat parent; ::stat(folder.c_str(), &parent) != 0)
    return Status(Code::File, fmt::format("cannot write {}: the folder {}: {}", path, folder, std::strerror(errno)),
                  "make the folder first, or name a file in another");
  return NewFile(end).open() ? Status() : failed("write", path);
}

Status writeFile(const std::string &path, std::span<const std::string_view> parts) {
  if (Status status = checkWritable(path); !status)
    return status;
  struct stat facts;
  const bool there = ::stat(path.c_str(), &facts) == 0;
  if (there && isNull(facts))
    return {};
  const std::string end = target(path);
  NewFile file(end);
  if (!file.open() || (there && !file.takeAfter(facts)))
    return failed("write", path);
  for (std::string_view part : parts)
    if (!file.write(part))
      return failed("write", path);
  return file.giveName() ? Status() : failed("write", path);
}

Status writeOutput(const std::string &path, std::string_view bytes) {
  if (path != "-")
    return writeFile(path, {&bytes, 1});
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size() && std::fflush(stdout) == 0)
    return {};
  return Status(Code::File, "stdout takes no more");
}

Status createFile(const std::string &path, std::string_view bytes, mode_t mode) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
  if (descriptor < 0)
    return errno == EEXIST
               ? Status(Code::File, fmt::format("{} exists already", path), "name another file, or remove it")
               : failed("make", path);
  const bool written = writeAll(descriptor, bytes) && ::fsync(descriptor) == 0;
  const Status status = written ? Status() : failed("write", path);
  ::close(descriptor);
  if (!written)
    ::unlink(path.c_str());
  return status;
}

bool sameFile(const std::string &a, const std::string &b) {
  std::error_code error;
  return std::filesystem::equivalent(a, b, error) && !error;
}

} // namespace tessera::files
