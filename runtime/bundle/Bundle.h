// Bundle: many kernel images in one file that an application ships. Opening costs the index only.
#pragma once

#include "runtime/bundle/BundleIndex.h"
#include "runtime/bundle/Signature.h"
#include "runtime/image/KernelImage.h"

#include <memory>
#include <optional>
#include <span>
#include <string>

namespace tessera {

/// An opened bundle. Immutable and thread-safe; copies of the shared pointer share the open file. The bytes are not
/// trusted: every size is checked before use, the index against the header's digest at opening, each image against the
/// index's digest whenever it is read, so that a file which is written to or cut short meanwhile is an error and never
/// another kernel. Opening and reading write nothing anywhere.
class Bundle {
public:
  /// Opens the file and reads its index. File with what is wrong: not there, not a plain file, not a bundle, damaged,
  /// or of a later format.
  static Result<std::shared_ptr<const Bundle>> open(const std::string &path);
  /// Bytes that outlive the bundle, such as those linked in by `tessera bundle embed`. `name` stands for the path in
  /// messages. The bytes need no alignment.
  static Result<std::shared_ptr<const Bundle>> openEmbedded(std::span<const std::byte> bytes, std::string name);

  ~Bundle();

  const std::string &path() const;
  const BundleIndex &index() const;
  uint64_t size() const;             ///< of the whole file, when it was opened
  Result<std::string> bytes() const; ///< a copy of the whole file

  /// The image of one of index().entries, read now and parsed, its digest and the facts of the index checked. File
  /// where they do not hold: the file was damaged, or written to since it was opened.
  Result<KernelImage> image(const BundleEntry &entry) const;
  /// Its serialised bytes, digest checked.
  Result<std::string> imageBytes(const BundleEntry &entry) const;

  /// Reads every image and what lies between them; the first fault, also where the signature does not match its own
  /// key. Of images for architectures that this library does not know, the digest only.
  Status verify() const;
  /// The signature that it carries, which proves nothing until it is checked with a key from elsewhere.
  const std::optional<Signature> &signature() const;
  /// Ok where the bundle is signed with the private key that belongs to this public key: index, and with it every
  /// digest, unchanged. InvalidArgument otherwise, saying which.
  Status verifySignature(const PublicKey &key) const;

private:
  struct State;
  explicit Bundle(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

} // namespace tessera
