// Matrix products in CUDA C++ against sums in double, within what the roundings of the accumulator allow.
#include "tests/unit/simulator/cuda/CudaProgram.h"

#include <cmath>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <random>

using namespace tessera::sim;
using namespace tessera::sim::test;

CUDA_PROGRAM(Gemm);
CUDA_PROGRAM(GemmAda); // what needs sm_89

namespace {

/// A matrix of numbers that its element type holds exactly.
struct Matrix {
  size_t rows, columns;
  std::vector<double> values;
  double at(size_t row, size_t column) const { return values[row * columns + column]; }
};

template <class Round> Matrix randomMatrix(size_t rows, size_t columns, unsigned seed, Round round) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Matrix m{rows, columns, std::vector<double>(rows * columns)};
  for (double &v : m.values)
    v = round(normal(random));
  return m;
}

template <class T, class Bits> std::vector<T> stored(const Matrix &m, Bits bits) {
  std::vector<T> out(m.values.size());
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = bits(static_cast<float>(m.values[i]));
  return out;
}

uint16_t halfBits(float v) { return __half_raw(__float2half(v)).x; }
float roundHalf(float v) { return __half2float(__float2half(v)); }

/// Compares C with A B (or A B^T), entry by entry. Each of `roundings` additions errs by `unit` of what has been added
/// up, which is at most the sum of magnitudes.
void expectProduct(const std::vector<float> &c, const Matrix &a, const Matrix &b, bool transposed, double roundings,
                   double unit) {
  size_t n = transposed ? b.rows : b.columns;
  int failures = 0;
  for (size_t row = 0; row < a.rows; ++row)
    for (size_t column = 0; column < n && failures < 5; ++column) {
      double sum = 0, magnitude = 0;
      for (size_t k = 0; k < a.columns; ++k) {
        double product = a.at(row, k) * (transposed ? b.at(column, k) : b.at(k, column));
        sum += product;
        magnitude += std::fabs(product);
      }
      bool near = std::fabs(c[row * n + column] - sum) <= roundings * unit * magnitude;
      failures += !near;
      EXPECT_TRUE(near) << "at " << row << ", " << column << ": " << c[row * n + column] << ", not " << sum
                        << "; the bound is " << roundings * unit * magnitude;
    }
}

constexpr MmaMode modes[] = {MmaMode::Hardware, MmaMode::Exact, MmaMode::Stress};

} // namespace

TEST_P(Gemm, FragmentsFromGlobalMemoryInEveryMode) {
  const size_t m = 32, n = 24, k = 128;
  auto direct = [&](const char *kernel, auto round, auto bits, size_t perWord, double unit) {
    Matrix a = randomMatrix(m, k, 1, round), b = randomMatrix(n, k, 2, round);
    auto bitsA = stored<decltype(bits(0.0f))>(a, bits), bitsB = stored<decltype(bits(0.0f))>(b, bits);
    Buffer<decltype(bits(0.0f))> pa(machine, bitsA), pb(machine, bitsB);
    for (MmaMode mode : modes) {
      SCOPED_TRACE(std::string(kernel) + " in mode " + std::to_string(static_cast<int>(mode)));
      machine.options.mma = mode;
      Buffer<float> c(machine, m * n);
      run(kernel, {{n / 8, m / 16}, {32}}, pa, pb, c, static_cast<int>(n), static_cast<int>(k / perWord));
      // In an instruction each product and the accumulator lose a unit when they are aligned; the sum is cut once more.
      expectProduct(c.read(), a, b, true, static_cast<double>(k) + 2.0 * static_cast<double>(k) / 4, unit);
    }
  };
  direct("directHalf", roundHalf, halfBits, 2, 0x1p-23);
  direct(
      "directBfloat", [](float v) { return __bfloat162float(__float2bfloat16(v)); },
      [](float v) { return __nv_bfloat16_raw(__float2bfloat16(v)).x; }, 2, 0x1p-23);
  direct(
      "directTf32", [](float v) { return std::bit_cast<float>(std::bit_cast<uint32_t>(v) & ~0x1fffu); },
      [](float v) { return v; }, 1, 0x1p-23);
}

TEST_P(GemmAda, EightBitFloatsMultiply) {
  const size_t m = 32, n = 24, k = 256;
  auto rounding = [](__nv_fp8_interpretation_t kind) {
    return [kind](float v) {
      return __half2float(__half(__nv_cvt_fp8_to_halfraw(__nv_cvt_float_to_fp8(v, __NV_SATFINITE, kind), kind)));
    };
  };
  auto bits = [](__nv_fp8_interpretation_t kind) {
    return [kind](float v) { return __nv_cvt_float_to_fp8(v, __NV_SATFINITE, kind); };
  };
  for (auto [kernel, kindA] : {std::pair("directE4m3", __NV_E4M3), std::pair("directE5m2", __NV_E5M2)}) {
    Matrix a = randomMatrix(m, k, 3, rounding(kindA)), b = randomMatrix(n, k, 4, rounding(__NV_E4M3));
    Buffer<uint8_t> pa(machine, stored<uint8_t>(a, bits(kindA))), pb(machine, stored<uint8_t>(b, bits(__NV_E4M3)));
    for (MmaMode mode : modes) {
      SCOPED_TRACE(std::string(kernel) + " in mode " + std::to_string(static_cast<int>(mode)));
      machine.options.mma = mode;
      Buffer<float> c(machine, m * n);
      run(kernel, {{n / 8, m / 16}, {32}}, pa, pb, c, static_cast<int>(n), static_cast<int>(k / 4));
      // Ada keeps 13 bits of a sum of 16 products.
      expectProduct(c.read(), a, b, true, static_cast<double>(k) + 2.0 * static_cast<double>(k) / 16,
                    mode == MmaMode::Exact ? 0x1p-23 : 0x1p-13);
    }
  }
}

TEST_P(Gemm, PipelineOfAsynchronousCopiesWithRaggedEdges) {
  struct Case {
    size_t m, n, k;
  };
  for (auto [m, n, k] : {Case{100, 72, 88}, Case{64, 64, 256}, Case{17, 136, 8}}) {
    Matrix a = randomMatrix(m, k, 5, roundHalf), b = randomMatrix(k, n, 6, roundHalf);
    Buffer<uint16_t> pa(machine, stored<uint16_t>(a, halfBits)), pb(machine, stored<uint16_t>(b, halfBits));
    for (uint32_t stages = 2; stages <= 4; ++stages) {
      std::string kernel = "pipelined" + std::to_string(stages);
      everySchedule(
          [&] {
            Buffer<float> c(machine, m * n);
            run(kernel,
                {{static_cast<uint32_t>(n + 63) / 64, static_cast<uint32_t>(m + 63) / 64},
                 {128},
                 stages * 2 * (64 * 32 + 32 * 64)},
                pa, pb, c, static_cast<int>(m), static_cast<int>(n), static_cast<int>(k));
            expectProduct(c.read(), a, b, false, static_cast<double>(k), 0x1p-23);
          },
          3);
    }
  }
}

TEST_P(Gemm, PartsAlongKAddUpAtomically) {
  const size_t m = 32, n = 16, k = 128;
  Matrix a = randomMatrix(m, k, 7, roundHalf), b = randomMatrix(n, k, 8, roundHalf);
  Buffer<uint16_t> pa(machine, stored<uint16_t>(a, halfBits)), pb(machine, stored<uint16_t>(b, halfBits));
  everySchedule([&] {
    Buffer<float> c(machine, std::vector<float>(m * n));
    run("splitK", {{n / 8, m / 16, 4}, {32}}, pa, pb, c, static_cast<int>(n), static_cast<int>(k / 2));
    expectProduct(c.read(), a, b, true, static_cast<double>(k), 0x1p-23);
  });
}
