// TuneOutput: what `tessera tune` prints: plans, progress, results, the state of a log, the choice for a shape.
#pragma once

#include "autotune/cli/Commands.h"
#include "autotune/cli/Describe.h"
#include "autotune/cli/tune/LogTasks.h"
#include "autotune/search/Search.h"

#include <string>
#include <vector>

namespace tessera::cli {

/// "1 x 32/8 heads, 2048 queries, 2048 keys".
std::string shapeText(const Problem &problem);
/// "0.009774 ms".
std::string timeText(double milliseconds);
Json predictionJson(const tune::Prediction &prediction);
/// One line for a progress display, so many seconds after the event.
std::string progressText(const tune::SearchEvent &event, const std::vector<tune::Task> &tasks,
                         const std::string &bestSoFar, double secondsSince = 0);

/// What a run was and what it left behind.
struct TuneReport {
  std::string device;
  std::string gpu;       ///< the model's; empty: several, or not known
  bool modelled = false; ///< what times would be where there is none; else the trials say what they are
  bool replayed = false; ///< from logs
  std::vector<std::string> notes;
  const tune::SearchOutcome *outcome = nullptr;
  double seconds = 0;
  std::string log, html;  ///< empty: none
  size_t recorded = 0;    ///< winners entered into the cache's tuning log
  std::string recordedIn; ///< its path; empty: not entered
  std::string whyNotRecorded;
};
void printOutcome(const TuneReport &report, const CommonFlags &common);

/// What a run would do.
struct PlanReport {
  std::vector<tune::Plan> plans;
  std::string device, gpu;
  Target target;
  bool bundled = false; ///< kernels come from a bundle
  bool timed = false;   ///< a budget of time may end it before that
};
void printPlans(const PlanReport &report, const CommonFlags &common);

/// How far logs are, by task and device.
void printStatus(const tune::TrialLines &lines, const std::vector<LogTask> &tasks, const CommonFlags &common);

/// Which schedule a shape gets.
struct ShapeChoice {
  tune::Task task;
  std::string device, target, source; ///< source: the log's path, or "engine"
  Schedule schedule;
  std::string provenance;           ///< exact, bucket, nearest, family, default
  std::string reason;               ///< one sentence
  std::optional<tune::Trial> trial; ///< behind the choice, where the log has it
  tune::Prediction prediction;      ///< of the model for this shape
};
void printShapeChoice(const ShapeChoice &choice, const CommonFlags &common);

} // namespace tessera::cli
