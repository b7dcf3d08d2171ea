// Sorts the trials of a task by the tools that made them.
#include "autotune/log/Comparable.h"

#include <algorithm>
#include <ctime>
#include <fmt/format.h>
#include <map>
#include <set>
#include <tuple>

namespace tessera::tune {
namespace {

std::set<std::string> timedSchedules(std::span<const Trial *const> trials) {
  std::set<std::string> schedules;
  for (const Trial *trial : trials)
    if (isTimed(*trial))
      schedules.insert(trial->schedule.text());
  return schedules;
}

} // namespace

std::string Tools::text() const {
  return fmt::format("build {}, {}, driver {}.{}", build.empty() ? "unknown" : build.substr(0, 12),
                     assembler.empty() ? "an unknown assembler" : assembler, driverVersion / 1000,
                     driverVersion % 1000 / 10);
}

int64_t recency(int64_t time, int64_t now) {
  constexpr int64_t day = 86400;
  if (time == 0)
    return INT64_MAX;
  return time >= now && uint64_t(time) - uint64_t(now) >= day ? INT64_MIN : time;
}

int64_t secondsNow() { return int64_t(::time(nullptr)); }

bool isTimed(const Trial &trial) {
  return trial.status == TrialStatus::Measured && !(trial.verification && !trial.verification->right) &&
         plausible(trial);
}

Comparable comparable(std::span<const Trial *const> trials, int64_t now) {
  Comparable result;
  if (trials.empty())
    return result;
  const Trial *newest = *std::ranges::max_element(trials, {}, [&](const Trial *trial) {
    return std::tuple(isTimed(*trial), recency(trial->time, now), Tools::of(*trial));
  });
  const Tools tools = Tools::of(*newest);
  std::map<Tools, std::vector<const Trial *>> byTools;
  for (const Trial *trial : trials) {
    const Tools made = Tools::of(*trial);
    (made == tools ? result.counting : result.others).push_back(trial);
    if (made != tools)
      byTools[made].push_back(trial);
  }
  const std::set<std::string> timed = timedSchedules(result.counting);
  std::set<std::string> compiled;
  for (const Trial *trial : result.counting)
    if (trial->footprint)
      compiled.insert(trial->schedule.text());
  result.timed = timed.size();
  result.compiled = compiled.size();
  for (const auto &[made, theirs] : byTools) {
    const std::set<std::string> schedules = timedSchedules(theirs);
    result.leftOut.push_back(
        {made, theirs.size(), size_t(std::ranges::count_if(schedules, [&](const std::string &schedule) {
           return !timed.contains(schedule);
         }))});
  }
  return result;
}

} // namespace tessera::tune
