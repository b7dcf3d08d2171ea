// Exchange within a warp, worked out lane by lane on the host.
#include "tests/unit/simulator/cuda/CudaProgram.h"

#include <algorithm>
#include <random>
#include <set>

using namespace tessera::sim;
using namespace tessera::sim::test;

namespace {

/// PTX shfl of lanes in segments of `width`: the value of lane `source` of the segment, one's own when it is outside.
uint32_t fromSegment(const uint32_t *x, int lane, int width, int source) {
  int base = lane & ~(width - 1);
  return source >= 0 && source < width ? x[base + source] : x[lane];
}

} // namespace

CUDA_PROGRAM(Warp);

TEST_P(Warp, ShufflesMoveWhatTheGuideSays) {
  std::mt19937 random(4);
  std::vector<uint32_t> in(128);
  for (auto &v : in)
    v = random() >> 8;
  Buffer<uint32_t> pin(machine, in);
  Buffer<uint64_t> out(machine, 29 * 64);
  run("shuffles", {{1}, {64}}, pin, out);
  auto results = out.read();
  for (int t = 0; t < 64; ++t) {
    const uint64_t *next = &results[static_cast<size_t>(t)];
    auto expect = [&](uint64_t value, const char *what, int width = 32) {
      EXPECT_EQ(*next, value) << what << " of width " << width << ", thread " << t;
      next += 64;
    };
    uint32_t x[32], delta[32];
    for (int i = 0; i < 32; ++i) {
      x[i] = in[static_cast<size_t>(2 * ((t & 32) + i))];
      delta[i] = in[static_cast<size_t>(2 * ((t & 32) + i) + 1)];
    }
    int lane = t & 31, d = static_cast<int>(delta[lane] & 31);
    for (int width = 32; width >= 2; width /= 2) {
      int own = lane & (width - 1);
      expect(x[(lane & ~(width - 1)) + static_cast<int>(delta[lane] & static_cast<uint32_t>(width - 1))], "indexed",
             width);
      expect(x[(lane & ~(width - 1)) + (3 & (width - 1))], "constant", width);
      expect(fromSegment(x, lane, width, own - d), "up", width);
      expect(fromSegment(x, lane, width, own + d), "down", width);
      // A partner in an earlier segment is reached, one in a later segment is not.
      expect((lane ^ d) < (lane & ~(width - 1)) + width ? x[lane ^ d] : x[lane], "xor", width);
    }
    expect(std::bit_cast<uint64_t>(x[lane ^ 7] * 1.5), "double");
    int source = (lane & 15) + 5 < 16 ? lane + 5 : lane;
    expect(uint64_t(x[source]) * x[source], "long");
    int up = lane ? lane - 1 : lane;
    expect(static_cast<uint64_t>(up * 1000 + (t & 32) + up), "half2");
    expect(std::bit_cast<uint32_t>(static_cast<float>(x[lane ^ 1])), "float");
  }
}

TEST_P(Warp, VotesMatchesAndReductionsSeeEveryNamedLane) {
  std::mt19937 random(6);
  std::vector<uint32_t> in(128);
  for (size_t t = 0; t < 64; ++t) {
    in[2 * t] = random();
    in[2 * t + 1] = t < 32 ? random() % 4 : random();
  }
  Buffer<uint32_t> pin(machine, in);
  auto expected = [&](size_t t) {
    const uint32_t *warp = &in[t & 32 ? 64 : 0];
    size_t lane = t & 31;
    auto x = [&](size_t i) { return warp[2 * i]; };
    auto y = [&](size_t i) { return warp[2 * i + 1]; };
    auto ballot = [&](uint32_t mask, auto f) {
      uint32_t r = 0;
      for (size_t i = 0; i < 32; ++i)
        r |= uint32_t(mask >> i & 1 && f(i)) << i;
      return r;
    };
    auto reduce = [&](uint32_t mask, uint32_t start, auto f) {
      for (size_t i = 0; i < 32; ++i)
        if (mask >> i & 1)
          start = f(start, x(i));
      return start;
    };
    auto all = [](uint32_t mask, uint32_t got) -> uint64_t { return mask == got; };
    auto plus = [](uint32_t a, uint32_t b) { return a + b; };
    uint32_t odd = lane & 1 ? 0xaaaaaaaa : 0x55555555;
    std::vector<uint64_t> lines = {all(~0u, ballot(~0u, [&](size_t i) { return x(i) & 1; })),
                                   1,
                                   ballot(~0u, [&](size_t i) { return x(i) == in[0]; }) != 0,
                                   0,
                                   ballot(~0u, [&](size_t i) { return x(i) > y(i); }),
                                   ballot(~0u, [&](size_t i) { return y(i) == y(lane); }),
                                   ballot(~0u,
                                          [&](size_t i) {
                                            return uint64_t(y(i)) << 40 == uint64_t(y(lane)) << 40 &&
                                                   (x(i) & 1) == (x(lane) & 1);
                                          }),
                                   0,
                                   ~0u * 2ull + 1,
                                   reduce(~0u, 0, plus),
                                   reduce(~0u, ~0u, [](uint32_t a, uint32_t b) { return std::min(a, b); }),
                                   reduce(~0u, 0, [](uint32_t a, uint32_t b) { return std::max(a, b); })};
    auto asSigned = [](uint32_t v) { return static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(v))); };
    lines.push_back(asSigned(reduce(~0u, 0x7fffffff, [](uint32_t a, uint32_t b) {
      return static_cast<int32_t>(a) < static_cast<int32_t>(b) ? a : b;
    })));
    lines.push_back(asSigned(reduce(~0u, 0x80000000, [](uint32_t a, uint32_t b) {
      return static_cast<int32_t>(a) > static_cast<int32_t>(b) ? a : b;
    })));
    lines.push_back(reduce(~0u, ~0u, [](uint32_t a, uint32_t b) { return a & (b | 0xff); }));
    uint32_t ored = 0;
    for (size_t i = 0; i < 32; ++i)
      ored |= x(i) & y(i);
    lines.push_back(ored);
    lines.push_back(reduce(~0u, 0, [](uint32_t a, uint32_t b) { return a ^ b; }));
    lines.push_back(ballot(odd, [&](size_t i) { return x(i) > y(i); }));
    lines.push_back(reduce(odd, 0, plus));
    lines.push_back(x(lane ^ 2));
    lines.push_back(ballot(odd, [&](size_t i) { return y(i) == y(lane); }));
    uint32_t result = 0;
    if (lane < 20) {
      result = ballot(0xfffff, [&](size_t i) { return y(i) & 1; });
      result += lane >= 8 ? reduce(0xfff00, 0, plus) : x(lane < 6 ? lane + 2 : lane);
    } else {
      result = (ballot(0xfff00000, [&](size_t i) { return x(i) == 5; }) != 0) + 24;
    }
    lines.push_back(result);
    return lines;
  };
  size_t lines = expected(0).size();
  everySchedule([&] {
    Buffer<uint64_t> out(machine, lines * 64);
    run("votes", {{1}, {64}}, pin, out);
    auto results = out.read();
    for (size_t t = 0; t < 64; ++t) {
      auto all = expected(t);
      for (size_t line = 0; line < lines; ++line) {
        // __activemask promises only lanes that run together, so its count has an upper bound.
        if (line + 1 == lines && (t & 31) >= 20)
          EXPECT_LE(results[line * 64 + t], all[line]);
        else
          EXPECT_EQ(results[line * 64 + t], all[line]) << "line " << line << ", thread " << t;
      }
    }
  });
}

TEST_P(Warp, SharedMemoryIsOrderedByTheWarpsBarrier) {
  std::vector<uint32_t> in(64);
  for (uint32_t i = 0; i < 64; ++i)
    in[i] = i * i + 7;
  std::vector<uint32_t> sums = {0, 0}, slots(32);
  for (uint32_t i = 0; i < 64; ++i)
    sums[i / 32] += in[i];
  for (uint32_t i = 0; i < 32; ++i)
    slots[i] = i;
  for (uint32_t round = 0; round < 5; ++round)
    for (size_t i = 0; i < 16; ++i) {
      slots[i + 16] = slots[i] * 3 + 1;
      slots[i] = slots[i + 16] ^ round;
    }
  Buffer<uint32_t> pin(machine, in);
  everySchedule([&] {
    Buffer<uint32_t> out(machine, 2), last(machine, 32);
    run("orderedByBarrier", {{1}, {64}}, pin, out);
    EXPECT_EQ(out.read(), sums);
    run("pingPong", {{1}, {32}}, last, 5u);
    EXPECT_EQ(last.read(), slots);
  });
}

TEST_P(Warp, SortAndCompactionWorkAcrossWarps) {
  std::mt19937 random(8);
  std::vector<uint32_t> keys(256);
  for (auto &k : keys)
    k = random();
  auto sorted = keys;
  for (size_t i = 0; i < 256; i += 32)
    std::sort(sorted.begin() + static_cast<long>(i), sorted.begin() + static_cast<long>(i) + 32);
  std::vector<int> numbers(200);
  std::multiset<int> kept;
  for (int &v : numbers) {
    v = static_cast<int>(random() % 1000);
    if (v % 3 == 0)
      kept.insert(v);
  }
  Buffer<int> pin(machine, numbers);
  everySchedule([&] {
    Buffer<uint32_t> pkeys(machine, keys), count(machine, std::vector<uint32_t>(1));
    Buffer<int> out(machine, numbers.size());
    run("sort", {{2}, {128}}, pkeys);
    EXPECT_EQ(pkeys.read(), sorted);
    run("compact", {{4}, {64}}, pin, out, count, 200);
    ASSERT_EQ(count.read()[0], kept.size());
    auto all = machine.download<int>(out.address, kept.size());
    EXPECT_EQ(std::multiset<int>(all.begin(), all.end()), kept);
  });
}
