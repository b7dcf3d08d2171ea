// Kernels whose warps and blocks depend on each other: right under every schedule.
#include "tests/unit/simulator/cuda/CudaProgram.h"

#include <numeric>

using namespace tessera::sim;
using namespace tessera::sim::test;

CUDA_PROGRAM(Block);

namespace {

template <class T> std::vector<T> numbers(size_t n, int modulus, int offset = 0) {
  std::vector<T> values(n);
  for (size_t i = 0; i < n; ++i)
    values[i] = static_cast<T>(static_cast<int>(i * 7919 % static_cast<size_t>(modulus)) + offset);
  return values;
}

} // namespace

TEST_P(Block, ReductionsAndScansAddUp) {
  auto in = numbers<int>(1000, 501, -250);
  auto words = numbers<uint32_t>(512, 97);
  std::vector<uint32_t> sums(512);
  for (size_t i = 0; i < 512; ++i)
    sums[i] = words[i] + (i % 256 ? sums[i - 1] : 0);
  Buffer<int> pin(machine, in);
  Buffer<uint32_t> pwords(machine, words);
  everySchedule([&] {
    for (uint32_t size : {128u, 96u, 37u}) {
      Buffer<int> out(machine, 3);
      run("reduce", {{3}, {size}, 4 * size}, pin, out, 1000);
      auto parts = out.read();
      EXPECT_EQ(std::accumulate(parts.begin(), parts.end(), 0), std::accumulate(in.begin(), in.end(), 0)) << size;
    }
    Buffer<uint32_t> out(machine, 512);
    run("scan", {{2}, {256}}, pwords, out);
    EXPECT_EQ(out.read(), sums);
  });
}

TEST_P(Block, BarriersCountAndHandOver) {
  auto in = numbers<int>(160, 101, -50);
  in[100] = 77;
  int positive = 0;
  for (int x : in)
    positive += x > 0;
  std::vector<int> handed(64);
  for (int t = 0; t < 64; ++t)
    handed[static_cast<size_t>(t)] = (t + 3) % 64 + 1000 * (64 + (t + 3) % 64);
  Buffer<int> pin(machine, in);
  everySchedule([&] {
    Buffer<int> out(machine, 160), out2(machine, 64);
    run("barrierVotes", {{1}, {160}}, pin, out);
    EXPECT_EQ(out.read(), std::vector<int>(160, positive + 3000));
    run("namedBarriers", {{1}, {128}}, out2);
    EXPECT_EQ(out2.read(), handed);
  });
}

TEST_P(Block, TilesStencilsAndHistogramsShareMemory) {
  const int rows = 37, columns = 50, n = 300;
  auto matrix = numbers<float>(rows * columns, 1000), line = numbers<float>(n, 37);
  auto bytes = numbers<uint8_t>(2000, 251);
  std::vector<float> turned(rows * columns), expected(n), factors = {0.5f, -1, 0.25f, 3, 0.75f, 2, -0.125f, 99};
  std::vector<uint32_t> counts(64);
  for (size_t y = 0; y < rows; ++y)
    for (size_t x = 0; x < columns; ++x)
      turned[x * rows + y] = matrix[y * columns + x];
  struct Settings {
    int scale;
    short offsets[3];
  } settings = {40, {1, -2, 5}};
  for (int i = 0; i < n; ++i) {
    float sum = 0;
    for (int k = -3; k <= 3; ++k)
      sum += factors[static_cast<size_t>(k + 3)] * (i + k >= 0 && i + k < n ? line[static_cast<size_t>(i + k)] : 0);
    int t = i % 128;
    expected[static_cast<size_t>(i)] = sum + 40 + static_cast<float>(t & 3) * 0.5f + settings.offsets[t % 3];
  }
  for (uint8_t b : bytes)
    ++counts[b & 63];
  auto setSymbol = [&](const char *name, const void *value, size_t size) {
    const GlobalInfo *info = machine.module->findGlobal(name);
    ASSERT_TRUE(info && info->size >= size) << name;
    ASSERT_TRUE(machine.memory.write(info->address, value, size).ok());
  };
  setSymbol("coefficients", factors.data(), 32);
  setSymbol("settings", &settings, sizeof settings);
  Buffer<float> pmatrix(machine, matrix), pline(machine, line);
  Buffer<uint8_t> pbytes(machine, bytes);
  everySchedule(
      [&] {
        Buffer<float> out(machine, turned.size()), out2(machine, n);
        Buffer<uint32_t> out3(machine, std::vector<uint32_t>(64));
        run("transpose", {{4, 3}, {16, 16}}, pmatrix, out, rows, columns);
        EXPECT_EQ(out.read(), turned);
        run("stencil", {{3}, {128}, 4 * 8 + 134 * 4}, pline, out2, n);
        EXPECT_EQ(out2.read(), expected);
        run("histogram", {{3}, {96}}, pbytes, out3, 2000);
        EXPECT_EQ(out3.read(), counts);
      },
      20);
}

TEST_P(Block, BlocksMeetInGlobalMemory) {
  auto in = numbers<int>(700, 501, -100);
  const int total = std::accumulate(in.begin(), in.end(), 0);
  uint64_t a = 1, b = 2;
  for (int i = 0; i < 5 * 3; ++i) {
    uint64_t before = a;
    a = b + 1;
    b = before * 3 + b;
  }
  Buffer<int> pin(machine, in);
  everySchedule([&] {
    Buffer<int> partial(machine, 5), out(machine, 1);
    Buffer<uint64_t> state(machine, std::vector<uint64_t>{1, 2});
    run("lastBlock", {{5}, {64}}, pin, partial, out, 700);
    EXPECT_EQ(out.read()[0], total);
    run("spinLock", {{5}, {32}}, state, 3);
    EXPECT_EQ(state.read(), (std::vector<uint64_t>{a, b}));
  });
}

TEST_P(Block, AllBlocksPassAGridBarrierTogether) {
  const size_t blocks = 6;
  std::vector<int> start(2 * blocks), values;
  for (size_t i = 0; i < blocks; ++i)
    start[i] = static_cast<int>(i * i);
  values.assign(start.begin(), start.begin() + blocks);
  for (int round = 0; round < 4; ++round) {
    auto next = values;
    for (size_t i = 0; i < blocks; ++i)
      next[i] = values[(i + blocks - 1) % blocks] * 2 + values[(i + 1) % blocks];
    values = next;
  }
  everySchedule(
      [&] {
        Buffer<int> ring(machine, start);
        Buffer<uint32_t> arrived(machine, std::vector<uint32_t>(1));
        run("gridBarrier", {{blocks}, {64}}, ring, arrived, 4);
        auto all = ring.read();
        EXPECT_EQ(std::vector<int>(all.begin(), all.begin() + blocks), values);
      },
      8);
}
