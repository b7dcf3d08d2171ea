// A band over the scores has few corners: the rows where it enters or leaves the keys. Between two corners the range
// of a query tile moves with it, evenly but for the rounding to KV tiles, and that repeats after so many query tiles as
// are a whole number of KV tiles:
//
//   range(t + period) = range(t) + constant      period = group tileKv / gcd(tileQ, group tileKv)
//
// so that the tiles t, t + period, t + 2 period, ... have lengths in arithmetic progression. Tiles next to a corner are
// taken one by one.
#include "autotune/model/Lengths.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace tessera::tune {
namespace {

/// More tiles than these next to one corner, or in one period, are so narrow that their neighbours are alike.
constexpr int64_t mostOneByOne = 128;

class Sum {
public:
  Sum(const Task &task, const Schedule &schedule) : task(task), schedule(schedule) {}

  /// Every tile, or evenly spread ones and the ends.
  void oneByOne(int64_t begin, int64_t end) {
    const int64_t count = end - begin;
    if (count <= 0)
      return;
    if (count <= mostOneByOne) {
      for (int64_t tile = begin; tile < end; ++tile)
        add(tile, 1);
      return;
    }
    const double each = double(count) / mostOneByOne;
    for (int64_t i = 0; i < mostOneByOne; ++i)
      add(begin + int64_t((double(i) + 0.5) * each), each);
    add(begin, 0);
    add(end - 1, 0);
  }

  /// Between two corners: the first and the last of each progression stand for all of it.
  void repeating(int64_t begin, int64_t end, int64_t period) {
    const int64_t count = end - begin, classes = std::min(period, mostOneByOne);
    if (count <= 2 * classes)
      return oneByOne(begin, end);
    for (int64_t i = 0; i < classes; ++i) {
      const int64_t first = begin + i * period / classes, members = (end - 1 - first) / period + 1;
      const double half = double(members) / 2 * double(period) / double(classes);
      add(first, half);
      add(first + (members - 1) * period, half);
    }
  }

  Lengths total;

private:
  void add(int64_t tile, double times) {
    const TileRange range = tileRange(task, schedule, tile);
    const double length = double(range.count);
    total.longest = any ? std::max(total.longest, length) : length;
    total.shortest = any ? std::min(total.shortest, length) : length;
    any = true;
    total.sum += times * length;
    total.edges += times * double(range.edges);
    total.head += times * double(range.head);
  }

  const Task &task;
  const Schedule &schedule;
  bool any = false;
};

} // namespace

Lengths lengthsOf(const Task &task, const Schedule &s, int64_t begin, int64_t end) {
  Sum sum(task, s);
  if (end <= begin)
    return sum.total;
  sum.total.tiles = double(end - begin);
  const Mask &mask = task.spec.mask;
  if (mask.isFull()) {
    sum.repeating(begin, end, 1);
    return sum.total;
  }

  const int64_t group = s.packHeads ? headsPerGroup(task.problem) : 1;
  const double keys = double(task.problem.seqlenKv);
  const double offset = mask.align == Align::BottomRight ? keys - double(task.problem.seqlenQ) : 0;
  const int64_t period = group * s.tileKv / std::gcd(group * int64_t(s.tileKv), int64_t(s.tileQ));
  // Where a row's first or last key passes the first or the last of all; a tile sees that as many rows ahead or behind
  // as it has itself, and as one or two KV tiles have.
  const int64_t reach = 2 * group * s.tileKv / s.tileQ + 3;
  std::array<std::pair<int64_t, int64_t>, 6> corners; // of the tiles around each
  size_t count = 0;
  const auto corner = [&](double row) {
    const double tile = std::clamp(row * double(group) / s.tileQ, double(begin) - 1, double(end) + 1);
    corners[count++] = {std::max(int64_t(tile) - reach, begin), std::min(int64_t(tile) + reach, end)};
  };
  if (mask.right)
    corner(-offset - double(*mask.right)), corner(keys - offset - double(*mask.right));
  if (mask.left)
    corner(double(*mask.left) - offset), corner(keys + double(*mask.left) - offset);
  corners[count++] = {end - 1, end}; // the last tile may be short of rows
  std::sort(corners.begin(), corners.begin() + count);
  int64_t done = begin;
  for (size_t i = 0; i < count; ++i) {
    const auto [first, last] = corners[i];
    if (first > done)
      sum.repeating(done, first, period);
    sum.oneByOne(std::max(first, done), last);
    done = std::max({done, first, last});
  }
  return sum.total;
}

} // namespace tessera::tune
