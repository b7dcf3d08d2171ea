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
};

/// The record that answers for this request among those of all bundles, the first bundle's first.
std::optional<RecordChoice> chooseRecord(BundleList bundles, const AttentionSpec &spec, const Problem &problem,
                                         const DeviceFacts &device);
/// "tuned on NVIDIA A100 for q2048,kv2048,b32,g4 (bucket)"
std::string describe(const RecordChoice &choice);

/// The image for this spec. Bundles come in their order: an earlier one that can serve wins. Within a bundle: the
/// nearest code (exact, family, PTX), then the schedule: `given`, else the tuning record's, else the default of the
/// entry's target, else the first in order.
BundleChoice chooseFromBundles(BundleList bundles, const AttentionSpec &spec, const Problem &problem,
                               const DeviceFacts &device, const Schedule *given);

/// Where nothing was chosen: the refusals, or, where the bundles hold nothing of this spec, the nearest specs that they
/// do hold with the fields that differ. One candidate a line, for the hint of a Status.
std::string describeNearest(BundleList bundles, const AttentionSpec &spec, const BundleChoice &choice);

} // namespace tessera
