// ByteSource: where a reader takes its bytes from, a file or memory, with a size known beforehand.
#pragma once

#include "runtime/spec/Result.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::files {

class ByteSource {
public:
  virtual ~ByteSource() = default;
  virtual uint64_t size() const = 0;
  /// Fills `into` from `offset`. Code::File where the range is not wholly inside, or the file has become shorter.
  virtual Status read(uint64_t offset, std::span<std::byte> into) const = 0;
};

/// Bytes that the caller keeps alive.
class MemoryBytes final : public ByteSource {
public:
  explicit MemoryBytes(std::span<const std::byte> bytes) : bytes(bytes) {}
  uint64_t size() const override { return bytes.size(); }
  Status read(uint64_t offset, std::span<std::byte> into) const override;

private:
  std::span<const std::byte> bytes;
};

/// An open regular file. Owns its descriptor; move-only.
class FileBytes final : public ByteSource {
public:
  /// Code::File where the path cannot be opened or is no regular file.
  static Result<FileBytes> open(const std::string &path);
  FileBytes(FileBytes &&other) noexcept;
  FileBytes &operator=(FileBytes &&) = delete;
  ~FileBytes() override;

  uint64_t size() const override { return bytes; }
  Status read(uint64_t offset, std::span<std::byte> into) const override;

private:
  FileBytes(int descriptor, uint64_t bytes) : descriptor(descriptor), bytes(bytes) {}
  int descriptor;
  uint64_t bytes;
};

/// A whole file of at most `mostBytes`; Code::File with the path and the reason otherwise.
Result<std::string> readWhole(const std::string &path, uint64_t mostBytes);

/// All of stdin, until it ends; File where it has more than `mostBytes` or cannot be read.
Result<std::string> readStdin(uint64_t mostBytes);

} // namespace tessera::files
