// Functions, conversions and a tiled product of CUDA C++, judged by the host.
#include "tests/unit/simulator/cuda/CudaProgram.h"

#include <cmath>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <random>

#define FN [[gnu::noinline]] static
#include "tests/unit/simulator/cuda/Functions.inc"
#undef FN

using namespace tessera::sim;
using namespace tessera::sim::test;

CUDA_PROGRAM(Functions);

TEST_P(Functions, GiveTheHostsResults) {
  const int n = 600;
  uint64_t u = machine.upload(std::vector<uint32_t>(3 * n)), l = machine.upload(std::vector<long long>(n)),
           f = machine.upload(std::vector<float>(n)), d = machine.upload(std::vector<double>(2 * n));
  run("functions", {{5, 1, 1}, {128, 1, 1}}, u, l, f, d, n);
  auto us = machine.download<uint32_t>(u, 3 * n);
  auto ls = machine.download<long long>(l, n);
  auto fs = machine.download<float>(f, n);
  auto ds = machine.download<double>(d, 2 * n);
  for (int i = 0; i < n; ++i) {
    EXPECT_EQ(us[3 * i], mixIntegers(i * 77u, i * 1234567u + 99, i & 3)) << i;
    EXPECT_EQ(us[3 * i + 1], fibonacci(i % 11)) << i;
    EXPECT_EQ(int(us[3 * i + 2]), localArrays(i)) << i;
    EXPECT_EQ(ls[i], mixLong(i * 1234567891011ll - 5, ~(long long)i * 987654321ll)) << i;
    EXPECT_EQ(fs[i], floats(i * 0.37f - 20, i * 0.11f)) << i;
    EXPECT_EQ(ds[2 * i], doubles(i * 0.37 - 20, i * 0.11)) << i;
    EXPECT_EQ(ds[2 * i + 1], structs(i)) << i;
  }
}

TEST_P(Functions, ConversionsGiveTheHostsResults) {
  std::mt19937 random(3);
  std::vector<float> in;
  for (int i = 0; i < 20000; ++i) {
    uint32_t b = random();
    if (i % 3 == 0) // near the halves' range
      b = (b & 0x80ffffff) | (random() % 2 ? 0x38000000 : 0x33000000) + (b & 0x0f000000);
    in.push_back(std::bit_cast<float>(b));
  }
  for (uint32_t b : {0u, 0x80000000u, 0x7f800000u, 0xff800000u, 0x7fc00000u, 0x477fefffu, 0x477ff000u, 0x33000000u,
                     0x33000001u, 0x387fe000u, 0x387ff000u, 0x4f000000u, 0xcf000001u})
    in.push_back(std::bit_cast<float>(b));
  auto n = static_cast<uint32_t>(in.size());
  uint64_t pin = machine.upload(in), pout = machine.upload(std::vector<uint32_t>(12 * n));
  run("conversions", {{(n + 255) / 256, 1, 1}, {256, 1, 1}}, pin, pout, n);
  auto out = machine.download<uint32_t>(pout, 12 * n);
  auto half = [](__half h) { return uint32_t(std::bit_cast<uint16_t>(__half_raw(h).x)); };
  auto bfloat = [](__nv_bfloat16 h) { return uint32_t(std::bit_cast<uint16_t>(__nv_bfloat16_raw(h).x)); };
  auto fromHalf = [](uint32_t bits) { return __half(__half_raw{static_cast<unsigned short>(bits)}); };
  for (uint32_t i = 0; i < n; ++i) {
    float x = in[i];
    uint32_t b = std::bit_cast<uint32_t>(x),
             expected[12] = {half(__float2half_rn(x)), half(__float2half_rz(x)),       half(__float2half_ru(x)),
                             half(__float2half_rd(x)), bfloat(__float2bfloat16_rn(x)), bfloat(__float2bfloat16_rz(x))};
    double rounded = std::rint(double(x)), cut = std::trunc(double(x));
    expected[6] = x != x              ? 0
                  : rounded >= 0x1p31 ? 0x7fffffffu
                  : rounded < -0x1p31 ? 0x80000000u
                                      : static_cast<uint32_t>(static_cast<int64_t>(rounded));
    expected[7] = x != x || cut <= 0 ? 0 : cut >= 0x1p32 ? 0xffffffffu : static_cast<uint32_t>(cut);
    float wide = __half2float(fromHalf(b >> 16));
    expected[8] = wide != wide ? 0x7fffffff : std::bit_cast<uint32_t>(wide);
    float low = __half2float(fromHalf(b & 0xffff)), high = __half2float(fromHalf(b >> 16));
    expected[9] = half(__float2half_rn(low + high));
    expected[10] = half(__float2half_rn(low * high));
    expected[11] = bfloat(__float2bfloat16_ru(x));
    for (unsigned k = 0; k < 12; ++k)
      EXPECT_EQ(out[12 * i + k], expected[k]) << "conversion " << k << " of " << std::hex << b;
  }
}

TEST_P(Functions, TiledProductGivesTheHostsResult) {
  const uint32_t n = 64;
  std::vector<float> a(n * n), b(n * n);
  for (uint32_t i = 0; i < n * n; ++i) {
    a[i] = static_cast<float>(i * 7 % 11);
    b[i] = static_cast<float>(i * 5 % 13);
  }
  std::vector<uint32_t> histogram(8);
  std::vector<float> c(n * n);
  float largest = 0;
  for (uint32_t row = 0; row < n; ++row)
    for (uint32_t column = 0; column < n; ++column) {
      float sum = 0;
      for (uint32_t k = 0; k < n; ++k)
        sum += a[row * n + k] * b[k * n + column];
      c[row * n + column] = sum;
      ++histogram[static_cast<uint32_t>(sum) & 7];
      largest = std::max(largest, sum);
    }
  everySchedule(
      [&] {
        Buffer<float> pa(machine, a), pb(machine, b), pc(machine, n * n), largestOut(machine, std::vector<float>(1));
        Buffer<uint32_t> histogramOut(machine, std::vector<uint32_t>(8));
        run("product", {{4, 4, 1}, {16, 16, 1}}, pa, pb, pc, n, histogramOut, largestOut);
        EXPECT_EQ(pc.read(), c);
        EXPECT_EQ(histogramOut.read(), histogram);
        EXPECT_EQ(largestOut.read()[0], largest);
      },
      5);
}

TEST_P(Functions, PrintfFormatsAsTheHostDoes) {
  LaunchReport report = launch("prints", {{2, 1, 1}, {32, 1, 1}}, 7);
  EXPECT_EQ(report.printed, "n is 7, half of it 3.50, done\nn is 7, half of it 3.50, done\n");
}
