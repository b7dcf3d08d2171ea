// Barriers of libcu++ on mbarriers, judged by the host, under every schedule.
#include "tests/unit/simulator/cuda/CudaProgram.h"

#include <algorithm>
#include <numeric>

using namespace tessera::sim;
using namespace tessera::sim::test;

CUDA_PROGRAM(AsyncBarriers);

namespace {

std::vector<uint32_t> mixed(size_t size) {
  std::vector<uint32_t> words(size);
  for (size_t i = 0; i < size; ++i)
    words[i] = static_cast<uint32_t>(i * 2654435761u ^ i >> 3);
  return words;
}

} // namespace

TEST_P(AsyncBarriers, ArrivalsAndWaitsOrderExchanges) {
  const uint32_t n = 128, blocks = 2, rounds = 5;
  std::vector<uint32_t> value(n);
  std::iota(value.begin(), value.end(), 0u);
  for (uint32_t round = 0; round < rounds; ++round) {
    std::vector<uint32_t> words(n);
    for (uint32_t i = 0; i < n; ++i)
      words[i] = value[i] * 3 + round;
    for (uint32_t i = 0; i < n; ++i)
      value[i] = (value[i] ^ round) + words[(i + 7 * round + 1) % n];
  }
  std::vector<uint32_t> expected = value;
  expected.insert(expected.end(), value.begin(), value.end());
  everySchedule([&] {
    Buffer<uint32_t> out(machine, n * blocks);
    run("exchange", {{blocks, 1, 1}, {n, 1, 1}}, out, rounds);
    EXPECT_EQ(out.read(), expected);
  });
}

TEST_P(AsyncBarriers, ThreadsThatDropOutAreNotWaitedFor) {
  const uint32_t n = 256;
  std::vector<uint32_t> expected(n);
  for (uint32_t round = 0; round < 8; ++round) {
    uint32_t sum = 0;
    for (uint32_t i = round * n / 8; i < n; ++i)
      sum += i + 1;
    for (uint32_t i = (round + 1) * n / 8; i < n; ++i)
      expected[i] += sum;
  }
  everySchedule([&] {
    Buffer<uint32_t> out(machine, n);
    run("dropOut", {{1, 1, 1}, {n, 1, 1}}, out);
    EXPECT_EQ(out.read(), expected);
  });
}

TEST_P(AsyncBarriers, CompletionFunctionsRunBetweenPhases) {
  const uint32_t n = 96, rounds = 6;
  uint32_t seen = 0;
  for (uint32_t round = 0; round < rounds; round += 2)
    seen += 2 * (n * (n - 1) / 2) * (round + 1);
  everySchedule([&] {
    Buffer<uint32_t> out(machine, n);
    run("completion", {{1, 1, 1}, {n, 1, 1}}, out, rounds);
    EXPECT_EQ(out.read(), std::vector<uint32_t>(n, seen));
  });
}

TEST_P(AsyncBarriers, WarpsWithRolesHandBuffersOver) {
  const uint32_t n = 128, rounds = 7;
  std::vector<uint32_t> words = mixed(32 * rounds), expected(n);
  for (uint32_t i = 32; i < n; ++i)
    for (uint32_t round = 0; round < rounds; ++round)
      expected[i] += words[round * 32 + (i % 32 + i / 32) % 32];
  everySchedule([&] {
    Buffer<uint32_t> in(machine, words), out(machine, std::vector<uint32_t>(n));
    run("roles", {{1, 1, 1}, {n, 1, 1}}, in, out, rounds);
    EXPECT_EQ(out.read(), expected);
  });
}

TEST_P(AsyncBarriers, LanesArriveForTheirWarpsAndWaitsGoByParity) {
  const uint32_t n = 128, rounds = 6;
  std::vector<uint32_t> expected(n);
  for (uint32_t i = 0; i < n; ++i)
    for (uint32_t round = 0; round < rounds; ++round)
      expected[i] += (i + 33) % n + round;
  everySchedule([&] {
    Buffer<uint32_t> out(machine, n);
    run("counts", {{1, 1, 1}, {n, 1, 1}}, out, rounds);
    EXPECT_EQ(out.read(), expected);
  });
}

TEST_P(AsyncBarriers, PrimitivesCountPendingArrivals) {
  const uint32_t n = 128;
  everySchedule([&] {
    Buffer<uint32_t> out(machine, 2 * n);
    run("primitives", {{1, 1, 1}, {n, 1, 1}}, out);
    std::vector<uint32_t> words = out.read(), first, third;
    for (uint32_t i = 0; i < n; ++i) {
      EXPECT_EQ(words[2 * i], (n - 1 - i) * (n - 1 - i));
      first.push_back(words[2 * i + 1] % 1000);
      if (i < n / 2)
        third.push_back(words[2 * i + 1] / 1000);
    }
    // Every arrival found another count.
    std::sort(first.begin(), first.end());
    std::sort(third.begin(), third.end());
    for (uint32_t i = 0; i < n; ++i)
      EXPECT_EQ(first[i], i + 1);
    for (uint32_t i = 0; i < n / 2; ++i)
      EXPECT_EQ(third[i], i + 1);
  });
}
