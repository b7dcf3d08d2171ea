// Halves, bfloats and eight-bit floats against the toolkit's host code, over all bit patterns.
#include "tests/unit/simulator/cuda/CudaProgram.h"
#include "tests/unit/simulator/cuda/HostHalf.h"

#include <random>

using namespace tessera::sim;
using namespace tessera::sim::test;

CUDA_PROGRAM(Half);

namespace {

__half halfOf(uint16_t bits) { return __half(__half_raw{bits}); }
__nv_bfloat16 bfloatOf(uint16_t bits) { return __nv_bfloat16(__nv_bfloat16_raw{bits}); }

template <class F> void expected(const uint16_t *words, float f, double x, F line) {
  using namespace host;
  uint16_t p = words[0], q = words[1], r = words[2];
  int i = static_cast<int>(p | uint32_t(q) << 16);
  __half a = halfOf(p), b = halfOf(q), c = halfOf(r);
  __nv_bfloat16 d = bfloatOf(p), e = bfloatOf(q), g = bfloatOf(r);
  __half2 aa(a, b), bb(b, c), cc(c, a);
  __nv_bfloat162 dd(d, e), ee(e, g), gg(g, d);
#define U(name, value) line(#name, host::bits(value));
#include "tests/unit/simulator/cuda/Half.inc"
#undef U
}

/// Distance of two halves or bfloats in units of the last place; 0 of two NaNs.
int distance(uint16_t a, uint16_t b, unsigned infinity) {
  bool nanA = (a & 0x7fff) > infinity, nanB = (b & 0x7fff) > infinity;
  if (nanA || nanB)
    return nanA && nanB ? 0 : 0x10000;
  auto place = [](uint16_t v) { return v & 0x8000 ? -(v & 0x7fff) : v & 0x7fff; };
  return std::abs(place(a) - place(b));
}

} // namespace

TEST_P(Half, ConversionsAndArithmeticGiveTheHostsBits) {
  // Unoptimised code is slow and no different in its instructions: an eighth of the patterns does.
  const uint32_t step = debugBuild() ? 8 : 1, n = 65536 / step;
  std::mt19937_64 random(21);
  std::vector<uint16_t> words(3 * n);
  std::vector<float> floats(n);
  std::vector<double> doubles(n);
  for (uint32_t index = 0; index < n; ++index) {
    uint32_t i = index * step + index / 64 % step;
    // The first word takes every value once; the others are near it, equal to it up to sign, or anything.
    uint64_t r = random();
    words[3 * index] = static_cast<uint16_t>(i);
    words[3 * index + 1] = static_cast<uint16_t>(r % 4 == 0 ? i ^ 0x8000 : r % 4 == 1 ? i + (r >> 8) % 64 : r >> 16);
    words[3 * index + 2] = static_cast<uint16_t>(r % 8 == 2 ? i : r >> 32);
    // The upper half of a float from the same count: every bfloat, with the ties between neighbours among them.
    uint32_t tail = r >> 62 == 0 ? 0x8000 : r >> 62 == 1 ? 0 : static_cast<uint32_t>(r >> 40) & 0xffff;
    floats[index] = std::bit_cast<float>(i << 16 | tail);
    // Ties of halves and of eight-bit floats, and what lies just beside them.
    double near = __half2float(halfOf(static_cast<uint16_t>(i)));
    doubles[index] = std::isfinite(near) ? std::nextafter(near + std::ldexp(1.0, std::ilogb(near == 0 ? 1 : near) - 11),
                                                          r & 1 ? 1e30 : -1e30)
                                         : near;
    if (r >> 61 == 7)
      floats[index] =
          static_cast<float>(near + std::ldexp(1.0, std::ilogb(near == 0 || !std::isfinite(near) ? 1 : near) - 4));
  }
  size_t lines = 0;
  expected(words.data(), 0, 0, [&](const char *, uint64_t) { ++lines; });
  Buffer<uint16_t> in(machine, words);
  Buffer<float> inFloats(machine, floats);
  Buffer<double> inDoubles(machine, doubles);
  Buffer<uint64_t> out(machine, lines * n);
  run("halves", {{n / 256}, {256}}, in, inFloats, inDoubles, out, n);
  auto results = out.read();
  int failures = 0;
  for (uint32_t i = 0; i < n && failures < 20; ++i) {
    const uint64_t *next = &results[i];
    expected(&words[3 * i], floats[i], doubles[i], [&](const char *name, uint64_t value) {
      failures += *next != value;
      EXPECT_EQ(*next, value) << name << std::hex << " of " << words[3 * i] << ' ' << words[3 * i + 1] << ' '
                              << words[3 * i + 2] << std::hexfloat << ", " << floats[i] << ", " << doubles[i];
      next += n;
    });
  }
}

TEST_P(Half, FunctionsAreWithinOneUnitOfTheLastPlace) {
  Buffer<uint16_t> halves(machine, 10 << 16), bfloats(machine, 10 << 16);
  run("functions", {{256}, {256}}, halves, bfloats);
  auto h = halves.read(), b = bfloats.read();
  double (*functions[])(double) = {[](double v) { return std::sqrt(v); },     [](double v) { return 1 / v; },
                                   [](double v) { return 1 / std::sqrt(v); }, [](double v) { return std::exp(v); },
                                   [](double v) { return std::exp2(v); },     [](double v) { return std::log(v); },
                                   [](double v) { return std::log2(v); },     [](double v) { return std::sin(v); },
                                   [](double v) { return std::cos(v); },      [](double v) { return std::tanh(v); }};
  const char *names[] = {"sqrt", "rcp", "rsqrt", "exp", "exp2", "log", "log2", "sin", "cos", "tanh"};
  for (uint32_t k = 0; k < 10; ++k)
    for (uint32_t i = 0; i < 65536; ++i) {
      auto word = static_cast<uint16_t>(i);
      uint16_t exact = __half_raw(__double2half(functions[k](__half2float(halfOf(word))))).x;
      ASSERT_LE(distance(h[k << 16 | i], exact, 0x7c00), 1)
          << names[k] << " of half " << std::hex << i << " gives " << h[k << 16 | i] << ", not " << exact;
      exact = __nv_bfloat16_raw(__double2bfloat16(functions[k](__bfloat162float(bfloatOf(word))))).x;
      ASSERT_LE(distance(b[k << 16 | i], exact, 0x7f80), 1)
          << names[k] << " of bfloat " << std::hex << i << " gives " << b[k << 16 | i] << ", not " << exact;
    }
}
