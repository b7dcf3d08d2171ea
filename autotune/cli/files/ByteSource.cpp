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
                  "write it to a regular file first; pipes and devices are not read");
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

Result<std::string> readWhole(const std::string &path, uint64_t mostBytes) {
  const Result<FileBytes> file = FileBytes::open(path);
  if (!file)
    return Status(file.status().code(), fmt::format("{}: {}", path, file.status().message()), file.status().hint());
  if (file->size() > mostBytes)
    return Status(Code::File, fmt::format("{} has {} bytes; at most {} are read", path, file->size(), mostBytes));
  std::string bytes(file->size(), 0);
  if (Status status = file->read(0, std::as_writable_bytes(std::span(bytes.data(), bytes.size()))); !status)
    return Status(status.code(), fmt::format("{}: {}", path, status.message()), status.hint());
  return bytes;
}

Result<std::string> readStdin(uint64_t mostBytes) {
  std::string bytes;
  for (char part[65536];;) {
    const ssize_t count = ::read(STDIN_FILENO, part, sizeof part);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return failed("cannot read stdin");
    if (count == 0)
      return bytes;
    bytes.append(part, size_t(count));
    if (bytes.size() > mostBytes)
      return Status(Code::File, fmt::format("stdin has more than {} bytes; no more are read", mostBytes));
  }
}

} // namespace tessera::files
