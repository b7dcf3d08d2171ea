// Bundles are taken apart by the numbers of their format, so that this does not err where the library does.
#include "tests/fuzz/BundleMutator.h"

#include "runtime/bundle/BundleWriter.h"
#include "runtime/bundle/ImageFacts.h"
#include "tests/fuzz/ImageParts.h"
#include "tests/fuzz/JsonMutator.h"
#include "tests/unit/bundle/BundleFile.h"
#include "tests/unit/bundle/SampleImages.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>

namespace tessera::fuzz {
namespace {

using Json = nlohmann::json;
using test::BundleFile;

constexpr size_t headerSize = 256, pageSize = 4096, mostImages = 16;
enum Field : size_t { IndexSize = 24, IndexDigest = 40, SignatureKind = 72, SignatureKey = 80, SignatureBytes = 112 };
enum Column : size_t { Size = 3, Facts = 4, ImageDigest = 10 };

constexpr std::string_view words[] = {
    "builds",
    "devices",
    "entries",
    "records",
    "schedules",
    "specs",
    "targets",
    "sm_80",
    "sm_86",
    "sm_90",
    "sm_90a",
    "sm_100f",
    "sm_120",
    "compute_80",
    "sm_80a",
    "build-a",
    "NVIDIA A100-SXM4-80GB",
    "NVIDIA H100",
    "v1:q64,kv32,w4,s2,anchored,mma,qreg,online",
    "v1:q128,kv64,w4,s1,lazy8,add,qsmem,online",
    "v1:in=f16,out=f16,d=64,dv=64,mask=full,scale=0.125,softcap=none,outputs=o,precision=tf32,access=16"};

/// The entries of an index that is JSON with such a part.
Json *entriesOf(Json &index) {
  const auto found = index.is_object() ? index.find("entries") : index.end();
  return index.is_object() && found != index.end() && found->is_array() ? &*found : nullptr;
}

Json parse(std::string_view text) { return Json::parse(text, nullptr, /*allow_exceptions=*/false); }

std::optional<BundleFile> takeApart(std::string_view bytes) {
  if (bytes.size() < headerSize)
    return std::nullopt;
  BundleFile file;
  file.index = bytes.substr(headerSize, readNumber<uint64_t>(bytes, IndexSize));
  Json index = parse(file.index);
  const Json *entries = entriesOf(index);
  size_t at = headerSize + file.index.size();
  for (size_t n = 0; entries && n < std::min(entries->size(), mostImages); ++n) {
    const Json &row = (*entries)[n];
    at = (at + pageSize - 1) / pageSize * pageSize;
    if (!row.is_array() || row.size() <= Size || !row[Size].is_number_unsigned() || at >= bytes.size())
      break;
    file.images.emplace_back(bytes.substr(at, row[Size].get<uint64_t>()));
    at += file.images.back().size();
  }
  return file;
}

/// Gives the rows of the index the sizes, digests and facts of the images.
void refresh(BundleFile &file) {
  Json index = parse(file.index);
  Json *entries = entriesOf(index);
  for (size_t n = 0; entries && n < std::min(entries->size(), file.images.size()); ++n)
    if (Json &row = (*entries)[n]; row.is_array() && row.size() > ImageDigest) {
      row[Size] = file.images[n].size();
      row[ImageDigest] = hexText(digestOf(file.images[n]));
      if (const Result<KernelImage> image = KernelImage::parse(file.images[n])) {
        const BundleEntry facts = detail::factsOf(*image);
        const uint32_t columns[] = {facts.sharedBytes,   facts.blockThreads, facts.registers,
                                    facts.clusterBlocks, facts.ptxVersion,   facts.cubinBytes};
        std::ranges::copy(columns, row.begin() + Facts);
      }
    }
  if (entries)
    file.index = index.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// A sound bundle of a few images and records: most of what a corpus grows to is refused at opening.
std::string soundBundle(Random &random) {
  static constexpr const char *targets[] = {"sm_80", "sm_86", "sm_90", "sm_120"};
  BundleWriter writer;
  for (size_t images = random.below(4); images; --images) {
    KernelImage image = test::sampleImage(unsigned(random.below(4)), random.pick(targets), random.below(3) * 40);
    image.schedule.stages = 1 + unsigned(random.below(2)); // the default is one of them
    (void)writer.add(image);
  }
  for (size_t records = random.below(4); records; --records) {
    TuningRecord record = test::sampleRecord(unsigned(random.below(4)), random.chance(2) ? "GPU" : "NVIDIA H100");
    record.problem.seqlenQ = int64_t(random.below(3));
    writer.add(record);
  }
  Result<std::string> bytes = writer.serialize();
  return bytes ? *std::move(bytes) : std::string();
}

/// What the writer makes of these images and the records of the old bundle; empty where it refuses an image.
std::string rewrite(const BundleFile &file, std::string_view old) {
  BundleWriter writer;
  for (const std::string &image : file.images)
    if (!writer.replace(image))
      return {};
  if (auto bundle = Bundle::openEmbedded(std::as_bytes(std::span(old)), "old"))
    for (const TuningRecord &record : (*bundle)->index().records)
      writer.add(record);
  Result<std::string> bytes = writer.serialize();
  return bytes ? *std::move(bytes) : std::string();
}

/// Adds, repeats, drops or exchanges images together with their rows, or without.
void changeRows(BundleFile &file, Random &random) {
  Json index = parse(file.index);
  Json *entries = entriesOf(index);
  if (!entries || entries->empty() || file.images.empty())
    return;
  const size_t rows = std::min(entries->size(), file.images.size()), at = random.below(rows);
  switch (random.below(4)) {
  case 0:
    entries->erase(at);
    file.images.erase(file.images.begin() + long(at));
    break;
  case 1:
    entries->insert(entries->begin() + long(at), Json((*entries)[at]));
    file.images.insert(file.images.begin() + long(at), std::string(file.images[at]));
    break;
  case 2:
    std::swap(file.images[at], random.pick(file.images));
    break;
  default:
    file.images.pop_back();
  }
  file.index = index.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void sign(std::string &bytes) {
  writeNumber(bytes, SignatureKind, uint32_t(1));
  writeNumber(bytes, SignatureKey, fuzzKey().publicKey().bytes);
  writeNumber(bytes, SignatureBytes, decltype(Signature::bytes){});
  writeNumber(bytes, SignatureBytes, Signature::sign(fuzzKey(), std::string_view(bytes).substr(0, headerSize)).bytes);
}

void changeHeader(std::string &bytes, Random &random) {
  const size_t at = 4 * (2 + random.below(headerSize / 4 - 3));
  writeNumber(bytes, at, uint32_t(random.number(readNumber<uint32_t>(bytes, at))));
}

} // namespace

const PrivateKey &fuzzKey() {
  static const PrivateKey &key = *new PrivateKey(
      *PrivateKey::parse("tessera-ed25519-private 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"));
  return key;
}

std::string mutateBundle(std::string_view given, Random &random) {
  const std::string bytes = random.chance(3) ? soundBundle(random) : std::string(given);
  std::optional<BundleFile> file = takeApart(bytes);
  if (!file || random.chance(16))
    return random.bytes(bytes);
  const bool wasSigned = readNumber<uint32_t>(bytes, SignatureKind) == 1;
  const size_t choice = random.below(16);
  std::string changed;
  if (choice < 7) {
    file->index = mutateJson(file->index, random, words);
    if (random.chance(2))
      refresh(*file);
  } else if (choice < 11 && !file->images.empty()) {
    std::string &image = random.pick(file->images);
    image = mutateImage(image, random);
    if (!random.chance(8))
      refresh(*file);
    if (random.chance(2))
      changed = rewrite(*file, bytes);
  } else if (choice < 13) {
    changeRows(*file, random);
    if (random.chance(2))
      refresh(*file);
  }
  if (changed.empty())
    changed = choice < 14 ? file->bytes() : std::string(bytes);
  if (random.chance(wasSigned ? 2 : 8))
    sign(changed);
  if (choice == 14)
    changeHeader(changed, random);
  else if (choice == 15)
    changed[random.below(changed.size())] = char(random.below(256)); // where zeros fill up a page, for the most part
  return changed;
}

} // namespace tessera::fuzz
