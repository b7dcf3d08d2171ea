// BundleMutator: changes to bundles whose digests, and for the most part sizes and repeated facts, fit afterwards.
#pragma once

#include "runtime/bundle/Signature.h"
#include "tests/fuzz/Random.h"

namespace tessera::fuzz {

/// The key that mutated bundles are signed with, and bundles of the corpus.
const PrivateKey &fuzzKey();

/// One change of these bytes, or now and then of a sound bundle instead: of the index, an image, which images there
/// are, the header, the signature, or of any bytes.
std::string mutateBundle(std::string_view bytes, Random &random);

} // namespace tessera::fuzz
