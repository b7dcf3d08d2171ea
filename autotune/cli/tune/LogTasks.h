// LogTasks: what logs hold, task by task.
#pragma once

#include "autotune/log/TrialLog.h"

#include <optional>
#include <string>
#include <vector>

namespace tessera::cli {

/// Times of different tools are not compared, so one set of tools counts for each task (tune::comparable()), and what
/// is said of the task, whoever says it, is said of the trials of these.
struct LogTask {
  tune::Task task;
  std::string device, target;
  std::vector<tune::Trial> trials;    ///< that count; none where a search ended before it came to this task
  std::vector<tune::Trial> others;    ///< of other tools
  std::vector<tune::LeftOut> leftOut; ///< the others, by tools
  size_t compiled = 0, timed = 0;     ///< schedules, of the trials that count
  std::optional<tune::Choice> choice;
  tune::Completeness completeness; ///< of the search that the trials are of

  /// What the choice may lack for it, a sentence each: schedules that only other tools timed. For warnings.
  std::vector<std::string> missed() const;
};

/// The same of a choice.
std::vector<std::string> missedBy(const tune::Choice &choice);

/// By attention, device and shape.
std::vector<LogTask> tasksOf(const tune::TrialLines &lines, double margin);

} // namespace tessera::cli
