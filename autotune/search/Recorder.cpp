// One warning for a log that cannot be written; events with the counts of the moment.
#include "autotune/search/Recorder.h"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::tune {

void Recorder::append(const Trial &trial) {
  if (log_)
    check(log_->append(trial));
}

void Recorder::append(const TaskEnd &end) {
  if (log_)
    check(log_->append(end));
}

void Recorder::check(const Status &written) {
  if (written || logFailed_)
    return;
  logFailed_ = true;
  warn(fmt::format("the log {} lacks lines of this run, the first at {:.1f} s: {}", log_->path(), budget_.elapsed(),
                   written.text()));
}

void Recorder::tell(SearchEvent::Kind kind, const Trial *trial) {
  if (!tell_)
    return;
  SearchEvent event = counts;
  event.kind = kind;
  event.trial = trial;
  event.elapsedSeconds = budget_.elapsed();
  if (endsAt_)
    event.etaSeconds = std::max(0.0, *endsAt_ - event.elapsedSeconds);
  tell_(event);
}

} // namespace tessera::tune
