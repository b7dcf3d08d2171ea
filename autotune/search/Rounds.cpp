// Rounds: candidates are timed with growing effort while the field shrinks, and verified before one of them can win.
#include "autotune/search/Median.h"
#include "autotune/search/TaskSearch.h"

#include <algorithm>
#include <set>

namespace tessera::tune {
namespace {

constexpr unsigned kInterleavedRounds = 5, kMostAttempts = 3;
constexpr double kSlower = 1.02; ///< more than the spread of one kernel's times

std::vector<Job> jobsOf(const std::vector<Entrant *> &group, const Task &task) {
  std::vector<Job> jobs;
  for (const Entrant *entrant : group)
    jobs.push_back({&entrant->kernel->compiled.value.image, task});
  return jobs;
}

/// Equal times in the order of the model.
std::pair<double, const Entrant *> byTime(const Entrant *entrant) { return {entrant->milliseconds(), entrant}; }

} // namespace

Measurement combine(std::span<const Measurement> parts) {
  Measurement whole = parts.back();
  std::vector<double> medians, lows, highs, clocks;
  whole.repeats = 0;
  whole.stoppedEarly = false;
  for (const Measurement &part : parts) {
    medians.push_back(part.milliseconds);
    lows.push_back(part.lowMs);
    highs.push_back(part.highMs);
    clocks.push_back(part.clockMHz);
    whole.repeats += part.repeats;
    whole.throttled |= part.throttled;
    whole.stoppedEarly |= part.stoppedEarly;
  }
  whole.milliseconds = medianOf(medians);
  whole.lowMs = medianOf(lows);
  whole.highMs = medianOf(highs);
  whole.clockMHz = medianOf(clocks);
  return whole;
}

/// The group without those whose process ended over it. A prediction that is merely refused is missing, no more.
TaskSearch::Group TaskSearch::predictCompiled(Group group) {
  if (group.empty())
    return group;
  std::vector<bool> kept(group.size(), false);
  run_.workshop.predictCompiled(
      jobsOf(group, plan_.task),
      [&](size_t index, Answered<Prediction> answer) {
        Entrant &entrant = *group[index];
        if (answer.fate == Fate::Done)
          entrant.trial.after = std::move(answer.value);
        kept[index] = answer.fate == Fate::Done || answer.fate == Fate::Refused;
        if (!kept[index])
          endByFate(entrant, answer.fate, answer.status, false);
      },
      whenStopped());
  Group left;
  for (size_t i = 0; i < group.size(); ++i)
    if (kept[i])
      left.push_back(group[i]);
  return left;
}

/// Times each once; the group of those that could be.
TaskSearch::Group TaskSearch::measure(const Group &group, const Effort &effort) {
  if (group.empty() || over())
    return {};
  std::vector<bool> timed(group.size(), false);
  run_.workshop.measure(
      jobsOf(group, plan_.task), effort,
      [&](size_t index, Answered<Measurement> answer) {
        Entrant &entrant = *group[index];
        if (answer.fate == Fate::Done) {
          if (!entrant.trial.measurement) {
            ++measured_;
            entrant.trial.elapsedSeconds = run_.budget.elapsed();
          }
          entrant.trial.measurement = std::move(answer.value);
          entrant.inLog = false;
          timed[index] = true;
          run_.recorder.counts.measured = measured_;
        } else
          endByFate(entrant, answer.fate, answer.status, false);
      },
      whenStopped());
  Group left;
  for (size_t i = 0; i < group.size(); ++i)
    if (timed[i])
      left.push_back(group[i]);
  return left;
}

/// Those of the group that were not verified yet; the wrong ones end.
void TaskSearch::verify(const Group &group) {
  const int64_t queryHeads = plan_.task.problem.heads / std::max<int64_t>(plan_.task.problem.kvHeads, 1);
  const auto judge = [&](Entrant &entrant, const Answered<Verification> &answer) {
    if (answer.fate != Fate::Done)
      return endByFate(entrant, answer.fate, answer.status, false);
    entrant.trial.verification = answer.value;
    entrant.inLog = false;
    if (!answer.value.right)
      end(entrant, TrialStatus::Wrong, answer.value.complaint);
  };
  Group open;
  for (Entrant *entrant : group) {
    if (entrant->ended || entrant->verified())
      continue;
    const auto &verified = entrant->kernel->verified;
    if (const auto known = verified.find(queryHeads); known != verified.end())
      judge(*entrant, known->second);
    else
      open.push_back(entrant);
  }
  if (open.empty() || over())
    return;
  run_.workshop.verify(
      jobsOf(open, plan_.task),
      [&](size_t index, Answered<Verification> answer) {
        Entrant &entrant = *open[index];
        const bool ofTheKernel =
            answer.fate != Fate::Cancelled && answer.fate != Fate::Broken && answer.fate != Fate::Killed;
        if (entrant.modelled() && ofTheKernel)
          entrant.kernel->verified.emplace(queryHeads, answer);
        judge(entrant, answer);
      },
      whenStopped());
}

TaskSearch::Group TaskSearch::contenders() {
  Group group;
  for (Entrant &entrant : entrants_)
    if (entrant.contends())
      group.push_back(&entrant);
  std::ranges::sort(group, {}, byTime);
  return group;
}

/// Of those that may win; 0 where there are none.
double TaskSearch::bestMilliseconds() {
  const Group group = contenders();
  return group.empty() ? 0 : group.front()->milliseconds();
}

/// Verifies the fastest, and the next where that is wrong, so that there is a best to keep whenever the search ends. It
/// goes into the log, and on a GPU once more after the last round, with what was measured then.
void TaskSearch::crown() {
  Entrant *leader = nullptr;
  for (;;) {
    const Group group = contenders();
    if (group.empty())
      return;
    leader = group.front();
    if (leader->verified())
      break;
    verify({leader});
    if (!leader->ended && !leader->verified())
      return; // stopped
  }
  Trial &trial = leader->trial;
  if (trial.schedule.text() == best_)
    return;
  best_ = trial.schedule.text();
  if (!leader->inLog) {
    trial.status = TrialStatus::Measured;
    run_.recorder.append(trial);
    leader->inLog = true;
  }
  run_.recorder.tell(SearchEvent::NewBest, &trial);
}

/// Ends those that are out of reach of the best for good, so that the log has them early: a modelled time is exact, and
/// a measurement that was stopped early was twice the best.
void TaskSearch::dropHopeless() {
  const Group group = contenders();
  if (group.empty() || !group.front()->verified())
    return;
  const double limit = group.front()->milliseconds() * (1 + run_.options.margin);
  for (size_t i = run_.options.finalists; i < group.size(); ++i)
    if (Entrant &entrant = *group[i]; !entrant.ended && !entrant.trial.isDefault && !entrant.verified() &&
                                      entrant.modelled() && entrant.milliseconds() > limit)
      end(entrant, TrialStatus::Predicted);
  for (Entrant &entrant : entrants_)
    if (!entrant.ended && !entrant.trial.isDefault && entrant.trial.measurement &&
        entrant.trial.measurement->stoppedEarly)
      end(entrant, TrialStatus::Predicted);
}

/// Times each once, stopping those that are slower than the leader by more than `factor`. Where the leader itself is
/// slower afterwards, since the clock of the device fell meanwhile, those that were stopped are timed once more: they
/// were held against a time that nothing has any longer. So are those during which the device was held back, if it is
/// not now.
void TaskSearch::measureAgainst(Entrant &leader, Group group, Effort effort, double factor) {
  for (unsigned attempt = 0; attempt < kMostAttempts && !group.empty(); ++attempt) {
    const double before = leader.milliseconds();
    effort.stopAboveMs = factor * before;
    group = measure(group, effort);
    std::erase_if(group, [](const Entrant *entrant) { return !entrant->trial.measurement->stoppedEarly; });
    effort.stopAboveMs = 0;
    if (group.empty() || measure({&leader}, effort).empty())
      return;
    if (leader.milliseconds() <= kSlower * before)
      std::erase_if(group, [&](const Entrant *entrant) {
        return !entrant->trial.measurement->throttled || leader.trial.measurement->throttled;
      });
  }
}

/// Half of the field at a time, with more effort for the rest, until the finalists are left. One modelled time is
/// exact. Times of one round are compared with each other only as far as the clock stood still, which the leader tells:
/// it is timed first.
void TaskSearch::halve() {
  Group field = contenders();
  std::erase_if(field, [](const Entrant *entrant) { return entrant->fromLog || entrant->modelled(); });
  for (uint32_t round = 1; field.size() > run_.options.finalists && !over(); ++round) {
    const Effort effort{
        .minRepeats = 5 * round, .maxRepeats = 20 * round, .wantedSpread = 0.02, .mostMilliseconds = 200.0 * round};
    Entrant &leader = *field.front();
    const double before = leader.milliseconds();
    if (measure({&leader}, effort).empty()) {
      field.erase(field.begin());
      continue;
    }
    const double reach = std::max(before, leader.milliseconds()) * (1 + run_.options.margin);
    size_t keep = std::max<size_t>(run_.options.finalists, (field.size() + 1) / 2);
    while (keep < field.size() && field[keep]->milliseconds() <= reach)
      ++keep;
    if (keep == field.size())
      return;
    field.resize(keep);
    measureAgainst(leader, {field.begin() + 1, field.end()}, effort,
                   std::max(round == 1 ? 1.3 : 1.1, 1 + 2 * run_.options.margin));
    std::erase_if(field, [](const Entrant *entrant) { return !entrant->contends(); });
    std::ranges::sort(field, {}, byTime);
  }
}

/// The fastest, the default, and what ties with the best and could be preferred to it: whatever choose() may choose, of
/// this run or of several merged. The others are beaten(), also when a later run asks.
TaskSearch::Group TaskSearch::finalists() {
  const Group group = contenders();
  Group chosen(group.begin(), group.begin() + ptrdiff_t(std::min<size_t>(group.size(), run_.options.finalists)));
  const Entrant *preferred = nullptr;
  for (Entrant *entrant : group) {
    if (entrant->milliseconds() > group.front()->milliseconds() * (1 + run_.options.margin))
      break;
    if (preferred && preference(entrant->trial.schedule, preferred->trial.schedule, plan_.task, facts_.target) > 0)
      continue;
    preferred = entrant;
    if (std::find(chosen.begin(), chosen.end(), entrant) == chosen.end())
      chosen.push_back(entrant);
  }
  for (Entrant &entrant : entrants_) // also where it was stopped early
    if (entrant.trial.isDefault && entrant.trial.measurement && !entrant.ended &&
        std::find(chosen.begin(), chosen.end(), &entrant) == chosen.end())
      chosen.push_back(&entrant);
  return chosen;
}

/// Until every finalist is verified and timed in turn with the others. A wrong one lets others in, and so may the
/// times.
void TaskSearch::decide() {
  std::set<const Entrant *> timed;
  while (!over()) {
    Group chosen = finalists();
    verify(chosen);
    if (finalists() != chosen)
      continue;
    std::erase_if(chosen,
                  [](const Entrant *entrant) { return entrant->fromLog || entrant->ended || entrant->modelled(); });
    if (std::ranges::all_of(chosen, [&](const Entrant *entrant) { return timed.contains(entrant); })) {
      decided_ = !over();
      return;
    }
    interleave(chosen);
    timed.insert(chosen.begin(), chosen.end());
  }
}

/// Several short measurements of each in turn, so that what changes with time meets all alike.
void TaskSearch::interleave(const Group &finalists) {
  std::map<Entrant *, std::vector<Measurement>> parts;
  for (unsigned round = 0; round < kInterleavedRounds && !over(); ++round) {
    Group alive = finalists;
    std::erase_if(alive, [](const Entrant *entrant) { return entrant->ended; });
    for (Entrant *entrant :
         measure(alive, {.minRepeats = 5, .maxRepeats = 10, .wantedSpread = 0.005, .mostMilliseconds = 100}))
      parts[entrant].push_back(*entrant->trial.measurement);
  }
  for (auto &[entrant, measurements] : parts)
    entrant->trial.measurement = combine(measurements);
}

} // namespace tessera::tune
