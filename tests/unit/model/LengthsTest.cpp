// Sums over query tiles against the same sums tile by tile.
#include "autotune/model/Lengths.h"
#include "autotune/model/Traffic.h"
#include "tests/unit/model/Tasks.h"

#include <gtest/gtest.h>

#include <random>

namespace tessera::tune {
namespace {

Lengths oneByOne(const Task &task, const Schedule &schedule, int64_t begin, int64_t end) {
  Lengths all;
  for (int64_t tile = begin; tile < end; ++tile) {
    const TileRange range = tileRange(task, schedule, tile);
    const double length = double(range.count);
    all.longest = tile == begin ? length : std::max(all.longest, length);
    all.shortest = tile == begin ? length : std::min(all.shortest, length);
    all.tiles += 1, all.sum += length, all.edges += double(range.edges), all.head += double(range.head);
  }
  return all;
}

class Random {
public:
  explicit Random(unsigned seed) : source(seed) {}
  template <typename T> T of(std::initializer_list<T> values) { return values.begin()[source() % values.size()]; }

private:
  std::mt19937 source;
};

TEST(Lengths, AreExactForEveryMaskAndTile) {
  Random random(1);
  for (int round = 0; round < 4000; ++round) {
    Task task;
    const int64_t queries = random.of<int64_t>({1, 100, 1000, 8192, 24576, 32768, 50000, 131072});
    const int64_t keys = random.of<int64_t>({0, 1, 100, 1000, 8192, 50000, queries, queries, queries});
    const int64_t heads = random.of<int64_t>({1, 3, 4, 7, 8});
    task.problem = {1, heads, 1, queries, keys};
    const auto side = [&] {
      const int64_t width = random.of<int64_t>({-1, 0, 1, 63, 64, 127, 500, 1023, 4096, 100000});
      return width < 0 ? std::optional<int64_t>() : width;
    };
    task.spec.mask = Mask::window(side(), side(), random.of({Align::TopLeft, Align::BottomRight}));
    Schedule schedule;
    schedule.tileQ = random.of({16u, 32u, 64u, 128u, 256u});
    schedule.tileKv = random.of({16u, 48u, 64u, 80u, 96u, 112u, 128u, 160u, 192u});
    schedule.packHeads = random.of({false, true});
    const int64_t tiles = queryTiles(task, schedule), begin = random.of<int64_t>({0, 0, tiles / 3}),
                  end = random.of<int64_t>({tiles, tiles, tiles / 2, tiles - tiles / 10});
    const Lengths found = lengthsOf(task, schedule, begin, end), right = oneByOne(task, schedule, begin, end);
    SCOPED_TRACE(testing::Message() << task.spec.text() << " q" << queries << " k" << keys << " g" << heads << " "
                                    << schedule.text() << " [" << begin << ", " << end << ")");
    ASSERT_EQ(found.tiles, right.tiles);
    // Eight heads of 192 keys in tiles of 16 rows: more tiles next to a corner than are taken one by one.
    const bool sampled = schedule.packHeads && 2 * heads * schedule.tileKv / schedule.tileQ > 60;
    ASSERT_NEAR(found.sum, right.sum, sampled ? 0.01 * right.sum + 20 : 1e-6 * right.sum);
    ASSERT_EQ(found.longest, right.longest);
    ASSERT_EQ(found.shortest, right.shortest);
    ASSERT_NEAR(found.edges, right.edges, sampled ? 0.01 * right.edges + 20 : 1e-6 * right.edges);
    ASSERT_NEAR(found.head, right.head, sampled ? 0.01 * right.head + 20 : 1e-6 * right.head);
  }
}

TEST(Lengths, OfManyPackedHeadsAreNear) {
  for (int64_t heads : {32, 71, 128})
    for (int64_t window : {63, 500, 100000}) {
      Task task;
      task.problem = {1, heads, 1, 8192, 8192};
      task.spec.mask = Mask::window(window, 0, Align::BottomRight);
      Schedule schedule;
      schedule.tileQ = 64, schedule.tileKv = 96, schedule.packHeads = true;
      const int64_t tiles = queryTiles(task, schedule);
      const Lengths found = lengthsOf(task, schedule, 0, tiles), right = oneByOne(task, schedule, 0, tiles);
      EXPECT_NEAR(found.sum, right.sum, 0.01 * right.sum);
      EXPECT_NEAR(found.edges, right.edges, 0.01 * right.edges);
      EXPECT_EQ(found.longest, right.longest);
    }
}

TEST(Lengths, HugeSequencesTakeNoLonger) {
  Task task;
  const int64_t most = (int64_t(1) << 31) - 1;
  task.problem = {1, 16, 1, most, most};
  task.spec.mask = Mask::causal(Align::BottomRight);
  Schedule schedule;
  schedule.tileQ = 128, schedule.tileKv = 64;
  const int64_t tiles = queryTiles(task, schedule);
  const Lengths causal = lengthsOf(task, schedule, 0, tiles);
  EXPECT_EQ(causal.longest, double((most + 63) / 64));
  EXPECT_EQ(causal.mean(), double(tiles + 1)) << "2, 4, 6, ... tiles";
}

// A mask whose long tiles come first ranks the order as its mirror image does that has them last.
TEST(Grid, TheLastBlocksAreThoseOfTheOrder) {
  Task task = usualTask(128, false, 65536);
  task.problem = {1, 1, 1, 65536, 65536};
  task.spec.mask = Mask::window(0, std::nullopt, Align::TopLeft);
  Schedule lastFirst = *Schedule::parse("v1:q128,kv64,w4,s1,lazy8,add,qsmem,online"), firstFirst = lastFirst;
  firstFirst.order = TileOrder::FirstFirst;
  EXPECT_EQ(gridOf(task, firstFirst, 216).lastLongest, 2 * 216);
  EXPECT_EQ(gridOf(task, lastFirst, 216).lastLongest, 65536 / 64);
  EXPECT_EQ(gridOf(task, firstFirst, 216).lastMean, 217);
  Task mirror = task;
  mirror.spec.mask = Mask::causal(Align::BottomRight);
  EXPECT_EQ(gridOf(mirror, lastFirst, 216).lastLongest, 2 * 216);
  EXPECT_EQ(gridOf(mirror, firstFirst, 216).lastLongest, 65536 / 64);
  for (const char *gpu : {"a100", "rtx4090"}) {
    const Gpu on = *Gpu::find(gpu);
    EXPECT_LT(predict(on, task, firstFirst).milliseconds, predict(on, task, lastFirst).milliseconds) << gpu;
    EXPECT_LT(predict(on, mirror, lastFirst).milliseconds, predict(on, mirror, firstFirst).milliseconds) << gpu;
  }
}

TEST(Grid, FewKeysOfManyQueriesAreNotMissed) {
  Task task = usualTask(64, true, 1024);
  task.problem = {1, 32, 32, 1000000, 1024};
  const Schedule one = *Schedule::parse("v1:q128,kv64,w4,s1,lazy8,add,qsmem,online");
  const Grid grid = gridOf(task, one, 216);
  EXPECT_EQ(grid.longest, 16);
  EXPECT_GE(grid.mean * grid.tiles * 128 * 64, 1024.0 * 1025 / 2) << "no fewer than the visible scores";
  const Gpu a100 = *Gpu::find("a100");
  const Prediction p = predict(a100, task, one);
  EXPECT_LE(p.flops, p.milliseconds * 1e3 * a100.clockMHz * a100.sms * a100.mma16 * 2);
}

} // namespace
} // namespace tessera::tune
