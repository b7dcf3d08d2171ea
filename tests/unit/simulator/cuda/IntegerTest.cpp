// Integer intrinsics of CUDA C++ against the host's own.
#include "tests/unit/simulator/cuda/CudaProgram.h"
#include "tests/unit/simulator/cuda/HostIntrinsics.h"

#include <random>

using namespace tessera::sim;
using namespace tessera::sim::test;

CUDA_PROGRAM(Integer);

namespace {

struct Inputs {
  std::vector<uint32_t> words; ///< three a case
  std::vector<uint64_t> longs; ///< two a case
};

/// Random words, half of them built of few set bits and extremes, where integer code has its edges.
Inputs inputs(int n) {
  std::mt19937_64 random(11);
  const uint64_t edges[] = {0,
                            1,
                            2,
                            31,
                            32,
                            63,
                            64,
                            127,
                            128,
                            255,
                            0x7fff,
                            0x8000,
                            0xffff,
                            0x7fffffff,
                            0x80000000,
                            0xffffffff,
                            0x80808080,
                            0x7f7f7f7f,
                            0x8000000000000000,
                            0x7fffffffffffffff,
                            ~uint64_t(0)};
  auto draw = [&] {
    uint64_t r = random(), kind = r >> 60;
    return kind < 6
               ? random()
               : kind<10 ? edges[r % std::size(edges)] : kind<13 ? random() & random() & random() : random()>>(r % 64);
  };
  Inputs all;
  for (int i = 0; i < 3 * n; ++i)
    all.words.push_back(static_cast<uint32_t>(draw()));
  for (int i = 0; i < 2 * n; ++i)
    all.longs.push_back(draw());
  return all;
}

std::vector<std::pair<const char *, uint64_t>> expected(uint32_t a, uint32_t b, uint32_t c, unsigned long long p,
                                                        unsigned long long q) {
  using namespace host;
  int s = static_cast<int>(a), t = static_cast<int>(b), u = static_cast<int>(c);
  long long x = static_cast<long long>(p), y = static_cast<long long>(q);
  std::vector<std::pair<const char *, uint64_t>> all;
#define OP(name, value) all.emplace_back(#name, (unsigned long long)(value));
#include "tests/unit/simulator/cuda/Integer.inc"
#undef OP
  return all;
}

} // namespace

TEST_P(Integer, IntrinsicsGiveTheHostsResults) {
  const int n = 2000;
  Inputs in = inputs(n);
  auto lines = expected(0, 0, 0, 0, 0).size();
  Buffer<uint32_t> words(machine, in.words);
  Buffer<uint64_t> longs(machine, in.longs), out(machine, lines * n);
  run("integers", {{(n + 127) / 128}, {128}}, words, longs, out, n);
  auto results = out.read();
  for (unsigned i = 0; i < n; ++i) {
    const uint32_t *w = &in.words[3 * i];
    const uint64_t *l = &in.longs[2 * i];
    auto all = expected(w[0], w[1], w[2], l[0], l[1]);
    for (size_t line = 0; line < lines; ++line)
      EXPECT_EQ(results[line * n + i], all[line].second)
          << all[line].first << std::hex << " of " << w[0] << ' ' << w[1] << ' ' << w[2] << ' ' << l[0] << ' ' << l[1];
    if (HasFailure())
      return;
  }
}

TEST_P(Integer, SaturationAndCarriesGiveTheHostsResults) {
  const int n = 2000;
  Inputs in = inputs(n);
  Buffer<uint32_t> words(machine, in.words);
  Buffer<int32_t> out(machine, 4 * n);
  run("saturating", {{(n + 127) / 128}, {128}}, words, out, n);
  auto results = out.read();
  for (unsigned i = 0; i < n; ++i) {
    uint32_t a = in.words[3 * i], b = in.words[3 * i + 1], c = in.words[3 * i + 2];
    auto s = static_cast<int32_t>(a), t = static_cast<int32_t>(b), u = static_cast<int32_t>(c);
    EXPECT_EQ(results[4 * i], host::saturate<int32_t>(int64_t(s) + t));
    EXPECT_EQ(results[4 * i + 1], host::saturate<int32_t>(int64_t(s) - t));
    EXPECT_EQ(results[4 * i + 2], host::saturate<int32_t>((int64_t(s) * t >> 32) + u));
    // a + b carries into b + c, whose carry goes into the sum of both.
    uint64_t low = uint64_t(a) + b, high = uint64_t(b) + c + (low >> 32);
    EXPECT_EQ(static_cast<uint32_t>(results[4 * i + 3]), static_cast<uint32_t>(low + uint32_t(high) + (high >> 32)));
  }
}
