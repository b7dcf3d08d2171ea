// Which KV tiles a query tile visits, against the visible keys of each of its rows.
#include "autotune/space/TileRange.h"

#include "autotune/reference/Attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tessera::tune {
namespace {

struct Counted {
  int64_t count = 0, edges = 0;
};

/// Tiles that some row of the tile sees a key of, and of those the ones that not every row of the tile (also those
/// beyond the sequence) sees whole, counted key by key.
Counted bruteForce(const Task &task, const Schedule &schedule, int64_t tile) {
  const Problem &problem = task.problem;
  const int64_t group = schedule.packHeads ? problem.heads / problem.kvHeads : 1;
  const int64_t tiles = (problem.seqlenKv + schedule.tileKv - 1) / schedule.tileKv;
  Counted counted;
  int64_t begin = INT64_MAX, end = 0;
  for (int64_t r = tile * schedule.tileQ; r < (tile + 1) * schedule.tileQ; ++r) {
    if (r / group >= problem.seqlenQ)
      continue;
    const auto keys = reference::visibleKeys(task.spec.mask, r / group, problem.seqlenQ, problem.seqlenKv);
    if (keys.begin < keys.end)
      begin = std::min(begin, keys.begin), end = std::max(end, keys.end);
  }
  for (int64_t kv = 0; kv < tiles; ++kv) {
    const int64_t first = kv * schedule.tileKv, last = first + schedule.tileKv;
    if (!(begin < last && first < end))
      continue;
    ++counted.count;
    bool whole = last <= problem.seqlenKv;
    for (int64_t r = tile * schedule.tileQ; whole && r < (tile + 1) * schedule.tileQ; ++r) {
      // A row beyond the sequence has the band that it would have if it were there, except that it has no keys to the
      // right of the last row's.
      const int64_t row = r / group;
      const int64_t off = task.spec.mask.align == Align::BottomRight ? problem.seqlenKv - problem.seqlenQ : 0;
      if (task.spec.mask.left && row + off - *task.spec.mask.left > first)
        whole = false;
      if (row < problem.seqlenQ && task.spec.mask.right && row + off + *task.spec.mask.right < last - 1)
        whole = false;
    }
    counted.edges += !whole;
  }
  return counted;
}

TEST(TileRange, VisitsTheUnionOfWhatTheRowsSeeAndMasksWhatNotAllSee) {
  std::mt19937 random(7);
  auto pick = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random); };
  int64_t visited = 0;
  for (int round = 0; round < 4000; ++round) {
    Task task;
    task.problem.kvHeads = pick(1, 2);
    task.problem.heads = task.problem.kvHeads * pick(1, 5);
    task.problem.seqlenQ = pick(1, 400);
    task.problem.seqlenKv = pick(0, 400);
    const Align align = pick(0, 1) ? Align::TopLeft : Align::BottomRight;
    switch (pick(0, 3)) {
    case 0:
      break;
    case 1:
      task.spec.mask = Mask::causal(align);
      break;
    case 2:
      task.spec.mask =
          Mask::window(pick(0, 150), pick(0, 1) ? std::optional<int64_t>(pick(0, 150)) : std::nullopt, align);
      break;
    default:
      task.spec.mask = Mask::window(std::nullopt, pick(0, 500), align);
    }
    Schedule schedule;
    schedule.tileQ = unsigned(16 * pick(1, 8));
    schedule.tileKv = unsigned(16 * pick(1, 8));
    schedule.packHeads = pick(0, 1) != 0;
    for (int64_t tile = 0; tile < queryTiles(task, schedule); ++tile) {
      const TileRange range = tileRange(task, schedule, tile);
      const Counted brute = bruteForce(task, schedule, tile);
      ASSERT_EQ(range.count, brute.count)
          << task.spec.text() << " " << schedule.text() << " tile " << tile << " of " << task.problem.seqlenQ << " x "
          << task.problem.seqlenKv << ", group " << headsPerGroup(task.problem);
      ASSERT_EQ(range.edges, brute.edges) << task.spec.text() << " " << schedule.text() << " tile " << tile << " of "
                                          << task.problem.seqlenQ << " x " << task.problem.seqlenKv;
      ASSERT_LE(range.head, range.edges);
      visited += range.count;
    }
  }
  EXPECT_GT(visited, 50000);
}

TEST(TileRange, UnboundedAndHugeWindowsSeeEverything) {
  Task task;
  task.problem = {1, 1, 1, 1000, 3000};
  Schedule schedule;
  for (int64_t bound : {int64_t(1) << 31, int64_t(1) << 40, int64_t(1) << 62, INT64_MAX}) {
    task.spec.mask = Mask::window(bound, bound, Align::BottomRight);
    EXPECT_EQ(tileRange(task, schedule, 0).count, (3000 + 63) / 64);
  }
}

TEST(TileRange, PackedHeadsShareTheirPositions) {
  Task task;
  task.spec.mask = Mask::causal(Align::TopLeft);
  task.problem = {1, 8, 1, 256, 256};
  Schedule schedule; // 128 x 64
  schedule.packHeads = true;
  EXPECT_EQ(queryTiles(task, schedule), 16);
  EXPECT_EQ(tileRange(task, schedule, 0).count, 1) << "128 packed rows are 16 positions";
  EXPECT_EQ(tileRange(task, schedule, 15).count, 4);
  schedule.packHeads = false;
  EXPECT_EQ(tileRange(task, schedule, 0).count, 2);
}

} // namespace
} // namespace tessera::tune
