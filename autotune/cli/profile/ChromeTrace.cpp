// The Chrome trace form: complete events ("ph":"X") on one track for each unit.
#include "autotune/cli/profile/Writers.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace tessera::cli::profile {
namespace {

using Json = nlohmann::ordered_json;

class Track {
public:
  Track(Json &events, const LaunchProfile &profile, const std::string &unit, int number)
      : events_(events), profile_(profile), unit_(unit), number_(number) {}

  void write() {
    name("thread_name", {{"name", fmt::format("{} (modelled)", unit_)}});
    name("thread_sort_index", {{"sort_index", number_}});
    double at = 0;
    descend(-1, at);
    event(profile_.kernel, "kernel", 0, at, {{"clocks", clocksOf(profile_.clocks, unit_)}});
  }

private:
  void name(const char *what, Json arguments) {
    events_.push_back({{"ph", "M"}, {"name", what}, {"pid", 1}, {"tid", number_}, {"args", std::move(arguments)}});
  }

  /// Viewers keep nanoseconds: ends are rounded, not durations, so that what nests stays nested.
  void event(const std::string &name, const char *category, double begin, double end, Json arguments) {
    const double first = std::round(begin * 1e3), last = std::round(end * 1e3);
    events_.push_back({{"ph", "X"},
                       {"name", name},
                       {"cat", category},
                       {"pid", 1},
                       {"tid", number_},
                       {"ts", first / 1e3},
                       {"dur", (last - first) / 1e3},
                       {"args", std::move(arguments)}});
  }

  /// Writes what hangs below a loop, one behind the other from `at` on.
  void descend(int loop, double &at) {
    for (const Child &child : childrenOf(profile_, loop)) {
      const double begin = at;
      if (child.loop >= 0) {
        const Loop &inner = profile_.loops[size_t(child.loop)];
        const double clocks = clocksOf(inner.clocks, unit_);
        if (clocks <= 0)
          continue;
        descend(child.loop, at);
        event(inner.name(), "loop", begin, at, {{"clocks", clocks}, {"iterations", inner.iterations}});
        continue;
      }
      const Instruction &i = *child.instruction;
      const double clocks = clocksOf(i.clocks, unit_);
      if (clocks <= 0)
        continue;
      at += clocks;
      event(i.text, "instruction", begin, at,
            {{"clocks", clocks}, {"line", i.line}, {"pipe", i.pipe}, {"executions", i.executions}});
    }
  }

  Json &events_;
  const LaunchProfile &profile_;
  const std::string &unit_;
  const int number_;
};

} // namespace

std::string chromeTrace(const LaunchProfile &profile) {
  Json events = Json::array();
  events.push_back({{"ph", "M"},
                    {"name", "process_name"},
                    {"pid", 1},
                    {"args", {{"name", profile.heading() + " (1 us here is 1 modelled clock)"}}}});
  int number = 0;
  for (const auto &[unit, clocks] : profile.clocks) // memory: which instruction fetched a sector first is not told
    if (unit != "memory")
      Track(events, profile, unit, ++number).write();
  const Json file = {{"traceEvents", std::move(events)},
                     {"displayTimeUnit", "ns"},
                     {"otherData",
                      {{"unit_of_time", "1 us is 1 modelled clock"},
                       {"kernel", profile.kernel},
                       {"device", profile.device},
                       {"clock_mhz", profile.clockMHz},
                       {"bound_by", profile.bound},
                       {"modelled_microseconds", profile.microseconds}}}};
  return file.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace tessera::cli::profile
