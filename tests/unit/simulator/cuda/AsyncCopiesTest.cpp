// memcpy_async and pipelines of libcu++ and cooperative groups on cp.async, judged by the host, under every schedule.
#include "tests/unit/simulator/cuda/CudaProgram.h"

using namespace tessera::sim;
using namespace tessera::sim::test;

CUDA_PROGRAM(AsyncCopies);

namespace {

std::vector<uint32_t> mixed(size_t size) {
  std::vector<uint32_t> words(size);
  for (size_t i = 0; i < size; ++i)
    words[i] = static_cast<uint32_t>(i * 2654435761u ^ i >> 3);
  return words;
}

/// The sum over batches of `width` words that a thread gets: of each batch the word `pick(batch)`.
template <class Pick> uint32_t sumOf(const std::vector<uint32_t> &words, uint32_t width, Pick pick) {
  uint32_t sum = 0;
  for (uint32_t batch = 0; batch < words.size() / width; ++batch)
    sum += words[width * batch + pick(batch)];
  return sum;
}

} // namespace

TEST_P(AsyncCopies, GroupsCopyBatchesAhead) {
  const uint32_t n = 96, batches = 5;
  std::vector<uint32_t> words = mixed(n * batches), expected(2 * n);
  for (uint32_t i = 0; i < 2 * n; ++i)
    expected[i] = sumOf(words, n, [&](uint32_t) { return n - 1 - i % n; });
  everySchedule([&] {
    Buffer<uint32_t> in(machine, words), out(machine, 2 * n);
    run("groupCopy", {{2, 1, 1}, {n, 1, 1}, 8 * n}, in, out, batches);
    EXPECT_EQ(out.read(), expected);
  });
}

TEST_P(AsyncCopies, AnySizeAndAlignmentIsCopied) {
  std::vector<uint8_t> bytes(512);
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<uint8_t>(i * 31 + (i >> 8));
  for (uint32_t size : {1u, 4u, 37u, 100u, 192u}) {
    std::vector<uint8_t> expected(1024, 0xee);
    for (uint32_t warp = 0; warp < 4; ++warp)
      for (uint32_t k = 0; k < size; ++k)
        expected[256 * warp + warp + k] = bytes[37 * warp + k];
    everySchedule(
        [&] {
          Buffer<uint8_t> in(machine, bytes), out(machine, 1024);
          run("tileCopy", {{1, 1, 1}, {128, 1, 1}}, in, out, size);
          EXPECT_EQ(out.read(), expected);
        },
        10);
  }
}

TEST_P(AsyncCopies, BarriersWaitForCopies) {
  const uint32_t n = 128, rounds = 4;
  std::vector<uint32_t> words = mixed(n * rounds), expected(n);
  for (uint32_t i = 0; i < n; ++i)
    expected[i] = sumOf(words, n, [&](uint32_t) { return n - 1 - i; }) +
                  2 * sumOf(words, n, [&](uint32_t) { return (i + 1) % n; });
  everySchedule([&] {
    Buffer<uint32_t> in(machine, words), out(machine, n);
    run("barrierCopy", {{1, 1, 1}, {n, 1, 1}}, in, out, rounds);
    EXPECT_EQ(out.read(), expected);
  });
}

TEST_P(AsyncCopies, BlockPipelineOfThreeStages) {
  const uint32_t n = 64, batches = 8;
  std::vector<uint32_t> words = mixed(n * batches), expected(n);
  for (uint32_t i = 0; i < n; ++i)
    expected[i] = sumOf(words, n, [&](uint32_t batch) { return (i + batch) % n; });
  everySchedule([&] {
    Buffer<uint32_t> in(machine, words), out(machine, n);
    run("blockPipeline", {{1, 1, 1}, {n, 1, 1}, 12 * n}, in, out, batches);
    EXPECT_EQ(out.read(), expected);
  });
}

TEST_P(AsyncCopies, PipelineBetweenProducersAndConsumers) {
  const uint32_t n = 128, width = 128, batches = 7;
  std::vector<uint32_t> words = mixed(width * batches), expected(n);
  for (uint32_t i = 32; i < n; ++i)
    expected[i] = sumOf(words, width, [&](uint32_t batch) { return (i + batch) % width; });
  everySchedule([&] {
    Buffer<uint32_t> in(machine, words), out(machine, n);
    run("splitPipeline", {{1, 1, 1}, {n, 1, 1}}, in, out, batches);
    EXPECT_EQ(out.read(), expected);
  });
}

TEST_P(AsyncCopies, PipelinesOfSingleThreads) {
  const uint32_t n = 64, batches = 9;
  std::vector<uint32_t> words = mixed(n * batches), expected(n);
  for (uint32_t i = 0; i < n; ++i)
    for (uint32_t batch = 0; batch < batches; ++batch)
      expected[i] = expected[i] * 5 + words[n * batch + i];
  everySchedule([&] {
    Buffer<uint32_t> in(machine, words), out(machine, n);
    run("threadPipeline", {{1, 1, 1}, {n, 1, 1}}, in, out, batches);
    EXPECT_EQ(out.read(), expected);
  });
}

TEST_P(AsyncCopies, PrimitivesFillWithZerosAndArriveOnBarriers) {
  const uint32_t n = 64, rows = 3;
  std::vector<uint32_t> words = mixed(4 * n * rows), expected(words.size());
  for (uint32_t row = 0; row < rows; ++row)
    for (uint32_t i = 0; i < n; ++i)
      for (uint32_t k = 0; k < 4; ++k) {
        uint32_t mine = k < 4 - i % 5 && i % 5 < 4 ? words[4 * (row * n + i) + k] : 0;
        expected[4 * (row * n + i) + k] = mine + words[4 * (row * n + n - 1 - (i + 5) % n) + k];
      }
  everySchedule([&] {
    Buffer<uint32_t> in(machine, words), out(machine, words.size());
    run("primitiveCopy", {{1, 1, 1}, {n, 1, 1}}, in, out, rows);
    EXPECT_EQ(out.read(), expected);
  });
}

TEST_P(AsyncCopies, PipelinedProductsGiveTheHostsResult) {
  const uint32_t n = 64;
  std::vector<float> a(n * n), b(n * n), c(n * n);
  for (uint32_t i = 0; i < n * n; ++i) {
    a[i] = static_cast<float>(i * 7 % 11);
    b[i] = static_cast<float>(i * 5 % 13);
  }
  for (uint32_t row = 0; row < n; ++row)
    for (uint32_t column = 0; column < n; ++column)
      for (uint32_t k = 0; k < n; ++k)
        c[row * n + column] += a[row * n + k] * b[k * n + column];
  for (const char *kernel : {"product2", "product4"})
    everySchedule(
        [&] {
          Buffer<float> pa(machine, a), pb(machine, b), pc(machine, n * n);
          run(kernel, {{n / 16, n / 16, 1}, {16, 16, 1}}, pa, pb, pc, n);
          EXPECT_EQ(pc.read(), c);
        },
        debugBuild() ? 1 : 12);
}
