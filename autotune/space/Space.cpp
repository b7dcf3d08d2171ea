// Enumerates the values of all knobs and sorts the combinations into legal schedules and classes of refusals.
#include "autotune/space/Space.h"

#include "autotune/space/HeadGroup.h"
#include "autotune/space/TileRange.h"
#include "runtime/spec/SharedLayout.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

namespace tessera::tune {
namespace {

/// More than any GPU works on at once, so that smaller tiles would only read K and V more often.
constexpr int64_t manyTiles = 1024;

/// Why a schedule is none for this task; empty where it is one. Classes, without the values. `standard` is the default.
std::string refusal(const Schedule &s, const Schedule &standard, const Task &task, const Target &target) {
  if (s.warps == 0 || s.tileQ % (16 * s.warps))
    return "tile_q is no multiple of 16 rows per warp";
  // Cheap to see, and with a reason that speaks of the task.
  const int64_t rows = queryRows(task, s), keys = task.problem.seqlenKv;
  if (s.tileQ > 16 * s.warps && s.tileQ >= 2 * std::max<int64_t>(rows, 8))
    return "tile_q is more than twice the query rows";
  if (s.warps > 1 && 16 * int64_t(s.warps) >= 2 * std::max<int64_t>(rows, 16))
    return "half of the warps have no query rows";
  if (s.tileKv > 32 && s.tileKv >= 2 * std::max<int64_t>(keys, 16))
    return "tile_kv is more than twice the keys";
  const int64_t kvTiles = (keys + s.tileKv - 1) / s.tileKv;
  if (s.stages > 1 && int64_t(s.stages) > kvTiles)
    return "more stages than KV tiles";
  if (kvTiles <= 1 && !(s.rescale == standard.rescale && s.lazyThreshold == standard.lazyThreshold))
    return "a rescale policy where there is one KV tile";
  const int64_t pairs = headPairs(task, s), tiles = queryTiles(task, s);
  if (s.tileQ < 64 && tiles * pairs >= 2 * manyTiles)
    return "small query tiles where larger ones keep any GPU busy";
  if (s.headGroup > 1 && int64_t(s.headGroup) > pairs)
    return "head_group is more than the (batch, head) pairs";
  if (tiles <= 1 && (s.headGroup > 1 || s.order != TileOrder::LastFirst))
    return "an order of query tiles where a head has one";
  if (s.order != longestFirst(task) && (s.headGroup > 1 || s.persistent))
    return "groups of heads and persistent blocks are for the longest tiles first";
  if (s.persistent && tiles * pairs <= 1)
    return "persistent where there is one tile";
  if (s.packHeads && headsPerGroup(task.problem) == 1)
    return "packed heads where every KV head has one query head";
  if (s.sharedBytes(task.spec) > target.sharedBytesPerBlock)
    return fmt::format("more shared memory than {} has per block", target.name);
  if (estimatedRegisters(s, task.spec) > 255)
    return "more than 255 registers per thread: it would spill";
  if (Status status = s.legal(task.spec, target); !status.ok())
    return "not for this attention: " + status.message();
  return {};
}

struct Axis {
  const Knob *knob;
  std::vector<std::string> values;
};

Result<std::vector<Axis>> axesOf(const Task &task, const Target &target, const KnobLimits &limits) {
  std::vector<Axis> axes;
  for (const Knob &knob : Knob::all())
    axes.push_back({&knob, knob.values(task, target)});
  for (const auto &[name, values] : limits) {
    auto axis = std::find_if(axes.begin(), axes.end(), [&](const Axis &one) { return one.knob->name == name; });
    if (axis == axes.end()) {
      std::string known;
      for (const Axis &one : axes)
        known += fmt::format("{}{}", known.empty() ? "" : ", ", one.knob->name);
      return Status(Code::InvalidArgument, fmt::format("no knob is called '{}'", name), "knobs are " + known);
    }
    if (values.empty())
      return Status(Code::InvalidArgument, fmt::format("no values are given for the knob {}", name),
                    fmt::format("e.g. {}={}", name, axis->values.front()));
    std::vector<std::string> canonical;
    for (const std::string &value : values) {
      Schedule probe;
      if (Status status = axis->knob->set(probe, value); !status.ok())
        return Status(status.code(), status.message(), fmt::format("e.g. {}={}", name, axis->values.front()));
      std::string text = axis->knob->get(probe);
      if (std::find(canonical.begin(), canonical.end(), text) == canonical.end())
        canonical.push_back(std::move(text));
    }
    axis->values = std::move(canonical);
  }
  return axes;
}

class Enumeration {
public:
  Enumeration(const Task &task, const Target &target, const std::vector<Axis> &axes, const KnobLimits &limits,
              Space &space)
      : task(task), target(target), axes(axes), space(space),
        groups(limits.contains("head_group")
                   ? std::nullopt
                   : std::optional(std::pair(usefulHeadGroup(task, false), usefulHeadGroup(task, true)))) {}

  Status from(size_t axis, const Schedule &partial) {
    if (axis == axes.size()) {
      take(partial);
      return {};
    }
    for (const std::string &value : axes[axis].values) {
      Schedule next = partial;
      if (Status status = axes[axis].knob->set(next, value); !status.ok())
        return {Code::Internal, fmt::format("a value of the knob table is none: {}", status.message())};
      if (Status status = from(axis + 1, next); !status.ok())
        return status;
    }
    return {};
  }

private:
  /// The two values are offered for all, and each meant for one; a limit is taken at its word.
  bool isOthersGroup(const Schedule &s) const {
    return groups && s.headGroup > 1 && int64_t(s.headGroup) != (s.packHeads ? groups->second : groups->first);
  }

  void take(const Schedule &schedule) {
    ++space.combinations;
    if (schedule == space.legal.front())
      sawDefault = true;
    else if (isOthersGroup(schedule))
      ++space.refused[schedule.packHeads ? "a head group for heads that are not packed"
                                         : "a head group for packed heads"];
    else if (std::string reason = refusal(schedule, space.legal.front(), task, target); reason.empty())
      space.legal.push_back(schedule);
    else
      ++space.refused[reason];
  }

  const Task &task;
  const Target &target;
  const std::vector<Axis> &axes;
  Space &space;
  const std::optional<std::pair<int64_t, int64_t>> groups; ///< without, and with packed heads

public:
  bool sawDefault = false;
};

} // namespace

Result<Space> Space::of(const Task &task, const Target &target, const KnobLimits &limits) {
  if (Status status = task.spec.validate(); !status.ok())
    return status;
  if (Status status = task.problem.validate(); !status.ok())
    return status;
  Result<std::vector<Axis>> axes = axesOf(task, target, limits);
  if (!axes)
    return axes.status();
  Space space;
  space.legal.push_back(defaultSchedule(task.spec, target));
  Enumeration enumeration(task, target, *axes, limits, space);
  if (Status status = enumeration.from(0, Schedule()); !status.ok())
    return status;
  if (space.legal.size() == 1 && !enumeration.sawDefault) {
    std::string reasons;
    for (const auto &[reason, count] : space.refused)
      reasons += fmt::format("{}{} ({})", reasons.empty() ? "" : "; ", reason, count);
    return Status(Code::InvalidArgument,
                  fmt::format("no schedule within the given knob values is legal on {}: {}", target.name, reasons),
                  "leave a knob out, or give it more values");
  }
  if (!enumeration.sawDefault)
    ++space.combinations; // the default, outside the limits
  return space;
}

int preference(const Schedule &a, const Schedule &b, const Task &task, const Target &target) {
  const Schedule standard = defaultSchedule(task.spec, target);
  auto sign = [](const auto &x, const auto &y) { return x < y ? -1 : x > y ? 1 : 0; };
  if (a == b)
    return 0;
  if (a == standard || b == standard)
    return a == standard ? -1 : 1;
  if (int order = sign(a.sharedBytes(task.spec), b.sharedBytes(task.spec)))
    return order;
  if (int order = sign(estimatedRegisters(a, task.spec), estimatedRegisters(b, task.spec)))
    return order;
  return sign(a.text(), b.text());
}

} // namespace tessera::tune
