// TaskEnd: how far a search came with one task, as one line of a tuning log behind the trials.
#pragma once

#include "autotune/space/Space.h"

#include <nlohmann/json.hpp>

#include <span>
#include <string>

namespace tessera::tune {

struct Trial;

struct TaskEnd {
  Task task;
  std::string device, target, build, assembler; ///< as in a Trial
  int driverVersion = 0;
  unsigned part = 1, parts = 1; ///< which part of the candidates; a shard that has whole specs has all of them
  bool complete = false;        ///< everything that was planned for this part was done
  int64_t time = 0;             ///< seconds since 1970 when it was logged; 0: not yet, TrialLog::append sets it
};

/// One JSON object, {"kind": "end", "version": 1, "spec", "shape", "device", "target", "part", "parts", "complete",
/// ...}.
nlohmann::ordered_json taskEndJson(const TaskEnd &end);
/// Its inverse. Unknown keys are passed over. File where it is no end, one of a newer version, or one whose spec,
/// shape, target or part is none.
Result<TaskEnd> taskEndFromJson(const nlohmann::ordered_json &json);

/// How many of the parts of a search are complete.
struct Completeness {
  unsigned done = 0, parts = 1;
  bool complete() const { return done == parts; }
};
/// Of the search that ended last among those of this task, device and target with these tools, as the last end of each
/// of its parts has it. None done where no such search has ended: it runs, was killed, or was never begun.
Completeness completeness(std::span<const TaskEnd> ends, const TaskEnd &like);
/// The same of the search that a trial is of.
Completeness completeness(std::span<const TaskEnd> ends, const Trial &like);

/// Whether the ends say already what this one says, so that a search that finds nothing to do leaves its log as it is.
bool repeats(std::span<const TaskEnd> ends, const TaskEnd &end);

} // namespace tessera::tune
