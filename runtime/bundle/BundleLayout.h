// BundleLayout: where the parts of a bundle file lie, and the fixed header in front of them.
#pragma once

#include "runtime/bundle/Signature.h"
#include "runtime/image/Digest.h"

#include <optional>
#include <string_view>

namespace tessera::detail {

/// The header as it lies in the file; the offsets are in BundleLayout.cpp.
struct BundleHeader {
  char magic[8];
  uint32_t version, features;
  uint64_t fileSize, indexSize, imageCount;
  Digest indexDigest;
  uint32_t signatureKind, zero;
  Signature signature;
  uint8_t reserved[80];
};
constexpr uint64_t headerSize = 256;
static_assert(sizeof(BundleHeader) == headerSize);
constexpr uint64_t maxIndexSize = uint64_t(16) << 20; ///< bounds what a forged index can make a reader allocate
constexpr uint64_t imageAlignment = 4096;             ///< a page: an image is mapped without its neighbours

/// The first place for an image at or behind `offset`, which is below 2^63.
constexpr uint64_t imageOffset(uint64_t offset) {
  return (offset + imageAlignment - 1) / imageAlignment * imageAlignment;
}

/// An unsigned header for this index.
BundleHeader makeHeader(std::string_view index, uint64_t imageCount, uint64_t fileSize);

/// Reads the header from the first headerSize bytes of a file of this size, or from all there are: sizes within the
/// file, everything that is reserved zero. File without the name of the file.
Result<BundleHeader> readHeader(std::string_view start, uint64_t fileSize);
/// Whether this is the index that the header speaks of; it begins behind the header. File likewise.
Status checkIndex(const BundleHeader &header, std::string_view index);
std::optional<Signature> signatureOf(const BundleHeader &header);

/// Adds the signature of everything that the header says. The key is part of what is signed.
void sign(BundleHeader &header, const PrivateKey &key);
/// Whether the header carries a signature that its own key made.
bool signatureHolds(const BundleHeader &header);

} // namespace tessera::detail
