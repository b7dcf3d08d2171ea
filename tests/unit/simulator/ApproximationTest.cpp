// Approximate instructions: correctly rounded by default, anywhere within the manual's bound in stress mode.
#include "tests/unit/simulator/Harness.h"
#include "tests/unit/simulator/Rounding.h"

#include <fmt/format.h>
#include <functional>

using namespace tessera::sim;
using namespace tessera::sim::test;

namespace {

constexpr long double pi = 3.14159265358979323846264338327950288L;

long double unit(long double x) { return scalbnl(1, std::max(ilogbl(x), -126) - 23); }

struct Function {
  const char *text; ///< with %d, %a and, of two sources, %b
  std::function<long double(long double, long double)> exact;
  std::function<long double(long double x, long double result)> bound; ///< largest absolute error
  long double from, to;                                                ///< of |x|, spread over the exponents
  bool negative;
};

long double fabs2(long double x) { return fabsl(x); }

const std::vector<Function> &functions() {
  static const std::vector<Function> all = {
      {"ex2.approx.f32", [](auto x, auto) { return exp2l(x); }, [](auto, auto r) { return 2 * unit(r); }, 0x1p-20L, 125,
       true},
      {"ex2.approx.ftz.f32", [](auto x, auto) { return exp2l(x); }, [](auto, auto r) { return 2 * unit(r); }, 0x1p-20L,
       125, true},
      {"lg2.approx.f32", [](auto x, auto) { return log2l(x); },
       [](auto x, auto r) { return x > 0.5L && x < 2 ? 0x1p-22L : 0x1p-22L * fabs2(r); }, 0x1p-120L, 0x1p120L, false},
      {"lg2.approx.ftz.f32", [](auto x, auto) { return log2l(x); },
       [](auto x, auto r) { return x > 0.5L && x < 2 ? 0x1p-22L : 0x1p-22L * fabs2(r); }, 0.25L, 4, false},
      {"rcp.approx.f32", [](auto x, auto) { return 1 / x; }, [](auto, auto r) { return unit(r); }, 0x1p-120L, 0x1p120L,
       true},
      {"rcp.approx.ftz.f32", [](auto x, auto) { return 1 / x; }, [](auto, auto r) { return unit(r); }, 0x1p-120L,
       0x1p120L, true},
      {"rsqrt.approx.f32", [](auto x, auto) { return 1 / sqrtl(x); },
       [](auto, auto r) { return exp2l(-22.9L) * fabs2(r); }, 0x1p-120L, 0x1p120L, false},
      {"rsqrt.approx.ftz.f32", [](auto x, auto) { return 1 / sqrtl(x); },
       [](auto, auto r) { return exp2l(-22.9L) * fabs2(r); }, 0x1p-120L, 0x1p120L, false},
      {"sqrt.approx.f32", [](auto x, auto) { return sqrtl(x); }, [](auto, auto r) { return 0x1p-23L * fabs2(r); },
       0x1p-120L, 0x1p120L, false},
      {"sqrt.approx.ftz.f32", [](auto x, auto) { return sqrtl(x); }, [](auto, auto r) { return 0x1p-23L * fabs2(r); },
       0x1p-120L, 0x1p120L, false},
      {"sin.approx.f32", [](auto x, auto) { return sinl(x); },
       [](auto x, auto) { return exp2l(fabs2(x) <= 2 * pi ? -20.5L : -14.7L); }, 0x1p-8L, 300, true},
      {"cos.approx.ftz.f32", [](auto x, auto) { return cosl(x); },
       [](auto x, auto) { return exp2l(fabs2(x) <= 2 * pi ? -20.5L : -14.7L); }, 0x1p-8L, 300, true},
      {"tanh.approx.f32", [](auto x, auto) { return tanhl(x); }, [](auto, auto r) { return 0x1p-11L * fabs2(r); },
       0x1p-20L, 8, true},
      {"div.approx.f32", [](auto x, auto y) { return x / y; }, [](auto, auto r) { return 2 * unit(r); }, 0x1p-60L,
       0x1p60L, true},
      {"div.approx.ftz.f32", [](auto x, auto y) { return x / y; }, [](auto, auto r) { return 2 * unit(r); }, 0x1p-60L,
       0x1p60L, true},
      {"div.full.f32", [](auto x, auto y) { return x / y; }, [](auto, auto r) { return 2 * unit(r); }, 0x1p-60L,
       0x1p60L, true},
      {"div.full.ftz.f32", [](auto x, auto y) { return x / y; }, [](auto, auto r) { return 2 * unit(r); }, 0x1p-60L,
       0x1p60L, true},
  };
  return all;
}

/// Singles with random mantissas, exponents spread evenly over the range.
std::vector<std::vector<uint64_t>> samples(const Function &f, size_t count, bool two) {
  std::vector<std::vector<uint64_t>> all;
  uint64_t state = 42;
  auto draw = [&] {
    state = state * 6364136223846793005 + 1442695040888963407;
    return static_cast<long double>(state >> 11) * 0x1p-53L;
  };
  auto one = [&] {
    auto x = static_cast<float>(exp2l(log2l(f.from) + draw() * (log2l(f.to) - log2l(f.from))));
    return f32(f.negative && draw() < 0.5L ? -x : x);
  };
  while (all.size() < count) {
    std::vector<uint64_t> in{one()};
    if (two)
      in.push_back(one());
    all.push_back(in);
  }
  return all;
}

float single(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }
bool isDivision(const Function &f) { return f.text[0] == 'd'; }
std::string textOf(const Function &f) { return std::string(f.text) + (isDivision(f) ? " %d, %a, %b;" : " %d, %a;"); }

} // namespace

TEST(SimulatorApproximation, SinglesAreCorrectlyRounded) {
  for (const Function &f : functions()) {
    auto in = samples(f, 4000, isDivision(f));
    auto results = evaluate(textOf(f), isDivision(f) ? "4:44" : "4:4", in);
    for (size_t i = 0; i < in.size(); ++i) {
      long double exact = f.exact(single(in[i][0]), isDivision(f) ? single(in[i][1]) : 0);
      ASSERT_EQ(results[i][0], singleBits(roundTo(gridSingle, exact, "rn"))) << f.text << " of " << single(in[i][0]);
    }
  }
}

TEST(SimulatorApproximation, AllHalvesAreCorrectlyRounded) {
  struct {
    const char *name, *target;
    bool exponential, bfloat;
  } const forms[] = {{"ex2.approx.f16", "sm_80", true, false},
                     {"ex2.approx.ftz.bf16", "sm_90", true, true},
                     {"tanh.approx.f16", "sm_80", false, false},
                     {"tanh.approx.bf16", "sm_90", false, true}};
  for (const auto &form : forms) {
    std::vector<Case> cases, pairs;
    for (uint32_t h = 0; h < 0x10000; h += 3) {
      auto bits = static_cast<uint16_t>(h);
      bool flushes = form.exponential && form.bfloat;
      if (flushes && !(bits & 0x7f80))
        bits &= 0x8000;
      long double x = form.bfloat ? widenBfloat(bits) : widenHalf(bits), y = form.exponential ? exp2l(x) : tanhl(x);
      y = roundTo(form.bfloat ? gridBfloat : gridHalf, y, "rn");
      uint64_t expected = form.bfloat ? bfloatBits(y) : halfBits(y);
      if (flushes && !(expected & 0x7f80))
        expected &= 0x8000;
      cases.push_back({{h}, expected});
    }
    for (size_t i = 0; i + 1 < cases.size(); i += 2)
      pairs.push_back(
          {{cases[i].sources[0] | cases[i + 1].sources[0] << 16}, cases[i].expected | cases[i + 1].expected << 16});
    expectResults(fmt::format("{} %d, %a;", form.name), "2:2", cases, form.target);
    expectResults(fmt::format("{}x2 %d, %a;", form.name), "4:4", pairs, form.target);
  }
}

TEST(SimulatorApproximation, SpecialValuesAreThoseOfTheManual) {
  constexpr uint64_t zero = 0, negativeZero = 0x80000000, inf = inf32, negativeInf = 0xff800000, nan = 0x7fc00000,
                     tiny = 1, one = 0x3f800000, minusOne = 0xbf800000;
  expectResults(
      "ex2.approx.f32 %d, %a;", "4:4",
      {{{negativeInf}, 0}, {{negativeZero}, one}, {{zero}, one}, {{inf}, inf}, {{nan}, nan32}, {{tiny}, one}});
  expectResults("lg2.approx.f32 %d, %a;", "4:4",
                {{{negativeInf}, nan32},
                 {{minusOne}, nan32},
                 {{negativeZero}, negativeInf},
                 {{zero}, negativeInf},
                 {{inf}, inf},
                 {{nan}, nan32},
                 {{one}, 0}});
  expectResults("lg2.approx.ftz.f32 %d, %a;", "4:4", {{{tiny}, negativeInf}, {{tiny | 0x80000000}, negativeInf}});
  expectResults("rcp.approx.f32 %d, %a;", "4:4",
                {{{negativeInf}, negativeZero},
                 {{inf}, zero},
                 {{zero}, inf},
                 {{negativeZero}, negativeInf},
                 {{nan}, nan32},
                 {{f32(0x1p127f)}, f32(0x1p-127f)}});
  expectResults("rcp.approx.ftz.f32 %d, %a;", "4:4", {{{tiny}, inf}, {{f32(-0x1p127f)}, negativeZero}});
  expectResults("rsqrt.approx.f32 %d, %a;", "4:4",
                {{{negativeInf}, nan32},
                 {{minusOne}, nan32},
                 {{negativeZero}, negativeInf},
                 {{zero}, inf},
                 {{inf}, zero},
                 {{nan}, nan32}});
  expectResults("rsqrt.approx.ftz.f32 %d, %a;", "4:4", {{{tiny}, inf}, {{tiny | 0x80000000}, negativeInf}});
  expectResults("sqrt.approx.f32 %d, %a;", "4:4",
                {{{negativeInf}, nan32},
                 {{minusOne}, nan32},
                 {{negativeZero}, negativeZero},
                 {{zero}, zero},
                 {{inf}, inf},
                 {{nan}, nan32}});
  expectResults("sqrt.approx.ftz.f32 %d, %a;", "4:4", {{{tiny}, zero}, {{tiny | 0x80000000}, negativeZero}});
  for (const char *op : {"sin", "cos"})
    expectResults(std::string(op) + ".approx.f32 %d, %a;", "4:4",
                  {{{inf}, nan32},
                   {{negativeInf}, nan32},
                   {{nan}, nan32},
                   {{zero}, op[0] == 's' ? zero : one},
                   {{negativeZero}, op[0] == 's' ? negativeZero : one}});
  expectResults("sin.approx.ftz.f32 %d, %a;", "4:4", {{{tiny}, zero}, {{tiny | 0x80000000}, negativeZero}});
  expectResults("tanh.approx.f32 %d, %a;", "4:4",
                {{{inf}, one},
                 {{negativeInf}, minusOne},
                 {{negativeZero}, negativeZero},
                 {{zero}, zero},
                 {{tiny}, tiny},
                 {{nan}, nan32}});
  expectResults("div.approx.f32 %d, %a, %b;", "4:44",
                {{{one, zero}, inf},
                 {{zero, zero}, nan32},
                 {{inf, inf}, nan32},
                 {{one, f32(0x1.8p126f)}, 0},
                 {{minusOne, f32(0x1.8p126f)}, negativeZero},
                 {{inf, f32(0x1.8p126f)}, nan32}});
  expectResults("ex2.approx.f16 %d, %a;", "2:2",
                {{{0xfc00}, 0}, {{0}, 0x3c00}, {{0x8000}, 0x3c00}, {{0x7c00}, 0x7c00}, {{0x7e00}, 0x7fff}});
  expectResults("tanh.approx.f16 %d, %a;", "2:2",
                {{{0x7c00}, 0x3c00}, {{0xfc00}, 0xbc00}, {{0x8000}, 0x8000}, {{1}, 1}});
  expectResults("rcp.approx.ftz.f64 %d, %a;", "8:8",
                {{{0}, 0x7ff0ull << 48},
                 {{1}, 0x7ff0ull << 48},
                 {{0xfff0ull << 48}, 1ull << 63},
                 {{f64(3.0)}, 0x3fd5555500000000}});
  expectResults("rsqrt.approx.f64 %d, %a;", "8:8",
                {{{0}, 0x7ff0ull << 48}, {{1ull << 63}, 0xfff0ull << 48}, {{f64(2.0)}, 0x3fe6a09e00000000}});
  expectResults("rsqrt.approx.ftz.f64 %d, %a;", "8:8", {{{1}, 0x7ff0ull << 48}, {{f64(0.25)}, f64(2.0)}});
}

TEST(SimulatorApproximation, StressStaysWithinTheBoundsAndUsesThem) {
  for (const Function &f : functions()) {
    size_t moved = 0, far = 0, count = 0;
    for (uint64_t seed : {1, 2, 3}) {
      Options options;
      options.mma = MmaMode::Stress;
      options.seed = seed;
      auto in = samples(f, 800, isDivision(f));
      auto results = evaluate(textOf(f), isDivision(f) ? "4:44" : "4:4", in, "sm_80", options);
      auto again = evaluate(textOf(f), isDivision(f) ? "4:44" : "4:4", in, "sm_80", options);
      EXPECT_EQ(results, again) << "a seed gives one result";
      for (size_t i = 0; i < in.size(); ++i) {
        long double x = single(in[i][0]), exact = f.exact(x, isDivision(f) ? single(in[i][1]) : 0);
        long double error = fabsl(single(results[i][0]) - exact), bound = f.bound(x, exact);
        ASSERT_LE(error, bound * (1 + 0x1p-40L)) << f.text << " of " << single(in[i][0]);
        moved += results[i][0] != singleBits(roundTo(gridSingle, exact, "rn"));
        far += error > bound / 2;
        ++count;
      }
    }
    EXPECT_GT(moved, count / 5) << f.text;
    EXPECT_GT(far, count / 10) << f.text;
  }
}

TEST(SimulatorApproximation, StressMovesHalvesAndPairsToo) {
  struct {
    const char *name, *target;
    bool exponential, bfloat;
  } const forms[] = {{"ex2.approx.f16", "sm_80", true, false},
                     {"ex2.approx.ftz.bf16", "sm_90", true, true},
                     {"tanh.approx.f16", "sm_80", false, false},
                     {"tanh.approx.bf16", "sm_90", false, true}};
  for (const auto &form : forms)
    for (bool pair : {false, true}) {
      Options options;
      options.mma = MmaMode::Stress;
      options.seed = 7;
      std::vector<std::vector<uint64_t>> in;
      for (uint64_t h = 0; h < 1500; ++h) { // |x| from 2^-4 to 4
        uint64_t x = (form.bfloat ? 0x3d80 + h * 768 / 1500 : 0x2c00 + h * 6144 / 1500) | (h & 1) << 15;
        in.push_back({pair ? x | (x ^ 0x8000) << 16 : x});
      }
      auto results = evaluate(fmt::format("{}{} %d, %a;", form.name, pair ? "x2" : ""), pair ? "4:4" : "2:2", in,
                              form.target, options);
      size_t moved = 0, movedHigh = 0;
      for (size_t i = 0; i < in.size(); ++i)
        for (unsigned part = 0; part < (pair ? 2 : 1); ++part) {
          auto bits = static_cast<uint16_t>(in[i][0] >> (16 * part)),
               result = static_cast<uint16_t>(results[i][0] >> (16 * part));
          long double x = form.bfloat ? widenBfloat(bits) : widenHalf(bits),
                      y = form.bfloat ? widenBfloat(result) : widenHalf(result);
          long double exact = form.exponential ? exp2l(x) : tanhl(x);
          long double bound = form.exponential ? (form.bfloat ? 0x1p-7L : exp2l(-9.9L)) * exact
                              : form.bfloat    ? 0x1p-8L
                                               : exp2l(-10.987L);
          ASSERT_LE(fabsl(y - exact), bound * (1 + 0x1p-40L)) << form.name << x;
          long double rounded = roundTo(form.bfloat ? gridBfloat : gridHalf, exact, "rn");
          (part ? movedHigh : moved) += y != rounded;
        }
      EXPECT_GT(moved, in.size() / 5) << form.name;
      if (pair) {
        EXPECT_GT(movedHigh, in.size() / 5) << form.name;
      }
    }
}

TEST(SimulatorApproximation, StressLeavesExactInstructionsAlone) {
  Options options;
  options.mma = MmaMode::Stress;
  options.seed = 11;
  auto results =
      evaluate("div.rn.f32 %d, %a, %b; rcp.rn.f32 %q, %b;", "44:44", {{f32(1.0f), f32(3.0f)}}, "sm_80", options);
  EXPECT_EQ(results[0][0], f32(1.0f / 3.0f));
  EXPECT_EQ(results[0][1], f32(1.0f / 3.0f));
  results = evaluate("ex2.approx.f32 %d, %a; rcp.approx.f32 %q, %b;", "44:44", {{0, 0}, {0x80000000, inf32}}, "sm_80",
                     options);
  EXPECT_EQ(results[0], (std::vector<uint64_t>{f32(1.0f), inf32}));
  EXPECT_EQ(results[1], (std::vector<uint64_t>{f32(1.0f), 0}));
}
