// Merging, splitting, stripping and signing.
#include "runtime/bundle/BundleLayout.h"
#include "runtime/bundle/BundleWriter.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

namespace tessera {
namespace {

/// Two records that answer one question differently, in whatever bundles.
Status checkRecords(std::span<const std::shared_ptr<const Bundle>> bundles) {
  std::map<detail::RecordKey, const TuningRecord *> seen;
  for (const std::shared_ptr<const Bundle> &bundle : bundles)
    for (const TuningRecord &record : bundle->index().records) {
      auto [found, added] = seen.emplace(detail::keyOf(record), &record);
      if (!added && found->second->schedule != record.schedule)
        return {Code::InvalidArgument,
                fmt::format("bundle '{}': another record for {} on {} chooses differently: {} instead of {}",
                            bundle->path(), record.spec.text(), detail::circumstances(record), record.schedule.text(),
                            found->second->schedule.text()),
                "say which of them to keep"};
    }
  return {};
}

/// The bytes of an image, checked as Bundle::image does.
Result<std::string> checkedBytes(const Bundle &bundle, const BundleEntry &entry) {
  if (Result<KernelImage> image = bundle.image(entry); !image)
    return image.status();
  return bundle.imageBytes(entry);
}

std::string targetList(const BundleIndex &index) {
  std::set<std::string> targets;
  for (const BundleEntry &entry : index.entries)
    targets.insert(entry.target.text());
  std::string list;
  for (const std::string &target : targets)
    list += (list.empty() ? "" : ", ") + target;
  return list.empty() ? "no images at all" : list;
}

} // namespace

Result<BundleWriter> mergeBundles(std::span<const std::shared_ptr<const Bundle>> bundles, MergeConflict conflict) {
  if (conflict == MergeConflict::Refuse)
    if (Status status = checkRecords(bundles); !status.ok())
      return status;
  // What comes later replaces what came earlier; for the first to be kept, the last comes first.
  std::vector<std::shared_ptr<const Bundle>> order(bundles.begin(), bundles.end());
  if (conflict == MergeConflict::KeepFirst)
    std::ranges::reverse(order);
  BundleWriter writer;
  for (const std::shared_ptr<const Bundle> &bundle : order) {
    for (const BundleEntry &entry : bundle->index().entries) {
      Result<std::string> image = checkedBytes(*bundle, entry);
      if (!image)
        return image.status();
      const Status status =
          conflict == MergeConflict::Refuse ? writer.add(*std::move(image)) : writer.replace(*std::move(image));
      if (!status.ok())
        return Status(status.code(), fmt::format("bundle '{}': {}", bundle->path(), status.message()), status.hint());
    }
    for (const TuningRecord &record : bundle->index().records)
      writer.add(record);
  }
  return writer;
}

Result<BundleWriter> splitBundle(const Bundle &bundle, const CodeTarget &target) {
  BundleWriter writer;
  for (const BundleEntry &entry : bundle.index().entries) {
    if (entry.target != target)
      continue;
    Result<std::string> image = checkedBytes(bundle, entry);
    if (!image)
      return image.status();
    if (Status status = writer.add(*std::move(image)); !status.ok())
      return status;
  }
  if (writer.imageCount() == 0)
    return Status(Code::NotFound, fmt::format("bundle '{}' holds no image for {}", bundle.path(), target.text()),
                  fmt::format("it holds: {}", targetList(bundle.index())));
  for (const TuningRecord &record : bundle.index().records)
    if (record.target == target.text())
      writer.add(record);
  return writer;
}

Result<BundleWriter> stripPtx(const Bundle &bundle) {
  BundleWriter writer;
  for (const BundleEntry &entry : bundle.index().entries) {
    Result<KernelImage> image = bundle.image(entry);
    if (!image)
      return image.status();
    if (image->cubin.empty())
      return Status(Code::InvalidArgument,
                    fmt::format("bundle '{}': the image for {} {} {} has no cubin; without its PTX nothing is left",
                                bundle.path(), entry.spec, entry.schedule, entry.target.text()),
                    "build it where nvJitLink is installed");
    image->ptx.clear();
    if (Status status = writer.add(*image); !status.ok())
      return status;
  }
  for (const TuningRecord &record : bundle.index().records)
    writer.add(record);
  return writer;
}

Result<std::string> signBundle(const Bundle &bundle, const PrivateKey &key) {
  Result<std::string> bytes = bundle.bytes();
  if (!bytes)
    return bytes;
  // What is signed is what was verified: this copy.
  Result<std::shared_ptr<const Bundle>> copy = Bundle::openEmbedded(std::as_bytes(std::span(*bytes)), bundle.path());
  if (!copy)
    return copy.status();
  if (Status status = (*copy)->verify(); !status.ok())
    return status;
  Result<detail::BundleHeader> header = detail::readHeader(*bytes, bytes->size());
  if (!header)
    return header.status();
  detail::sign(*header, key);
  bytes->replace(0, sizeof *header, reinterpret_cast<const char *>(&*header), sizeof *header);
  return bytes;
}

} // namespace tessera
