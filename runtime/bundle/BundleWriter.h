// BundleWriter: images and records in, the bytes of a bundle out; and the operations on whole bundles.
#pragma once

#include "runtime/bundle/Bundle.h"
#include "runtime/bundle/RecordKey.h"

#include <array>
#include <map>
#include <string>
#include <vector>

namespace tessera {

/// Collects what a bundle holds. The same content gives the same bytes, in whatever order it was added, on whatever day
/// and in whatever folder. A value type; thread-compatible.
class BundleWriter {
public:
  /// InvalidArgument for an image that contradicts itself, and for another image of the same spec, schedule and target
  /// (the message names both builds); the very same image twice is one.
  Status add(const KernelImage &image);
  /// An image in its serialised form, from an opened bundle or a cache. File where the bytes are no image.
  Status add(std::string imageBytes);
  /// Replaces an earlier image of the same spec, schedule and target.
  Status replace(std::string imageBytes);
  /// A record of the same spec, device, target and problem is replaced.
  void add(TuningRecord record);

  size_t imageCount() const;
  size_t recordCount() const;

  /// The bundle. `sign` null: unsigned. Without images it holds records only, which is of use to an application that
  /// compiles. InvalidArgument for a text that an index cannot hold (a record's device with characters that are not
  /// plain ASCII, say), and for more than its 16 MiB can.
  Result<std::string> serialize(const PrivateKey *sign = nullptr) const;

private:
  struct Item {
    BundleEntry facts; ///< texts, place and digest unset
    std::string build, bytes;
  };
  Status put(const KernelImage &image, std::string bytes, bool replace);

  std::map<std::array<std::string, 3>, Item> items_; ///< by spec, target, schedule
  std::map<detail::RecordKey, TuningRecord> records_;
};

/// What merge does with two images of one spec, schedule and target that differ, and with two records of one spec,
/// device, target and problem that choose differently.
enum class MergeConflict : uint8_t { Refuse, KeepFirst, KeepLast };

/// All images and records of these bundles. Signatures are dropped: the content is another.
Result<BundleWriter> mergeBundles(std::span<const std::shared_ptr<const Bundle>> bundles, MergeConflict conflict);
/// The images for one target, with the records of that target. NotFound, listing the targets there are, for none.
Result<BundleWriter> splitBundle(const Bundle &bundle, const CodeTarget &target);
/// The images without PTX. InvalidArgument naming an image that has no cubin, which would be left with nothing.
Result<BundleWriter> stripPtx(const Bundle &bundle);
/// The same bundle, signed with this key in place of an earlier signature. The bundle is verified first, so that nobody
/// signs what is damaged; with a wrong signature of its own it does not pass.
Result<std::string> signBundle(const Bundle &bundle, const PrivateKey &key);

/// One way in which two bundles differ: an image, or a tuning record.
struct BundleDifference {
  enum Kind : uint8_t { OnlyFirst, OnlySecond, Changed } kind;
  enum Of : uint8_t { Image, Record } of;
  std::string spec, schedule, target; ///< schedule: of a changed record empty
  /// Changed: what differs ("build 12ab -> 34cd, registers 168 -> 172"); else the size. Of a record also the GPU and
  /// the shape.
  std::string detail;
};
/// Images first, then records, each sorted. Empty where the bundles hold the same; signatures do not count.
std::vector<BundleDifference> diffBundles(const Bundle &first, const Bundle &second);

} // namespace tessera
