// The end of a run: winners recorded, the report written, the outcome printed.
#include "autotune/cli/Print.h"
#include "autotune/cli/files/OutputFile.h"
#include "autotune/cli/tune/TuneSession.h"
#include "autotune/report/Report.h"
#include "autotune/space/Words.h"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::cli {
namespace {

/// Whether what the tuning log holds for this task was compared with the winner, be it in a run or by logs: with the
/// same tools, or it says nothing. In a run the default was, unless something was cut off; of logs it must be known.
bool compared(const tune::TaskOutcome &task, const TuningLog &log, bool replayed) {
  const TuningRecord winner = task.choice->winner.record();
  const auto wasCompared = [&](const Schedule &schedule) {
    return std::ranges::find(task.choice->compared, schedule) != task.choice->compared.end();
  };
  if (!replayed && !task.comparedAll)
    return false;
  if (replayed && !task.complete)
    if (const Result<Target> target = Target::parse(winner.target);
        target && !wasCompared(defaultSchedule(winner.spec, *target)))
      return false;
  return std::ranges::all_of(log.of(winner.spec), [&](const TuningRecord &known) {
    return known.device != winner.device || known.target != winner.target || known.problem != winner.problem ||
           wasCompared(known.schedule);
  });
}

/// Enters the winners where engines look for them, but none of which it is not known that it is better than what stands
/// there.
void record(const TuneFlags &flags, const CommonFlags &common, tune::SearchOutcome &outcome, TuneReport &report) {
  if (flags.noRecord)
    report.whyNotRecorded = "as --no-record asks";
  else if (flags.shard.count > 1)
    report.whyNotRecorded = "this is a part of a search: --replay all its logs to record the result";
  if (!report.whyNotRecorded.empty())
    return;
  const std::shared_ptr<DiskCache> cache = DiskCache::open(flags.cache.options(), warnings(common));
  const std::shared_ptr<const TuningLog> log = cache->tuningLog();
  std::vector<TuningRecord> records;
  report.whyNotRecorded = "there is no winner";
  for (const tune::TaskOutcome &task : outcome.tasks) {
    if (!task.choice)
      continue;
    if (compared(task, *log, report.replayed)) {
      records.push_back(task.choice->winner.record());
      continue;
    }
    report.whyNotRecorded = "no winner was compared with the default and with what is recorded for its shape";
    outcome.warnings.push_back(
        fmt::format("the winner for {}, {} is not recorded: it was not compared with the default "
                    "or with what is recorded for this shape",
                    tune::specWords(task.task.spec), shapeText(task.task.problem)));
  }
  if (records.empty())
    return;
  if (Status status = cache->keepTuning(records); !status) {
    report.whyNotRecorded = status.text();
    if (const CacheMode mode = cache->modeAskedFor(); mode != CacheMode::ReadOnly && mode != CacheMode::Off)
      outcome.warnings.push_back("the result is not recorded: " + status.text());
    return;
  }
  report.recorded = records.size();
  report.recordedIn = cache->tuningPath();
}

} // namespace

Result<ExitCode> finishRun(const TuneFlags &flags, const CommonFlags &common, tune::SearchOutcome &outcome,
                           TuneReport &report, const std::optional<tune::RunFacts> &facts, bool interrupted) {
  report.outcome = &outcome;
  record(flags, common, outcome, report);
  Status written;
  if (!flags.report.empty()) {
    tune::ReportInput input;
    input.title = common.commandLine;
    if (facts)
      input.gpu = facts->gpu;
    input.device = report.device;
    input.modelled = report.modelled;
    input.replayed = report.replayed;
    if (facts) {
      input.driver = fmt::format("driver {}.{}", facts->driverVersion / 1000, facts->driverVersion % 1000 / 10);
      input.toolchain = fmt::format("{}, build {}", facts->assembler, facts->build.substr(0, 12));
    }
    input.outcome = &outcome;
    written = files::writeOutput(flags.report, tune::reportHtml(input));
    if (written)
      report.html = flags.report;
  }
  for (const std::string &warning : outcome.warnings)
    say("tessera: {}\n", warning);
  printOutcome(report, common);
  const auto has = [&](tune::TrialStatus status) {
    for (const tune::TaskOutcome &task : outcome.tasks)
      for (const tune::Trial &trial : task.trials)
        if (trial.status == status)
          return true;
    return false;
  };
  if (!written)
    return written;
  if (interrupted)
    return Interrupted;
  if (flags.shard.count > 1) // its candidates may all be losers; the logs of all shards tell
    return has(tune::TrialStatus::Wrong) ? CheckFailed : Right;
  const bool everyTask =
      std::ranges::all_of(outcome.tasks, [](const tune::TaskOutcome &task) { return task.choice.has_value(); });
  return has(tune::TrialStatus::Wrong) || !everyTask ? CheckFailed : Right;
}

} // namespace tessera::cli
