// Trials and ends of searches, sorted into the tasks that they are of.
#include "autotune/cli/tune/LogTasks.h"

#include "autotune/cli/Print.h"
#include "autotune/cli/tune/TuneOutput.h"
#include "autotune/space/Words.h"

#include <fmt/format.h>

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

/// Which trials are spoken of, and with which tools.
std::vector<std::string> missed(const tune::Trial &counting, const std::vector<tune::LeftOut> &leftOut) {
  std::vector<std::string> sentences;
  for (const tune::LeftOut &left : leftOut)
    if (left.missed > 0)
      sentences.push_back(fmt::format(
          "for {}, {} on {} (code for {}) {} timed with other tools only ({}) {} left out: times compare with those of "
          "the same tools, and the newest count ({}); tune again to compare them",
          tune::specWords(counting.task.spec), shapeText(counting.task.problem), counting.device, counting.target,
          counted(left.missed, "schedule"), left.tools.text(), left.missed == 1 ? "is" : "are",
          tune::Tools::of(counting).text()));
  return sentences;
}

} // namespace

std::vector<std::string> LogTask::missed() const {
  return trials.empty() ? std::vector<std::string>() : cli::missed(trials.front(), leftOut);
}

std::vector<std::string> missedBy(const tune::Choice &choice) { return missed(choice.winner, choice.leftOut); }

std::vector<LogTask> tasksOf(const tune::TrialLines &lines, double margin) {
  std::map<decltype(place(tune::Trial())), LogTask> tasks;
  const auto taskOf = [&](const auto &line) -> LogTask & {
    LogTask &task = tasks[place(line)];
    task.task = line.task;
    task.device = line.device;
    task.target = line.target;
    return task;
  };
  const int64_t now = tune::secondsNow();
  std::map<LogTask *, std::vector<const tune::Trial *>> trialsOf;
  for (const tune::Trial &trial : lines.trials)
    trialsOf[&taskOf(trial)].push_back(&trial);
  for (const auto &[task, trials] : trialsOf) {
    tune::Comparable sorted = tune::comparable(trials, now);
    for (const tune::Trial *trial : sorted.counting)
      task->trials.push_back(*trial);
    for (const tune::Trial *trial : sorted.others)
      task->others.push_back(*trial);
    task->leftOut = std::move(sorted.leftOut);
    task->compiled = sorted.compiled;
    task->timed = sorted.timed;
    task->completeness = tune::completeness(lines.ends, task->trials.front());
  }
  for (const tune::TaskEnd &end : lines.ends)
    if (LogTask &task = taskOf(end); task.trials.empty())
      task.completeness = tune::completeness(lines.ends, end);
  for (tune::Choice &choice : tune::choose(lines.trials, margin, now))
    taskOf(choice.winner).choice = std::move(choice);
  std::vector<LogTask> sorted;
  for (auto &[at, task] : tasks)
    sorted.push_back(std::move(task));
  return sorted;
}

} // namespace tessera::cli
