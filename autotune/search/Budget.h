// Budget: how much time and how many compiles are left for a task, and when the whole run will be done.
#pragma once

#include "autotune/search/Search.h"

#include <chrono>

namespace tessera::tune {

/// Seconds since `start`.
double secondsSince(std::chrono::steady_clock::time_point start);

/// What a run may use, in equal shares for the tasks that are left: what one does not need is shared by the rest.
class Budget {
public:
  Budget(const SearchOptions &options, size_t tasks, const std::atomic<bool> &stop);

  void beginTask();
  void countCompiles(size_t compiles) { trialsUsed_ += compiles; }
  /// Compiles that this task may still have.
  size_t compilesLeft() const;
  /// Whether nothing more is to be compiled, so that what there is can be measured.
  bool timeToMeasure() const { return stopped() || late(compilesEnd_); }
  /// Whether the task must end at once. Until something was `found` it has a few seconds of grace.
  bool over(bool found) const { return stopped() || late(found ? taskEnd_ : graceEnd_); }
  /// Something was compiled at last: it has a few seconds to be measured in, too.
  void renewGrace();
  bool stopped() const { return stop_; }
  double elapsed() const { return secondsSince(start_); }
  /// Of the whole run; absent where time is unlimited.
  std::optional<double> secondsLeft() const;

private:
  using Time = std::chrono::steady_clock::time_point;
  static bool late(const std::optional<Time> &end) { return end && std::chrono::steady_clock::now() >= *end; }

  const Time start_ = std::chrono::steady_clock::now();
  const std::atomic<bool> &stop_;
  const std::optional<double> seconds_;
  const std::optional<size_t> trials_;
  size_t tasksLeft_, trialsUsed_ = 0, taskTrialsEnd_ = 0;
  std::optional<Time> compilesEnd_, taskEnd_, graceEnd_;
};

/// The time that a run will still take, from the medians of what its parts took so far, so that one that hung does not
/// count: compiles, what comes after them, and the last rounds of a task, each by itself, since tasks of one spec share
/// the compiles.
class Pace {
public:
  /// A wave of `tried` candidates, of which `compiled` were compiled. The first of a task is small, waits for workers
  /// to start and times the default alone: it counts only until there is another.
  struct Wave {
    double compileSeconds = 0, restSeconds = 0;
    size_t compiled = 0, tried = 0;
    bool first = false;
  };
  void wave(const Wave &wave);
  void finish(double seconds) { finishes_.push_back(seconds); }
  /// `fresh` candidates have to be compiled, `shared` ones have been or will be for another task. Absent until a wave
  /// has ended.
  std::optional<double> left(size_t fresh, size_t shared, size_t tasks) const;

private:
  struct Waves {
    std::vector<double> compiles, rest; ///< seconds a candidate
  };
  Waves first_, later_;
  std::vector<double> finishes_;
};

} // namespace tessera::tune
