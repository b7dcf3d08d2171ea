// Comparable: which trials of a task may be compared with one another, and what others say is not.
#pragma once

#include "autotune/log/Trial.h"

#include <span>
#include <string>
#include <vector>

namespace tessera::tune {

/// What makes a kernel: a time is one of these tools. Compared whole.
struct Tools {
  std::string build, assembler; ///< as in a Trial
  int driverVersion = 0;

  static Tools of(const Trial &trial) { return {trial.build, trial.assembler, trial.driverVersion}; }
  /// "build 0123456789ab, nvJitLink 13.0, driver 13.0", for people.
  std::string text() const;
  friend auto operator<=>(const Tools &, const Tools &) = default;
};

/// Trials of tools that do not count.
struct LeftOut {
  Tools tools;
  size_t trials = 0;
  size_t missed = 0; ///< schedules that they timed, and those that count did not
};

/// The trials of one task, device and target, which are not owned, sorted out by their tools: those of the newest timed
/// trial count, or, where nothing was timed, those of the newest trial. A result is made of what counts alone.
struct Comparable {
  std::vector<const Trial *> counting; ///< whatever their status, in the order given
  std::vector<const Trial *> others;   ///< likewise
  std::vector<LeftOut> leftOut;        ///< the others, by tools
  size_t compiled = 0;                 ///< schedules with an image, of what counts
  size_t timed = 0;                    ///< schedules with a time that may be compared (isTimed), of what counts
};
/// `now`: seconds since 1970. A trial that is not logged yet (its time is 0) is newer than any. A clock that was a day
/// ahead of `now` or more tells nothing, and its trials are older than any.
Comparable comparable(std::span<const Trial *const> trials, int64_t now);

/// Whether the trial has a time that may be compared: Measured, plausible(), and not found wrong.
bool isTimed(const Trial &trial);

/// Orders the times of lines, greater is newer: 0, not logged yet, before all; a day ahead of `now` or more behind all.
int64_t recency(int64_t time, int64_t now);
/// Seconds since 1970.
int64_t secondsNow();

} // namespace tessera::tune
