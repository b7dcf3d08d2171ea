// Texts of tasks, statuses and numbers.
#include "autotune/report/Words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tessera::tune::report {

std::string shapeWords(const Problem &problem) {
  std::string text = problem.seqlenQ == problem.seqlenKv
                         ? fmt::format("{} queries and keys, ", count(uint64_t(problem.seqlenQ)))
                         : fmt::format("{}, {}, ", counted(uint64_t(problem.seqlenQ), "query", "queries"),
                                       counted(uint64_t(problem.seqlenKv), "key", "keys"));
  text += counted(uint64_t(problem.heads), "head", "heads");
  if (problem.kvHeads != problem.heads)
    text += fmt::format(" on {}", count(uint64_t(problem.kvHeads)));
  return problem.batch == 1 ? text : fmt::format("{}, batch {}", text, count(uint64_t(problem.batch)));
}

std::string shapeWords(const SearchOutcome &outcome, const TaskOutcome &task) {
  const auto device = [](const TaskOutcome &one) { return one.trials.empty() ? std::string() : one.trials[0].device; };
  std::string text = shapeWords(task.task.problem);
  const std::string own = device(task);
  for (const TaskOutcome &other : outcome.tasks)
    if (!own.empty() && !other.trials.empty() && device(other) != own)
      return fmt::format("{}, {}", text, own);
  return text;
}

namespace {

Times together(std::optional<Times> found, Times::Kind one) {
  return {!found || found->kind == one ? one : Times::Both};
}

} // namespace

Times timesOf(const TaskOutcome &task, Times::Kind without) {
  std::optional<Times> found;
  for (const Trial &trial : task.trials)
    if (timeOf(trial))
      found = together(found, trial.measurement->modelled ? Times::Modelled : Times::Measured);
  return found.value_or(Times{without});
}

Times timesOf(const SearchOutcome &outcome, Times::Kind without) {
  std::optional<Times> found;
  for (const TaskOutcome &task : outcome.tasks)
    if (std::ranges::any_of(task.trials, [](const Trial &trial) { return timeOf(trial).has_value(); }))
      found = together(found, timesOf(task, without).kind);
  return found.value_or(Times{without});
}

std::string_view statusWords(TrialStatus status) {
  switch (status) {
  case TrialStatus::Measured:
    return "timed";
  case TrialStatus::Predicted:
    return "dropped early";
  case TrialStatus::Duplicate:
    return "duplicate";
  case TrialStatus::Spills:
    return "spills";
  case TrialStatus::Failed:
    return "compiler refused";
  case TrialStatus::Crashed:
    return "crashed";
  case TrialStatus::TimedOut:
    return "timed out";
  case TrialStatus::Faulted:
    return "launch failed";
  case TrialStatus::Wrong:
    return "wrong answer";
  case TrialStatus::Killed:
    return "killed from outside";
  }
  return "unknown";
}

std::string count(uint64_t value) {
  std::string text = std::to_string(value);
  for (size_t at = text.size(); at > 3; at -= 3)
    text.insert(at - 3, ",");
  return text;
}

std::string counted(uint64_t value, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count(value), value == 1 ? one : many);
}

std::string number(double value, int digits) {
  if (std::isnan(value))
    return "–";
  if (std::isinf(value))
    return value > 0 ? "∞" : "−∞";
  const double magnitude = std::fabs(value);
  if (magnitude != 0 && (magnitude < 1e-5 || magnitude >= 1e9))
    return fmt::format("{:.{}e}", value, digits - 1);
  const int whole = magnitude == 0 ? 1 : int(std::floor(std::log10(magnitude))) + 1;
  return fmt::format("{:.{}f}", value, std::max(0, digits - whole));
}

std::string ratio(double value) { return fmt::format("{}×", number(value, value < 10 ? 3 : 2)); }

std::string duration(double seconds) {
  if (!(seconds >= 0) || std::isinf(seconds))
    return "–";
  if (seconds < 60)
    return number(seconds, seconds < 10 ? 2 : 3) + " s";
  const auto whole = uint64_t(std::llround(seconds));
  if (whole < 3600)
    return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", count(whole / 3600), whole % 3600 / 60);
}

std::string kilobytes(uint64_t bytes) {
  return bytes % 1024 == 0 ? fmt::format("{} KB", bytes / 1024) : fmt::format("{:.1f} KB", double(bytes) / 1024);
}

std::optional<double> timeOf(const Trial &trial) {
  if ((trial.status != TrialStatus::Measured && trial.status != TrialStatus::Predicted) || !trial.measurement)
    return std::nullopt;
  const double milliseconds = trial.measurement->milliseconds;
  return std::isfinite(milliseconds) && milliseconds > 0 ? std::optional(milliseconds) : std::nullopt;
}

const Prediction *bestPrediction(const Trial &trial) {
  return trial.after ? &*trial.after : trial.before ? &*trial.before : nullptr;
}

std::optional<double> teraflops(const Trial &trial, double milliseconds) {
  const Prediction *prediction = bestPrediction(trial);
  if (!prediction || !(prediction->flops > 0) || !(milliseconds > 0) || !std::isfinite(milliseconds))
    return std::nullopt;
  return prediction->flops / (milliseconds * 1e9);
}

bool isWrong(const Trial &trial) {
  return trial.status == TrialStatus::Wrong || (trial.verification && !trial.verification->right);
}

bool isRefused(const Trial &trial) {
  return trial.status != TrialStatus::Measured && trial.status != TrialStatus::Predicted;
}

bool isWinner(const TaskOutcome &outcome, const Trial &trial) {
  return outcome.choice && outcome.choice->winner.schedule == trial.schedule &&
         timeOf(outcome.choice->winner) == timeOf(trial);
}

std::optional<double> gainOf(const TaskOutcome &outcome) {
  if (!outcome.choice || !outcome.choice->byDefault || !timeOf(outcome.choice->winner) ||
      !timeOf(*outcome.choice->byDefault))
    return std::nullopt;
  return outcome.choice->gain();
}

} // namespace tessera::tune::report
