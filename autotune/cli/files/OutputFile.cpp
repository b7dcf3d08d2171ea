// New files are made without a name where the file system can, and under a temporary one elsewhere.
#include "autotune/cli/files/OutputFile.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
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

/// A file on the way to its name. Without a name yet where the file system has O_TMPFILE.
class NewFile {
public:
  explicit NewFile(const std::string &path) : path(path), temporary(path + ".XXXXXX") {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    descriptor = ::open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
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

Status writeFile(const std::string &path, std::span<const std::string_view> parts) {
  struct stat facts;
  if (::stat(path.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode)) {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0)
      return failed("write", path);
    bool written = true;
    for (std::string_view part : parts)
      written = written && writeAll(descriptor, part);
    const Status status = written ? Status() : failed("write", path);
    ::close(descriptor);
    return status;
  }
  NewFile file(path);
  if (!file.open())
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
