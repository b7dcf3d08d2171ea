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
  // Twice, since some stand only behind others that do.
  for (int pass = 0; pass < 2; ++pass)
    for (Entrant &entrant : entrants_)
      if (!entrant.ended)
        reuse(entrant, known);
}

void TaskSearch::reuse(Entrant &entrant, std::span<const Trial *const> known) {
  std::vector<const Trial *> same;
  for (const Trial *logged : known)
    if (logged->schedule == entrant.trial.schedule && standsFor(*logged, entrant.trial))
      same.push_back(logged);
  // What took too long once may have been held up by something else: it is tried again, unless it went well since. A
  // run says so once, so that what is said twice was so in two runs.
  std::optional<int64_t> late;
  if (std::ranges::count(same, TrialStatus::TimedOut, &Trial::status) == 1)
    late = (*std::ranges::find(same, TrialStatus::TimedOut, &Trial::status))->time;
  const auto isDoubtful = [&](const Trial *logged) {
    return late && (logged->status == TrialStatus::TimedOut ||
                    (logged->status == TrialStatus::Measured && logged->time <= *late));
  };
  const Trial *best = nullptr;
  for (const Trial *logged : same)
    if (standsStill(*logged, entrant) && !isDoubtful(logged) && (!best || weight(*logged) > weight(*best)))
      best = logged;
  if (!best)
    return;
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

/// Whether the end of a logged trial would be the same in this run.
bool TaskSearch::standsStill(const Trial &logged, const Entrant &entrant) const {
  switch (logged.status) {
  case TrialStatus::Measured:
    return logged.measurement && logged.verification && logged.verification->right &&
           (run_.options.keepSpilling || entrant.required || !logged.footprint || logged.footprint->spillBytes == 0);
  case TrialStatus::Duplicate:
    return std::ranges::any_of(entrants_,
                               [&](const Entrant &other) { return other.trial.schedule.text() == logged.sameAs; });
  case TrialStatus::Spills:
    return !run_.options.keepSpilling && !entrant.required;
  case TrialStatus::Predicted:
    return !entrant.trial.isDefault && logged.measurement && beaten(logged);
  case TrialStatus::Killed:
    return false;
  default:
    return true;
  }
}

/// Whether it cannot win against what the log knows: one that is faster by more than the margin, or that is as fast and
/// preferred.
bool TaskSearch::beaten(const Trial &logged) const {
  const double time = logged.measurement->milliseconds;
  return std::ranges::any_of(entrants_, [&](const Entrant &other) {
    if (!other.ended || !other.contends())
      return false;
    return time > other.milliseconds() * (1 + run_.options.margin) ||
           (time >= other.milliseconds() &&
            preference(other.trial.schedule, logged.schedule, plan_.task, facts_.target) < 0);
  });
}

} // namespace tessera::tune
