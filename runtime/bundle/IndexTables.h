// IndexTables: between the rows of an index and the BundleIndex that the rest of Tessera works with.
#pragma once

#include "runtime/bundle/BundleIndex.h"
#include "runtime/bundle/IndexText.h"

namespace tessera::detail {

/// Checks everything that the rows say against each other and against the file, and gives the images their places. The
/// image bytes are not looked at. File with what is wrong.
Result<BundleIndex> resolveIndex(IndexText &&text, uint64_t indexSize, uint64_t fileSize);

} // namespace tessera::detail
