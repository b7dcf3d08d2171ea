// Ranks the images of bundles for a device.
#include "runtime/engine/BundleSelection.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tessera {
namespace {

KernelNeeds needsOf(const BundleEntry &entry) {
  return {entry.target,       entry.cubinBytes != 0, entry.ptxVersion,   entry.sharedBytes,
          entry.blockThreads, entry.registers,       entry.clusterBlocks};
}

/// The schedule that a bundle's entry would have to have to be the one wanted, and why it is wanted.
struct Wanted {
  std::string schedule, reason;
  std::optional<RecordMatch> match; ///< of a tuning record
};

/// In the order of preference, for code of one target.
std::vector<Wanted> wantedSchedules(const AttentionSpec &spec, const CodeTarget &target, const Schedule *given,
                                    std::span<const TunedSchedule> tuned) {
  if (given)
    return {{given->text(), "given by the caller", std::nullopt}};
  std::vector<Wanted> wanted;
  for (const TunedSchedule &one : tuned)
    wanted.push_back({one.schedule.text(), one.reason, one.match});
  if (Result<Target> known = Target::parse(target.text()))
    wanted.push_back(
        {defaultSchedule(spec, *known).text(), fmt::format("the default for {}", known->name), std::nullopt});
  return wanted;
}

/// The names and values of a canonical text, "d=128" or "kv64" alike, as they stand between commas.
std::vector<std::string_view> fields(std::string_view text) {
  std::vector<std::string_view> fields;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    fields.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return fields;
}

/// The fields of `held` that differ from those wanted.
std::vector<std::string> differences(std::string_view held, std::string_view wanted) {
  const auto withoutVersion = [](std::string_view text) { return text.substr(text.find(':') + 1); };
  const std::vector<std::string_view> a = fields(withoutVersion(held)), b = fields(withoutVersion(wanted));
  std::vector<std::string> differences;
  for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const std::string_view one = i < a.size() ? a[i] : "", other = i < b.size() ? b[i] : "";
    if (one != other)
      differences.push_back(fmt::format("{} (wanted {})", one, other));
  }
  return differences;
}

/// The entries of the nearest code for the device, in the order of the bundle; `refused` receives what it cannot run.
std::vector<Candidate> nearestIn(const Bundle &bundle, std::string_view specText, const DeviceFacts &device,
                                 const Schedule *given, std::vector<Candidate> &refused) {
  std::vector<Candidate> fitting;
  for (const BundleEntry &entry : bundle.index().find(specText)) {
    CodeMatch match = fitOnDevice(needsOf(entry), device);
    Candidate candidate{&bundle, &entry, match.fit, std::move(match.reason)};
    if (given && candidate.fit != CodeFit::None && entry.schedule != given->text())
      candidate = {&bundle, &entry, CodeFit::None, "another schedule than the one given"};
    (candidate.fit == CodeFit::None ? refused : fitting).push_back(std::move(candidate));
  }
  if (fitting.empty())
    return fitting;
  // Nearer code first; of PTX, and of cubins of one family, the newest architecture.
  const Candidate nearest = *std::ranges::min_element(fitting, {}, [](const Candidate &c) {
    return std::pair(c.fit, -int(c.entry->target.major * 10 + c.entry->target.minor));
  });
  std::erase_if(fitting,
                [&](const Candidate &c) { return c.fit != nearest.fit || c.entry->target != nearest.entry->target; });
  return fitting;
}

constexpr size_t nearestShown = 3;

std::string describe(const RecordChoice &choice, std::string_view source) {
  return fmt::format("tuned on {} for {} ({}{})", choice.record->device, bucketOf(choice.record->problem),
                     choice.match == RecordMatch::Exact     ? "this shape"
                     : choice.match == RecordMatch::Bucket  ? "a shape of the same bucket"
                     : choice.match == RecordMatch::Nearest ? "the nearest shape"
                                                            : "another GPU, code for the same target",
                     source);
}

} // namespace

std::vector<TunedSchedule> tunedSchedules(BundleList bundles, std::span<const TuningRecord> log,
                                          const AttentionSpec &spec, const Problem &problem, const DeviceFacts &device,
                                          const Target &code) {
  const auto choose = [&](std::span<const TuningRecord> records) {
    std::optional<RecordChoice> choice = chooseRecord(records, spec, problem, device.name, code);
    if (choice && choice->match == RecordMatch::Family && code.name != device.target.name)
      choice.reset();
    return choice;
  };
  std::optional<RecordChoice> shipped;
  for (const auto &bundle : bundles)
    if (auto choice = choose(bundle->index().records))
      if (!shipped || choice->match < shipped->match)
        shipped = choice;
  const std::optional<RecordChoice> logged = choose(log);
  std::vector<TunedSchedule> tuned;
  if (shipped)
    tuned.push_back({shipped->record->schedule, describe(*shipped, ""), shipped->match});
  if (logged)
    tuned.insert(shipped && shipped->match <= logged->match ? tuned.end() : tuned.begin(),
                 {logged->record->schedule, describe(*logged, ", by the tuning log of the cache"), logged->match});
  return tuned;
}

std::vector<Candidate> nearestCode(BundleList bundles, const AttentionSpec &spec, const DeviceFacts &device) {
  for (const auto &bundle : bundles) {
    BundleChoice passedOver;
    if (std::vector<Candidate> nearest = nearestIn(*bundle, spec.text(), device, nullptr, passedOver.refused);
        !nearest.empty())
      return nearest;
  }
  return {};
}

BundleChoice chooseFromBundles(BundleList bundles, const AttentionSpec &spec, const Problem &problem,
                               const DeviceFacts &device, const Schedule *given, std::span<const TuningRecord> log) {
  BundleChoice choice;
  const std::string specText = spec.text();
  for (const auto &bundle : bundles) {
    const std::vector<Candidate> nearest = nearestIn(*bundle, specText, device, given, choice.refused);
    if (nearest.empty())
      continue;
    const CodeTarget &target = nearest.front().entry->target;
    const Result<Target> known = Target::parse(target.text());
    std::vector<TunedSchedule> tuned;
    if (!given)
      tuned = tunedSchedules(bundles, log, spec, problem, device, known ? *known : device.target);
    choice.byShape = !tuned.empty();
    for (const Wanted &wanted : wantedSchedules(spec, target, given, tuned))
      for (const Candidate &candidate : nearest)
        if (!choice.chosen && candidate.entry->schedule == wanted.schedule) {
          choice.chosen = candidate;
          choice.scheduleReason = wanted.reason;
          choice.match = wanted.match;
        }
    if (!choice.chosen) {
      choice.chosen = nearest.front();
      choice.scheduleReason =
          fmt::format("the first that {} holds for this attention on {}", bundle->path(), target.text());
    }
    return choice;
  }
  return choice;
}

std::string describeNearest(BundleList bundles, const AttentionSpec &spec, const BundleChoice &choice) {
  std::string text;
  const auto line = [&](std::string one) { text += (text.empty() ? "" : "\n") + std::move(one); };
  for (const Candidate &candidate : choice.refused)
    line(fmt::format("{}: {} {}: {}", candidate.bundle->path(), candidate.entry->target.text(),
                     candidate.entry->schedule, candidate.reason));
  if (!text.empty())
    return text;

  struct Near {
    size_t order;
    const Bundle *bundle;
    std::vector<std::string> differences;
  };
  std::vector<Near> near;
  const std::string wanted = spec.text();
  for (const auto &bundle : bundles)
    for (const std::string &held : bundle->index().specs)
      near.push_back({near.size(), bundle.get(), differences(held, wanted)});
  std::ranges::sort(near, {}, [](const Near &one) { return std::pair(one.differences.size(), one.order); });
  for (size_t i = 0; i < std::min(near.size(), nearestShown); ++i)
    line(fmt::format("{} holds one with {}", near[i].bundle->path(), fmt::join(near[i].differences, ", ")));
  return text.empty() ? "the bundles hold no kernel at all" : text;
}

} // namespace tessera
