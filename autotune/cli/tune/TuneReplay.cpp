// tessera tune --replay: what logs amount to, without measuring anything.
#include "autotune/cli/OutputCheck.h"
#include "autotune/cli/Print.h"
#include "autotune/cli/tune/TuneSession.h"
#include "autotune/space/Words.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <tuple>

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

/// The outcome that logs amount to, in the form of a run: one task for each attention, shape and device, those without
/// winner too.
tune::SearchOutcome replayed(const std::vector<tune::Trial> &trials, double margin) {
  tune::SearchOutcome outcome;
  std::vector<tune::Choice> choices = tune::choose(trials, margin);
  const auto alike = [](const tune::Trial &a, const tune::Trial &b) {
    return a.task == b.task && a.device == b.device && a.target == b.target;
  };
  for (const tune::Trial &trial : trials) {
    const auto known = std::ranges::find_if(
        outcome.tasks, [&](const tune::TaskOutcome &task) { return alike(task.trials.front(), trial); });
    if (known != outcome.tasks.end()) {
      known->trials.push_back(trial);
      continue;
    }
    tune::TaskOutcome &task = outcome.tasks.emplace_back();
    task.task = trial.task;
    task.trials.push_back(trial);
    describeSpace(task, trial.target);
  }
  const auto place = [](const tune::TaskOutcome &task) {
    const Problem &shape = task.task.problem;
    return std::tuple(task.task.spec.text(), task.trials.front().device, shape.batch, shape.heads, shape.kvHeads,
                      shape.seqlenQ, shape.seqlenKv);
  };
  std::ranges::sort(outcome.tasks, {}, place);
  for (tune::TaskOutcome &task : outcome.tasks) {
    task.fromLog = task.trials.size();
    for (const tune::Trial &trial : task.trials) {
      task.compiled += trial.footprint.has_value();
      task.measured += trial.status == tune::TrialStatus::Measured;
      if (trial.status == tune::TrialStatus::Wrong)
        outcome.warnings.push_back(fmt::format("WRONG ANSWER by {} for {}, {} on {}: {}", trial.schedule.text(),
                                               tune::specWords(trial.task.spec), shapeText(trial.task.problem),
                                               trial.device, trial.reason));
    }
    const auto choice =
        std::ranges::find_if(choices, [&](const tune::Choice &one) { return alike(one.winner, task.trials.front()); });
    if (choice != choices.end())
      task.choice = std::move(*choice);
    else
      outcome.warnings.push_back(fmt::format("no schedule was found for {}, {} on {}: of {} none was right and timed",
                                             tune::specWords(task.task.spec), shapeText(task.task.problem),
                                             task.trials.front().device, counted(task.trials.size(), "trial")));
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
  const Result<std::vector<tune::Trial>> trials = readLogs(flags.replay, false, common);
  if (!trials)
    return trials.status();
  tune::SearchOutcome outcome = replayed(*trials, flags.margin);
  if (trials->empty())
    return Status(Code::InvalidArgument, "the given logs hold no trial", "tune with --log first");
  TuneReport report;
  report.replayed = true;
  std::set<std::string> devices;
  const tune::Trial *first = &trials->front();
  for (const tune::TaskOutcome &task : outcome.tasks) {
    devices.insert(task.trials.front().device);
    report.modelled |= task.choice && task.choice->winner.measurement->modelled;
  }
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
