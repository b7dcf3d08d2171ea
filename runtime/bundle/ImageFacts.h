// ImageFacts: what an index repeats of an image, taken from the image.
#pragma once

#include "runtime/bundle/BundleIndex.h"
#include "runtime/image/KernelImage.h"

namespace tessera::detail {

/// The facts of a valid image. The texts, the place and the digest stay empty.
BundleEntry factsOf(const KernelImage &image);

/// The facts in which two entries differ: "registers 168 -> 172, shared bytes 49152 -> 65536"; empty where none.
std::string factChanges(const BundleEntry &first, const BundleEntry &second);

} // namespace tessera::detail
