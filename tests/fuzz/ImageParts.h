// ImageParts: a serialised kernel image taken apart and put together again with whatever was changed, its digest right.
#pragma once

#include "tests/fuzz/Random.h"

#include <optional>

namespace tessera::fuzz {

/// The parts as they lie in the file, by the numbers of the format (runtime/image/KernelImage.cpp).
struct ImageParts {
  std::string metadata, compressedPtx, cubin;
  uint64_t ptxSize = 0;

  /// Nothing where the sizes of the header do not fit the bytes.
  static std::optional<ImageParts> of(std::string_view bytes);
  std::string bytes() const;
};

/// Gives the bytes of an image, or of what is left of one, the digest that belongs to them.
void sealImage(std::string &bytes);

/// One change: of the metadata, the PTX, its compression, the cubin, the header, padding; mostly with the right digest.
std::string mutateImage(std::string_view bytes, Random &random);

} // namespace tessera::fuzz
