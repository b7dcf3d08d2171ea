// Trials and ends of searches, sorted into the tasks that they are of.
#include "autotune/cli/tune/LogTasks.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace tessera::cli {
namespace {

/// Of a Trial or a TaskEnd.
template <typename Line> auto place(const Line &line) {
  const Problem &shape = line.task.problem;
  return std::tuple(line.task.spec.text(), line.device, shape.batch, shape.heads, shape.kvHeads, shape.seqlenQ,
                    shape.seqlenKv, line.target);
}

} // namespace

std::vector<LogTask> tasksOf(const tune::TrialLines &lines, double margin) {
  std::map<decltype(place(tune::Trial())), LogTask> tasks;
  const auto taskOf = [&](const auto &line) -> LogTask & {
    LogTask &task = tasks[place(line)];
    task.task = line.task;
    task.device = line.device;
    task.target = line.target;
    return task;
  };
  for (const tune::Trial &trial : lines.trials)
    taskOf(trial).trials.push_back(trial);
  for (const tune::TaskEnd &end : lines.ends)
    if (LogTask &task = taskOf(end); task.trials.empty())
      task.completeness = tune::completeness(lines.ends, end);
  for (tune::Choice &choice : tune::choose(lines.trials, margin))
    taskOf(choice.winner).choice = std::move(choice);
  std::vector<LogTask> sorted;
  for (auto &[at, task] : tasks) {
    if (!task.trials.empty())
      task.completeness =
          tune::completeness(lines.ends, task.choice ? task.choice->winner
                                                     : *std::ranges::max_element(task.trials, {}, &tune::Trial::time));
    sorted.push_back(std::move(task));
  }
  return sorted;
}

} // namespace tessera::cli
