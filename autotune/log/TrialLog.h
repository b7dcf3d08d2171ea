// TrialLog: trials as JSON Lines in a file that only grows, and the choice that they amount to.
#pragma once

#include "autotune/log/Comparable.h"
#include "autotune/log/TaskEnd.h"
#include "autotune/log/Trial.h"

#include <memory>
#include <span>
#include <vector>

namespace tessera::tune {

struct TrialLines {
  std::vector<Trial> trials;        ///< in the order of the lines
  std::vector<TaskEnd> ends;        ///< in the order of the lines
  std::vector<std::string> damaged; ///< "line 3: why" for those that hold none, see readLines()
};

/// Untrusted text. A damaged line, or one whose trial is not plausible(), costs nothing but itself; empty lines and
/// lines of other kinds ("kind" is neither "trial" nor "end") are passed over.
TrialLines readTrials(std::string_view text);

/// Appends whole lines, each with one write to a file opened to append, so that processes may share it. After a crash
/// that cut a line short the next append begins on a new line. Thread-safe.
class TrialLog {
public:
  /// Creates the file (readable by others as the umask has it: a log is shared) and checks that it can be written; File
  /// with the reason where it cannot, or is no plain file.
  static Result<TrialLog> open(const std::string &path);
  TrialLog(TrialLog &&) noexcept;
  TrialLog &operator=(TrialLog &&) noexcept;
  ~TrialLog();

  /// File when the disk is full or the like; the log stays sound, and a later append may succeed. A process with a
  /// limit on file sizes ignores SIGXFSZ, or that ends it.
  Status append(const Trial &trial);
  Status append(const TaskEnd &end);
  const std::string &path() const;

private:
  struct State;
  Status append(nlohmann::ordered_json line);
  explicit TrialLog(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Logs of several runs or machines in one: every trial, without repetitions, in a fixed order.
std::vector<Trial> mergeTrials(std::span<const std::vector<Trial>> logs);

/// A trial of the same task, schedule, device, target, build, assembler and driver stands for one that would be made
/// now (B4_74), unless both know their machine code and it is another.
bool standsFor(const Trial &logged, const Trial &wanted);

/// What a set of trials of one task and device amounts to.
struct Choice {
  Trial winner;
  std::optional<Trial> byDefault; ///< the default's own trial, where it was measured
  size_t measured = 0;            ///< schedules that were timed
  size_t refused = 0;             ///< schedules that were not, for a reason: spills, failed, ..., wrong
  bool tied = false;              ///< others were within the margin; the fixed order decided
  /// The schedules that the winner was compared with, itself included: those with a time, or with a reason for which
  /// they cannot be chosen. By text.
  std::vector<Schedule> compared{};
  std::vector<LeftOut>
      leftOut{};       ///< trials of other tools; what they found best may be better, or may not be so any more
  double gain() const; ///< default's time over the winner's; 1 where there is no default
};

/// One choice for every task and device of which anything may win, by task, then device. Deterministic: neither the
/// order of the trials nor their repetition matters.
///
/// Build, assembler and driver make the kernel, so times of different ones are not compared: of a task and device, the
/// trials of those that the newest timed trial was made with count, and no others (comparable()); the choice says what
/// is left out. Of several trials of one schedule the one with the most repeats counts, of equal ones the middle one;
/// throttled ones only where there is no other.
///
/// The least time wins; of those within `margin` of it (relative), the first by preference() (B4_77). Never a trial
/// that is not plausible(): one with a modelled time of a GPU or whose schedule is not legal (any more) (B4_74). Never
/// a schedule that was not found right, that gave a wrong answer, faulted or crashed in any trial (of other tools: in
/// any that is newer than all that count), that took too long twice, or once since it was timed, or whose measurement
/// was stopped early.
std::vector<Choice> choose(std::span<const Trial> trials, double margin = 0.01, int64_t now = secondsNow());

} // namespace tessera::tune
