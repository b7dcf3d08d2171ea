// The product of attentions, targets and schedules, without repetitions.
#include "autotune/cli/bundle/BuildPlan.h"

#include "runtime/bundle/RecordKey.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

namespace tessera::cli {
namespace {

/// The schedules wanted for one attention on one target, legal or not.
std::vector<Schedule> wanted(const AttentionSpec &spec, const Target &target, const ScheduleSet &set) {
  if (set.kind == ScheduleSet::Candidates)
    return set.candidates(spec, target);
  std::vector<Schedule> schedules{defaultSchedule(spec, target)};
  for (const TuningRecord &record : set.records)
    if (record.target == target.name && record.spec == spec)
      schedules.push_back(record.schedule);
  return schedules;
}

/// One attention on one target.
Status addPair(BuildPlan &plan, std::set<std::string> &seen, const AttentionSpec &spec, const Target &target,
               const ScheduleSet &set) {
  const size_t before = plan.items.size();
  std::vector<std::string> reasons;
  for (const Schedule &schedule : wanted(spec, target, set)) {
    BuildItem item{spec, schedule, target};
    if (!seen.insert(item.text()).second)
      continue;
    if (const Status legal = schedule.legal(spec, target); legal)
      plan.items.push_back(item);
    else
      reasons.push_back(fmt::format("{}: {}", item.text(), legal.message()));
  }
  if (plan.items.size() == before)
    return Status(
        Code::InvalidArgument,
        fmt::format("no schedule is left for {} on {}:\n  {}", spec.text(), target.name, fmt::join(reasons, "\n  ")),
        "add a schedule that it can run, or build with --schedules default");
  plan.skipped.insert(plan.skipped.end(), reasons.begin(), reasons.end());
  return {};
}

/// Why a record chooses none of the items.
std::string whyUnused(const TuningRecord &record, const std::vector<AttentionSpec> &specs,
                      const std::vector<Target> &targets) {
  std::string reason = fmt::format("its schedule {} is not legal there", record.schedule.text());
  if (std::ranges::find(specs, record.spec) == specs.end())
    reason = "this attention is not built";
  else if (std::ranges::find(targets, record.target, &Target::name) == targets.end())
    reason = fmt::format("no code for {} is built", record.target);
  return fmt::format("{}, {}, {}: {}", record.target, record.spec.text(), detail::circumstances(record), reason);
}

} // namespace

std::string BuildItem::text() const { return fmt::format("{}, {}, {}", target.name, spec.text(), schedule.text()); }

Result<BuildPlan> planBuild(const std::vector<AttentionSpec> &specs, const std::vector<Target> &targets,
                            const ScheduleSet &schedules) {
  BuildPlan plan;
  std::set<std::string> pairs, seen;
  for (const AttentionSpec &spec : specs)
    for (const Target &target : targets)
      if (pairs.insert(fmt::format("{} {}", spec.text(), target.name)).second)
        if (Status status = addPair(plan, seen, spec, target, schedules); !status)
          return status;
  for (const TuningRecord &record : schedules.records) {
    const bool built = std::ranges::any_of(plan.items, [&](const BuildItem &item) {
      return item.target.name == record.target && item.schedule == record.schedule && item.spec == record.spec;
    });
    if (built)
      plan.records.push_back(record);
    else
      plan.unused.push_back(whyUnused(record, specs, targets));
  }
  return plan;
}

Result<std::vector<Schedule>> readCandidates(std::string_view text) {
  std::vector<Schedule> schedules;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    const size_t first = line.find_first_not_of(" \t\r");
    if (first == line.npos || line[first] == '#')
      continue;
    line = line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
    const Result<Schedule> schedule = Schedule::parse(line);
    if (!schedule)
      return Status(Code::File, fmt::format("line {}: {}", number, schedule.status().message()),
                    schedule.status().hint());
    schedules.push_back(*schedule);
  }
  if (schedules.empty())
    return Status(Code::File, "it holds no schedule", "write one a line, as `tessera explain` shows them");
  return schedules;
}

} // namespace tessera::cli
