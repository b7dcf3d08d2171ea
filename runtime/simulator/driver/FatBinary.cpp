// Reads fat binaries: a header, then entries of {kind, sizes, architecture, flags} with their payload.
#include "runtime/simulator/driver/FatBinary.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

namespace tessera::sim::driver {

namespace {

constexpr std::string_view ElfMagic("\x7f"
                                    "ELF",
                                    4);
constexpr std::string_view FatBinaryMagic("\x50\xed\x55\xba", 4);
constexpr std::string_view WrapperMagic("\xb1\x43\x62\x46", 4);

bool beginsWith(const void *image, size_t available, std::string_view magic) {
  // Byte by byte, since PTX may be shorter than the magic number.
  const char *bytes = static_cast<const char *>(image);
  for (size_t i = 0; i < magic.size(); ++i)
    if (i >= available || bytes[i] != magic[i])
      return false;
  return true;
}

std::string textOf(const void *image, size_t available) {
  const char *text = static_cast<const char *>(image);
  return available == UnknownLength ? std::string(text) : std::string(text, strnlen(text, available));
}

/// What a host object file has in its control section.
struct Wrapper {
  uint32_t magic, version;
  const void *data, *other;
};

struct Header {
  uint32_t magic;
  uint16_t version, headerBytes;
  uint64_t bytes; ///< of the entries
};
static_assert(sizeof(Header) == 16);

struct Entry {
  uint16_t kind, version;
  uint32_t headerBytes;
  uint64_t payloadBytes;
  uint32_t compressedBytes, optionsOffset;
  uint16_t minor, major;
  uint32_t architecture; ///< 80 for sm_80
  uint32_t nameOffset, nameBytes;
  uint64_t flags, reserved, decompressedBytes;
};
static_assert(sizeof(Entry) == 64);

constexpr uint16_t PtxKind = 1;
constexpr uint64_t Lz4Flag = 0x2000, ZstandardFlag = 0x8000, ArchitectureSpecificFlag = 0x100000;
/// No module of PTX is larger; a size beyond it is a damaged image.
constexpr uint64_t MostBytes = uint64_t(1) << 30;

/// A block of LZ4: sequences of {literals, match in what is there already}.
std::optional<std::string> unpackLz4(std::string_view packed, size_t bytes) {
  std::string out;
  out.reserve(bytes);
  size_t at = 0;
  auto length = [&](size_t nibble) -> std::optional<size_t> {
    size_t sum = nibble;
    if (nibble != 15)
      return sum;
    unsigned char more;
    do {
      if (at >= packed.size() || sum > bytes)
        return std::nullopt;
      more = static_cast<unsigned char>(packed[at++]);
      sum += more;
    } while (more == 255);
    return sum;
  };
  while (at < packed.size()) {
    auto token = static_cast<unsigned char>(packed[at++]);
    std::optional<size_t> literals = length(token >> 4);
    if (!literals || *literals > packed.size() - at || *literals > bytes - out.size())
      return std::nullopt;
    out.append(packed, at, *literals);
    at += *literals;
    if (at == packed.size())
      break; // the last sequence has no match
    if (packed.size() - at < 2)
      return std::nullopt;
    size_t offset = static_cast<unsigned char>(packed[at]) | size_t(static_cast<unsigned char>(packed[at + 1])) << 8;
    at += 2;
    std::optional<size_t> match = length(token & 15);
    if (!match || offset == 0 || offset > out.size() || *match + 4 > bytes - out.size())
      return std::nullopt;
    for (size_t i = 0; i < *match + 4; ++i) // may overlap what it writes
      out.push_back(out[out.size() - offset]);
  }
  return out.size() == bytes ? std::optional(std::move(out)) : std::nullopt;
}

std::optional<std::string> unpackZstandard(std::string_view packed, size_t bytes) {
  std::string out(bytes, '\0');
  size_t got = ZSTD_decompress(out.data(), out.size(), packed.data(), packed.size());
  return !ZSTD_isError(got) && got == bytes ? std::optional(std::move(out)) : std::nullopt;
}

std::optional<std::string> unpack(const Entry &entry, std::string_view payload) {
  if (!(entry.flags & (Lz4Flag | ZstandardFlag)))
    return std::string(payload.substr(0, payload.find('\0')));
  if (entry.compressedBytes > payload.size() || entry.decompressedBytes > MostBytes)
    return std::nullopt;
  payload = payload.substr(0, entry.compressedBytes);
  std::optional<std::string> text = entry.flags & Lz4Flag ? unpackLz4(payload, entry.decompressedBytes)
                                                          : unpackZstandard(payload, entry.decompressedBytes);
  if (text)
    text->resize(std::min(text->size(), text->find('\0')));
  return text;
}

CUresult ptxOfFatBinary(const void *image, size_t available, const DeviceProfile &profile, std::string *ptx,
                        std::string *why) {
  *why = "the fat binary is malformed";
  Header header;
  if (available < sizeof(header))
    return CUDA_ERROR_INVALID_IMAGE;
  std::memcpy(&header, image, sizeof(header));
  if (header.headerBytes < sizeof(Header) || header.bytes > MostBytes || header.headerBytes > available ||
      header.bytes > available - header.headerBytes)
    return CUDA_ERROR_INVALID_IMAGE;
  std::string_view rest(static_cast<const char *>(image) + header.headerBytes, header.bytes);
  unsigned own = profile.major * 10 + profile.minor;
  std::optional<Entry> best;
  std::string_view bestPayload;
  std::string others;
  while (!rest.empty()) {
    Entry entry;
    if (rest.size() < sizeof(entry))
      return CUDA_ERROR_INVALID_IMAGE;
    std::memcpy(&entry, rest.data(), sizeof(entry));
    if (entry.headerBytes < sizeof(entry) || entry.headerBytes > rest.size() ||
        entry.payloadBytes > rest.size() - entry.headerBytes)
      return CUDA_ERROR_INVALID_IMAGE;
    std::string_view payload = rest.substr(entry.headerBytes, entry.payloadBytes);
    rest.remove_prefix(entry.headerBytes + entry.payloadBytes);
    bool specific = entry.flags & ArchitectureSpecificFlag;
    bool fits = entry.kind == PtxKind &&
                (specific ? profile.archSpecific && entry.architecture == own : entry.architecture <= own);
    if (!fits)
      others += fmt::format("{}{} for {}", others.empty() ? "" : ", ", entry.kind == PtxKind ? "PTX" : "machine code",
                            entry.architecture);
    // An architecture's own features come before what runs on all that follow it.
    else if (!best || entry.architecture > best->architecture ||
             (entry.architecture == best->architecture && specific)) {
      best = entry;
      bestPayload = payload;
    }
  }
  if (!best) {
    *why = fmt::format("the fat binary has no PTX for {}, only: {}", profile.architecture,
                       others.empty() ? "nothing" : others);
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  std::optional<std::string> text = unpack(*best, bestPayload);
  if (!text) {
    *why = "the PTX in the fat binary does not unpack";
    return CUDA_ERROR_INVALID_IMAGE;
  }
  *ptx = std::move(*text);
  return CUDA_SUCCESS;
}

} // namespace

CUresult ptxOfImage(const void *image, size_t available, const DeviceProfile &profile, std::string *ptx,
                    std::string *why) {
  if (available == UnknownLength && beginsWith(image, available, WrapperMagic)) {
    Wrapper wrapper;
    std::memcpy(&wrapper, image, sizeof(wrapper));
    image = wrapper.data;
    if (!image || !beginsWith(image, available, FatBinaryMagic)) {
      *why = "the fat binary's wrapper holds none";
      return CUDA_ERROR_INVALID_IMAGE;
    }
  }
  if (beginsWith(image, available, FatBinaryMagic))
    return ptxOfFatBinary(image, available, profile, ptx, why);
  if (beginsWith(image, available, ElfMagic)) {
    *why = fmt::format("the simulator runs PTX; this is machine code for {} or another GPU", profile.architecture);
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  *ptx = textOf(image, available);
  return CUDA_SUCCESS;
}

std::string copyOfImage(const void *image, size_t available) {
  const char *bytes = static_cast<const char *>(image);
  if (available != UnknownLength)
    return std::string(bytes, available);
  if (beginsWith(image, available, WrapperMagic)) {
    Wrapper wrapper;
    std::memcpy(&wrapper, image, sizeof(wrapper));
    return wrapper.data ? copyOfImage(wrapper.data, available) : std::string();
  }
  if (beginsWith(image, available, FatBinaryMagic)) {
    Header header;
    std::memcpy(&header, image, sizeof(header));
    return header.bytes <= MostBytes ? std::string(bytes, header.headerBytes + header.bytes) : std::string();
  }
  if (beginsWith(image, available, ElfMagic))
    return std::string(ElfMagic); // is refused wherever it is loaded
  return textOf(image, available);
}

} // namespace tessera::sim::driver
