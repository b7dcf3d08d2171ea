// Space: the schedules that a search may choose from, as a table of knobs and the constraints between their values.
#pragma once

#include "runtime/spec/Problem.h"
#include "runtime/spec/Schedule.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::tune {

/// What is tuned: one attention at one shape.
struct Task {
  AttentionSpec spec;
  Problem problem;

  friend bool operator==(const Task &, const Task &) = default;
};

/// One field of Schedule. A new knob is one more row of the table in Knobs.cpp.
struct Knob {
  std::string_view name;    ///< "tile_kv", as --knob has it
  std::string_view meaning; ///< for people, one line
  /// The values worth trying for this task on this target, as texts that `set` takes; the default schedule's first,
  /// and alone where no other can make a difference for this task (B4_74).
  std::vector<std::string> (*values)(const Task &task, const Target &target);
  std::string (*get)(const Schedule &schedule);
  /// InvalidArgument for a text that is no value of this knob.
  Status (*set)(Schedule &schedule, const std::string &value);

  static std::span<const Knob> all();
};

/// `--knob tile_kv=64,96`: only these values of this knob. By knob name.
using KnobLimits = std::map<std::string, std::vector<std::string>, std::less<>>;

struct Space {
  std::vector<Schedule> legal; ///< the default first, the rest in the fixed order of the table; no two alike
  size_t combinations = 0;     ///< of all values of all knobs
  /// Why the others are none, with how many: "more shared memory than sm_86 has" -> 812. The reasons are classes,
  /// without the values.
  std::map<std::string, size_t> refused;

  /// Checked before any compile: Schedule::legal and what else makes a schedule pointless for this task.
  /// InvalidArgument where a limit names no knob or no value, or leaves nothing legal; the default is always in, also
  /// outside the limits.
  static Result<Space> of(const Task &task, const Target &target, const KnobLimits &limits = {});
};

/// The fixed order in which equal candidates are preferred (B4_77): the default, then less shared memory, fewer
/// registers, then the text. Negative: a comes first.
int preference(const Schedule &a, const Schedule &b, const Task &task, const Target &target);

} // namespace tessera::tune
