// Merging logs, and what trials amount to: one winner for every task and device.
#include "autotune/log/TrialLog.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace tessera::tune {
namespace {

/// Sorts and compares trials whatever else is known of them.
std::string textOf(const Trial &trial) {
  return trialJson(trial).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

using TaskKey = std::tuple<std::string, int64_t, int64_t, int64_t, int64_t, int64_t, std::string, std::string>;

TaskKey taskKey(const Trial &trial) {
  const Problem &p = trial.task.problem;
  return {trial.task.spec.text(), p.seqlenQ, p.seqlenKv, p.batch, p.heads, p.kvHeads, trial.device, trial.target};
}

bool isRefused(const Trial &trial) {
  switch (trial.status) {
  case TrialStatus::Measured:
  case TrialStatus::Predicted:
  case TrialStatus::Duplicate:
    return false;
  case TrialStatus::Spills:
  case TrialStatus::Failed:
  case TrialStatus::Crashed:
  case TrialStatus::TimedOut:
  case TrialStatus::Faulted:
  case TrialStatus::Wrong:
  case TrialStatus::Killed:
    return true;
  }
  return true;
}

/// The trial that counts for its schedule, of at least one.
const Trial *middle(std::vector<const Trial *> trials) {
  const auto worth = [](const Trial *trial) {
    const Measurement &m = *trial->measurement;
    return std::tuple(m.throttled || m.stoppedEarly, -int64_t(m.repeats));
  };
  const auto best = worth(*std::ranges::min_element(trials, {}, worth));
  std::erase_if(trials, [&](const Trial *trial) { return worth(trial) != best; });
  std::ranges::sort(trials, {},
                    [](const Trial *trial) { return std::tuple(trial->measurement->milliseconds, textOf(*trial)); });
  return trials[(trials.size() - 1) / 2];
}

/// The trials of one task, device and target.
using Group = std::vector<const Trial *>;

bool isBroken(const Trial &trial) {
  return trial.status == TrialStatus::Wrong || trial.status == TrialStatus::Faulted ||
         trial.status == TrialStatus::Crashed || (trial.verification && !trial.verification->right);
}

/// Leaves the timed trials of one schedule that its timeouts leave in force: what took too long once may have been held
/// up by something else, and stands again where it went well since; what did twice does not.
void dropDoubtful(Group &timed, const std::vector<int64_t> &timeouts) {
  std::erase_if(timed, [&](const Trial *trial) {
    return timeouts.size() > 1 || (!timeouts.empty() && trial->time != 0 && trial->time < timeouts.front());
  });
}

/// Whether the trial says how its schedule compares with others: by a time, or by why it cannot be chosen at all.
bool isCompared(const Trial &trial) {
  return trial.measurement || (isRefused(trial) && trial.status != TrialStatus::Killed) ||
         trial.status == TrialStatus::Duplicate;
}

std::optional<Choice> choiceOf(const Group &group, double margin, int64_t now) {
  Comparable sorted = comparable(group, now);
  const Result<Target> target = Target::parse(group.front()->target);
  if (sorted.timed == 0 || !target)
    return std::nullopt;

  Choice choice;
  std::set<std::string> broken, refused;
  std::map<std::string, Group> bySchedule;
  std::map<std::string, Schedule> compared;
  std::map<std::string, std::vector<int64_t>> timeouts;
  for (const Trial *trial : sorted.counting) {
    const std::string schedule = trial->schedule.text();
    if (isTimed(*trial))
      bySchedule[schedule].push_back(trial);
    if (isRefused(*trial))
      refused.insert(schedule);
    if (isCompared(*trial))
      compared.emplace(schedule, trial->schedule);
    if (isBroken(*trial))
      broken.insert(schedule);
    if (trial->status == TrialStatus::TimedOut)
      timeouts[schedule].push_back(trial->time);
  }
  for (const auto &[schedule, times] : timeouts)
    if (const auto timed = bySchedule.find(schedule); timed != bySchedule.end()) {
      dropDoubtful(timed->second, times);
      if (timed->second.empty())
        bySchedule.erase(timed);
    }
  const auto age = [&](const Trial *trial) { return recency(trial->time, now); };
  const int64_t newest = age(*std::ranges::max_element(sorted.counting, {}, age));
  for (const Trial *trial : sorted.others) // what broke since then is not known to be mended
    if (isBroken(*trial) && age(trial) > newest)
      broken.insert(trial->schedule.text());
  for (const auto &[text, schedule] : compared)
    choice.compared.push_back(schedule);
  choice.leftOut = std::move(sorted.leftOut);

  const Task &task = group.front()->task;
  const Schedule standard = defaultSchedule(task.spec, *target);
  Group able;
  for (const auto &[schedule, trials] : bySchedule) {
    refused.erase(schedule);
    const Trial *trial = middle(trials);
    if (trial->schedule == standard && !broken.contains(schedule))
      choice.byDefault = *trial;
    const bool right = trial->verification && trial->verification->right && !broken.contains(schedule);
    if (right && !trial->measurement->stoppedEarly)
      able.push_back(trial);
  }
  if (able.empty())
    return std::nullopt;
  const auto time = [](const Trial *trial) { return trial->measurement->milliseconds; };
  const double limit = time(*std::ranges::min_element(able, {}, time)) * (1 + margin);
  std::erase_if(able, [&](const Trial *trial) { return time(trial) > limit; });
  choice.winner = **std::ranges::min_element(
      able, [&](const Trial *a, const Trial *b) { return preference(a->schedule, b->schedule, task, *target) < 0; });
  choice.measured = bySchedule.size();
  choice.refused = refused.size();
  choice.tied = able.size() > 1;
  return choice;
}

} // namespace

std::vector<Trial> mergeTrials(std::span<const std::vector<Trial>> logs) {
  std::map<std::string, const Trial *> byText;
  for (const std::vector<Trial> &log : logs)
    for (const Trial &trial : log)
      byText.emplace(textOf(trial), &trial);
  std::vector<Trial> merged;
  merged.reserve(byText.size());
  for (const auto &[text, trial] : byText)
    merged.push_back(*trial);
  return merged;
}

bool standsFor(const Trial &logged, const Trial &wanted) {
  return logged.task == wanted.task && logged.schedule == wanted.schedule && logged.device == wanted.device &&
         logged.target == wanted.target && Tools::of(logged) == Tools::of(wanted) &&
         (logged.cubinDigest.empty() || wanted.cubinDigest.empty() || logged.cubinDigest == wanted.cubinDigest);
}

double Choice::gain() const {
  return byDefault ? byDefault->measurement->milliseconds / winner.measurement->milliseconds : 1;
}

std::vector<Choice> choose(std::span<const Trial> trials, double margin, int64_t now) {
  std::map<TaskKey, Group> groups;
  for (const Trial &trial : trials)
    groups[taskKey(trial)].push_back(&trial);
  std::vector<Choice> choices;
  for (const auto &[key, group] : groups)
    if (std::optional<Choice> choice = choiceOf(group, margin, now))
      choices.push_back(*std::move(choice));
  return choices;
}

} // namespace tessera::tune
