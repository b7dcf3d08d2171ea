// TuneSession: what the parts of `tessera tune` share: the logs, the device with what is known of it, and the end of a
// run.
#pragma once

#include "autotune/cli/tune/TuneFlags.h"
#include "autotune/cli/tune/TuneOutput.h"
#include "runtime/cache/TuningLog.h"
#include "runtime/engine/Engine.h"

#include <memory>
#include <string>
#include <vector>

namespace tessera::cli {

/// What logs hold, merged, damaged lines said. A log that is not there yet is empty where `mayLack`.
Result<tune::TrialLines> readLogs(const std::vector<std::string> &paths, bool mayLack, const CommonFlags &common);
/// Those of --replay, or that of --log.
std::vector<std::string> logPaths(const TuneFlags &flags);

struct Session {
  Device device;
  tune::RunFacts facts;
  std::shared_ptr<const Bundle> bundle; ///< null: candidates are compiled
};

/// Opens the device and the bundle; for a run, also finds out who compiles.
Result<Session> openSession(const TuneFlags &flags, const CommonFlags &common, const tune::Task &task, bool forRun);

/// What the searches of this session choose among: the kernels of its bundle, if it has one, and in any case what the
/// cache's tuning log holds for the task, on this device and for the code that runs there: it is compared with, so that
/// no search records something worse than what is known. The session outlives the options.
void addCandidates(tune::SearchOptions &options, const Session &session, std::shared_ptr<const TuningLog> recorded);

/// Refuses a task whose tensors the device cannot hold, or that the bundle has nothing for.
Status checkTasks(const Session &session, const std::vector<tune::Task> &tasks);

/// Records the winners, writes the HTML report, prints the outcome. `facts` is absent where the logs are of no known
/// GPU.
Result<ExitCode> finishRun(const TuneFlags &flags, const CommonFlags &common, tune::SearchOutcome &outcome,
                           TuneReport &report, const std::optional<tune::RunFacts> &facts, bool interrupted);

// The modes of the command; runSearch is the ordinary one.
Result<ExitCode> runSearch(const TuneFlags &flags, const CommonFlags &common);
Result<ExitCode> runReplay(const TuneFlags &flags, const CommonFlags &common);
Result<ExitCode> runPlan(const TuneFlags &flags, const CommonFlags &common);
Result<ExitCode> runStatus(const TuneFlags &flags, const CommonFlags &common);
Result<ExitCode> runExplain(const TuneFlags &flags, const CommonFlags &common);

} // namespace tessera::cli
