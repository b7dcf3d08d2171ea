// BundleFile: a bundle put together by hand, by the numbers of the format, so that tests can forge any part of it.
#pragma once

#include "runtime/image/Digest.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::test {

template <typename T> void putNumber(std::string &bytes, size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

template <typename T> T numberAt(std::string_view bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

struct BundleFile {
  std::string index;
  std::vector<std::string> images;

  /// Everything in its place and every digest of the header right, whatever the index says.
  std::string bytes() const {
    std::string file(256, '\0');
    file.replace(0, 8, "TSBNDL\r\n");
    putNumber(file, 8, uint32_t(1));
    putNumber(file, 24, uint64_t(index.size()));
    putNumber(file, 32, uint64_t(images.size()));
    putNumber(file, 40, digestOf(index));
    file += index;
    for (const std::string &image : images) {
      file.resize((file.size() + 4095) / 4096 * 4096, '\0');
      file += image;
    }
    putNumber(file, 16, uint64_t(file.size()));
    return file;
  }

  /// Replaces the first `from` in the index; false where there is none.
  bool replace(std::string_view from, std::string_view to) {
    const size_t at = index.find(from);
    if (at == index.npos)
      return false;
    index.replace(at, from.size(), to);
    return true;
  }
};

} // namespace tessera::test
