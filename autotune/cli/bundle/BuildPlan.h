// BuildPlan: which kernels a bundle is to hold, decided before the first of them is compiled.
#pragma once

#include "runtime/spec/TuningRecord.h"

#include <functional>
#include <string>
#include <vector>

namespace tessera::cli {

/// One kernel to be compiled.
struct BuildItem {
  AttentionSpec spec;
  Schedule schedule;
  Target target;

  /// For messages: "sm_80, v1:..., v1:q128,...".
  std::string text() const;
};

/// Which schedules each attention is compiled with.
struct ScheduleSet {
  enum Kind { Default, Tuned, Candidates } kind = Default;
  /// Candidates: those of them that are legal; at least one for every attention and target.
  std::function<std::vector<Schedule>(const AttentionSpec &, const Target &)> candidates;
  std::vector<TuningRecord> records; ///< Tuned: theirs, and the default
};

struct BuildPlan {
  std::vector<BuildItem> items;      ///< no two alike
  std::vector<TuningRecord> records; ///< those that the bundle shall carry: of these attentions and targets
  std::vector<std::string> unused;   ///< the others, each with its reason
  std::vector<std::string> skipped;  ///< schedules that are not legal, each with its reason
};

/// Attentions x targets x schedules. InvalidArgument where a target and attention would be left without kernel, with
/// the reasons.
Result<BuildPlan> planBuild(const std::vector<AttentionSpec> &specs, const std::vector<Target> &targets,
                            const ScheduleSet &schedules);

/// Schedules from a text file: one canonical text a line; empty lines and those that begin with # count for nothing.
/// File with the line at fault.
Result<std::vector<Schedule>> readCandidates(std::string_view text);

} // namespace tessera::cli
