// Cooperative groups, group by group on the host.
#include "tests/unit/simulator/cuda/CudaProgram.h"

#include <algorithm>

using namespace tessera::sim;
using namespace tessera::sim::test;

CUDA_PROGRAM(Groups);

namespace {
constexpr size_t n = 96;

std::vector<int> inputs() {
  std::vector<int> in(n);
  for (size_t i = 0; i < n; ++i)
    in[i] = static_cast<int>(i * 37 % 41) - 12;
  return in;
}

/// The lanes of t's group of `size` threads for which keep(lane) holds.
template <class F> std::vector<size_t> group(size_t t, size_t size, F keep) {
  std::vector<size_t> lanes;
  for (size_t i = t / size * size; i < t / size * size + size; ++i)
    if (keep(i))
      lanes.push_back(i);
  return lanes;
}
} // namespace

TEST_P(Groups, TilesComputeAmongThemselves) {
  auto in = inputs();
  std::vector<int> expected(9 * n);
  auto all = [](size_t) { return true; };
  auto sum = [&](const std::vector<size_t> &lanes) {
    int s = 0;
    for (size_t i : lanes)
      s += in[i];
    return s;
  };
  for (size_t t = 0; t < n; ++t) {
    size_t line = 0;
    for (size_t size : {32u, 16u, 4u})
      expected[line++ * n + t] = sum(group(t, size, all)) * 100 + static_cast<int>(t % size + t / size * 7);
    int ballot = 0, matched = 0;
    bool any = false, every = true;
    for (size_t i : group(t, 8, all)) {
      ballot |= (in[i] > 0) << (i % 8);
      matched |= ((in[i] & 3) == (in[t] & 3)) << (i % 8);
      any |= in[i] == 3;
      every &= in[i] < 40;
    }
    expected[3 * n + t] = ballot + 1000 * any + 2000 * every + 4000 * matched;
    expected[4 * n + t] = sum(group(t, 8, all));
    auto warp = group(t, 32, all);
    expected[5 * n + t] =
        in[*std::max_element(warp.begin(), warp.end(), [&](size_t a, size_t b) { return in[a] < in[b]; })];
    expected[6 * n + t] = sum(warp);
    expected[7 * n + t] = sum(group(t, 32, [&](size_t i) { return i <= t; }));
    expected[8 * n + t] = sum(group(t, 8, [&](size_t i) { return i < t; }));
  }
  Buffer<int> pin(machine, in);
  everySchedule([&] {
    Buffer<int> out(machine, expected.size());
    run("tiles", {{1}, {n}}, pin, out);
    EXPECT_EQ(out.read(), expected);
  });
}

TEST_P(Groups, CoalescedAndLabelledLanesComputeAmongThemselves) {
  auto in = inputs();
  std::vector<int> expected(2 * n);
  int reserving = 0;
  for (size_t t = 0; t < n; ++t) {
    reserving += in[t] % 3 == 0;
    auto label = group(t, 32, [&](size_t i) { return (in[i] & 3) == (in[t] & 3); });
    int s = 0;
    for (size_t i : label)
      s += in[i];
    expected[t] = s * 100 + static_cast<int>(label.size());
    auto half = group(t, 32, [&](size_t i) { return (in[i] > 5) == (in[t] > 5); });
    int least = 1000, rank = 0;
    for (size_t i : half) {
      least = std::min(least, in[i]);
      rank += i < t;
    }
    expected[n + t] = least * 100 + rank;
  }
  Buffer<int> pin(machine, in);
  everySchedule([&] {
    Buffer<int> out(machine, 3 * n), counter(machine, std::vector<int>(1));
    run("coalesced", {{1}, {n}}, pin, out, counter);
    auto results = out.read();
    EXPECT_EQ(std::vector<int>(results.begin() + n, results.end()), expected);
    std::vector<int> places;
    for (size_t t = 0; t < n; ++t)
      if (in[t] % 3 == 0)
        places.push_back(results[t]);
    std::sort(places.begin(), places.end());
    for (size_t i = 0; i < places.size(); ++i)
      EXPECT_EQ(places[i], static_cast<int>(i));
    EXPECT_EQ(counter.read()[0], reserving);
  });
}

TEST_P(Groups, TheGridKnowsItsRanks) {
  Buffer<int> out(machine, 4 * 32);
  run("gridRanks", {{4}, {32}}, out);
  auto results = out.read();
  for (int t = 0; t < 128; ++t)
    EXPECT_EQ(results[static_cast<size_t>(t)], 128000 + 2 * (t / 32));
}

TEST_P(Groups, TheGridStaysInStep) {
  const size_t threads = 4 * 32;
  std::vector<int> start(2 * threads), values;
  for (size_t t = 0; t < threads; ++t)
    start[t] = static_cast<int>(t * t % 100);
  values.assign(start.begin(), start.begin() + threads);
  for (int round = 0; round < 4; ++round) {
    auto next = values;
    for (size_t t = 0; t < threads; ++t)
      next[t] = values[(t + 40) % threads] + 3 * values[(t + threads - 40) % threads];
    values = next;
  }
  everySchedule(
      [&] {
        Buffer<int> buffer(machine, start);
        Buffer<uint32_t> workspace(machine, std::vector<uint32_t>(64));
        run("gridSteps", {{4}, {32}, 0, workspace.address}, buffer, 4);
        auto all = buffer.read();
        EXPECT_EQ(std::vector<int>(all.begin(), all.begin() + threads), values);
      },
      8);
}
