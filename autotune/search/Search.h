// Search: from a space to a winner: the model's best, compiled, checked, measured in rounds, the last few interleaved.
#pragma once

#include "autotune/log/TrialLog.h"
#include "autotune/search/Workshop.h"

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tessera::tune {

struct Shard {
  unsigned index = 1, count = 1; ///< 1-based
};

/// For which target and with which tools the kernels were made that a search does not compile itself.
struct OfferedCode {
  Target target;
  std::string build, assembler;               ///< as in a Trial
  std::map<std::string, std::string> digests; ///< of cubins, as in a Trial, by the schedule's text; none where none is
};

struct SearchOptions {
  /// Candidates of a task that are compiled, beside the default; 0: the whole space. Absent: 48, but less than a tenth
  /// of the space; all of what is offered.
  std::optional<size_t> top{};
  /// For all tasks together. What still compiles when the time has come to measure is cancelled; a few seconds more are
  /// spent where nothing would be found otherwise.
  std::optional<double> seconds{};
  std::optional<size_t> trials{}; ///< that are compiled, for all tasks together; every task has its default's at least
  double margin = 0.01;           ///< ties
  unsigned finalists = 4;         ///< interleaved at the end, beside the default and what ties with the best
  KnobLimits limits{};
  Shard shard{};
  bool keepSpilling = false;
  /// What may be chosen, instead of the space: schedules of a bundle. Empty: the space.
  std::function<std::vector<Schedule>(const Task &)> offered{};
  /// What that is, where it is not made for the target and with the tools of RunFacts; its trials say so.
  std::function<OfferedCode(const Task &)> code{};
  /// What was chosen before: candidates right behind the default, whatever the model says of them, beyond `top` and
  /// outside `limits`, as long as they are legal (and offered, where that is said). So a search that leaves much out
  /// does not choose worse than what is known without having compared.
  std::function<std::vector<Schedule>(const Task &)> incumbents{};
};

/// Where a run stands; for progress lines, in the order of events. Pointers are valid during the call only.
struct SearchEvent {
  enum Kind { TaskBegins, CompileEnds, TrialEnds, NewBest, TaskEnds } kind;
  size_t task = 0, tasks = 0;
  size_t compiled = 0, toCompile = 0, measured = 0, toMeasure = 0; ///< of this task
  double elapsedSeconds = 0;
  std::optional<double> etaSeconds; ///< from this event to the end of the whole run; absent: not known yet
  const Trial *trial = nullptr;     ///< CompileEnds, TrialEnds, NewBest
};

struct TaskOutcome {
  Task task{};
  size_t combinations = 0, legal = 0;
  size_t candidates = 0; ///< of the plan; those without a trial were cut off
  size_t compiled = 0;   ///< for this task; kernels of an earlier task of the same spec serve this one too
  size_t fromLog = 0;
  size_t measured = 0;                     ///< timed by this run, in some round
  std::map<std::string, size_t> refused{}; ///< by class of reason
  std::vector<Trial> trials{};             ///< in the order of the model, those of the log that stand for one included
  std::optional<Choice> choice{};          ///< absent: nothing was measured, and a warning of the run says why
  bool complete = false;                   ///< the whole plan was carried out
  bool comparedAll = false;                ///< neither the default nor an incumbent of this run was cut off
  double seconds = 0;
};

struct SearchOutcome {
  std::vector<TaskOutcome> tasks; ///< those of this shard
  bool interrupted = false;       ///< by `stop`
  bool outOfBudget = false;
  std::vector<std::string> warnings; ///< wrong answers, tasks without a choice, a log that could not be written, ...
};

/// What is the same for all trials of a run.
struct RunFacts {
  Gpu gpu;
  Target target;
  std::string device, build, assembler;
  int driverVersion = 0;
};

/// What logs say already. Not owned.
struct Known {
  Known() = default;
  Known(std::span<const Trial> logged) : trials(logged) {}
  Known(const std::vector<Trial> &logged) : trials(logged) {}
  Known(const TrialLines &lines) : trials(lines.trials), ends(lines.ends) {}

  std::span<const Trial> trials;
  std::span<const TaskEnd> ends;
};

/// Carries out the search. Every trial is handed to `log` as soon as it ends, and the best so far as soon as it is
/// known (a log that cannot be written is warned of once, and the search goes on); trials of `known` that stand for one
/// are not made again, so an interrupted run is resumed by its log, in which the end of each task is said too. Two
/// kinds do not stand: of a worker that was killed from outside, and of a candidate that took too long in one run
/// alone. `stop` may be set by a signal handler; the search then returns what it has within a second. On a modelled
/// device the choice depends on the inputs alone, not on the order in which compiles end.
///
/// The outcome holds what was found where single candidates or tasks fail. InvalidArgument where no task has a legal
/// schedule, or limits, margin or shard are wrong; the status of the workshop where that cannot work at all before
/// anything was chosen.
Result<SearchOutcome> search(std::span<const Task> tasks, const RunFacts &facts, const SearchOptions &options,
                             Workshop &workshop, TrialLog *log, const Known &known, const std::atomic<bool> &stop,
                             const std::function<void(const SearchEvent &)> &tell = {});

/// What search() would do with a candidate.
enum class Step : uint8_t {
  Compile,
  Shared, ///< its kernel is compiled for an earlier task of the same spec, and only timed
  Logged, ///< a trial of the log stands for it
  Beyond, ///< left out: more compiles than SearchOptions::trials
};

/// What search() would do, without doing it: per task of the shard the space and the candidates with predictions, the
/// default first, then the incumbents, the others in the order of the model.
struct Plan {
  Task task;
  Space space;
  std::vector<std::pair<Schedule, Prediction>> candidates;
  std::vector<Step> steps{}; ///< one a candidate, by plan(); a budget of time may end them
  size_t required = 0;       ///< the first so many are the default and the incumbents
  Status status;             ///< why there are none: the task has no legal schedule
};
/// Of N shards, one has whole specs where there are N different ones or more, else every Nth candidate of every task
/// (the default and the incumbents with the first). Nothing is said between them: their merged logs amount to the
/// choice of one run.
Result<std::vector<Plan>> plan(std::span<const Task> tasks, const RunFacts &facts, const SearchOptions &options,
                               const Known &known = {});

} // namespace tessera::tune
