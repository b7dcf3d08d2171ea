// Small helpers for tests that build files in memory.
#pragma once

#include "autotune/cli/files/ByteSource.h"

#include <cstring>
#include <string>

namespace tessera::files {

inline std::span<const std::byte> bytesOf(std::string_view text) { return std::as_bytes(std::span(text)); }

/// Calls `read` on every prefix of `file` and on `file` with every byte replaced by a few others; it must only return.
template <typename Fn> void everySmallMutation(const std::string &file, Fn read) {
  for (size_t length = 0; length < file.size(); ++length)
    read(file.substr(0, length));
  for (size_t n = 0; n < file.size(); ++n)
    for (char c : {'\0', '\1', '\x7f', '\xff', '9', '{', '}', '[', '"', ',', '-'}) {
      std::string mutated = file;
      mutated[n] = c;
      read(mutated);
    }
}

} // namespace tessera::files
