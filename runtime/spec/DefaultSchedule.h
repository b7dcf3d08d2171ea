// The choice of a default schedule with its reasons.
#pragma once

#include "runtime/spec/Schedule.h"

#include <utility>
#include <vector>

namespace tessera {

struct ScheduleChoice {
  Schedule schedule;
  unsigned maxDim = 0;                               ///< the class of head dims that it is meant for
  std::vector<std::pair<Schedule, Status>> rejected; ///< tried before, with what was in the way
};

/// The same schedule as defaultSchedule(), with what led to it.
ScheduleChoice chooseDefaultSchedule(const AttentionSpec &spec, const Target &target);

} // namespace tessera
