// Random: what a mutator draws, all of it from libFuzzer's seed, so that a run can be repeated.
#pragma once

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

namespace tessera::fuzz {

class Random {
public:
  explicit Random(unsigned seed) : engine_(seed) {}

  size_t below(size_t bound) { return bound ? engine_() % bound : 0; }
  bool chance(unsigned oneOf) { return below(oneOf) == 0; }
  template <typename List> auto &pick(List &list) { return list[below(std::size(list))]; }
  unsigned seed() { return unsigned(engine_()); }

  /// Extremes, powers of two, and neighbours of what was there.
  uint64_t number(uint64_t old) {
    static constexpr uint64_t extremes[] = {
        0, 1, 15, 16, 0x7fffffff, 0xffffffff, uint64_t(1) << 62, ~uint64_t(0) >> 1, ~uint64_t(0) - 15, ~uint64_t(0)};
    switch (below(5)) {
    case 0:
      return pick(extremes);
    case 1:
      return uint64_t(1) << below(64);
    case 2:
      return old + 1;
    case 3:
      return old - 1;
    default:
      return old ^ uint64_t(1) << below(64);
    }
  }

  /// libFuzzer's own changes to bytes, which may grow a little.
  std::string bytes(std::string_view old) {
    std::string text(old);
    text.resize(old.size() + 16);
    text.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t *>(text.data()), old.size(), text.size()));
    return text;
  }

private:
  std::minstd_rand engine_;
};

/// The end of a custom mutator: as much of the bytes as fits.
inline size_t give(std::string_view bytes, uint8_t *data, size_t most) {
  const size_t size = std::min(bytes.size(), most);
  std::memcpy(data, bytes.data(), size);
  return size;
}

inline std::string_view viewOf(const uint8_t *data, size_t size) {
  return {reinterpret_cast<const char *>(data), size};
}

/// Numbers as they stand in files, little-endian.
template <typename T> T readNumber(std::string_view bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}
template <typename T> void writeNumber(std::string &bytes, size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

} // namespace tessera::fuzz
