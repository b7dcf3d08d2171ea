// Arithmetic of floats and doubles, its rounding directions and conversions, against the host's own.
#include "tests/unit/simulator/cuda/CudaProgram.h"
#include "tests/unit/simulator/cuda/HostFloat.h"

#include <random>

using namespace tessera::sim;
using namespace tessera::sim::test;

CUDA_PROGRAM(Float);

namespace {

struct Line {
  const char *name;
  char kind; ///< 'f', 'd' or 'i'
  uint64_t bits;
};

/// Bits of a result. Every NaN counts as one: payloads are the compilers' own affair.
uint64_t bitsOf(float a) { return std::isnan(a) ? nan32 : std::bit_cast<uint32_t>(a); }
uint64_t bitsOf(double a) { return std::isnan(a) ? 0x7fffffffffffffff : std::bit_cast<uint64_t>(a); }

std::vector<Line> expected(const float *singles, const double *doubles, unsigned long long l) {
  using namespace host;
  using std::isfinite, std::isinf, std::isnan, std::signbit;
  float a = singles[0], b = singles[1], c = singles[2];
  double x = doubles[0], y = doubles[1], z = doubles[2];
  long long m = static_cast<long long>(l);
  auto w = static_cast<uint32_t>(l >> 9);
  auto s = static_cast<int>(w);
  std::vector<Line> all;
#define F(name, value) all.push_back({#name, 'f', bitsOf(float(value))});
#define D(name, value) all.push_back({#name, 'd', bitsOf(double(value))});
#define I(name, value) all.push_back({#name, 'i', (unsigned long long)(value)});
#include "tests/unit/simulator/cuda/Float.inc"
#undef F
#undef D
#undef I
  return all;
}

template <class T, class Bits> T draw(std::mt19937_64 &random, std::initializer_list<double> edges, int exponents) {
  uint64_t r = random(), kind = r >> 60;
  if (kind < 4) {
    auto value = std::bit_cast<T>(static_cast<Bits>(random()));
    return std::isnan(value) ? std::numeric_limits<T>::quiet_NaN() : value; // the host's fmin minds signalling ones
  }
  if (kind < 6)
    return static_cast<T>(edges.begin()[r % edges.size()]);
  double value =
      std::ldexp(static_cast<double>(random()) * 0x1p-64 + 0.5, static_cast<int>(r % 64) % exponents - exponents / 2);
  return static_cast<T>(kind < 11 ? value : -value);
}

} // namespace

TEST_P(Float, ArithmeticAndConversionsGiveTheHostsBits) {
  const int n = 3000;
  std::mt19937_64 random(5);
  const double inf = std::numeric_limits<double>::infinity();
  auto edges = {0.0,
                -0.0,
                1.0,
                -1.0,
                0.5,
                1.5,
                2.5,
                -2.5,
                inf,
                -inf,
                std::nan(""),
                0x1p-126,
                0x1p-149,
                0x1p-1022,
                0x1p-1074,
                0x1.fffffep127,
                0x1.fffffffffffffp1023,
                2147483647.0,
                2147483648.0,
                -2147483649.0,
                4294967295.5,
                0x1p63,
                -0x1p63,
                0x1p64,
                8388608.5};
  std::vector<float> singles(3 * n);
  std::vector<double> doubles(3 * n);
  std::vector<uint64_t> words(n);
  for (float &v : singles)
    v = draw<float, uint32_t>(random, edges, 60);
  for (double &v : doubles)
    v = draw<double, uint64_t>(random, edges, 60);
  for (uint64_t &v : words)
    v = random() >> (random() % 64);
  auto lines = expected(singles.data(), doubles.data(), words[0]);
  auto count = [&](char kind) {
    return static_cast<size_t>(
        std::count_if(lines.begin(), lines.end(), [&](const Line &line) { return line.kind == kind; }));
  };
  Buffer<float> in1(machine, singles), out1(machine, count('f') * n);
  Buffer<double> in2(machine, doubles), out2(machine, count('d') * n);
  Buffer<uint64_t> in3(machine, words), out3(machine, count('i') * n);
  run("floats", {{(n + 127) / 128}, {128}}, in1, in2, in3, out1, out2, out3, n);
  auto f = out1.read();
  auto d = out2.read();
  auto u = out3.read();
  int failures = 0;
  for (size_t i = 0; i < n && failures < 20; ++i) {
    size_t next[3] = {};
    for (const Line &line : expected(&singles[3 * i], &doubles[3 * i], words[i])) {
      uint64_t got = line.kind == 'f'   ? bitsOf(f[next[0]++ * n + i])
                     : line.kind == 'd' ? bitsOf(d[next[1]++ * n + i])
                                        : u[next[2]++ * n + i];
      failures += got != line.bits;
      EXPECT_EQ(got, line.bits) << line.name << std::hexfloat << " of " << singles[3 * i] << ' ' << singles[3 * i + 1]
                                << ' ' << singles[3 * i + 2] << ", " << doubles[3 * i] << ' ' << doubles[3 * i + 1]
                                << ' ' << doubles[3 * i + 2] << ", " << std::hex << words[i];
    }
  }
}
