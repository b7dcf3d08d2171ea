// SizedStruct: structs whose first member is their size, exchanged with callers that were compiled with other versions.
#pragma once

#include "runtime/spec/Result.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <fmt/format.h>
#include <type_traits>

namespace tessera::c {

/// Every member of these structs is 8 bytes, or one of two of 4, so that a struct has no padding, and whatever ends at
/// a multiple of 8 ends between two members.
inline constexpr size_t kSizeStep = 8;
/// No version of a struct is larger; a size beyond is one that was never set.
inline constexpr size_t kLargestStruct = 4096;

template <typename T> Status checkSize(size_t size, const char *name) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % kSizeStep == 0);
  if (size >= sizeof(size_t) && size <= kLargestStruct && size % kSizeStep == 0) [[likely]]
    return {};
  return {Code::InvalidArgument, fmt::format("{}.size is {}, this library knows {}", name, size, sizeof(T)),
          "set it to the size of the struct, or start from its TESSERA_..._INIT"};
}

/// Copies the caller's struct; what an older one lacks is 0. Unsupported where a newer one sets what is not known here.
template <typename T> Status readSized(const T &given, const char *name, T &own) {
  const size_t size = given.size;
  if (Status status = checkSize<T>(size, name); !status)
    return status;
  own = T{};
  std::memcpy(&own, &given, std::min(size, sizeof(T)));
  own.size = sizeof(T);
  const auto *bytes = reinterpret_cast<const unsigned char *>(&given);
  for (size_t i = sizeof(T); i < size; ++i)
    if (bytes[i]) [[unlikely]]
      return {Code::Unsupported,
              fmt::format("{} of {} bytes sets the byte {}, this library knows {} bytes", name, size, i, sizeof(T)),
              "the program was built for a newer libtessera.so: install that, or leave the new members 0"};
  return {};
}

/// Fills the caller's struct as far as it reaches; what a newer one has beyond is set to 0.
template <typename T> Status writeSized(T &given, const char *name, T own) {
  const size_t size = given.size;
  if (Status status = checkSize<T>(size, name); !status)
    return status;
  own.size = size;
  std::memcpy(&given, &own, std::min(size, sizeof(T)));
  if (size > sizeof(T))
    std::memset(reinterpret_cast<unsigned char *>(&given) + sizeof(T), 0, size - sizeof(T));
  return {};
}

} // namespace tessera::c
