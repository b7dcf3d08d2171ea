// From images and records to the bytes of a bundle.
#include "runtime/bundle/BundleWriter.h"

#include "runtime/bundle/BundleLayout.h"
#include "runtime/bundle/ImageFacts.h"
#include "runtime/bundle/IndexTables.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace tessera {
namespace {

using detail::IndexText;

/// The texts of one table while it is put together.
class Texts {
public:
  void add(std::string_view text) { texts_.emplace(text); }
  std::vector<std::string> table() const { return {texts_.begin(), texts_.end()}; }

private:
  std::set<std::string, std::less<>> texts_;
};

uint64_t placeOf(const std::vector<std::string> &table, std::string_view text) {
  return uint64_t(std::ranges::lower_bound(table, text) - table.begin());
}

/// The first text that an index cannot hold.
Status checkTexts(const IndexText &index) {
  for (const std::vector<std::string> *table :
       {&index.builds, &index.devices, &index.schedules, &index.specs, &index.targets})
    for (const std::string &text : *table)
      if (!detail::isIndexText(text)) {
        std::string shown;
        for (char c : std::string_view(text).substr(0, 64))
          shown += c >= ' ' && c <= '~' ? c : '?';
        return {Code::InvalidArgument,
                fmt::format("a bundle cannot hold the name '{}' ({} characters)", shown, text.size()),
                "names have 1 to 1024 printable ASCII characters without quotes and backslashes"};
      }
  return {};
}

} // namespace

Status BundleWriter::put(const KernelImage &image, std::string bytes, bool replace) {
  auto [found, added] = items_.try_emplace({image.spec.text(), image.target, image.schedule.text()});
  Item &item = found->second;
  if (!added && !replace && item.bytes != bytes)
    return {Code::InvalidArgument,
            fmt::format("two different images for {} {} {}: of build '{}' with {} bytes and of build '{}' with {}",
                        found->first[0], found->first[2], found->first[1], item.build, item.bytes.size(), image.buildId,
                        bytes.size()),
            "build both with one compiler, or say which of them to keep"};
  item = {detail::factsOf(image), image.buildId, std::move(bytes)};
  return {};
}

Status BundleWriter::add(const KernelImage &image) {
  Result<std::string> bytes = image.serialize();
  return bytes ? put(image, std::move(*bytes), false) : bytes.status();
}

Status BundleWriter::add(std::string imageBytes) {
  Result<KernelImage> image = KernelImage::parse(imageBytes);
  return image ? put(*image, std::move(imageBytes), false) : image.status();
}

Status BundleWriter::replace(std::string imageBytes) {
  Result<KernelImage> image = KernelImage::parse(imageBytes);
  return image ? put(*image, std::move(imageBytes), true) : image.status();
}

void BundleWriter::add(TuningRecord record) {
  detail::RecordKey key = detail::keyOf(record);
  records_.insert_or_assign(std::move(key), std::move(record));
}

size_t BundleWriter::imageCount() const { return items_.size(); }
size_t BundleWriter::recordCount() const { return records_.size(); }

Result<std::string> BundleWriter::serialize(const PrivateKey *sign) const {
  Texts builds, devices, schedules, specs, targets;
  for (const auto &[key, item] : items_) {
    specs.add(key[0]);
    targets.add(key[1]);
    schedules.add(key[2]);
    builds.add(item.build);
  }
  for (const auto &[key, record] : records_) {
    specs.add(std::get<0>(key));
    targets.add(std::get<1>(key));
    devices.add(std::get<2>(key));
    schedules.add(record.schedule.text());
  }
  IndexText index;
  index.builds = builds.table();
  index.devices = devices.table();
  index.schedules = schedules.table();
  index.specs = specs.table();
  index.targets = targets.table();
  if (Status status = checkTexts(index); !status.ok())
    return status;

  for (const auto &[key, item] : items_) {
    const BundleEntry &facts = item.facts;
    index.entries.push_back(
        {{placeOf(index.specs, key[0]), placeOf(index.targets, key[1]), placeOf(index.schedules, key[2]),
          item.bytes.size(), facts.sharedBytes, facts.blockThreads, facts.registers, facts.clusterBlocks,
          facts.ptxVersion, facts.cubinBytes},
         digestOf(item.bytes)});
  }
  for (const auto &[key, record] : records_) {
    const Problem &problem = record.problem;
    if (Status status = problem.validate(); !status.ok())
      return status;
    index.records.push_back({{placeOf(index.specs, std::get<0>(key)), placeOf(index.targets, std::get<1>(key)),
                              placeOf(index.devices, std::get<2>(key)), uint64_t(problem.batch),
                              uint64_t(problem.heads), uint64_t(problem.kvHeads), uint64_t(problem.seqlenQ),
                              uint64_t(problem.seqlenKv), placeOf(index.schedules, record.schedule.text())}});
  }
  const std::string json = index.json();
  if (json.size() > detail::maxIndexSize)
    return Status(Code::InvalidArgument,
                  fmt::format("{} images and {} records need an index of {} bytes; at most {}", items_.size(),
                              records_.size(), json.size(), detail::maxIndexSize),
                  "make several bundles; an application can open any number of them");
  uint64_t size = detail::headerSize + json.size();
  for (const auto &[key, item] : items_)
    size = detail::imageOffset(size) + item.bytes.size();
  // The reader's own checks: what they would refuse (a record of a spec that cannot be compiled, say) is not written.
  if (Result<BundleIndex> readable = detail::resolveIndex(std::move(index), json.size(), size); !readable)
    return Status(Code::InvalidArgument, readable.status().message());

  detail::BundleHeader header = detail::makeHeader(json, items_.size(), size);
  if (sign)
    detail::sign(header, *sign);
  std::string bytes;
  bytes.reserve(size);
  bytes.append(reinterpret_cast<const char *>(&header), sizeof header);
  bytes += json;
  for (const auto &[key, item] : items_) {
    bytes.resize(detail::imageOffset(bytes.size()), '\0');
    bytes += item.bytes;
  }
  return bytes;
}

} // namespace tessera
