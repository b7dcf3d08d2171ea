// The bytes of a kernel image.
//
//   0   magic "TSKIMG\r\n"          a text-mode transfer damages it visibly
//   8   u32 format version          16  u64 size of the whole image
//   12  u32 flags, 0                24  u64 metadata size   32  u64 PTX size, compressed
//                                   40  u64 PTX size        48  u64 cubin size   56  u64 0
//   64  metadata (JSON) | zeros to 16 | PTX (zstd) | zeros to 16 | cubin | zeros to 16
//   end BLAKE2b-256 of everything before it
//
// All numbers are little-endian. There is one form for one image: no gaps, zero padding, nothing after the digest; the
// compressed PTX alone may differ between versions of zstd.
#include "runtime/image/KernelImage.h"

#include "runtime/image/Digest.h"
#include "runtime/image/ImageMetadata.h"

#include <bit>
#include <cstring>
#include <fmt/format.h>
#include <zstd.h>

namespace tessera {
namespace {

static_assert(std::endian::native == std::endian::little, "images are written in host order");

constexpr std::string_view magic = "TSKIMG\r\n";
constexpr uint32_t formatVersion = 1;
constexpr uint64_t headerSize = 64;
constexpr uint64_t digestSize = sizeof(Digest);
constexpr uint64_t maxSection = uint64_t(64) << 20; // no kernel comes near it; bounds what a forged size can allocate

struct Header {
  char magic[8];
  uint32_t version, flags;
  uint64_t total, metadata, compressedPtx, ptx, cubin, reserved;
};
static_assert(sizeof(Header) == headerSize);

constexpr uint64_t padded(uint64_t size) { return (size + 15) / 16 * 16; }

Status malformed(std::string what) { return {Code::File, "kernel image: " + std::move(what)}; }

void append(std::string &bytes, std::string_view section) {
  bytes += section;
  bytes.append(padded(section.size()) - section.size(), '\0');
}

bool isIdentifier(std::string_view text) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$'; };
  if (text.empty() || text.size() > 255 || !letter(text[0]))
    return false;
  for (char c : text)
    if (!letter(c) && !(c >= '0' && c <= '9'))
      return false;
  return true;
}

} // namespace

GridRule gridRuleOf(const Schedule &schedule) {
  if (schedule.persistent)
    return schedule.packHeads ? GridRule::ResidentPackedTiles : GridRule::ResidentQueryTiles;
  return schedule.packHeads ? GridRule::PackedTiles : GridRule::QueryTiles;
}

std::string_view text(GridRule rule) {
  switch (rule) {
  case GridRule::QueryTiles:
    return "ceil(seqlen_q/tile_q)*heads*batch";
  case GridRule::PackedTiles:
    return "ceil(seqlen_q*group/tile_q)*kv_heads*batch";
  case GridRule::ResidentQueryTiles:
    return "min(ceil(seqlen_q/tile_q)*heads*batch,resident)";
  case GridRule::ResidentPackedTiles:
    return "min(ceil(seqlen_q*group/tile_q)*kv_heads*batch,resident)";
  }
  return {};
}

std::optional<GridRule> parseGridRule(std::string_view wanted) {
  for (GridRule rule :
       {GridRule::QueryTiles, GridRule::PackedTiles, GridRule::ResidentQueryTiles, GridRule::ResidentPackedTiles})
    if (text(rule) == wanted)
      return rule;
  return std::nullopt;
}

Status KernelImage::validate() const {
  auto refuse = [](std::string what) { return Status(Code::InvalidArgument, "kernel image: " + std::move(what)); };
  if (Status status = spec.validate(); !status.ok())
    return status;
  Result<Target> known = Target::parse(target);
  if (!known)
    return known.status();
  if (!isIdentifier(entry))
    return refuse(fmt::format("'{}' is not the name of a kernel", entry.substr(0, 64)));
  if (tileQ == 0 || tileQ != schedule.tileQ)
    return refuse(fmt::format("the grid's tile_q is {}, the schedule's {}", tileQ, schedule.tileQ));
  if (grid != gridRuleOf(schedule))
    return refuse(
        fmt::format("the grid is {}, the schedule's {}", tessera::text(grid), tessera::text(gridRuleOf(schedule))));
  if (blockThreads == 0 || blockThreads > 1024 || blockThreads % 32)
    return refuse(fmt::format("a block of {} threads is not 1 to 32 whole warps", blockThreads));
  if (dynamicSharedBytes > known->sharedBytesPerBlock)
    return refuse(fmt::format("{} bytes of shared memory; {} has {} per block", dynamicSharedBytes, target,
                              known->sharedBytesPerBlock));
  if (clusterBlocks == 0 || clusterBlocks > 16 || (clusterBlocks > 1 && known->major < 9))
    return refuse(fmt::format("clusters of {} blocks; {} allows {}", clusterBlocks, target,
                              known->major < 9 ? "none, which is 1" : "1 to 16"));
  if (ptx.empty() && cubin.empty())
    return refuse("it holds neither PTX nor a cubin");
  if (ptx.find('\0') != std::string::npos)
    return refuse("the PTX holds a zero byte");
  if (!ptx.empty() && ptxVersion == 0)
    return refuse("it holds PTX of no version");
  if (ptx.size() > maxSection || cubin.size() > maxSection)
    return refuse(
        fmt::format("{} bytes of PTX and {} of cubin; at most {} each", ptx.size(), cubin.size(), maxSection));
  uint32_t seen = 0;
  static_assert(argumentCount <= 32);
  for (const KernelParameter &parameter : parameters) {
    std::optional<Argument> argument = parseArgument(parameter.name);
    if (!argument)
      return refuse(fmt::format("the runtime knows no parameter '{}'", parameter.name.substr(0, 64)));
    if (typeOf(*argument) != parameter.type)
      return refuse(fmt::format("parameter '{}' has type {}, expected {}", parameter.name, name(parameter.type),
                                name(typeOf(*argument))));
    if (seen & (1u << unsigned(*argument)))
      return refuse(fmt::format("parameter '{}' stands twice", parameter.name));
    seen |= 1u << unsigned(*argument);
  }
  return {};
}

Result<std::string> KernelImage::serialize() const {
  if (Status status = validate(); !status.ok())
    return status;
  const std::string metadata = detail::metadataText(*this);
  std::string compressed(ZSTD_compressBound(ptx.size()), '\0');
  const size_t size = ZSTD_compress(compressed.data(), compressed.size(), ptx.data(), ptx.size(), 3);
  if (ZSTD_isError(size))
    return Status(Code::Internal, fmt::format("compressing {} bytes of PTX: {}", ptx.size(), ZSTD_getErrorName(size)));
  compressed.resize(size);
  if (metadata.size() > maxSection)
    return Status(Code::InvalidArgument,
                  fmt::format("kernel image: {} bytes of metadata, at most {}", metadata.size(), maxSection));

  Header header{};
  std::memcpy(header.magic, magic.data(), magic.size());
  header.version = formatVersion;
  header.metadata = metadata.size();
  header.compressedPtx = compressed.size();
  header.ptx = ptx.size();
  header.cubin = cubin.size();
  header.total =
      headerSize + padded(header.metadata) + padded(header.compressedPtx) + padded(header.cubin) + digestSize;
  std::string bytes;
  bytes.reserve(header.total);
  bytes.append(reinterpret_cast<const char *>(&header), sizeof header);
  append(bytes, metadata);
  append(bytes, compressed);
  append(bytes, {reinterpret_cast<const char *>(cubin.data()), cubin.size()});
  const Digest digest = digestOf(bytes);
  bytes.append(reinterpret_cast<const char *>(digest.data()), digest.size());
  return bytes;
}

Result<KernelImage> KernelImage::parse(std::string_view bytes) {
  Header header;
  if (bytes.size() < headerSize + digestSize)
    return malformed(fmt::format("{} bytes are too few for one", bytes.size()));
  std::memcpy(&header, bytes.data(), sizeof header);
  if (std::string_view(header.magic, 8) != magic)
    return malformed("the first bytes are not those of one");
  if (header.version != formatVersion)
    return malformed(fmt::format("format version {}, this library reads {}", header.version, formatVersion));
  if (header.total != bytes.size())
    return malformed(fmt::format("the header speaks of {} bytes, there are {}", header.total, bytes.size()));
  // Each is bounded first, so that the sum below cannot overflow.
  if (header.metadata > maxSection || header.compressedPtx > maxSection || header.ptx > maxSection ||
      header.cubin > maxSection)
    return malformed(fmt::format("a section is larger than {} bytes", maxSection));
  if (headerSize + padded(header.metadata) + padded(header.compressedPtx) + padded(header.cubin) + digestSize !=
      header.total)
    return malformed("the sizes of its sections do not add up to its size");
  const std::string_view body = bytes.substr(0, bytes.size() - digestSize);
  if (Digest digest = digestOf(body); std::memcmp(digest.data(), bytes.data() + body.size(), digestSize))
    return malformed("the digest does not match: the bytes were changed");
  if (header.flags || header.reserved)
    return malformed("it uses features that this library does not know");

  uint64_t offset = headerSize;
  bool zeros = true;
  auto take = [&](uint64_t size) {
    std::string_view section = body.substr(offset, size);
    for (char c : body.substr(offset + size, padded(size) - size))
      zeros &= c == 0;
    offset += padded(size);
    return section;
  };
  const std::string_view metadata = take(header.metadata), compressed = take(header.compressedPtx),
                         cubin = take(header.cubin);
  if (!zeros)
    return malformed("the padding between sections is not zero");
  KernelImage image;
  if (Status status = detail::readMetadata(metadata, image); !status.ok())
    return status;
  if (detail::metadataText(image) != metadata)
    return malformed("the metadata is not in the one form that this library writes");
  if (ZSTD_getFrameContentSize(compressed.data(), compressed.size()) != header.ptx ||
      ZSTD_findFrameCompressedSize(compressed.data(), compressed.size()) != compressed.size())
    return malformed("the compressed PTX is not one frame of the stated size");
  image.ptx.resize(header.ptx);
  const size_t size = ZSTD_decompress(image.ptx.data(), image.ptx.size(), compressed.data(), compressed.size());
  if (ZSTD_isError(size) || size != header.ptx)
    return malformed("the PTX cannot be decompressed");
  image.cubin.assign(cubin.begin(), cubin.end());
  if (Status status = image.validate(); !status.ok())
    return Status(Code::File, status.message(), status.hint());
  return image;
}

Result<std::string> KernelImage::readKeyText(const std::function<std::string(uint64_t)> &next) {
  const std::string start = next(headerSize);
  Header header;
  if (start.size() != headerSize)
    return malformed(fmt::format("{} bytes are too few for one", start.size()));
  std::memcpy(&header, start.data(), sizeof header);
  if (std::string_view(header.magic, 8) != magic || header.version != formatVersion || header.metadata > maxSection)
    return malformed("the first bytes are not those of one");
  KernelImage image;
  if (Status status = detail::readMetadata(next(header.metadata), image); !status.ok())
    return status;
  return std::move(image.keyText);
}

} // namespace tessera
