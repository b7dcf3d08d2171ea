// tessera tune --replay: what logs amount to, without measuring anything.
#include "autotune/cli/OutputCheck.h"
#include "autotune/cli/Print.h"
#include "autotune/cli/tune/LogTasks.h"
#include "autotune/cli/tune/TuneSession.h"
#include "autotune/space/Words.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>

namespace tessera::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// The space that the trials of a task were taken from.
void describeSpace(tune::TaskOutcome &task, const std::string &targetName) {
  const Result<Target> target = Target::parse(targetName);
  if (!target)
    return;
  const Result<tune::Space> space = tune::Space::of(task.task, *target);
  if (!space)
    return;
  task.combinations = space->combinations;
  task.legal = space->legal.size();
  task.refused = space->refused;
}

/// A wrong answer of the tools that the result is of counts against it, and so does one that was given since then; an
/// older one of other tools is theirs, and was perhaps mended.
void warnOfWrong(tune::TaskOutcome &task, const std::vector<tune::Trial> &others, std::vector<std::string> &warnings) {
  const int64_t now = tune::secondsNow();
  int64_t newest = INT64_MIN;
  for (const tune::Trial &trial : task.trials)
    newest = std::max(newest, tune::recency(trial.time, now));
  const auto words = [](const tune::Trial &trial) {
    return fmt::format("by {} for {}, {} on {}", trial.schedule.text(), tune::specWords(trial.task.spec),
                       shapeText(trial.task.problem), trial.device);
  };
  for (const tune::Trial &trial : others)
    if (trial.status == tune::TrialStatus::Wrong) {
      if (tune::recency(trial.time, now) > newest)
        task.trials.push_back(trial);
      else
        warnings.push_back(
            fmt::format("a wrong answer {} was given with other tools than the result is of ({}), and is "
                        "left out like all of theirs: {}",
                        words(trial), tune::Tools::of(trial).text(), trial.reason));
    }
  for (const tune::Trial &trial : task.trials)
    if (trial.status == tune::TrialStatus::Wrong)
      warnings.push_back(fmt::format("WRONG ANSWER {}: {}", words(trial), trial.reason));
}

/// The outcome that logs amount to, in the form of a run: one task for each attention, shape and device, those without
/// winner too.
tune::SearchOutcome replayed(std::vector<LogTask> tasks) {
  tune::SearchOutcome outcome;
  for (LogTask &logged : tasks) {
    tune::TaskOutcome &task = outcome.tasks.emplace_back();
    task.task = logged.task;
    task.trials = logged.trials;
    task.choice = std::move(logged.choice);
    task.complete = logged.completeness.complete();
    describeSpace(task, logged.target);
    task.fromLog = task.trials.size();
    task.compiled = logged.compiled;
    task.measured = logged.timed;
    warnOfWrong(task, logged.others, outcome.warnings);
    for (std::string &warning : logged.missed())
      outcome.warnings.push_back("a part of the logs is left out: " + std::move(warning));
    if (!task.choice)
      outcome.warnings.push_back(fmt::format("no schedule was found for {}, {} on {}: of {} none was right and timed",
                                             tune::specWords(task.task.spec), shapeText(task.task.problem),
                                             logged.device, counted(task.trials.size(), "trial")));
  }
  return outcome;
}

} // namespace

Result<ExitCode> runReplay(const TuneFlags &flags, const CommonFlags &common) {
  const auto start = Clock::now();
  if (!flags.report.empty()) {
    std::vector<std::string> inputs = flags.replay;
    if (Status status = checkOutputFile("--report", flags.report, inputs); !status)
      return status;
  }
  const Result<tune::TrialLines> lines = readLogs(flags.replay, false, common);
  if (!lines)
    return lines.status();
  if (lines->trials.empty())
    return Status(Code::InvalidArgument, "the given logs hold no trial", "tune with --log first");
  const std::vector<LogTask> tasks = tasksOf(*lines, flags.margin);
  tune::SearchOutcome outcome = replayed(tasks);
  TuneReport report;
  report.replayed = true;
  std::set<std::string> devices;
  const auto filled = std::ranges::find_if(tasks, [](const LogTask &task) { return !task.trials.empty(); });
  const tune::Trial *first = &filled->trials.front();
  for (const LogTask &task : tasks)
    devices.insert(task.device);
  report.modelled = std::ranges::all_of(devices, isSimulatedDevice);
  for (const std::string &device : devices)
    report.device += (report.device.empty() ? "" : ", ") + device;
  std::optional<tune::RunFacts> facts;
  for (const tune::Gpu &gpu : tune::Gpu::all())
    if (!facts && devices.size() == 1 && first->device.find(gpu.product) != std::string::npos)
      if (const Result<Target> target = Target::parse(first->target))
        facts = {gpu, *target, first->device, first->build, first->assembler, first->driverVersion};
  report.gpu = facts ? facts->gpu.name : "";
  report.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return finishRun(flags, common, outcome, report, facts, false);
}

} // namespace tessera::cli
