// LogTasks: what logs hold, task by task.
#pragma once

#include "autotune/log/TrialLog.h"

#include <optional>
#include <string>
#include <vector>

namespace tessera::cli {

struct LogTask {
  tune::Task task;
  std::string device, target;
  std::vector<tune::Trial> trials; ///< none where a search ended before it came to this task
  std::optional<tune::Choice> choice;
  tune::Completeness completeness; ///< of the search that the choice is of; without one, of the newest
};

/// By attention, device and shape.
std::vector<LogTask> tasksOf(const tune::TrialLines &lines, double margin);

} // namespace tessera::cli
