// Reading and writing whole ranges of files, with the reason where it fails.
#include "autotune/cli/files/ByteSource.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace tessera::files {
namespace {

Status outside(uint64_t offset, uint64_t count, uint64_t size) {
  return Status(Code::File,
                fmt::format("the file ends at byte {}, but bytes {} to {} are needed", size, offset, offset + count));
}

Status failed(std::string_view what) { return Status(Code::File, fmt::format("{}: {}", what, std::strerror(errno))); }

} // namespace

Status MemoryBytes::read(uint64_t offset, std::span<std::byte> into) const {
  if (offset > bytes.size() || into.size() > bytes.size() - offset)
    return outside(offset, into.size(), bytes.size());
  if (!into.empty())
    std::memcpy(into.data(), bytes.data() + offset, into.size());
  return {};
}

Result<FileBytes> FileBytes::open(const std::string &path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); // a FIFO must not hang here
  if (descriptor < 0)
    return failed("cannot open it");
  FileBytes file(descriptor, 0);
  struct stat facts;
  if (::fstat(descriptor, &facts) != 0)
    return failed("cannot examine it");
  if (!S_ISREG(facts.st_mode))
    return Status(Code::File, S_ISDIR(facts.st_mode) ? "it is a folder" : "it is not a regular file",
                  "write the tensor to a file first; pipes and devices are not read");
  file.bytes = uint64_t(facts.st_size);
  return file;
}

FileBytes::FileBytes(FileBytes &&other) noexcept
    : descriptor(std::exchange(other.descriptor, -1)), bytes(other.bytes) {}

FileBytes::~FileBytes() {
  if (descriptor >= 0)
    ::close(descriptor);
}

Status FileBytes::read(uint64_t offset, std::span<std::byte> into) const {
  if (offset > bytes || into.size() > bytes - offset)
    return outside(offset, into.size(), bytes);
  while (!into.empty()) {
    const ssize_t count = ::pread(descriptor, into.data(), into.size(), off_t(offset));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return failed("cannot read it");
    if (count == 0)
      return Status(Code::File, "it became shorter while it was read");
    into = into.subspan(size_t(count));
    offset += uint64_t(count);
  }
  return {};
}

Status writeFile(const std::string &path, std::span<const std::string_view> parts) {
  std::string temporary = path + ".XXXXXX";
  const int descriptor = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0)
    return failed(fmt::format("cannot write {}", path));
  const auto giveUp = [&](std::string_view what) {
    const Status status = failed(fmt::format("cannot {} {}", what, path));
    ::close(descriptor);
    ::unlink(temporary.c_str());
    return status;
  };
  for (std::string_view part : parts)
    while (!part.empty()) {
      const ssize_t count = ::write(descriptor, part.data(), part.size());
      if (count < 0 && errno == EINTR)
        continue;
      if (count < 0)
        return giveUp("write");
      part.remove_prefix(size_t(count));
    }
  const mode_t mask = ::umask(0); // mkostemp made it private; give it the mode that any new file gets
  ::umask(mask);
  if (::fchmod(descriptor, 0666 & ~mask) != 0)
    return giveUp("set the mode of");
  if (::rename(temporary.c_str(), path.c_str()) != 0)
    return giveUp("replace");
  if (::close(descriptor) != 0)
    return failed(fmt::format("cannot finish {}", path));
  return {};
}

} // namespace tessera::files
