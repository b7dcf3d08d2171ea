// BundleSelection: which image of the opened bundles serves a spec on a device, and why the others do not.
#pragma once

#include "runtime/bundle/Bundle.h"
#include "runtime/engine/DeviceFit.h"
#include "runtime/spec/Problem.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tessera {

using BundleList = std::span<const std::shared_ptr<const Bundle>>;

struct Candidate {
  const Bundle *bundle = nullptr;
  const BundleEntry *entry = nullptr;
  CodeFit fit = CodeFit::None;
  std::string reason; ///< of a refusal
};

struct BundleChoice {
  std::optional<Candidate> chosen;
  std::vector<Candidate> refused; ///< entries of this spec that the device cannot run, in the order of the bundles
  std::string scheduleReason;     ///< of the choice, one sentence: tuned and how it matches, default, or what there is
  std::optional<RecordMatch> match; ///< of the record that the choice follows; absent: it follows none
  bool byShape = false;             ///< there are records for such code, so that another shape may get another schedule
};

/// A schedule that tuning found, and how: "tuned on NVIDIA A100 for q2048,kv2048,b32,g4 (this shape)".
struct TunedSchedule {
  Schedule schedule;
  std::string reason;
  RecordMatch match = RecordMatch::Exact;
};

/// What answers for this request among the records of the bundles and among those of the tuning log, the nearer match
/// first; the bundles' where they are equally near, and of them the first bundle's. At most one of each. Only records
/// of `code`, the target that is to run, since other code has other times; where that is not the device's own, only
/// those that were measured on this very GPU.
std::vector<TunedSchedule> tunedSchedules(BundleList bundles, std::span<const TuningRecord> log,
                                          const AttentionSpec &spec, const Problem &problem, const DeviceFacts &device,
                                          const Target &code);

/// The image for this spec. Bundles come in their order: an earlier one that can serve wins. Within a bundle: the
/// nearest code (exact, family, PTX), then the schedule: `given`, else the first of tunedSchedules() for that code that
/// it holds, else the default of the entry's target, else the first in order. `log`: the records of the tuning log.
BundleChoice chooseFromBundles(BundleList bundles, const AttentionSpec &spec, const Problem &problem,
                               const DeviceFacts &device, const Schedule *given,
                               std::span<const TuningRecord> log = {});
/// The entries of this spec that such a choice may be of: those of the nearest code in the first bundle that serves.
/// Empty: none does.
std::vector<Candidate> nearestCode(BundleList bundles, const AttentionSpec &spec, const DeviceFacts &device);

/// Where nothing was chosen: the refusals, or, where the bundles hold nothing of this spec, the nearest specs that they
/// do hold with the fields that differ. One candidate a line, for the hint of a Status.
std::string describeNearest(BundleList bundles, const AttentionSpec &spec, const BundleChoice &choice);

} // namespace tessera
