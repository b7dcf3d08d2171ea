// Trials of a log in the place of those that would be made again.
#include "autotune/search/TaskSearch.h"

#include <algorithm>

namespace tessera::tune {
namespace {

/// Of several trials of one candidate the greatest counts: what went wrong with it first, then the longest measurement
/// (the best so far is logged when it is found, and again after the last round).
std::pair<int, uint32_t> weight(const Trial &trial) {
  switch (trial.status) {
  case TrialStatus::Wrong:
  case TrialStatus::Faulted:
  case TrialStatus::Crashed:
  case TrialStatus::TimedOut:
    return {2, 0};
  case TrialStatus::Measured:
    return {1, trial.measurement ? trial.measurement->repeats : 0};
  default:
    return {0, 0};
  }
}

} // namespace

/// Trials of the log that stand for one of this run take its place.
void TaskSearch::reuseLog() {
  std::vector<const Trial *> known; // of this task; numbers are compared before texts
  for (const Trial &logged : run_.known)
    if (logged.task.problem == plan_.task.problem && logged.task == plan_.task)
      known.push_back(&logged);
  for (Entrant &entrant : entrants_) {
    const Trial *best = nullptr;
    for (const Trial *one : known) {
      const Trial &logged = *one;
      if (logged.schedule != entrant.trial.schedule || !standsFor(logged, entrant.trial) || !standsStill(logged, known))
        continue;
      if (!best || weight(logged) > weight(*best))
        best = &logged;
    }
    if (!best)
      continue;
    std::optional<Prediction> before = std::move(entrant.trial.before);
    const bool isDefault = entrant.trial.isDefault;
    entrant.trial = *best;
    entrant.trial.before = std::move(before);
    entrant.trial.isDefault = isDefault;
    entrant.ended = entrant.fromLog = entrant.inLog = true;
    if (entrant.trial.status == TrialStatus::Wrong)
      warnOfWrong(entrant.trial);
    if (entrant.trial.footprint && !entrant.trial.cubinDigest.empty())
      byCode_.emplace(codeOf(entrant.trial.cubinDigest, entrant.trial.schedule, *entrant.trial.footprint), &entrant);
  }
}

/// Whether the end of a logged trial would be the same in this run.
bool TaskSearch::standsStill(const Trial &logged, std::span<const Trial *const> known) const {
  const auto planned = [&](const std::string &schedule) {
    return std::any_of(entrants_.begin(), entrants_.end(),
                       [&](const Entrant &entrant) { return entrant.trial.schedule.text() == schedule; });
  };
  const bool isDefault = logged.schedule == defaultSchedule(logged.task.spec, run_.facts.target);
  switch (logged.status) {
  case TrialStatus::Measured:
    return logged.measurement && logged.verification &&
           (run_.options.keepSpilling || isDefault || !logged.footprint || logged.footprint->spillBytes == 0);
  case TrialStatus::Duplicate:
    return planned(logged.sameAs);
  case TrialStatus::Spills:
    return !run_.options.keepSpilling && !isDefault;
  case TrialStatus::Predicted: // only behind something better that is known, too
    return !isDefault && logged.measurement && std::any_of(known.begin(), known.end(), [&](const Trial *other) {
      Trial wanted = logged;
      wanted.schedule = other->schedule;
      return other->status == TrialStatus::Measured && other->measurement && planned(other->schedule.text()) &&
             standsFor(*other, wanted) &&
             logged.measurement->milliseconds > other->measurement->milliseconds * (1 + run_.options.margin);
    });
  default:
    return true;
  }
}

} // namespace tessera::tune
