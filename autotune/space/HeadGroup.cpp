// Groups mix the long tiles of several heads at the cost of more K and V in use at once: as many heads as have about
// 32 MB of them. Without tiles of different lengths there is nothing to mix, and one head after the other reads K and V
// from L2 as it is.
#include "autotune/space/HeadGroup.h"

#include "autotune/space/TileRange.h"

#include <algorithm>

namespace tessera::tune {

namespace {

/// KV tiles of the first query tile of a head, one in the middle, and the last; as fine as tiles can be.
struct Course {
  int64_t first = 0, middle = 0, last = 0;
};

Course courseOf(const Task &task) {
  Schedule schedule;
  schedule.tileQ = 16, schedule.tileKv = 16;
  const int64_t tiles = queryTiles(task, schedule);
  if (tiles <= 1)
    return {};
  return {tileRange(task, schedule, 0).count, tileRange(task, schedule, tiles / 2).count,
          tileRange(task, schedule, tiles - 1).count};
}

} // namespace

bool lengthsVary(const Task &task) {
  const Course course = courseOf(task);
  return course.first != course.last || course.middle != course.last;
}

TileOrder longestFirst(const Task &task) {
  const Course course = courseOf(task);
  return course.first > course.last ? TileOrder::FirstFirst : TileOrder::LastFirst;
}

int64_t usefulHeadGroup(const Task &task, bool packed) {
  const Problem &problem = task.problem;
  const int64_t pairs = problem.batch * (packed ? problem.kvHeads : problem.heads);
  if (pairs <= 1 || !lengthsVary(task))
    return 1;
  double bytes = double(problem.seqlenKv) * (task.spec.headDim + task.spec.valueDim) * byteSize(task.spec.dtype);
  if (!packed)
    bytes /= double(headsPerGroup(problem));
  int64_t group = 2;
  while (group < 64 && group < pairs && double(group) * bytes < 32 * 1024 * 1024)
    group *= 2;
  return std::min(group, pairs);
}

} // namespace tessera::tune
