// Atomic operations: nothing is lost, whatever the schedule.
#include "tests/unit/simulator/cuda/CudaProgram.h"

#include <algorithm>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <numeric>

using namespace tessera::sim;
using namespace tessera::sim::test;

CUDA_PROGRAM(Atomic);

TEST_P(Atomic, IntegersLoseNoStep) {
  const uint32_t n = 160;
  std::vector<uint32_t> start = {0, 5, ~0u, 0, 0x7fffffff, 0x80000000, 0xffff, 0, 0, 0, 10, 7, 1, 0, 1, 0}, end = start;
  std::vector<uint64_t> startLarge = {0, ~0ull, uint64_t(1) << 63, ~0ull, 0, 0, 1}, endLarge = startLarge;
  for (uint32_t t = 0; t < n; ++t) {
    end[0] += 1;
    end[1] -= t;
    end[2] = std::min(end[2], t ^ 21);
    end[3] = std::max(end[3], t ^ 21);
    end[4] = static_cast<uint32_t>(std::min(static_cast<int>(end[4]), static_cast<int>(t * 5) - 100));
    end[5] = static_cast<uint32_t>(std::max(static_cast<int>(end[5]), static_cast<int>(t * 5) - 1000));
    end[6] &= ~(1u << (t & 15));
    end[7] |= 1u << (t & 31);
    end[8] ^= t * 0x9e3779b9;
    end[9] = end[9] >= 6 ? 0 : end[9] + 1;
    end[10] = end[10] == 0 || end[10] > 10 ? 10 : end[10] - 1;
    end[11] -= 3;
    end[12] *= 3;
    endLarge[0] += uint64_t(1) << 33;
    endLarge[1] = std::min<uint64_t>(endLarge[1], 1000000000000 - t);
    endLarge[2] = static_cast<uint64_t>(std::max(static_cast<int64_t>(endLarge[2]), static_cast<int64_t>(t) - 1000));
    endLarge[3] &= ~(uint64_t(1) << (t & 63));
    endLarge[4] |= uint64_t(1) << (t & 63);
    endLarge[5] ^= uint64_t(t) << 20;
    endLarge[6] = endLarge[6] * 5 + 1;
  }
  end[13] = (n / 2 * 3) | (n / 2 * 3) << 16;
  end[14] = 0;
  end[15] = 1;
  everySchedule([&] {
    Buffer<uint32_t> out(machine, start), tickets(machine, n);
    Buffer<uint64_t> large(machine, startLarge);
    run("integers", {{5}, {32}}, out, large, tickets);
    EXPECT_EQ(out.read(), end);
    EXPECT_EQ(large.read(), endLarge);
    auto order = tickets.read();
    std::sort(order.begin(), order.end());
    for (uint32_t t = 0; t < n; ++t)
      EXPECT_EQ(order[t], t);
  });
}

TEST_P(Atomic, FloatsAddUp) {
  const int n = 120;
  float f = 0, largest = -1000;
  double d = 0;
  int h = 0, h2[2] = {}, b = 0;
  for (int t = 0; t < n; ++t) {
    f += static_cast<float>(t % 7);
    d += t % 5 * 0.25;
    h += t % 3;
    h2[0] += t % 2;
    h2[1] += t % 4;
    b += t % 2;
    largest = std::max(largest, static_cast<float>(t * 37 % 101) - 50.5f);
  }
  auto half = [](int v) { return __half_raw(__float2half(static_cast<float>(v))).x; };
  auto bfloat = [](int v) { return __nv_bfloat16_raw(__float2bfloat16(static_cast<float>(v))).x; };
  everySchedule([&] {
    Buffer<float> pf(machine, std::vector<float>{0, -1000});
    Buffer<double> pd(machine, std::vector<double>(1));
    Buffer<uint16_t> ph(machine, std::vector<uint16_t>(2)), pb(machine, std::vector<uint16_t>(2)),
        ph2(machine, std::vector<uint16_t>(2)), pb2(machine, std::vector<uint16_t>(2));
    run("floats", {{3}, {40}}, pf, pd, ph, ph2, pb, pb2);
    EXPECT_EQ(pf.read(), (std::vector<float>{f, largest}));
    EXPECT_EQ(pd.read()[0], d);
    EXPECT_EQ(ph.read()[0], half(h));
    EXPECT_EQ(ph2.read(), (std::vector<uint16_t>{half(h2[0]), half(h2[1])}));
    EXPECT_EQ(pb.read()[0], bfloat(b));
    EXPECT_EQ(pb2.read(), (std::vector<uint16_t>{bfloat(b), bfloat(n - b)}));
  });
}

TEST_P(Atomic, EveryScopeReachesItsThreads) {
  everySchedule([&] {
    Buffer<uint32_t> out(machine, std::vector<uint32_t>(16));
    Buffer<double> sum(machine, std::vector<double>(1));
    run("scopes", {{4}, {64}}, out, sum);
    std::vector<uint32_t> expected(16);
    expected[0] = 512;
    expected[1] = 0xff;
    for (size_t block = 0; block < 4; ++block) {
      expected[2 + block] = 63 * 32;
      expected[10 + block] = 640000 + 189 + 32;
    }
    EXPECT_EQ(out.read(), expected);
    EXPECT_EQ(sum.read()[0], 256);
  });
}

TEST_P(Atomic, TheLibrarysOrdersCarryMessages) {
  const int blocks = 5, n = 8, threads = 96;
  std::vector<int> sums(blocks);
  for (int i = 0; i < n; ++i)
    sums[1] += i * i;
  for (size_t block = 2; block < blocks; ++block)
    sums[block] = sums[block - 1] * n + n * (n - 1) / 2;
  std::vector<int> expected = {0, 0, 0, 100, 0, 0, 0, 0, 0};
  for (int t = 0; t < threads; ++t) {
    expected[0] += t;
    expected[1] -= 1;
    expected[2] = std::max(expected[2], t * 7 % 50);
    expected[3] = std::min(expected[3], t * 7 % 50);
    expected[4] ^= t;
    expected[5] += 1;
    expected[7] = static_cast<int>(static_cast<uint32_t>(expected[7]) * 3 + 1);
  }
  expected[6] = 1;
  expected[8] = threads;
  everySchedule([&] {
    Buffer<int> data(machine, n * blocks), flags(machine, std::vector<int>(blocks)),
        out(machine, std::vector<int>(blocks));
    run("messages", {{blocks}, {32}}, data, flags, out, n);
    EXPECT_EQ(out.read(), sums);
    Buffer<int> results(machine, std::vector<int>{0, 0, 0, 100, 0, 0, 0, 0, 0});
    Buffer<float> f(machine, std::vector<float>(1));
    Buffer<uint32_t> once(machine, std::vector<uint32_t>(1));
    run("library", {{3}, {32}}, results, f, once);
    EXPECT_EQ(results.read(), expected);
    EXPECT_EQ(f.read()[0], threads / 2);
  });
}
