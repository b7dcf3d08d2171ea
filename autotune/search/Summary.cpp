// What a task comes to: counts on the way, and at the end its trials, its choice or why it has none.
#include "autotune/search/TaskSearch.h"

#include <algorithm>
#include <fmt/format.h>

namespace tessera::tune {
namespace {

std::string_view classOf(TrialStatus status) {
  switch (status) {
  case TrialStatus::Spills:
    return "spills registers";
  case TrialStatus::Duplicate:
    return "the same machine code as another";
  case TrialStatus::Failed:
    return "refused by the compiler";
  case TrialStatus::Crashed:
    return "ended the process that compiled or ran it";
  case TrialStatus::TimedOut:
    return "took too long";
  case TrialStatus::Faulted:
    return "failed on the device";
  case TrialStatus::Wrong:
    return "gave a wrong answer";
  case TrialStatus::Killed:
    return "killed from outside, with the process that compiled or ran it";
  default:
    return {};
  }
}

} // namespace

void TaskSearch::updateCounts(size_t next) {
  SearchEvent &counts = run_.recorder.counts;
  counts.compiled = compiled_;
  counts.measured = measured_;
  size_t fresh = 0, open = 0;
  for (size_t i = next; i < entrants_.size(); ++i)
    if (!entrants_[i].ended) {
      ++open;
      fresh += !run_.kernels.find(plan_.task.spec, entrants_[i].trial.schedule);
    }
  fresh = std::min(fresh, run_.budget.compilesLeft());
  counts.toCompile = compiled_ + fresh;
  counts.toMeasure = measured_ + open;
  std::optional<double> left = run_.pace.left(fresh + later_.fresh, open - std::min(open, fresh) + later_.shared,
                                              later_.tasks + (next < entrants_.size()));
  if (const std::optional<double> most = run_.budget.secondsLeft())
    left = std::min(left.value_or(*most), *most);
  run_.recorder.expect(left);
}

/// What was timed and did not win ends as well. Where the rounds were cut short, nothing is said of those that might
/// have won.
void TaskSearch::close() {
  for (Entrant &entrant : entrants_) {
    if (entrant.ended || !entrant.trial.measurement)
      continue;
    if (entrant.verified())
      end(entrant, TrialStatus::Measured);
    else if (decided_)
      end(entrant, TrialStatus::Predicted);
  }
}

TaskOutcome TaskSearch::outcome() {
  TaskOutcome result;
  result.task = plan_.task;
  result.combinations = plan_.space.combinations;
  result.legal = plan_.space.legal.size();
  result.candidates = entrants_.size();
  result.compiled = compiled_;
  result.measured = measured_;
  result.refused = plan_.space.refused;
  for (const Entrant &entrant : entrants_)
    if (entrant.ended) {
      result.fromLog += entrant.fromLog;
      if (const std::string_view why = classOf(entrant.trial.status); !why.empty())
        ++result.refused[std::string(why)];
      result.trials.push_back(entrant.trial);
    }
  if (std::vector<Choice> choices = choose(result.trials, run_.options.margin); !choices.empty()) {
    result.choice = std::move(choices.front());
    if (const Trial &winner = result.choice->winner; winner.schedule.text() != best_)
      run_.recorder.tell(SearchEvent::NewBest, &winner);
  } else if (!entrants_.empty())
    run_.recorder.warn(whyNoChoice());
  result.complete = !cut_ && run_.broken.ok();
  result.comparedAll =
      std::ranges::all_of(entrants_, [](const Entrant &entrant) { return entrant.ended || !entrant.required; });
  result.seconds = secondsSince(start_);
  return result;
}

std::string TaskSearch::whyNoChoice() const {
  std::map<std::string_view, size_t> classes;
  const Trial *first = nullptr;
  for (const Entrant &entrant : entrants_)
    if (const std::string_view why = entrant.ended ? classOf(entrant.trial.status) : ""; !why.empty()) {
      ++classes[why];
      first = first ? first : &entrant.trial;
    }
  const Problem &at = plan_.task.problem;
  std::string text =
      fmt::format("no schedule was found for {} at batch {}, heads {}/{}, lengths {}x{}: ", plan_.task.spec.text(),
                  at.batch, at.heads, at.kvHeads, at.seqlenQ, at.seqlenKv);
  if (!first)
    return text + (run_.broken.ok() ? "the search ended before any candidate did" : run_.broken.text());
  text += fmt::format("of {} candidates", entrants_.size());
  for (const auto &[why, count] : classes)
    text += fmt::format(", {} {}", count, why);
  return text + fmt::format("; the first, {}: {}", first->schedule.text(), first->reason);
}

} // namespace tessera::tune
