// What two bundles hold differently.
#include "runtime/bundle/BundleWriter.h"
#include "runtime/bundle/ImageFacts.h"

#include <fmt/format.h>
#include <map>

namespace tessera {
namespace {

/// The two values of every key that either side has; null where a side has none.
template <typename Key, typename Value> using Pairs = std::map<Key, std::array<const Value *, 2>>;

using Kind = BundleDifference::Kind;

template <typename Value> Kind kindOf(const std::array<const Value *, 2> &pair) {
  return !pair[1] ? BundleDifference::OnlyFirst : !pair[0] ? BundleDifference::OnlySecond : BundleDifference::Changed;
}

/// Two images of different bytes, by what people want to know of them.
std::string imageChanges(const Bundle &first, const BundleEntry &a, const Bundle &second, const BundleEntry &b) {
  std::string changes;
  auto add = [&](const std::string &change) { changes += (changes.empty() ? "" : ", ") + change; };
  Result<KernelImage> one = first.image(a), other = second.image(b);
  for (const Result<KernelImage> *image : {&one, &other})
    if (!image->ok())
      add(image->status().message());
  if (one && other && one->buildId != other->buildId)
    add(fmt::format("build {} -> {}", one->buildId, other->buildId));
  if (std::string facts = detail::factChanges(a, b); !facts.empty())
    add(facts);
  if (one && other) {
    if (one->spillBytes != other->spillBytes)
      add(fmt::format("spilled bytes {} -> {}", one->spillBytes.value_or(0), other->spillBytes.value_or(0)));
    if (one->toolVersions != other->toolVersions)
      add("tools");
    if (one->keyText != other->keyText)
      add("key");
    if (one->ptx != other->ptx)
      add(fmt::format("PTX of {} -> {} bytes", one->ptx.size(), other->ptx.size()));
    if (one->cubin != other->cubin && one->cubin.size() == other->cubin.size())
      add("cubin of the same size");
  }
  return changes.empty() ? fmt::format("{} -> {} bytes", a.size, b.size) : changes;
}

} // namespace

std::vector<BundleDifference> diffBundles(const Bundle &first, const Bundle &second) {
  Pairs<std::array<std::string, 3>, BundleEntry> images;
  Pairs<detail::RecordKey, TuningRecord> records;
  for (unsigned side : {0u, 1u}) {
    const BundleIndex &index = (side ? second : first).index();
    for (const BundleEntry &entry : index.entries)
      images[{std::string(entry.spec), entry.target.text(), std::string(entry.schedule)}][side] = &entry;
    for (const TuningRecord &record : index.records)
      records[detail::keyOf(record)][side] = &record;
  }
  std::vector<BundleDifference> differences;
  for (const auto &[key, pair] : images) {
    const Kind kind = kindOf(pair);
    if (kind == BundleDifference::Changed && pair[0]->digest == pair[1]->digest)
      continue;
    differences.push_back({kind, BundleDifference::Image, key[0], key[2], key[1],
                           kind == BundleDifference::Changed
                               ? imageChanges(first, *pair[0], second, *pair[1])
                               : fmt::format("{} bytes", (pair[0] ? pair[0] : pair[1])->size)});
  }
  for (const auto &[key, pair] : records) {
    const Kind kind = kindOf(pair);
    const TuningRecord &record = pair[0] ? *pair[0] : *pair[1];
    if (kind == BundleDifference::Changed && pair[0]->schedule == pair[1]->schedule)
      continue;
    std::string detail = detail::circumstances(record);
    const bool changed = kind == BundleDifference::Changed;
    if (changed)
      detail += fmt::format(": {} -> {}", pair[0]->schedule.text(), pair[1]->schedule.text());
    differences.push_back({kind, BundleDifference::Record, record.spec.text(),
                           changed ? std::string() : record.schedule.text(), record.target, std::move(detail)});
  }
  return differences;
}

} // namespace tessera
