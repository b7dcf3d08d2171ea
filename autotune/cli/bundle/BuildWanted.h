// BuildWanted: what `tessera bundle build` is asked to build.
#pragma once

#include "autotune/cli/Commands.h"
#include "autotune/cli/SourceFlags.h"
#include "autotune/cli/bundle/BuildPlan.h"
#include "autotune/cli/bundle/SpecList.h"

#include <optional>
#include <string>
#include <vector>

namespace tessera::cli {

struct BuildFlags {
  std::string specs, output, records, signKey;
  std::vector<std::string> targets, fromLog;
  std::string schedules = "default";
  std::optional<int64_t> jobs, candidates;
  std::optional<double> margin;
  bool noPtx = false;
  CacheFlags cache;
};

/// What is to be built.
struct Wanted {
  std::vector<AttentionSpec> specs;
  std::vector<Target> targets;
  ScheduleSet schedules;
};

/// Attentions, targets and schedules, of lists, logs and flags. `problems` receives the list and outlives what is
/// returned. InvalidArgument where flags contradict each other.
Result<Wanted> readWanted(const BuildFlags &flags, const CommonFlags &common, std::vector<ResolvedProblem> &problems);

} // namespace tessera::cli
