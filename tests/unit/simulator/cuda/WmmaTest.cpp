// <mma.h> in every type, shape and layout against sums on the host that no order of additions can change.
#include "tests/unit/simulator/cuda/CudaProgram.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <random>

using namespace tessera::sim;
using namespace tessera::sim::test;

CUDA_PROGRAM(Wmma);

namespace {

/// Small integers: their products and sums are exact in every type.
int small(std::mt19937 &random, bool isSigned) { return static_cast<int>(random() % 8) - (isSigned ? 4 : 0); }

/// Elements from one row or column to the next: 16 bytes at least, as the loads demand.
template <class T> size_t leading(size_t extent) { return std::max(extent, 16 / sizeof(T)); }

/// Numbers packed into words, `bits` each, the first in the lowest bits.
std::vector<int> packWords(const std::vector<int> &values, unsigned bits) {
  std::vector<int> words(values.size() * bits / 32);
  for (size_t i = 0; i < values.size(); ++i) {
    auto &word = reinterpret_cast<uint32_t &>(words[i * bits / 32]);
    word |= (static_cast<uint32_t>(values[i]) & ((1u << bits) - 1)) << (i * bits % 32);
  }
  return words;
}

} // namespace

/// Runs `name` of inputs In and results Out in every layout.
#define EVERY_LAYOUT(In, Out, name, M, N, K, isSigned, toIn, toOut, fromOut)                                           \
  {                                                                                                                    \
    std::mt19937 random(M * 100 + N);                                                                                  \
    std::vector<int> a(M * 2 * K), b(2 * K * N), c(M * N);                                                             \
    for (int &v : a)                                                                                                   \
      v = small(random, isSigned);                                                                                     \
    for (int &v : b)                                                                                                   \
      v = small(random, isSigned);                                                                                     \
    for (int &v : c)                                                                                                   \
      v = small(random, true);                                                                                         \
    for (int layouts = 0; layouts < 16; ++layouts) {                                                                   \
      size_t leadA = leading<In>(layouts & 1 ? M : K), leadB = leading<In>(layouts & 2 ? K : N);                       \
      size_t sizeA = leadA * (layouts & 1 ? K : M), sizeB = leadB * (layouts & 2 ? N : K);                             \
      std::vector<In> inA(2 * sizeA), inB(2 * sizeB);                                                                  \
      std::vector<Out> inC(c.size());                                                                                  \
      for (size_t m = 0; m < M; ++m)                                                                                   \
        for (size_t k = 0; k < 2 * K; ++k)                                                                             \
          inA[k / K * sizeA + (layouts & 1 ? k % K * leadA + m : m * leadA + k % K)] = toIn(a[m * 2 * K + k]);         \
      for (size_t k = 0; k < 2 * K; ++k)                                                                               \
        for (size_t n = 0; n < N; ++n)                                                                                 \
          inB[k / K * sizeB + (layouts & 2 ? n * leadB + k % K : k % K * leadB + n)] = toIn(b[k * N + n]);             \
      auto place = [&](size_t m, size_t n) { return layouts & 4 ? m * N + n : n * M + m; };                            \
      for (size_t m = 0; m < M; ++m)                                                                                   \
        for (size_t n = 0; n < N; ++n)                                                                                 \
          inC[place(m, n)] = toOut(c[m * N + n]);                                                                      \
      Buffer<In> pa(machine, inA), pb(machine, inB);                                                                   \
      Buffer<Out> pc(machine, inC), pd(machine, inC.size());                                                           \
      run(name, {{1}, {32}}, pa, pb, pc, pd, layouts);                                                                 \
      auto d = pd.read();                                                                                              \
      for (size_t m = 0; m < M; ++m)                                                                                   \
        for (size_t n = 0; n < N; ++n) {                                                                               \
          int sum = c[m * N + n];                                                                                      \
          for (size_t k = 0; k < 2 * K; ++k)                                                                           \
            sum += a[m * 2 * K + k] * b[k * N + n];                                                                    \
          ASSERT_EQ(fromOut(d[place(m, n)]), layouts & 8 ? -sum : sum)                                                 \
              << name << " layouts " << layouts << " at " << m << ", " << n;                                           \
        }                                                                                                              \
    }                                                                                                                  \
  }
#define EVERY_SHAPE(In, Out, name, isSigned, toIn, toOut, fromOut)                                                     \
  EVERY_LAYOUT(In, Out, name "_16x16x16", 16, 16, 16, isSigned, toIn, toOut, fromOut)                                  \
  EVERY_LAYOUT(In, Out, name "_32x8x16", 32, 8, 16, isSigned, toIn, toOut, fromOut)                                    \
  EVERY_LAYOUT(In, Out, name "_8x32x16", 8, 32, 16, isSigned, toIn, toOut, fromOut)

namespace {
template <class T> T to(int v) { return static_cast<T>(v); }
template <class T> int from(T v) { return static_cast<int>(v); }
uint16_t toHalf(int v) { return __half_raw(__float2half(static_cast<float>(v))).x; }
int fromHalf(uint16_t v) { return static_cast<int>(__half2float(__half(__half_raw{v}))); }
uint16_t toBfloat(int v) { return __nv_bfloat16_raw(__float2bfloat16(static_cast<float>(v))).x; }
} // namespace

TEST_P(Wmma,
       HalvesInEveryShapeAndLayout){EVERY_SHAPE(uint16_t, float, "half_float", true, toHalf, to<float>, from<float>)
                                        EVERY_SHAPE(uint16_t, uint16_t, "half_half", true, toHalf, toHalf, fromHalf)}

TEST_P(Wmma, BfloatsInEveryShapeAndLayout){
    EVERY_SHAPE(uint16_t, float, "bfloat_float", true, toBfloat, to<float>, from<float>)}

TEST_P(Wmma,
       BytesInEveryShapeAndLayout){EVERY_SHAPE(int8_t, int, "s8_int", true, to<int8_t>, to<int>, from<int>)
                                       EVERY_SHAPE(uint8_t, int, "u8_int", false, to<uint8_t>, to<int>, from<int>)}

TEST_P(Wmma, Tf32AndDoublesInEveryLayout){
    EVERY_LAYOUT(float, float, "tf32_float_16x16x8", 16, 16, 8, true, to<float>, to<float>, from<float>)
        EVERY_LAYOUT(double, double, "double_double_8x8x4", 8, 8, 4, true, to<double>, to<double>, from<double>)}

TEST_P(Wmma, FormatsBelowAByte) {
  std::mt19937 random(12);
  std::vector<int> c(64);
  for (int &v : c)
    v = small(random, true);
  auto check = [&](const char *name, size_t K, unsigned bits, auto multiply) {
    std::vector<int> a(8 * K), b(8 * K);
    for (int &v : a)
      v = static_cast<int>(random() % (1u << bits)) - (name[0] == 's' ? 8 : 0);
    for (int &v : b)
      v = static_cast<int>(random() % (1u << bits)) - (name[0] == 's' ? 8 : 0);
    Buffer<int> pa(machine, packWords(a, bits)), pb(machine, packWords(b, bits)), pc(machine, c), pd(machine, 64);
    run(name, {{1}, {32}}, pa, pb, pc, pd);
    auto d = pd.read();
    for (size_t m = 0; m < 8; ++m)
      for (size_t n = 0; n < 8; ++n) {
        int sum = c[m * 8 + n];
        for (size_t k = 0; k < K; ++k)
          sum += multiply(a[m * K + k], b[n * K + k]);
        EXPECT_EQ(d[m * 8 + n], sum) << name << " at " << m << ", " << n;
      }
  };
  check("s4", 32, 4, [](int x, int y) { return x * y; });
  check("u4", 32, 4, [](int x, int y) { return x * y; });
  check("b1_xor", 128, 1, [](int x, int y) { return x ^ y; });
  check("b1_and", 128, 1, [](int x, int y) { return x & y; });
}
