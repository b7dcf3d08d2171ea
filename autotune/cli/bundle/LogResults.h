// LogResults: what the tuning logs and the cost model give `tessera bundle build`: records to ship, candidates to try.
#pragma once

#include "autotune/cli/ProblemFlags.h"
#include "runtime/spec/TuningRecord.h"

#include <functional>
#include <string>
#include <vector>

namespace tessera::cli {

/// The winners of tuning logs (`tessera tune --log`) as records, in a fixed order, times within `margin` equal.
/// `remark` receives damaged lines, and what is left out since other tools timed it. File where a log cannot be read;
/// InvalidArgument where nothing in them was measured.
Result<std::vector<TuningRecord>> recordsOfLogs(const std::vector<std::string> &paths, double margin,
                                                const std::function<void(const std::string &)> &remark);

/// The default and the `count` schedules that the model puts first for this attention, at each of its shapes in the
/// list and on each known GPU of the target; no two alike.
std::vector<Schedule> modelCandidates(const std::vector<ResolvedProblem> &problems, const AttentionSpec &spec,
                                      const Target &target, size_t count);

} // namespace tessera::cli
