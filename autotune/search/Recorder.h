// Recorder: where what happens in a run goes: the log, the outcome's warnings, and whoever watches.
#pragma once

#include "autotune/search/Budget.h"

namespace tessera::tune {

class Recorder {
public:
  using Tell = std::function<void(const SearchEvent &)>;
  Recorder(SearchOutcome &outcome, TrialLog *log, const Tell &tell, const Budget &budget)
      : outcome_(outcome), log_(log), tell_(tell), budget_(budget) {}

  /// To the log; the first time that this fails is warned of.
  void append(const Trial &trial);
  void append(const TaskEnd &end);
  void warn(std::string text) { outcome_.warnings.push_back(std::move(text)); }
  void tell(SearchEvent::Kind kind, const Trial *trial = nullptr);

  /// How much time the whole run will still take from now on; events carry what is left of it.
  void expect(std::optional<double> seconds) {
    endsAt_ = seconds ? std::optional(budget_.elapsed() + *seconds) : seconds;
  }

  SearchEvent counts{}; ///< what events carry beside kind, trial and times

private:
  void check(const Status &written);

  SearchOutcome &outcome_;
  TrialLog *log_; // may be null
  const Tell &tell_;
  const Budget &budget_;
  bool logFailed_ = false;
  std::optional<double> endsAt_; ///< in elapsed seconds
};

} // namespace tessera::tune
