// WhyMiss: where a prepare would find the kernel, source by source, and why it would not.
#pragma once

#include "autotune/cli/Describe.h"
#include "runtime/engine/Engine.h"

namespace tessera::cli {

/// What is looked for.
struct WantedKernel {
  AttentionSpec spec;
  Problem problem;
  DeviceFacts device;
  std::optional<Schedule> given; ///< by the caller
  Schedule schedule;             ///< that the cache and the compiler are asked for
  Target target;                 ///< likewise
};

/// The answer as JSON and as rows for people.
struct WhyMiss {
  Json json; ///< "answer", "bundles", "disk"
  std::vector<std::pair<std::string, std::string>> rows;
};

/// Asks the bundles and the disk cache as prepare() would, compiles and writes nothing. A miss on the disk comes with
/// the nearest entry and the fields in which its key differs.
WhyMiss whyMiss(BundleList bundles, const EngineOptions &options, const WantedKernel &wanted);

/// A device that is not there: a target's own limits, and a driver that knows every PTX version.
DeviceFacts factsOf(const Target &target);

} // namespace tessera::cli
