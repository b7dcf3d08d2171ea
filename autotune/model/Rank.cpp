// The order in which the model would try the schedules of a space.
#include "autotune/model/Model.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tessera::tune {

std::vector<size_t> rank(const Gpu &gpu, const Task &task, std::span<const Schedule> schedules, const Target &target) {
  std::vector<std::pair<bool, double>> times; // after whether it spills
  times.reserve(schedules.size());
  for (const Schedule &schedule : schedules) {
    const Footprint footprint = estimateFootprint(task, schedule);
    times.emplace_back(footprint.spillBytes > 0,
                       predict(gpu, task, schedule, footprint, estimateWork(task, schedule)).milliseconds);
  }
  std::vector<size_t> order(schedules.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (times[a] != times[b])
      return times[a] < times[b];
    const int first = preference(schedules[a], schedules[b], task, target);
    return first != 0 ? first < 0 : a < b;
  });
  return order;
}

} // namespace tessera::tune
