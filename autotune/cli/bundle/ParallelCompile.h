// ParallelCompile: many kernels from the cache or the compiler, several at a time.
#pragma once

#include "autotune/cli/Progress.h"
#include "autotune/cli/bundle/BuildPlan.h"
#include "runtime/engine/ImageSource.h"

#include <optional>
#include <vector>

namespace tessera::cli {

/// The outcome of every item, in their order. `jobs` threads at most; each failure leaves the others alone.
std::vector<Result<FoundImage>> compileAll(ImageSource &source, const std::vector<BuildItem> &items, unsigned jobs,
                                           Progress &progress);

} // namespace tessera::cli
