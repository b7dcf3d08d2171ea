// The parts of an image, and the changes to them.
#include "tests/fuzz/ImageParts.h"

#include "runtime/image/Digest.h"
#include "tests/fuzz/JsonMutator.h"

#include <zstd.h>

namespace tessera::fuzz {
namespace {

constexpr size_t headerSize = 64, digestSize = 32;
enum Field : size_t { Version = 8, Flags = 12, Total = 16, Metadata = 24, CompressedPtx = 32, Ptx = 40, Cubin = 48 };

constexpr std::string_view words[] = {"spec",
                                      "schedule",
                                      "target",
                                      "entry",
                                      "parameters",
                                      "grid",
                                      "tile_q",
                                      "block_threads",
                                      "cluster_blocks",
                                      "dynamic_shared_bytes",
                                      "registers",
                                      "spill_bytes",
                                      "assembler_log",
                                      "ptx_version",
                                      "tools",
                                      "build_id",
                                      "key",
                                      "sm_80",
                                      "sm_89",
                                      "sm_90",
                                      "sm_120",
                                      "attention",
                                      "ptr",
                                      "i64",
                                      "i32",
                                      "q",
                                      "lse",
                                      "q_tiles",
                                      "pairs",
                                      "seqlen_q",
                                      "v1:q64,kv32,w4,s2,anchored,mma,qreg,online",
                                      "v1:in=f32,out=f32,d=64,dv=8,mask=*:0:top-left,scale=0.125,softcap=none,"
                                      "outputs=o+lse,precision=precise,access=4"};

constexpr size_t padded(size_t size) { return (size + 15) / 16 * 16; }

void append(std::string &bytes, std::string_view part) {
  bytes += part;
  bytes.resize(padded(bytes.size()), '\0');
}

std::string compress(std::string_view text, int level, bool checksum, bool contentSize) {
  ZSTD_CCtx *context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, checksum);
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, contentSize);
  std::string frame(ZSTD_compressBound(text.size()), '\0');
  const size_t size = ZSTD_compress2(context, frame.data(), frame.size(), text.data(), text.size());
  ZSTD_freeCCtx(context);
  frame.resize(ZSTD_isError(size) ? 0 : size);
  return frame;
}

void changePtx(ImageParts &parts, Random &random) {
  constexpr size_t mostPtx = 1 << 16;
  std::string ptx(std::min<size_t>(parts.ptxSize, mostPtx), '\0');
  const size_t size = ZSTD_decompress(ptx.data(), ptx.size(), parts.compressedPtx.data(), parts.compressedPtx.size());
  ptx.resize(ZSTD_isError(size) ? 0 : size);
  if (random.chance(2))
    ptx = random.chance(4) ? "" : random.bytes(ptx);
  const bool usual = random.chance(2);
  parts.compressedPtx =
      compress(ptx, usual ? 3 : 1 + int(random.below(6)), !usual && random.chance(2), usual || random.chance(2));
  if (random.chance(16))
    parts.compressedPtx += parts.compressedPtx; // two frames
  parts.ptxSize = ptx.size();
}

} // namespace

std::optional<ImageParts> ImageParts::of(std::string_view bytes) {
  if (bytes.size() < headerSize + digestSize)
    return std::nullopt;
  ImageParts parts;
  bool whole = true;
  size_t at = headerSize;
  auto take = [&](Field field, std::string &part) {
    const auto size = readNumber<uint64_t>(bytes, field);
    const size_t rest = bytes.size() - digestSize - at;
    whole = whole && size <= rest && padded(size) <= rest;
    if (whole) {
      part = bytes.substr(at, size);
      at += padded(size);
    }
  };
  take(Metadata, parts.metadata);
  take(CompressedPtx, parts.compressedPtx);
  take(Cubin, parts.cubin);
  parts.ptxSize = readNumber<uint64_t>(bytes, Ptx);
  return whole ? std::optional(parts) : std::nullopt;
}

std::string ImageParts::bytes() const {
  std::string bytes = "TSKIMG\r\n";
  bytes.resize(headerSize, '\0');
  writeNumber(bytes, Version, uint32_t(1));
  writeNumber(bytes, Metadata, uint64_t(metadata.size()));
  writeNumber(bytes, CompressedPtx, uint64_t(compressedPtx.size()));
  writeNumber(bytes, Ptx, ptxSize);
  writeNumber(bytes, Cubin, uint64_t(cubin.size()));
  append(bytes, metadata);
  append(bytes, compressedPtx);
  append(bytes, cubin);
  bytes.resize(bytes.size() + digestSize);
  writeNumber(bytes, Total, uint64_t(bytes.size()));
  sealImage(bytes);
  return bytes;
}

void sealImage(std::string &bytes) {
  if (bytes.size() < digestSize)
    return;
  const size_t body = bytes.size() - digestSize;
  writeNumber(bytes, body, digestOf(std::string_view(bytes).substr(0, body)));
}

std::string mutateImage(std::string_view bytes, Random &random) {
  std::optional<ImageParts> parts = ImageParts::of(bytes);
  const size_t choice = parts ? random.below(16) : 15;
  if (choice < 8)
    parts->metadata = mutateJson(parts->metadata, random, words);
  else if (choice < 11)
    changePtx(*parts, random);
  else if (choice == 11)
    parts->compressedPtx = random.bytes(parts->compressedPtx);
  else if (choice == 12)
    parts->cubin = random.chance(4) ? "" : random.bytes(parts->cubin);
  if (choice < 13)
    return parts->bytes();
  std::string changed(bytes);
  if (choice == 13) { // a number of the header
    const size_t at = 8 * (1 + random.below(headerSize / 8 - 1));
    writeNumber(changed, at, random.number(readNumber<uint64_t>(changed, at)));
  } else if (choice == 14) { // one byte, of the padding too
    changed[random.below(changed.size())] = char(random.below(256));
  } else {
    changed = random.bytes(changed);
  }
  if (!random.chance(4))
    sealImage(changed);
  return changed;
}

} // namespace tessera::fuzz
