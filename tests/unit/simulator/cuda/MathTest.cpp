// The mathematical library of CUDA C++, which is PTX alone, against the host's in twice the precision.
#include "tests/unit/simulator/cuda/CudaProgram.h"

#include <cmath>
#include <random>

using namespace tessera::sim;
using namespace tessera::sim::test;

CUDA_PROGRAM(Math);
CUDA_PROGRAM(MathFast); // also with --use_fast_math

namespace {

template <class T> struct Function {
  const char *name;
  T value;
  double ulps;
};

std::vector<Function<double>> singles(double x, double y) {
  std::vector<Function<double>> all;
#define S(name, value, ulp) all.push_back({#name, value, ulp});
#define D(name, value, ulp)
#include "tests/unit/simulator/cuda/Math.inc"
#undef S
#undef D
  return all;
}

std::vector<Function<long double>> doubles(long double x, long double y) {
  using std::exp, std::exp2, std::expm1, std::log, std::log2, std::log1p, std::sin, std::cos, std::tan, std::asin,
      std::acos, std::atan, std::atan2, std::sinh, std::tanh, std::asinh, std::atanh, std::pow, std::cbrt, std::hypot,
      std::erf, std::erfc, std::tgamma, std::lgamma, std::fabs;
  std::vector<Function<long double>> all;
#define S(name, value, ulp)
#define D(name, value, ulp) all.push_back({#name, value, ulp});
#include "tests/unit/simulator/cuda/Math.inc"
#undef S
#undef D
  return all;
}

/// Position of a number among all of its type, so that neighbours differ by one; infinity follows the largest.
template <class T> int64_t ordinal(T value) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  auto magnitude = static_cast<int64_t>(std::bit_cast<Bits>(std::fabs(value)));
  return std::signbit(value) ? -magnitude : magnitude;
}

/// The guide's measure: units of the last place between a result and the correctly rounded one.
template <class T, class Wide> double errorInUlps(T got, Wide exact) {
  auto rounded = static_cast<T>(exact);
  if (std::isnan(rounded) || std::isnan(got))
    return std::isnan(rounded) && std::isnan(got) ? 0 : HUGE_VAL;
  return std::fabs(static_cast<double>(static_cast<__int128>(ordinal(got)) - ordinal(rounded)));
}

/// Values of every magnitude, most of them where the functions bend, and the ends of the number line.
template <class T> std::vector<T> arguments(size_t n, unsigned seed) {
  std::mt19937_64 random(seed);
  const T edges[] = {T(0),
                     -T(0),
                     T(1),
                     -T(1),
                     T(0.5),
                     T(2),
                     T(INFINITY),
                     -T(INFINITY),
                     T(NAN),
                     std::numeric_limits<T>::max(),
                     std::numeric_limits<T>::min(),
                     std::numeric_limits<T>::denorm_min(),
                     T(88.7),
                     T(-103.9),
                     T(709.7),
                     T(1e5),
                     T(-0.75),
                     T(3.5),
                     T(-2.5)};
  std::vector<T> values(edges, edges + std::size(edges));
  const int range = std::numeric_limits<T>::max_exponent - 1;
  while (values.size() < n) {
    uint64_t r = random();
    T fraction = T(0.5) + T(r >> 40) * T(0x1p-25);
    int exponent = r % 4 ? static_cast<int>(r / 4 % 16) - 8 : static_cast<int>(r / 4 % (2 * range)) - range;
    values.push_back(std::ldexp(r & 0x80000000 ? -fraction : fraction, exponent));
  }
  std::shuffle(values.begin(), values.end(), random);
  return values;
}

template <class T, class F>
void judge(const std::vector<T> &xs, const std::vector<T> &ys, const std::vector<T> &results, F functions) {
  size_t n = xs.size(), count = functions(T(1), T(1)).size();
  std::vector<double> worst(count);
  for (size_t i = 0; i < n; ++i) {
    auto all = functions(xs[i], ys[i]);
    for (size_t k = 0; k < count; ++k) {
      double error = errorInUlps(results[k * n + i], all[k].value);
      if (error <= worst[k])
        continue;
      worst[k] = error;
      EXPECT_LE(error, all[k].ulps) << all[k].name << " of " << std::hexfloat << xs[i] << " and " << ys[i] << " gives "
                                    << results[k * n + i] << ", not " << all[k].value << std::defaultfloat << " ("
                                    << xs[i] << ", " << ys[i] << ')';
    }
  }
}

} // namespace

TEST_P(Math, SinglesAreWithinTheBoundsOfTheGuide) {
  const int n = 4096;
  auto xs = arguments<float>(n, 1), ys = arguments<float>(n, 2);
  Buffer<float> px(machine, xs), py(machine, ys), out(machine, singles(1, 1).size() * n);
  run("singles", {{n / 128}, {128}}, px, py, out, n);
  judge(xs, ys, out.read(), [](double x, double y) { return singles(x, y); });
}

TEST_P(Math, DoublesAreWithinTheBoundsOfTheGuide) {
  const int n = 4096;
  auto xs = arguments<double>(n, 3), ys = arguments<double>(n, 4);
  Buffer<double> px(machine, xs), py(machine, ys), out(machine, doubles(1, 1).size() * n);
  run("doubles", {{n / 128}, {128}}, px, py, out, n);
  judge(xs, ys, out.read(), [](long double x, long double y) { return doubles(x, y); });
}

TEST_P(MathFast, FastFunctionsAreWithinTheirBounds) {
  const int n = 4096;
  std::mt19937 random(9);
  std::vector<float> xs(n), ys(n);
  std::uniform_real_distribution<float> angle(-3.14159f, 3.14159f), exponent(-20, 20);
  for (float &x : xs)
    x = angle(random);
  for (float &y : ys)
    y = std::exp2(exponent(random));
  // The guide's bounds are what a GPU was seen to do; PTX allows the instructions, and the stress mode takes, two units
  // more.
  auto check = [&](MmaMode mode, double extra) {
    machine.options.mma = mode;
    Buffer<float> px(machine, xs), py(machine, ys), out(machine, 9 * n);
    run("fast", {{n / 128}, {128}}, px, py, out, n);
    auto results = out.read();
    for (size_t i = 0; i < n; ++i) {
      double x = xs[i], y = ys[i];
      auto near = [&](size_t k, double exact, double relative, double absolute) {
        EXPECT_NEAR(results[k * n + i], exact, std::fabs(exact) * relative + absolute)
            << "function " << k << " of " << x << ", " << y;
      };
      // The guide: 2 + floor(1.173 |x|) ulp for __expf; exp2f(y log2f(x)) for __powf; sine and cosine 2^-21, of which
      // the stress mode takes PTX's 2^-20.5.
      const double angular = extra > 0 ? 0.71 * 0x1p-20 : 0x1p-21;
      near(0, std::exp(x), 0x1p-23 * (2 + extra + std::floor(1.173 * std::fabs(x))), 0);
      near(1, std::log(y), 0x1p-23 * 3, 0x1p-21);
      near(2, std::log2(y), 0x1p-23 * 2, 0x1p-21);
      near(3, std::sin(x), 0, angular);
      near(4, std::cos(x), 0, angular);
      near(5, std::pow(y, x), 0x1p-21 * (1 + extra + std::fabs(x * std::log2(y))), 0);
      near(6, x / y, 0x1p-22, 0);
      near(7, 1 / std::sqrt(y), 0x1p-22, 0);
      near(8, std::pow(10.0, x), 0x1p-23 * (2 + extra + std::floor(2.97 * std::fabs(x))), 0);
    }
  };
  check(MmaMode::Exact, 0);
  check(MmaMode::Stress, 2);
}
