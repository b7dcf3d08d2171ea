// The bytes of a bundle.
//
//   0    magic "TSBNDL\r\n"        a text-mode transfer damages it visibly
//   8    u32 format version        12   u32 required features: a reader refuses bits that it does not know; none yet
//   16   u64 size of the file      24   u64 size of the index      32   u64 number of images
//   40   BLAKE2b-256 of the index
//   72   u32 signature kind: 0 none, 1 Ed25519                     76   u32 0
//   80   public key, 32 bytes      112  signature, 64 bytes, of these 256 bytes with the signature itself zero
//   176  zeros
//   256  index (JSON, see IndexText.cpp)
//        zeros to a multiple of 4096 | image | zeros to a multiple of 4096 | image ... the file ends with the last
//        image
//
// All numbers are little-endian. There is one form for one content: the images stand in the order of the index, each at
// the first possible place, so that the index need not say where: holes and overlaps cannot be written down. The
// signature covers the digest of the index, the index that of every image.
#include "runtime/bundle/BundleLayout.h"

#include <bit>
#include <cstring>
#include <fmt/format.h>
#include <vector>

namespace tessera::detail {
namespace {

static_assert(std::endian::native == std::endian::little, "bundles are written in host order");
static_assert(offsetof(BundleHeader, indexDigest) == 40 && offsetof(BundleHeader, signatureKind) == 72 &&
              offsetof(BundleHeader, signature) == 80 && offsetof(BundleHeader, reserved) == 176);
static_assert(sizeof(Signature) == 96 && std::is_trivially_copyable_v<BundleHeader>);

constexpr std::string_view magic = "TSBNDL\r\n";
constexpr uint32_t formatVersion = 1;
enum : uint32_t { Unsigned = 0, Ed25519 = 1 };

Status malformed(std::string what, std::string hint = {}) { return {Code::File, std::move(what), std::move(hint)}; }

template <typename T> bool allZero(const T &value) {
  static constexpr T zero{};
  return !std::memcmp(&value, &zero, sizeof value);
}

std::string bitList(uint32_t bits) {
  std::string list;
  for (unsigned bit = 0; bit < 32; ++bit)
    if (bits & (uint32_t(1) << bit))
      list += fmt::format("{}{}", list.empty() ? "" : ", ", bit);
  return list;
}

std::string_view signedText(BundleHeader &copy) {
  copy.signature.bytes = {};
  return {reinterpret_cast<const char *>(&copy), sizeof copy};
}

} // namespace

BundleHeader makeHeader(std::string_view index, uint64_t imageCount, uint64_t fileSize) {
  BundleHeader header{};
  std::memcpy(header.magic, magic.data(), magic.size());
  header.version = formatVersion;
  header.fileSize = fileSize;
  header.indexSize = index.size();
  header.imageCount = imageCount;
  header.indexDigest = digestOf(index);
  return header;
}

Result<BundleHeader> readHeader(std::string_view start, uint64_t fileSize) {
  BundleHeader header;
  if (start.size() < headerSize)
    return malformed(fmt::format("{} bytes are too few for a bundle", start.size()));
  std::memcpy(&header, start.data(), sizeof header);
  if (std::string_view(header.magic, sizeof header.magic) != magic)
    return malformed("the first bytes are not those of a bundle");
  if (header.version != formatVersion)
    return malformed(fmt::format("format version {}, this library reads {}", header.version, formatVersion),
                     "use the Tessera that wrote it, or build the bundle again");
  if (header.features)
    return malformed(
        fmt::format("it needs features that this library does not know: number {}", bitList(header.features)),
        "use the Tessera that wrote it");
  if (header.fileSize != fileSize)
    return malformed(fmt::format("the header speaks of {} bytes, there are {}", header.fileSize, fileSize),
                     "the file was cut short or added to: copy it again");
  if (header.indexSize > maxIndexSize || header.indexSize > fileSize - headerSize)
    return malformed(fmt::format("an index of {} bytes; {} are left in the file and at most {} are allowed",
                                 header.indexSize, fileSize - headerSize, maxIndexSize));
  if (header.zero || !allZero(header.reserved))
    return malformed("reserved bytes of the header are not zero");
  if (header.signatureKind > Ed25519)
    return malformed(fmt::format("a signature of the unknown kind {}", header.signatureKind));
  if (header.signatureKind == Unsigned && !allZero(header.signature))
    return malformed("it says that it is not signed, yet carries a signature");
  return header;
}

Status checkIndex(const BundleHeader &header, std::string_view index) {
  if (index.size() != header.indexSize || digestOf(index) != header.indexDigest)
    return malformed("the digest of the index does not match: the bytes were changed", "copy the file again");
  return {};
}

std::optional<Signature> signatureOf(const BundleHeader &header) {
  return header.signatureKind == Ed25519 ? std::optional(header.signature) : std::nullopt;
}

void sign(BundleHeader &header, const PrivateKey &key) {
  header.signatureKind = Ed25519;
  header.signature.key = key.publicKey();
  BundleHeader copy = header;
  header.signature = Signature::sign(key, signedText(copy));
}

bool signatureHolds(const BundleHeader &header) {
  BundleHeader copy = header;
  return header.signatureKind == Ed25519 && header.signature.matches(signedText(copy));
}

} // namespace tessera::detail
