// Numerics of matrix products: probe matrices whose results are worked out by hand for each architecture, and the
// guarantees of `exact` and `stress`.
#include "tests/unit/simulator/MatrixForms.h"

#include "runtime/simulator/numerics/MatrixModel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

using namespace tessera::sim;
using namespace tessera::sim::test;

namespace {

uint64_t half(double x) { return std::bit_cast<uint16_t>(static_cast<_Float16>(x)); }
uint64_t single(double x) { return std::bit_cast<uint32_t>(static_cast<float>(x)); }
uint64_t bfloat(double x) { return single(x) >> 16; }
uint64_t e5m2(double x) { return half(x) >> 8; }
/// Powers of two and multiples of 2^-9.
uint64_t e4m3(double x) {
  uint64_t sign = std::signbit(x) ? 0x80 : 0;
  x = std::fabs(x);
  if (x < 0x1p-6)
    return sign | static_cast<uint64_t>(x * 0x1p9);
  int e = std::ilogb(x);
  return sign | uint64_t(e + 7) << 3 | (static_cast<uint64_t>(x * std::ldexp(8, -e)) & 7);
}

MmaForm f16Form(std::string_view target, unsigned k = 16) {
  return {fmt::format("m16n8k{}", k), 16, k, 16, ".f32.f16.f16.f32", 32, target};
}
MmaForm f16Sums(std::string_view target) { return {"m16n8k16", 16, 16, 16, ".f16.f16.f16.f16", 16, target}; }
MmaForm bf16Form(std::string_view target) { return {"m16n8k16", 16, 16, 16, ".f32.bf16.bf16.f32", 32, target}; }
MmaForm tf32Form(std::string_view target) { return {"m16n8k8", 16, 8, 32, ".f32.tf32.tf32.f32", 32, target}; }
MmaForm fp8Form(std::string_view target, const char *type = "e4m3", unsigned k = 32, bool halfSums = false) {
  return {fmt::format("m16n8k{}", k), 16,    k, 8, fmt::format(".{0}.{1}.{1}.{0}", halfSums ? "f16" : "f32", type),
          halfSums ? 16u : 32u,       target};
}

struct Term {
  unsigned k;
  double a, b;
};

/// D(0, 0) of the product whose row 0 of A and column 0 of B hold these terms, and zeros elsewhere.
uint64_t dot(const MmaForm &form, uint64_t (*encode)(double), const std::vector<Term> &terms, double c, MmaMode mode) {
  std::vector<uint64_t> a(form.m * form.k), b(form.k * 8), sums(form.m * 8);
  for (const Term &t : terms) {
    a[t.k] = encode(t.a);
    b[t.k * 8] = encode(t.b);
  }
  sums[0] = form.sumBits == 16 ? half(c) : single(c);
  Options options;
  options.mma = mode;
  return multiply(form, a, b, sums, options)[0];
}
uint64_t hardware(const MmaForm &form, uint64_t (*encode)(double), const std::vector<Term> &terms, double c = 0) {
  return dot(form, encode, terms, c, MmaMode::Hardware);
}
uint64_t exact(const MmaForm &form, uint64_t (*encode)(double), const std::vector<Term> &terms, double c = 0) {
  return dot(form, encode, terms, c, MmaMode::Exact);
}

/// 1 · 1 at `large`, and x · x at the places given.
std::vector<Term> oneAnd(double x, std::initializer_list<unsigned> places, unsigned large = 0, double sign = 1) {
  std::vector<Term> terms{{large, sign, 1}};
  for (unsigned k : places)
    terms.push_back({k, sign * x, x});
  return terms;
}

constexpr uint32_t one = 0x3f800000, minusOne = 0xbf800000; // next number: 2^-23 on

} // namespace

TEST(SimulatorMmaNumerics, SmallProductsBesideALargeOneKeepTheFractionOfTheArchitecture) {
  // Seven of 2^-24 = 3.5 units of 2^-23: the 24th bit is kept, the sum is cut to 23.
  auto terms = oneAnd(0x1p-12, {1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(hardware(f16Form("sm_80"), half, terms), one + 3);
  EXPECT_EQ(hardware(f16Form("sm_86"), half, terms), one + 3);
  EXPECT_EQ(hardware(f16Form("sm_89"), half, terms), one + 3);
  EXPECT_EQ(hardware(f16Form("sm_90"), half, terms), one + 3);
  EXPECT_EQ(exact(f16Form("sm_80"), half, terms), one + 4); // 3.5 to even
  // Seven of 2^-25 = 1.75 units: below Ampere's last bit, within Hopper's.
  terms = oneAnd(0x1p-13, {1, 2, 3, 4, 5, 6, 7});
  for (auto &t : terms)
    if (t.k)
      t.b = 0x1p-12;
  EXPECT_EQ(hardware(f16Form("sm_80"), half, terms), one);
  EXPECT_EQ(hardware(f16Form("sm_89"), half, terms), one);
  EXPECT_EQ(hardware(f16Form("sm_90"), half, terms), one + 1);
  EXPECT_EQ(hardware(f16Form("sm_100"), half, terms), one + 1);
  EXPECT_EQ(hardware(f16Form("sm_120"), half, terms), one + 1);
  EXPECT_EQ(hardware(bf16Form("sm_80"), bfloat, terms), one);
  EXPECT_EQ(hardware(bf16Form("sm_90"), bfloat, terms), one + 1);
  EXPECT_EQ(hardware(tf32Form("sm_90"), single, terms), one + 1);
  EXPECT_EQ(exact(f16Form("sm_80"), half, terms), one + 2); // 1.75 to nearest
  // Eight of 2^-26 are lost everywhere.
  terms = oneAnd(0x1p-13, {1, 2, 3, 4, 5, 6, 7});
  for (std::string_view target : {"sm_80", "sm_89", "sm_90", "sm_120"})
    EXPECT_EQ(hardware(f16Form(target), half, terms), one) << target;
}

TEST(SimulatorMmaNumerics, HalvesOfTheDepthFollowEachOtherBeforeHopper) {
  // Eight of 2^-26 add up to 2^-23 as long as nothing large is among them.
  auto smallFirst = oneAnd(0x1p-13, {0, 1, 2, 3, 4, 5, 6, 7}, 8),
       largeFirst = oneAnd(0x1p-13, {8, 9, 10, 11, 12, 13, 14, 15});
  EXPECT_EQ(hardware(f16Form("sm_80"), half, smallFirst), one + 1);
  EXPECT_EQ(hardware(f16Form("sm_80"), half, largeFirst), one);
  EXPECT_EQ(hardware(f16Form("sm_89"), half, smallFirst), one + 1);
  EXPECT_EQ(hardware(f16Form("sm_90"), half, smallFirst), one); // one block of 16
  EXPECT_EQ(hardware(f16Form("sm_90"), half, largeFirst), one);
  // tf32: halves of 4. Four of 2^-25 = 2^-23.
  auto four = [](unsigned first, unsigned large) {
    std::vector<Term> terms{{large, 1, 1}};
    for (unsigned k = first; k < first + 4; ++k)
      terms.push_back({k, 0x1p-12, 0x1p-13});
    return terms;
  };
  EXPECT_EQ(hardware(tf32Form("sm_80"), single, four(0, 4)), one + 1);
  EXPECT_EQ(hardware(tf32Form("sm_80"), single, four(4, 0)), one);
  EXPECT_EQ(hardware(tf32Form("sm_90"), single, four(4, 0)), one + 1); // Hopper keeps 2^-25
  // The first half's sum is cut to f32 before the second: 1 + 2^-24 loses the 2^-24, twice.
  auto twice = oneAnd(0x1p-12, {1, 8});
  EXPECT_EQ(hardware(f16Form("sm_80"), half, twice), one);
  EXPECT_EQ(hardware(f16Form("sm_90"), half, twice), one + 1);
}

TEST(SimulatorMmaNumerics, NegativeTermsAreCutTowardZeroToo) {
  EXPECT_EQ(hardware(f16Form("sm_80"), half, oneAnd(0x1p-12, {1, 2, 3, 4, 5, 6, 7}, 0, -1)), minusOne + 3);
  // 1 - 1.5 · 2^-24: the term is cut to 2^-24, not to 2^-23; exactly, the tie goes to the even 1 - 2^-23.
  std::vector<Term> terms{{0, 1, 1}, {1, -0x1.8p-12, 0x1p-12}};
  EXPECT_EQ(hardware(f16Form("sm_80"), half, terms), one - 1);
  EXPECT_EQ(exact(f16Form("sm_80"), half, terms), one - 2);
  // 1 - 2^-25: the term vanishes.
  EXPECT_EQ(hardware(f16Form("sm_80"), half, {{0, 1, 1}, {1, -0x1p-13, 0x1p-12}}), one);
}

TEST(SimulatorMmaNumerics, ProductsAreAlignedUnnormalised) {
  // 1.5 · 1.5 = 2.25 counts with exponent 0, so that 2^-24 beside it is kept: 2.25 - 2^-24 is cut to the number below
  // 2.25. Aligned to exponent 1 it would vanish.
  EXPECT_EQ(hardware(f16Form("sm_80"), half, {{0, 1.5, 1.5}, {1, -0x1p-12, 0x1p-12}}), single(2.25) - 1);
}

TEST(SimulatorMmaNumerics, TheSumTakesPartInTheAlignment) {
  // C = 2^25: products of 1 lie below its 24th bit; three of them would be 0.75 units of f32.
  std::vector<Term> ones{{0, 1, 1}, {1, 1, 1}, {2, 1, 1}};
  EXPECT_EQ(hardware(f16Form("sm_80"), half, ones, 0x1p25), single(0x1p25));
  EXPECT_EQ(hardware(f16Form("sm_90"), half, ones, 0x1p25), single(0x1p25)); // kept: 3, but cut to f32 in the end
  EXPECT_EQ(exact(f16Form("sm_80"), half, ones, 0x1p25), single(0x1p25) + 1);
  ones.push_back({3, 1, 1});
  EXPECT_EQ(hardware(f16Form("sm_80"), half, ones, 0x1p25), single(0x1p25));
  EXPECT_EQ(hardware(f16Form("sm_90"), half, ones, 0x1p25), single(0x1p25) + 1);
  // C = 2^-25 beside products of 1 and 2^-24: lost on Ampere; on Hopper one more of it makes a unit of 2^-23.
  std::vector<Term> terms{{0, 1, 1}, {1, 0x1p-12, 0x1p-12}};
  EXPECT_EQ(hardware(f16Form("sm_90"), half, terms, 0x1p-25), one);
  terms.push_back({2, 0x1p-12, 0x1p-13});
  EXPECT_EQ(hardware(f16Form("sm_90"), half, terms, 0x1p-25), one + 1);
  EXPECT_EQ(hardware(f16Form("sm_80"), half, terms, 0x1p-25), one);
}

TEST(SimulatorMmaNumerics, CancellationUncoversWhatTheAlignmentCut) {
  std::vector<Term> terms{{0, 1, 1}, {1, -1, 1}, {2, 0x1p-12, 0x1p-13}};
  EXPECT_EQ(hardware(f16Form("sm_80"), half, terms), single(0));
  EXPECT_EQ(hardware(f16Form("sm_90"), half, terms), single(0x1p-25));
  EXPECT_EQ(exact(f16Form("sm_80"), half, terms), single(0x1p-25));
  // Across the halves the sum is exact again.
  EXPECT_EQ(hardware(f16Form("sm_80"), half, {{0, 1, 1}, {1, -1, 1}, {8, 0x1p-12, 0x1p-13}}), single(0x1p-25));
  // Zero has no sign after a cancellation.
  EXPECT_EQ(hardware(f16Form("sm_80"), half, {{0, 1, -1}}, 1), 0u);
}

TEST(SimulatorMmaNumerics, SubnormalsCount) {
  EXPECT_EQ(hardware(f16Form("sm_80"), half, {{0, 0x1p-24, 1}}), single(0x1p-24));
  EXPECT_EQ(hardware(f16Form("sm_80"), half, {{0, 0x1p-24, 0x1p-24}}), single(0x1p-48));
  // Their exponent is that of the smallest normal number: 2^-24 · 1 aligns to 2^-14, of which 2^-39 lies below the 24th
  // bit and 2^-38 does not.
  EXPECT_EQ(hardware(f16Form("sm_80"), half, {{0, 0x1p-24, 1}, {1, 0x1p-24, 0x1p-15}}), single(0x1p-24));
  EXPECT_EQ(hardware(f16Form("sm_80"), half, {{0, 0x1p-24, 1}, {1, 0x1p-24, 0x1p-14}}), single(0x1p-24 + 0x1p-38));
  // f32 sums below 2^-126, in and out.
  EXPECT_EQ(hardware(bf16Form("sm_80"), bfloat, {}, 0x1p-149), 1u);
  EXPECT_EQ(hardware(bf16Form("sm_80"), bfloat, {{0, 0x1p-70, 0x1p-70}}, 0), 0x200u); // 2^-140 = 2^9 · 2^-149
  EXPECT_EQ(hardware(bf16Form("sm_80"), bfloat, {{0, -0x1p-75, 0x1p-75}}, 0x1p-126), 0x007fffffu); // 2^-150 is kept
  EXPECT_EQ(hardware(bf16Form("sm_80"), bfloat, {{0, -0x1p-75, 0x1p-76}}, 0x1p-126), 0x00800000u); // 2^-151 is not
  EXPECT_EQ(exact(bf16Form("sm_80"), bfloat, {{0, 0x1.8p-75, 0x1p-75}}, 0), 1u); // 0.75 · 2^-149, to nearest
  EXPECT_EQ(hardware(tf32Form("sm_80"), single, {{0, 0x1p-130, 0x1p10}}), single(0x1p-120));
  // f16 sums.
  EXPECT_EQ(hardware(f16Sums("sm_80"), half, {{0, 0x1p-14, 0x1p-10}}), 1u);
  EXPECT_EQ(hardware(f16Sums("sm_80"), half, {{0, 0x1p-14, 0x1p-11}}), 0u); // half a unit, to even
  EXPECT_EQ(hardware(f16Sums("sm_80"), half, {{0, 0x1p-14, 0x1.8p-11}}), 1u);
  // 2^-25 + 2^-39 is above the tie as long as a zero C does not align to 2^-14.
  EXPECT_EQ(hardware(f16Sums("sm_80"), half, {{0, 0x1p-14, 0x1p-11}, {1, 0x1p-15, 0x1p-24}}), 1u);
  // C = 2^-24 does: the tie with its 2^-25 stays one when 2^-39 is cut, and goes to the even 2^-23.
  std::vector<Term> tie{{0, 0x1p-14, 0x1p-11}, {1, -0x1p-15, 0x1p-24}};
  EXPECT_EQ(hardware(f16Sums("sm_80"), half, tie, 0x1p-24), 2u);
  EXPECT_EQ(exact(f16Sums("sm_80"), half, tie, 0x1p-24), 1u);
}

TEST(SimulatorMmaNumerics, ZeroOperandsAlignAsExponentMinus126) {
  // 0 · 2^127 has exponent 1, so that 2^-24 beside it falls below the 24th bit. In f16 no such exponent exists.
  std::vector<Term> terms{{0, 0x1p-12, 0x1p-12}, {1, 0, 0x1p127}};
  EXPECT_EQ(hardware(bf16Form("sm_80"), bfloat, terms), 0u);
  EXPECT_EQ(exact(bf16Form("sm_80"), bfloat, terms), single(0x1p-24));
  terms[1].b = 0x1p126; // exponent 0
  EXPECT_EQ(hardware(bf16Form("sm_80"), bfloat, terms), single(0x1p-24));
  EXPECT_EQ(hardware(f16Form("sm_80"), half, {{0, 0x1p-12, 0x1p-12}, {1, 0, 0x1p15}}), single(0x1p-24));
}

TEST(SimulatorMmaNumerics, SpecialValues) {
  constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (MmaMode mode : {MmaMode::Exact, MmaMode::Hardware, MmaMode::Stress})
    for (std::string_view target : {"sm_80", "sm_90"}) {
      auto f = [&](const std::vector<Term> &terms, double c) { return dot(f16Form(target), half, terms, c, mode); };
      auto h = [&](const std::vector<Term> &terms, double c) { return dot(f16Sums(target), half, terms, c, mode); };
      EXPECT_EQ(f({{3, inf, 2}}, 1), 0x7f800000u);
      EXPECT_EQ(f({{3, -inf, 2}}, 1), 0xff800000u);
      EXPECT_EQ(f({{3, inf, 0}}, 1), 0x7fffffffu);
      EXPECT_EQ(f({{3, inf, 1}, {12, -inf, 1}}, 1), 0x7fffffffu);
      EXPECT_EQ(f({{3, nan, 1}}, 1), 0x7fffffffu);
      EXPECT_EQ(f({{3, 1, 1}}, -nan), 0x7fffffffu);
      EXPECT_EQ(f({{3, 1, 1}}, -inf), 0xff800000u);
      EXPECT_EQ(f({{3, inf, 1}}, -inf), 0x7fffffffu);
      EXPECT_EQ(h({{3, inf, 2}}, 1), 0x7c00u);
      EXPECT_EQ(h({{3, -inf, 2}}, 1), 0xfc00u);
      EXPECT_EQ(h({{3, nan, 2}}, 1), 0x7fffu);
      EXPECT_EQ(h({{3, inf, 0}}, 1), 0x7fffu);
    }
  // Overflow of the sum: f32 and f16, in the first half of the depth and in the second.
  for (MmaMode mode : {MmaMode::Exact, MmaMode::Hardware})
    for (unsigned k : {0u, 8u}) {
      EXPECT_EQ(dot(bf16Form("sm_80"), bfloat, {{k, 0x1p64, 0x1p63}, {k + 1, 0x1p64, 0x1p63}}, 0, mode), 0x7f800000u);
      EXPECT_EQ(dot(bf16Form("sm_80"), bfloat, {{k, 0x1p127, 0x1p127}}, 0, mode), 0x7f800000u);
      EXPECT_EQ(dot(f16Sums("sm_80"), half, {{k, 4, 4}}, 65504, mode), 0x7c00u);    // 65520 to even
      EXPECT_EQ(dot(f16Sums("sm_80"), half, {{k, 3.75, 4}}, 65504, mode), 0x7bffu); // 65519
    }
}

TEST(SimulatorMmaNumerics, HalfSumsAreRoundedToNearestEvenAfterEachHalf) {
  // 1 + 2^-11 is half a unit of f16: to even. A little more, and it is 1 + 2^-10.
  EXPECT_EQ(hardware(f16Sums("sm_80"), half, {{0, 0x1p-6, 0x1p-5}}, 1), half(1));
  std::vector<Term> together{{0, 0x1p-6, 0x1p-5}, {1, 0x1p-10, 0x1p-10}};
  EXPECT_EQ(hardware(f16Sums("sm_80"), half, together, 1), half(1) + 1);
  std::vector<Term> apart{{0, 0x1p-6, 0x1p-5}, {8, 0x1p-10, 0x1p-10}};
  EXPECT_EQ(hardware(f16Sums("sm_80"), half, apart, 1), half(1)); // the first half rounds the tie away
  EXPECT_EQ(hardware(f16Sums("sm_90"), half, apart, 1), half(1) + 1);
  EXPECT_EQ(exact(f16Sums("sm_80"), half, apart, 1), half(1) + 1);
  EXPECT_EQ(hardware(f16Sums("sm_80"), half, {{0, 0x1p-6, 0x1p-5}}, 1 + 0x1p-10), half(1) + 2); // tie to even, up
}

TEST(SimulatorMmaNumerics, BytesAddUpIn13BitsOnAda) {
  MmaForm ada = fp8Form("sm_89"), shallow = fp8Form("sm_89", "e4m3", 16);
  // 2^-13 beside 1 is the last bit kept; 2^-14 is cut, however many there are.
  EXPECT_EQ(hardware(ada, e4m3, {{0, 1, 1}, {1, 0x1p-6, 0x1p-7}}), single(1 + 0x1p-13));
  EXPECT_EQ(hardware(shallow, e4m3, {{0, 1, 1}, {1, 0x1p-6, 0x1p-7}}), single(1 + 0x1p-13));
  std::vector<Term> many{{0, 1, 1}};
  for (unsigned k = 1; k < 16; ++k)
    many.push_back({k, 0x1p-7, 0x1p-7});
  EXPECT_EQ(hardware(ada, e4m3, many), one);
  EXPECT_EQ(hardware(shallow, e4m3, many), one);
  EXPECT_EQ(exact(ada, e4m3, many), single(1 + 15 * 0x1p-14));
  // In the half without the large product they add up: 16 of 2^-14 = 2^-10.
  std::vector<Term> halves{{16, 1, 1}};
  for (unsigned k = 0; k < 16; ++k)
    halves.push_back({k, 0x1p-7, 0x1p-7});
  EXPECT_EQ(hardware(ada, e4m3, halves), single(1 + 0x1p-10));
  // The result has 13 bits too, even where nothing is added: C comes back cut.
  EXPECT_EQ(hardware(ada, e4m3, {}, 1 + 0x1p-20), one);
  EXPECT_EQ(hardware(ada, e4m3, {}, -1 - 0x1p-13 - 0x1p-14), single(-1 - 0x1p-13));
  EXPECT_EQ(hardware(ada, e4m3, {{0, 1, 1}, {1, -0x1p-6, 0x1p-8}}), one);
  EXPECT_EQ(hardware(fp8Form("sm_89", "e5m2"), e5m2, {{0, 1, 1}, {1, 0x1p-10, 0x1p-3}, {2, 0x1p-10, 0x1p-4}}),
            single(1 + 0x1p-13));
  // f16 sums are rounded to nearest: 1 + 2^-11 + 2^-13 is above the tie.
  MmaForm adaHalf = fp8Form("sm_89", "e4m3", 32, true);
  EXPECT_EQ(hardware(adaHalf, e4m3, {{0, 0x1p-5, 0x1p-6}}, 1), half(1));
  EXPECT_EQ(hardware(adaHalf, e4m3, {{0, 0x1p-5, 0x1p-6}, {1, 0x1p-6, 0x1p-7}}, 1), half(1) + 1);
  EXPECT_EQ(hardware(adaHalf, e4m3, {{0, 0x1p-5, 0x1p-6}, {1, 0x1p-7, 0x1p-7}}, 1), half(1)); // 2^-14 is cut
}

TEST(SimulatorMmaNumerics, BytesGoTheWayOfF16OnHopperAndDataCentreBlackwell) {
  for (std::string_view target : {"sm_90", "sm_100"}) {
    MmaForm form = fp8Form(target, "e5m2");
    // Depths 4q and 4q + 1 come first, 4q + 2 and 4q + 3 second. 2^30 - 2^30 beside 16 + 16, which its 25th bit cuts.
    Term plus{0, 0x1p15, 0x1p15}, minus{0, -0x1p15, 0x1p15}, small{0, 4, 4};
    auto at = [](Term t, unsigned k) {
      t.k = k;
      return t;
    };
    EXPECT_EQ(hardware(form, e5m2, {at(plus, 0), at(minus, 1), at(small, 2), at(small, 3)}), single(32)) << target;
    EXPECT_EQ(hardware(form, e5m2, {at(small, 0), at(small, 1), at(plus, 2), at(minus, 3)}), single(32)) << target;
    EXPECT_EQ(hardware(form, e5m2, {at(plus, 0), at(small, 1), at(small, 2), at(minus, 4)}), single(16)) << target;
    EXPECT_EQ(hardware(form, e5m2, {at(plus, 4), at(minus, 28), at(small, 6), at(small, 31)}), single(32)) << target;
    // C is added last, to nearest.
    EXPECT_EQ(hardware(form, e5m2, {}, 1 + 0x1p-23), one + 1) << target;
    EXPECT_EQ(hardware(form, e5m2, {{0, 0x1p-12, 0x1.8p-12}}, 1), one + 1) << target; // 0.75 units
    EXPECT_EQ(hardware(form, e5m2, {{0, 0x1p-12, 0x1p-12}}, 1), one) << target;       // the tie
  }
  // RTX Blackwell has the instruction: one block of 32 with 25 bits.
  MmaForm form = fp8Form("sm_120", "e5m2");
  EXPECT_EQ(hardware(form, e5m2, {{0, 0x1p15, 0x1p15}, {1, -0x1p15, 0x1p15}, {2, 4, 4}, {31, 4, 4}}), single(0));
  EXPECT_EQ(hardware(form, e5m2, {{0, 0x1p15, 0x1p15}, {1, -0x1p15, 0x1p15}, {31, 8, 4}}), single(32));
  EXPECT_EQ(hardware(form, e5m2, {{0, 0x1p-12, 0x1.8p-12}}, 1), one); // cut
}

TEST(SimulatorMmaNumerics, QuadPairsAreChainsOfFusedMultiplyAdds) {
  // (1, 2^-12, 2^-12, 0) · itself = 1 + 2^-23 exactly; a chain in f32 loses 2^-24 twice, and C = 2^-24 once more.
  Machine machine;
  machine.load(header() + R"(
.visible .entry k(.param .u64 out, .param .u64 c)
{
  .reg .b64 %out, %c;
  .reg .f32 %f<8>, %x;
  .reg .b32 %y;
  ld.param.u64 %out, [out];
  ld.param.u64 %c, [c];
  cvt.u32.u64 %y, %c;
  mov.b32 %x, %y;
  mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7}, {0x0c003c00,0x0c00},
    {0x0c003c00,0x0c00}, {%x,%x,%x,%x,%x,%x,%x,%x};
  st.global.f32 [%out], %f5;
  ret;
}
)");
  machine.options.races = false; // all lanes store the same word
  for (auto [mode, c, expected] : {std::tuple(MmaMode::Exact, 0.0, one + 1),
                                   {MmaMode::Hardware, 0.0, one},
                                   {MmaMode::Hardware, 0x1p-24, one},
                                   {MmaMode::Hardware, 0x1.8p-24, one + 1}}) {
    machine.options.mma = mode;
    uint64_t out = machine.upload(std::vector<uint32_t>(1));
    expectClean(machine.run({1, 1, 1}, {32, 1, 1}, {out, single(c)}));
    EXPECT_EQ(machine.download<uint32_t>(out, 1)[0], expected) << c;
  }
}

namespace {

/// A number of a format with E exponent and M fraction bits (or f32's) in the low bits.
struct Scalar {
  double value;
  int exponent; ///< as the matrix units see it
};
Scalar decode(uint64_t bits, int e, int m) {
  int bias = (1 << (e - 1)) - 1, field = int(bits >> m) & ((1 << e) - 1);
  double fraction = double(bits & ((uint64_t(1) << m) - 1)) * std::ldexp(1, -m);
  double value = field ? std::ldexp(1 + fraction, field - bias) : std::ldexp(fraction, 1 - bias);
  return {bits >> (e + m) & 1 ? -value : value, value == 0 ? -126 : std::max(field, 1) - bias};
}
double roundToFormat(double x, int fraction, int least, bool nearest) {
  if (x == 0)
    return 0;
  int unit = std::max(std::ilogb(x), least) - fraction;
  double scaled = std::ldexp(x, -unit);
  return std::ldexp(nearest ? std::nearbyint(scaled) : std::trunc(scaled), unit);
}

struct Architecture {
  MmaForm form;
  int e, m, cut; ///< of A and B: exponent, fraction and ignored low bits
  int fraction;
  unsigned block;
  int output;
  bool pairs;
};

/// The model of design/ptx-semantics.md, 2.8, term by term. A and B are decoded already; C as bits.
double modelled(const Architecture &x, const std::vector<Scalar> &a, const std::vector<Scalar> &b, double c) {
  bool halfSum = x.form.sumBits == 16;
  int least = halfSum ? -14 : -126;
  double sum = x.pairs ? 0 : c;
  unsigned k = x.form.k;
  std::vector<unsigned> order;
  for (unsigned pass = 0; pass < (x.pairs ? 2u : 1u); ++pass)
    for (unsigned i = 0; i < k; ++i)
      if (!x.pairs || (i >> 1 & 1) == pass)
        order.push_back(i);
  for (unsigned first = 0; first < k; first += x.block) {
    int top = sum == 0 ? -126 : std::max(std::ilogb(sum), least);
    for (unsigned i = first; i < first + x.block; ++i)
      top = std::max(top, a[order[i]].exponent + b[order[i]].exponent);
    double total = std::trunc(std::ldexp(sum, x.fraction - top));
    for (unsigned i = first; i < first + x.block; ++i)
      total += std::trunc(std::ldexp(a[order[i]].value * b[order[i]].value, x.fraction - top));
    total = std::ldexp(total, top - x.fraction);
    sum = halfSum ? roundToFormat(total, 10, -14, true) : roundToFormat(total, x.output, -126, false);
    if (halfSum && std::fabs(sum) >= 65520)
      return std::copysign(HUGE_VAL, sum);
  }
  if (x.pairs)
    sum = halfSum ? roundToFormat(sum + c, 10, -14, true) : double(static_cast<float>(sum + c));
  return sum;
}

} // namespace

TEST(SimulatorMmaNumerics, HardwareIsTheModelTermByTerm) {
  std::mt19937 random(23);
  std::vector<Architecture> all;
  for (std::string_view target : {"sm_80", "sm_89", "sm_90", "sm_120"}) {
    bool old = target < "sm_90" && target != "sm_120";
    int fraction = old ? 24 : 25;
    all.push_back({f16Form(target), 5, 10, 0, fraction, old ? 8u : 16u, 23, false});
    all.push_back({f16Form(target, 8), 5, 10, 0, fraction, 8, 23, false});
    all.push_back({f16Sums(target), 5, 10, 0, fraction, old ? 8u : 16u, 23, false});
    all.push_back({bf16Form(target), 8, 7, 0, fraction, old ? 8u : 16u, 23, false});
    all.push_back({tf32Form(target), 8, 10, 13, fraction, old ? 4u : 8u, 23, false});
  }
  for (bool halfSums : {false, true})
    for (unsigned k : {16u, 32u}) {
      all.push_back({fp8Form("sm_89", "e4m3", k, halfSums), 4, 3, 0, 13, 16, 13, false});
      all.push_back({fp8Form("sm_89", "e5m2", k, halfSums), 5, 2, 0, 13, 16, 13, false});
      all.push_back({fp8Form("sm_90", "e4m3", k, halfSums), 4, 3, 0, 25, k / 2, 23, true});
      all.push_back({fp8Form("sm_100", "e5m2", k, halfSums), 5, 2, 0, 25, k / 2, 23, true});
      all.push_back({fp8Form("sm_120", "e4m3", k, halfSums), 4, 3, 0, 25, k, 23, false});
    }
  for (const Architecture &x : all)
    for (int spread : {3, 9, 40}) { // exponent fields around the middle, and all over
      const MmaForm &form = x.form;
      int fields = 1 << x.e, middle = (fields >> 1) - 1;
      auto element = [&]() -> uint64_t {
        int low = std::max(middle - spread, 0), high = std::min(middle + spread / 3, fields - 2);
        auto field = static_cast<uint64_t>(low + int(random() % unsigned(high - low + 1)));
        uint64_t bits = (random() & 1) << (x.e + x.m) | field << x.m | (random() & ((1u << x.m) - 1));
        return random() % 11 ? bits << x.cut | (random() & ((1u << x.cut) - 1)) : 0;
      };
      std::vector<uint64_t> a(form.m * form.k), b(form.k * 8), c(form.m * 8);
      for (auto *v : {&a, &b})
        for (uint64_t &bits : *v)
          bits = element();
      for (uint64_t &bits : c) {
        double value = std::ldexp(double(random() % 4096) - 2048, int(random() % unsigned(spread + 4)) - spread - 6);
        bits = form.sumBits == 16 ? half(value) : single(value * (1 + 0x1p-15));
      }
      Options options;
      options.mma = MmaMode::Hardware;
      auto d = multiply(form, a, b, c, options);
      for (unsigned i = 0; i < form.m * 8; ++i) {
        std::vector<Scalar> row, column;
        for (unsigned k = 0; k < form.k; ++k) {
          row.push_back(decode(a[i / 8 * form.k + k] >> x.cut, x.e, x.m));
          column.push_back(decode(b[k * 8 + i % 8] >> x.cut, x.e, x.m));
        }
        bool halfSum = form.sumBits == 16;
        auto number = [&](uint64_t bits) {
          return halfSum ? double(std::bit_cast<_Float16>(static_cast<uint16_t>(bits)))
                         : double(std::bit_cast<float>(static_cast<uint32_t>(bits)));
        };
        double expected = modelled(x, row, column, number(c[i]));
        if (halfSum && std::fabs(expected) >= 65520)
          expected = std::copysign(HUGE_VAL, expected);
        ASSERT_EQ(number(d[i]), expected)
            << form.target << " " << form.shape << form.types << " spread " << spread << " element " << i;
      }
    }
}

TEST(SimulatorMmaNumerics, TableOfModels) {
  using numerics::matrixModel;
  using program::MmaElement;
  auto check = [](numerics::MatrixModel m, int fraction, unsigned block, int output) {
    EXPECT_EQ(m.fraction, fraction);
    EXPECT_EQ(m.block, block);
    EXPECT_EQ(m.outputBits, output);
  };
  for (unsigned sm : {80u, 86u, 89u}) {
    check(matrixModel(sm, MmaElement::F16, 16, false), 24, 8, 23);
    check(matrixModel(sm, MmaElement::BF16, 8, false), 24, 8, 23);
    check(matrixModel(sm, MmaElement::TF32, 8, false), 24, 4, 23);
    check(matrixModel(sm, MmaElement::TF32, 4, false), 24, 4, 23);
  }
  check(matrixModel(89, MmaElement::E4M3, 32, false), 13, 16, 13);
  check(matrixModel(89, MmaElement::E5M2, 16, false), 13, 16, 13);
  for (unsigned sm : {90u, 100u, 120u}) {
    check(matrixModel(sm, MmaElement::F16, 16, false), 25, 16, 23);
    check(matrixModel(sm, MmaElement::TF32, 8, false), 25, 8, 23);
    check(matrixModel(sm, MmaElement::TF32, 8, true), 25, 4, 23); // wmma: depth 4 twice
  }
  check(matrixModel(90, MmaElement::E4M3, 32, false), 25, 16, 23);
  EXPECT_TRUE(matrixModel(90, MmaElement::E4M3, 32, false).pairs);
  EXPECT_TRUE(matrixModel(100, MmaElement::E4M3, 16, false).pairs);
  check(matrixModel(120, MmaElement::E4M3, 32, false), 25, 32, 23);
  EXPECT_FALSE(matrixModel(120, MmaElement::E4M3, 32, false).pairs);
  EXPECT_TRUE(matrixModel(80, MmaElement::F16, 4, false).chain);
}

namespace {

/// An exact sum of doubles: fixed point in words of 32 bits from 2^-1100 on.
class FixedPoint {
public:
  void add(double x) {
    int e;
    auto m = static_cast<int64_t>(std::ldexp(std::frexp(x, &e), 53));
    if (!m)
      return;
    int position = e - 53 + 1100;
    __int128 shifted = static_cast<__int128>(m) << position % 32;
    for (int i = position / 32, part = 0; part < 3; ++part, ++i) {
      words_[i] += part < 2 ? static_cast<int64_t>(static_cast<uint32_t>(shifted)) : static_cast<int64_t>(shifted);
      shifted >>= 32;
    }
  }
  /// To nearest even with `fraction` bits after the first, at least multiples of 2^least.
  double round(int fraction, int least) {
    int64_t carry = 0;
    for (int64_t &word : words_) {
      int64_t sum = word + carry;
      word = static_cast<uint32_t>(sum);
      carry = sum >> 32;
    }
    bool negative = carry < 0;
    if (negative) {
      carry = 1;
      for (int64_t &word : words_) {
        int64_t sum = static_cast<int64_t>(~static_cast<uint32_t>(word)) + carry;
        word = static_cast<uint32_t>(sum);
        carry = sum >> 32;
      }
    }
    auto bit = [&](int i) { return i < 0 ? 0 : words_[i / 32] >> i % 32 & 1; };
    int top = size * 32 - 1;
    while (top >= 0 && !bit(top))
      --top;
    if (top < 0)
      return 0;
    int unit = std::max(top - fraction, least + 1100);
    uint64_t whole = 0;
    for (int i = top; i >= unit; --i)
      whole = whole << 1 | static_cast<uint64_t>(bit(i));
    bool above = bit(unit - 1), sticky = false;
    for (int i = unit - 2; i >= 0; --i)
      sticky |= bit(i);
    whole += above && (sticky || (whole & 1));
    double x = std::ldexp(static_cast<double>(whole), unit - 1100);
    return negative ? -x : x;
  }

private:
  static constexpr int size = 64;
  int64_t words_[size] = {};
};

} // namespace

TEST(SimulatorMmaNumerics, ExactIsTheExactSumRoundedOnce) {
  std::mt19937 random(11);
  // Random signs and fractions, exponents over `spread` powers of two: from what double adds exactly to the whole
  // range.
  struct Kind {
    MmaForm form;
    int least, most, fraction; // exponents and fraction bits of A and B
    uint64_t (*encode)(double);
  };
  const Kind kinds[] = {{f16Form("sm_80"), -14, 15, 10, half},    {f16Sums("sm_80"), -14, 7, 10, half},
                        {bf16Form("sm_80"), -126, 60, 7, bfloat}, {tf32Form("sm_80"), -126, 60, 10, single},
                        {fp8Form("sm_89"), -6, 7, 3, e4m3},       {fp8Form("sm_89", "e5m2"), -14, 14, 2, e5m2}};
  for (const Kind &kind : kinds)
    for (int spread : {2, 12, 30, 60, 120, 186})
      for (bool cancel : {false, true}) {
        const MmaForm &form = kind.form;
        auto value = [&] {
          int range = std::min(spread, kind.most - kind.least);
          int e = kind.most - int(random() % unsigned(range + 1));
          double m = 1 + std::ldexp(double(random() % (1u << kind.fraction)), -kind.fraction);
          return random() % 9 ? std::ldexp(random() & 1 ? m : -m, e) : 0.0;
        };
        std::vector<double> a(form.m * form.k), b(form.k * 8), c(form.m * 8);
        for (auto *v : {&a, &b})
          for (double &x : *v)
            x = value();
        if (cancel) // the second half of the depth takes the first away, but for one place
          for (unsigned k = 0; k < form.k / 2 - 1; ++k) {
            for (unsigned m = 0; m < form.m; ++m)
              a[m * form.k + k + form.k / 2] = -a[m * form.k + k];
            for (unsigned n = 0; n < 8; ++n)
              b[(k + form.k / 2) * 8 + n] = b[k * 8 + n];
          }
        bool halfSum = form.sumBits == 16;
        for (double &x : c)
          x = halfSum ? double(static_cast<_Float16>(std::ldexp(value(), -kind.most)))
                      : double(static_cast<float>(std::ldexp(value(), int(random() % 40) - 20) * (1 + 0x1p-20)));
        auto encoded = [](const std::vector<double> &v, uint64_t (*encode)(double)) {
          std::vector<uint64_t> bits;
          for (double x : v)
            bits.push_back(encode(x));
          return bits;
        };
        auto d = multiply(form, encoded(a, kind.encode), encoded(b, kind.encode), encoded(c, halfSum ? half : single));
        for (unsigned i = 0; i < form.m * 8; ++i) {
          FixedPoint sum;
          sum.add(c[i]);
          for (unsigned k = 0; k < form.k; ++k)
            sum.add(a[i / 8 * form.k + k] * b[k * 8 + i % 8]);
          double expected = halfSum ? sum.round(10, -24) : sum.round(23, -149);
          double got = halfSum ? double(std::bit_cast<_Float16>(static_cast<uint16_t>(d[i])))
                               : double(std::bit_cast<float>(static_cast<uint32_t>(d[i])));
          if (std::fabs(expected) >= (halfSum ? 65520 : 0x1p128))
            expected = std::copysign(HUGE_VAL, expected);
          ASSERT_EQ(got, expected) << form.shape << form.types << " spread " << spread << " cancel " << cancel << " "
                                   << i;
        }
      }
}

TEST(SimulatorMmaNumerics, ExactRoundsRightWhereADoubleSumWouldNot) {
  // 1 + 2^-24 (half a unit) + 2^-70: above the tie, which a sum in double does not see.
  EXPECT_EQ(exact(bf16Form("sm_80"), bfloat, {{0, 1, 1}, {1, 0x1p-12, 0x1p-12}, {2, 0x1p-35, 0x1p-35}}), one + 1);
  EXPECT_EQ(exact(bf16Form("sm_80"), bfloat, {{0, 1, 1}, {1, 0x1p-12, 0x1p-12}, {2, -0x1p-35, 0x1p-35}}), one);
  EXPECT_EQ(exact(bf16Form("sm_80"), bfloat, {{0, 1, 1}, {1, 0x1p-12, 0x1p-12}}), one);
  // The same within 61 bits: 2^-54, a bit of C, tells 1 + 2^-24 from the tie.
  EXPECT_EQ(
      exact(bf16Form("sm_80"), bfloat, {{0, 1, 1}, {1, 0x1p-12, 0x1p-12}, {2, -0x1p-15, 0x1p-16}}, 0x1.000002p-31),
      one + 1);
  // 2^100 - 2^100 + 2^-100, with more between.
  EXPECT_EQ(exact(bf16Form("sm_80"), bfloat, {{0, 0x1p50, 0x1p50}, {5, 0x1p-50, 0x1p-50}, {9, -0x1p50, 0x1p50}}),
            single(0x1p-100));
  EXPECT_EQ(exact(bf16Form("sm_80"), bfloat,
                  {{0, 0x1p50, 0x1p50}, {3, 1, 1}, {5, 0x1p-50, 0x1p-50}, {9, -0x1p50, 0x1p50}, {12, -1, 1}}),
            single(0x1p-100));
}

TEST(SimulatorMmaNumerics, StressIsReproducibleBySeedWhateverTheThreads) {
  // Warps of eight blocks multiply the same matrices; each draws its own order.
  std::string text = productText(f16Form("sm_80"));
  text.replace(text.find("mov.u32 %lane, %laneid;"), 23,
               "mov.u32 %lane, %ctaid.x;\nmad.lo.u32 %lane, %lane, 32, 0;\n"
               ".reg .b32 %id;\nmov.u32 %id, %laneid;\nadd.u32 %lane, %lane, %id;");
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  std::vector<uint64_t> in(8 * 32 * 32);
  for (size_t i = 0; i < 32 * 32; ++i) {
    uint64_t word = 0;
    for (unsigned e = 0; e < 4; ++e)
      word |= half(normal(random)) << 16 * e;
    for (unsigned block = 0; block < 8; ++block) // C: f32 zeros
      in[block * 1024 + i] = i % 32 < 24 ? word : 0;
  }
  auto run = [&](uint64_t seed, unsigned threads) {
    Machine machine;
    machine.options.mma = MmaMode::Stress;
    machine.options.seed = seed;
    machine.options.threads = threads;
    machine.load(text);
    uint64_t pin = machine.upload(in), pout = machine.upload(std::vector<uint64_t>(8 * 32 * 8));
    expectClean(machine.run({8, 1, 1}, {32, 1, 1}, {pin, pout}));
    return machine.download<uint64_t>(pout, 8 * 32 * 8);
  };
  auto first = run(1, 1);
  EXPECT_EQ(run(1, 4), first);
  EXPECT_EQ(run(1, 2), first);
  EXPECT_NE(run(2, 1), first);
  std::vector<uint64_t> a(first.begin(), first.begin() + 256), b(first.begin() + 256, first.begin() + 512);
  EXPECT_NE(a, b);
}

TEST(SimulatorMmaNumerics, StressStaysWithinTheManualsFreedom) {
  std::mt19937 random(9);
  std::uniform_real_distribution<double> uniform(-2, 2);
  for (bool halfSums : {false, true}) {
    MmaForm form = halfSums ? f16Sums("sm_80") : f16Form("sm_80");
    std::vector<uint64_t> a(256), b(128), c(128);
    for (auto *v : {&a, &b})
      for (uint64_t &x : *v)
        x = half(uniform(random));
    auto value = [](uint64_t h) { return double(std::bit_cast<_Float16>(static_cast<uint16_t>(h))); };
    unsigned different = 0, halfErrors = 0;
    for (uint64_t seed = 0; seed < 8; ++seed) {
      Options options;
      options.mma = MmaMode::Stress;
      options.seed = seed;
      auto d = multiply(form, a, b, c, options);
      for (unsigned i = 0; i < 128; ++i) {
        double sum = 0, magnitude = 0;
        for (unsigned k = 0; k < 16; ++k) {
          double p = value(a[i / 8 * 16 + k]) * value(b[k * 8 + i % 8]);
          sum += p;
          magnitude += std::fabs(p);
        }
        double got = halfSums ? value(d[i]) : double(std::bit_cast<float>(static_cast<uint32_t>(d[i])));
        double unit = halfSums ? 0x1p-11 : 0x1p-23;
        EXPECT_LE(std::fabs(got - sum), 17 * unit * magnitude);
        different += got != sum;
        halfErrors += std::fabs(got - sum) > 0x1p-11 * std::fabs(sum);
      }
    }
    EXPECT_GT(different, 200u);
    if (halfSums)
      EXPECT_GT(halfErrors, 50u); // f16 sums may be rounded to f16 on the way
  }
}

TEST(SimulatorMmaNumerics, EveryBuildGivesTheSameBits) {
  // A hash over random products in all modes; the builds of the lane handlers share it.
  uint64_t hash = 0xcbf29ce484222325;
  std::mt19937 random(17);
  for (const MmaForm &form : {f16Form("sm_80"), f16Sums("sm_80"), bf16Form("sm_90"), tf32Form("sm_80"),
                              fp8Form("sm_89"), fp8Form("sm_90", "e5m2"), fp8Form("sm_89", "e4m3", 16, true)})
    for (MmaMode mode : {MmaMode::Exact, MmaMode::Hardware, MmaMode::Stress}) {
      std::vector<uint64_t> a(form.m * form.k), b(form.k * 8), c(form.m * 8);
      for (auto *v : {&a, &b})
        for (uint64_t &x : *v) // any bits: subnormals, infinities and NaNs too
          x = random() & ((uint64_t(1) << form.bits) - 1);
      for (uint64_t &x : c)
        x = random() & ((uint64_t(1) << form.sumBits) - 1);
      Options options;
      options.mma = mode;
      options.seed = 5;
      for (uint64_t x : multiply(form, a, b, c, options))
        hash = (hash ^ x) * 0x100000001b3;
    }
  EXPECT_EQ(hash, 16220106716223689392u);
}
